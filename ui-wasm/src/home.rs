//! The list of sessions: what is in it, in which order, what is selected, and the fields that open in it.
//! It draws nothing; `home_view` does.

use std::collections::BTreeMap;

use porthole_protocol::{
    Call, ChildRow, ConversationId, EntryId, Hit, ModelRef, RequestId, SessionId, SessionRow,
    SessionState, SessionsDelta, Thinking, limits,
};

use crate::{editor::Editor, effects::Effects, keymap::Command, notice::Tone, search};

/// Sessions whose conversations are shown at once; each is watched.
const UNFOLDED: usize = 8;

/// What a line of the list stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// Which session.
    pub(crate) session: SessionId,
    /// Which conversation; the root one for a session.
    pub(crate) conversation: ConversationId,
    /// At which entry, where something was found there.
    pub(crate) entry: Option<EntryId>,
}

impl Spot {
    /// Returns a conversation as a whole.
    pub(crate) fn of(session: SessionId, conversation: ConversationId) -> Self {
        Self {
            session,
            conversation,
            entry: None,
        }
    }
}

/// What the next new session gets, as it was chosen last.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    /// The model; `None`: the server's default.
    pub(crate) model: Option<ModelRef>,
    /// How much it thinks; `None`: the server's default.
    pub(crate) thinking: Option<Thinking>,
    /// Sessions that were asked for, and are to think so much.
    asked: Vec<(RequestId, Thinking)>,
}

/// The list of sessions.
#[derive(Debug, Default)]
pub(crate) struct Home {
    rows: Vec<SessionRow>,
    loaded: bool,
    /// Which session is selected; by id, so that it stays selected when rows move.
    pub(crate) selected: Option<SessionId>,
    /// Which conversation within it, where one that is unfolded is selected.
    child: Option<ConversationId>,
    /// Which entry, where something that was found there is selected.
    entry: Option<EntryId>,
    /// What was found in the text of sessions for the words in the field.
    hits: Vec<Hit>,
    /// Sessions whose conversations are shown, the one unfolded last at the end.
    unfolded: Vec<SessionId>,
    children: BTreeMap<SessionId, Vec<ChildRow>>,
    /// What the next new session gets.
    pub(crate) next: Wishes,
    /// What was deleted and can be brought back, the newest last: id, title, and until when.
    deleted: Vec<(SessionId, String, u64)>,
    /// Whether archived sessions are shown.
    pub(crate) archived_shown: bool,
    /// The field that is open.
    pub(crate) prompt: Option<Prompt>,
    /// The directory that a new session is offered.
    pub(crate) last_dir: String,
    /// What is searched for.
    pub(crate) filter: Editor,
    pub(crate) first: usize,
    pub(crate) spots: Vec<(u16, Spot)>,
}

/// A field that is open in the list.
#[derive(Debug)]
pub(crate) enum Prompt {
    /// For words to search for.
    Filter,
    /// For another title.
    Rename(SessionId, Editor),
    /// For the directory of a new session.
    New(Editor),
}

/// A line of the list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'h> {
    /// Space between groups.
    Blank,
    /// Where the sessions below work.
    Group {
        /// The machine, as shown.
        machine: &'h str,
        /// The directory, as shown.
        dir: &'h str,
    },
    /// A session.
    Row(&'h SessionRow),
    /// A conversation within the session above.
    Child(&'h SessionRow, &'h ChildRow),
    /// The session above has no conversation but its own.
    Childless,
    /// How many sessions are archived.
    Archived(usize),
    /// The places below are where the words were said.
    Said,
    /// One of them.
    Hit(&'h Hit),
}

impl Line<'_> {
    /// Returns what a line stands for, where it can be selected.
    pub(crate) fn spot(&self) -> Option<Spot> {
        match self {
            Self::Row(row) => Some(Spot::of(row.id.clone(), ConversationId::ROOT)),
            Self::Child(row, child) => Some(Spot::of(row.id.clone(), child.id)),
            Self::Hit(hit) => search::spot(hit),
            Self::Blank | Self::Group { .. } | Self::Childless | Self::Archived(_) | Self::Said => {
                None
            }
        }
    }
}

impl Home {
    /// Returns the row of a session.
    pub(crate) fn row(&self, id: &SessionId) -> Option<&SessionRow> {
        self.rows.iter().find(|r| r.id == *id)
    }

    /// Returns whether a session was deleted that may come back.
    pub(crate) fn has_deleted(&self) -> bool {
        !self.deleted.is_empty()
    }

    /// Returns the title of the session that was deleted last, while it can be brought back.
    pub(crate) fn deleted(&self, now_ms: u64) -> Option<&str> {
        let last = self.deleted.last().filter(|(.., until)| now_ms < *until);
        last.map(|(_, title, _)| title.as_str())
    }

    /// Brings the session back that was deleted last.
    pub(crate) fn bring_back_deleted(&mut self, fx: &mut Effects) {
        self.deleted.retain(|(.., until)| fx.now_ms < *until);
        match self.deleted.pop() {
            Some((session, title, _)) => {
                fx.say(Tone::Done, format!("brought back “{title}”"));
                fx.call(Call::SessionRestore { session });
            }
            None => fx.say(Tone::Info, "nothing was deleted in the last ten minutes"),
        }
    }

    /// Takes note that a session could not be deleted.
    pub(crate) fn not_deleted(&mut self, id: &SessionId) {
        self.deleted.retain(|(session, ..)| session != id);
    }

    /// Returns every row.
    pub(crate) fn rows(&self) -> &[SessionRow] {
        &self.rows
    }

    /// Returns whether the list came from the server.
    pub(crate) fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// Takes the whole list.
    pub(crate) fn take(&mut self, rows: Vec<SessionRow>) {
        self.rows = rows;
        self.loaded = true;
        self.forget_gone();
        self.settle();
    }

    /// Takes a change of the list.
    pub(crate) fn apply_delta(&mut self, delta: &SessionsDelta) {
        delta.apply(&mut self.rows);
        self.forget_gone();
        self.settle();
    }

    fn forget_gone(&mut self) {
        let rows = &self.rows;
        let there = |id: &SessionId| rows.iter().any(|row| row.id == *id);
        self.unfolded.retain(there);
        self.children.retain(|id, _| there(id));
    }

    /// Returns the lines of the list, in order.
    pub(crate) fn lines(&self) -> Vec<Line<'_>> {
        let mut lines = Vec::new();
        let (archived, active): (Vec<&SessionRow>, Vec<&SessionRow>) =
            self.matching().into_iter().partition(|r| r.archived);
        self.group(active, &mut lines);
        if !archived.is_empty() {
            if !lines.is_empty() {
                lines.push(Line::Blank);
            }
            lines.push(Line::Archived(archived.len()));
            if self.archived_shown || !self.filter.is_empty() {
                newest_first(archived)
                    .into_iter()
                    .for_each(|row| self.put(row, &mut lines));
            }
        }
        self.put_hits(&mut lines);
        lines
    }

    fn put_hits<'h>(&'h self, lines: &mut Vec<Line<'h>>) {
        let hits = self.hits.iter().filter(|hit| hit.entry.is_some());
        let hits: Vec<Line<'h>> = hits.map(Line::Hit).collect();
        if self.filter.is_empty() || hits.is_empty() {
            return;
        }
        if !lines.is_empty() {
            lines.push(Line::Blank);
        }
        lines.push(Line::Said);
        lines.extend(hits);
    }

    /// Takes what was found in the text of sessions.
    pub(crate) fn take_hits(&mut self, hits: Vec<Hit>) {
        self.hits = hits;
        self.settle();
    }

    /// Returns the words that were found at an entry.
    pub(crate) fn found_words(&self, spot: &Spot) -> String {
        let hit = self.hits.iter().find(|hit| {
            (&hit.session, hit.conversation, hit.entry)
                == (&spot.session, spot.conversation, spot.entry)
        });
        hit.map(search::words).unwrap_or_default()
    }

    /// Pinned sessions come first in their group, and groups with the newest first.
    fn group<'h>(&'h self, rows: Vec<&'h SessionRow>, lines: &mut Vec<Line<'h>>) {
        let mut groups: Vec<((&str, &str), Vec<&SessionRow>)> = Vec::new();
        for row in newest_first(rows) {
            let name = (row.machine.as_str(), row.dir.as_str());
            match groups.iter_mut().find(|(n, _)| *n == name) {
                Some((_, rows)) => rows.push(row),
                None => groups.push((name, vec![row])),
            }
        }
        groups.sort_by_key(|(_, rows)| !rows.iter().any(|r| r.pinned));
        for ((machine, dir), rows) in groups {
            if !lines.is_empty() {
                lines.push(Line::Blank);
            }
            lines.push(Line::Group { machine, dir });
            rows.into_iter().for_each(|row| self.put(row, lines));
        }
    }

    /// Puts a session and what is unfolded of it.
    fn put<'h>(&'h self, row: &'h SessionRow, lines: &mut Vec<Line<'h>>) {
        lines.push(Line::Row(row));
        let Some(children) = self
            .children
            .get(&row.id)
            .filter(|_| self.is_unfolded(&row.id))
        else {
            return;
        };
        if children.is_empty() {
            lines.push(Line::Childless);
        }
        lines.extend(children.iter().map(|child| Line::Child(row, child)));
    }

    /// Returns whether the conversations of a session are shown.
    pub(crate) fn is_unfolded(&self, id: &SessionId) -> bool {
        self.unfolded.contains(id)
    }

    /// Takes the conversations that were opened from a session's own.
    pub(crate) fn take_children(&mut self, id: &SessionId, children: &[ChildRow]) {
        if self.is_unfolded(id) {
            self.children.insert(id.clone(), children.to_vec());
            self.settle();
        }
    }

    /// Unfolds the selected session; returns which to watch, and which not any more.
    pub(crate) fn unfold(&mut self) -> (Option<SessionId>, Option<SessionId>) {
        let Some(id) = self.selected.clone().filter(|id| !self.is_unfolded(id)) else {
            return (None, None);
        };
        self.unfolded.push(id.clone());
        let over = (self.unfolded.len() > UNFOLDED).then(|| self.unfolded.remove(0));
        (Some(id), over)
    }

    /// Folds the selected session; returns which is watched no more.
    pub(crate) fn fold(&mut self) -> Option<SessionId> {
        let id = self.selected.clone().filter(|id| self.is_unfolded(id))?;
        self.unfolded.retain(|other| *other != id);
        self.children.remove(&id);
        self.child = None;
        Some(id)
    }

    fn matching(&self) -> Vec<&SessionRow> {
        let words = self.filter.text().to_lowercase();
        let fits = |r: &&SessionRow| {
            let text = format!("{} {} {}", r.title, r.machine, r.dir).to_lowercase();
            words.split_whitespace().all(|word| text.contains(word))
        };
        self.rows.iter().filter(fits).collect()
    }

    fn order(&self) -> Vec<Spot> {
        self.lines().iter().filter_map(Line::spot).collect()
    }

    fn settle(&mut self) {
        let order = self.order();
        let is_there = |home: &Self| home.spot().is_some_and(|spot| order.contains(&spot));
        if !is_there(self) {
            self.entry = None;
        }
        if !is_there(self) {
            self.child = None;
        }
        if !is_there(self) {
            match order.into_iter().next() {
                Some(spot) => self.select(spot),
                None => self.selected = None,
            }
        }
    }

    /// Returns what is selected.
    pub(crate) fn spot(&self) -> Option<Spot> {
        Some(Spot {
            session: self.selected.clone()?,
            conversation: self.child.unwrap_or(ConversationId::ROOT),
            entry: self.entry,
        })
    }

    /// Selects a line.
    pub(crate) fn select(&mut self, spot: Spot) {
        self.selected = Some(spot.session);
        self.child = Some(spot.conversation).filter(|id| *id != ConversationId::ROOT);
        self.entry = spot.entry;
    }

    /// Returns the selected row.
    pub(crate) fn current(&self) -> Option<&SessionRow> {
        self.selected.as_ref().and_then(|id| self.row(id))
    }

    /// Selects the row `by` rows further down, as far as there are any.
    pub(crate) fn step(&mut self, by: isize) {
        let order = self.order();
        let at = self
            .spot()
            .and_then(|spot| order.iter().position(|o| *o == spot));
        let last = order.len().saturating_sub(1);
        let to = at.map_or(0, |at| at.saturating_add_signed(by).min(last));
        if let Some(spot) = order.into_iter().nth(to) {
            self.select(spot);
        }
    }

    /// Does what a command of the list says; returns the conversation to open, if it is that.
    pub(crate) fn apply(&mut self, command: Command, fx: &mut Effects) -> Option<Spot> {
        match command {
            Command::Up => self.step(-1),
            Command::Down => self.step(1),
            Command::First => self.step(isize::MIN),
            Command::Last => self.step(isize::MAX),
            Command::Open => return self.spot(),
            Command::Filter => self.prompt = Some(Prompt::Filter),
            Command::ShowArchived => {
                self.archived_shown = !self.archived_shown;
                self.settle();
            }
            Command::Stop => {
                self.filter = Editor::default();
                self.hits.clear();
                self.settle();
            }
            Command::New => self.ask_directory(),
            Command::Rename
            | Command::Pin
            | Command::Archive
            | Command::Delete
            | Command::Restore
            | Command::Retry => {
                if let Some(id) = self.selected.clone() {
                    self.change(command, &id, fx);
                }
            }
            _ => {}
        }
        None
    }

    /// Changes one session.
    pub(crate) fn change(&mut self, command: Command, id: &SessionId, fx: &mut Effects) {
        if !fx.is_owner() {
            fx.say(Tone::Info, "only the owner can change sessions");
            return;
        }
        let Some(row) = self.row(id) else { return };
        let session = row.id.clone();
        match command {
            Command::Rename => {
                self.prompt = Some(Prompt::Rename(session, Editor::with(&row.title)))
            }
            Command::Pin => fx.call(Call::SessionPin {
                session,
                pinned: !row.pinned,
            }),
            Command::Archive | Command::Restore if row.archived => {
                fx.say(Tone::Done, format!("brought back “{}”", row.title));
                fx.call(Call::SessionRestore { session });
            }
            Command::Restore => fx.say(Tone::Info, "this session is not archived"),
            Command::Archive => {
                fx.say(
                    Tone::Done,
                    format!(
                        "archived “{}”; a shows it, e or /restore brings it back",
                        row.title
                    ),
                );
                fx.call(Call::SessionArchive { session });
            }
            Command::Delete => {
                let until_ms = fx.now_ms + limits::UNDO_SECONDS * 1_000;
                let title = row.title.clone();
                self.deleted.push((session.clone(), title, until_ms));
                fx.call(Call::SessionDelete { session });
            }
            Command::Retry if matches!(row.state, SessionState::Failed { .. }) => {
                fx.call(Call::SessionRetry { session });
            }
            Command::Retry => fx.say(Tone::Info, "this session did not fail"),
            _ => {}
        }
    }

    /// Opens the field for the directory of a new session: that of the last one made, else that of the selected one.
    pub(crate) fn ask_directory(&mut self) {
        let dir = self.directories().into_iter().next().unwrap_or_default();
        self.prompt = Some(Prompt::New(Editor::with(&dir)));
    }

    /// Returns the directories that sessions work in, those first that the next one most likely does.
    fn directories(&self) -> Vec<String> {
        let last = Some(self.last_dir.clone()).filter(|dir| !dir.is_empty());
        let current = self.current().map(|row| row.dir.clone());
        let rows = newest_first(self.rows.iter().collect());
        let mut dirs: Vec<String> = Vec::new();
        let all = last
            .into_iter()
            .chain(current)
            .chain(rows.into_iter().map(|row| row.dir.clone()));
        for dir in all {
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
        dirs
    }

    /// Goes up or down: among the directories while a new session is asked for, else among the rows.
    pub(crate) fn step_in_field(&mut self, by: isize) {
        let dirs = self.directories();
        let Some(Prompt::New(editor)) = &mut self.prompt else {
            self.step(by);
            return;
        };
        let at = dirs.iter().position(|dir| dir == editor.text());
        let last = dirs.len().saturating_sub(1);
        let to = at.map_or(0, |at| at.saturating_add_signed(by).min(last));
        if let Some(dir) = dirs.get(to) {
            editor.set(dir);
        }
    }

    /// Opens the field again with what was typed, since no session could be made there.
    pub(crate) fn ask_directory_again(&mut self, dir: &str) {
        self.prompt = Some(Prompt::New(Editor::with(dir)));
    }

    /// Returns the open field of text.
    pub(crate) fn field(&mut self) -> Option<&mut Editor> {
        match &mut self.prompt {
            None => None,
            Some(Prompt::Filter) => Some(&mut self.filter),
            Some(Prompt::Rename(_, editor) | Prompt::New(editor)) => Some(editor),
        }
    }

    /// Takes note that the open field changed.
    pub(crate) fn field_changed(&mut self) {
        if matches!(self.prompt, Some(Prompt::Filter)) {
            self.selected = None;
            self.entry = None;
            self.settle();
        }
    }

    /// Takes Enter in the open field; returns the conversation to open, if it is that.
    pub(crate) fn enter(&mut self, fx: &mut Effects) -> Option<Spot> {
        match self.prompt.take()? {
            Prompt::Filter => return self.spot(),
            Prompt::Rename(session, editor) => rename(session, editor.text(), fx),
            Prompt::New(editor) => self.create(editor.text(), fx),
        }
        None
    }

    /// Takes Esc in the open field.
    pub(crate) fn leave(&mut self) {
        if matches!(self.prompt.take(), Some(Prompt::Filter)) {
            self.filter = Editor::default();
            self.hits.clear();
            self.settle();
        }
    }

    fn create(&mut self, dir: &str, fx: &mut Effects) {
        let dir = dir.trim();
        dir.clone_into(&mut self.last_dir);
        let request = fx.ids.request();
        if let Some(thinking) = self.next.thinking {
            self.next.asked.push((request.clone(), thinking));
        }
        fx.say(Tone::Info, "making a session …");
        fx.call(Call::SessionCreate {
            request,
            dir: (!dir.is_empty()).then(|| dir.to_owned()),
            title: None,
            model: self.next.model.clone(),
        });
    }

    /// Returns how much a session is to think that was asked for, once.
    pub(crate) fn thinking_of(&mut self, request: &RequestId) -> Option<Thinking> {
        let at = self.next.asked.iter().position(|(id, _)| id == request)?;
        Some(self.next.asked.remove(at).1)
    }

    /// Takes a click; returns the conversation to open, where a selected one was clicked again.
    pub(crate) fn click(&mut self, row: u16) -> Option<Spot> {
        let spot = self.spots.iter().find(|(y, _)| *y == row);
        let spot = spot.map(|(_, spot)| spot.clone())?;
        if self.spot().as_ref() == Some(&spot) {
            return Some(spot);
        }
        self.select(spot);
        None
    }
}

/// Gives a session another title, where it is one.
pub(crate) fn rename(session: SessionId, title: &str, fx: &mut Effects) {
    let title: String = title.trim().chars().take(limits::TITLE_CHARS).collect();
    if title.is_empty() {
        fx.say(Tone::Error, "a title cannot be empty");
    } else {
        fx.call(Call::SessionRename { session, title });
    }
}

fn newest_first(mut rows: Vec<&SessionRow>) -> Vec<&SessionRow> {
    rows.sort_by_key(|r| (!r.pinned, std::cmp::Reverse(r.updated_ms), r.id.clone()));
    rows
}
