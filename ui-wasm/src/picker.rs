//! A floating list to choose from by typing: the palette, the sessions, the models, the history of messages.
//! It finds and moves; what a choice means is decided by who opened it.

use nucleo_matcher::{
    Config, Matcher, Utf32Str,
    pattern::{AtomKind, CaseMatching, Normalization, Pattern},
};
use porthole_bridge::Source;
use porthole_protocol::{
    AccessId, ConversationId, ExportFormat, ModelRef, Policy, SessionId, Thinking,
};
use ratatui_core::{
    buffer::Buffer,
    layout::{Position, Rect},
};

use crate::{
    editor::Editor,
    home::Spot,
    keymap::Command,
    look::{self, Glyph, Look},
    settings::SettingChoice,
    share::ShareChoice,
    text,
};

/// What can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// A command.
    Command(Command),
    /// A session.
    Session(SessionId),
    /// A place where something was said that is looked for, and the words that were found.
    Hit(Spot, String),
    /// The list of sessions.
    Home,
    /// A model.
    Model(ModelRef),
    /// A thinking level.
    Thinking(Thinking),
    /// What tools may do.
    Policy(Policy),
    /// A message sent before.
    Message(String),
    /// A theme by name.
    Theme(String),
    /// Another conversation of the session.
    Conversation(ConversationId),
    /// Something about links for others.
    Share(ShareChoice),
    /// Saves something on the visitor's computer, under a name.
    Save(Source, String),
    /// Has the session written into a file, and saves that.
    Export(ExportFormat),
    /// Something told lately, to be put away; `None`: all of it.
    Told(Option<String>),
    /// Something said before, to be answered: who said it, and what.
    Reply(String, String),
    /// Something about settings.
    Setting(SettingChoice),
    /// Something that was asked back about, and is wanted.
    Sure(Sure),
    /// Nothing after all: it closes the list.
    No,
    /// Nothing: the row is there to be read.
    Nothing,
}

/// What is asked back about before it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sure {
    /// The model sees nothing from before.
    Reset,
    /// A link with its guests, or one guest, is out.
    Revoke(AccessId),
}

/// One row of a list. Its words may be a secret: `Debug` leaves them out.
#[derive(Clone)]
pub(crate) struct Item {
    /// What it stands for.
    pub(crate) choice: Choice,
    /// Its words; typing looks here.
    pub(crate) label: String,
    /// More about it, to the right.
    pub(crate) note: String,
    /// Whether it is what holds now.
    pub(crate) current: bool,
}

impl std::fmt::Debug for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Item").field(&self.choice).finish()
    }
}

impl Item {
    /// Returns a row that is only read.
    pub(crate) fn words(words: impl Into<String>) -> Self {
        Self::new(Choice::Nothing, words, "")
    }

    /// Returns a row.
    pub(crate) fn new(choice: Choice, label: impl Into<String>, note: impl Into<String>) -> Self {
        Self {
            choice,
            label: label.into(),
            note: note.into(),
            current: false,
        }
    }

    /// Marks the row where it is what holds now.
    #[must_use]
    pub(crate) fn current(mut self, current: bool) -> Self {
        self.current = current;
        self
    }
}

/// A floating list.
#[derive(Clone, Debug)]
pub(crate) struct Picker {
    title: String,
    footer: String,
    query: Editor,
    items: Vec<Item>,
    /// How many rows at the end came for what is typed now, and are always shown.
    more: usize,
    /// What the typed text is for, where it is not for finding.
    field: Option<String>,
    shown: Vec<usize>,
    at: usize,
    first: usize,
    area: Rect,
}

/// What a key or a click did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    /// The list stays open.
    Open,
    /// It was closed.
    Closed,
    /// Something was chosen.
    Chosen(Choice),
    /// A text was typed for a setting: its name, and the text.
    Typed(String, String),
}

impl Picker {
    /// Returns a list with the current row selected.
    pub(crate) fn new(
        title: impl Into<String>,
        items: Vec<Item>,
        footer: impl Into<String>,
    ) -> Self {
        let at = items.iter().position(|i| i.current).unwrap_or(0);
        Self {
            title: title.into(),
            footer: footer.into(),
            query: Editor::default(),
            shown: (0..items.len()).collect(),
            items,
            more: 0,
            field: None,
            at,
            first: 0,
            area: Rect::default(),
        }
    }

    /// Returns a list without rows that takes a text for a setting.
    pub(crate) fn field(
        title: impl Into<String>,
        key: impl Into<String>,
        footer: impl Into<String>,
    ) -> Self {
        let items = vec![Item::words("type the value; Enter saves it")];
        Self {
            field: Some(key.into()),
            ..Self::new(title, items, footer)
        }
    }

    /// Returns whether this is the list with a title.
    pub(crate) fn is_titled(&self, title: &str) -> bool {
        self.title == title
    }

    /// Returns what is typed.
    pub(crate) fn query(&self) -> &str {
        self.query.text()
    }

    /// Puts rows that came for what is typed below the others, in place of those that came before.
    pub(crate) fn put_more(&mut self, more: Vec<Item>) {
        self.items.truncate(self.items.len() - self.more);
        self.more = more.len();
        self.items.extend(more);
        let (at, first) = (self.at, self.first);
        self.find();
        self.at = at.min(self.shown.len().saturating_sub(1));
        self.first = first;
    }

    /// Replaces the rows, e.g. when they arrive late; what was typed stays.
    pub(crate) fn fill(&mut self, items: Vec<Item>, footer: impl Into<String>) {
        self.items = items;
        self.more = 0;
        self.footer = footer.into();
        self.find();
        if self.query.is_empty() {
            self.at = self.items.iter().position(|i| i.current).unwrap_or(0);
        }
    }

    /// Selects a row by its place.
    #[must_use]
    pub(crate) fn at(mut self, at: usize) -> Self {
        self.at = at.min(self.shown.len().saturating_sub(1));
        self
    }

    /// Returns where the selected row stands.
    pub(crate) fn place_of_choice(&self) -> usize {
        self.at
    }

    /// Returns its rows and its last line, for a list that is open already.
    pub(crate) fn into_rows(self) -> (Vec<Item>, String) {
        (self.items, self.footer)
    }

    /// Returns whether a row is one that `test` holds for.
    pub(crate) fn offers(&self, test: impl Fn(&Choice) -> bool) -> bool {
        self.items.iter().any(|i| test(&i.choice))
    }

    /// Takes a typed character.
    pub(crate) fn typed(&mut self, c: char) {
        self.query.typed(c);
        self.find();
    }

    /// Takes pasted text; its line breaks become spaces.
    pub(crate) fn paste(&mut self, text: &str) {
        self.query.put(&text.replace('\n', " "));
        self.find();
    }

    /// Does what a command of a list or a field says.
    pub(crate) fn apply(&mut self, command: Command) -> Picked {
        let page = usize::from(self.area.height.saturating_sub(4)).max(1);
        let last = self.shown.len().saturating_sub(1);
        match command {
            Command::Up => self.at = if self.at == 0 { last } else { self.at - 1 },
            Command::Down => self.at = if self.at >= last { 0 } else { self.at + 1 },
            Command::PageUp => self.at = self.at.saturating_sub(page),
            Command::PageDown => self.at = (self.at + page).min(last),
            Command::Choose => return self.choose(),
            Command::Close => return Picked::Closed,
            other => {
                if self.query.apply(other) {
                    self.find();
                }
            }
        }
        Picked::Open
    }

    /// Takes a click: on a row it chooses, outside it closes.
    pub(crate) fn click(&mut self, col: u16, row: u16) -> Picked {
        if !self.area.contains(Position::new(col, row)) {
            return Picked::Closed;
        }
        let Some(line) = row.checked_sub(self.area.y + 3).map(usize::from) else {
            return Picked::Open;
        };
        if self.first + line >= self.shown.len() || row + 2 > self.area.bottom() {
            return Picked::Open;
        }
        self.at = self.first + line;
        self.choose()
    }

    /// Draws the list over the screen; returns where the cursor is.
    pub(crate) fn view(&mut self, screen: Rect, buf: &mut Buffer, look: &Look) -> Option<Position> {
        self.area = self.place(screen);
        let inside = look::float(buf, self.area, &self.title, look);
        if inside.height < 3 {
            return None;
        }
        let cursor = self.view_query(inside, buf, look);
        let footer = u16::from(!self.footer.is_empty() && inside.height > 4);
        let rows = usize::from(inside.height - 2 - footer);
        self.first = self
            .first
            .min(self.at)
            .max((self.at + 1).saturating_sub(rows));
        for (y, at) in (self.first..self.shown.len()).take(rows).enumerate() {
            let row = Rect {
                y: inside.y + 2 + y as u16,
                height: 1,
                ..inside
            };
            self.view_item(at, row, buf, look);
        }
        if self.shown.is_empty() {
            let row = Rect {
                y: inside.y + 2,
                height: 1,
                ..inside
            };
            look::pieces(buf, row, &[("  nothing found", look.theme.dim)]);
        }
        if footer == 1 {
            let row = Rect {
                y: inside.bottom() - 1,
                height: 1,
                ..inside
            };
            look::pieces(buf, row, &[(&self.footer, look.theme.dim)]);
        }
        let below = self.shown.len().saturating_sub(self.first + rows);
        look::more_below(buf, self.area, below, look);
        Some(cursor)
    }

    fn view_query(&self, inside: Rect, buf: &mut Buffer, look: &Look) -> Position {
        let row = Rect {
            height: 1,
            ..inside
        };
        if self.query.is_empty() {
            look::pieces(buf, row, &[("type to find", look.theme.dim)]);
        } else {
            look::pieces(buf, row, &[(self.query.text(), look.theme.text)]);
        }
        let col = crate::editor::cells(&self.query.text()[..self.query.cursor()]) as u16;
        Position::new(inside.x + col.min(inside.width.saturating_sub(1)), inside.y)
    }

    fn view_item(&self, at: usize, row: Rect, buf: &mut Buffer, look: &Look) {
        let item = &self.items[self.shown[at]];
        let theme = &look.theme;
        let (mark, style) = if at == self.at {
            (look.glyph(Glyph::Pointer), theme.accent)
        } else {
            (" ", theme.text)
        };
        let now = if item.current {
            format!(" {} now", look.glyph(Glyph::Dot))
        } else {
            String::new()
        };
        let left = [
            (mark, theme.accent),
            (" ", style),
            (item.label.as_str(), style),
            (&now, theme.dim),
        ];
        let room = usize::from(row.width).saturating_sub(text::width(&item.label) + 12);
        let note = text::cut(&item.note, room.max(usize::from(row.width) / 3));
        look::sides(buf, row, &left, &[(&note, theme.dim)]);
    }

    fn place(&self, screen: Rect) -> Rect {
        let width = screen
            .width
            .saturating_sub(4)
            .min(76)
            .max(screen.width.min(36));
        let most = screen.height.saturating_sub(2).clamp(5, 16);
        let tall = |rows: usize| {
            let wanted = rows.clamp(1, 60) as u16 + 4 + u16::from(!self.footer.is_empty());
            wanted.clamp(5, most).min(screen.height)
        };
        let height = tall(self.shown.len());
        let x = screen.x + (screen.width - width.min(screen.width)) / 2;
        // The upper edge stays where it is while typing makes the list shorter.
        let y = screen.y + (screen.height - tall(self.items.len())) / 4;
        Rect {
            x,
            y,
            width,
            height,
        }
    }

    fn choose(&self) -> Picked {
        if let Some(key) = &self.field {
            return Picked::Typed(key.clone(), self.query.text().to_owned());
        }
        match self.shown.get(self.at).map(|i| &self.items[*i].choice) {
            None | Some(Choice::Nothing) => Picked::Open,
            Some(Choice::No) => Picked::Closed,
            Some(choice) => Picked::Chosen(choice.clone()),
        }
    }

    fn find(&mut self) {
        let own = self.items.len() - self.more;
        if self.field.is_some() {
            return;
        }
        let labels: Vec<String> = self.items[..own]
            .iter()
            .map(|i| format!("{} {}", i.label, i.note))
            .collect();
        self.shown = ranked(self.query.text(), &labels);
        if !self.query.is_empty() {
            self.shown.extend(own..self.items.len());
        }
        self.at = 0;
        self.first = 0;
    }
}

/// Returns the places of the texts that match `query`, the best first; all of them in their order for an empty one.
pub(crate) fn ranked(query: &str, texts: &[String]) -> Vec<usize> {
    if query.trim().is_empty() {
        return (0..texts.len()).collect();
    }
    // Letters found here and there count only where no words were found whole.
    let mut found = scored(query, texts, AtomKind::Substring);
    if found.is_empty() {
        found = scored(query, texts, AtomKind::Fuzzy);
    }
    found.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
    found.into_iter().map(|(_, at)| at).collect()
}

fn scored(query: &str, texts: &[String], kind: AtomKind) -> Vec<(u32, usize)> {
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::new(query, CaseMatching::Smart, Normalization::Smart, kind);
    let mut chars = Vec::new();
    let score = |(at, text): (usize, &String)| {
        let score = pattern.score(Utf32Str::new(text, &mut chars), &mut matcher)?;
        Some((score, at))
    };
    texts.iter().enumerate().filter_map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Picker {
        let item = |name: &str| Item::new(Choice::Message(name.into()), name, "");
        Picker::new(
            "t",
            vec![item("alpha"), item("beta").current(true), item("gamma")],
            "",
        )
    }

    #[test]
    fn what_holds_now_is_selected_and_enter_chooses_it() {
        assert_eq!(
            list().apply(Command::Choose),
            Picked::Chosen(Choice::Message("beta".into()))
        );
    }

    #[test]
    fn typing_finds_and_nothing_found_chooses_nothing() {
        let mut list = list();
        "gm".chars().for_each(|c| list.typed(c));
        assert_eq!(
            list.apply(Command::Choose),
            Picked::Chosen(Choice::Message("gamma".into()))
        );
        list.typed('q');
        assert_eq!(list.apply(Command::Choose), Picked::Open);
        list.apply(Command::Up);
        list.apply(Command::Down);
        assert_eq!(list.apply(Command::Close), Picked::Closed);
    }
}
