//! Where a conversation's tools work, and what is closed to them whatever the policy says. It touches no file.

use std::path::{Path, PathBuf};

/// A working directory, and the server's own folder around the session's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// The server's data folder; closed but for `open`.
    pub closed: Option<PathBuf>,
    /// What of it belongs to the session: uploaded files, and output of its commands.
    pub open: Vec<PathBuf>,
}

impl Place {
    /// Returns a place without anything closed.
    pub fn of(cwd: &Path) -> Self {
        Self {
            cwd: cwd.to_owned(),
            closed: None,
            open: Vec::new(),
        }
    }

    /// Returns the place of a session whose folder is `session`, on a server whose data folder is `data`.
    pub fn in_session(cwd: &Path, data: &Path, session: &Path) -> Self {
        Self {
            cwd: cwd.to_owned(),
            closed: Some(data.to_owned()),
            open: vec![session.join("blobs"), session.join("runs")],
        }
    }
}
