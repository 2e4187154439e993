//! The replacement of a running UI. The successor first shows behind it that it can start; then it starts once more, with
//! the state of the old one, and takes its place with its first frame. One that fails leaves the old one where it is.
//! Processes are somebody else's work.

use std::time::{Duration, Instant};

use porthole_bridge::{Event, Request, Size, limits};

use super::{Alarm, App, Effect, ui_size};
use crate::escape;

/// How long the running UI may take to save its state; after that the state it saved last is handed over.
const SAVE_WAIT: Duration = Duration::from_secs(2);
/// Events held back for the successor while it takes over; one more and the old UI goes on with all of them.
const HELD: usize = 256;
/// Posts kept of a successor that has not the place yet. Only the newest of a kind counts; actions beyond are dropped.
const POSTS: usize = 16;
const REASON_COLUMNS: usize = 100;

/// A UI that runs behind another one.
pub(super) struct Successor {
    pub(super) instance: u64,
    pub(super) sha256: String,
    step: Step,
    /// The size it was started with.
    size: Size,
    posts: Vec<Request>,
    /// What was typed since the old UI was asked for its state.
    held: Vec<Event>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// It starts without a state, to show that it can.
    Trial,
    /// It can; it goes on as soon as nothing of the visitor's is open.
    Proven,
    /// The old UI was asked for its state. What is typed is held from here on.
    Saving,
    /// It starts with the state.
    Handover,
    /// It failed with the state and starts without.
    Bare,
}

impl Successor {
    fn holds_input(&self) -> bool {
        matches!(self.step, Step::Saving | Step::Handover | Step::Bare)
    }

    fn keep(&mut self, request: Request) {
        if !matches!(request, Request::Action { .. }) {
            let kind = std::mem::discriminant(&request);
            self.posts
                .retain(|kept| std::mem::discriminant(kept) != kind);
        }
        // It is told of no link, so it has nothing to say on one.
        if self.posts.len() < POSTS && !matches!(request, Request::Link(_)) {
            self.posts.push(request);
        }
    }
}

impl App {
    /// Puts `sha256` behind the running UI, in place of another successor.
    pub(super) fn replace(&mut self, sha256: String) {
        if self
            .ui
            .next
            .as_ref()
            .is_some_and(|next| next.sha256 == sha256)
        {
            return;
        }
        self.drop_successor();
        self.start_behind(sha256, Step::Trial);
    }

    fn start_behind(&mut self, sha256: String, step: Step) {
        let mut start = self.start();
        if step != Step::Handover {
            start.snapshot = None;
        }
        let instance = self.ui.issue();
        let size = start.size;
        self.out.push(Effect::StartNext {
            instance,
            sha256: sha256.clone(),
            start: Box::new(start),
        });
        let before = self.ui.next.take();
        self.ui.next = Some(Successor {
            instance,
            sha256,
            step,
            size,
            posts: Vec::new(),
            held: before.map(|before| before.held).unwrap_or_default(),
        });
    }

    /// Gives the successor up; what was held goes to the UI that stays.
    pub(super) fn drop_successor(&mut self) {
        let Some(next) = self.ui.next.take() else {
            return;
        };
        self.out.push(Effect::DropNext);
        self.out.push(Effect::Alarm(Alarm::Snapshot, None));
        for event in next.held {
            self.tell_ui(event);
        }
    }

    /// The server offers what runs: a successor of another bundle is not wanted any more.
    pub(super) fn running_is_wanted(&mut self) {
        let other = |next: &Successor| Some(next.sha256.as_str()) != self.ui.sha256();
        if self.ui.next.as_ref().is_some_and(other) {
            self.drop_successor();
        }
    }

    /// Returns whether what the visitor does reaches no UI for the moment.
    pub(super) fn holds_input(&self) -> bool {
        self.ui.next.as_ref().is_some_and(Successor::holds_input)
    }

    /// Hands what the visitor did to the UI, or holds it for the one that is taking over.
    pub(super) fn input_to_ui(&mut self, event: Event) {
        match &mut self.ui.next {
            Some(next) if next.holds_input() => {
                next.held.push(event);
                if next.held.len() > HELD {
                    self.drop_successor();
                }
            }
            _ => self.tell_ui(event),
        }
    }

    pub(super) fn successor_posted(&mut self, request: Request, now: Instant) {
        let Some(next) = &mut self.ui.next else {
            return;
        };
        let drew = matches!(request, Request::Frame(_));
        next.keep(request);
        match next.step {
            Step::Trial if drew => next.step = Step::Proven,
            Step::Handover | Step::Bare if drew => self.promote(now),
            _ => {}
        }
    }

    /// Begins to take over where the successor is ready and no dialog, menu or editor would be cut off.
    pub(super) fn advance_successor(&mut self, now: Instant) {
        let asking = self.dialog.is_some() || self.picker.is_some();
        let busy = self.away || asking || self.menu.is_some();
        match &mut self.ui.next {
            Some(next) if next.step == Step::Proven && !busy => next.step = Step::Saving,
            _ => return,
        }
        self.ask_for_state();
        let at = now.checked_add(SAVE_WAIT);
        self.out.push(Effect::Alarm(Alarm::Snapshot, at));
    }

    /// The running UI's state is as new as it will get.
    pub(super) fn state_came(&mut self, now: Instant) {
        let Some(next) = self.ui.next.as_ref() else {
            return;
        };
        if next.step == Step::Saving {
            self.hand_over(next.sha256.clone(), Step::Handover, now);
        }
    }

    fn hand_over(&mut self, sha256: String, step: Step, now: Instant) {
        self.start_behind(sha256, step);
        let at = now.checked_add(limits::LONG_CALL_WALL);
        self.out.push(Effect::Alarm(Alarm::Snapshot, at));
    }

    /// A step of the replacement was waited for long enough.
    pub(super) fn replacement_is_late(&mut self, now: Instant) {
        match self.ui.next.as_ref().map(|next| next.step) {
            Some(Step::Saving) => self.state_came(now),
            Some(Step::Handover | Step::Bare) => self.keep_old("it took too long", now),
            Some(Step::Trial | Step::Proven) | None => {}
        }
    }

    pub(super) fn successor_ended(&mut self, why: &str, now: Instant) {
        let Some(next) = self.ui.next.as_ref() else {
            return;
        };
        if next.step == Step::Handover {
            // It can start, so what it cannot read is the state: that is dropped, and nothing else.
            return self.hand_over(next.sha256.clone(), Step::Bare, now);
        }
        self.keep_old(why, now);
    }

    fn keep_old(&mut self, why: &str, now: Instant) {
        self.drop_successor();
        self.new_ui_failed(why, now);
    }

    /// Says why the UI that runs goes on running.
    pub(super) fn new_ui_failed(&mut self, why: &str, now: Instant) {
        let why = escape::visible_cut(why, REASON_COLUMNS);
        self.say(format!("new UI failed: {why}"), now);
    }

    /// The running UI ended by itself: whoever stands behind it has its place now.
    pub(super) fn succeed(&mut self, now: Instant) -> bool {
        match self.ui.next.as_ref() {
            Some(next) if matches!(next.step, Step::Handover | Step::Bare) => self.promote(now),
            Some(next) => {
                let sha256 = next.sha256.clone();
                self.start_ui(sha256, now);
            }
            None => return false,
        }
        true
    }

    fn promote(&mut self, now: Instant) {
        let Some(next) = self.ui.next.take() else {
            return;
        };
        let changed = self.ui.last() != Some(next.sha256.as_str());
        self.leave_to_another();
        self.out.push(Effect::Promote);
        self.ui.takes_place(next.instance, next.sha256, now);
        if next.size != ui_size(self.size) {
            self.tell_ui(Event::Resize(ui_size(self.size)));
        }
        self.welcome();
        for request in next.posts {
            self.posted(next.instance, request, now);
        }
        for event in next.held {
            self.tell_ui(event);
        }
        if next.step == Step::Bare {
            self.say("the new UI could not read what the old one had saved", now);
        } else if changed {
            self.say("UI changed", now);
        }
    }
}
