//! When to draw and when to be woken: the first change after rest is drawn at once, a burst from the server is drawn at
//! most once per tick, and where nothing moves there is no wake-up at all.

use super::App;
use porthole_bridge::Event;

/// The spacing of frames while the server sends a burst, in milliseconds.
const TICK_MS: u64 = 16;

/// What made the UI run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The server: it may come in bursts.
    Link,
    /// Anything else: it is answered at once.
    Other,
}

impl Cause {
    pub(super) fn of(event: &Event) -> Self {
        match event {
            Event::Link(_) => Self::Link,
            _ => Self::Other,
        }
    }
}

/// The wake-up that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Armed {
    /// A tick that spaces the frames of a burst.
    Tick,
    /// Something moves or ends then, in milliseconds since the Unix epoch.
    At(u64),
}

/// Keeps the pace.
#[derive(Debug, Default)]
pub(super) struct Pace {
    armed: Option<Armed>,
    /// A frame that the server caused was drawn in this call, so the next has to wait for a tick.
    burst: bool,
    /// This call is the wake-up of a tick.
    ticked: bool,
}

impl Pace {
    /// Takes a wake-up; returns whether it came to show how time went on.
    pub(super) fn woke(&mut self) -> bool {
        let armed = self.armed.take();
        self.ticked = armed == Some(Armed::Tick);
        matches!(armed, Some(Armed::At(_)))
    }

    /// Returns whether what changed is drawn now.
    pub(super) fn may_draw(&mut self, cause: Cause) -> bool {
        if cause == Cause::Link {
            if self.armed == Some(Armed::Tick) {
                return false;
            }
            self.burst = true;
        }
        // A tick that had something to draw is followed by another: the burst may go on.
        self.burst |= std::mem::take(&mut self.ticked);
        true
    }

    /// Returns the wake-up to ask for, where it is another than the last.
    pub(super) fn wake(
        &mut self,
        wanted: Option<u64>,
        owed: bool,
        now_ms: u64,
    ) -> Option<Option<u64>> {
        let burst = std::mem::take(&mut self.burst);
        self.ticked = false;
        if self.armed == Some(Armed::Tick) {
            return None;
        }
        if burst || owed {
            self.armed = Some(Armed::Tick);
            return Some(Some(TICK_MS));
        }
        match (wanted, self.armed) {
            (None, None) => None,
            (None, Some(_)) => {
                self.armed = None;
                Some(None)
            }
            (Some(wait), Some(Armed::At(at))) if at > now_ms && at <= now_ms + wait => None,
            (Some(wait), _) => {
                self.armed = Some(Armed::At(now_ms + wait));
                Some(Some(wait))
            }
        }
    }
}

impl App {
    /// Returns in how many milliseconds the screen changes by itself; `None`: never.
    pub(super) fn wanted_wake(&self, fetch: Option<u64>) -> Option<u64> {
        let notice = self
            .fx
            .notice
            .until()
            .map(|until| until.saturating_sub(self.fx.now_ms).max(100));
        let screen = self.open.as_ref().and_then(|key| self.screens.get(key));
        let answer = screen
            .and_then(|s| s.question.due_ms())
            .map(|due| due.saturating_sub(self.fx.now_ms).max(1));
        [self.moves_in(), notice, fetch, answer]
            .into_iter()
            .flatten()
            .min()
    }

    fn moves_in(&self) -> Option<u64> {
        let screen = self.open.as_ref().and_then(|key| self.screens.get(key))?;
        screen.state.as_ref()?;
        screen.transcript.wake_in()
    }
}
