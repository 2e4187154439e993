//! Who else may in: share links, the people who came by them, the owner's devices, and who is here now.
//! What a link allows is told in the same words wherever one is made.

use serde::{Deserialize, Serialize};

use crate::{AccessId, GuestMode, Role, SessionId};

/// A share link, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Its id; it begins with `s-`.
    pub id: AccessId,
    /// The session.
    pub session: SessionId,
    /// What the owner calls it; may be empty.
    pub name: String,
    /// How much its guests may do.
    pub mode: GuestMode,
    /// Whether they may answer questions.
    pub may_approve: bool,
    /// Whether only the first who uses it comes in.
    pub once: bool,
    /// Whether it is used up; its guest stays.
    pub used: bool,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When it ends, and with it the access of its guests.
    pub expires_ms: u64,
    /// Who came by it, the oldest first.
    pub guests: Vec<Guest>,
}

/// Someone who came by a share link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guest {
    /// Their id; it begins with `g-`.
    pub id: AccessId,
    /// What they call themselves; nobody checked it.
    pub name: String,
    /// When they came first, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When they were last here.
    pub seen_ms: u64,
    /// Whether they are connected now.
    pub here: bool,
}

/// A device of the owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRow {
    /// Its id.
    pub id: AccessId,
    /// What it calls itself.
    pub name: String,
    /// When it used its link, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When it was last here.
    pub seen_ms: u64,
    /// From where it was last here: an address as the server saw it; may be empty.
    pub from: String,
    /// Whether it is connected now.
    pub here: bool,
    /// Whether it is the one that asks.
    pub this: bool,
}

/// Who is in a session now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presence {
    /// The owner first, then guests as they came; at most [`crate::limits::PRESENT_PEOPLE`].
    pub people: Vec<Person>,
    /// How many more there are.
    #[serde(default)]
    pub more: u32,
}

/// Someone who is in a session now, on however many screens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// Stable id: that of [`crate::Who`].
    pub id: String,
    /// Name to show. A guest's is what they call themselves: nobody checked it, so show it as such.
    pub name: String,
    /// What they may do.
    pub standing: Standing,
}

/// What someone who is here may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Everything.
    Owner,
    /// What their link says.
    Guest {
        /// How much.
        mode: GuestMode,
        /// Whether they may answer questions.
        may_approve: bool,
    },
}

impl Standing {
    /// Returns the standing of a role.
    pub fn of(role: &Role) -> Self {
        match role {
            Role::Owner => Self::Owner,
            Role::Guest {
                mode, may_approve, ..
            } => Self::Guest {
                mode: *mode,
                may_approve: *may_approve,
            },
        }
    }

    /// Returns whether the name is one that the server vouches for.
    pub fn is_verified(self) -> bool {
        self == Self::Owner
    }

    /// Returns the right in a word or two.
    pub fn label(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Guest { mode, may_approve } => match (mode, may_approve) {
                (GuestMode::View, false) => "view",
                (GuestMode::View, true) => "view, may approve",
                (GuestMode::Full, false) => "full",
                (GuestMode::Full, true) => "full, may approve",
            },
        }
    }
}

/// Returns what a share link allows, one sentence each; to be read before it is made.
pub fn share_words(mode: GuestMode, may_approve: bool, once: bool) -> Vec<&'static str> {
    let mut words = match mode {
        GuestMode::View => vec![
            "Guests can read this session and follow it live. They cannot send, stop or change anything.",
        ],
        GuestMode::Full => vec![
            "Guests can send, steer and stop, run commands with `!`, and upload files.",
            "This is a shell on your machine: what they run, runs as you, with your files and your keys.",
        ],
    };
    words.push(match may_approve {
        true => "They may answer in your place when the agent asks for permission.",
        false => "When the agent asks for permission, only you can answer.",
    });
    words.push(match once {
        true => "It works for the first person who uses it.",
        false => "It works for everyone who has it, until it expires or you revoke it.",
    });
    words.push("Other sessions, settings, models and links stay out of their reach.");
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_link_is_called_a_shell_and_a_view_link_is_not() {
        let text = |mode| share_words(mode, false, false).join(" ");
        assert!(text(GuestMode::Full).contains("shell on your machine"));
        assert!(!text(GuestMode::View).contains("shell"));
    }

    #[test]
    fn words_follow_every_choice() {
        let mut seen = std::collections::BTreeSet::new();
        for mode in [GuestMode::View, GuestMode::Full] {
            for (may_approve, once) in [(false, false), (false, true), (true, false), (true, true)]
            {
                seen.insert(share_words(mode, may_approve, once).join("\n"));
            }
        }
        assert_eq!(seen.len(), 8);
    }
}
