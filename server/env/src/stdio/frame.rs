//! Frames: a JSON head and raw bytes behind it. They know nothing of what is asked.
//!
//! On the wire: head length and body length as little-endian `u32`, then the head, then the body.

use std::path::PathBuf;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::{
    Command, EnvError, Exit, Expect, FindQuery, Found, GrepQuery, Hits, Listing, Stat,
    file::READ_BYTES,
};

/// Largest head.
pub(super) const HEAD_BYTES: usize = 16 << 20;
/// Largest body: a whole read.
pub(super) const BODY_BYTES: usize = READ_BYTES as usize;

/// From the one who asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    Stat {
        id: u64,
        #[serde(with = "crate::path_bytes")]
        path: PathBuf,
    },
    Read {
        id: u64,
        #[serde(with = "crate::path_bytes")]
        path: PathBuf,
        from: u64,
        max: u64,
    },
    /// The body is what to write.
    Write {
        id: u64,
        #[serde(with = "crate::path_bytes")]
        path: PathBuf,
        expect: Expect,
    },
    List {
        id: u64,
        #[serde(with = "crate::path_bytes")]
        path: PathBuf,
        limit: usize,
    },
    Find {
        id: u64,
        query: FindQuery,
    },
    Grep {
        id: u64,
        query: GrepQuery,
    },
    Exec {
        id: u64,
        command: Command,
    },
    EndLeft {
        id: u64,
    },
    /// A command shall stop; its answer still comes.
    Stop {
        id: u64,
    },
    /// Nobody waits for the answer any more; none comes.
    Forget {
        id: u64,
    },
}

/// To the one who asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Response {
    /// The body is output of a command.
    Output { id: u64 },
    /// The one answer. The body is what was read, for a read.
    Answer {
        id: u64,
        answer: Result<Answer, EnvError>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Stat(Stat),
    Listing(Listing),
    Found(Found),
    Hits(Hits),
    Exit(Exit),
    Count(usize),
}

/// Why a frame was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    #[error("a frame is too large")]
    TooLarge,
    #[error("a frame does not parse")]
    Malformed,
    #[error("the connection broke: {0}")]
    Broken(#[from] std::io::Error),
}

/// Returns the bytes of a frame.
pub(super) fn encode(head: &impl Serialize, body: &[u8]) -> Result<Vec<u8>, FrameError> {
    let head = serde_json::to_vec(head).map_err(|_| FrameError::Malformed)?;
    if head.len() > HEAD_BYTES || body.len() > BODY_BYTES {
        return Err(FrameError::TooLarge);
    }
    let mut bytes = Vec::with_capacity(8 + head.len() + body.len());
    for len in [head.len(), body.len()] {
        let len = u32::try_from(len).map_err(|_| FrameError::TooLarge)?;
        bytes.extend_from_slice(&len.to_le_bytes());
    }
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(body);
    Ok(bytes)
}

/// Returns the next frame; `None` where the stream ended between two.
pub(super) async fn next<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<Option<(T, Vec<u8>)>, FrameError> {
    let mut lengths = [0; 8];
    if !fill(stream, &mut lengths).await? {
        return Ok(None);
    }
    let [a, b, c, d, e, f, g, h] = lengths;
    let head = u32::from_le_bytes([a, b, c, d]) as usize;
    let body = u32::from_le_bytes([e, f, g, h]) as usize;
    if head > HEAD_BYTES || body > BODY_BYTES {
        return Err(FrameError::TooLarge);
    }
    let head = part(stream, head).await?;
    let head = serde_json::from_slice(&head).map_err(|_| FrameError::Malformed)?;
    Ok(Some((head, part(stream, body).await?)))
}

/// Returns whether the whole of `bytes` came; a stream that ends inside is broken.
async fn fill(stream: &mut (impl AsyncRead + Unpin), bytes: &mut [u8]) -> Result<bool, FrameError> {
    let mut len = 0;
    while len < bytes.len() {
        match stream.read(&mut bytes[len..]).await? {
            0 if len == 0 => return Ok(false),
            0 => return Err(cut()),
            more => len += more,
        }
    }
    Ok(true)
}

/// Grows with what arrives: a length alone takes no memory.
async fn part(stream: &mut (impl AsyncRead + Unpin), len: usize) -> Result<Vec<u8>, FrameError> {
    let mut bytes = Vec::new();
    stream.take(len as u64).read_to_end(&mut bytes).await?;
    if bytes.len() < len {
        return Err(cut());
    }
    Ok(bytes)
}

fn cut() -> FrameError {
    FrameError::Broken(std::io::ErrorKind::UnexpectedEof.into())
}
