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
    ReadInside {
        id: u64,
        #[serde(with = "crate::path_bytes")]
        root: PathBuf,
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
        /// Whether no part of the path may be a link.
        #[serde(default)]
        exactly: bool,
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<Option<(T, Vec<u8>)>, FrameError> {
        let mut stream = bytes;
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime").block_on(next(&mut stream))
    }

    #[test]
    fn a_frame_comes_whole_or_not_at_all() {
        let request = Request::Write {
            id: 7,
            path: "/a\n".into(),
            expect: Expect::Version(u64::MAX),
            exactly: true,
        };
        let bytes = encode(&request, b"body").expect("encodes");
        let whole = decode::<Request>(&bytes).expect("decodes");
        assert_eq!(whole, Some((request, b"body".to_vec())));
        assert!(matches!(decode::<Request>(&[]), Ok(None)));
        for end in 1..bytes.len() {
            let cut = decode::<Request>(&bytes[..end]);
            assert!(matches!(cut, Err(FrameError::Broken(_))), "{end}");
        }
    }

    #[test]
    fn a_length_over_the_limit_is_refused_before_it_arrives() {
        for lengths in [[u32::MAX, 0], [0, u32::MAX]] {
            let bytes = lengths.map(u32::to_le_bytes).concat();
            let refused = decode::<Request>(&bytes);
            assert!(matches!(refused, Err(FrameError::TooLarge)), "{lengths:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode::<Request>(&bytes);
        }

        #[test]
        fn any_head_is_a_request_or_an_error(head in ".{0,200}", body in prop::collection::vec(any::<u8>(), 0..50)) {
            let lengths = [head.len(), body.len()].map(|len| u32::try_from(len).unwrap_or(0).to_le_bytes()).concat();
            let bytes = [lengths.as_slice(), head.as_bytes(), &body].concat();
            let refused = matches!(decode::<Request>(&bytes), Err(FrameError::Malformed));
            prop_assert!(refused, "a random head became a request");
        }

        #[test]
        fn any_path_and_variable_travels_as_it_is(
            path in prop::collection::vec(1..=255_u8, 1..40),
            value in prop::collection::vec(1..=255_u8, 0..40),
        ) {
            use std::{ffi::OsString, os::unix::ffi::OsStringExt};
            let request = Request::Exec {
                id: 1,
                command: Command {
                    line: "x".to_owned(),
                    cwd: OsString::from_vec(path).into(),
                    variables: vec![("A".into(), OsString::from_vec(value))],
                    timeout: std::time::Duration::from_millis(1_500),
                },
            };
            let bytes = encode(&request, &[]).expect("encodes");
            prop_assert_eq!(decode(&bytes).expect("decodes"), Some((request, Vec::new())));
        }
    }
}
