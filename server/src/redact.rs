//! What is blotted out of a text before it is kept: secrets that are known, and what looks like one. It reads no file and
//! keeps nothing; transcripts never pass here.

mod known;
mod lines;
mod shape;
mod source;

use std::sync::{Arc, Mutex};

pub use known::{Known, TooWeak};
pub use lines::{LINE_BYTES, Lines, PARTIAL_BYTES};
pub use source::learn;

use crate::server::locked;

/// The secrets that this process knows of, old ones as well: a log may still name a key that was replaced since.
#[derive(Clone, Debug, Default)]
pub struct Redaction(Arc<Mutex<Arc<Known>>>);

impl Redaction {
    /// Returns what is known now.
    pub fn known(&self) -> Arc<Known> {
        locked(&self.0).clone()
    }

    /// Adds secrets under the names by which a log may speak of them. Those that would blot out words are left out;
    /// returns their names.
    pub fn learn(&self, secrets: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
        let mut slot = locked(&self.0);
        let mut next = Known::clone(&slot);
        let weak: Vec<String> = secrets
            .into_iter()
            .filter_map(|(name, value)| next.add(&name, &value).err().map(|TooWeak| name))
            .collect();
        if !next.is_as(&slot) {
            next.settle();
            *slot = Arc::new(next);
        }
        weak
    }

    /// Returns a whole text as it may be kept.
    pub fn text(&self, text: &str) -> String {
        let (known, mut lines) = (self.known(), Lines::default());
        let mut out = lines.feed(&known, text.as_bytes());
        out.extend(lines.finish(&known));
        let mut joined = out.join("\n");
        if text.ends_with('\n') && !joined.is_empty() {
            joined.push('\n');
        }
        joined
    }
}

#[cfg(test)]
mod tests;
