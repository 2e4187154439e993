//! The life of UIs: started, replaced with their state handed over, failed.
//! Processes are somebody else's work.

use std::time::{Duration, Instant};

use porthole_bridge::{Event, Place, Role, Start, limits};
use porthole_door::Redeemer;

use super::{Alarm, App, Effect, Page, connection::Standing, ui_size};
use crate::escape;

/// A UI that ran for so long and then failed has not failed "in a row".
const GOOD_RUN: Duration = Duration::from_secs(60);
/// Failures in a row from which a successor gets no state: the state may be what breaks it.
const DISTRUST_STATE: u32 = 2;
const FAULT_COLUMNS: usize = 200;

/// What is known of the UI.
#[derive(Default)]
pub(super) struct Ui {
    instance: u64,
    running: Option<Running>,
    /// The bundle that takes over once the running UI has saved its state.
    next: Option<String>,
    /// The bundle that ran last.
    last: Option<String>,
    snapshot: Option<Vec<u8>>,
    /// What came back from the editor after the UI that asked had ended or gone elsewhere, and where it belongs.
    pub(super) edited: Option<(Option<Place>, String)>,
    pub(super) failures: u32,
}

struct Running {
    sha256: String,
    since: Instant,
}

impl Ui {
    /// Returns whether `instance` is the one that runs.
    pub(super) fn is(&self, instance: u64) -> bool {
        self.runs() && self.instance == instance
    }

    pub(super) fn runs(&self) -> bool {
        self.running.is_some()
    }

    /// Returns the hash of the running bundle.
    pub(super) fn sha256(&self) -> Option<&str> {
        self.running.as_ref().map(|running| running.sha256.as_str())
    }

    #[cfg(test)]
    pub(super) fn instance(&self) -> u64 {
        self.instance
    }
}

impl App {
    /// Starts the UI of `sha256`, in place of the one that runs.
    pub(super) fn start_ui(&mut self, sha256: String, now: Instant) {
        self.refuse_dialog("the UI was replaced");
        self.gesture.drop_it();
        self.refusals = 0;
        self.undrawn = None;
        self.ui.next = None;
        self.ui.instance += 1;
        self.out.push(Effect::Alarm(Alarm::Wake, None));
        self.out.push(Effect::Alarm(Alarm::Snapshot, None));
        self.out.push(Effect::StartUi {
            instance: self.ui.instance,
            sha256: sha256.clone(),
            start: Box::new(self.start()),
        });
        self.ui.last = Some(sha256.clone());
        self.ui.running = Some(Running { sha256, since: now });
        if !matches!(self.page, Some(Page::AskLink(_))) {
            self.page = None;
        }
        self.dirty = true;
        self.feed_new_ui();
        self.paste_edited();
    }

    fn start(&self) -> Start {
        let distrusted = self.ui.failures >= DISTRUST_STATE;
        Start {
            size: ui_size(self.size),
            colors: self.fixed.colors,
            background: self.fixed.background,
            unicode: self.fixed.unicode,
            reduced_motion: self.fixed.preferences.reduced_motion,
            theme: self.fixed.preferences.theme.clone(),
            preferences: self.fixed.preferences.for_ui.clone(),
            role: match self.who {
                Redeemer::Owner => Role::Owner,
                Redeemer::Guest { .. } => Role::Guest,
            },
            place: self.place.clone(),
            snapshot: self.ui.snapshot.clone().filter(|_| !distrusted),
            seed: [0; 16],
            utc_offset_minutes: self.fixed.utc_offset_minutes,
            origin: self.fixed.origin.clone(),
        }
    }

    pub(super) fn prepared(&mut self, sha256: String, now: Instant) {
        match self.ui.runs() {
            true => self.replace(sha256, now),
            false => self.start_ui(sha256, now),
        }
    }

    /// Asks the running UI for its state and starts `sha256` when it has come, or when it does not come.
    pub(super) fn replace(&mut self, sha256: String, now: Instant) {
        self.ui.next = Some(sha256);
        self.tell_ui(Event::SaveSnapshot);
        let at = now.checked_add(limits::LONG_CALL_WALL);
        self.out.push(Effect::Alarm(Alarm::Snapshot, at));
    }

    pub(super) fn snapshot(&mut self, bytes: Vec<u8>, now: Instant) {
        self.ui.snapshot = Some(bytes);
        self.finish_replacement(now);
    }

    pub(super) fn finish_replacement(&mut self, now: Instant) {
        let Some(sha256) = self.ui.next.take() else {
            return;
        };
        let changed = self.ui.sha256() != Some(sha256.as_str());
        self.start_ui(sha256, now);
        if changed {
            self.say("UI changed", now);
        }
    }

    /// Starts the UI anew: the running one hands over its state; of an ended one the server may have a better.
    pub(super) fn reload(&mut self, now: Instant) {
        match (self.ui.sha256().map(str::to_owned), self.ui.last.clone()) {
            (Some(running), _) => {
                self.replace(running.clone(), now);
                if self.link.standing == Standing::Up {
                    self.out.push(Effect::Prepare(Some(running)));
                }
            }
            (None, Some(last)) if self.link.standing != Standing::Up => self.start_ui(last, now),
            (None, _) => {
                self.page = Some(Page::progress("asking the server for its UI"));
                self.dirty = true;
                self.out.push(Effect::Prepare(None));
            }
        }
    }

    pub(super) fn ui_ended(&mut self, instance: u64, why: String, now: Instant) {
        if !self.ui.is(instance) {
            return;
        }
        let Some(ran) = self.ui.running.take() else {
            return;
        };
        self.refuse_dialog("the UI ended");
        self.gesture.drop_it();
        self.undrawn = None;
        self.menu = None;
        self.dirty = true;
        self.out.push(Effect::StopUi);
        self.out.push(Effect::Alarm(Alarm::Wake, None));
        if let Some(next) = self.ui.next.take() {
            return self.start_ui(next, now);
        }
        if now.saturating_duration_since(ran.since) >= GOOD_RUN {
            self.ui.failures = 0;
        }
        self.ui.failures += 1;
        let why = escape::visible_cut(&why, FAULT_COLUMNS);
        if !matches!(self.page, Some(Page::AskLink(_))) {
            self.page = Some(Page::fault(why, self.ui.failures));
        }
    }
}
