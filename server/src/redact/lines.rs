//! A stream of bytes as lines that may be kept: put together again however it was cut, bounded, redacted as a whole.

use super::{Known, shape};

/// Longest line that is kept; of a longer one only its length is.
pub const LINE_BYTES: usize = 16 << 10;
/// Most bytes of a line that has not ended; a longer one is dropped up to its end.
pub const PARTIAL_BYTES: usize = 64 << 10;
/// Lines after which a private key that never ends is taken to have ended.
const KEY_LINES: usize = 500;

/// The state of one stream. A secret is searched for in whole lines only, so that no cut hides it.
#[derive(Debug, Default)]
pub struct Lines {
    partial: Vec<u8>,
    /// Bytes dropped of the line that goes on.
    dropped: usize,
    /// Lines seen of a private key that goes on.
    key: Option<usize>,
}

impl Lines {
    /// Takes bytes; returns the lines that ended, as they may be kept.
    pub fn feed(&mut self, known: &Known, bytes: &[u8]) -> Vec<String> {
        let mut out = Vec::new();
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            self.grow(&rest[..at]);
            out.extend(self.end_line(known));
            rest = &rest[at + 1..];
        }
        self.grow(rest);
        out
    }

    /// Returns what stands after the last line end, where something does.
    pub fn finish(&mut self, known: &Known) -> Option<String> {
        let some = !self.partial.is_empty() || self.dropped > 0;
        some.then(|| self.end_line(known)).flatten()
    }

    fn grow(&mut self, bytes: &[u8]) {
        if self.dropped > 0 || self.partial.len() + bytes.len() > PARTIAL_BYTES {
            self.dropped += self.partial.len() + bytes.len();
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self, known: &Known) -> Option<String> {
        let bytes = std::mem::take(&mut self.partial);
        let len = bytes.len() + std::mem::take(&mut self.dropped);
        if len > LINE_BYTES {
            return Some(format!("[a line of {len} bytes was left out]"));
        }
        let line = String::from_utf8_lossy(&bytes);
        self.keep(known, line.trim_end_matches('\r'))
    }

    fn keep(&mut self, known: &Known, line: &str) -> Option<String> {
        if let Some(seen) = self.key {
            let over = shape::closes_key(line) || seen >= KEY_LINES;
            self.key = (!over).then_some(seen + 1);
            return None;
        }
        if shape::opens_key(line) {
            self.key = Some(0);
        }
        Some(known.line(line))
    }
}
