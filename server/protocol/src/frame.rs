//! Frames of the link: JSON text, one frame a message.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::{
    Call, CallError, ConversationDelta, ConversationId, ConversationState, Looks, SessionId,
    SessionRow, SessionsDelta, SettingsState, Who,
};

/// From a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientFrame {
    /// A call. The id is the client's and comes back in the reply.
    Call {
        /// The client's id, unique among its pending calls.
        id: u64,
        /// The call.
        #[serde(flatten)]
        call: Call,
    },
    /// Asks for a snapshot of a topic and its deltas from there; once more: a fresh snapshot.
    Watch {
        /// The topic.
        topic: Topic,
    },
    /// No more of a topic.
    Unwatch {
        /// The topic.
        topic: Topic,
    },
}

/// From the server. Deltas are addressed by topic, so that one encoding serves every watcher.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerFrame {
    /// The first frame.
    Hello {
        /// [`crate::PROTOCOL_VERSION`] of the server.
        protocol: u32,
        /// The server's version, to show.
        server: String,
        /// The machine's name, to show.
        machine: String,
        /// Who you are.
        who: Who,
        /// The home directory of whoever the server runs as, to show paths below it as `~/…`; empty: unknown.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        home: String,
    },
    /// The reply to a call.
    Reply {
        /// The client's id of the call.
        id: u64,
        /// What [`crate::replies`] says for the method.
        result: Box<RawValue>,
    },
    /// A call failed.
    Error {
        /// The client's id of the call; `None`: the frame itself was no call.
        id: Option<u64>,
        /// Why.
        error: CallError,
    },
    /// A topic as it is. It replaces what the client has.
    Snapshot {
        /// The topic.
        topic: Topic,
        /// Which life of the topic: deltas of another epoch are ignored.
        epoch: u64,
        /// The number of the last delta that it contains.
        seq: u64,
        /// The state.
        state: TopicState,
    },
    /// A change to a topic.
    Delta {
        /// The topic.
        topic: Topic,
        /// Which life of the topic.
        epoch: u64,
        /// Its number; one more than the last.
        seq: u64,
        /// The change.
        delta: TopicDelta,
    },
    /// A watch ended and does not come back by itself.
    Ended {
        /// The topic.
        topic: Topic,
        /// Why.
        error: CallError,
    },
}

/// What can be watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// The home list; a guest's has one row.
    Sessions,
    /// A conversation.
    Conversation {
        /// The session.
        session: SessionId,
        /// The conversation in it.
        conversation: ConversationId,
    },
    /// The settings; the owner's alone.
    Settings,
    /// The looks that the server offers: themes, and what its owner prefers for everybody.
    Looks,
}

/// A topic as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopicState {
    /// Of [`Topic::Sessions`]: rows in no order.
    Sessions(Vec<SessionRow>),
    /// Of [`Topic::Conversation`].
    Conversation(Box<ConversationState>),
    /// Of [`Topic::Settings`].
    Settings(Box<SettingsState>),
    /// Of [`Topic::Looks`]; it has no changes, only newer states.
    Looks(Box<Looks>),
}

/// A change to a topic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopicDelta {
    /// Of [`Topic::Sessions`].
    Sessions(SessionsDelta),
    /// Of [`Topic::Conversation`].
    Conversation(ConversationDelta),
    /// Of [`Topic::Settings`]: all of it anew.
    Settings(Box<SettingsState>),
}

/// Why a frame was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// No frame of this protocol.
    #[error("not a frame of this protocol")]
    Malformed,
    /// Over its limit.
    #[error("a frame of over {0} bytes")]
    TooLarge(usize),
}

/// Returns a frame as JSON text.
///
/// # Errors
/// [`FrameError::TooLarge`] over `limit` bytes.
pub fn encode(frame: &impl Serialize, limit: usize) -> Result<String, FrameError> {
    let text = serde_json::to_string(frame).map_err(|_| FrameError::Malformed)?;
    if text.len() > limit {
        return Err(FrameError::TooLarge(limit));
    }
    Ok(text)
}

/// Returns the frame in `text`.
///
/// # Errors
/// Where the text is no frame of that kind or over `limit` bytes. JSON deeper than 128 levels is malformed.
pub fn decode<T: DeserializeOwned>(text: &str, limit: usize) -> Result<T, FrameError> {
    if text.len() > limit {
        return Err(FrameError::TooLarge(limit));
    }
    serde_json::from_str(text).map_err(|_| FrameError::Malformed)
}

impl ServerFrame {
    /// Returns the frame in `text`: [`decode`], compiled once and in this crate, which a small bundle likes.
    ///
    /// # Errors
    /// As [`decode`].
    pub fn decode(text: &str, limit: usize) -> Result<Self, FrameError> {
        decode(text, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    #[test]
    fn a_call_reads_as_the_documents_show_it() {
        let text = r#"{"call":{"id":7,"method":"conversation.stop","params":{"session":"k3","conversation":1,"request":"r1"}}}"#;
        let frame: ClientFrame = decode(text, limits::CLIENT_FRAME_BYTES).expect("decodes");
        assert_eq!(
            encode(&frame, limits::CLIENT_FRAME_BYTES).as_deref(),
            Ok(text)
        );
    }

    #[test]
    fn an_empty_parameter_list_may_be_an_empty_object() {
        let text = r#"{"call":{"id":1,"method":"models.list","params":{}}}"#;
        assert!(decode::<ClientFrame>(text, limits::CLIENT_FRAME_BYTES).is_ok());
    }

    #[test]
    fn deep_json_is_malformed_and_not_a_crash() {
        let deep = format!("{}{}", "[".repeat(500_000), "]".repeat(500_000));
        assert_eq!(
            decode::<ClientFrame>(&deep, limits::CLIENT_FRAME_BYTES),
            Err(FrameError::Malformed)
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_decodes_or_is_refused(text in ".{0,300}") {
            let _ = decode::<ClientFrame>(&text, limits::CLIENT_FRAME_BYTES).is_ok();
            let _ = decode::<ServerFrame>(&text, limits::SERVER_FRAME_BYTES).is_ok();
        }
    }
}
