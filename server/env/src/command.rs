//! A command and how it ended. It starts nothing.

use std::{ffi::OsString, fmt, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

/// A command line for a shell. It gets no input and no terminal, and a process group of its own.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The command line, for `bash` where there is one, else for `sh`.
    pub line: String,
    /// Where it runs.
    #[serde(with = "crate::path_bytes")]
    pub cwd: PathBuf,
    /// All its variables.
    #[serde(with = "crate::path_bytes::pairs")]
    pub variables: Vec<(OsString, OsString)>,
    /// How long it may run.
    pub timeout: Duration,
}

impl fmt::Debug for Command {
    /// Leaves the variables out: their values may be anyone's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("line", &self.line)
            .field("cwd", &self.cwd)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// What ended it.
    pub ended: Ended,
    /// Exit status; `None`: a signal ended it.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Process ids that it left running.
    pub left: Vec<u32>,
}

/// What ended a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It ended by itself.
    Itself,
    /// Its time was over.
    TimedOut,
    /// It was told to stop.
    Stopped,
}
