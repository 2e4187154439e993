//! A grant: leave for one local action, where it was asked for, and for ten minutes at most.
//! Who asked is kept beside it; a UI instance that is gone has no grants.

use std::time::{Duration, Instant};

use porthole_bridge::Place;

/// How long leave lasts, whether it was given or is only being asked for.
const LIFETIME: Duration = Duration::from_secs(600);

/// Leave for one action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    place: Option<Place>,
    until: Instant,
}

impl Grant {
    /// Returns leave for what is asked at `place`.
    pub(super) fn new(place: Option<Place>, now: Instant) -> Self {
        let until = now + LIFETIME;
        Self { place, until }
    }

    /// Returns when it ends by itself.
    pub(super) fn until(&self) -> Instant {
        self.until
    }

    /// Returns whether it holds for a UI that is at `place`.
    pub(super) fn holds(&self, place: Option<&Place>, now: Instant) -> bool {
        self.place.as_ref() == place && self.lasts(now)
    }

    /// Returns whether its time is not over, wherever a UI is.
    pub(super) fn lasts(&self, now: Instant) -> bool {
        now < self.until
    }

    /// Returns where it was given.
    pub(super) fn place(self) -> Option<Place> {
        self.place
    }
}
