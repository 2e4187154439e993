//! The one place where something passing is told: at most three short lines that go away by themselves, and a list of what
//! was told, in which the same stands once with how often it was.

use std::collections::VecDeque;

/// How long a success stays, in milliseconds.
const DONE_MS: u64 = 5_000;
/// How long something to know stays.
const INFO_MS: u64 = 6_000;
/// How long an error stays; it can be read again in the list.
const ERROR_MS: u64 = 20_000;
/// Lines shown at once.
const SHOWN: usize = 3;
/// Lines kept in the list.
const KEPT: usize = 50;

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

impl Tone {
    fn stays_ms(self) -> u64 {
        match self {
            Self::Done => DONE_MS,
            Self::Info => INFO_MS,
            Self::Error => ERROR_MS,
        }
    }
}

/// Something that was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// What it is about.
    pub(crate) tone: Tone,
    /// Its words.
    pub(crate) text: String,
    /// How many times.
    pub(crate) times: u32,
    /// When last, in milliseconds since the Unix epoch.
    pub(crate) at_ms: u64,
}

impl Told {
    /// Returns its words with how often it was told.
    pub(crate) fn words(&self) -> String {
        match self.times {
            0 | 1 => self.text.clone(),
            times => format!("{} ({times} times)", self.text),
        }
    }

    fn until_ms(&self) -> u64 {
        self.at_ms.saturating_add(self.tone.stays_ms())
    }
}

/// The notices of the moment, and those of before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notice {
    /// What is shown, the newest last.
    live: VecDeque<Told>,
    /// What was done and what did not work, the newest last.
    kept: VecDeque<Told>,
}

impl Notice {
    /// Shows `text`; the same again while it is the last one shown is counted.
    pub(crate) fn say(&mut self, tone: Tone, text: impl Into<String>, now_ms: u64) {
        let told = Told {
            tone,
            text: text.into(),
            times: 1,
            at_ms: now_ms,
        };
        if tone != Tone::Info {
            self.keep(told.clone());
        }
        match self.live.back_mut() {
            Some(last) if last.text == told.text => {
                last.times += 1;
                last.at_ms = now_ms;
            }
            _ => self.live.push_back(told),
        }
        if self.live.len() > SHOWN {
            self.live.pop_front();
        }
    }

    fn keep(&mut self, mut told: Told) {
        let same = |t: &Told| (t.tone, &t.text) == (told.tone, &told.text);
        if let Some(before) = self
            .kept
            .iter()
            .position(same)
            .and_then(|at| self.kept.remove(at))
        {
            told.times += before.times;
        }
        self.kept.push_back(told);
        if self.kept.len() > KEPT {
            self.kept.pop_front();
        }
    }

    /// Takes what is shown away; returns whether there was anything.
    pub(crate) fn dismiss(&mut self) -> bool {
        let any = !self.live.is_empty();
        self.live.clear();
        any
    }

    /// Returns what is shown, the newest last.
    pub(crate) fn shown(&self) -> impl DoubleEndedIterator<Item = &Told> {
        self.live.iter()
    }

    /// Returns what was done and what did not work, the newest first.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &Told> {
        self.kept.iter().rev()
    }

    /// Takes something out of the list; `None`: everything.
    pub(crate) fn forget(&mut self, text: Option<&str>) {
        self.kept
            .retain(|t| text.is_some_and(|text| t.text != text));
        self.live
            .retain(|t| text.is_some_and(|text| t.text != text));
    }

    /// Returns when the next line goes away, in milliseconds since the Unix epoch.
    pub(crate) fn until(&self) -> Option<u64> {
        self.live.iter().map(Told::until_ms).min()
    }

    /// Takes away whatever's time is over; returns whether there was anything.
    pub(crate) fn expire(&mut self, now_ms: u64) -> bool {
        let before = self.live.len();
        self.live.retain(|told| now_ms < told.until_ms());
        self.live.len() != before
    }

    /// Takes errors away: what came after them went well, or is another screen.
    pub(crate) fn clear_error(&mut self) {
        self.live.retain(|told| told.tone != Tone::Error);
    }

    /// Takes away what is shown.
    pub(crate) fn clear(&mut self) {
        self.live.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(notice: &Notice) -> Vec<String> {
        notice.shown().map(Told::words).collect()
    }

    #[test]
    fn the_same_again_is_counted_and_something_else_begins_anew() {
        let mut notice = Notice::default();
        for (text, last) in [
            ("a", "a"),
            ("a", "a (2 times)"),
            ("a", "a (3 times)"),
            ("b", "b"),
            ("a", "a"),
        ] {
            notice.say(Tone::Error, text, 0);
            assert_eq!(shown(&notice).last().map(String::as_str), Some(last));
        }
        assert_eq!(shown(&notice), ["a (3 times)", "b", "a"]);
        let kept: Vec<_> = notice.kept().map(Told::words).collect();
        assert_eq!(kept, ["a (4 times)", "b"]);
        assert!(notice.dismiss());
        assert!(!notice.dismiss());
        notice.say(Tone::Info, "a", 0);
        assert_eq!(shown(&notice), ["a"]);
    }

    #[test]
    fn a_success_goes_after_five_seconds_and_an_error_stays_longer_and_in_the_list() {
        let mut notice = Notice::default();
        notice.say(Tone::Error, "no", 0);
        notice.say(Tone::Done, "yes", 0);
        assert_eq!(notice.until(), Some(5_000));
        assert!(!notice.expire(4_999));
        assert!(notice.expire(5_000));
        assert_eq!(shown(&notice), ["no"]);
        assert!(notice.expire(20_000));
        assert_eq!(notice.kept().count(), 2);
        notice.forget(Some("no"));
        assert_eq!(notice.kept().count(), 1);
        notice.forget(None);
        assert_eq!(notice.kept().count(), 0);
    }

    #[test]
    fn three_are_shown_and_fifty_are_kept() {
        let mut notice = Notice::default();
        for at in 0..60 {
            notice.say(Tone::Done, at.to_string(), at);
        }
        assert_eq!(shown(&notice), ["57", "58", "59"]);
        assert_eq!(notice.kept().count(), 50);
    }
}
