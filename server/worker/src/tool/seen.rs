//! What a conversation has read of files, so that an edit of something else than was read is noticed.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

/// Files remembered; the memory starts again when there are more.
const MOST: usize = 10_000;

/// What a conversation has read of files.
#[derive(Debug, Default)]
pub struct Seen {
    contents: HashMap<PathBuf, u64>,
}

impl Seen {
    /// Remembers what a file held, by its real path.
    pub(super) fn remember(&mut self, path: &Path, content: &[u8]) {
        if self.contents.len() >= MOST {
            self.contents.clear();
        }
        self.contents.insert(path.to_owned(), hash(content));
    }

    /// Returns whether a file was seen and holds something else now.
    pub(super) fn is_stale(&self, path: &Path, content: &[u8]) -> bool {
        self.contents
            .get(path)
            .is_some_and(|seen| *seen != hash(content))
    }
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}
