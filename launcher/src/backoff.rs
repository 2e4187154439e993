//! How long to wait before the next attempt to reach the server.
//! Pure: the count of failures and a random number come in.

use std::time::Duration;

/// The first wait.
pub const FIRST: Duration = Duration::from_millis(250);
/// The longest wait of our own choice; a server may ask for more.
pub const LONGEST: Duration = Duration::from_secs(5);
/// The longest wait that a server may ask for.
pub const LONGEST_ASKED: Duration = Duration::from_secs(300);

/// Returns the wait after `failures` failures in a row (1 is the first), spread down by up to a fifth by `random`,
/// and not shorter than what the server asked for.
pub fn wait(failures: u32, random: u32, asked: Option<Duration>) -> Duration {
    let doubled = FIRST * 2_u32.saturating_pow(failures.saturating_sub(1).min(8));
    let base = doubled.min(LONGEST);
    let spread = base.mul_f64(0.2 * f64::from(random) / f64::from(u32::MAX));
    (base - spread).max(asked.unwrap_or_default().min(LONGEST_ASKED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_from_250_ms_to_5_s_and_stay_there() {
        let waits: Vec<u128> = (1..=8).map(|n| wait(n, 0, None).as_millis()).collect();
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 5000, 5000, 5000]);
        assert_eq!(wait(u32::MAX, 0, None), LONGEST);
    }

    #[test]
    fn jitter_shortens_by_a_fifth_at_most() {
        assert_eq!(wait(1, u32::MAX, None), Duration::from_millis(200));
    }

    #[test]
    fn a_server_may_ask_for_more_but_not_for_ever() {
        assert_eq!(
            wait(1, 0, Some(Duration::from_secs(7))),
            Duration::from_secs(7)
        );
        assert_eq!(wait(1, 0, Some(Duration::from_secs(86_400))), LONGEST_ASKED);
    }
}
