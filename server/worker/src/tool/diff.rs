//! What changed in a file, as lines for people. It applies nothing.

use std::ops::Range;

use porthole_protocol::{DiffLine, DiffMark, ToolDetail};
use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Most lines of one diff.
const LINES: usize = 400;
/// Lines around a change.
const CONTEXT: usize = 3;
/// Characters of one line.
const LINE_CHARS: usize = 500;
/// Changed lines beyond which no smaller difference is looked for: all of them count as replaced.
const COMPARED: usize = 10_000;

/// A change of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Diff {
    pub(super) added: u32,
    pub(super) removed: u32,
    lines: Vec<DiffLine>,
    truncated: bool,
}

impl Diff {
    /// Returns what changed from `old` to `new`.
    pub(super) fn of(old: &[u8], new: &[u8]) -> Self {
        let (old, new) = (split(old), split(new));
        let mut diff = Self {
            added: 0,
            removed: 0,
            lines: Vec::new(),
            truncated: false,
        };
        let ops = compare(&old, &new);
        for (at, op) in ops.iter().enumerate() {
            if let DiffOp::Equal { .. } = op {
                diff.orientation(op, &new, at > 0, at + 1 < ops.len());
            } else {
                diff.change(op, &old, &new);
            }
        }
        diff
    }

    /// Returns "+4 −2".
    pub(super) fn summary(&self) -> String {
        format!("+{} −{}", self.added, self.removed)
    }

    /// Returns it for people.
    pub(super) fn detail(self, path: String) -> ToolDetail {
        ToolDetail::Diff {
            path,
            added: self.added,
            removed: self.removed,
            lines: self.lines,
            truncated: self.truncated,
        }
    }

    fn change(&mut self, op: &DiffOp, old: &[&[u8]], new: &[&[u8]]) {
        self.removed = self.removed.saturating_add(number(op.old_range().len()));
        self.added = self.added.saturating_add(number(op.new_range().len()));
        for at in op.old_range() {
            self.push(DiffMark::Removed, Some(at), None, old[at]);
        }
        for at in op.new_range() {
            self.push(DiffMark::Added, None, Some(at), new[at]);
        }
    }

    fn orientation(&mut self, op: &DiffOp, new: &[&[u8]], before: bool, after: bool) {
        let len = op.new_range().len();
        let head = if before { CONTEXT.min(len) } else { 0 };
        let tail = if after { CONTEXT.min(len - head) } else { 0 };
        self.same(op, 0..head, new);
        if before && after && head + tail < len {
            self.push(DiffMark::Gap, None, None, b"");
        }
        self.same(op, len - tail..len, new);
    }

    fn same(&mut self, op: &DiffOp, part: Range<usize>, new: &[&[u8]]) {
        for at in part {
            let (old_at, new_at) = (op.old_range().start + at, op.new_range().start + at);
            self.push(DiffMark::Same, Some(old_at), Some(new_at), new[new_at]);
        }
    }

    fn push(&mut self, mark: DiffMark, old: Option<usize>, new: Option<usize>, line: &[u8]) {
        if self.lines.len() >= LINES {
            self.truncated |= matches!(mark, DiffMark::Added | DiffMark::Removed);
            return;
        }
        self.lines.push(DiffLine {
            mark,
            old: old.map(|at| number(at + 1)),
            new: new.map(|at| number(at + 1)),
            text: shown(line),
        });
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns the lines with their ends, so that a changed line end is a change.
fn split(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

fn shown(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // A letter has at most four bytes; what is beyond is cut before it is looked at.
    let start = &line[..line.len().min(LINE_CHARS * 4)];
    let text = String::from_utf8_lossy(start);
    match text.char_indices().nth(LINE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

/// Returns what is equal and what is not. The same start and end are taken off first: they are most of a file.
fn compare(old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
    let pairs = old.iter().zip(new);
    let start = pairs.take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
    let end = pairs.take_while(|(a, b)| a == b).count();
    let old_rest = &old_rest[..old_rest.len() - end];
    let new_rest = &new_rest[..new_rest.len() - end];
    let equal = |old_index, new_index, len| DiffOp::Equal {
        old_index,
        new_index,
        len,
    };
    let mut ops = vec![equal(0, 0, start)];
    ops.extend(middle(old_rest, new_rest).into_iter().map(|mut op| {
        shift(&mut op, start);
        op
    }));
    ops.push(equal(old.len() - end, new.len() - end, end));
    ops.retain(|op| !op.old_range().is_empty() || !op.new_range().is_empty());
    ops
}

fn middle(old: &[&[u8]], new: &[&[u8]]) -> Vec<DiffOp> {
    if old.len() + new.len() <= COMPARED {
        return capture_diff_slices(Algorithm::Myers, old, new);
    }
    vec![DiffOp::Replace {
        old_index: 0,
        old_len: old.len(),
        new_index: 0,
        new_len: new.len(),
    }]
}

fn shift(op: &mut DiffOp, by: usize) {
    match op {
        DiffOp::Equal {
            old_index,
            new_index,
            ..
        }
        | DiffOp::Delete {
            old_index,
            new_index,
            ..
        }
        | DiffOp::Insert {
            old_index,
            new_index,
            ..
        }
        | DiffOp::Replace {
            old_index,
            new_index,
            ..
        } => {
            *old_index += by;
            *new_index += by;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the lines as a person would read them.
    fn drawn(diff: &Diff) -> Vec<String> {
        let draw = |line: &DiffLine| {
            let mark = match line.mark {
                DiffMark::Same => ' ',
                DiffMark::Added => '+',
                DiffMark::Removed => '-',
                DiffMark::Gap => '~',
            };
            format!("{mark}{}", line.text)
        };
        diff.lines.iter().map(draw).collect()
    }

    #[test]
    fn far_changes_have_a_gap_between_them() {
        let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
        let new = old.replace("2\n3\n", "2\nx\n").replace("18\n", "");
        let diff = Diff::of(old.as_bytes(), new.as_bytes());
        assert_eq!(diff.summary(), "+1 −2");
        assert_eq!(
            drawn(&diff),
            [
                " 1", " 2", "-3", "+x", " 4", " 5", " 6", "~", " 15", " 16", " 17", "-18", " 19",
                " 20"
            ]
        );
    }

    #[test]
    fn a_changed_line_end_is_a_change() {
        assert_eq!(Diff::of(b"a\r\nb\n", b"a\nb\n").summary(), "+1 −1");
        assert_eq!(Diff::of(b"a", b"a\n").summary(), "+1 −1");
        assert_eq!(Diff::of(b"", b"").summary(), "+0 −0");
    }

    #[test]
    fn a_large_change_is_counted_in_full_and_shown_in_part() {
        let old: String = (0..8_000).map(|line| format!("{line}\n")).collect();
        let new: String = (0..8_000).map(|line| format!("n{line}\n")).collect();
        let diff = Diff::of(old.as_bytes(), new.as_bytes());
        assert_eq!(
            (diff.added, diff.removed, diff.truncated),
            (8_000, 8_000, true)
        );
        assert_eq!(diff.lines.len(), LINES);
    }

    proptest! {
        #[test]
        fn without_a_gap_both_sides_can_be_read_from_it(old in "([abc]\n){0,7}", new in "([abc]\n){0,7}") {
            let diff = Diff::of(old.as_bytes(), new.as_bytes());
            let side = |other: DiffMark| -> String {
                let lines = diff.lines.iter().filter(|line| line.mark != other);
                lines.map(|line| format!("{}\n", line.text)).collect()
            };
            if old != new {
                prop_assert!(old.ends_with(&side(DiffMark::Added)) || old.contains(&side(DiffMark::Added)));
                prop_assert!(new.contains(&side(DiffMark::Removed)));
            }
            let count = |mark| diff.lines.iter().filter(|line| line.mark == mark).count();
            prop_assert_eq!(old.lines().count() + count(DiffMark::Added), new.lines().count() + count(DiffMark::Removed));
        }
    }
}
