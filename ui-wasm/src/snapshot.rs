//! What a UI leaves to its successor: drafts, places, and changing calls that nobody has answered yet.
//! It is versioned JSON; one that cannot be read is as good as none.

use porthole_bridge::limits;
use porthole_protocol::{Call, ConversationId, SessionId};
use serde::{Deserialize, Serialize};

use crate::{editor::Draft, transcript::TranscriptPlace};

const VERSION: u32 = 1;

/// The state that outlives a UI.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    pub(crate) version: u32,
    /// The conversations someone wrote or read in, the newest last.
    pub(crate) screens: Vec<SavedScreen>,
    /// Changing calls without a reply, in their order; they go again under the same request ids.
    pub(crate) calls: Vec<Call>,
    /// The session selected in the list.
    pub(crate) selected: Option<SessionId>,
    /// The directory offered for a new session.
    pub(crate) last_dir: String,
    /// Whether archived sessions were shown.
    pub(crate) archived_shown: bool,
    /// The theme that was chosen.
    pub(crate) theme: String,
}

/// What is kept of one conversation's screen.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SavedScreen {
    /// The session.
    pub(crate) session: SessionId,
    /// The conversation in it.
    pub(crate) conversation: ConversationId,
    /// What was being written.
    pub(crate) draft: Draft,
    /// Where the reader was.
    pub(crate) place: TranscriptPlace,
}

impl Snapshot {
    /// Returns the snapshot as bytes within the bound; where it is too large the oldest screens are left out.
    pub(crate) fn encode(mut self) -> Vec<u8> {
        self.version = VERSION;
        loop {
            match serde_json::to_vec(&self) {
                Ok(bytes) if bytes.len() <= limits::SNAPSHOT_BYTES => return bytes,
                Ok(_) if !self.screens.is_empty() => drop(self.screens.remove(0)),
                Ok(_) if !self.calls.is_empty() => drop(self.calls.pop()),
                _ => return Vec::new(),
            }
        }
    }

    /// Returns the snapshot in `bytes`, where it is one of this version.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let snapshot: Self = serde_json::from_slice(bytes).ok()?;
        (snapshot.version == VERSION).then_some(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::Transcript;

    fn screen(bytes: usize) -> SavedScreen {
        SavedScreen {
            session: SessionId::parse("s1").expect("an id"),
            conversation: ConversationId::ROOT,
            draft: Draft {
                text: "x".repeat(bytes),
                cursor: 0,
            },
            place: Transcript::new().snapshot(),
        }
    }

    #[test]
    fn one_that_is_too_large_loses_its_oldest_drafts_only() {
        let screens = vec![screen(700_000), screen(500_000), screen(10)];
        let bytes = Snapshot {
            screens,
            ..Snapshot::default()
        }
        .encode();
        assert!(bytes.len() <= limits::SNAPSHOT_BYTES);
        let kept = Snapshot::decode(&bytes).expect("decodes");
        let lengths: Vec<usize> = kept.screens.iter().map(|s| s.draft.text.len()).collect();
        assert_eq!(lengths, [500_000, 10]);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_snapshot_or_none(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
            let _ = Snapshot::decode(&bytes).is_some();
        }
    }
}
