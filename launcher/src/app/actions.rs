//! Local actions on their way: through the one table, through a dialog where it says so, and back to the UI.
//! Performing them is somebody else's work.

use std::time::Instant;

use porthole_bridge::{Action, Event, Outcome};
use url::{Host, Url};

use super::{App, Asked, Effect, LocalDone, dialog::Dialog};
use crate::{
    escape,
    permit::{self, Consent, Verdict},
    terminal::event::plain_paste,
};

/// Refusals by the visitor after which this UI is not asked for any more.
const REFUSALS: u32 = 3;

impl App {
    pub(super) fn action(&mut self, asked: (u64, u64), action: Action, now: Instant) {
        let action = match normal(action) {
            Ok(action) => action,
            Err(why) => return self.refuse(asked, why),
        };
        let consent = match self.gesture.take(now) {
            true => Consent::Gesture,
            false => Consent::None,
        };
        match permit::permit(permit::kind_of(&action), consent) {
            Verdict::Allow => self.perform(Some(asked), action),
            Verdict::Ask => self.ask(asked, action, now),
            Verdict::Deny => self.refuse(asked, "this needs a key press just before"),
        }
    }

    fn ask(&mut self, asked: (u64, u64), action: Action, now: Instant) {
        if self.dialog.is_some() || self.menu.is_some() || self.page.is_some() {
            return self.refuse(asked, "the launcher is asking something else");
        }
        if self.refusals >= REFUSALS {
            return self.refuse(asked, "refused three times; not asked again");
        }
        match Dialog::new(Some(asked), action, &self.fixed.origin, self.size, now) {
            Some(dialog) => self.open_dialog(dialog),
            None => self.refuse(asked, "the window is too small to ask"),
        }
    }

    pub(super) fn open_dialog(&mut self, dialog: Dialog) {
        self.dialog = Some(dialog);
        self.dirty = true;
    }

    /// Does what was allowed. Each action's one way out of the core.
    pub(super) fn perform(&mut self, asked: Asked, action: Action) {
        let effect = match action {
            Action::Copy(text) => Effect::Copy(asked, text),
            Action::OpenUrl(url) => Effect::Open(asked, url),
            Action::Edit(text) => {
                self.away = true;
                Effect::Edit(asked, text)
            }
            Action::Suspend => {
                self.answer(asked, Outcome::Done(String::new()));
                Effect::Suspend
            }
            Action::SignOut => Effect::SignOut,
            Action::Quit => Effect::Quit(0, None),
            Action::Upload(_) | Action::Download { .. } => {
                let why = "this launcher moves no files yet".to_owned();
                return self.answer(asked, Outcome::Failed(why));
            }
        };
        self.out.push(effect);
    }

    pub(super) fn local_done(&mut self, done: LocalDone, now: Instant) {
        match &done.outcome {
            Outcome::Done(text) | Outcome::Failed(text) if !text.is_empty() => {
                self.say(escape::visible_cut(text, 80), now);
            }
            Outcome::Done(_) | Outcome::Failed(_) | Outcome::Edited(_) | Outcome::Refused(_) => {}
        }
        match (done.asked, done.outcome) {
            (Some((instance, _)), Outcome::Edited(text)) if !self.ui.is(instance) => {
                self.keep_edited(&text, now);
            }
            (asked, outcome) => self.answer(asked, outcome),
        }
    }

    /// Hands a text whose asker is gone to the successor, now or when there is one: a person wrote it.
    fn keep_edited(&mut self, text: &str, now: Instant) {
        let text = plain_paste(text);
        if self.ui.runs() {
            self.say("the UI was replaced: your text was pasted", now);
            self.tell_ui(Event::Paste(text));
        } else {
            self.say("your text is kept for the next UI", now);
            self.ui.edited = Some(text);
        }
    }

    pub(super) fn answer(&mut self, asked: Asked, outcome: Outcome) {
        // The answer is the asker's alone; a successor never hears of it.
        if let Some((instance, request)) = asked
            && self.ui.is(instance)
        {
            self.tell_ui(Event::Outcome { request, outcome });
        }
    }

    fn refuse(&mut self, asked: (u64, u64), why: &str) {
        self.answer(Some(asked), Outcome::Refused(why.to_owned()));
    }

    /// Closes an open dialog as refused, e.g. because whoever asked is gone.
    pub(super) fn refuse_dialog(&mut self, why: &str) {
        if let Some(dialog) = self.dialog.take() {
            self.answer(dialog.asked, Outcome::Refused(why.to_owned()));
            self.dirty = true;
        }
    }

    pub(super) fn refused_by_visitor(&mut self, dialog: &Dialog) {
        self.refusals += 1;
        self.answer(dialog.asked, Outcome::Refused("no".to_owned()));
    }
}

/// Returns the action in the one form that is shown, decided on and done.
fn normal(action: Action) -> Result<Action, &'static str> {
    match action {
        Action::OpenUrl(text) => openable(&text).map(Action::OpenUrl),
        Action::Copy(text) if text.is_empty() => Err("there is nothing to copy"),
        other => Ok(other),
    }
}

/// Returns `text` as a URL that may be opened: https, or http to this machine; no user, nothing hidden.
pub(super) fn openable(text: &str) -> Result<String, &'static str> {
    const KIND: &str = "only https addresses, and http ones of this machine, are opened";
    if text
        .chars()
        .any(|char| char.is_control() || char.is_whitespace())
    {
        return Err("the address holds blanks or control characters");
    }
    let url = Url::parse(text).map_err(|_| "this is not an address")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the address holds a user name");
    }
    let here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => return Err(KIND),
    };
    match (url.scheme(), here) {
        ("https", _) | ("http", true) => Ok(url.into()),
        _ => Err(KIND),
    }
}
