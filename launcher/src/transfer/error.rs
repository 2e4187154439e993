//! Why a transfer ended early, each with a sentence and what to do next.

use std::io;

use super::{Refused, name::NotAName, size};
use crate::{
    door::{Answered, DoorError},
    failure::Failure,
};

/// Why a transfer ended early. Nothing of it is left behind, here or there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// At the door.
    #[error("{0}")]
    Door(DoorError),
    /// The server said no.
    #[error("{message}")]
    Told {
        /// What it said, escaped.
        message: String,
        /// What to do next, escaped; may be empty.
        hint: String,
    },
    /// The file here is not one to send, or not the one that was agreed to.
    #[error("the file {0}")]
    File(Refused),
    /// The file there changed between two ranges.
    #[error("the file changed while loading; open it again")]
    Changed,
    /// Nothing came or went for long.
    #[error("nothing moved for 60 seconds")]
    Stalled,
    /// The visitor, or the end of the launcher.
    #[error("cancelled")]
    Cancelled,
    /// More than this computer takes.
    #[error("the file has {}, which is over the limit of {}", size(*.bytes), size(*.limit))]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// No room here.
    #[error("there is no room: the file has {}, and {} are free here", size(*.bytes), size(*.free))]
    NoRoom {
        /// Its size.
        bytes: u64,
        /// What is free.
        free: u64,
    },
    /// The name the server gave is none.
    #[error("the server's name for the file is refused: {0}")]
    Name(NotAName),
    /// It cannot be written here.
    #[error("the file cannot be saved in that folder: {0}")]
    Unwritable(io::ErrorKind),
}

impl TransferError {
    /// Returns what to do next; may be empty.
    pub fn hint(&self) -> &str {
        match self {
            Self::Door(error) => error.hint(),
            Self::Told { hint, .. } => hint,
            Self::File(_) | Self::Cancelled => "",
            Self::Changed => "if a program is writing it, wait until that has ended",
            Self::Stalled => "check the network, then try again",
            Self::TooLarge { .. } => {
                "`max_transfer_mib` in the launcher's `preferences.toml` raises the limit"
            }
            Self::NoRoom { .. } => "make room, or save it elsewhere",
            Self::Name(_) => "give the file another name on the server",
            Self::Unwritable(_) => "name another folder",
        }
    }

    /// Returns the failure of a command.
    pub fn to_failure(&self) -> Failure {
        Failure::new(self.to_string(), self.hint())
    }

    /// Returns whether trying again by itself may help.
    pub(super) fn is_transient(&self) -> bool {
        matches!(self, Self::Door(error) if error.is_transient())
    }
}

impl From<Answered> for TransferError {
    fn from(answered: Answered) -> Self {
        match answered {
            Answered::Door(error) => Self::Door(error),
            Answered::Told { message, hint, .. } => Self::Told { message, hint },
        }
    }
}

impl From<DoorError> for TransferError {
    fn from(error: DoorError) -> Self {
        Self::Door(error)
    }
}

impl From<Refused> for TransferError {
    fn from(refused: Refused) -> Self {
        Self::File(refused)
    }
}
