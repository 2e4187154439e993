//! Sessions from files: one that was exported as JSON, or the JSONL of a pi session, versions 1 to 3. A file is read whole
//! before anything is made of it; what is wrong with it is told with its line.

mod call;
mod pi;

use std::io::{BufRead, Read as _};

use porthole_protocol::EntryBody;
use porthole_worker::wire::KeptEntry;
use serde::Deserialize;

use crate::export::{JSON_START, JSON_VERSION};

/// Longest line of a file.
const LINE_BYTES: u64 = 32 << 20;
/// Largest file.
const FILE_BYTES: u64 = 1 << 30;
/// Most entries of a session.
const ENTRIES: usize = 1_000_000;

/// What is in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// A title, where the file has one.
    pub title: Option<String>,
    /// The directory, where the file names one.
    pub dir: Option<String>,
    /// When the session was made, in milliseconds since the Unix epoch.
    pub created_ms: Option<u64>,
    /// The entries, with ids that grow.
    pub entries: Vec<KeptEntry>,
    /// Lines of kinds that have no place here.
    pub skipped: usize,
}

/// Why a file cannot be imported.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("cannot read the file: {0}")]
    Read(String),
    /// It begins like none that is known.
    #[error("this is neither a session exported as JSON nor a pi session file")]
    Unknown,
    /// A newer Porthole or pi wrote it.
    #[error("the file is of version {0}, which is newer than this program")]
    Newer(u64),
    /// A line is no part of a session.
    #[error("line {line}: {why}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// There is too much in it.
    #[error("the file is too large: {0}")]
    TooLarge(String),
    /// There is nothing in it.
    #[error("there is no message in the file")]
    Empty,
}

/// Reads a file.
///
/// # Errors
/// [`ImportError`].
pub fn parse(file: impl BufRead) -> Result<Imported, ImportError> {
    let mut file = file.take(FILE_BYTES + 1);
    let first = line(&mut file, 1)?.ok_or(ImportError::Empty)?;
    let imported = match first.starts_with(JSON_START.as_bytes()) {
        true => own(&first, file)?,
        false => pi::parse(&first, file)?,
    };
    match imported.entries.len() {
        0 => Err(ImportError::Empty),
        n if n > ENTRIES => Err(ImportError::TooLarge(format!("{n} entries"))),
        _ => Ok(imported),
    }
}

/// Returns the next line without its end; `None` at the end of the file.
fn line(file: &mut impl BufRead, n: usize) -> Result<Option<Vec<u8>>, ImportError> {
    let mut line = Vec::new();
    let read = file.take(LINE_BYTES + 1).read_until(b'\n', &mut line);
    let read = read.map_err(|error| ImportError::Read(error.to_string()))?;
    if read as u64 > LINE_BYTES {
        return Err(ImportError::TooLarge(format!(
            "line {n} is longer than {} MiB",
            LINE_BYTES >> 20
        )));
    }
    while line.last().is_some_and(u8::is_ascii_whitespace) {
        line.pop();
    }
    Ok((read > 0).then_some(line))
}

#[derive(Deserialize)]
struct Own {
    version: u32,
    session: About,
    entries: Vec<KeptEntry>,
}

#[derive(Deserialize)]
struct About {
    title: Option<String>,
    dir: Option<String>,
    created_ms: Option<u64>,
}

fn own(first: &[u8], rest: impl BufRead) -> Result<Imported, ImportError> {
    let version = own_version(first);
    if let Some(version) = version.filter(|version| *version > u64::from(JSON_VERSION)) {
        return Err(ImportError::Newer(version));
    }
    // The line end that was taken off counts the lines.
    let whole = first.chain(&b"\n"[..]).chain(rest);
    let own: Own = serde_json::from_reader(whole).map_err(|error| ImportError::Line {
        line: error.line(),
        why: error.to_string(),
    })?;
    if own.version != JSON_VERSION {
        return Err(ImportError::Unknown);
    }
    check(&own.entries)?;
    Ok(Imported {
        title: own.session.title,
        dir: own.session.dir,
        created_ms: own.session.created_ms,
        entries: own.entries,
        skipped: 0,
    })
}

fn own_version(first: &[u8]) -> Option<u64> {
    let digits = first.get(JSON_START.len()..)?;
    let end = digits.iter().position(|c| !c.is_ascii_digit())?;
    std::str::from_utf8(&digits[..end]).ok()?.parse().ok()
}

/// Entries stand one on a line, behind the first.
fn check(entries: &[KeptEntry]) -> Result<(), ImportError> {
    let (mut last, mut known) = (0, vec![porthole_protocol::ConversationId::ROOT]);
    for (n, kept) in entries.iter().enumerate() {
        let wrong = |why: &str| ImportError::Line {
            line: n + 2,
            why: why.to_owned(),
        };
        let id = kept.entry.id.0;
        if id <= last || id >= 1 << 53 {
            return Err(wrong("the ids of the entries do not grow"));
        }
        last = id;
        if !known.contains(&kept.conversation) {
            if kept.conversation.0 < 2 || kept.conversation.0 >= 1 << 32 {
                return Err(wrong("there is no such conversation"));
            }
            known.push(kept.conversation);
        }
        if let EntryBody::Forked {
            conversation,
            entry,
        } = &kept.entry.body
            && (!known.contains(conversation)
                || *conversation == kept.conversation
                || entry.0 >= id)
        {
            return Err(wrong("it continues what is not there"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
