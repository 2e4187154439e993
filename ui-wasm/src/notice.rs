//! The one place where something passing is told: a short line that goes away by itself.

/// How long a notice stays, in milliseconds.
const STAYS_MS: u64 = 6_000;

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Something was done.
    Done,
    /// Something to know.
    Info,
    /// Something did not work.
    Error,
}

/// The notice of the moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notice {
    current: Option<(Tone, String, u64)>,
}

impl Notice {
    /// Shows `text` instead of what was shown.
    pub(crate) fn say(&mut self, tone: Tone, text: impl Into<String>, now_ms: u64) {
        self.current = Some((tone, text.into(), now_ms + STAYS_MS));
    }

    /// Returns what is shown.
    pub(crate) fn shown(&self) -> Option<(Tone, &str)> {
        self.current
            .as_ref()
            .map(|(tone, text, _)| (*tone, text.as_str()))
    }

    /// Returns when it goes away, in milliseconds since the Unix epoch.
    pub(crate) fn until(&self) -> Option<u64> {
        self.current.as_ref().map(|(_, _, until)| *until)
    }

    /// Takes the notice away where its time is over; returns whether it did.
    pub(crate) fn expire(&mut self, now_ms: u64) -> bool {
        let over = self.until().is_some_and(|until| now_ms >= until);
        if over {
            self.current = None;
        }
        over
    }

    /// Takes the notice away where it tells an error: what came after it went well, or is another screen.
    pub(crate) fn clear_error(&mut self) {
        if matches!(self.current, Some((Tone::Error, _, _))) {
            self.current = None;
        }
    }

    /// Takes the notice away.
    pub(crate) fn clear(&mut self) {
        self.current = None;
    }
}
