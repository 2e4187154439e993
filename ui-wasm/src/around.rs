//! What goes on around a conversation, in words: other sessions that wait for a person, conversations within it that work, and
//! who else is there. It draws nothing.

use porthole_protocol::{ChildRow, Presence, SessionId, SessionRow, SessionState, Standing};

use crate::{conversation::Conversation, home::Home, text};

/// What the screen of a conversation shows of the list of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Around {
    /// The row of its session.
    pub(crate) row: Option<SessionRow>,
    /// Other sessions that wait for a person.
    waiting: usize,
}

impl Around {
    /// Returns what is around a session.
    pub(crate) fn of(home: &Home, session: &SessionId) -> Self {
        let waits = |row: &&SessionRow| {
            let elsewhere = row.id != *session && !row.archived;
            elsewhere && matches!(row.state, SessionState::Waiting { .. })
        };
        Self {
            row: home.row(session).cloned(),
            waiting: home.rows().iter().filter(waits).count(),
        }
    }

    /// Returns what needs someone elsewhere, in words; empty where nothing does.
    pub(crate) fn words(&self) -> String {
        match self.waiting {
            0 => String::new(),
            1 => "another session needs you".to_owned(),
            waiting => format!("{waiting} other sessions need you"),
        }
    }
}

/// Returns how many conversations within this one are at work, in words; empty where none is.
pub(crate) fn background_words(conversation: &Conversation) -> String {
    let children = conversation.state.iter().flat_map(|state| &state.children);
    let works = |child: &&ChildRow| matches!(child.state, SessionState::Working { .. });
    match children.filter(works).count() {
        0 => String::new(),
        many => format!("{many} in the background"),
    }
}

/// Returns who else is in a session, in words; nobody checked the name of a guest.
pub(crate) fn others_words(presence: &Presence, me: &str) -> String {
    let others = presence.people.iter().filter(|person| person.id != me);
    let mut words: Vec<String> = others
        .map(|person| match person.standing {
            Standing::Owner => text::visible(&person.name).into_owned(),
            standing => format!("{} ({})", text::visible(&person.name), standing.label()),
        })
        .collect();
    if presence.more > 0 {
        words.push(format!("{} more", presence.more));
    }
    words.join(", ")
}
