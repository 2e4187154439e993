//! Attachments as they are kept: in the session's folder `blobs/`, the bytes as `ID` and what is known of them as `ID.json`.
//! An attachment is there when its `ID.json` is; who may have one is decided elsewhere.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use porthole_protocol::{AttachmentId, Who};
use serde::{Deserialize, Serialize};

use crate::data::make_private;

/// Longest name that is kept, in bytes.
const NAME_BYTES: usize = 255;
/// Longest media type that is kept, in bytes.
const TYPE_BYTES: usize = 100;
/// What is known of bytes of which nothing is known.
pub const UNKNOWN_TYPE: &str = "application/octet-stream";

/// Whether bytes begin as those of one format do.
type Begins = fn(&[u8]) -> bool;

/// The images that models are shown, by how their bytes begin.
const IMAGES: [(Begins, &str); 4] = [
    (|head| head.starts_with(b"\x89PNG\r\n\x1a\n"), "image/png"),
    (|head| head.starts_with(b"\xff\xd8\xff"), "image/jpeg"),
    (
        |head| head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a"),
        "image/gif",
    ),
    (
        |head| head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP"),
        "image/webp",
    ),
];

/// What is known of an attachment; the content of `ID.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Its name: one component without control characters.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its media type; an image's is seen in its bytes, never only claimed.
    pub media_type: String,
    /// SHA-256 of its bytes, 64 lower-case hex digits.
    pub sha256: String,
    /// Who uploaded it.
    pub who: Who,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
}

/// Returns where a session keeps its attachments.
pub fn folder(session: &Path) -> PathBuf {
    session.join("blobs")
}

/// Returns what is known of an attachment; `None` where it is none.
pub fn find(blobs: &Path, id: &AttachmentId) -> Option<Kept> {
    let text = fs::read(blobs.join(format!("{id}.json"))).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Makes the folder, where there is none.
pub(super) fn make_folder(blobs: &Path) -> io::Result<()> {
    make_private(blobs)
}

/// Returns the file in which an upload grows.
pub(super) fn part(blobs: &Path, id: &AttachmentId) -> PathBuf {
    blobs.join(format!("{id}.part"))
}

/// Makes what has arrived whole an attachment: first the bytes, then what is known of them, both on disk at the return.
pub(super) fn keep(blobs: &Path, id: &AttachmentId, file: &File, kept: &Kept) -> io::Result<()> {
    file.sync_all()?;
    fs::rename(part(blobs, id), blobs.join(id.as_str()))?;
    let mut known = tempfile::Builder::new()
        .suffix(".part")
        .tempfile_in(blobs)?;
    known.write_all(&serde_json::to_vec(kept)?)?;
    known.as_file().sync_all()?;
    known
        .persist(blobs.join(format!("{id}.json")))
        .map_err(|error| error.error)?;
    File::open(blobs)?.sync_all()
}

/// Returns the bytes of all attachments of a session.
pub(super) fn total(blobs: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(blobs) else {
        return 0;
    };
    entries
        .flatten()
        .filter(|entry| entry.path().extension().is_none())
        .filter_map(|entry| Some(entry.metadata().ok()?.len()))
        .sum()
}

/// Removes what is half: parts, and bytes of which nothing is known.
pub(super) fn sweep(blobs: &Path) {
    let Ok(entries) = fs::read_dir(blobs) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let half = match path.extension().and_then(|ext| ext.to_str()) {
            Some("part") => true,
            Some("json") => false,
            _ => !path.with_extension("json").exists(),
        };
        if half && let Err(error) = fs::remove_file(&path) {
            tracing::warn!("an unfinished upload stays behind: {error}");
        }
    }
}

/// Returns a name as it is kept: the last component, without control characters, cut at a character.
pub(super) fn clean_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut clean: String = last.chars().filter(|char| !char.is_control()).collect();
    clean.truncate(clean.floor_char_boundary(NAME_BYTES));
    match clean.trim() {
        "" | "." | ".." => "attachment".to_owned(),
        name => name.to_owned(),
    }
}

/// Returns the media type to keep: seen in the first bytes where they show it; else the claim, unless it claims an image,
/// which would have shown.
pub(super) fn media_type(head: &[u8], claim: &str) -> String {
    if let Some((_, seen)) = IMAGES.iter().find(|(begins, _)| begins(head)) {
        return (*seen).to_owned();
    }
    let form = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.+_".contains(&b))
    };
    let fits = claim.len() <= TYPE_BYTES
        && claim
            .split_once('/')
            .is_some_and(|(kind, rest)| form(kind) && form(rest) && kind != "image");
    if fits { claim } else { UNKNOWN_TYPE }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_component_that_says_what_it_is() {
        for (name, kept) in [
            ("report.pdf", "report.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\x\\y.txt", "y.txt"),
            ("a\u{1b}[31m\nb", "a[31mb"),
            ("..", "attachment"),
            ("", "attachment"),
        ] {
            assert_eq!(clean_name(name), kept);
        }
        assert_eq!(clean_name(&"ä".repeat(200)).len(), 254);
    }

    #[test]
    fn an_image_is_seen_and_not_only_claimed() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        assert_eq!(media_type(png, "text/plain"), "image/png");
        assert_eq!(media_type(b"<html>", "image/png"), UNKNOWN_TYPE);
        assert_eq!(media_type(b"hello", "text/x-rust"), "text/x-rust");
        for odd in [
            "",
            "text",
            "text/",
            "text/a b",
            "TEXT/plain",
            "text/plain;x",
        ] {
            assert_eq!(media_type(b"hello", odd), UNKNOWN_TYPE, "{odd}");
        }
    }

    #[test]
    fn a_sweep_takes_what_is_half_and_nothing_else() {
        let blobs = tempfile::tempdir().expect("a folder");
        for name in ["a", "a.json", "b", "c.part"] {
            fs::write(blobs.path().join(name), "x").expect("written");
        }
        sweep(blobs.path());
        let mut left: Vec<_> = fs::read_dir(blobs.path())
            .expect("read")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["a", "a.json"]);
    }
}
