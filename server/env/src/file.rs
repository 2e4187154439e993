//! What is told of files and folders. It reads none.

use std::{ffi::OsString, path::PathBuf};

use serde::{Deserialize, Serialize};

/// Most bytes that one read returns.
pub const READ_BYTES: u64 = 32 << 20;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    /// The path with every link resolved.
    #[serde(with = "crate::path_bytes")]
    pub real: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// Bytes.
    pub size: u64,
    /// When its content last changed, in nanoseconds since the Unix epoch; 0 for older.
    pub modified_ns: u64,
    /// Permission bits.
    pub mode: u32,
    /// Changes whenever the file is written or replaced.
    pub version: u64,
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link, where links are not followed.
    Link,
    /// A device, a pipe, a socket.
    Other,
}

/// Bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// What the file was when it was opened.
    pub stat: Stat,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What a writer expects to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// Whatever is there.
    Anything,
    /// Nothing: the file is new.
    Nothing,
    /// Exactly the file with this version.
    Version(u64),
}

/// A folder's names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Sorted by bytes.
    pub names: Vec<Name>,
    /// Names in all, also those not listed.
    pub total: u64,
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    /// The name.
    #[serde(with = "crate::path_bytes")]
    pub name: OsString,
    /// What it is; links are not followed.
    pub kind: Kind,
    /// Bytes, for a file.
    pub size: u64,
}
