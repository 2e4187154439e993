//! Changes to a file as lines: numbers, marks, and the words that changed within a line. It compares no files.

use porthole_protocol::{DiffLine, DiffMark};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::markdown::chop;
use crate::text;
use crate::theme::Theme;

/// Returns the changed lines in at most `cols` columns.
pub(crate) fn lines(diff: &[DiffLine], cols: usize, theme: &Theme) -> Vec<Line<'static>> {
    let most = diff
        .iter()
        .filter_map(|line| line.new.max(line.old))
        .max()
        .unwrap_or(0);
    let digits = most.to_string().len().max(2);
    let words = changed_words(diff);
    diff.iter()
        .zip(words)
        .flat_map(|(line, words)| diff_line(line, words, digits, cols, theme))
        .collect()
}

fn diff_line(
    line: &DiffLine,
    words: Option<(usize, usize)>,
    digits: usize,
    cols: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let (sign, style, word) = match line.mark {
        DiffMark::Gap => return vec![Line::styled(format!("{:>digits$}", "…"), theme.dim)],
        DiffMark::Same => (" ", theme.dim, theme.dim),
        DiffMark::Added => ("+", theme.added, theme.added_word),
        DiffMark::Removed => ("−", theme.removed, theme.removed_word),
    };
    let number = match line.mark {
        DiffMark::Removed => line.old,
        _ => line.new.or(line.old),
    };
    let number = number.map(|n| n.to_string()).unwrap_or_default();
    let room = cols.saturating_sub(digits + 5);
    let code = chop(words_line(&line.text, words, style, word), room);
    let heads = std::iter::once((number, sign)).chain(std::iter::repeat((String::new(), " ")));
    code.into_iter()
        .zip(heads)
        .map(|(code, (number, sign))| {
            let mut spans = vec![
                Span::styled(format!("{number:>digits$} "), theme.dim),
                Span::styled(format!("{sign} "), style),
                Span::styled("│ ", theme.border),
            ];
            spans.extend(code.spans);
            Line::from(spans)
        })
        .collect()
}

/// Returns a line of code with the bytes of `words` in a style of their own.
fn words_line(
    code: &str,
    words: Option<(usize, usize)>,
    style: Style,
    word: Style,
) -> Line<'static> {
    let Some((from, to)) = words else {
        return Line::from(Span::styled(text::clean(code).into_owned(), style));
    };
    // Tabs count from the start of the line, so each part is expanded together with what stands before it.
    let upto = |end: usize| text::width(&text::expand_tabs(&code[..end], text::TAB));
    let whole = text::expand_tabs(code, text::TAB);
    let start = text::head(&whole, upto(from)).len();
    let end = text::head(&whole, upto(to)).len().max(start);
    let part = |part: &str, style| Span::styled(text::visible(part).into_owned(), style);
    Line::from(vec![
        part(&whole[..start], style),
        part(&whole[start..end], word),
        part(&whole[end..], style),
    ])
}

/// How many lines are looked through for the counterpart of one.
const NEAR: usize = 8;

/// Returns for each line which of its bytes changed, where it has a counterpart that is much like it.
fn changed_words(diff: &[DiffLine]) -> Vec<Option<(usize, usize)>> {
    let mut words = vec![None; diff.len()];
    let mut at = 0;
    while at < diff.len() {
        let run = |from: usize, mark| {
            diff[from..]
                .iter()
                .take_while(|line| line.mark == mark)
                .count()
        };
        let removed = run(at, DiffMark::Removed);
        let added = run(at + removed, DiffMark::Added);
        let mut next = at + removed;
        for old in at..at + removed {
            let near = next..(next + NEAR).min(at + removed + added);
            let found = near.into_iter().find_map(|new| {
                difference(&diff[old].text, &diff[new].text).map(|words| (new, words))
            });
            if let Some((new, (of_old, of_new))) = found {
                words[old] = Some(of_old);
                words[new] = Some(of_new);
                next = new + 1;
            }
        }
        at += (removed + added).max(1);
    }
    words
}

type Bytes = (usize, usize);

/// Returns the bytes between the words that two lines begin and end with alike; `None` where they are too different.
fn difference(old: &str, new: &str) -> Option<(Bytes, Bytes)> {
    let old_words: Vec<&str> = old.split_word_bounds().collect();
    let new_words: Vec<&str> = new.split_word_bounds().collect();
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| -> usize {
        pairs
            .take_while(|(a, b)| a == b)
            .map(|(a, _)| a.len())
            .sum()
    };
    let start = same(&mut old_words.iter().zip(&new_words));
    let end = same(&mut old_words.iter().rev().zip(new_words.iter().rev()));
    let end = end.min(old.len().min(new.len()) - start);
    let alike = old[..start].trim().len() + old[old.len() - end..].trim().len();
    let longest = old.trim().len().max(new.trim().len());
    (alike * 3 >= longest).then(|| ((start, old.len() - end), (start, new.len() - end)))
}

#[cfg(test)]
mod tests {
    use porthole_bridge::{Background, ColorDepth};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_words_that_changed_are_found() {
        assert_eq!(
            difference("wait + jitter();", "wait + jitter().min(base);"),
            Some(((15, 15), (15, 25)))
        );
        assert_eq!(difference("alpha", "something else"), None);
        let (old, new) = difference("a a", "a a a").expect("alike");
        assert!(old.0 <= old.1 && new.0 <= new.1);
    }

    #[test]
    fn a_line_finds_its_counterpart_behind_lines_that_are_new() {
        let line = |mark, text: &str| DiffLine {
            mark,
            old: None,
            new: None,
            text: text.into(),
        };
        let diff = [
            line(DiffMark::Removed, "    wait + jitter()"),
            line(DiffMark::Removed, "    done"),
            line(DiffMark::Added, "    // Why it is bounded."),
            line(DiffMark::Added, "    wait + jitter().min(base)"),
            line(DiffMark::Added, "    done;"),
        ];
        let words = changed_words(&diff);
        assert_eq!(words[0], Some((19, 19)));
        assert_eq!(words[3], Some((19, 29)));
        assert!(words[1].is_some() && words[4].is_some());
        assert_eq!(words[2], None);
    }

    proptest! {
        #[test]
        fn any_change_fits_its_width(pairs in prop::collection::vec(("[\\PC\t]{0,30}", 0..4u8), 0..8), cols in 12usize..60) {
            let marks = [DiffMark::Same, DiffMark::Added, DiffMark::Removed, DiffMark::Gap];
            let diff: Vec<DiffLine> = pairs
                .into_iter()
                .map(|(text, mark)| DiffLine { mark: marks[usize::from(mark)], old: Some(7), new: Some(1234), text })
                .collect();
            let theme = Theme::choose("dark", Background::Dark, ColorDepth::True);
            for line in lines(&diff, cols, &theme) {
                prop_assert!(text::line_width(&line) <= cols);
            }
        }
    }
}
