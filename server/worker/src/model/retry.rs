//! When to try again. It waits for nothing and counts no tries.

use std::time::Duration;

use porthole_protocol::RetrySettings;

use super::ModelError;

/// Returns how long to wait before try `attempt` (from 2), or `None` where there is to be no other try.
/// `jitter` is from 0 to 1. A wait that the provider asks for is returned as it is, up to the longest that is allowed.
pub fn retry_delay(
    settings: &RetrySettings,
    error: &ModelError,
    attempt: u32,
    jitter: f64,
) -> Option<Duration> {
    if !error.retryable || attempt > settings.tries {
        return None;
    }
    let longest = settings.longest_asked_s.map(Duration::from_secs);
    match error.retry_after {
        Some(asked) => longest.is_none_or(|most| asked <= most).then_some(asked),
        None => Some(backoff(settings, attempt, jitter)),
    }
}

/// Returns a wait that doubles with each try; the jitter takes up to half of it away.
fn backoff(settings: &RetrySettings, attempt: u32, jitter: f64) -> Duration {
    let shortest = Duration::from_millis(settings.first_ms);
    let doubled = shortest.saturating_mul(1 << attempt.saturating_sub(2).min(16));
    doubled
        .min(Duration::from_millis(settings.longest_ms))
        .mul_f64(1.0 - jitter.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ModelErrorKind, failure::plain};

    #[test]
    fn waits_double_within_bounds_and_end() {
        let error = plain(ModelErrorKind::Overloaded, "m", true);
        let settings = RetrySettings::default();
        let waits: Vec<_> = (2..9)
            .map(|attempt| retry_delay(&settings, &error, attempt, 0.0))
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
        assert_eq!(retry_delay(&settings, &error, 2, 1.0), millis(250));
        assert_eq!(backoff(&settings, 40, 0.0), Duration::from_secs(30));
    }

    #[test]
    fn what_cannot_help_is_not_tried_and_a_long_wait_is_told() {
        let mut error = plain(ModelErrorKind::Key, "m", false);
        let settings = RetrySettings::default();
        assert_eq!(retry_delay(&settings, &error, 2, 0.0), None);
        error.retryable = true;
        error.retry_after = Some(Duration::from_secs(999_999));
        assert_eq!(retry_delay(&settings, &error, 2, 0.9), error.retry_after);
    }

    #[test]
    fn each_setting_changes_the_waits() {
        let mut error = plain(ModelErrorKind::Overloaded, "m", true);
        let waits = |settings: &RetrySettings, error: &ModelError| -> Vec<_> {
            (2..8)
                .map(|attempt| retry_delay(settings, error, attempt, 0.0))
                .map(|wait| wait.map(|wait| wait.as_millis()))
                .collect()
        };
        let settings = RetrySettings {
            tries: 4,
            first_ms: 100,
            longest_ms: 300,
            longest_asked_s: Some(60),
        };
        let expected = [Some(100), Some(200), Some(300), None, None, None];
        assert_eq!(waits(&settings, &error), expected);
        let never = RetrySettings {
            tries: 1,
            ..RetrySettings::default()
        };
        assert_eq!(waits(&never, &error), [None; 6]);
        for (asked, wait) in [(60, Some(60_000)), (61, None)] {
            error.retry_after = Some(Duration::from_secs(asked));
            assert_eq!(waits(&settings, &error)[0], wait, "{asked}");
        }
    }
}
