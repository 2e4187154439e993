//! A folder's names for the picker, folders first. Links are not followed: what is no file and no folder is shown as such.

use std::path::{Path, PathBuf};

/// Names of one folder that are shown.
const NAMES: usize = 20_000;

/// What a name in a folder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A link, a pipe, a device: never sent.
    Other,
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name, as text.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub kind: EntryKind,
    /// Its size in bytes, for a file.
    pub bytes: u64,
}

/// Returns the names in a folder, or why it cannot be read, in a sentence.
///
/// # Errors
/// Where it cannot be read.
pub fn list(folder: &Path) -> Result<Vec<Entry>, String> {
    let read = std::fs::read_dir(folder);
    let read = read.map_err(|error| format!("this folder cannot be read: {}", error.kind()))?;
    let mut entries: Vec<Entry> = read.flatten().take(NAMES).map(|e| entry(&e)).collect();
    entries.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    Ok(entries)
}

fn entry(entry: &std::fs::DirEntry) -> Entry {
    let metadata = entry.metadata().ok();
    let kind = match &metadata {
        Some(metadata) if metadata.is_dir() => EntryKind::Folder,
        Some(metadata) if metadata.is_file() => EntryKind::File,
        Some(_) | None => EntryKind::Other,
    };
    Entry {
        name: entry.file_name().to_string_lossy().into_owned(),
        path: entry.path(),
        kind,
        bytes: metadata.map_or(0, |metadata| metadata.len()),
    }
}
