//! An execution environment: files, processes and search on one machine, behind one trait, in process or over stdio.
//! It decides nothing about who may do what, and keeps nothing between calls but the processes that a command left behind.

mod command;
mod environment;
mod error;
mod file;
mod local;
mod path_bytes;
mod query;
pub mod stdio;

use std::sync::Arc;

pub use command::{Command, Ended, Exit};
pub use environment::{Environment, Pending};
pub use error::{EnvError, ErrorKind};
pub use file::{Content, Expect, Kind, Listing, Name, READ_BYTES, Stat};
pub use local::{Beside, Local, Pipes, kill_commands_of};
pub use query::{
    BadFile, EXCERPT_CHARS, FindQuery, Found, FoundName, GrepQuery, Hit, HitFile, Hits, WALK_FILES,
};

/// Returns the environment of this machine, in this process.
pub fn local() -> Arc<dyn Environment> {
    Arc::new(Local::default())
}
