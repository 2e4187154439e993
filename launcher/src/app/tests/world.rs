//! A launcher of a test: its core, a clock, and what it last did. It asserts nothing.

use porthole_bridge::{Action, Key, KeyCode, Modifiers, Outcome, Start};
use ratatui::layout::Rect;

use crate::{
    app::*,
    link::{LinkEvent, LinkHappening},
};

pub(super) const HASH: &str = "3f9a21c04d7e0000000000000000000000000000000000000000000000000000";
pub(super) const OTHER: &str = "aaaa21c04d7e0000000000000000000000000000000000000000000000000000";

/// The owner at the server whose fingerprint is 43 times that digit.
pub(super) fn owner(digit: char) -> Admission {
    Admission {
        fingerprint: digit.to_string().repeat(43),
        who: Redeemer::Owner,
    }
}

pub(super) struct World {
    pub(super) app: App,
    pub(super) now: Instant,
    pub(super) effects: Vec<Effect>,
}

impl World {
    /// A launcher of 80×24 whose UI runs from the cache; the link is being made.
    pub(super) fn new() -> Self {
        Self::sized(80, 24, Some(HASH.to_owned()))
    }

    pub(super) fn sized(cols: u16, rows: u16, cached: Option<String>) -> Self {
        let fixed = Fixed {
            origin: "http://127.0.0.1:7420".into(),
            colors: ColorDepth::True,
            background: Background::Dark,
            unicode: true,
            folder: "/home/ada".into(),
            desktop: true,
            preferences: crate::preferences::Preferences::default(),
            utc_offset_minutes: 0,
        };
        let size = Size { cols, rows };
        let mut app = App::new(fixed, owner('k'), size, None, 7);
        let now = Instant::now();
        let effects = app.begin(cached, now);
        Self { app, now, effects }
    }

    pub(super) fn give(&mut self, input: Input) -> &mut Self {
        let asked = self.app.dialog.is_some();
        self.effects = self.app.handle(input, self.now);
        if self.did(&Effect::Draw) {
            self.app.shown(self.now);
        }
        if !asked && self.app.dialog.is_some() {
            self.now += Duration::from_millis(10);
            let drawn = self.app.handle(Input::Alarm(Alarm::Draw), self.now);
            self.effects.extend(drawn);
            self.app.shown(self.now);
        }
        self
    }

    /// Says yes to a dialog, as a person does: after a while, and nothing after it.
    pub(super) fn yes(&mut self) -> &mut Self {
        self.wait(2_000).control('y').wait(80);
        self.give(Input::Alarm(Alarm::Sure))
    }

    pub(super) fn wait(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        self
    }

    pub(super) fn key(&mut self, code: KeyCode) -> &mut Self {
        self.press(code, false)
    }

    pub(super) fn control(&mut self, char: char) -> &mut Self {
        self.press(KeyCode::Char(char), true)
    }

    pub(super) fn press(&mut self, code: KeyCode, control: bool) -> &mut Self {
        let modifiers = Modifiers {
            control,
            ..Modifiers::default()
        };
        let key = Key { code, modifiers };
        let press = Press::First;
        self.give(Input::Terminal(TerminalEvent::Key { key, press }))
    }

    pub(super) fn action(&mut self, request: u64, action: Action) -> &mut Self {
        let instance = self.app.ui.instance();
        self.give(Input::Posted(instance, Request::Action { request, action }))
    }

    pub(super) fn frame(&mut self, text: &str) -> &mut Self {
        let instance = self.app.ui.instance();
        self.give(Input::Posted(instance, Request::Frame(text.into())))
    }

    pub(super) fn link(&mut self, what: LinkHappening) -> &mut Self {
        let epoch = self.app.link.epoch;
        self.give(Input::Link(LinkEvent { epoch, what }))
    }

    pub(super) fn crash(&mut self) -> &mut Self {
        let instance = self.app.ui.instance();
        self.give(Input::UiEnded(instance, "it trapped".into()))
    }

    /// Another bundle takes the place of the running one.
    pub(super) fn replace(&mut self) {
        self.give(Input::Door(DoorInput::Prepared(OTHER.into())));
        for _ in ["to show that it can", "with the state"] {
            let next = self.app.ui.next.as_ref().map(|next| next.instance);
            let next = next.expect("it waits behind");
            self.give(Input::Posted(next, Request::Frame(b"new".to_vec())));
            self.give(Input::Alarm(Alarm::Snapshot));
        }
    }

    pub(super) fn did(&self, wanted: &Effect) -> bool {
        self.effects.contains(wanted)
    }

    pub(super) fn outcome(&self) -> Option<&Outcome> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::ToUi(Event::Outcome { outcome, .. }) => Some(outcome),
            _ => None,
        })
    }

    pub(super) fn refused(&self) -> bool {
        matches!(self.outcome(), Some(Outcome::Refused(_)))
    }

    pub(super) fn started(&self) -> Option<&Start> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::StartUi { start, .. } => Some(start.as_ref()),
            _ => None,
        })
    }

    pub(super) fn buffer(&mut self) -> Buffer {
        let size = self.app.size();
        let mut buffer = Buffer::empty(Rect::new(0, 0, size.cols, size.rows));
        self.app.view(&mut buffer);
        buffer
    }

    pub(super) fn screen(&mut self) -> String {
        let size = self.app.size();
        let buffer = self.buffer();
        let rows = buffer.content.chunks(usize::from(size.cols)).map(|row| {
            let text: String = row.iter().map(|cell| cell.symbol()).collect();
            text.trim_end().to_owned()
        });
        rows.collect::<Vec<_>>().join("\n")
    }

    pub(super) fn last_row(&mut self) -> String {
        self.screen().lines().last().unwrap_or_default().to_owned()
    }
}

pub(super) fn url() -> Action {
    Action::OpenUrl("https://example.com/a".into())
}
