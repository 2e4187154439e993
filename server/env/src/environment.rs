//! The trait: the one way to files and processes of a machine. It says what can be done, not how.

use std::{future::Future, path::Path, pin::Pin};

use tokio::sync::{mpsc, watch};

use crate::{
    Command, Content, EnvError, Exit, Expect, FindQuery, Found, GrepQuery, Hits, Listing, Stat,
};

/// Work that is under way. Dropping it ends the work; a command that ran for it is killed with its whole group.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, EnvError>> + Send + 'a>>;

/// The one way to files and processes of a machine. Paths are absolute and are bytes: a name need not be UTF-8.
pub trait Environment: Send + Sync {
    /// Returns what is at a path, links followed.
    fn stat<'a>(&'a self, path: &'a Path) -> Pending<'a, Stat>;

    /// Returns at most `max` bytes of a file from `from` on, and what the file was when it was opened.
    /// `max` is itself at most [`crate::READ_BYTES`]. What is no regular file is refused, not waited for.
    fn read<'a>(&'a self, path: &'a Path, from: u64, max: u64) -> Pending<'a, Content>;

    /// Returns what [`Self::read`] returns, of a file inside the folder `root`: `path` is relative to it, or absolute and
    /// below it. A link is followed only where it stays inside; what leads out is not found.
    fn read_inside<'a>(
        &'a self,
        root: &'a Path,
        path: &'a Path,
        from: u64,
        max: u64,
    ) -> Pending<'a, Content>;

    /// Replaces or makes a file, whole or not at all, and missing folders above it. Mode and owner stay;
    /// where the path is a link, its target is written and the link stays.
    fn write<'a>(&'a self, path: &'a Path, bytes: Vec<u8>, expect: Expect) -> Pending<'a, Stat>;

    /// Does what [`Self::write`] does at exactly this path: where any part of it is a link, nothing is written, whenever
    /// that link was made.
    fn write_exactly<'a>(
        &'a self,
        path: &'a Path,
        bytes: Vec<u8>,
        expect: Expect,
    ) -> Pending<'a, Stat>;

    /// Returns the names in a folder, sorted; at most `limit` of them.
    fn list<'a>(&'a self, path: &'a Path, limit: usize) -> Pending<'a, Listing>;

    /// Returns names below a folder.
    fn find(&self, query: FindQuery) -> Pending<'_, Found>;

    /// Returns lines of files that match.
    fn grep(&self, query: GrepQuery) -> Pending<'_, Hits>;

    /// Runs a command until it exits, its time is over or `stop` becomes true. Output comes through `output` in
    /// the order of writing, and all of it was sent once this returns. A time-out or a stop ends the whole group:
    /// TERM, then KILL, in at most five seconds. What a finished command left running goes on, and is named.
    fn exec(
        &self,
        command: Command,
        output: mpsc::Sender<Vec<u8>>,
        stop: watch::Receiver<bool>,
    ) -> Pending<'_, Exit>;

    /// Ends everything that finished commands left running. Returns how many processes that were.
    fn end_left(&self) -> Pending<'_, usize>;
}
