//! Launcher pages: what stands in the UI's place while there is none, or while the launcher must be heard.
//! Plain data and words; the view draws them.

use super::Trouble;
use crate::escape;

/// Longest link that is typed or pasted, in bytes.
const FIELD_BYTES: usize = 1024;

/// What stands in the UI's place.
pub(super) enum Page {
    /// A UI is on its way; how far it is.
    Progress(String),
    /// A UI failed.
    Fault(Fault),
    /// There is no way on without doing something.
    Trouble { message: String, hint: String },
    /// A fresh link is needed.
    AskLink(AskLink),
}

/// A failed UI.
pub(super) struct Fault {
    pub(super) why: String,
    pub(super) failures: u32,
}

/// Who gives a fresh link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Giver {
    /// Oneself, at the server.
    Oneself,
    /// The owner of the session that one was a guest of.
    Owner,
}

impl Giver {
    /// Returns what to do, as the page says it.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Oneself => {
                "Make a fresh link on the server with `portholed link owner` and paste it here:"
            }
            Self::Owner => "Ask the owner of the session for a fresh link and paste it here:",
        }
    }

    /// Returns what to do later, as a hint.
    pub(super) fn hint(self) -> &'static str {
        match self {
            Self::Oneself => {
                "make one on the server with `portholed link owner` and run `porthole LINK`"
            }
            Self::Owner => "ask the owner of the session for one and run `porthole join`",
        }
    }
}

/// The field for a fresh link. Its text is a secret and shown as dots.
pub(super) struct AskLink {
    pub(super) reason: String,
    /// Who gives a fresh one.
    pub(super) from: Giver,
    pub(super) field: String,
    pub(super) note: String,
    pub(super) busy: bool,
}

impl Page {
    pub(super) fn progress(text: &str) -> Self {
        Self::Progress(text.to_owned())
    }

    pub(super) fn fault(why: String, failures: u32) -> Self {
        Self::Fault(Fault { why, failures })
    }

    pub(super) fn trouble(trouble: &Trouble) -> Self {
        match trouble {
            Trouble::Door(error) => Self::Trouble {
                message: error.to_string(),
                hint: error.hint().to_owned(),
            },
            Trouble::Bundle(sentence) => Self::Trouble {
                message: escape::visible_cut(sentence, 300),
                hint: "nothing of it runs; update server and launcher to the same version"
                    .to_owned(),
            },
        }
    }

    pub(super) fn ask_link(reason: &str, from: Giver) -> Self {
        Self::AskLink(AskLink {
            reason: reason.to_owned(),
            from,
            field: String::new(),
            note: String::new(),
            busy: false,
        })
    }
}

impl AskLink {
    /// Takes pasted text into the field; line ends around a link are nothing.
    pub(super) fn paste(&mut self, text: &str) {
        for char in text.trim().chars() {
            self.push(char);
        }
    }

    pub(super) fn push(&mut self, char: char) {
        if !self.busy && !char.is_control() && self.field.len() + char.len_utf8() <= FIELD_BYTES {
            self.field.push(char);
        }
    }

    pub(super) fn refused(&mut self, why: String) {
        self.field.clear();
        self.note = why;
        self.busy = false;
    }
}
