//! What a handler may reach: the link, the notice, ids, the time, and the launcher's actions.
//! It only collects; the app posts it all at the end of the signal.

use porthole_bridge::Action;
use porthole_protocol::{Call, GuestMode, Role};

use crate::{
    ids::Ids,
    notice::{Notice, Tone},
    server::Server,
};

/// What an action was asked for, to know what its outcome means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Something whose end is told, e.g. a copy.
    Told,
    /// The draft is in the editor.
    Edit,
    /// Anything whose outcome is only told.
    Other,
}

/// What a handler may reach.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// The link.
    pub(crate) server: Server,
    /// The one passing line.
    pub(crate) notice: Notice,
    /// New ids.
    pub(crate) ids: Ids,
    /// Whether a model other than the built-in stand-in can be chosen.
    pub(crate) other_models: bool,
    /// Milliseconds since the Unix epoch.
    pub(crate) now_ms: u64,
    /// Actions whose outcome is awaited.
    pub(crate) awaited: Vec<(u64, Purpose)>,
    /// Actions to post.
    pub(crate) actions: Vec<(u64, Action)>,
}

impl Effects {
    /// Makes a call.
    pub(crate) fn call(&mut self, call: Call) {
        self.server.call(call);
    }

    /// Shows a notice.
    pub(crate) fn say(&mut self, tone: Tone, text: impl Into<String>) {
        self.notice.say(tone, text, self.now_ms);
    }

    /// Asks the launcher for an action.
    pub(crate) fn act(&mut self, action: Action, purpose: Purpose) {
        let id = self.ids.action();
        self.awaited.push((id, purpose));
        self.actions.push((id, action));
    }

    /// Returns what the action with this id was for, once.
    pub(crate) fn settle(&mut self, id: u64) -> Option<Purpose> {
        let at = self.awaited.iter().position(|(i, _)| *i == id)?;
        Some(self.awaited.remove(at).1)
    }

    /// Whether the visitor may send; as long as the server said nothing, yes: it decides anyway.
    pub(crate) fn may_send(&self) -> bool {
        !matches!(
            self.server.who().map(|w| &w.role),
            Some(Role::Guest {
                mode: GuestMode::View,
                ..
            })
        )
    }

    /// Whether the visitor may answer questions.
    pub(crate) fn may_answer(&self) -> bool {
        !matches!(
            self.server.who().map(|w| &w.role),
            Some(Role::Guest {
                may_approve: false,
                ..
            })
        )
    }

    /// Whether the visitor may change settings and sessions.
    pub(crate) fn is_owner(&self) -> bool {
        !matches!(self.server.who().map(|w| &w.role), Some(Role::Guest { .. }))
    }
}
