//! Gestures: a key press or a selection's release that a UI was just handed, good for one action.
//! Repeats, pastes, mouse moves, focus changes and the launcher's own keys are none.

use std::time::{Duration, Instant};

/// How long a gesture is good for.
pub const GESTURE: Duration = Duration::from_secs(2);

/// The last gesture that no action has used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gesture(Option<Instant>);

impl Gesture {
    /// Notes one at `now`.
    pub fn made(&mut self, now: Instant) {
        self.0 = Some(now);
    }

    /// Returns whether there is one, and uses it up.
    pub fn take(&mut self, now: Instant) -> bool {
        self.0
            .take()
            .is_some_and(|made| now.saturating_duration_since(made) <= GESTURE)
    }

    /// Drops it, e.g. when the UI it went to is gone.
    pub fn drop_it(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gesture_is_good_once_and_for_two_seconds() {
        let start = Instant::now();
        let mut gesture = Gesture::default();
        assert!(!gesture.take(start));
        gesture.made(start);
        assert!(gesture.take(start + Duration::from_millis(2_000)));
        assert!(!gesture.take(start), "used");
        gesture.made(start);
        assert!(!gesture.take(start + Duration::from_millis(2_001)), "stale");
    }
}
