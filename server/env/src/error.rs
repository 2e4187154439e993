//! Why something could not be done on a machine. Texts are for people and models; kinds are for programs.

use std::io;

use serde::{Deserialize, Serialize};

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct EnvError {
    /// For programs.
    pub kind: ErrorKind,
    /// What failed, without the path.
    pub message: String,
}

/// Why something could not be done, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// There is nothing at the path.
    NotFound,
    /// The operating system does not allow it.
    Denied,
    /// It is a folder, and a file is needed.
    Folder,
    /// It is no regular file: a device, a pipe, a socket.
    Special,
    /// It is no folder, and a folder is needed.
    NotFolder,
    /// The file is another than was expected.
    Changed,
    /// It is over a limit.
    TooLarge,
    /// A pattern, a glob or another argument makes no sense.
    Invalid,
    /// The environment does not answer any more.
    Gone,
    /// Something else.
    Other,
}

impl EnvError {
    /// Returns an error.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    pub(crate) fn gone() -> Self {
        Self::new(ErrorKind::Gone, "the environment does not answer any more")
    }
}

impl From<io::Error> for EnvError {
    fn from(error: io::Error) -> Self {
        let (kind, message) = match error.kind() {
            io::ErrorKind::NotFound => (ErrorKind::NotFound, "no such file or folder"),
            io::ErrorKind::PermissionDenied => (ErrorKind::Denied, "permission denied"),
            io::ErrorKind::IsADirectory => (ErrorKind::Folder, "is a folder"),
            io::ErrorKind::NotADirectory => (ErrorKind::NotFolder, "is not a folder"),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => {
                (ErrorKind::Invalid, "no file can have such a name")
            }
            io::ErrorKind::StorageFull => (ErrorKind::Other, "the disk is full"),
            _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                (ErrorKind::Other, "the link leads to itself")
            }
            _ => return Self::new(ErrorKind::Other, error.to_string()),
        };
        Self::new(kind, message)
    }
}
