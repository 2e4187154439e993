//! What a UI leaves to its successor: drafts, places, and changing calls that nobody has answered yet.
//! It is versioned postcard, for nobody but a UI of the same kind; one that cannot be read is as good as none.

use porthole_bridge::limits;
use porthole_protocol::{Call, ConversationId, PlainCall, SessionId};
use serde::{Deserialize, Serialize};

use crate::{composer::Chip, editor::Draft, transcript::TranscriptPlace};

/// Counted up with every change of what is saved: the bytes do not say what they are.
const VERSION: u32 = 3;

/// The state that outlives a UI.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    pub(crate) version: u32,
    /// The conversations someone wrote or read in, the newest last.
    pub(crate) screens: Vec<SavedScreen>,
    /// Changing calls without a reply, in their order; they go again under the same request ids.
    pub(crate) calls: Vec<SavedCall>,
    /// The session selected in the list.
    pub(crate) selected: Option<SessionId>,
    /// The directory offered for a new session.
    pub(crate) last_dir: String,
    /// Whether archived sessions were shown.
    pub(crate) archived_shown: bool,
    /// The theme that was chosen.
    pub(crate) theme: String,
}

/// A call in the bytes of a snapshot, which do not say what they are.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SavedCall(#[serde(with = "PlainCall")] pub(crate) Call);

/// What is kept of one conversation's screen.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SavedScreen {
    /// The session.
    pub(crate) session: SessionId,
    /// The conversation in it.
    pub(crate) conversation: ConversationId,
    /// What was being written.
    pub(crate) draft: Draft,
    /// The files that were to go with it.
    pub(crate) chips: Vec<Chip>,
    /// Where the reader was.
    pub(crate) place: TranscriptPlace,
}

impl Snapshot {
    /// Returns the snapshot as bytes within the bound; where it is too large the oldest screens are left out.
    pub(crate) fn encode(mut self) -> Vec<u8> {
        self.version = VERSION;
        loop {
            match postcard::to_stdvec(&self) {
                Ok(bytes) if bytes.len() <= limits::SNAPSHOT_BYTES => return bytes,
                Ok(_) if !self.screens.is_empty() => drop(self.screens.remove(0)),
                Ok(_) if !self.calls.is_empty() => drop(self.calls.pop()),
                _ => return Vec::new(),
            }
        }
    }

    /// Returns the snapshot in `bytes`, where it is one of this version.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, _) = postcard::take_from_bytes::<u32>(bytes).ok()?;
        if version != VERSION {
            return None;
        }
        match postcard::take_from_bytes(bytes) {
            Ok((snapshot, [])) => Some(snapshot),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use porthole_protocol::{RequestId, SendMode};

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
            chips: Vec::new(),
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

    fn full() -> Snapshot {
        let session = SessionId::parse("s1").expect("an id");
        let request = RequestId::parse("r1").expect("an id");
        Snapshot {
            version: VERSION,
            screens: vec![screen(2)],
            calls: [
                Call::SessionCreate {
                    request: request.clone(),
                    dir: Some("/a".into()),
                    title: None,
                    model: None,
                },
                Call::Submit {
                    session: session.clone(),
                    conversation: ConversationId::ROOT,
                    request,
                    mode: SendMode::FollowUp,
                    text: "go on".into(),
                    attachments: Vec::new(),
                },
                Call::Models {},
            ]
            .map(SavedCall)
            .into(),
            selected: Some(session),
            last_dir: "/b".into(),
            archived_shown: true,
            theme: "dark".into(),
        }
    }

    #[test]
    fn what_was_saved_comes_back() {
        assert_eq!(Snapshot::decode(&full().encode()), Some(full()));
    }

    #[test]
    fn a_version_is_one_shape_of_bytes() {
        let bytes = full().encode();
        let text: String = bytes
            .iter()
            .flat_map(|b| b.escape_ascii())
            .map(char::from)
            .collect();
        insta::assert_snapshot!(text, "where this changes, `VERSION` counts up", @r#"\x03\x01\x02s1\x01\x02xx\x00\x00\x00\x00\x00\x03\x00\x02r1\x01\x02/a\x00\x00\x07\x02s1\x01\x02r1\x00\x05go on\x00\x0f\x01\x02s1\x02/b\x01\x04dark"#);
        for end in 0..bytes.len() {
            assert_eq!(Snapshot::decode(&bytes[..end]), None);
        }
        assert_eq!(Snapshot::decode(b"{\"version\":1}"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_snapshot_or_none(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
            let _ = Snapshot::decode(&bytes).is_some();
        }
    }
}
