//! What a person selects in the transcript with the mouse: the words, without margins, and without the line breaks that
//! only the width made.

use ratatui_core::{buffer::Buffer, layout::Rect, style::Style};

use super::{Transcript, scene};
use crate::text;

/// A cell of the transcript: a row of the view, and a column of its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) row: usize,
    pub(crate) col: usize,
}

/// What is selected: where it began, and where it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) from: Spot,
    pub(crate) to: Spot,
}

impl Selection {
    /// Returns the columns that are selected in a row.
    pub(crate) fn columns(&self, row: usize) -> Option<(usize, usize)> {
        let (first, last) = (self.from.min(self.to), self.from.max(self.to));
        if !(first.row..=last.row).contains(&row) {
            return None;
        }
        let start = if row == first.row { first.col } else { 0 };
        let end = if row == last.row {
            last.col + 1
        } else {
            usize::MAX
        };
        Some((start, end))
    }

    /// Returns the selected words of rows that were at most `cols` wide.
    pub(crate) fn words(&self, rows: &[String], cols: usize) -> String {
        let mut out = String::new();
        let mut before: Option<&str> = None;
        for (at, row) in rows.iter().enumerate() {
            let Some((start, end)) = self.columns(at) else {
                continue;
            };
            if let Some(before) = before {
                out.push_str(joint(before, row, cols));
            }
            let skipped = text::head(row, start).len();
            let kept = text::head(row, end).len().max(skipped);
            out.push_str(&row[skipped..kept]);
            before = Some(row);
        }
        out.trim_end().to_owned()
    }
}

impl Transcript {
    /// Begins to select at a cell of the screen; returns whether it is in the transcript.
    pub(crate) fn select_from(&mut self, col: u16, row: u16) -> bool {
        self.selection = None;
        let inside = self.last.area.contains((col, row).into());
        if inside {
            let from = self.spot(col, row);
            self.selection = Some(Selection { from, to: from });
        }
        inside
    }

    /// Returns whether the mouse is selecting.
    pub(crate) fn is_selecting(&self) -> bool {
        self.selection.is_some()
    }

    /// Selects up to a cell of the screen.
    pub(crate) fn select_to(&mut self, col: u16, row: u16) {
        let to = self.spot(col, row);
        if let Some(selection) = &mut self.selection {
            selection.to = to;
        }
    }

    /// Returns what was selected, where it is more than one cell; the selection goes.
    pub(crate) fn take_selection(&mut self) -> Option<String> {
        let selection = self.selection.take()?;
        let words = selection.words(&self.last.rows, self.last.cols);
        (selection.from != selection.to && !words.trim().is_empty()).then_some(words)
    }

    fn spot(&self, col: u16, row: u16) -> Spot {
        let area = self.last.area;
        let last = usize::from(area.height.saturating_sub(1));
        Spot {
            row: usize::from(row.saturating_sub(area.y)).min(last),
            col: usize::from(col.saturating_sub(area.x + scene::BEFORE)),
        }
    }
}

/// Marks words in what was drawn.
pub(super) fn mark(buf: &mut Buffer, area: Rect, words: &str, style: Style) {
    if words.trim().is_empty() {
        return;
    }
    for y in area.top()..area.bottom() {
        let (mut line, mut cells) = (String::new(), Vec::new());
        for x in area.left()..area.right() {
            let symbol = buf[(x, y)].symbol().to_lowercase();
            cells.extend(std::iter::repeat_n(x, symbol.len()));
            line.push_str(&symbol);
        }
        for (at, found) in line.match_indices(words) {
            for x in &cells[at..at + found.len()] {
                buf[(*x, y)].set_style(style);
            }
        }
    }
}

pub(super) fn show_selection(buf: &mut Buffer, area: Rect, selection: &Selection, style: Style) {
    for (row, y) in (area.top()..area.bottom()).enumerate() {
        let Some((start, end)) = selection.columns(row) else {
            continue;
        };
        let cell = |col: usize| {
            let col = u16::try_from(col).unwrap_or(u16::MAX);
            area.x
                .saturating_add(scene::BEFORE)
                .saturating_add(col)
                .min(area.right())
        };
        for x in cell(start)..cell(end) {
            buf[(x, y)].set_style(style);
        }
    }
}

/// Returns what stood between two rows: nothing or a blank where only the width broke the line.
fn joint(before: &str, after: &str, cols: usize) -> &'static str {
    let words = before.trim_end();
    let next = after.split_whitespace().next().unwrap_or_default();
    let used = text::width(words);
    if words.is_empty() || next.is_empty() || after.starts_with(' ') {
        "\n"
    } else if used >= cols && !words.contains(' ') {
        ""
    } else if used + 1 + text::width(next) > cols {
        " "
    } else {
        "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&str]) -> Vec<String> {
        rows.iter().map(|row| (*row).to_owned()).collect()
    }

    fn spot(row: usize, col: usize) -> Spot {
        Spot { row, col }
    }

    #[test]
    fn lines_that_only_the_width_broke_are_one_again() {
        let rows = rows(&[
            "two words that",
            "did not fit",
            "",
            "code_that_goes",
            "_on  ",
            "end",
        ]);
        let all = Selection {
            from: spot(0, 0),
            to: spot(5, 9),
        };
        let words = "two words that did not fit\n\ncode_that_goes_on\nend";
        assert_eq!(all.words(&rows, 14).replace("  \n", "\n"), words);
    }

    #[test]
    fn a_selection_backwards_is_the_same_and_never_splits_a_wide_character() {
        let rows = rows(&["a漢字b"]);
        let there = Selection {
            from: spot(0, 1),
            to: spot(0, 3),
        };
        let back = Selection {
            from: spot(0, 3),
            to: spot(0, 1),
        };
        assert_eq!(there.words(&rows, 20), back.words(&rows, 20));
        assert_eq!(there.words(&rows, 20), "漢");
    }
}
