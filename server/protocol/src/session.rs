//! Sessions as the home list shows them, and who is asking.

use serde::{Deserialize, Serialize};

use crate::{Presence, SessionId};

/// One line of the home list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// Which session.
    pub id: SessionId,
    /// Its title; never empty.
    pub title: String,
    /// The machine it works on, as shown.
    pub machine: String,
    /// The directory it works in, as shown.
    pub dir: String,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When something last happened in it.
    pub updated_ms: u64,
    /// Whether it stands first.
    pub pinned: bool,
    /// Whether it is put away.
    pub archived: bool,
    /// What it is doing.
    pub state: SessionState,
    /// Whether an answer came that nobody has looked at.
    pub unread: bool,
    /// Who is in it now.
    #[serde(default)]
    pub presence: Presence,
}

/// What a session is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Nothing; it may have no worker.
    Idle,
    /// A turn is going on.
    Working {
        /// What, one short line: "running cargo test".
        activity: String,
    },
    /// A turn waits for a person.
    Waiting {
        /// For what, one short line: "run git push?".
        question: String,
    },
    /// Its worker failed and waits for an explicit retry.
    Failed {
        /// Why, for a person.
        reason: String,
    },
}

/// One change to the home list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionsDelta {
    /// A row is new or changed.
    Row {
        /// The row.
        row: Box<SessionRow>,
    },
    /// A row is gone.
    Gone {
        /// Which.
        id: SessionId,
    },
}

impl SessionsDelta {
    /// Applies the change to rows in any order. Twice is the same as once.
    pub fn apply(&self, rows: &mut Vec<SessionRow>) {
        match self {
            Self::Row { row } => match rows.iter_mut().find(|r| r.id == row.id) {
                Some(there) => *there = (**row).clone(),
                None => rows.push((**row).clone()),
            },
            Self::Gone { id } => rows.retain(|r| r.id != *id),
        }
    }
}

/// Who is asking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Who {
    /// What they may do.
    pub role: Role,
    /// Stable id: "owner", or a guest's.
    pub id: String,
    /// Name to show.
    pub name: String,
}

/// What someone may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything.
    Owner,
    /// One session.
    Guest {
        /// Which.
        session: SessionId,
        /// How much.
        mode: GuestMode,
        /// Whether they may answer questions.
        may_approve: bool,
    },
}

/// How much a guest may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestMode {
    /// Read and follow.
    View,
    /// Also send, steer, stop and run commands.
    Full,
}
