//! The last lines of one source, bounded in number and bytes. It redacts nothing: what comes here has been.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Lines of one source that are kept.
pub const KEEP_LINES: usize = 1_000;
/// Bytes of one source that are kept.
pub const KEEP_BYTES: usize = 256 << 10;

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// When it came, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The line, without its end.
    pub text: String,
}

/// The last lines of one source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// Lines that ever came.
    total: u64,
    lines: VecDeque<Line>,
}

impl History {
    /// Adds a line; the oldest go where there is no room.
    pub fn push(&mut self, at_ms: u64, text: String) {
        self.total += 1;
        self.lines.push_back(Line { at_ms, text });
        let mut bytes: usize = self.lines.iter().map(|line| line.text.len()).sum();
        while self.lines.len() > KEEP_LINES || bytes > KEEP_BYTES {
            bytes -= self.lines.pop_front().map_or(0, |line| line.text.len());
        }
    }

    /// Returns how many lines ever came.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the lines after the first `total` ones, as far as they are kept.
    pub fn since(&self, total: u64) -> impl DoubleEndedIterator<Item = &Line> {
        let gone = self.total - self.lines.len() as u64;
        let skip = usize::try_from(total.saturating_sub(gone)).unwrap_or(usize::MAX);
        self.lines.iter().skip(skip)
    }

    /// Returns the last characters after the first `total` lines.
    pub fn tail(&self, total: u64, chars: usize) -> String {
        let mut text = String::new();
        for line in self.since(total) {
            text.push_str(&line.text);
            text.push('\n');
        }
        let skip = text.chars().count().saturating_sub(chars);
        text.chars().skip(skip).collect()
    }
}
