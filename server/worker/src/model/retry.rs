//! When to try again. It waits for nothing and counts no tries.

use std::time::Duration;

use super::ModelError;

/// The last try that is made.
const LAST_ATTEMPT: u32 = 6;
const SHORTEST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// Returns how long to wait before try `attempt` (from 2), or `None` where there is to be no other try.
/// `jitter` is from 0 to 1. A wait that the provider asks for is returned as it is, however long.
pub fn retry_delay(error: &ModelError, attempt: u32, jitter: f64) -> Option<Duration> {
    if !error.retryable || attempt > LAST_ATTEMPT {
        return None;
    }
    Some(
        error
            .retry_after
            .unwrap_or_else(|| backoff(attempt, jitter)),
    )
}

/// Returns a wait that doubles with each try; the jitter takes up to half of it away.
fn backoff(attempt: u32, jitter: f64) -> Duration {
    let doubled = SHORTEST.saturating_mul(1 << attempt.saturating_sub(2).min(16));
    doubled
        .min(LONGEST)
        .mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ModelErrorKind, failure::plain};

    #[test]
    fn waits_double_within_bounds_and_end() {
        let error = plain(ModelErrorKind::Overloaded, "m", true);
        let waits: Vec<_> = (2..9)
            .map(|attempt| retry_delay(&error, attempt, 0.0))
            .collect();
        let millis = |ms| Some(Duration::from_millis(ms));
        let expected = [
            millis(500),
            millis(1_000),
            millis(2_000),
            millis(4_000),
            millis(8_000),
            None,
            None,
        ];
        assert_eq!(waits, expected);
        assert_eq!(retry_delay(&error, 2, 1.0), millis(250));
        assert_eq!(backoff(40, 0.0), LONGEST);
    }

    #[test]
    fn what_cannot_help_is_not_tried_and_a_long_wait_is_told() {
        let mut error = plain(ModelErrorKind::Key, "m", false);
        assert_eq!(retry_delay(&error, 2, 0.0), None);
        error.retryable = true;
        error.retry_after = Some(Duration::from_secs(999_999));
        assert_eq!(retry_delay(&error, 2, 0.9), error.retry_after);
    }
}
