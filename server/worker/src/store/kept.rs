//! Entries as they are kept, for whoever looks through a whole session: the worker's own store tells them, and where no
//! worker has it, the server reads the file. It changes nothing and resumes nothing.

use std::{fmt::Write as _, path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags};

use super::{StoreError, lock::Lock, schema};
use crate::wire::{BODY_BYTES, KeptEntry};

/// Bytes of one part, unless one entry alone is larger.
const PART_BYTES: usize = 768 << 10;

/// A part of what a session keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The entries, oldest first: an array of [`KeptEntry`] in JSON.
    pub json: String,
    /// The newest that was looked at; of none, the one before.
    pub last: u64,
    /// Whether there are more.
    pub more: bool,
}

impl Kept {
    /// Returns the entries.
    ///
    /// # Errors
    /// Where they are none of this version's.
    pub fn entries(&self) -> serde_json::Result<Vec<KeptEntry>> {
        match self.json.as_str() {
            "" => Ok(Vec::new()),
            json => serde_json::from_str(json),
        }
    }
}

/// Returns what was committed after an entry.
pub(super) fn after(from: &Connection, after: u64) -> Result<Kept, StoreError> {
    let mut statement = from
        .prepare_cached("SELECT id, conversation, body FROM entries WHERE id > ?1 ORDER BY id")?;
    let mut rows = statement.query([i64::try_from(after).unwrap_or(i64::MAX)])?;
    let (mut json, mut last, mut more) = ("[".to_owned(), after, false);
    while let Some(row) = rows.next()? {
        let body = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
        if json.len() > 1 && json.len() + body.len() > PART_BYTES {
            more = true;
            break;
        }
        last = row.get(0)?;
        let conversation: u64 = row.get(1)?;
        // What no message can carry would stop everything behind it.
        if body.len() + 100 > BODY_BYTES {
            continue;
        }
        let comma = if json.len() > 1 { "," } else { "" };
        // Writing to a string does not fail.
        let _ = write!(
            json,
            r#"{comma}{{"conversation":{conversation},"entry":{body}}}"#
        );
    }
    json.push(']');
    Ok(Kept { json, last, more })
}

/// Why a session's store could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShelfError {
    /// A worker has it: that one can be asked.
    #[error("{0}")]
    InUse(String),
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

impl From<StoreError> for ShelfError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::InUse(_) => Self::InUse(error.to_string()),
            _ => Self::Unreadable(error.to_string()),
        }
    }
}

/// The store of a session that no worker has: read only, and no worker gets it meanwhile. Keep it for a moment only.
pub struct Shelf {
    connection: Connection,
    _lock: Lock,
}

impl Shelf {
    /// Opens the store in a session's folder. Blocks.
    ///
    /// # Errors
    /// [`ShelfError`].
    pub fn open(folder: &Path) -> Result<Self, ShelfError> {
        let file = folder.join("session.db");
        schema::look(&file)?;
        let lock = Lock::take(folder, Duration::ZERO)?;
        Ok(Self {
            connection: read_only(&file)?,
            _lock: lock,
        })
    }

    /// Returns what was committed after an entry.
    ///
    /// # Errors
    /// [`ShelfError`].
    pub fn after(&self, entry: u64) -> Result<Kept, ShelfError> {
        Ok(after(&self.connection, entry)?)
    }
}

/// What a worker that was killed left in the log is read as well, which takes a file beside the store for a moment.
fn read_only(file: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Connection::open_with_flags(file, flags)?)
}
