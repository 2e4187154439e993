//! How often something may be tried: an allowance that fills up again with time. The clock is an argument.

use std::time::{Duration, Instant};

/// Tries at once.
const BURST: f64 = 20.0;
/// Tries a second, in the long run.
const RATE: f64 = 0.5;

/// An allowance of tries.
#[derive(Debug)]
pub struct Limiter {
    left: f64,
    at: Instant,
}

impl Limiter {
    /// Returns a full allowance.
    pub fn new(now: Instant) -> Self {
        Self {
            left: BURST,
            at: now,
        }
    }

    /// Takes one try.
    ///
    /// # Errors
    /// How long to wait for the next.
    pub fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + since * RATE).min(BURST);
        self.at = now;
        if self.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - self.left) / RATE));
        }
        self.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_is_used_up_and_fills_again() {
        let start = Instant::now();
        let mut limiter = Limiter::new(start);
        for _ in 0..20 {
            assert_eq!(limiter.take(start), Ok(()));
        }
        let wait = limiter.take(start).expect_err("used up");
        assert_eq!(wait, Duration::from_secs(2));
        assert_eq!(limiter.take(start + wait), Ok(()));
        assert!(limiter.take(start + wait).is_err());
    }
}
