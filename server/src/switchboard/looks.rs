//! The looks that the server offers, as watchers see them: always whole, each newer than the one before.

use porthole_protocol::{Looks, ServerFrame, Topic, TopicState};

/// The looks and how often they changed.
#[derive(Debug)]
pub(super) struct Shown {
    epoch: u64,
    seq: u64,
    looks: Looks,
}

impl Shown {
    /// Returns no looks at all, in this life of the server.
    pub(super) fn new(epoch: u64) -> Self {
        Self {
            epoch,
            seq: 0,
            looks: Looks::default(),
        }
    }

    /// Returns newer looks in place of these.
    pub(super) fn followed_by(&self, looks: Looks) -> Self {
        Self {
            epoch: self.epoch,
            seq: self.seq + 1,
            looks,
        }
    }

    /// Returns them as a snapshot.
    pub(super) fn frame(&self) -> ServerFrame {
        ServerFrame::Snapshot {
            topic: Topic::Looks,
            epoch: self.epoch,
            seq: self.seq,
            state: TopicState::Looks(Box::new(self.looks.clone())),
        }
    }
}
