//! A command's output as text: what a terminal would have left on the screen, without its colours.
//! Also the part of a running command's output that is known here.

use porthole_protocol::{RunId, RunOutput};

use super::OutputWant;

/// Bytes of a running command's output that are kept and asked for.
const KEPT: usize = 16 << 10;
/// Largest single read.
const READ: u32 = 64 << 10;

/// Returns output with escape sequences taken out, lines that were overwritten shown as they ended, and backspaces done.
pub(crate) fn plain(output: &str) -> String {
    let text = strip(output);
    if !text.contains(['\r', '\u{8}']) {
        return text;
    }
    let lines: Vec<String> = text.split('\n').map(last_pass).collect();
    lines.join("\n")
}

/// Returns a line as its last pass left it: a progress line is overwritten from its start.
fn last_pass(line: &str) -> String {
    let last = line
        .split('\r')
        .rev()
        .find(|pass| !pass.is_empty())
        .unwrap_or_default();
    let mut out = String::with_capacity(last.len());
    for c in last.chars() {
        if c == '\u{8}' {
            out.pop();
        } else {
            out.push(c);
        }
    }
    out
}

#[derive(Clone, Copy)]
enum Scan {
    Text,
    Escape,
    /// Between the start and the final byte of a control sequence.
    Control,
    /// In a string that ends with BEL or ST; whether ESC was just seen.
    TextOf {
        escape: bool,
    },
}

fn strip(output: &str) -> String {
    let mut out = String::with_capacity(output.len());
    let mut scan = Scan::Text;
    for c in output.chars() {
        scan = match (scan, c) {
            (Scan::Text, '\u{1b}') => Scan::Escape,
            (Scan::Text, '\u{9b}') => Scan::Control,
            (Scan::Text, '\u{9d}' | '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}') => {
                Scan::TextOf { escape: false }
            }
            (Scan::Text, '\u{7}' | '\0') => Scan::Text,
            (Scan::Text, c) => {
                out.push(c);
                Scan::Text
            }
            (Scan::Escape, '[') => Scan::Control,
            (Scan::Escape, ']' | 'P' | 'X' | '^' | '_') => Scan::TextOf { escape: false },
            (Scan::Escape, ' '..='/') => Scan::Escape,
            (Scan::Escape, _) => Scan::Text,
            (Scan::Control, '\u{1b}') => Scan::Escape,
            (Scan::Control, ' '..='?') => Scan::Control,
            (Scan::Control, '\n') | (Scan::TextOf { .. }, '\n') => {
                // A sequence that never ends takes no more than its line.
                out.push('\n');
                Scan::Text
            }
            (Scan::Control, _) => Scan::Text,
            (Scan::TextOf { .. }, '\u{7}' | '\u{9c}') | (Scan::TextOf { escape: true }, '\\') => {
                Scan::Text
            }
            (Scan::TextOf { .. }, c) => Scan::TextOf {
                escape: c == '\u{1b}',
            },
        };
    }
    out
}

/// What is known here of a running command's output.
#[derive(Debug, Default)]
pub(crate) struct LiveOutput {
    generation: u32,
    from: u64,
    bytes: Vec<u8>,
}

impl LiveOutput {
    /// Returns the byte after the last that is known.
    pub(crate) fn end(&self) -> u64 {
        self.from + self.bytes.len() as u64
    }

    /// Takes bytes that were read. Those of an older generation, or that leave a gap, replace nothing or everything.
    pub(crate) fn take(&mut self, generation: u32, from: u64, bytes: &[u8]) {
        if generation < self.generation {
            return;
        }
        let joins = generation == self.generation && from >= self.from && from <= self.end();
        if joins {
            let keep = usize::try_from(from - self.from).unwrap_or(0);
            if keep + bytes.len() > self.bytes.len() {
                self.bytes.truncate(keep);
                self.bytes.extend_from_slice(bytes);
            }
        } else {
            *self = Self {
                generation,
                from,
                bytes: bytes.to_vec(),
            };
        }
        let over = self.bytes.len().saturating_sub(2 * KEPT);
        if over > 0 {
            self.bytes.drain(..over);
            self.from += over as u64;
        }
    }

    /// Returns the last lines, at most `count`.
    pub(crate) fn last_lines(&self, count: usize) -> Vec<String> {
        let text = plain(&String::from_utf8_lossy(&self.bytes));
        let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
        let from = lines.len().saturating_sub(count);
        lines[from..]
            .iter()
            .map(|line| (*line).to_owned())
            .collect()
    }
}

/// Returns what should be read so that the end of this output is known.
pub(crate) fn want(output: &RunOutput, known: Option<&LiveOutput>) -> Option<OutputWant> {
    let tail = output.bytes.saturating_sub(KEPT as u64);
    let from = known
        .filter(|known| known.generation == output.generation && known.end() >= tail)
        .map_or(tail, LiveOutput::end);
    let missing = output.bytes.saturating_sub(from);
    (missing > 0).then(|| OutputWant {
        run: RunId::clone(&output.run),
        generation: output.generation,
        from,
        bytes: u32::try_from(missing).unwrap_or(READ).min(READ),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text;

    #[test]
    fn output_is_what_a_terminal_would_have_left() {
        for (output, left) in [
            ("\u{1b}[1;31mred\u{1b}[0m plain", "red plain"),
            (
                "\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\",
                "alink",
            ),
            (" 10 %\r 50 %\r100 %\ndone\r\n", "100 %\ndone\n"),
            ("abc\u{8}\u{8}xy", "axy"),
            ("\u{1b}(Bx\u{1b}cy", "xy"),
            ("\u{1b}]never ends\nnext", "\nnext"),
            ("\u{9b}2Jx\u{9d}52;c;eA==\u{9c}y", "xy"),
        ] {
            assert_eq!(plain(output), left, "{output:?}");
        }
    }

    #[test]
    fn live_output_is_read_once_and_joined() {
        let run = RunId::parse("r1").expect("an id");
        let row = |bytes| RunOutput {
            run: run.clone(),
            bytes,
            generation: 1,
            complete: false,
            source_incomplete: false,
        };
        let mut live = LiveOutput::default();
        let first = want(&row(6), None).expect("something to read");
        assert_eq!((first.from, first.bytes), (0, 6));
        live.take(1, 0, b"one\ntw");
        live.take(1, 0, b"one\ntw");
        let next = want(&row(8), Some(&live)).expect("something to read");
        assert_eq!((next.from, next.bytes), (6, 2));
        live.take(1, 6, b"o\n");
        assert_eq!(live.last_lines(5), ["one", "two"]);
        assert_eq!(want(&row(8), Some(&live)), None);
        live.take(2, 0, b"anew");
        assert_eq!(live.last_lines(5), ["anew"]);
        live.take(1, 4, b"late");
        assert_eq!(live.last_lines(5), ["anew"]);
    }

    proptest! {
        #[test]
        fn no_output_breaks_it(output in "[\u{1b}\\[\\]0-9;mP\\\\\u{7}\r\n\u{8}\u{9b}\u{9c}a]{0,60}|\\PC{0,20}") {
            let left = plain(&output);
            let acts = left.contains(['\u{1b}', '\r', '\u{8}', '\u{9b}']);
            prop_assert!(!acts);
            prop_assert!(!text::clean(&left).chars().any(text::acts));
        }
    }
}
