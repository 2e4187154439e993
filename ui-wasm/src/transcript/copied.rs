//! What a person selects in the transcript with the mouse: the words, without margins, and without the line breaks that
//! only the width made.

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
