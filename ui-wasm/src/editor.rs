//! Text being written: the characters, the cursor, undo and the killed text. It knows no keys and no history of
//! messages, and lays lines out only as far as the cursor needs it.

use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

use crate::{keymap::Command, text};

/// States kept for undo.
const UNDO_STATES: usize = 100;
/// Bytes of text kept for undo.
const UNDO_BYTES: usize = 2 << 20;

/// Texts that were killed and can be put back.
const KILLS: usize = 16;

/// What the last command was, where the next depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    /// Nothing of the kind.
    #[default]
    Other,
    /// It killed; the next kill goes with it.
    Kill,
    /// It put back the text at this place of the ring, from this byte on.
    Yank { from: usize, at: usize },
}

/// A field of text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Editor {
    text: String,
    cursor: usize,
    goal: Option<usize>,
    undo: Vec<Draft>,
    redo: Vec<Draft>,
    /// What was killed, the newest last.
    kills: Vec<String>,
    last: Last,
    typing: bool,
}

/// A text and the place in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Draft {
    /// The text.
    pub(crate) text: String,
    /// The cursor, in bytes.
    pub(crate) cursor: usize,
}

/// One row of a laid-out text: the bytes it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// First byte.
    pub(crate) start: usize,
    /// Byte after the last; a line break is not included.
    pub(crate) end: usize,
}

impl Editor {
    /// Returns a field that holds `text`, the cursor at its end.
    pub(crate) fn with(text: &str) -> Self {
        let mut editor = Self::default();
        editor.put(text);
        editor.undo.clear();
        editor
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the cursor, in bytes.
    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Returns whether there is no text.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns text and cursor.
    pub(crate) fn draft(&self) -> Draft {
        Draft {
            text: self.text.clone(),
            cursor: self.cursor,
        }
    }

    /// Puts a kept draft in place of the text.
    pub(crate) fn restore(&mut self, draft: Draft) {
        self.text = draft.text;
        self.last = Last::Other;
        self.cursor = draft.cursor.min(self.text.len());
        while !self.text.is_char_boundary(self.cursor) {
            self.cursor -= 1;
        }
    }

    /// Replaces the whole text, as one step of undo.
    pub(crate) fn set(&mut self, text: &str) {
        self.remember(false);
        self.text = clean(text);
        self.cursor = self.text.len();
    }

    /// Takes the text out and leaves an empty field.
    pub(crate) fn take(&mut self) -> String {
        self.remember(false);
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    /// Puts one typed character at the cursor.
    pub(crate) fn typed(&mut self, c: char) {
        let word = c.is_alphanumeric();
        if !(self.typing && word) {
            self.remember(false);
        }
        self.typing = word;
        self.goal = None;
        self.last = Last::Other;
        self.text.insert(self.cursor, c);
        self.cursor += c.len_utf8();
    }

    /// Puts text at the cursor, as one step of undo.
    pub(crate) fn put(&mut self, text: &str) {
        self.remember(false);
        let text = clean(text);
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    /// Puts text in place of what stands between `from` and the cursor, as one step of undo.
    pub(crate) fn replace(&mut self, from: usize, text: &str) {
        self.remember(false);
        let text = clean(text);
        self.text.replace_range(from..self.cursor, &text);
        self.cursor = from + text.len();
    }

    /// Does what an editing command says; returns whether it is one.
    pub(crate) fn apply(&mut self, command: Command) -> bool {
        let last = std::mem::take(&mut self.last);
        match command {
            Command::Left => self.go(self.before(self.cursor)),
            Command::Right => self.go(self.after(self.cursor)),
            Command::WordLeft => self.go(self.word_before()),
            Command::WordRight => self.go(self.word_after()),
            Command::LineStart => self.go(self.line_start()),
            Command::LineEnd => self.go(self.line_end()),
            Command::EraseBack => drop(self.erase(self.before(self.cursor), self.cursor)),
            Command::EraseAhead => drop(self.erase(self.cursor, self.after(self.cursor))),
            Command::EraseWord => self.kill(self.word_before(), self.cursor, last),
            Command::EraseWordAhead => self.kill(self.cursor, self.word_after(), last),
            Command::KillToStart => self.kill(self.kill_start(), self.cursor, last),
            Command::KillToEnd => self.kill(self.cursor, self.kill_end(), last),
            Command::Yank => self.yank(),
            Command::YankOlder => self.yank_older(last),
            Command::Undo => self.step(true),
            Command::Redo => self.step(false),
            _ => return false,
        }
        true
    }

    /// Moves the cursor by one row of the layout; returns whether there was one.
    pub(crate) fn move_row(&mut self, down: bool, cols: usize) -> bool {
        let rows = self.rows(cols);
        let (row, col) = self.place(&rows);
        let target = if down { row + 1 } else { row.wrapping_sub(1) };
        let Some(to) = rows.get(target).copied() else {
            return false;
        };
        let goal = self.goal.unwrap_or(col);
        self.go(self.at_column(to, goal));
        self.goal = Some(goal);
        true
    }

    /// Puts the cursor at a row and column of the layout, or as near as there is text.
    pub(crate) fn click(&mut self, row: usize, col: usize, cols: usize) {
        let rows = self.rows(cols);
        if let Some(row) = rows.get(row).or(rows.last()) {
            let at = self.at_column(*row, col);
            self.go(at);
        }
    }

    /// Returns the rows of the text when a row holds `cols` cells; at least one. Words are kept whole where they fit.
    pub(crate) fn rows(&self, cols: usize) -> Vec<Row> {
        let cols = cols.max(2);
        let mut rows = Vec::new();
        let mut start = 0;
        for line in self.text.split('\n') {
            wrap(line, start, cols, &mut rows);
            start += line.len() + 1;
        }
        rows
    }

    /// Returns row and column of the cursor in a layout.
    pub(crate) fn place(&self, rows: &[Row]) -> (usize, usize) {
        let row = rows
            .iter()
            .rposition(|r| r.start <= self.cursor)
            .unwrap_or(0);
        let start = rows.get(row).map_or(0, |r| r.start);
        (row, cells(&self.text[start..self.cursor]))
    }

    fn at_column(&self, row: Row, goal: usize) -> usize {
        let mut col = 0;
        for (at, grapheme) in self.text[row.start..row.end].grapheme_indices(true) {
            let next = col + cells(grapheme);
            if next > goal {
                return row.start + at;
            }
            col = next;
        }
        row.end
    }

    fn go(&mut self, to: usize) {
        self.cursor = to;
        self.goal = None;
        self.typing = false;
        self.last = Last::Other;
    }

    fn erase(&mut self, from: usize, to: usize) -> Option<String> {
        if from >= to {
            return None;
        }
        self.remember(true);
        let gone: String = self.text.drain(from..to).collect();
        self.cursor = from;
        Some(gone)
    }

    /// Erases so that it can be put back; kills in a row are one.
    fn kill(&mut self, from: usize, to: usize, last: Last) {
        let ahead = from == self.cursor;
        let Some(gone) = self.erase(from, to) else {
            return;
        };
        self.last = Last::Kill;
        match self.kills.last_mut().filter(|_| last == Last::Kill) {
            Some(kill) if ahead => kill.push_str(&gone),
            Some(kill) => kill.insert_str(0, &gone),
            None => self.kills.push(gone),
        }
        let over = self.kills.len().saturating_sub(KILLS);
        self.kills.drain(..over);
    }

    fn yank(&mut self) {
        let Some(at) = self.kills.len().checked_sub(1) else {
            return;
        };
        let from = self.cursor;
        self.put(&self.kills[at].clone());
        self.last = Last::Yank { from, at };
    }

    /// Puts what was killed before in place of what was just put back.
    fn yank_older(&mut self, last: Last) {
        let Last::Yank { from, at } = last else {
            self.yank();
            return;
        };
        let at = at.checked_sub(1).unwrap_or(self.kills.len() - 1);
        self.replace(from, &self.kills[at].clone());
        self.last = Last::Yank { from, at };
    }

    fn remember(&mut self, erasing: bool) {
        self.goal = None;
        self.last = Last::Other;
        self.typing = false;
        self.redo.clear();
        let same = self.undo.last().is_some_and(|d| d.text == self.text);
        if same && !erasing {
            return;
        }
        self.undo.push(self.draft());
        let mut bytes: usize = self.undo.iter().map(|d| d.text.len()).sum();
        while self.undo.len() > UNDO_STATES || (bytes > UNDO_BYTES && self.undo.len() > 1) {
            bytes -= self.undo.remove(0).text.len();
        }
    }

    fn step(&mut self, back: bool) {
        let now = self.draft();
        let (from, to) = if back {
            (&mut self.undo, &mut self.redo)
        } else {
            (&mut self.redo, &mut self.undo)
        };
        while let Some(draft) = from.pop() {
            if draft.text != now.text {
                to.push(now);
                self.restore(draft);
                break;
            }
        }
        self.typing = false;
        self.goal = None;
    }

    fn before(&self, at: usize) -> usize {
        self.text[..at]
            .grapheme_indices(true)
            .next_back()
            .map_or(0, |(i, _)| i)
    }

    fn after(&self, at: usize) -> usize {
        self.text[at..]
            .graphemes(true)
            .next()
            .map_or(at, |g| at + g.len())
    }

    fn word_before(&self) -> usize {
        let words = self.text[..self.cursor].split_word_bound_indices();
        let mut at = 0;
        for (i, word) in words.rev() {
            at = i;
            if word.chars().any(|c| !c.is_whitespace()) {
                break;
            }
        }
        at
    }

    fn word_after(&self) -> usize {
        let mut at = self.cursor;
        for word in self.text[self.cursor..].split_word_bounds() {
            at += word.len();
            if word.chars().any(|c| !c.is_whitespace()) {
                break;
            }
        }
        at
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |i| i + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..]
            .find('\n')
            .map_or(self.text.len(), |i| self.cursor + i)
    }

    /// At the start of a line the line break before it goes.
    fn kill_start(&self) -> usize {
        let start = self.line_start();
        if start == self.cursor {
            self.before(start)
        } else {
            start
        }
    }

    /// At the end of a line the line break after it goes.
    fn kill_end(&self) -> usize {
        let end = self.line_end();
        if end == self.cursor {
            self.after(end)
        } else {
            end
        }
    }
}

/// Returns the cells that a piece of text takes in a field.
pub(crate) fn cells(piece: &str) -> usize {
    piece.graphemes(true).map(|g| text::width(&shown(g))).sum()
}

/// Returns a grapheme as a field shows it.
pub(crate) fn shown(grapheme: &str) -> String {
    if grapheme == "\t" {
        return "    ".to_owned();
    }
    text::visible(grapheme).into_owned()
}

/// Line ends become `\n`; other control characters than tab have no place in a message.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

fn wrap(line: &str, start: usize, cols: usize, rows: &mut Vec<Row>) {
    let (mut from, mut used) = (0, 0);
    for (at, word) in line.split_word_bound_indices() {
        let width = cells(word);
        if used + width <= cols || (word.trim().is_empty() && used <= cols) {
            used += width;
            continue;
        }
        if used > 0 && width <= cols {
            rows.push(Row {
                start: start + from,
                end: start + at,
            });
            (from, used) = (at, width);
            continue;
        }
        for (i, grapheme) in word.grapheme_indices(true) {
            let width = cells(grapheme);
            if used + width > cols && used > 0 {
                rows.push(Row {
                    start: start + from,
                    end: start + at + i,
                });
                (from, used) = (at + i, 0);
            }
            used += width;
        }
    }
    rows.push(Row {
        start: start + from,
        end: start + line.len(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use Command as C;

    /// Text with the cursor as `|`.
    fn field(marked: &str) -> Editor {
        let at = marked.find('|').expect("a cursor");
        let mut editor = Editor::with(&marked.replace('|', ""));
        editor.cursor = at;
        editor
    }

    fn marked(editor: &Editor) -> String {
        let mut text = editor.text.clone();
        text.insert(editor.cursor, '|');
        text
    }

    #[test]
    fn editing_commands_do_what_people_know() {
        let table: &[(&str, &[C], &str)] = &[
            ("ab|c", &[C::EraseBack], "a|c"),
            ("ab|c", &[C::EraseAhead], "ab|"),
            ("e\u{301}x|", &[C::Left, C::EraseBack], "|x"),
            ("one two|", &[C::EraseWord], "one |"),
            ("one two  |", &[C::EraseWord], "one |"),
            (
                "one two|",
                &[C::EraseWord, C::LineStart, C::Yank],
                "two|one ",
            ),
            (
                "one two|",
                &[C::EraseWord, C::EraseWord, C::Yank],
                "one two|",
            ),
            (
                "one\ntwo|",
                &[
                    C::KillToStart,
                    C::Left,
                    C::KillToStart,
                    C::Yank,
                    C::YankOlder,
                ],
                "two|\n",
            ),
            (
                "one\ntwo|",
                &[
                    C::KillToStart,
                    C::Left,
                    C::KillToStart,
                    C::Yank,
                    C::YankOlder,
                    C::YankOlder,
                ],
                "one|\n",
            ),
            ("|one two", &[C::KillToEnd, C::YankOlder, C::Undo], "|"),
            ("|one two", &[C::WordRight, C::WordRight], "one two|"),
            ("one two|", &[C::WordLeft, C::WordLeft], "|one two"),
            ("a\nb|c\nd", &[C::KillToStart], "a\n|c\nd"),
            ("a\n|c", &[C::KillToStart], "a|c"),
            ("a\nb|c\nd", &[C::KillToEnd, C::KillToEnd], "a\nb|d"),
            ("a|b", &[C::EraseBack, C::Undo], "a|b"),
            ("a|b", &[C::EraseBack, C::Undo, C::Redo], "|b"),
            (
                "|",
                &[C::Left, C::EraseBack, C::EraseAhead, C::Undo, C::Yank],
                "|",
            ),
            ("你好|", &[C::Left], "你|好"),
        ];
        for (before, commands, after) in table {
            let mut editor = field(before);
            for command in *commands {
                assert!(editor.apply(*command));
            }
            assert_eq!(&marked(&editor), after, "{before} {commands:?}");
        }
    }

    #[test]
    fn a_typed_word_is_one_step_of_undo() {
        let mut editor = Editor::default();
        "one two".chars().for_each(|c| editor.typed(c));
        editor.apply(C::Undo);
        assert_eq!(editor.text(), "one ");
        editor.apply(C::Undo);
        editor.apply(C::Undo);
        assert_eq!(editor.text(), "");
    }

    #[test]
    fn line_ends_of_a_paste_become_one_kind_and_control_characters_go() {
        let mut editor = Editor::default();
        editor.put("a\r\nb\rc\nd\r\n\r\ne\u{1b}[31m\tf\r\n");
        assert_eq!(editor.text(), "a\nb\nc\nd\n\ne[31m\tf\n");
    }

    #[test]
    fn rows_keep_words_whole_and_wide_characters_too() {
        let rows = |text: &str, cols| {
            let editor = Editor::with(text);
            let rows = editor.rows(cols);
            rows.iter()
                .map(|r| text[r.start..r.end].to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(rows("one two three", 8), ["one two ", "three"]);
        assert_eq!(rows("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(rows("你好吗", 3), ["你", "好", "吗"]);
        assert_eq!(rows("a\n\nb", 9), ["a", "", "b"]);
        assert_eq!(rows("", 9), [""]);
    }

    #[test]
    fn what_was_put_back_is_replaced_only_while_the_cursor_stays_behind_it() {
        let mut editor = field("one\ntwo |three");
        editor.apply(C::KillToEnd);
        editor.apply(C::Yank);
        assert!(editor.move_row(false, 40));
        editor.apply(C::YankOlder);
        assert_eq!(marked(&editor), "onethree|\ntwo three");
        editor.apply(C::Yank);
        editor.click(0, 0, 40);
        editor.apply(C::YankOlder);
        assert_eq!(marked(&editor), "three|onethreethree\ntwo three");
        editor.apply(C::Yank);
        editor.restore(Draft::default());
        editor.apply(C::YankOlder);
        assert_eq!(marked(&editor), "three|");
    }

    #[test]
    fn moving_by_rows_keeps_the_column() {
        let mut editor = field("long line\nab\nlonger li|ne");
        assert!(editor.move_row(false, 40));
        assert!(editor.move_row(false, 40));
        assert_eq!(marked(&editor), "long line|\nab\nlonger line");
        assert!(!editor.move_row(false, 40));
    }

    proptest::proptest! {
        #[test]
        fn no_order_of_commands_leaves_the_cursor_inside_a_character(
            text in "[a-z 你é\n\t👩‍🚀]{0,40}", steps in proptest::collection::vec(0usize..19, 0..40), cols in 1usize..20,
        ) {
            let commands = [C::Left, C::Right, C::WordLeft, C::WordRight, C::LineStart, C::LineEnd, C::EraseBack,
                C::EraseAhead, C::EraseWord, C::EraseWordAhead, C::KillToStart, C::KillToEnd, C::Yank, C::YankOlder, C::Undo, C::Redo];
            let mut editor = Editor::with(&text);
            for step in steps {
                match commands.get(step) {
                    Some(command) => { editor.apply(*command); }
                    None if step == 16 => { editor.move_row(false, cols); }
                    None if step == 17 => { editor.move_row(true, cols); }
                    None => editor.typed('ß'),
                }
                assert!(editor.text.is_char_boundary(editor.cursor));
                let rows = editor.rows(cols);
                assert_eq!(rows.last().map(|r| r.end), Some(editor.text.len()));
                let _ = editor.place(&rows);
            }
        }
    }
}
