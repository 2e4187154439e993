//! What may only happen to a session while it has no worker: being copied, being removed. Such jobs stand in one line per
//! session, and its worker is stopped before the first and not started before the last is done. It copies and removes nothing.

use porthole_protocol::{CallError, ErrorCode, RequestId, SessionId};
use porthole_worker::wire::{ConnectionId, ToWorker};

use super::{Effect, Switchboard, unknown_session, workers::Phase};
use crate::catalog::Session;

/// A session that is to begin as another one is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copying {
    /// Which is copied.
    pub from: SessionId,
    /// What the copy is.
    pub session: Session,
    /// The client's id of it.
    pub request: RequestId,
    /// Whose call it is.
    pub connection: ConnectionId,
    /// The client's id of the call.
    pub id: u64,
}

/// A job in a session's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// Copy it.
    Copy(Box<Copying>),
    /// Remove what was deleted at this time.
    Remove(u64),
}

impl Switchboard {
    /// Puts a copy in line, where the session rests: what is going on cannot go on twice.
    pub(super) fn copy(&mut self, copying: Box<Copying>, out: &mut Vec<Effect>) {
        let session = copying.from.clone();
        let refused = if self.home.get(&session).is_none() {
            Some(unknown_session())
        } else if self.down {
            Some(CallError::new(
                ErrorCode::Unavailable,
                "the server is shutting down",
            ))
        } else if self.workers.is_busy(&session) || !self.seats.calls_of(&session).is_empty() {
            let error = CallError::new(ErrorCode::Conflict, "this session is working");
            Some(error.hint("copy it when it is done, or stop it first"))
        } else {
            None
        };
        match refused {
            Some(error) => self.fail(copying.connection, copying.id, error, out),
            None => self.line_up(&session, Job::Copy(copying), out),
        }
    }

    /// The time in which a deleted session could be restored is over, unless it was.
    pub(super) fn remove_due(
        &mut self,
        session: &SessionId,
        deleted_ms: u64,
        out: &mut Vec<Effect>,
    ) {
        if !self.down && self.home.deleted_at(session) == Some(deleted_ms) {
            self.line_up(session, Job::Remove(deleted_ms), out);
        }
    }

    /// The job that was going on is done, or failed.
    pub(super) fn job_done(&mut self, session: &SessionId, out: &mut Vec<Effect>) {
        let worker = self.workers.entry(session);
        if worker.phase != Phase::Held {
            return;
        }
        worker.phase = Phase::Absent;
        self.go_on(session, out);
    }

    fn line_up(&mut self, session: &SessionId, job: Job, out: &mut Vec<Effect>) {
        let worker = self.workers.entry(session);
        worker.jobs.push_back(job);
        match worker.phase {
            Phase::Absent | Phase::Waiting => {
                worker.phase = Phase::Absent;
                self.go_on(session, out);
            }
            Phase::Starting | Phase::Ready => {
                worker.phase = Phase::Stopping;
                out.push(Effect::Tell {
                    session: session.clone(),
                    message: Box::new(ToWorker::Stop),
                });
            }
            Phase::Stopping | Phase::Held => {}
        }
    }

    /// No worker lives: the next job begins, or else a worker starts where one is wanted.
    pub(super) fn go_on(&mut self, session: &SessionId, out: &mut Vec<Effect>) {
        let worker = self.workers.entry(session);
        while let Some(job) = worker.jobs.pop_front() {
            let effect = match job {
                Job::Copy(copying) => Effect::Copy(copying),
                // It may have been restored while it stood in line.
                Job::Remove(deleted_ms) if self.home.forget(session, deleted_ms) => {
                    Effect::Remove {
                        session: session.clone(),
                        deleted_ms,
                    }
                }
                Job::Remove(_) => continue,
            };
            worker.phase = Phase::Held;
            return out.push(effect);
        }
        if self.is_wanted(session) {
            self.want_worker(session, out);
        }
    }

    /// Whether someone waits for a session's worker, or it has work to go on with.
    fn is_wanted(&mut self, session: &SessionId) -> bool {
        let can = self.can_work(session).is_ok();
        let watched = self.seats.watchers(session) > 0;
        let worker = self.workers.entry(session);
        can && (watched || worker.busy || !worker.queue.is_empty())
    }
}
