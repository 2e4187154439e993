//! The end of a command's output: at most so many lines and bytes, cut between letters. Pure; it keeps no whole output.
//!
//! A line that was written over after a carriage return counts as written once, with its last text.

use std::collections::VecDeque;

use porthole_protocol::limits::{TAIL_BYTES, TAIL_LINES};

/// A line of output.
#[derive(Debug, Default)]
struct Line {
    /// Where it begins in the output, with what was written over.
    start: u64,
    /// Where its kept bytes begin in the output.
    kept_from: u64,
    /// Whether bytes at its start were let go.
    shortened: bool,
    bytes: Vec<u8>,
}

impl Line {
    fn starting(at: u64) -> Self {
        Self {
            start: at,
            kept_from: at,
            shortened: false,
            bytes: Vec::new(),
        }
    }
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
    /// Bytes of output so far, without those that wait.
    total: u64,
    /// Bytes that wait, so that most of much output is never looked at line by line.
    waiting: Vec<u8>,
}

/// Bytes that may wait.
const WAITING_BYTES: usize = 512 << 10;

/// Returns where a line begins from which on there is a whole tail; `None` where none does, or where lines that are
/// written over may make it less.
fn enough_from(output: &[u8]) -> Option<usize> {
    let window = output.len().checked_sub(TAIL_BYTES)?;
    let ends = |upto: usize| {
        let ends = output[..upto].iter().enumerate().rev();
        ends.filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at)
    };
    let by_lines = ends(output.len())
        .take_while(|at| *at >= window)
        .nth(TAIL_LINES);
    let end = by_lines.or_else(|| ends(window).next())?;
    let from = end + 1;
    (!output[from..].contains(&b'\r')).then_some(from)
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
        self.waiting.extend_from_slice(piece);
        if self.waiting.len() >= WAITING_BYTES {
            self.settle();
        }
    }

    /// Takes what waits.
    fn settle(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        let from = enough_from(&waiting);
        if let Some(from) = from {
            self.lines.clear();
            self.kept = 0;
            self.total += from as u64;
            self.open = Line::starting(self.total);
            self.returned = false;
        }
        let last = &waiting[from.unwrap_or(0)..];
        for line in last.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            self.push_run(line);
        }
        waiting.clear();
        self.waiting = waiting;
    }

    /// Takes bytes with at most one line feed or carriage return, which is the last.
    fn push_run(&mut self, run: &[u8]) {
        let (text, end) = match run.split_last() {
            Some((end @ (b'\n' | b'\r'), text)) => (text, Some(*end)),
            _ => (run, None),
        };
        if self.returned && (!text.is_empty() || end.is_none()) {
            self.open.kept_from = self.total;
            self.open.shortened = false;
            self.open.bytes.clear();
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
        let next = Line::starting(self.total);
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
            self.open.kept_from += over as u64;
            self.open.shortened = true;
        }
    }

    /// Returns the end of what came.
    pub(super) fn cut(&mut self) -> Cut {
        self.settle();
        let open = (!self.open.bytes.is_empty()).then_some(&self.open);
        let mut room = TAIL_BYTES;
        let mut texts = VecDeque::new();
        let mut left_out = self.total;
        for line in self.lines.iter().chain(open).rev().take(TAIL_LINES) {
            let skip = skip_to_fit(&line.bytes, room);
            let text = String::from_utf8_lossy(&line.bytes[skip..]);
            let is_whole = skip == 0 && !line.shortened;
            if is_whole {
                left_out = line.start;
            } else if skip < line.bytes.len() {
                left_out = line.kept_from + skip as u64;
            }
            room -= text.len();
            texts.push_front(text);
            if !is_whole {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(output: &[u8]) -> Cut {
        let mut tail = Tail::default();
        tail.push(output);
        tail.cut()
    }

    /// Without looking at much output in one go.
    fn cut_line_by_line(output: &[u8]) -> Cut {
        let mut tail = Tail::default();
        for line in output.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            tail.push_run(line);
        }
        tail.cut()
    }

    #[test]
    fn at_the_limit_nothing_is_left_out_and_one_over_only_what_does_not_fit() {
        for (len, left_out) in [(TAIL_BYTES - 1, 0), (TAIL_BYTES, 0), (TAIL_BYTES + 1, 1)] {
            assert_eq!(cut(&vec![b'a'; len]).left_out, left_out, "{len}");
            let mut lines = vec![b'a'; len];
            lines[len - 1] = b'\n';
            assert_eq!(cut(&lines).left_out, left_out, "{len} with a line end");
        }
        for (lines, left_out) in [(TAIL_LINES - 1, 0), (TAIL_LINES, 0), (TAIL_LINES + 1, 2)] {
            let cut = cut("a\n".repeat(lines).as_bytes());
            assert_eq!(cut.left_out, left_out, "{lines} lines");
        }
    }

    #[test]
    fn a_letter_is_never_cut_in_half() {
        for before in 0..4 {
            let output = format!("{}{}", "a".repeat(before), "😀".repeat(20_000));
            let cut = cut(output.as_bytes());
            assert!(!cut.text.contains('\u{fffd}') && output.ends_with(&cut.text));
            assert_eq!(cut.left_out as usize + cut.text.len(), output.len());
        }
    }

    #[test]
    fn a_part_of_a_long_line_before_short_ones_is_shown() {
        let output = format!("{}\nok\n", "x".repeat(300_000));
        let cut = cut(output.as_bytes());
        assert_eq!(cut.text.len(), TAIL_BYTES);
        assert!(cut.text.ends_with("xx\nok\n"));
    }

    #[test]
    fn what_was_written_over_is_gone_and_not_called_left_out() {
        for (output, text) in [
            ("a\r\nb\r\n", "a\nb\n"),
            ("10%\r20%\r30%", "30%"),
            ("10%\r20%\r\ndone\n", "20%\ndone\n"),
            ("\r\r\rx\r", "x"),
        ] {
            let cut = cut(output.as_bytes());
            assert_eq!((cut.text.as_str(), cut.left_out), (text, 0), "{output:?}");
        }
        let mut flood = Tail::default();
        for percent in 0..200_000 {
            flood.push(format!("\r{percent}").as_bytes());
        }
        assert_eq!(flood.cut().text, "199999");
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_keep_the_bounds_and_the_same_end(
            seed in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'\r'), Just(0xc3)], 0..300),
            times in 1..400_usize,
            piece in 1..5_000_usize,
        ) {
            let output = seed.repeat(times);
            let whole = cut(&output);
            prop_assert!(whole.text.len() <= TAIL_BYTES && whole.text.split_inclusive('\n').count() <= TAIL_LINES);
            prop_assert!(whole.left_out as usize <= output.len());
            let mut tail = Tail::default();
            output.chunks(piece).for_each(|piece| tail.push(piece));
            prop_assert_eq!(&tail.cut(), &whole);
            prop_assert_eq!(cut_line_by_line(&output), whole);
        }

        #[test]
        fn much_output_ends_as_if_each_line_had_been_looked_at(
            lines in prop::collection::vec(("[a-z]{0,9}", 0..40_usize, prop_oneof![20 => Just("\n"), 1 => Just("\r"), 1 => Just("")]), 1..40),
            times in 1..3_000_usize,
        ) {
            let lines = lines.iter().map(|(letters, times, end)| letters.repeat(*times) + *end);
            let output = lines.collect::<String>().repeat(times);
            let output = &output.as_bytes()[..output.len().min(3 << 20)];
            prop_assert_eq!(cut(output), cut_line_by_line(output));
        }

        #[test]
        fn the_text_is_what_comes_after_what_was_left_out(
            lines in prop::collection::vec(("[a-zé😀 ]{1,3}", 0..200_usize), 1..40),
            times in 1..80_usize,
        ) {
            let lines: Vec<_> = lines.iter().map(|(letters, times)| letters.repeat(*times)).collect();
            let output = lines.join("\n").repeat(times);
            let cut = cut(output.as_bytes());
            prop_assert_eq!(&output[cut.left_out as usize..], cut.text);
        }
    }
}
