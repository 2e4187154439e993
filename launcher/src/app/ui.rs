//! The life of a UI: started, asked for its state once the visitor rests, failed. How one replaces another stands in
//! `successor.rs`. Processes are somebody else's work.

use std::time::{Duration, Instant};

use porthole_bridge::{Event, Outcome, Place, Role, Start};
use porthole_door::Redeemer;

use super::{Alarm, App, Effect, Page, connection::Standing, successor::Successor, ui_size};
use crate::escape;

/// A UI that ran for so long and then failed has not failed "in a row".
const GOOD_RUN: Duration = Duration::from_secs(60);
/// Failures in a row from which a successor gets no state: the state may be what breaks it.
const DISTRUST_STATE: u32 = 2;
const FAULT_COLUMNS: usize = 200;
/// Rest after which the UI saves what was typed, so that a crash costs no more.
const REST: Duration = Duration::from_secs(1);
/// Longest time that typed text stays unsaved where there is no rest.
const UNSAVED: Duration = Duration::from_secs(5);

/// What is known of the UI.
#[derive(Default)]
pub(super) struct Ui {
    instance: u64,
    /// The newest number that any UI was given.
    issued: u64,
    running: Option<Running>,
    pub(super) next: Option<Successor>,
    /// The bundle that ran last.
    last: Option<String>,
    snapshot: Option<Vec<u8>>,
    /// Snapshots that were asked for and have not come.
    awaited: u32,
    /// The UI was handed something worth saving.
    touched: bool,
    unsaved: Option<Unsaved>,
    /// What came back from the editor after the UI that asked had ended or gone elsewhere, and where it belongs.
    pub(super) edited: Option<(Option<Place>, String)>,
    pub(super) failures: u32,
}

struct Running {
    sha256: String,
    since: Instant,
}

/// Since when, and until when, things were done that no snapshot holds.
struct Unsaved {
    first: Instant,
    latest: Instant,
}

impl Unsaved {
    fn due(&self) -> Instant {
        (self.latest + REST).min(self.first + UNSAVED)
    }
}

impl Ui {
    /// Returns whether `instance` is the one that runs.
    pub(super) fn is(&self, instance: u64) -> bool {
        self.runs() && self.instance == instance
    }

    /// Returns whether `instance` is the successor.
    pub(super) fn is_next(&self, instance: u64) -> bool {
        self.next
            .as_ref()
            .is_some_and(|next| next.instance == instance)
    }

    pub(super) fn runs(&self) -> bool {
        self.running.is_some()
    }

    /// Returns the hash of the running bundle.
    pub(super) fn sha256(&self) -> Option<&str> {
        self.running.as_ref().map(|running| running.sha256.as_str())
    }

    /// Returns the hash of the bundle that ran last, or still does.
    pub(super) fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// Returns a number that no UI has had.
    pub(super) fn issue(&mut self) -> u64 {
        self.issued += 1;
        self.issued
    }

    /// Notes which UI runs from now on.
    pub(super) fn takes_place(&mut self, instance: u64, sha256: String, now: Instant) {
        self.instance = instance;
        self.last = Some(sha256.clone());
        self.running = Some(Running { sha256, since: now });
    }

    /// Notes that the UI is told `event`, where that changes what a person would miss.
    pub(super) fn touch(&mut self, event: &Event) {
        self.touched |= match event {
            Event::Key(_) | Event::Paste(_) => true,
            Event::Outcome { outcome, .. } => matches!(outcome, Outcome::Edited(_)),
            _ => false,
        };
    }

    #[cfg(test)]
    pub(super) fn instance(&self) -> u64 {
        self.instance
    }
}

impl App {
    /// Starts the UI of `sha256`, in place of the one that runs.
    pub(super) fn start_ui(&mut self, sha256: String, now: Instant) {
        self.drop_successor();
        self.leave_to_another();
        let instance = self.ui.issue();
        self.out.push(Effect::StartUi {
            instance,
            sha256: sha256.clone(),
            start: Box::new(self.start()),
        });
        self.ui.takes_place(instance, sha256, now);
        if !matches!(self.page, Some(Page::AskLink(_))) {
            self.page = None;
        }
        self.welcome();
    }

    /// Takes back all that the UI had been given, before another has its place.
    pub(super) fn leave_to_another(&mut self) {
        self.withdraw("the UI was replaced");
        self.gesture.drop_it();
        self.refusals = 0;
        self.undrawn = None;
        (self.ui.awaited, self.ui.touched, self.ui.unsaved) = (0, false, None);
        for alarm in [Alarm::Wake, Alarm::Snapshot, Alarm::Rest] {
            self.out.push(Effect::Alarm(alarm, None));
        }
    }

    /// Brings a UI that has the place up to date.
    pub(super) fn welcome(&mut self) {
        self.dirty = true;
        // What the start message cannot carry.
        let own = &self.fixed.preferences;
        if !own.themes.is_empty() || !own.complaints.is_empty() {
            self.tell_looks();
        }
        self.feed_new_ui();
        self.paste_edited();
    }

    pub(super) fn start(&self) -> Start {
        let distrusted = self.ui.failures >= DISTRUST_STATE;
        Start {
            size: ui_size(self.size),
            colors: self.fixed.colors,
            background: self.fixed.background,
            unicode: self.fixed.unicode,
            reduced_motion: self.fixed.preferences.reduced_motion,
            theme: self.fixed.preferences.theme.clone(),
            preferences: self.fixed.preferences.for_ui.clone(),
            role: match self.admission.who {
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
            true => self.replace(sha256),
            false => self.start_ui(sha256, now),
        }
    }

    pub(super) fn ask_for_state(&mut self) {
        self.ui.awaited += 1;
        self.ui.unsaved = None;
        self.tell_ui(Event::SaveSnapshot);
    }

    pub(super) fn snapshot(&mut self, bytes: Vec<u8>, now: Instant) {
        self.ui.snapshot = Some(bytes);
        self.ui.awaited = self.ui.awaited.saturating_sub(1);
        if self.ui.awaited == 0 {
            self.state_came(now);
        }
    }

    /// Sees that what was typed is saved once the visitor rests. One alarm serves a whole burst.
    pub(super) fn watch_typing(&mut self, now: Instant) {
        if !std::mem::take(&mut self.ui.touched) {
            return;
        }
        match &mut self.ui.unsaved {
            Some(unsaved) => unsaved.latest = now,
            None => {
                let unsaved = Unsaved {
                    first: now,
                    latest: now,
                };
                let due = unsaved.due();
                self.out.push(Effect::Alarm(Alarm::Rest, Some(due)));
                self.ui.unsaved = Some(unsaved);
            }
        }
    }

    /// The visitor may rest now.
    pub(super) fn rest(&mut self, now: Instant) {
        match self.ui.unsaved.as_ref().map(Unsaved::due) {
            Some(due) if due > now => self.out.push(Effect::Alarm(Alarm::Rest, Some(due))),
            Some(_) => self.ask_for_state(),
            None => {}
        }
    }

    /// Starts the UI anew: the running one hands over its state; of an ended one the server may have a better.
    pub(super) fn reload(&mut self, now: Instant) {
        match (self.ui.sha256().map(str::to_owned), self.ui.last.clone()) {
            (Some(running), _) => {
                self.replace(running.clone());
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
        if self.ui.is_next(instance) {
            return self.successor_ended(&why, now);
        }
        if !self.ui.is(instance) {
            return;
        }
        let Some(ran) = self.ui.running.take() else {
            return;
        };
        self.withdraw("the UI ended");
        self.gesture.drop_it();
        self.undrawn = None;
        self.dirty = true;
        self.out.push(Effect::StopUi);
        self.out.push(Effect::Alarm(Alarm::Wake, None));
        self.out.push(Effect::Alarm(Alarm::Rest, None));
        self.ui.unsaved = None;
        if self.succeed(now) {
            return;
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
