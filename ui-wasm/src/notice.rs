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
    /// What was said, and how many times in a row.
    said: (String, u32),
}

impl Notice {
    /// Shows `text` instead of what was shown; the same again while it is shown is counted.
    pub(crate) fn say(&mut self, tone: Tone, text: impl Into<String>, now_ms: u64) {
        let text = text.into();
        let again = self.current.is_some() && self.said.0 == text;
        let times = if again { self.said.1 + 1 } else { 1 };
        let shown = match times {
            1 => text.clone(),
            times => format!("{text} ({times} times)"),
        };
        self.said = (text, times);
        self.current = Some((tone, shown, now_ms + STAYS_MS));
    }

    /// Takes the notice away; returns whether there was one.
    pub(crate) fn dismiss(&mut self) -> bool {
        self.current.take().is_some()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_again_is_counted_and_something_else_begins_anew() {
        let mut notice = Notice::default();
        for (text, shown) in [
            ("a", "a"),
            ("a", "a (2 times)"),
            ("a", "a (3 times)"),
            ("b", "b"),
            ("a", "a"),
        ] {
            notice.say(Tone::Error, text, 0);
            assert_eq!(notice.shown(), Some((Tone::Error, shown)));
        }
        assert!(notice.dismiss());
        assert!(!notice.dismiss());
        notice.say(Tone::Info, "a", 0);
        assert_eq!(notice.shown(), Some((Tone::Info, "a")));
    }
}
