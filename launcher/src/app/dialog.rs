//! A launcher dialog: one question about one exact value, with No as the default.
//! Keys that were already on their way do not answer it; pastes, the mouse and repeats never do.

use std::time::{Duration, Instant};

use porthole_bridge::{Action, Key, KeyCode, Outcome, Place, Size};

use super::{
    Alarm, App, Asked, Effect,
    grant::Grant,
    question::{Laid, Question},
    transfer::Deed,
};
use crate::terminal::event::Press;

/// Silence on the keyboard before the dialog listens.
const HUSH: Duration = Duration::from_millis(500);
/// How long the key that led to the dialog must have been let go of before it answers: longer than any keyboard waits
/// before it repeats.
const HELD: Duration = Duration::from_millis(1_200);
/// A yes is followed by silence; a paste that is not marked as one is not.
pub(super) const SURE: Duration = Duration::from_millis(80);

/// An open question.
pub(super) struct Dialog {
    /// Who asked.
    pub(super) asked: Asked,
    /// What a yes does: exactly what is shown.
    pub(super) deed: Deed,
    /// What it says.
    pub(super) question: Question,
    grant: Grant,
    /// First line of the value that is shown; `None`: nobody has scrolled.
    top: Option<usize>,
    /// `None`: it has not been drawn yet.
    deaf_until: Option<Instant>,
    /// The key that led here, and until when it does not answer.
    held: Option<(Key, Instant)>,
    /// A yes was pressed and the silence after it has not passed.
    sure: bool,
    /// It is drawn as one that a yes answers. What counts is the time of the key, not this.
    pub(super) lit: bool,
}

/// How a key answered.
enum Answer {
    Yes,
    No,
    Scroll(isize),
    Nothing,
}

impl Dialog {
    /// Returns the dialog for `deed`; a yes holds only while `grant` does.
    pub(super) fn new(asked: Asked, deed: Deed, question: Question, grant: Grant) -> Self {
        Self {
            asked,
            deed,
            question,
            grant,
            top: None,
            deaf_until: None,
            held: None,
            sure: false,
            lit: false,
        }
    }

    /// Returns what it shows in a window, or nothing where what must be seen does not fit.
    pub(super) fn lay(&self, size: Size) -> Option<Laid> {
        self.question.lay(size, self.top)
    }

    /// Returns whether the launcher itself asks, about what no UI has a part in. Then no UI and no server closes it.
    pub(super) fn is_own(&self) -> bool {
        self.asked.is_none() && matches!(self.deed, Deed::Action(_))
    }

    /// Returns whether a UI asked.
    pub(super) fn is_a_uis(&self) -> bool {
        self.asked.is_some()
    }

    fn holds(&self, place: Option<&Place>, now: Instant) -> bool {
        match self.is_own() {
            true => self.grant.lasts(now),
            false => self.grant.holds(place, now),
        }
    }

    /// Starts the silence anew.
    pub(super) fn hush(&mut self, now: Instant) {
        self.sure = false;
        // Before it was seen it does not listen anyway.
        if self.deaf_until.is_some() {
            self.deaf_until = Some(now + HUSH);
        }
    }

    /// Returns from when on a yes counts, where nothing else is pressed; `None`: it has not been drawn, or a yes was pressed.
    fn listens_from(&self) -> Option<Instant> {
        let held = self.held.filter(|(key, _)| is_yes(*key));
        let deaf_until = self.deaf_until.filter(|_| !self.sure)?;
        Some(held.map_or(deaf_until, |(_, until)| until.max(deaf_until)))
    }

    fn answer(&mut self, key: Key, press: Press, now: Instant) -> Answer {
        let is_held = self
            .held
            .is_some_and(|(held, until)| held == key && now < until);
        let deaf = self.deaf_until.is_none_or(|until| now < until);
        if deaf || is_held || self.sure || press == Press::Repeat {
            // Type-ahead: every key that comes too early, or too soon after a yes, asks for silence again.
            self.hush(now);
            if is_held {
                self.held = Some((key, now + HELD));
            }
            return Answer::Nothing;
        }
        let modifiers = key.modifiers;
        match key.code {
            _ if is_yes(key) => Answer::Yes,
            KeyCode::Enter | KeyCode::Escape | KeyCode::Char(' ' | 'n' | 'N') => Answer::No,
            KeyCode::Char('c') if modifiers.control => Answer::No,
            KeyCode::Up => Answer::Scroll(-1),
            KeyCode::Down => Answer::Scroll(1),
            KeyCode::PageUp => Answer::Scroll(-5),
            KeyCode::PageDown => Answer::Scroll(5),
            // Whoever types something else has not read the question.
            _ => {
                self.hush(now);
                Answer::Nothing
            }
        }
    }
}

/// The one key that says yes.
fn is_yes(key: Key) -> bool {
    key.code == KeyCode::Char('y') && key.modifiers.control && !key.modifiers.alt
}

impl App {
    /// Opens a dialog where there is room for it; returns whether there was.
    pub(super) fn open_dialog(&mut self, asked: Asked, action: Action, now: Instant) -> bool {
        let question = Question::about(&action, &self.fixed);
        self.open_question(asked, Deed::Action(action), question, now)
    }

    /// Opens a dialog with this question where there is room for it; returns whether there was.
    pub(super) fn open_question(
        &mut self,
        asked: Asked,
        deed: Deed,
        question: Question,
        now: Instant,
    ) -> bool {
        let grant = Grant::new(self.place.clone(), now);
        let mut dialog = Dialog::new(asked, deed, question, grant);
        if dialog.lay(self.size).is_none() {
            return false;
        }
        dialog.held = self
            .last_key
            .filter(|(_, at)| now.saturating_duration_since(*at) < HELD)
            .map(|(key, at)| (key, at + HELD));
        self.out
            .push(Effect::Alarm(Alarm::Grant, Some(dialog.grant.until())));
        self.dialog = Some(dialog);
        self.dirty = true;
        true
    }

    /// Notes that what was drawn last is on the screen: from now on a dialog can be answered, after its silence.
    /// Returns when an alarm is due from which on it can.
    pub fn shown(&mut self, now: Instant) -> Option<Instant> {
        let dialog = self.dialog.as_mut().filter(|d| d.deaf_until.is_none())?;
        dialog.deaf_until = Some(now + HUSH);
        dialog.listens_from()
    }

    /// Keeps what an open question looks like true: whether it may be answered by now.
    pub(super) fn watch_dialog(&mut self, now: Instant) {
        let Some(dialog) = &mut self.dialog else {
            return;
        };
        let from = dialog.listens_from();
        let listens = from.is_some_and(|from| now >= from);
        self.dirty |= dialog.lit != listens;
        dialog.lit = listens;
        if !listens && from.is_some() {
            self.out.push(Effect::Alarm(Alarm::Listen, from));
        }
    }

    pub(super) fn dialog_key(&mut self, key: Key, press: Press, now: Instant) {
        let Some(dialog) = &mut self.dialog else {
            return;
        };
        self.dirty = true;
        match dialog.answer(key, press, now) {
            Answer::Yes => {
                dialog.sure = true;
                self.out
                    .push(Effect::Alarm(Alarm::Sure, now.checked_add(SURE)));
            }
            Answer::No => self.say_no(),
            Answer::Scroll(lines) => {
                let last = dialog.question.lines(self.size.cols).saturating_sub(1);
                let top = dialog.top.unwrap_or_default();
                dialog.top = Some(match dialog.top {
                    // The first key shows the beginning of what was cut.
                    None => 0,
                    Some(_) => top.saturating_add_signed(lines).min(last),
                });
            }
            Answer::Nothing => {}
        }
    }

    /// Answers no, as the visitor does.
    pub(super) fn say_no(&mut self) {
        if let Some(dialog) = self.dialog.take() {
            self.refused_by_visitor(&dialog);
            self.dirty = true;
        }
    }

    /// Does what a yes was said to, once the silence after it has passed and while the permission holds.
    pub(super) fn sure(&mut self, now: Instant) {
        let Some(dialog) = self.dialog.take_if(|dialog| dialog.sure) else {
            return;
        };
        self.dirty = true;
        let asker = dialog
            .asked
            .is_none_or(|(instance, _)| self.ui.is(instance));
        match asker && dialog.holds(self.place.as_ref(), now) {
            true => self.do_deed(dialog.asked, dialog.deed, now),
            false => self.answer(dialog.asked, Outcome::Refused("it was too late".to_owned())),
        }
    }
}
