//! The home list: every session with what it is doing now, and the numbering of its changes. It stores nothing.

use std::collections::BTreeMap;

use porthole_protocol::{
    CallError, ErrorCode, Presence, Role, ServerFrame, SessionId, SessionRow, SessionState,
    SessionsDelta, Topic, TopicDelta, TopicState,
};
use porthole_worker::wire::Status;

use crate::{catalog::Session, sessions::visible_title};

/// The home list.
#[derive(Debug)]
pub struct Home {
    machine: String,
    epoch: u64,
    seq: u64,
    rows: BTreeMap<SessionId, Line>,
    /// Deleted, and not yet for good: in no list, and for everyone as if they were not there.
    deleted: BTreeMap<SessionId, Session>,
}

/// A session and what it is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// As kept.
    pub session: Session,
    /// What it is doing.
    pub state: SessionState,
    /// Who is in it.
    pub presence: Presence,
}

impl Home {
    /// Returns the list of `sessions`; those that were busy are about to go on.
    pub fn new(machine: String, epoch: u64, sessions: Vec<Session>) -> Self {
        let (deleted, sessions): (Vec<_>, Vec<_>) = sessions
            .into_iter()
            .partition(|session| session.deleted_ms.is_some());
        let line = |session: Session| {
            let state = match session.busy && !session.archived {
                true => SessionState::Working {
                    activity: "going on".to_owned(),
                },
                false => SessionState::Idle,
            };
            let presence = Presence::default();
            (
                session.id.clone(),
                Line {
                    session,
                    state,
                    presence,
                },
            )
        };
        Self {
            machine,
            epoch,
            seq: 0,
            rows: sessions.into_iter().map(line).collect(),
            deleted: deleted.into_iter().map(|s| (s.id.clone(), s)).collect(),
        }
    }

    /// Returns the line of a session.
    pub fn get(&self, id: &SessionId) -> Option<&Line> {
        self.rows.get(id)
    }

    /// Returns every line.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.rows.values()
    }

    /// Returns the session for work, or why it cannot work.
    ///
    /// # Errors
    /// Unknown, or put away.
    pub fn workable(&self, id: &SessionId) -> Result<&Line, CallError> {
        let line = self.rows.get(id).ok_or_else(unknown_session)?;
        if line.session.archived {
            return Err(
                CallError::new(ErrorCode::Conflict, "this session is archived")
                    .hint("restore it first"),
            );
        }
        Ok(line)
    }

    /// Returns a session that can still be restored.
    pub fn get_deleted(&self, id: &SessionId) -> Option<&Session> {
        self.deleted.get(id)
    }

    /// Returns those that can still be restored, and when each was deleted.
    pub fn deleted(&self) -> impl Iterator<Item = (&SessionId, u64)> {
        let at = |(id, session): (_, &Session)| Some((id, session.deleted_ms?));
        self.deleted.iter().filter_map(at)
    }

    /// Returns when a session was deleted that can still be restored.
    pub fn deleted_at(&self, id: &SessionId) -> Option<u64> {
        self.deleted.get(id)?.deleted_ms
    }

    /// Lets go of a session that was deleted then; returns whether there was one.
    pub fn forget(&mut self, id: &SessionId, deleted_ms: u64) -> bool {
        let is_it = self.deleted_at(id) == Some(deleted_ms);
        is_it && self.deleted.remove(id).is_some()
    }

    /// Puts a session in, or its kept part in place of the old one; one that is deleted leaves the list.
    pub fn put(&mut self, mut session: Session) -> ServerFrame {
        let id = session.id.clone();
        if session.deleted_ms.is_some() {
            if let Some(line) = self.rows.remove(&id) {
                session.opened |= line.session.opened;
            }
            self.deleted.insert(id.clone(), session);
            return self.delta(&id);
        }
        if let Some(before) = self.deleted.remove(&id) {
            session.opened |= before.opened;
        }
        match self.rows.get_mut(&id) {
            Some(line) => {
                // A worker may have become ready since this was read.
                session.opened |= line.session.opened;
                line.session = session;
            }
            None => {
                let line = Line {
                    session,
                    state: SessionState::Idle,
                    presence: Presence::default(),
                };
                self.rows.insert(id.clone(), line);
            }
        }
        self.delta(&id)
    }

    /// Changes what a session is doing; `None` where nothing changed.
    pub fn set_state(&mut self, id: &SessionId, state: SessionState) -> Option<ServerFrame> {
        let line = self.rows.get_mut(id)?;
        if line.state == state {
            return None;
        }
        line.state = state;
        Some(self.delta(id))
    }

    /// Changes who is in a session; `None` where nothing changed.
    pub fn set_presence(&mut self, id: &SessionId, presence: Presence) -> Option<ServerFrame> {
        let line = self.rows.get_mut(id)?;
        if line.presence == presence {
            return None;
        }
        line.presence = presence;
        Some(self.delta(id))
    }

    /// Notes that a session's store is there; returns what is kept of it where that is new.
    pub fn opened(&mut self, id: &SessionId) -> Option<Session> {
        let kept = &mut self.rows.get_mut(id)?.session;
        let is_new = !std::mem::replace(&mut kept.opened, true);
        is_new.then(|| kept.clone())
    }

    /// Takes a worker's status; returns the change, and the session where what is kept of it changed.
    pub fn take_status(
        &mut self,
        id: &SessionId,
        status: Status,
        seen: bool,
    ) -> (Option<ServerFrame>, Option<Session>) {
        let Some(line) = self.rows.get_mut(id) else {
            return (None, None);
        };
        let before = line.clone();
        let kept = &mut line.session;
        if let Some(title) = status
            .suggested_title
            .filter(|t| !kept.title_given && !t.is_empty())
        {
            kept.title = visible_title(&title);
        }
        kept.busy = matches!(
            status.state,
            SessionState::Working { .. } | SessionState::Waiting { .. }
        );
        kept.unread |= status.answered && !seen;
        kept.updated_ms = kept.updated_ms.max(status.updated_ms);
        line.state = status.state;
        if *line == before {
            return (None, None);
        }
        // The time alone is not worth a write: it is written with the end of the work at the latest.
        let mut timeless = line.session.clone();
        timeless.updated_ms = before.session.updated_ms;
        let save = (timeless != before.session).then(|| line.session.clone());
        (Some(self.delta(id)), save)
    }

    /// Returns the whole list, for a guest the one session.
    pub fn snapshot(&self, role: &Role) -> ServerFrame {
        let rows = match role {
            Role::Owner => self.rows.values().map(|line| self.row(line)).collect(),
            Role::Guest { session, .. } => self
                .rows
                .get(session)
                .map(|line| self.row(line))
                .into_iter()
                .collect(),
        };
        ServerFrame::Snapshot {
            topic: Topic::Sessions,
            epoch: self.epoch,
            seq: self.seq,
            state: TopicState::Sessions(rows),
        }
    }

    fn delta(&mut self, id: &SessionId) -> ServerFrame {
        self.seq += 1;
        let delta = match self.rows.get(id) {
            Some(line) => SessionsDelta::Row {
                row: Box::new(self.row(line)),
            },
            None => SessionsDelta::Gone { id: id.clone() },
        };
        ServerFrame::Delta {
            topic: Topic::Sessions,
            epoch: self.epoch,
            seq: self.seq,
            delta: TopicDelta::Sessions(delta),
        }
    }

    fn row(&self, line: &Line) -> SessionRow {
        SessionRow {
            id: line.session.id.clone(),
            title: line.session.title.clone(),
            machine: self.machine.clone(),
            dir: line.session.dir.clone(),
            created_ms: line.session.created_ms,
            updated_ms: line.session.updated_ms,
            pinned: line.session.pinned,
            archived: line.session.archived,
            state: line.state.clone(),
            unread: line.session.unread,
            presence: line.presence.clone(),
        }
    }
}

/// The one answer for sessions that are not there and for those a guest may not know of.
pub fn unknown_session() -> CallError {
    CallError::new(ErrorCode::NotFound, "there is no such session")
        .hint("choose one in the list of sessions; `portholed sessions` shows it too")
}
