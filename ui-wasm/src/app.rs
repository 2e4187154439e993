//! The UI as one pure function: a signal goes in, requests come out. It routes; each screen decides for itself.

mod keys;
mod news;
mod pace;
mod start;

use std::collections::BTreeMap;

use porthole_bridge::{Event, Outcome, Place, Request, Signal, Size, limits};
use porthole_protocol::{ConversationId, SessionId, Topic, replies};
use ratatui_core::{buffer::Buffer, layout::Rect};

use crate::{
    around::Around,
    composer::Chip,
    conversation::Conversation,
    conversation_view,
    effects::{Effects, Purpose},
    frame,
    help::Help,
    home::{Home, Spot},
    home_view,
    look::Look,
    notice::Tone,
    picker::Picker,
    search::Search,
    share::Sharing,
};
use pace::{Cause, Pace};

/// Screens whose conversation stays in memory; of others only draft and place do.
const KEPT_SCREENS: usize = 4;

/// The UI.
#[derive(Debug, Default)]
pub struct App {
    pub(crate) look: Look,
    pub(crate) fx: Effects,
    pub(crate) home: Home,
    pub(crate) screens: BTreeMap<Key, Conversation>,
    pub(crate) open: Option<Key>,
    /// Keys of screens, the one opened last at the end.
    pub(crate) visited: Vec<Key>,
    pub(crate) picker: Option<Picker>,
    pub(crate) help: Option<Help>,
    pub(crate) models: Option<replies::Models>,
    pub(crate) settings: Option<porthole_protocol::SettingsState>,
    pub(crate) search: Search,
    /// What was typed when models were looked for last.
    pub(crate) models_found_for: Option<String>,
    pub(crate) sharing: Sharing,
    /// Until when the list takes no letters, in milliseconds since the Unix epoch.
    pub(crate) deaf_until_ms: u64,
    pub(crate) interrupted_ms: Option<u64>,
    size: Option<Size>,
    /// The screen that was drawn last, kept because making its cells costs more than drawing them.
    screen_cells: Buffer,
    dirty: bool,
    pace: Pace,
    place: Option<Option<Place>>,
    title: String,
    out: Vec<Request>,
}

/// What a screen is found by.
pub(crate) type Key = (SessionId, ConversationId);

impl App {
    /// Takes what happened and returns what to ask of the launcher, in order.
    pub fn handle(&mut self, signal: Signal) -> Vec<Request> {
        self.fx.now_ms = signal.now_ms;
        let cause = Cause::of(&signal.event);
        self.answer_due();
        self.take(signal.event);
        self.read_news();
        if self.fx.notice.expire(signal.now_ms) {
            self.dirty = true;
        }
        self.finish(cause)
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Start(start) => self.start(*start),
            Event::Key(key) => self.key(key),
            Event::Paste(text) => self.paste(&text),
            Event::Mouse(mouse) => self.mouse(mouse),
            Event::Resize(size) => self.resize(size),
            Event::Focus(focused) => self.focus(focused),
            Event::Link(bytes) => self.fx.server.frame(&bytes),
            Event::LinkState(state) => self.link_state(state),
            Event::Outcome { request, outcome } => self.outcome(request, outcome),
            Event::Wake => self.dirty |= self.pace.woke(),
            Event::SaveSnapshot | Event::Stop => self.save(),
            Event::Attached(file) => self.attached(file),
            Event::Looks(looks) => self.visitor_looks(&looks),
        }
    }

    fn resize(&mut self, size: Size) {
        self.dirty |= self.size != Some(size);
        self.size = Some(size);
    }

    fn focus(&mut self, focused: bool) {
        self.look.awake = focused;
        self.mark_read();
    }

    fn link_state(&mut self, state: porthole_bridge::LinkState) {
        self.fx.server.link_state(state);
        self.dirty = true;
    }

    fn outcome(&mut self, request: u64, outcome: Outcome) {
        let purpose = self.fx.settle(request);
        match (purpose, outcome) {
            (Some(Purpose::Edit), Outcome::Edited(text)) => {
                if let Some(screen) = self.screen() {
                    screen.composer.set(text.trim_end_matches('\n'));
                }
            }
            (Some(Purpose::Told), Outcome::Done(words)) => self.fx.say(Tone::Done, words),
            (_, Outcome::Refused(words)) => self.fx.say(Tone::Info, words),
            (_, Outcome::Failed(words)) => self.fx.say(Tone::Error, words),
            (_, Outcome::Done(_) | Outcome::Edited(_)) => {}
        }
        self.dirty = true;
    }

    /// A file belongs to the conversation in which the visitor agreed to it, also where another is open by now.
    fn attached(&mut self, file: porthole_bridge::Attached) {
        self.dirty = true;
        let (Ok(session), Ok(id)) = (
            SessionId::parse(&file.place.session),
            porthole_protocol::AttachmentId::parse(&file.id),
        ) else {
            return;
        };
        let key = (session, ConversationId(file.place.conversation));
        let Some(screen) = self.screens.get_mut(&key) else {
            return;
        };
        let chip = Chip {
            id,
            name: file.name,
            bytes: file.bytes,
            media_type: file.media_type,
        };
        if !screen.composer.attach(chip) {
            self.fx
                .say(Tone::Error, "a message takes at most ten files");
        }
    }

    /// Returns the open conversation.
    pub(crate) fn screen(&mut self) -> Option<&mut Conversation> {
        self.open.as_ref().and_then(|key| self.screens.get_mut(key))
    }

    /// Opens a conversation of a session.
    pub(crate) fn open(&mut self, session: SessionId, conversation: ConversationId) {
        let key = (session.clone(), conversation);
        if self.open.as_ref() == Some(&key) {
            return;
        }
        self.leave();
        let screen = self
            .screens
            .entry(key.clone())
            .or_insert_with(|| Conversation::new(session.clone(), conversation));
        screen.ended = None;
        let topic = screen.topic();
        // The list may watch it already for what is within it; here the whole of it is wanted.
        self.fx.server.unwatch(&topic);
        self.bring_back(&session);
        self.fx.server.watch(topic);
        self.home.select(Spot::of(key.0.clone(), key.1));
        self.visited.retain(|k| *k != key);
        self.visited.push(key.clone());
        self.open = Some(key);
        self.forget_old();
        self.mark_read();
        self.dirty = true;
    }

    /// Opens what a line of the list stands for; at an entry it goes to the words that were found.
    pub(crate) fn open_at(&mut self, spot: Spot, words: String) {
        self.open(spot.session, spot.conversation);
        if let (Some(entry), Some(screen)) = (spot.entry, self.screen()) {
            screen.go_to(entry, &words);
        }
    }

    /// Goes to the list of sessions.
    pub(crate) fn go_home(&mut self) {
        self.leave();
        self.dirty = true;
    }

    fn leave(&mut self) {
        if let Some(screen) = self.screen() {
            screen.question.forget_letter();
        }
        if let Some((session, conversation)) = self.open.take() {
            if let Some(screen) = self.screens.get_mut(&(session.clone(), conversation)) {
                screen.composer.forget_reply();
            }
            if conversation != ConversationId::ROOT || !self.home.is_unfolded(&session) {
                self.unwatch(&session, conversation);
            }
        }
        self.fx.notice.clear();
    }

    /// Watches a conversation no more, unless it is open.
    pub(crate) fn unwatch(&mut self, session: &SessionId, conversation: ConversationId) {
        let is_open = self.open.as_ref() == Some(&(session.clone(), conversation));
        if !is_open {
            self.fx.server.unwatch(&Topic::Conversation {
                session: session.clone(),
                conversation,
            });
        }
    }

    /// An archived session comes back when it is opened: nothing can be watched of one that is put away.
    fn bring_back(&mut self, session: &SessionId) {
        let archived = self
            .home
            .row(session)
            .filter(|r| r.archived && self.fx.is_owner());
        if let Some(row) = archived {
            let words = format!("brought back “{}” from the archive", row.title);
            self.fx.say(Tone::Info, words);
            self.fx.call(porthole_protocol::Call::SessionRestore {
                session: session.clone(),
            });
        }
    }

    fn forget_old(&mut self) {
        let old = self.visited.len().saturating_sub(KEPT_SCREENS);
        for key in &self.visited[..old] {
            if let Some(screen) = self.screens.get_mut(key) {
                screen.state = None;
            }
        }
    }

    /// Tells the server that what was answered in the open session is being looked at.
    pub(crate) fn mark_read(&mut self) {
        // What is new is the owner's to keep in mind.
        let Some((session, _)) = self.open.clone().filter(|_| self.fx.is_owner()) else {
            return;
        };
        let unread = self.home.row(&session).is_some_and(|r| r.unread);
        let told = |c: &porthole_protocol::Call| matches!(c, porthole_protocol::Call::SessionRead { session: s } if *s == session);
        if self.look.awake && unread && !self.fx.server.is_pending(told) {
            self.fx
                .call(porthole_protocol::Call::SessionRead { session });
        }
    }

    fn finish(&mut self, cause: Cause) -> Vec<Request> {
        let mut wait = None;
        if self.dirty && self.pace.may_draw(cause) {
            wait = self.draw();
        }
        for frame in self.fx.server.take_out() {
            self.out.push(Request::Link(frame));
        }
        for (request, action) in std::mem::take(&mut self.fx.actions) {
            self.out.push(Request::Action { request, action });
        }
        self.tell_place();
        self.tell_title();
        let wanted = self.wanted_wake(wait);
        if let Some(wake) = self.pace.wake(wanted, self.dirty, self.fx.now_ms) {
            self.out.push(Request::WakeIn(wake));
        }
        std::mem::take(&mut self.out)
    }

    fn draw(&mut self) -> Option<u64> {
        let size = self.size?;
        self.dirty = false;
        let area = Rect::new(0, 0, size.cols, size.rows);
        let mut buf = std::mem::take(&mut self.screen_cells);
        buf.resize(area);
        buf.reset();
        let cursor = self.view(area, &mut buf);
        self.out
            .push(Request::Frame(frame::encode(&buf, cursor, self.look.depth)));
        self.screen_cells = buf;
        self.open
            .as_ref()
            .and_then(|key| self.screens.get_mut(key))
            .and_then(|s| s.fetch(&mut self.fx))
    }

    /// Draws everything; returns where the cursor is.
    pub(crate) fn view(
        &mut self,
        area: Rect,
        buf: &mut Buffer,
    ) -> Option<ratatui_core::layout::Position> {
        let mut cursor = match &self.open {
            None => home_view::view(&mut self.home, area, buf, &self.look, &self.fx),
            Some(key) => self.screens.get_mut(key).and_then(|screen| {
                conversation_view::view(
                    screen,
                    &Around::of(&self.home, &key.0),
                    area,
                    buf,
                    &self.look,
                    &self.fx,
                )
            }),
        };
        if let Some(picker) = &mut self.picker {
            cursor = picker.view(area, buf, &self.look);
        }
        if let Some(help) = &mut self.help {
            help.view(area, buf, &self.look);
            cursor = None;
        }
        if !self.look.unicode {
            crate::text::put_stand_ins(buf, area);
        }
        cursor
    }

    fn tell_place(&mut self) {
        if self.size.is_none() {
            return;
        }
        let place = self
            .open
            .as_ref()
            .and_then(|k| self.screens.get(k))
            .map(Conversation::place);
        if self.place.as_ref() != Some(&place) {
            self.place = Some(place.clone());
            self.out.push(Request::Place(place));
        }
    }

    fn tell_title(&mut self) {
        if self.size.is_none() {
            return;
        }
        let title = match self
            .open
            .as_ref()
            .and_then(|(session, _)| self.home.row(session))
        {
            Some(row) => row.title.clone(),
            None => "Porthole".to_owned(),
        };
        let end = title.floor_char_boundary(limits::TITLE_BYTES);
        if self.title != title[..end] {
            title[..end].clone_into(&mut self.title);
            self.out.push(Request::Title(self.title.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
