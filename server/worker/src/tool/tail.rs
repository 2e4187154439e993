//! The end of a command's output: at most so many lines and bytes, cut between letters. Pure; it keeps no whole output.
//!
//! A line that was written over after a carriage return counts as written once, with its last text.

use std::collections::VecDeque;

use porthole_protocol::limits::{TAIL_BYTES, TAIL_LINES};

/// A line of output.
#[derive(Debug, Default)]
struct Line {
    /// Where its kept bytes begin in the output.
    start: u64,
    bytes: Vec<u8>,
}

/// Takes output piece by piece and keeps its end.
#[derive(Debug, Default)]
pub(super) struct Tail {
    /// Whole lines, each with its line feed.
    lines: VecDeque<Line>,
    /// Bytes in `lines`.
    kept: usize,
    /// The line that has not ended.
    open: Line,
    /// Whether the last byte was a carriage return.
    returned: bool,
    /// Bytes of output so far.
    total: u64,
}

/// The end of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cut {
    /// The text, not UTF-8 as U+FFFD.
    pub(super) text: String,
    /// Bytes of output before it.
    pub(super) left_out: u64,
}

impl Tail {
    /// Takes the next piece of output.
    pub(super) fn push(&mut self, piece: &[u8]) {
        for line in piece.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            self.push_run(line);
        }
    }

    /// Takes bytes with at most one line feed or carriage return, which is the last.
    fn push_run(&mut self, run: &[u8]) {
        let (text, end) = match run.split_last() {
            Some((end @ (b'\n' | b'\r'), text)) => (text, Some(*end)),
            _ => (run, None),
        };
        if self.returned && (!text.is_empty() || end.is_none()) {
            self.open = Line {
                start: self.total,
                bytes: Vec::new(),
            };
        }
        self.open.bytes.extend_from_slice(text);
        self.total += run.len() as u64;
        self.returned = end == Some(b'\r');
        self.shorten_open();
        if end == Some(b'\n') {
            self.open.bytes.push(b'\n');
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        let next = Line {
            start: self.total,
            bytes: Vec::new(),
        };
        let line = std::mem::replace(&mut self.open, next);
        self.kept += line.bytes.len();
        self.lines.push_back(line);
        // The oldest line may go once the others alone are enough.
        while let Some(oldest) = self.lines.front() {
            let rest = self.kept - oldest.bytes.len();
            if self.lines.len() <= TAIL_LINES && rest < TAIL_BYTES {
                break;
            }
            self.kept = rest;
            self.lines.pop_front();
        }
    }

    /// Keeps memory bounded while a line has no end.
    fn shorten_open(&mut self) {
        let over = self.open.bytes.len().saturating_sub(TAIL_BYTES + 4);
        if over > TAIL_BYTES {
            self.open.bytes.drain(..over);
            self.open.start += over as u64;
        }
    }

    /// Returns the end of what came.
    pub(super) fn cut(&self) -> Cut {
        let open = (!self.open.bytes.is_empty()).then_some(&self.open);
        let mut room = TAIL_BYTES;
        let mut texts = VecDeque::new();
        let mut left_out = self.total;
        for line in self.lines.iter().chain(open).rev().take(TAIL_LINES) {
            let skip = skip_to_fit(&line.bytes, room);
            let text = String::from_utf8_lossy(&line.bytes[skip..]);
            if skip < line.bytes.len() {
                left_out = line.start + skip as u64;
            }
            room -= text.len();
            texts.push_front(text);
            if skip > 0 {
                break;
            }
        }
        Cut {
            text: texts.into_iter().collect(),
            left_out: if self.total == 0 { 0 } else { left_out },
        }
    }
}

/// Returns how many bytes have to go from the front for the rest to fit as text.
fn skip_to_fit(bytes: &[u8], room: usize) -> usize {
    let mut skip = bytes.len().saturating_sub(room);
    loop {
        skip = letter_start(bytes, skip);
        let len = String::from_utf8_lossy(&bytes[skip..]).len();
        match len.checked_sub(room) {
            None | Some(0) => return skip,
            // One byte becomes at most three of U+FFFD.
            Some(over) => skip += over.div_ceil(3),
        }
    }
}

/// Returns the first place from `at` on that is not inside a letter.
fn letter_start(bytes: &[u8], at: usize) -> usize {
    if at == 0 {
        return 0;
    }
    let inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    at + bytes[at..].iter().take(3).take_while(inside).count()
}
