//! Whether the computer slept: the clock that timers run on stands still then, another does not.
//! It wakes nobody; it is asked when something happens.

use std::time::Duration;

/// Shorter sleeps are the clocks being read one after the other.
const LEAST: Duration = Duration::from_secs(1);

/// How much sleep has been noticed.
#[derive(Debug)]
pub struct Slumber(Duration);

impl Default for Slumber {
    fn default() -> Self {
        Self(asleep())
    }
}

impl Slumber {
    /// Returns whether the computer slept since this was last asked.
    pub fn passed(&mut self) -> bool {
        self.noticed(asleep())
    }

    fn noticed(&mut self, asleep: Duration) -> bool {
        let passed = asleep.saturating_sub(self.0) >= LEAST;
        if passed {
            self.0 = asleep;
        }
        passed
    }
}

/// Returns for how long the computer has slept since it was started.
#[cfg(target_os = "linux")]
fn asleep() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    let read = |clock| {
        let time = clock_gettime(clock);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
    };
    read(ClockId::Boottime).saturating_sub(read(ClockId::Monotonic))
}

/// Other systems' timers are not told apart from their clocks here.
#[cfg(not(target_os = "linux"))]
fn asleep() -> Duration {
    Duration::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_is_told_of_once_and_reading_clocks_is_none() {
        let mut slumber = Slumber(Duration::from_secs(5));
        let at = Duration::from_millis;
        assert!(!slumber.noticed(at(5_400)));
        assert!(slumber.noticed(at(6_000)));
        assert!(!slumber.noticed(at(6_000)));
        assert!(!Slumber::default().passed());
    }
}
