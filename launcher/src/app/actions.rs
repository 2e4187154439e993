//! Local actions on their way: through the one table, through a dialog where it says so, and back to the UI.
//! Performing them is somebody else's work.

use std::time::Instant;

use porthole_bridge::{Action, Event, Outcome, Place};
use url::{Host, Url};

use super::{App, Asked, Effect, LocalDone, dialog::Dialog, grant::Grant, transfer::Deed};
use crate::{
    escape,
    patch::Patch,
    permit::{self, Consent, Verdict},
    preferences::Preferences,
    terminal::event::plain_paste,
    transfer::safe_name,
};

/// Refusals by the visitor after which this UI is not asked for any more.
const REFUSALS: u32 = 3;

impl App {
    pub(super) fn action(&mut self, asked: (u64, u64), action: Action, now: Instant) {
        let action = match normal(action, &self.fixed.preferences) {
            Ok(action) => action,
            Err(why) => return self.refuse(asked, why),
        };
        let consent = match self.gesture.take(now) {
            true => Consent::Gesture,
            false => Consent::None,
        };
        match permit::permit(permit::kind_of(&action), consent) {
            Verdict::Allow => self.perform(Some(asked), action, now),
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
        if let Action::Download { what, name } = action {
            return self.begin_download(Some(asked), what, &name);
        }
        if !self.open_dialog(Some(asked), action, now) {
            self.refuse(asked, "the window is too small to ask");
        }
    }

    /// Does what was allowed. Each action's one way out of the core.
    pub(super) fn perform(&mut self, asked: Asked, action: Action, now: Instant) {
        let effect = match action {
            Action::Copy(text) => Effect::Copy(asked, text),
            Action::OpenUrl(url) if self.fixed.desktop => Effect::Open(asked, url),
            // Nothing here could open it, and the dialog said so.
            Action::OpenUrl(url) => Effect::Copy(asked, url),
            Action::Edit(text) => {
                self.away = true;
                self.editing = Some(Grant::new(self.place.clone(), now));
                Effect::Edit(asked, text)
            }
            Action::Suspend => {
                self.answer(asked, Outcome::Done(String::new()));
                Effect::Suspend
            }
            Action::SignOut => Effect::SignOut,
            Action::Quit => Effect::Quit(0, None),
            Action::Upload(from) => return self.begin_upload(asked, from),
            Action::SavePreferences(wishes) => {
                match Patch::new(&self.fixed.preferences.source, &wishes) {
                    Ok(patch) => Effect::SavePreferences(asked, patch),
                    Err(why) => return self.answer(asked, Outcome::Refused(why.to_owned())),
                }
            }
            // It was asked about with the place where it lands; there is no other way here.
            Action::Download { what, name } => return self.begin_download(asked, what, &name),
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
            (Some((instance, _)), Outcome::Edited(text)) => {
                let place = self.editing.take().and_then(Grant::place);
                match self.ui.is(instance) && place == self.place {
                    true => self.answer(done.asked, Outcome::Edited(text)),
                    false => self.keep_edited(place, &text, now),
                }
            }
            (asked, outcome) => self.answer(asked, outcome),
        }
    }

    /// Keeps a text whose asker is gone or elsewhere by now: a person wrote it, and it belongs where it was begun.
    fn keep_edited(&mut self, place: Option<Place>, text: &str, now: Instant) {
        let here = self.ui.runs() && place == self.place;
        self.say(
            match (here, self.ui.runs()) {
                (true, _) => "the UI was replaced: your text was pasted",
                (false, true) => "your text is kept for the conversation it was begun in",
                (false, false) => "your text is kept for the next UI",
            },
            now,
        );
        self.ui.edited = Some((place, plain_paste(text)));
        self.paste_edited();
    }

    /// Pastes the kept text where it belongs, once a UI is there.
    pub(super) fn paste_edited(&mut self) {
        let belongs = |(place, _): &mut (Option<Place>, String)| *place == self.place;
        if self.ui.runs()
            && let Some((_, text)) = self.ui.edited.take_if(belongs)
        {
            self.tell_ui(Event::Paste(text));
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

    /// Takes back what was asked for somebody who is gone or elsewhere. What the launcher asks for itself stands.
    pub(super) fn withdraw(&mut self, why: &str) {
        match &self.dialog {
            Some(dialog) if dialog.is_own() => self.close_picker(why),
            _ => self.refuse_dialog(why),
        }
    }

    /// Closes an open dialog as refused, e.g. because no answer is good any more.
    pub(super) fn refuse_dialog(&mut self, why: &str) {
        self.close_picker(why);
        if let Some(dialog) = self.dialog.take() {
            self.answer(dialog.asked, Outcome::Refused(why.to_owned()));
            self.dirty = true;
        }
    }

    pub(super) fn refused_by_visitor(&mut self, dialog: &Dialog) {
        if let Deed::Transfer(_, Some(text)) = &dialog.deed {
            return self.tell_ui(Event::Paste(text.clone()));
        }
        self.refusals += u32::from(dialog.asked.is_some());
        self.answer(dialog.asked, Outcome::Refused("no".to_owned()));
    }
}

/// Returns the action in the one form that is shown, decided on and done.
fn normal(action: Action, preferences: &Preferences) -> Result<Action, &'static str> {
    match action {
        Action::OpenUrl(text) => openable(&text).map(Action::OpenUrl),
        Action::SavePreferences(wishes) => {
            Patch::new(&preferences.source, &wishes).map(|_| Action::SavePreferences(wishes))
        }
        Action::Copy(text) if text.is_empty() => Err("there is nothing to copy"),
        Action::Download { what, name } if safe_name(name.as_bytes()).is_ok() => {
            Ok(Action::Download { what, name })
        }
        Action::Download { .. } => Err("the file has no name that can be saved"),
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
