//! The state of the link: when to try again, when to stop, and what a UI that is not there yet must not miss.
//! It opens no sockets.

use std::time::{Duration, Instant};

use porthole_bridge::{Event, LinkState, limits};
use porthole_door::{LinkControl, Redeemer};

use super::{Admission, Alarm, App, DoorInput, Effect, Farewell, Page, Trouble, page::Giver};
use crate::{
    backoff,
    door::DoorError,
    escape,
    link::{LinkEvent, LinkHappening},
};

/// Frames kept for a UI that is still being made; one more and the connection starts over when it is there.
const HELD_FRAMES: usize = 16;
const REASON_COLUMNS: usize = 160;

/// Where the link stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    /// An attempt is being made for the first time.
    #[default]
    Connecting,
    /// Frames flow.
    Up,
    /// It is tried again.
    Down(DoorError),
    /// It is not tried again by itself.
    Ended,
}

/// What is known of the link.
#[derive(Default)]
pub(super) struct Connection {
    pub(super) epoch: u64,
    pub(super) standing: Standing,
    failures: u32,
    /// Whether the server has spoken since the launcher began.
    reached: bool,
    /// Whether the server was asked for its UI since the link was last down.
    pub(super) checked: bool,
    /// Frames of this connection that no UI has had.
    held: Vec<Vec<u8>>,
    /// Whether a UI has had frames of this connection: a successor needs one of its own.
    fed: bool,
    /// Whole seconds until the next attempt, where there are any.
    pub(super) left: Option<u64>,
}

impl App {
    /// Starts a connection under the next epoch.
    pub(super) fn connect(&mut self) {
        self.link.epoch += 1;
        self.link.held.clear();
        self.link.fed = false;
        self.stop_waiting();
        self.out.push(Effect::Connect(self.link.epoch));
    }

    pub(super) fn link_event(&mut self, event: LinkEvent, now: Instant) {
        if event.epoch != self.link.epoch {
            return;
        }
        match event.what {
            LinkHappening::Up => self.link_up(now),
            LinkHappening::Text(frame) => self.link_text(frame),
            LinkHappening::Control(control) => self.link_control(control, now),
            LinkHappening::Down(why) => self.link_down(why, now),
        }
    }

    fn link_up(&mut self, now: Instant) {
        if matches!(self.link.standing, Standing::Down(_)) {
            self.say("connected again", now);
        }
        self.link.standing = Standing::Up;
        self.dirty = true;
        let epoch = self.link.epoch;
        self.tell_link(LinkState::Up { epoch });
        if !self.ui.runs() && matches!(self.page, Some(Page::Trouble { .. })) {
            self.page = Some(Page::progress("asking the server for its UI"));
            self.out.push(Effect::Prepare(None));
        } else if self.ui.runs() && !self.link.checked {
            // The server may have come back with another UI.
            let running = self.ui.sha256().map(str::to_owned);
            self.out.push(Effect::Prepare(running));
        }
        self.link.checked = true;
    }

    fn link_text(&mut self, frame: Vec<u8>) {
        // A server that accepts and hangs up at once does not count as reached; one that speaks does.
        self.link.failures = 0;
        self.link.reached = true;
        if self.ui.runs() {
            self.link.fed = true;
            self.tell_ui(Event::Link(frame));
        } else if self.may_hold(&frame) {
            self.link.held.push(frame);
        } else {
            self.link.fed = true;
        }
    }

    fn may_hold(&self, frame: &[u8]) -> bool {
        let held: usize = self.link.held.iter().map(Vec::len).sum();
        self.link.held.len() < HELD_FRAMES && held + frame.len() <= limits::LINK_IN_BYTES
    }

    fn link_control(&mut self, control: LinkControl, now: Instant) {
        match control {
            LinkControl::BundleChanged { sha256 } => {
                if self.ui.sha256() != Some(sha256.as_str()) {
                    self.say("the server has a new UI", now);
                    let running = self.ui.sha256().map(str::to_owned);
                    self.out.push(Effect::Prepare(running));
                } else {
                    self.running_is_wanted();
                }
            }
            LinkControl::AccessEnded { reason, cause: _ } => {
                // Its words stand on a page of the launcher's, before a field: they must be known as its own.
                let said = escape::visible_cut(reason.trim_end_matches('.'), REASON_COLUMNS);
                self.access_ended(&format!("the server says: “{said}”"));
            }
            // The connection ends by itself; the next attempts find the new server.
            LinkControl::ShuttingDown => self.say("the server is shutting down", now),
        }
    }

    fn link_down(&mut self, why: DoorError, now: Instant) {
        // One more attempt that failed is no new loss.
        if self.link.standing == Standing::Up {
            self.withdraw("the connection to the server is gone");
            self.gesture.drop_it();
        }
        self.dirty = true;
        if self.link.standing == Standing::Ended {
            return;
        }
        self.link.checked = false;
        if why == DoorError::SignedOut {
            return self.access_ended("this computer is no longer admitted here");
        }
        if why == DoorError::Missing && matches!(self.admission.who, Redeemer::Guest { .. }) {
            return self.ask_fresh("what you were a guest of is not there any more");
        }
        let may_help = why.is_transient() || self.link.reached && why.may_pass();
        if !may_help {
            return self.link_ended(why);
        }
        self.link.failures += 1;
        let random = self.random.next();
        let wait = backoff::wait(self.link.failures, random, why.asked_wait());
        self.link.standing = Standing::Down(why);
        let at = now.checked_add(wait);
        self.out.push(Effect::Alarm(Alarm::Reconnect, at));
        self.count_down(wait, now);
        self.tell_link(LinkState::Down {
            retry_in_ms: millis(wait),
        });
    }

    /// Shows the seconds that are left, where there are whole ones.
    fn count_down(&mut self, wait: Duration, now: Instant) {
        let left = wait.as_secs();
        self.link.left = Some(left).filter(|left| *left > 0);
        let next = wait.saturating_sub(Duration::from_secs(left)) + Duration::from_secs(1);
        let at = self.link.left.and_then(|_| now.checked_add(next));
        self.out.push(Effect::Alarm(Alarm::Countdown, at));
    }

    /// A second is over.
    pub(super) fn counted(&mut self, now: Instant) {
        self.dirty = true;
        if let Some(left) = self.link.left {
            self.count_down(Duration::from_secs(left - 1), now);
        }
    }

    fn stop_waiting(&mut self) {
        self.link.left = None;
        self.out.push(Effect::Alarm(Alarm::Reconnect, None));
        self.out.push(Effect::Alarm(Alarm::Countdown, None));
    }

    /// After a sleep most links are dead and most waits are over.
    pub(super) fn woke(&mut self) {
        match self.link.standing {
            Standing::Up => self.out.push(Effect::Probe),
            Standing::Down(_) => {
                self.link.failures = 0;
                self.dirty = true;
                self.connect();
            }
            Standing::Connecting | Standing::Ended => {}
        }
    }

    fn link_ended(&mut self, why: DoorError) {
        self.link.standing = Standing::Ended;
        self.tell_link(LinkState::Ended {
            reason: why.to_string(),
        });
        self.page = Some(Page::trouble(&Trouble::Door(why)));
        self.menu = None;
    }

    /// The credential is worth nothing any more: it goes, and a fresh link is asked for.
    fn access_ended(&mut self, reason: &str) {
        if self.link.standing != Standing::Ended {
            self.out.push(Effect::ForgetCredential);
            self.ask_fresh(reason);
        }
    }

    /// A fresh link is asked for in the same place. The record stays: nobody said that the access ended.
    fn ask_fresh(&mut self, reason: &str) {
        self.link.standing = Standing::Ended;
        self.refuse_dialog("access ended");
        self.out.push(Effect::CancelTransfer);
        self.tell_link(LinkState::Ended {
            reason: reason.to_owned(),
        });
        self.stop_waiting();
        self.out.push(Effect::Disconnect);
        let from = match self.admission.who {
            Redeemer::Owner => Giver::Oneself,
            Redeemer::Guest { .. } => Giver::Owner,
        };
        self.page = Some(Page::ask_link(reason, from));
        self.menu = None;
        self.dirty = true;
    }

    pub(super) fn send_link(&mut self, frame: Vec<u8>) {
        // A UI that has not heard that the link is down may still send: the frame belongs to no connection.
        if self.link.standing == Standing::Up {
            self.out.push(Effect::SendLink(frame));
        }
    }

    /// Brings a UI that was just started up to date with the link.
    pub(super) fn feed_new_ui(&mut self) {
        if self.link.fed {
            self.out.push(Effect::Disconnect);
            self.link.standing = Standing::Connecting;
            return self.connect();
        }
        if self.link.standing == Standing::Up {
            let epoch = self.link.epoch;
            self.tell_link(LinkState::Up { epoch });
        }
        for frame in std::mem::take(&mut self.link.held) {
            self.link.fed = true;
            self.tell_ui(Event::Link(frame));
        }
    }

    pub(super) fn door(&mut self, input: DoorInput, now: Instant) {
        self.dirty = true;
        match input {
            DoorInput::Progress(text) => {
                if let Some(Page::Progress(shown)) = &mut self.page {
                    *shown = text;
                }
            }
            DoorInput::Unchanged => self.running_is_wanted(),
            DoorInput::Prepared(sha256) => self.prepared(sha256, now),
            DoorInput::NotPrepared(trouble) => self.not_prepared(trouble, now),
            DoorInput::Redeemed(admission) => self.redeemed(admission, now),
            DoorInput::RedeemFailed(why) => {
                if let Some(Page::AskLink(ask)) = &mut self.page {
                    ask.refused(why);
                }
            }
            DoorInput::SignedOut => self.quit(
                0,
                Some(Farewell {
                    message: "signed out".to_owned(),
                    hint: String::new(),
                }),
            ),
        }
    }

    fn not_prepared(&mut self, trouble: Trouble, now: Instant) {
        self.link.checked &= self.link.standing == Standing::Up;
        // Access is the link's to judge, and a UI that runs goes on running.
        if trouble == Trouble::Door(DoorError::SignedOut) {
            return self.access_ended("this computer is no longer admitted here");
        }
        if !self.ui.runs() && !matches!(self.page, Some(Page::AskLink(_))) {
            self.page = Some(Page::trouble(&trouble));
        } else if let (true, Trouble::Bundle(why)) = (self.ui.runs(), &trouble) {
            self.new_ui_failed(why, now);
        }
    }

    fn redeemed(&mut self, admission: Admission, now: Instant) {
        self.admission = admission;
        self.page = None;
        self.link.standing = Standing::Connecting;
        self.link.failures = 0;
        self.say("admitted again", now);
        self.connect();
        let running = self.ui.sha256().map(str::to_owned);
        if running.is_none() {
            self.page = Some(Page::progress("asking the server for its UI"));
        }
        self.out.push(Effect::Prepare(running));
    }
}

fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}
