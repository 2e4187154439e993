//! The launcher's decisions: one state, one closed enum of everything that can happen, effects out.
//! It performs nothing, reads no clock and draws no random numbers of its own.

mod actions;
mod connection;
mod dialog;
mod effect;
mod grant;
mod input;
mod keys;
mod page;
mod picker;
mod question;
mod random;
mod successor;
mod transfer;
mod trust;
mod ui;
mod view;

use std::time::{Duration, Instant};

use porthole_bridge::{
    Background, ColorDepth, Event, Key, LinkState, MouseKind, Place, Request, Size, limits,
};
use porthole_door::Redeemer;
use ratatui::{buffer::Buffer, layout::Position};

use crate::{
    gesture::Gesture,
    preferences::Preferences,
    screen::Screen,
    terminal::event::{Press, TerminalEvent},
};
use connection::Connection;
use dialog::Dialog;
pub use effect::{Asked, Effect, Farewell, Secret};
use grant::Grant;
pub use input::{Alarm, DoorInput, Input, LocalDone, Trouble};
use page::Page;
use picker::Picker;
use random::Random;
pub use transfer::{Transfer, TransferInput};
use ui::Ui;

/// The shortest time between two frames. The first change after rest does not wait, nor does the first frame after a key:
/// it is the echo that a person feels.
const FRAME_GAP: Duration = Duration::from_micros(8_333);
/// How long feedback stands on the trust line.
const FEEDBACK: Duration = Duration::from_secs(4);

/// What does not change while the launcher runs, but for the preferences, which are read anew when their file changes.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// The server.
    pub origin: String,
    /// How many colours there are.
    pub colors: ColorDepth,
    /// The background.
    pub background: Background,
    /// Whether box and symbol glyphs are shown.
    pub unicode: bool,
    /// Whether there is a desktop that opens addresses.
    pub desktop: bool,
    /// The folder that the launcher was started in.
    pub folder: std::path::PathBuf,
    /// The visitor's preferences.
    pub preferences: Preferences,
    /// Minutes that local time is ahead of UTC.
    pub utc_offset_minutes: i16,
}

/// Who one is and at which server: what a fresh link may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The server's fingerprint.
    pub fingerprint: String,
    /// Who one is there.
    pub who: Redeemer,
}

/// What the launcher knows.
pub struct App {
    fixed: Fixed,
    admission: Admission,
    size: Size,
    screen: Screen,
    undrawn: Option<Vec<u8>>,
    ui: Ui,
    link: Connection,
    page: Option<Page>,
    dialog: Option<Dialog>,
    menu: Option<usize>,
    picker: Option<Picker>,
    /// A transfer is under way; how far it is, in words.
    moving: Option<String>,
    place: Option<Place>,
    gesture: Gesture,
    last_key: Option<(Key, Instant)>,
    /// An editor is open; where its text belongs.
    editing: Option<Grant>,
    refusals: u32,
    feedback: Option<String>,
    title: Option<String>,
    away: bool,
    dirty: bool,
    drawn: Option<Instant>,
    draw_armed: bool,
    /// A key was pressed and no frame was drawn since.
    echo_due: bool,
    random: Random,
    out: Vec<Effect>,
}

impl App {
    /// Returns the launcher's first state.
    pub fn new(
        fixed: Fixed,
        admission: Admission,
        size: Size,
        place: Option<Place>,
        seed: u64,
    ) -> Self {
        let inner = ui_size(size);
        Self {
            fixed,
            admission,
            size,
            screen: Screen::new(inner.cols, inner.rows),
            undrawn: None,
            ui: Ui::default(),
            link: Connection::default(),
            page: None,
            dialog: None,
            menu: None,
            picker: None,
            moving: None,
            place,
            gesture: Gesture::default(),
            last_key: None,
            editing: None,
            refusals: 0,
            feedback: None,
            title: None,
            away: false,
            dirty: true,
            drawn: None,
            draw_armed: false,
            echo_due: false,
            random: Random::new(seed),
            out: Vec::new(),
        }
    }

    /// Returns the first effects: with a cached bundle its UI starts at once, beside connecting and asking for the manifest.
    pub fn begin(&mut self, cached: Option<String>, now: Instant) -> Vec<Effect> {
        self.connect();
        self.link.checked = true;
        match cached {
            Some(sha256) => {
                self.start_ui(sha256.clone(), now);
                self.out.push(Effect::Prepare(Some(sha256)));
            }
            None => {
                self.page = Some(Page::progress("asking the server for its UI"));
                self.out.push(Effect::Prepare(None));
            }
        }
        self.pace(now);
        std::mem::take(&mut self.out)
    }

    /// Takes one input and returns what is to be done.
    pub fn handle(&mut self, input: Input, now: Instant) -> Vec<Effect> {
        self.echo_due |= matches!(input, Input::Terminal(TerminalEvent::Key { .. }));
        match input {
            Input::Terminal(event) => self.terminal(event, now),
            Input::Resized(size) => self.resized(size, now),
            Input::Back(size) => self.back(size, now),
            Input::Posted(instance, request) => self.posted(instance, request, now),
            Input::UiEnded(instance, why) => self.ui_ended(instance, why, now),
            Input::Link(event) => self.link_event(event, now),
            Input::Door(input) => self.door(input, now),
            Input::Local(done) => self.local_done(done, now),
            Input::Transfer(input) => self.transfer_input(input, now),
            Input::Alarm(alarm) => self.alarm(alarm, now),
            Input::Preferences(fresh) => self.preferences_read(*fresh),
            Input::Slept => self.slept(),
            Input::Terminate(status) => self.quit(status, None),
        }
        self.advance_successor(now);
        self.watch_typing(now);
        self.watch_dialog(now);
        self.pace(now);
        std::mem::take(&mut self.out)
    }

    /// Draws everything into `buffer`, and returns where the cursor belongs.
    pub fn view(&mut self, buffer: &mut Buffer) -> Option<Position> {
        // Under a dialog or the menu the screen stands still: frames are kept.
        let still = self.dialog.is_some() || self.menu.is_some() || self.picker.is_some();
        if !still && let Some(frame) = self.undrawn.take() {
            // The codec has already refused what is too large, so there is nothing to tell here.
            let _ = self.screen.paint(&frame);
        }
        view::draw(self, buffer)
    }

    /// Returns the epoch of the link.
    pub fn epoch(&self) -> u64 {
        self.link.epoch
    }

    /// Returns the terminal's size.
    pub fn size(&self) -> Size {
        self.size
    }

    fn terminal(&mut self, event: TerminalEvent, now: Instant) {
        let launcher = self.fixed.preferences.launcher_key;
        match event {
            _ if self.away => {}
            TerminalEvent::Key { key, .. } if launcher.is(&key) => self.launcher_key(),
            TerminalEvent::Key { key, press } => self.key(key, press, now),
            TerminalEvent::Paste(text) => self.paste(text, now),
            TerminalEvent::Mouse(mouse) => {
                let inside = mouse.row < ui_size(self.size).rows;
                if self.ui_has_focus() && inside {
                    if mouse.kind == MouseKind::Release && !self.holds_input() {
                        self.gesture.made(now);
                    }
                    self.input_to_ui(Event::Mouse(mouse));
                }
            }
            TerminalEvent::Focus(focus) => self.input_to_ui(Event::Focus(focus)),
        }
    }

    fn key(&mut self, key: Key, press: Press, now: Instant) {
        self.last_key = Some((key, now));
        if self.dialog.is_some() {
            self.dialog_key(key, press, now);
        } else if self.menu.is_some() {
            self.menu_key(key, now);
        } else if self.picker.is_some() {
            self.picker_key(key);
        } else if self.page.is_some() {
            self.page_key(key, now);
        } else {
            if press == Press::First && !self.holds_input() {
                self.gesture.made(now);
            }
            self.input_to_ui(Event::Key(key));
        }
    }

    fn paste(&mut self, text: String, now: Instant) {
        // A dialog and the menu eat pastes; only the field for a fresh link takes one.
        if let Some(dialog) = &mut self.dialog {
            return dialog.hush(now);
        }
        if self.menu.is_some() || self.picker.is_some() {
            return;
        }
        match &mut self.page {
            Some(Page::AskLink(ask)) => {
                ask.paste(&text);
                self.dirty = true;
            }
            Some(_) => {}
            None => self.paste_to_ui(text, now),
        }
    }

    fn resized(&mut self, size: Size, now: Instant) {
        if size == self.size {
            return;
        }
        self.size = size;
        let inner = ui_size(size);
        self.screen.resize(inner.cols, inner.rows);
        self.tell_ui(Event::Resize(inner));
        match &mut self.dialog {
            Some(dialog) if dialog.lay(size).is_some() => dialog.hush(now),
            Some(_) => self.refuse_dialog("the window is too small to ask"),
            None => {}
        }
        self.out.push(Effect::Forget);
        self.dirty = true;
    }

    fn back(&mut self, size: Size, now: Instant) {
        self.away = false;
        self.resized(size, now);
        if let Some(dialog) = &mut self.dialog {
            dialog.hush(now);
        }
        self.gesture.drop_it();
        self.out.push(Effect::Forget);
        self.dirty = true;
    }

    fn alarm(&mut self, alarm: Alarm, now: Instant) {
        match alarm {
            Alarm::Draw => self.draw_armed = false,
            Alarm::Wake => self.tell_ui(Event::Wake),
            Alarm::Feedback => {
                self.feedback = None;
                self.dirty = true;
            }
            Alarm::Reconnect => self.connect(),
            Alarm::Countdown => self.counted(now),
            Alarm::Snapshot => self.replacement_is_late(now),
            Alarm::Rest => self.rest(now),
            Alarm::Sure => self.sure(now),
            // That a question listens by now is seen after every input.
            Alarm::Listen => {}
            Alarm::Grant => self.refuse_dialog("there was no answer in ten minutes"),
        }
    }

    fn posted(&mut self, instance: u64, request: Request, now: Instant) {
        if self.ui.is_next(instance) {
            return self.successor_posted(request, now);
        }
        if !self.ui.is(instance) {
            return;
        }
        match request {
            Request::Frame(frame) => {
                self.undrawn = Some(frame);
                self.dirty |= self.ui_has_focus();
            }
            Request::Link(frame) => self.send_link(frame),
            Request::Action { request, action } => {
                self.action((instance, request), action, now);
            }
            Request::WakeIn(millis) => {
                let at = millis.and_then(|millis| {
                    now.checked_add(Duration::from_millis(millis).max(limits::WAKE_MIN))
                });
                self.out.push(Effect::Alarm(Alarm::Wake, at));
            }
            Request::Place(place) => self.moved(place),
            Request::Snapshot(bytes) => self.snapshot(bytes, now),
            Request::Title(title) => {
                self.title = Some(title);
                self.dirty = true;
            }
        }
    }

    fn moved(&mut self, place: Option<Place>) {
        if place != self.place {
            self.place = place;
            // A UI that takes its question back has used it up: else it could ask without end.
            self.refusals += u32::from(self.dialog.as_ref().is_some_and(Dialog::is_a_uis));
            self.withdraw("the screen that asked is gone");
            self.gesture.drop_it();
            self.paste_edited();
        }
    }

    /// Time has passed that no clock here has counted: what was permitted or asked before is over.
    fn slept(&mut self) {
        self.refuse_dialog("this computer slept meanwhile");
        self.gesture.drop_it();
        self.woke();
    }

    fn preferences_read(&mut self, fresh: Preferences) {
        if fresh != self.fixed.preferences {
            self.fixed.preferences = fresh;
            self.tell_looks();
            self.dirty = true;
        }
    }

    /// Tells the UI what the visitor prefers.
    fn tell_looks(&mut self) {
        let looks = self.fixed.preferences.looks();
        self.tell_ui(Event::Looks(Box::new(looks)));
    }

    /// Returns the visitor's preferences.
    pub fn preferences(&self) -> &Preferences {
        &self.fixed.preferences
    }

    /// Says something short on the trust line.
    fn say(&mut self, text: impl Into<String>, now: Instant) {
        self.feedback = Some(text.into());
        self.out
            .push(Effect::Alarm(Alarm::Feedback, now.checked_add(FEEDBACK)));
        self.dirty = true;
    }

    fn quit(&mut self, status: u8, farewell: Option<Farewell>) {
        self.out.push(Effect::Quit(status, farewell));
    }

    fn tell_ui(&mut self, event: Event) {
        if self.ui.runs() {
            self.ui.touch(&event);
            self.out.push(Effect::ToUi(event));
        }
    }

    fn tell_link(&mut self, state: LinkState) {
        self.tell_ui(Event::LinkState(state));
    }

    fn ui_has_focus(&self) -> bool {
        self.ui.runs()
            && self.dialog.is_none()
            && self.menu.is_none()
            && self.picker.is_none()
            && self.page.is_none()
    }

    /// Draws now where the last frame is long enough ago, else when it will be.
    fn pace(&mut self, now: Instant) {
        let is_echo = self.echo_due && self.undrawn.is_some();
        if !self.dirty || self.away || (self.draw_armed && !is_echo) {
            return;
        }
        let next = self.drawn.and_then(|drawn| drawn.checked_add(FRAME_GAP));
        match next.filter(|next| *next > now && !is_echo) {
            Some(next) => {
                self.draw_armed = true;
                self.out.push(Effect::Alarm(Alarm::Draw, Some(next)));
            }
            None => {
                self.dirty = false;
                self.echo_due = false;
                self.drawn = Some(now);
                self.out.push(Effect::Draw);
                if let Some(title) = self.title.take() {
                    self.out
                        .push(Effect::Title(trust::title(&title, &self.fixed.origin)));
                }
            }
        }
    }
}

/// The UI's area: all rows but the launcher's last, within the bridge's limits and never nothing.
pub(crate) fn ui_size(size: Size) -> Size {
    let cols = size.cols.clamp(1, limits::COLS);
    let most = u16::try_from(limits::CELLS / u32::from(cols)).unwrap_or(u16::MAX);
    let most = most.clamp(1, limits::ROWS);
    Size {
        cols,
        rows: size.rows.saturating_sub(1).clamp(1, most),
    }
}

#[cfg(test)]
mod tests;
