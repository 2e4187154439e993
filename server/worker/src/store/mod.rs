//! The store of one session: one SQLite file on a thread of its own. It writes what it is given, whole or not at all, and decides nothing.

mod copy;
#[cfg(test)]
#[expect(
    unsafe_code,
    reason = "SQLite takes a disk only as a table of C functions"
)]
pub(crate) mod disk;
mod history;
mod imported;
mod kept;
mod lock;
mod read;
mod schema;
mod write;

use std::{path::Path, sync::mpsc, thread, time::Duration};

use porthole_protocol::{CallError, ConversationId, ErrorCode};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::record::{ConversationRow, Loaded, Record};
pub use copy::{settle_copy, with_store_held};
pub(crate) use history::{Lineage, Page};
pub use imported::import;
pub use kept::{Kept, Shelf, ShelfError};
use lock::Lock;

/// Why the store did not do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StoreError {
    /// Another process has it.
    #[error("the session is in use by another process{0}")]
    InUse(String),
    /// A newer Porthole made it.
    #[error("the session was written by a newer version of Porthole (store version {0})")]
    Newer(i64),
    /// There is no room.
    #[error("the disk is full")]
    Full,
    /// It was there before and is not any more.
    #[error("the store of this session is missing")]
    Missing,
    /// It is damaged.
    #[error("the store of this session is damaged: {0}")]
    Damaged(String),
    /// The disk does not do what it is asked.
    #[error("the session's store cannot be used: {0}")]
    Io(String),
    /// The test ends the process here.
    #[cfg(test)]
    #[error("crash")]
    Crash,
}

impl StoreError {
    /// Returns the error for people.
    pub(crate) fn to_call_error(&self) -> CallError {
        let hint = match self {
            Self::InUse(_) => "end that process, then try again",
            Self::Newer(_) => "update `portholed`",
            Self::Full => "make room on the disk that holds the data folder, then try again",
            Self::Missing | Self::Damaged(_) => {
                "restore the session's folder from a backup, or make a new session"
            }
            Self::Io(_) => "check the disk and the rights of the data folder, then try again",
            #[cfg(test)]
            Self::Crash => "",
        };
        CallError::new(ErrorCode::Unavailable, self.to_string()).hint(hint)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        match error.sqlite_error_code() {
            Some(Code::DiskFull) => Self::Full,
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::InUse(String::new()),
            // A table or a column that is not there, or a value of another kind: it is not what was written.
            Some(Code::DatabaseCorrupt | Code::NotADatabase | Code::Unknown) | None => {
                Self::Damaged(error.to_string())
            }
            _ => Self::Io(error.to_string()),
        }
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::StorageFull => Self::Full,
            _ => Self::Io(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// The way to the store's thread. Dropping it closes the store.
pub(crate) struct Store {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<thread::JoinHandle<()>>,
    #[cfg(test)]
    pub(crate) crash: Option<CrashPoint>,
    /// The disk that it is on, where that is none of the machine's.
    #[cfg(test)]
    disk: Option<std::sync::Arc<disk::Disk>>,
}

/// Where a test ends the process.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CrashPoint {
    /// Before the commit that comes after so many.
    Before(u32),
    /// After so many commits.
    After(u32),
}

impl Store {
    /// Opens the store in a session's folder; makes one only for a session that is new. Blocks, and waits for so long
    /// for another process to leave it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(crate) fn open(
        folder: &Path,
        patience: Duration,
        is_new: bool,
    ) -> Result<Self, StoreError> {
        let file = folder.join("session.db");
        match is_new {
            true => std::fs::create_dir_all(folder)?,
            false => schema::look(&file)?,
        }
        let lock = Lock::take(folder, patience)?;
        let connection = schema::open(&file, is_new)?;
        Self::over(connection, Some(lock))
    }

    /// Opens or makes the store on a simulated disk.
    #[cfg(test)]
    pub(crate) fn on(disk: &std::sync::Arc<disk::Disk>, name: &str) -> Result<Self, StoreError> {
        let path = std::path::PathBuf::from(format!("/{name}/session.db"));
        let connection = schema::open_on(&path, true, disk::NAME)?;
        let mut store = Self::over(connection, None)?;
        store.disk = Some(std::sync::Arc::clone(disk));
        Ok(store)
    }

    /// Runs the store's thread; the lock goes with it.
    fn over(mut connection: Connection, lock: Option<Lock>) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let thread = thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || {
                for job in queue {
                    job(&mut connection);
                }
                drop(connection);
                drop(lock);
            })?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
            #[cfg(test)]
            crash: None,
            #[cfg(test)]
            disk: None,
        })
    }

    /// Writes all of the records in one transaction that is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`]; then none of them is written.
    pub(crate) async fn commit(&mut self, records: Vec<Record>) -> Result<(), StoreError> {
        #[cfg(test)]
        if self.crash == Some(CrashPoint::Before(0)) {
            return Err(StoreError::Crash);
        }
        let done = self
            .run(move |connection| write::commit(connection, &records))
            .await;
        #[cfg(test)]
        if self.disk.as_ref().is_some_and(|disk| disk.is_off()) {
            return Err(StoreError::Crash);
        }
        done?;
        #[cfg(test)]
        match &mut self.crash {
            Some(CrashPoint::After(0)) => return Err(StoreError::Crash),
            Some(CrashPoint::Before(n) | CrashPoint::After(n)) => *n -= 1,
            None => {}
        }
        Ok(())
    }

    /// Returns what a conversation continues from; `None`: it is not there.
    pub(crate) async fn load(&self, lineage: Lineage) -> Result<Option<Loaded>, StoreError> {
        self.run(move |connection| read::load(connection, &lineage))
            .await
    }

    /// Returns the settings of every conversation, the root first; empty: the store is new.
    pub(crate) async fn conversations(&self) -> Result<Vec<ConversationRow>, StoreError> {
        self.run(|connection| read::conversations(connection)).await
    }

    /// Returns the conversations in which something was going on.
    pub(crate) async fn busy(&self) -> Result<Vec<ConversationId>, StoreError> {
        self.run(|connection| read::busy(connection)).await
    }

    /// Returns the newest answers before an entry, newest first, and whether there are older ones.
    pub(crate) async fn answers(
        &self,
        lineage: Lineage,
        before: Option<u64>,
        limit: usize,
    ) -> Result<(Vec<porthole_protocol::Entry>, bool), StoreError> {
        self.run(move |connection| history::answers(connection, &lineage, before, limit))
            .await
    }

    /// Returns the newest page of entries before one.
    pub(crate) async fn page(
        &self,
        lineage: Lineage,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        self.run(move |connection| history::page(connection, &lineage, before, limit))
            .await
    }

    /// Returns what was committed after an entry, of every conversation.
    pub(crate) async fn kept(&self, after: u64) -> Result<Kept, StoreError> {
        self.run(move |connection| kept::after(connection, after))
            .await
    }

    /// Says whether a conversation has an entry.
    pub(crate) async fn has(&self, lineage: Lineage, entry: u64) -> Result<bool, StoreError> {
        self.run(move |connection| history::has(connection, &lineage, entry))
            .await
    }

    /// Returns the reply that a request got.
    pub(crate) async fn reply(&self, key: String) -> Result<Option<String>, StoreError> {
        self.run(move |connection| read::reply(connection, &key))
            .await
    }

    /// Moves what the log holds into the file and cuts the log.
    pub(crate) async fn checkpoint(&self) -> Result<(), StoreError> {
        self.run(|connection| schema::checkpoint(connection)).await
    }

    /// Makes the disk seem full at so many pages of the file.
    #[cfg(test)]
    pub(crate) async fn limit_pages(&self, pages: u32) {
        let limit = move |connection: &mut Connection| {
            connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
            Ok(())
        };
        self.run(limit).await.expect("limits");
    }

    async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let gone = || StoreError::Io("its thread ended".to_owned());
        let (done, result) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // Nobody waits any more only where the session is closing.
            let _ = done.send(job(connection));
        });
        let jobs = self.jobs.as_ref().ok_or_else(gone)?;
        jobs.send(job).map_err(|_| gone())?;
        result.await.map_err(|_| gone())?
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing left to close.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
