//! What the server and a worker say to each other over their socketpair: a JSON head, and where a client
//! frame travels, that frame's own bytes behind it, encoded once by the worker and never read by the server.
//!
//! On the wire: head length and body length as little-endian `u32`, then the head, then the body.

use std::path::PathBuf;

use porthole_protocol::{
    Call, CallError, ConversationId, Entry, ModelRef, SessionId, SessionState, Settings, Topic, Who,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Largest head.
pub const HEAD_BYTES: usize = 2 << 20;
/// Largest body: a whole server frame.
pub const BODY_BYTES: usize = porthole_protocol::limits::SERVER_FRAME_BYTES;

/// A connection of a client, as the server numbers them.
pub type ConnectionId = u64;

/// From the server to the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToWorker {
    /// The first message, once.
    Open(Box<Open>),
    /// A client's call. The answer is one [`FromWorker::Reply`].
    Call {
        /// Whose.
        connection: ConnectionId,
        /// The client's id of the call.
        id: u64,
        /// Who is asking; the worker checks again what they may do.
        who: Who,
        /// The call.
        call: Call,
    },
    /// A client watches a topic. The answer is one [`FromWorker::Snapshot`] or [`FromWorker::WatchFailed`].
    Watch {
        /// Whose.
        connection: ConnectionId,
        /// Who is asking.
        who: Who,
        /// The topic.
        topic: Topic,
    },
    /// How many connections watch this session now; a worker with none and nothing to do may stop.
    Watchers {
        /// How many.
        count: u32,
    },
    /// The settings changed; they hold from the next turn on.
    Settings(Box<Settings>),
    /// Finish what can be finished in the grace time, close the store, exit.
    Stop,
    /// Read entries as they are kept. The answer is one [`FromWorker::Entries`].
    Entries {
        /// The server's number of it.
        ask: u64,
        /// Those of every conversation that were committed after this one, in the order of their ids.
        after: u64,
    },
}

/// What a worker begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// The session.
    pub session: SessionId,
    /// Its folder.
    pub folder: PathBuf,
    /// Whether it was never open before: only then the worker makes its store. One that was open and has none any more
    /// is refused.
    pub is_new: bool,
    /// The data folder of the server, where `models.toml` is.
    pub data: PathBuf,
    /// The directory to work in.
    pub dir: PathBuf,
    /// The model to begin with, for a new session; `None`: the default.
    pub model: Option<ModelRef>,
    /// The name of the owner, to show.
    pub owner_name: String,
    /// Seconds without watchers and work after which the worker offers to stop.
    pub idle_seconds: u64,
    /// Distinguishes the lives of a worker; the epoch of its topics.
    pub generation: u64,
    /// The settings as they are now.
    #[serde(default)]
    pub settings: Settings,
}

/// From the worker to the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromWorker {
    /// The store is open, interrupted work is taken up again, calls are welcome.
    Ready,
    /// The store could not be opened. The worker exits next.
    OpenFailed {
        /// Why.
        error: CallError,
    },
    /// The body is a whole [`porthole_protocol::ServerFrame`] for one connection: the reply or the error of a call.
    Reply {
        /// Whose.
        connection: ConnectionId,
        /// The client's id of the call.
        id: u64,
    },
    /// The body is a whole snapshot frame for one connection. Deltas of the topic that come after it continue it.
    Snapshot {
        /// Whose.
        connection: ConnectionId,
        /// The topic.
        topic: Topic,
    },
    /// A watch was refused.
    WatchFailed {
        /// Whose.
        connection: ConnectionId,
        /// The topic.
        topic: Topic,
        /// Why.
        error: CallError,
    },
    /// The body is a whole delta frame for every watcher of the topic.
    Delta {
        /// The topic.
        topic: Topic,
    },
    /// What the home list shows changed.
    Status(Status),
    /// It has been idle for as long as it was told; the server answers with [`ToWorker::Stop`] or with nothing.
    Idle,
    /// Entries were committed.
    Committed {
        /// The newest.
        entry: u64,
    },
    /// Entries as they are kept: the body is an array of [`KeptEntry`] in JSON, oldest first.
    Entries {
        /// The server's number of the question.
        ask: u64,
        /// The newest that was looked at; one that is too large for a message is passed over.
        last: u64,
        /// Whether there are more after the last one.
        more: bool,
    },
}

/// An entry with the conversation that it was committed to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptEntry {
    /// The conversation.
    pub conversation: ConversationId,
    /// The entry.
    pub entry: Entry,
}

/// What the home list shows of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// What it is doing.
    pub state: SessionState,
    /// A title made from the first message, where the session has no other.
    pub suggested_title: Option<String>,
    /// When something last happened, in milliseconds since the Unix epoch.
    pub updated_ms: u64,
    /// Whether an answer came that is new.
    pub answered: bool,
}

/// Why a message was not taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A part is over its limit.
    #[error("a message between server and worker is too large")]
    TooLarge,
    /// The head is no message of this contract.
    #[error("a message between server and worker does not parse")]
    Malformed,
}

/// Returns the bytes of a message.
///
/// # Errors
/// [`WireError::TooLarge`] where head or body is over its limit.
pub fn encode(head: &impl Serialize, body: &[u8]) -> Result<Vec<u8>, WireError> {
    let head = serde_json::to_vec(head).map_err(|_| WireError::Malformed)?;
    if head.len() > HEAD_BYTES || body.len() > BODY_BYTES {
        return Err(WireError::TooLarge);
    }
    let mut bytes = Vec::with_capacity(8 + head.len() + body.len());
    for len in [head.len(), body.len()] {
        let len = u32::try_from(len).map_err(|_| WireError::TooLarge)?;
        bytes.extend_from_slice(&len.to_le_bytes());
    }
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(body);
    Ok(bytes)
}

/// Returns the first whole message in `bytes` and how many bytes it took; `None` where it is not whole yet.
///
/// # Errors
/// Where it can never become a message.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<Option<(T, Vec<u8>, usize)>, WireError> {
    let Some((head_len, rest)) = bytes.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let Some((body_len, rest)) = rest.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let (head_len, body_len) = (
        u32::from_le_bytes(*head_len) as usize,
        u32::from_le_bytes(*body_len) as usize,
    );
    if head_len > HEAD_BYTES || body_len > BODY_BYTES {
        return Err(WireError::TooLarge);
    }
    let (Some(head), Some(body)) = (
        rest.get(..head_len),
        rest.get(head_len..head_len + body_len),
    ) else {
        return Ok(None);
    };
    let head = serde_json::from_slice(head).map_err(|_| WireError::Malformed)?;
    Ok(Some((head, body.to_vec(), 8 + head_len + body_len)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_whole_however_it_is_cut() {
        let bytes = encode(
            &FromWorker::Reply {
                connection: 3,
                id: 9,
            },
            b"{}",
        )
        .expect("encodes");
        for end in 0..bytes.len() {
            assert_eq!(decode::<FromWorker>(&bytes[..end]), Ok(None), "{end}");
        }
        let whole = decode(&bytes).expect("decodes");
        assert_eq!(
            whole,
            Some((
                FromWorker::Reply {
                    connection: 3,
                    id: 9
                },
                b"{}".to_vec(),
                bytes.len()
            ))
        );
    }

    #[test]
    fn a_length_over_the_limit_is_refused_before_it_arrives() {
        let bytes = [u32::MAX.to_le_bytes(), 0u32.to_le_bytes()].concat();
        assert_eq!(decode::<FromWorker>(&bytes), Err(WireError::TooLarge));
    }
}
