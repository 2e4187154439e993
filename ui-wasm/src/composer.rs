//! The composer: the message being written, the messages sent before, and the list of `/` commands while one is
//! typed. It sends nothing; it says what was written.

mod list;

use porthole_protocol::{
    AttachmentId, limits,
    replies::{Files, Prompts},
};
use ratatui_core::{
    buffer::Buffer,
    layout::{Position, Rect},
};
use serde::{Deserialize, Serialize};

use crate::{
    editor::{self, Draft, Editor},
    keymap::{Command, TABLE},
    look::{self, Glyph, Look},
    text,
    transcript::size,
};
use list::Offer;

/// What a finished draft is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// Nothing but blanks.
    Nothing,
    /// Words for the model.
    Message(String),
    /// A command for the shell, and whether the model gets to see it.
    Shell(String, bool),
    /// A `/` command and the words after it.
    Command(Command, String),
    /// Something after `/` that is no command.
    Unknown(String),
    /// More than one message holds.
    TooLong,
}

/// A file that was uploaded and goes with the next message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Chip {
    /// The server's id of it.
    pub(crate) id: AttachmentId,
    /// Its name, as shown.
    pub(crate) name: String,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// Its media type, as shown.
    pub(crate) media_type: String,
}

impl Chip {
    /// Returns it in words: name, kind and size.
    pub(crate) fn words(&self) -> String {
        let kind = self.media_type.split(';').next().unwrap_or_default();
        format!("{} ({kind}, {})", self.name, size(self.bytes))
    }
}

/// Rows and characters of what is answered that are quoted.
const QUOTED: (usize, usize) = (3, 300);

/// What a message answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// Who said it.
    pub(crate) name: String,
    /// What was said.
    pub(crate) text: String,
}

impl Reply {
    /// Returns the message with what it answers quoted above it.
    fn quoting(&self, message: &str) -> String {
        let said = self.text.lines().filter(|line| !line.trim().is_empty());
        let lines: Vec<&str> = said.collect();
        let mut quote = lines[..lines.len().min(QUOTED.0)].join("\n");
        let end = quote.char_indices().nth(QUOTED.1).map(|(at, _)| at);
        if end.is_some() || lines.len() > QUOTED.0 {
            quote.truncate(end.unwrap_or(quote.len()));
            quote.push_str(" …");
        }
        let quote: Vec<String> = quote.lines().map(|line| format!("> {line}")).collect();
        format!("{}\n\n{message}", quote.join("\n"))
    }
}

/// The composer of one conversation.
#[derive(Debug, Default)]
pub(crate) struct Composer {
    editor: Editor,
    /// Where in the history we are, and what was written before going there.
    recalled: Option<(usize, Draft)>,
    completion: usize,
    completion_off: bool,
    /// Names of files as they came for what was typed after `@` then.
    files: Option<(String, Files)>,
    /// Templates and skills that can be typed after `/`, where they came.
    prompts: Option<Prompts>,
    /// The version that was asked for since the message begins with the mark of a command.
    prompts_asked: Option<u64>,
    /// Files that go with the message.
    chips: Vec<Chip>,
    /// What the message answers.
    reply: Option<Reply>,
    cols: usize,
    area: Rect,
    first: usize,
}

impl Composer {
    /// Returns the draft.
    pub(crate) fn draft(&self) -> Draft {
        self.editor.draft()
    }

    /// Returns whether nothing is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.editor.is_empty()
    }

    /// Returns the files that go with the message.
    pub(crate) fn chips(&self) -> &[Chip] {
        &self.chips
    }

    /// Adds a file to the message; returns whether there was room for it.
    pub(crate) fn attach(&mut self, chip: Chip) -> bool {
        let fits = self.chips.len() < limits::SUBMISSION_ATTACHMENTS;
        if fits && self.chips.iter().all(|c| c.id != chip.id) {
            self.chips.push(chip);
        }
        fits
    }

    /// Takes the last file off the message.
    pub(crate) fn detach(&mut self) -> Option<Chip> {
        self.chips.pop()
    }

    /// Takes all files off, to send them.
    pub(crate) fn take_chips(&mut self) -> Vec<Chip> {
        std::mem::take(&mut self.chips)
    }

    /// Answers something said before, or nothing.
    pub(crate) fn answer_to(&mut self, reply: Option<Reply>) {
        self.reply = reply;
    }

    /// Takes off what is answered; returns whether there was anything.
    pub(crate) fn forget_reply(&mut self) -> bool {
        self.reply.take().is_some()
    }

    /// Returns the message as it is sent: with what it answers quoted above it, once.
    pub(crate) fn quoting(&mut self, message: String) -> String {
        match self.reply.take() {
            Some(reply) => reply.quoting(&message),
            None => message,
        }
    }

    /// Returns whether Backspace has nothing to erase here but what is answered.
    pub(crate) fn at_reply(&self) -> bool {
        self.editor.cursor() == 0 && self.reply.is_some()
    }

    /// Returns whether Backspace has nothing to erase here but a file.
    pub(crate) fn at_chips(&self) -> bool {
        self.editor.cursor() == 0 && !self.chips.is_empty()
    }

    /// Puts a kept draft back.
    pub(crate) fn restore(&mut self, draft: Draft) {
        self.editor.restore(draft);
    }

    /// Replaces what is written, in a way that undo takes back.
    pub(crate) fn set(&mut self, text: &str) {
        self.editor.set(text);
        self.changed();
    }

    /// Puts text that came back (a failed or withdrawn message) before what is written.
    pub(crate) fn give_back(&mut self, text: &str) {
        let written = self.editor.text().to_owned();
        if text.is_empty() {
        } else if written.is_empty() {
            self.set(text);
        } else if written != text {
            self.set(&format!("{text}\n\n{written}"));
        }
    }

    /// Takes a typed character.
    pub(crate) fn typed(&mut self, c: char) {
        self.editor.typed(c);
        self.changed();
    }

    /// Takes pasted text as it is.
    pub(crate) fn paste(&mut self, text: &str) {
        self.editor.put(text);
        self.changed();
    }

    /// Does what an editing command says; returns whether it is one.
    pub(crate) fn edit(&mut self, command: Command) -> bool {
        let done = self.editor.apply(command);
        if done {
            self.changed();
        }
        done
    }

    /// Begins a new line.
    pub(crate) fn new_line(&mut self) {
        self.editor.put("\n");
        self.changed();
    }

    /// Clears the draft.
    pub(crate) fn clear(&mut self) {
        self.editor.take();
        self.changed();
    }

    /// Goes a row up, or to the message sent before where there is none; `sent` is oldest first.
    pub(crate) fn up(&mut self, sent: &[String]) {
        if self.is_listing() {
            self.completion = self.completion.saturating_sub(1);
            return;
        }
        let may_recall = self.recalled.is_some() || self.editor.is_empty();
        let at_top = self.editor.place(&self.editor.rows(self.cols)).0 == 0;
        if !(may_recall && at_top) {
            self.editor.move_row(false, self.cols);
            return;
        }
        let older = self.recalled.as_ref().map_or(sent.len(), |(at, _)| *at);
        let Some(at) = older.checked_sub(1).filter(|at| *at < sent.len()) else {
            return;
        };
        let draft = self
            .recalled
            .take()
            .map_or_else(|| self.editor.draft(), |(_, d)| d);
        self.editor.set(&sent[at]);
        self.recalled = Some((at, draft));
    }

    /// Goes a row down, or to the message sent after where there is none.
    pub(crate) fn down(&mut self, sent: &[String]) {
        if self.is_listing() {
            self.completion = (self.completion + 1).min(self.listed().len() - 1);
            return;
        }
        let rows = self.editor.rows(self.cols);
        if self.editor.place(&rows).0 + 1 < rows.len() {
            self.editor.move_row(true, self.cols);
            return;
        }
        let Some((at, draft)) = self.recalled.take() else {
            return;
        };
        match sent.get(at + 1) {
            Some(text) => {
                self.editor.set(text);
                self.recalled = Some((at + 1, draft));
            }
            None => self.editor.restore(draft),
        }
    }

    /// Returns what is written, as it would be sent. The draft stays.
    pub(crate) fn written(&self) -> Written {
        let written = self.editor.text();
        if written.trim().is_empty() {
            return match self.chips.is_empty() {
                true => Written::Nothing,
                false => Written::Message(String::new()),
            };
        }
        if written.len() > limits::SUBMISSION_BYTES {
            return Written::TooLong;
        }
        if let Some(command) = written.strip_prefix("!!") {
            return shell(command, false);
        }
        if let Some(command) = written.strip_prefix('!') {
            return shell(command, true);
        }
        match written.strip_prefix('/') {
            Some(rest) => self.slash(rest),
            None => Written::Message(written.trim_end().to_owned()),
        }
    }

    fn slash(&self, rest: &str) -> Written {
        let (word, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if self.is_listing()
            && let Some(Offer::Command { command, .. }) = self.listed().get(self.completion)
        {
            return Written::Command(*command, String::new());
        }
        let found = TABLE.iter().find(|b| b.slash && b.id == word);
        if let Some(binding) = found {
            return Written::Command(binding.command, words.trim().to_owned());
        }
        // The server puts the template or skill in its place.
        let prompts = self.prompts.iter().flat_map(|p| &p.prompts);
        if prompts.into_iter().any(|p| p.name == word) {
            return Written::Message(self.editor.text().trim_end().to_owned());
        }
        // A path at the start of a message is no command.
        if word.bytes().all(|b| b.is_ascii_lowercase()) {
            Written::Unknown(word.to_owned())
        } else {
            Written::Message(self.editor.text().trim_end().to_owned())
        }
    }

    fn changed(&mut self) {
        self.recalled = None;
        self.completion = 0;
        self.completion_off = false;
    }

    /// Returns how many rows the draft wants in `cols` columns, at most `most`.
    pub(crate) fn height(&self, cols: u16, most: u16) -> u16 {
        let rows = self.editor.rows(usize::from(cols).saturating_sub(3)).len();
        let rows = rows + usize::from(!self.chips.is_empty()) + usize::from(self.reply.is_some());
        u16::try_from(rows)
            .unwrap_or(u16::MAX)
            .clamp(1, most.max(1))
    }

    /// Draws the draft with its bar; returns where the cursor is. The text begins two columns after the bar.
    pub(crate) fn view(
        &mut self,
        area: Rect,
        buf: &mut Buffer,
        look: &Look,
        placeholder: &str,
        active: bool,
    ) -> Position {
        let area = self.view_reply(area, buf, look);
        let area = self.view_chips(area, buf, look);
        self.area = area;
        self.cols = usize::from(area.width).saturating_sub(3);
        let rows = self.editor.rows(self.cols);
        let (row, col) = self.editor.place(&rows);
        let height = usize::from(area.height).max(1);
        self.first = self.first.min(row).max((row + 1).saturating_sub(height));
        self.first = self.first.min(rows.len().saturating_sub(height));
        let bar = if active {
            look.theme.accent
        } else {
            look.theme.dim
        };
        for y in 0..area.height {
            text::put(buf, area.x, area.y + y, 1, look.glyph(Glyph::Bar), bar);
        }
        for (y, shown) in rows.iter().skip(self.first).take(height).enumerate() {
            let mut x = 0;
            for grapheme in unicode_segmentation::UnicodeSegmentation::graphemes(
                &self.editor.text()[shown.start..shown.end],
                true,
            ) {
                let cells = editor::shown(grapheme);
                let left = self.cols.saturating_sub(x);
                x += text::put(
                    buf,
                    area.x + 2 + x as u16,
                    area.y + y as u16,
                    left,
                    &cells,
                    look.theme.text,
                );
            }
        }
        if self.editor.is_empty() {
            let row = Rect {
                x: area.x + 2,
                width: area.width.saturating_sub(2),
                height: 1,
                ..area
            };
            look::pieces(buf, row, &[(placeholder, look.theme.dim)]);
        }
        let x = area.x + 2 + (col.min(self.cols) as u16);
        Position::new(
            x.min(area.right().saturating_sub(1)),
            area.y + (row - self.first) as u16,
        )
    }

    /// Draws what is answered in a row of its own; returns what is left.
    fn view_reply(&self, area: Rect, buf: &mut Buffer, look: &Look) -> Rect {
        let Some(reply) = self.reply.as_ref().filter(|_| area.height > 1) else {
            return area;
        };
        let theme = &look.theme;
        let first = reply.text.lines().find(|line| !line.trim().is_empty());
        let words = format!("{}: {}", reply.name, first.unwrap_or_default().trim());
        let words = text::visible(&words).into_owned();
        let room = usize::from(area.width).saturating_sub(14);
        let words = text::cut(&words, room).to_string();
        let row = Rect { height: 1, ..area };
        look::pieces(
            buf,
            row,
            &[
                (look.glyph(Glyph::Bar), theme.dim),
                (" answers ", theme.accent),
                (&words, theme.dim),
            ],
        );
        Rect {
            y: area.y + 1,
            height: area.height - 1,
            ..area
        }
    }

    /// Draws the files that go with the message in a row of their own; returns what is left.
    fn view_chips(&self, area: Rect, buf: &mut Buffer, look: &Look) -> Rect {
        if self.chips.is_empty() || area.height < 2 {
            return area;
        }
        let theme = &look.theme;
        let words: Vec<String> = self.chips.iter().map(Chip::words).collect();
        let separator = format!(" {} ", look.glyph(Glyph::Dot));
        let row = Rect { height: 1, ..area };
        let words = words.join(&separator);
        look::pieces(
            buf,
            row,
            &[
                (look.glyph(Glyph::Bar), theme.dim),
                (" + ", theme.accent),
                (&words, theme.text),
            ],
        );
        Rect {
            y: area.y + 1,
            height: area.height - 1,
            ..area
        }
    }

    /// Takes a click; returns whether it was in the draft.
    pub(crate) fn click(&mut self, col: u16, row: u16) -> bool {
        let inside = self.area.contains(Position::new(col, row));
        if inside {
            let row = usize::from(row - self.area.y) + self.first;
            let col = usize::from(col.saturating_sub(self.area.x + 2));
            self.editor.click(row, col, self.cols);
        }
        inside
    }
}

fn shell(command: &str, included: bool) -> Written {
    match command.trim() {
        "" => Written::Nothing,
        command => Written::Shell(command.to_owned(), included),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn composer(text: &str) -> Composer {
        let mut composer = Composer {
            cols: 40,
            ..Composer::default()
        };
        composer.paste(text);
        composer
    }

    #[test]
    fn what_is_written_is_told_apart_by_its_start() {
        let table = [
            ("  \n", Written::Nothing),
            ("hello \n", Written::Message("hello".into())),
            ("!ls -la", Written::Shell("ls -la".into(), true)),
            ("!! make", Written::Shell("make".into(), false)),
            ("!", Written::Nothing),
            ("/models", Written::Command(Command::Models, String::new())),
            ("/mod", Written::Command(Command::Models, String::new())),
            (
                "/rename a b",
                Written::Command(Command::Rename, "a b".into()),
            ),
            ("/nosuch x", Written::Unknown("nosuch".into())),
            (
                "/etc/hosts is odd",
                Written::Message("/etc/hosts is odd".into()),
            ),
        ];
        for (text, written) in table {
            let found = composer(text).written();
            if text == "/mod" {
                assert!(
                    matches!(found, Written::Command(..)),
                    "the first of the list: {found:?}"
                );
            } else {
                assert_eq!(found, written, "{text:?}");
            }
        }
        let long = "x".repeat(limits::SUBMISSION_BYTES + 1);
        assert_eq!(composer(&long).written(), Written::TooLong);
    }

    #[test]
    fn up_in_an_empty_message_recalls_and_down_comes_back() {
        let sent = ["first".to_owned(), "second".to_owned()];
        let mut composer = composer("");
        let mut texts = Vec::new();
        for up in [true, true, true, false, false] {
            if up {
                composer.up(&sent)
            } else {
                composer.down(&sent)
            }
            texts.push(composer.draft().text);
        }
        assert_eq!(texts, ["second", "first", "first", "second", ""]);
    }

    #[test]
    fn up_in_a_written_message_moves_and_never_replaces_it() {
        let mut composer = composer("one\ntwo");
        for _ in 0..3 {
            composer.up(&["old".to_owned()]);
        }
        assert_eq!(composer.draft().text, "one\ntwo");
    }

    #[test]
    fn a_message_that_comes_back_never_replaces_what_was_written_since() {
        let mut composer = composer("new");
        composer.give_back("old");
        assert_eq!(composer.draft().text, "old\n\nnew");
    }
}
