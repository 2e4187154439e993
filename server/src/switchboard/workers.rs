//! The lives of the workers: when one is started, what waits for it, how often it may crash. It starts no process.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use axum::extract::ws::Utf8Bytes;
use porthole_protocol::{CallError, ErrorCode, ServerFrame, SessionId, SessionState, Topic};
use porthole_worker::{
    Kept,
    wire::{ConnectionId, FromWorker, ToWorker},
};

use crate::permit::{Access, Act, Asker, permit};

use super::{Effect, Lane, Line, Switchboard, failed, jobs::Job, send};

/// A worker that lived shorter than this crashed quickly.
const QUICK: Duration = Duration::from_secs(60);
/// Quick crashes in a row after which only a person starts it again.
const QUICK_CRASHES: u32 = 3;
/// The waiting time after the first crash; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// Every worker that lives or is waited for.
#[derive(Debug, Default)]
pub(super) struct Workers(BTreeMap<SessionId, Worker>);

#[derive(Debug, Default)]
pub(super) struct Worker {
    pub(super) phase: Phase,
    generation: u64,
    pub(super) queue: VecDeque<Box<ToWorker>>,
    /// What is done before it starts again.
    pub(super) jobs: VecDeque<Job>,
    quick_crashes: u32,
    watchers: u32,
    pub(super) busy: bool,
    /// Which settings it was started with, or newer ones.
    settings: u64,
}

/// Where a worker is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// There is none.
    #[default]
    Absent,
    /// It is about to be there, or opens the store.
    Starting,
    /// It answers.
    Ready,
    /// It was told to stop.
    Stopping,
    /// It crashed; the next starts after a while.
    Waiting,
    /// There is none, and may be none while a job goes on.
    Held,
}

impl Workers {
    pub(super) fn living(&self) -> usize {
        let lives =
            |w: &&Worker| matches!(w.phase, Phase::Starting | Phase::Ready | Phase::Stopping);
        self.0.values().filter(lives).count()
    }

    pub(super) fn is_ready(&self, session: &SessionId) -> bool {
        self.0.get(session).is_some_and(|w| w.phase == Phase::Ready)
    }

    /// Returns those that can be told something.
    pub(super) fn ready(&self) -> Vec<SessionId> {
        let ready = self.0.iter().filter(|(_, w)| w.phase == Phase::Ready);
        ready.map(|(id, _)| id.clone()).collect()
    }

    pub(super) fn set_busy(&mut self, session: &SessionId, busy: bool) {
        self.entry(session).busy = busy;
    }

    pub(super) fn is_busy(&self, session: &SessionId) -> bool {
        self.0.get(session).is_some_and(|w| w.busy)
    }

    /// Returns the message where the worker can take it now; else it waits.
    pub(super) fn offer(
        &mut self,
        session: &SessionId,
        message: Box<ToWorker>,
    ) -> Option<Box<ToWorker>> {
        let worker = self.entry(session);
        if worker.phase == Phase::Ready {
            return Some(message);
        }
        worker.queue.push_back(message);
        None
    }

    /// Drops what waits of a connection: whoever asked may no longer.
    pub(super) fn forget_calls(&mut self, of: ConnectionId) {
        for worker in self.0.values_mut() {
            worker.queue.retain(
                |message| !matches!(&**message, ToWorker::Call { connection, .. } if *connection == of),
            );
        }
    }

    /// Marks those that live as stopping; returns them.
    pub(super) fn stop_all(&mut self) -> Vec<SessionId> {
        let lives =
            |w: &Worker| matches!(w.phase, Phase::Starting | Phase::Ready | Phase::Stopping);
        let mut stopped = Vec::new();
        for (id, worker) in self.0.iter_mut().filter(|(_, w)| lives(w)) {
            worker.phase = Phase::Stopping;
            stopped.push(id.clone());
        }
        stopped
    }

    pub(super) fn entry(&mut self, session: &SessionId) -> &mut Worker {
        self.0.entry(session.clone()).or_default()
    }

    fn is(&self, session: &SessionId, generation: u64) -> bool {
        self.0
            .get(session)
            .is_some_and(|w| w.generation == generation)
    }
}

impl Switchboard {
    /// Starts a worker where none lives or is about to.
    pub(super) fn want_worker(&mut self, session: &SessionId, out: &mut Vec<Effect>) {
        let version = self.settings.version();
        let worker = self.workers.entry(session);
        if worker.phase == Phase::Absent && !self.down {
            worker.phase = Phase::Starting;
            worker.settings = version;
            out.push(Effect::Start(session.clone()));
        }
    }

    /// Notes which life it is. Who was to stop before it was there is told so now.
    pub(super) fn worker_born(
        &mut self,
        session: &SessionId,
        generation: u64,
        out: &mut Vec<Effect>,
    ) {
        let worker = self.workers.entry(session);
        worker.generation = generation;
        if worker.phase != Phase::Starting {
            out.push(Effect::Tell {
                session: session.clone(),
                message: Box::new(ToWorker::Stop),
            });
        }
    }

    pub(super) fn start_due(&mut self, session: &SessionId, out: &mut Vec<Effect>) {
        let worker = self.workers.entry(session);
        if worker.phase == Phase::Waiting {
            worker.phase = Phase::Absent;
            self.want_worker(session, out);
        }
    }

    pub(super) fn tell_watch(
        &self,
        session: &SessionId,
        connection: ConnectionId,
        topic: Topic,
        out: &mut Vec<Effect>,
    ) {
        if let Some(who) = self.seats.who(connection).cloned() {
            let message = Box::new(ToWorker::Watch {
                connection,
                who,
                topic,
            });
            out.push(Effect::Tell {
                session: session.clone(),
                message,
            });
        }
    }

    /// Tells a worker how many watch, where that changed.
    pub(super) fn tell_watchers(&mut self, session: &SessionId, out: &mut Vec<Effect>) {
        let count = self.seats.watchers(session);
        if !self.workers.is_ready(session) {
            return;
        }
        let worker = self.workers.entry(session);
        if worker.watchers != count {
            worker.watchers = count;
            let message = Box::new(ToWorker::Watchers { count });
            out.push(Effect::Tell {
                session: session.clone(),
                message,
            });
        }
    }

    pub(super) fn worker_said(
        &mut self,
        session: &SessionId,
        generation: u64,
        message: FromWorker,
        body: Utf8Bytes,
        out: &mut Vec<Effect>,
    ) {
        // Of this session, and of it alone: `is_of` and the pending calls see to that below.
        let may = permit(Act::Report, Asker::Worker) == Access::Yes;
        if !may || !self.workers.is(session, generation) {
            return;
        }
        match message {
            FromWorker::Ready => self.worker_ready(session, out),
            FromWorker::OpenFailed { error } => self.give_up(session, &error, out),
            FromWorker::Reply { connection, id } => self.reply(session, connection, id, body, out),
            FromWorker::Snapshot { connection, topic } => {
                self.snapshot(session, connection, topic, body, out)
            }
            FromWorker::WatchFailed {
                connection,
                topic,
                error,
            } => self.watch_failed(connection, topic, error, out),
            FromWorker::Delta { topic } => self.delta(session, topic, &body, out),
            FromWorker::Status(status) => self.status(session, status, out),
            FromWorker::Idle => self.idle(session, out),
            FromWorker::Committed { .. } => out.push(Effect::Index(session.clone())),
            FromWorker::Entries { ask, last, more } => out.push(Effect::Entries {
                session: session.clone(),
                ask,
                kept: Box::new(Kept {
                    json: body.as_str().to_owned(),
                    last,
                    more,
                }),
            }),
        }
    }

    fn worker_ready(&mut self, session: &SessionId, out: &mut Vec<Effect>) {
        let worker = self.workers.entry(session);
        if worker.phase != Phase::Starting {
            return;
        }
        worker.phase = Phase::Ready;
        worker.watchers = 0;
        // Before anything is asked of it: from now on its store has to be there.
        if let Some(kept) = self.home.opened(session) {
            out.push(Effect::Save(Box::new(kept)));
        }
        if worker.settings != self.settings.version() {
            out.push(self.settings_for(session.clone()));
        }
        let worker = self.workers.entry(session);
        for message in std::mem::take(&mut worker.queue) {
            out.push(Effect::Tell {
                session: session.clone(),
                message,
            });
        }
        for (connection, topic) in self.seats.watches_of(session) {
            self.tell_watch(session, connection, topic, out);
        }
        self.tell_watchers(session, out);
    }

    /// Only calls of this session are answered by its worker, whatever it says.
    fn reply(
        &mut self,
        session: &SessionId,
        connection: ConnectionId,
        id: u64,
        frame: Utf8Bytes,
        out: &mut Vec<Effect>,
    ) {
        if self.seats.calls_of(session).contains(&(connection, id)) {
            self.seats.end_call(connection, id);
            out.push(Effect::Send {
                connection,
                lane: Lane::Must,
                frame,
            });
        }
    }

    fn snapshot(
        &mut self,
        session: &SessionId,
        connection: ConnectionId,
        topic: Topic,
        frame: Utf8Bytes,
        out: &mut Vec<Effect>,
    ) {
        if is_of(&topic, session) && self.seats.got_snapshot(connection, &topic) {
            out.push(Effect::Send {
                connection,
                lane: Lane::Topic(topic),
                frame,
            });
        }
    }

    fn watch_failed(
        &mut self,
        connection: ConnectionId,
        topic: Topic,
        error: CallError,
        out: &mut Vec<Effect>,
    ) {
        if self.seats.unwatch(connection, &topic) {
            send(
                connection,
                Lane::Must,
                &ServerFrame::Ended { topic, error },
                out,
            );
        }
    }

    fn delta(
        &mut self,
        session: &SessionId,
        topic: Topic,
        frame: &Utf8Bytes,
        out: &mut Vec<Effect>,
    ) {
        if !is_of(&topic, session) {
            return;
        }
        out.extend(self.seats.live(&topic).map(|(connection, _)| Effect::Send {
            connection,
            lane: Lane::Topic(topic.clone()),
            frame: frame.clone(),
        }));
    }

    fn status(
        &mut self,
        session: &SessionId,
        status: porthole_worker::wire::Status,
        out: &mut Vec<Effect>,
    ) {
        let busy = matches!(
            status.state,
            SessionState::Working { .. } | SessionState::Waiting { .. }
        );
        self.workers.set_busy(session, busy);
        let failure = match &status.state {
            SessionState::Failed { reason } => Some(failed(reason)),
            _ => None,
        };
        let seen = self.seats.watchers(session) > 0;
        let (delta, save) = self.home.take_status(session, status, seen);
        if let Some(kept) = save {
            out.push(Effect::Save(Box::new(kept)));
        }
        if let Some(delta) = delta {
            self.publish(session, &delta, out);
        }
        // Its worker lives, but what it shows is not what is kept: whoever watches is told why and begins anew.
        if let Some(error) = failure {
            self.end_watches(session, &error, out);
            self.tell_watchers(session, out);
        }
    }

    fn idle(&mut self, session: &SessionId, out: &mut Vec<Effect>) {
        let wanted = self.seats.watchers(session) > 0 || !self.seats.calls_of(session).is_empty();
        let worker = self.workers.entry(session);
        if worker.phase == Phase::Ready && !worker.busy && !wanted {
            worker.phase = Phase::Stopping;
            out.push(Effect::Tell {
                session: session.clone(),
                message: Box::new(ToWorker::Stop),
            });
        }
    }

    pub(super) fn halt(&mut self, session: &SessionId, error: &CallError, out: &mut Vec<Effect>) {
        let worker = self.workers.entry(session);
        worker.queue.clear();
        worker.busy = false;
        match worker.phase {
            Phase::Starting | Phase::Ready => {
                worker.phase = Phase::Stopping;
                out.push(Effect::Tell {
                    session: session.clone(),
                    message: Box::new(ToWorker::Stop),
                });
            }
            Phase::Waiting => worker.phase = Phase::Absent,
            Phase::Absent | Phase::Stopping | Phase::Held => {}
        }
        self.set_state(session, SessionState::Idle, out);
        self.end_all(session, error, out);
    }

    pub(super) fn retry(&mut self, session: &SessionId, out: &mut Vec<Effect>) {
        self.workers.entry(session).quick_crashes = 0;
        let failed = |line: &Line| matches!(line.state, SessionState::Failed { .. });
        if self.home.get(session).is_some_and(failed) {
            self.set_state(session, SessionState::Idle, out);
        }
        self.want_worker(session, out);
    }

    pub(super) fn worker_gone(
        &mut self,
        session: &SessionId,
        generation: Option<u64>,
        reason: &str,
        lived: Duration,
        out: &mut Vec<Effect>,
    ) {
        if generation.is_some_and(|generation| !self.workers.is(session, generation)) {
            return;
        }
        let worker = self.workers.entry(session);
        let phase = std::mem::take(&mut worker.phase);
        // What it committed last may not have been told.
        out.push(Effect::Index(session.clone()));
        self.seats.restart_watches(session);
        match phase {
            Phase::Stopping => self.stopped(session, out),
            Phase::Starting | Phase::Ready => self.crashed(session, reason, lived, out),
            Phase::Absent | Phase::Waiting => {}
            Phase::Held => self.workers.entry(session).phase = Phase::Held,
        }
    }

    /// It was told to stop; what came in since needs another life.
    fn stopped(&mut self, session: &SessionId, out: &mut Vec<Effect>) {
        let sent: Vec<_> = self.unqueued_calls(session);
        self.fail_calls(sent, out);
        self.go_on(session, out);
    }

    /// Returns the pending calls that the worker had been given.
    fn unqueued_calls(&mut self, session: &SessionId) -> Vec<(ConnectionId, u64)> {
        let queue = &self.workers.entry(session).queue;
        let queued = |call: &(ConnectionId, u64)| {
            queue.iter().any(|message| {
                matches!(&**message, ToWorker::Call { connection, id, .. } if (*connection, *id) == *call)
            })
        };
        let calls = self.seats.calls_of(session);
        calls.into_iter().filter(|call| !queued(call)).collect()
    }

    fn fail_calls(&mut self, calls: Vec<(ConnectionId, u64)>, out: &mut Vec<Effect>) {
        for (connection, id) in calls {
            let error = CallError::new(ErrorCode::Unavailable, "the session's worker ended")
                .hint("send it again: the same request happens once");
            self.fail(connection, id, error, out);
        }
    }

    fn crashed(
        &mut self,
        session: &SessionId,
        reason: &str,
        lived: Duration,
        out: &mut Vec<Effect>,
    ) {
        let watched = self.seats.watchers(session) > 0;
        let worker = self.workers.entry(session);
        worker.queue.clear();
        worker.quick_crashes = if lived < QUICK {
            worker.quick_crashes + 1
        } else {
            1
        };
        let (crashes, busy) = (worker.quick_crashes, worker.busy);
        if crashes >= QUICK_CRASHES {
            return self.give_up(
                session,
                &CallError::new(ErrorCode::Unavailable, reason),
                out,
            );
        }
        let calls = self.seats.calls_of(session);
        let wanted = watched || busy || !calls.is_empty();
        self.fail_calls(calls, out);
        if wanted {
            self.workers.entry(session).phase = Phase::Waiting;
            let after = FIRST_WAIT * 2u32.pow(crashes - 1);
            out.push(Effect::StartLater {
                session: session.clone(),
                after,
            });
        } else {
            self.set_state(session, SessionState::Idle, out);
        }
    }

    /// It stays failed until a person says otherwise; whoever waits is told why.
    fn give_up(&mut self, session: &SessionId, error: &CallError, out: &mut Vec<Effect>) {
        let worker = self.workers.entry(session);
        worker.queue.clear();
        worker.quick_crashes = 0;
        if worker.phase != Phase::Absent {
            // It ends by itself; being told so bounds how long that may take.
            worker.phase = Phase::Stopping;
            let message = Box::new(ToWorker::Stop);
            out.push(Effect::Tell {
                session: session.clone(),
                message,
            });
        }
        let reason = match error.hint.as_str() {
            "" => error.message.clone(),
            hint => format!("{} ({hint})", error.message),
        };
        self.set_state(
            session,
            SessionState::Failed {
                reason: reason.clone(),
            },
            out,
        );
        self.end_all(session, &failed(&reason), out);
    }

    fn end_all(&mut self, session: &SessionId, error: &CallError, out: &mut Vec<Effect>) {
        for (connection, id) in self.seats.calls_of(session) {
            self.fail(connection, id, error.clone(), out);
        }
        self.end_watches(session, error, out);
    }

    fn end_watches(&mut self, session: &SessionId, error: &CallError, out: &mut Vec<Effect>) {
        for (connection, topic) in self.seats.watches_of(session) {
            self.seats.unwatch(connection, &topic);
            self.presence_changed(session, out);
            send(
                connection,
                Lane::Must,
                &ServerFrame::Ended {
                    topic,
                    error: error.clone(),
                },
                out,
            );
        }
    }
}

fn is_of(topic: &Topic, session: &SessionId) -> bool {
    matches!(topic, Topic::Conversation { session: of, .. } if of == session)
}
