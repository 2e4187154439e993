//! Who is connected, who watches what, which worker lives, and where every message goes: a state machine that takes an
//! input and returns effects. It opens no socket, starts no process, reads no clock and stores nothing.

mod event;
mod home;
mod jobs;
mod looks;
mod presence;
mod seats;
mod settings;
mod workers;

#[cfg(test)]
mod lives;
#[cfg(test)]
mod pair;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::ws::Utf8Bytes;
use porthole_door::{AccessCause, LinkControl};
use porthole_protocol::{
    AccessId, Call, CallError, ClientFrame, ErrorCode, Looks, PROTOCOL_VERSION, Role, ServerFrame,
    SessionId, SessionState, Settings, Topic, Who, encode, limits,
};
use porthole_worker::wire::{ConnectionId, ToWorker};
use serde_json::value::RawValue;

pub use event::{Effect, Input};
pub use home::{Home, Line, unknown_session};
pub use jobs::Copying;

use crate::{
    catalog::Session,
    outbox::Lane,
    pass::{Pass, Whose},
    permit::{Access, permit_call, permit_watch, session_of},
};
use seats::Seats;
use workers::Workers;

/// The state of it all.
#[derive(Debug)]
pub struct Switchboard {
    home: Home,
    seats: Seats,
    workers: Workers,
    machine: String,
    present: presence::Due,
    /// The home directory of whoever the server runs as, to show paths shorter.
    home_dir: String,
    settings: settings::Board,
    looks: looks::Shown,
    down: bool,
}

/// Counts, for the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Sessions that are not archived.
    pub sessions: usize,
    /// Archived sessions.
    pub archived: usize,
    /// Workers that live.
    pub workers: usize,
    /// Connections.
    pub connections: usize,
}

impl Switchboard {
    /// Returns the state at the server's start; `epoch` tells this life of the home list from others.
    pub fn new(machine: String, epoch: u64, sessions: Vec<Session>) -> Self {
        Self {
            home: Home::new(machine.clone(), epoch, sessions),
            seats: Seats::default(),
            workers: Workers::default(),
            machine,
            present: presence::Due::default(),
            home_dir: String::new(),
            settings: settings::Board::new(epoch),
            looks: looks::Shown::new(epoch),
            down: false,
        }
    }

    /// Returns it with a home directory to tell clients of.
    #[must_use]
    pub fn at_home(mut self, dir: String) -> Self {
        self.home_dir = dir;
        self
    }

    /// Returns the home list.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Returns the settings that hold.
    pub fn settings(&self) -> &Settings {
        self.settings.settings()
    }

    /// Returns how many of everything there are.
    pub fn counts(&self) -> Counts {
        let archived = self
            .home
            .lines()
            .filter(|line| line.session.archived)
            .count();
        Counts {
            sessions: self.home.lines().count() - archived,
            archived,
            workers: self.workers.living(),
            connections: self.seats.len(),
        }
    }

    /// Returns the ids of devices and guests that are connected.
    pub fn passes(&self) -> BTreeSet<AccessId> {
        self.seats.passes()
    }

    /// Takes what happened; returns what is to be done, in order.
    pub fn handle(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        let out = &mut effects;
        match input {
            Input::Start => self.resume(out),
            Input::Opened {
                connection,
                who,
                pass,
            } => self.opened(connection, who, pass, out),
            Input::Closed { connection } => self.closed(connection, out),
            Input::Frame { connection, frame } => self.frame(connection, frame, out),
            Input::Unreadable { connection, id } => unreadable(connection, id, out),
            Input::Refresh { connection, topic } => self.refresh(connection, topic, out),
            Input::Answered {
                connection,
                id,
                result,
            } => self.answer(connection, id, result, out),
            Input::Kept(session) => self.kept(*session, out),
            Input::Retry(session) => self.retry(&session, out),
            Input::Halt { session, error } => self.halt(&session, &error, out),
            Input::Copy(copying) => self.copy(copying, out),
            Input::RemoveDue {
                session,
                deleted_ms,
            } => self.remove_due(&session, deleted_ms, out),
            Input::JobDone(session) => self.job_done(&session, out),
            Input::Worker {
                session,
                generation,
                message,
                body,
            } => self.worker_said(&session, generation, *message, body, out),
            Input::WorkerBorn {
                session,
                generation,
            } => self.worker_born(&session, generation, out),
            Input::WorkerGone {
                session,
                generation,
                reason,
                lived,
            } => self.worker_gone(&session, generation, &reason, lived, out),
            Input::StartDue(session) => self.start_due(&session, out),
            Input::AccessEnded {
                whose,
                cause,
                reason,
            } => self.access_ended(&whose, cause, &reason, out),
            Input::Settings(state) => self.settings_changed(*state, out),
            Input::PresenceDue(session) => self.presence_due(&session, out),
            Input::BundleChanged { sha256 } => {
                self.tell_all(&LinkControl::BundleChanged { sha256 }, out)
            }
            Input::Looks(looks) => self.looks_changed(*looks, out),
            Input::ShutDown => self.shut_down(out),
        }
        effects
    }

    fn resume(&mut self, out: &mut Vec<Effect>) {
        for (session, deleted_ms) in self.home.deleted() {
            out.push(remove_later(session.clone(), deleted_ms));
        }
        let busy = |line: &&Line| line.session.busy && !line.session.archived;
        let ids: Vec<_> = self
            .home
            .lines()
            .filter(busy)
            .map(|line| line.session.id.clone())
            .collect();
        for id in ids {
            self.workers.set_busy(&id, true);
            self.want_worker(&id, out);
        }
    }

    fn opened(&mut self, connection: ConnectionId, who: Who, pass: Pass, out: &mut Vec<Effect>) {
        let hello = ServerFrame::Hello {
            protocol: PROTOCOL_VERSION,
            server: env!("CARGO_PKG_VERSION").to_owned(),
            machine: self.machine.clone(),
            who: who.clone(),
            home: self.home_dir.clone(),
        };
        self.seats.open(connection, who, pass);
        send(connection, Lane::Must, &hello, out);
    }

    fn closed(&mut self, connection: ConnectionId, out: &mut Vec<Effect>) {
        for session in self.seats.close(connection) {
            self.tell_watchers(&session, out);
            self.presence_changed(&session, out);
        }
    }

    fn frame(&mut self, connection: ConnectionId, frame: ClientFrame, out: &mut Vec<Effect>) {
        match frame {
            ClientFrame::Call { id, call } => self.call(connection, id, call, out),
            ClientFrame::Watch { topic } => self.watch(connection, topic, out),
            ClientFrame::Unwatch { topic } => self.unwatch(connection, &topic, out),
        }
    }

    fn call(&mut self, connection: ConnectionId, id: u64, call: Call, out: &mut Vec<Effect>) {
        // The session's calls are those that its worker answers; the server's own do not end with it.
        let of = session_of(&call).filter(|_| !is_the_servers(&call));
        if let Err(error) = self.seats.begin_call(connection, id, of) {
            return send(
                connection,
                Lane::Must,
                &ServerFrame::Error {
                    id: Some(id),
                    error,
                },
                out,
            );
        }
        let Some(who) = self.seats.who(connection).cloned() else {
            return;
        };
        match permit_call(&call, &who.role) {
            Access::Yes => self.route(connection, id, who, call, out),
            Access::No => self.fail(connection, id, not_allowed(), out),
            Access::Unknown => self.fail(connection, id, unknown_session(), out),
        }
    }

    fn route(
        &mut self,
        connection: ConnectionId,
        id: u64,
        who: Who,
        call: Call,
        out: &mut Vec<Effect>,
    ) {
        let call = within_reach(call, &who.role);
        if is_the_servers(&call) {
            let Some(pass) = self.seats.pass(connection).cloned() else {
                return;
            };
            return out.push(Effect::Serve {
                connection,
                id,
                call,
                pass,
            });
        }
        let Some(session) = session_of(&call).cloned() else {
            return;
        };
        if let Err(error) = self.can_work(&session) {
            return self.fail(connection, id, error, out);
        }
        let message = Box::new(ToWorker::Call {
            connection,
            id,
            who,
            call,
        });
        if let Some(message) = self.workers.offer(&session, message) {
            out.push(Effect::Tell { session, message });
        } else {
            self.want_worker(&session, out);
        }
    }

    /// Returns whether the session's worker may be asked for something now.
    fn can_work(&self, session: &SessionId) -> Result<(), CallError> {
        let line = self.home.workable(session)?;
        if self.down {
            return Err(CallError::new(
                ErrorCode::Unavailable,
                "the server is shutting down",
            ));
        }
        match &line.state {
            SessionState::Failed { reason } => Err(failed(reason)),
            _ => Ok(()),
        }
    }

    fn answer(
        &mut self,
        connection: ConnectionId,
        id: u64,
        result: Result<Box<RawValue>, CallError>,
        out: &mut Vec<Effect>,
    ) {
        if self.seats.end_call(connection, id).is_none() {
            return;
        }
        let frame = match result {
            Ok(result) => ServerFrame::Reply { id, result },
            Err(error) => ServerFrame::Error {
                id: Some(id),
                error,
            },
        };
        send(connection, Lane::Must, &frame, out);
    }

    fn fail(&mut self, connection: ConnectionId, id: u64, error: CallError, out: &mut Vec<Effect>) {
        self.answer(connection, id, Err(error), out);
    }

    fn watch(&mut self, connection: ConnectionId, topic: Topic, out: &mut Vec<Effect>) {
        let Some(who) = self.seats.who(connection).cloned() else {
            return;
        };
        let allowed = match permit_watch(&topic, &who.role) {
            Access::Yes => self.seats.may_watch(connection, &topic),
            Access::No => Err(not_allowed()),
            Access::Unknown => Err(unknown_session()),
        };
        let ready = allowed.and_then(|()| match &topic {
            Topic::Sessions | Topic::Settings | Topic::Looks => Ok(()),
            Topic::Conversation { session, .. } => self.can_work(session),
        });
        match ready {
            Ok(()) => self.begin_watch(connection, topic, out),
            Err(error) => {
                self.seats.unwatch(connection, &topic);
                send(
                    connection,
                    Lane::Must,
                    &ServerFrame::Ended { topic, error },
                    out,
                );
            }
        }
    }

    fn begin_watch(&mut self, connection: ConnectionId, topic: Topic, out: &mut Vec<Effect>) {
        if !self.seats.wait_for_snapshot(connection, &topic) {
            return;
        }
        match &topic {
            Topic::Sessions => self.send_home(connection, out),
            Topic::Settings => self.send_settings(connection, out),
            Topic::Looks => self.send_looks(connection, out),
            Topic::Conversation { session, .. } => {
                let session = session.clone();
                self.presence_changed(&session, out);
                if self.workers.is_ready(&session) {
                    self.tell_watch(&session, connection, topic, out);
                    self.tell_watchers(&session, out);
                } else {
                    self.want_worker(&session, out);
                }
            }
        }
    }

    fn send_home(&mut self, connection: ConnectionId, out: &mut Vec<Effect>) {
        let Some(who) = self.seats.who(connection) else {
            return;
        };
        let snapshot = self.home.snapshot(&who.role);
        self.seats.got_snapshot(connection, &Topic::Sessions);
        send(connection, Lane::Topic(Topic::Sessions), &snapshot, out);
    }

    fn looks_changed(&mut self, looks: Looks, out: &mut Vec<Effect>) {
        self.looks = self.looks.followed_by(looks);
        let frame = encoded(&self.looks.frame());
        for (connection, _) in self.seats.live(&Topic::Looks) {
            out.push(Effect::Send {
                connection,
                lane: Lane::Topic(Topic::Looks),
                frame: frame.clone(),
            });
        }
    }

    fn send_looks(&mut self, connection: ConnectionId, out: &mut Vec<Effect>) {
        self.seats.got_snapshot(connection, &Topic::Looks);
        send(
            connection,
            Lane::Topic(Topic::Looks),
            &self.looks.frame(),
            out,
        );
    }

    fn unwatch(&mut self, connection: ConnectionId, topic: &Topic, out: &mut Vec<Effect>) {
        self.seats.unwatch(connection, topic);
        if let Topic::Conversation { session, .. } = topic {
            let session = session.clone();
            self.tell_watchers(&session, out);
            self.presence_changed(&session, out);
        }
    }

    fn refresh(&mut self, connection: ConnectionId, topic: Topic, out: &mut Vec<Effect>) {
        if self.seats.watches(connection, &topic) {
            self.begin_watch(connection, topic, out);
        }
    }

    fn kept(&mut self, session: Session, out: &mut Vec<Effect>) {
        let id = session.id.clone();
        if let Some(deleted_ms) = session.deleted_ms {
            out.push(remove_later(id.clone(), deleted_ms));
        }
        let delta = self.home.put(session);
        self.publish(&id, &delta, out);
        // One that is new, restored or deleted comes into the search or leaves it.
        out.push(Effect::Index(id));
    }

    fn set_state(&mut self, id: &SessionId, state: SessionState, out: &mut Vec<Effect>) {
        if let Some(delta) = self.home.set_state(id, state) {
            self.publish(id, &delta, out);
        }
    }

    /// Sends a change of the home list: encoded once. A guest, whose numbers have gaps, gets the own row as a snapshot.
    fn publish(&mut self, id: &SessionId, delta: &ServerFrame, out: &mut Vec<Effect>) {
        let frame = encoded(delta);
        for (connection, who) in self.seats.live(&Topic::Sessions) {
            match &who.role {
                porthole_protocol::Role::Owner => out.push(Effect::Send {
                    connection,
                    lane: Lane::Topic(Topic::Sessions),
                    frame: frame.clone(),
                }),
                porthole_protocol::Role::Guest { session, .. } if session == id => {
                    let snapshot = self.home.snapshot(&who.role);
                    send(connection, Lane::Topic(Topic::Sessions), &snapshot, out);
                }
                porthole_protocol::Role::Guest { .. } => {}
            }
        }
    }

    /// Their links end now: with the reason, without what waited for them, and what they asked for is not done later.
    fn access_ended(
        &mut self,
        whose: &Whose,
        cause: AccessCause,
        reason: &str,
        out: &mut Vec<Effect>,
    ) {
        let control = LinkControl::AccessEnded {
            reason: reason.to_owned(),
            cause,
        };
        for connection in self.seats.of(whose) {
            out.push(Effect::CutOff {
                connection,
                control: control.clone(),
            });
            self.workers.forget_calls(connection);
            self.closed(connection, out);
        }
    }

    fn tell_all(&self, control: &LinkControl, out: &mut Vec<Effect>) {
        for connection in self.seats.all() {
            out.push(Effect::Control {
                connection,
                control: control.clone(),
            });
        }
    }

    fn shut_down(&mut self, out: &mut Vec<Effect>) {
        self.down = true;
        self.tell_all(&LinkControl::ShuttingDown, out);
        for connection in self.seats.all() {
            out.push(Effect::Close { connection });
        }
        for session in self.workers.stop_all() {
            out.push(Effect::Tell {
                session,
                message: Box::new(ToWorker::Stop),
            });
        }
        // What changed since the last write is at most a time; it is not lost.
        let sessions: BTreeMap<_, _> = self
            .home
            .lines()
            .map(|line| (line.session.id.clone(), line.session.clone()))
            .collect();
        out.extend(
            sessions
                .into_values()
                .map(|session| Effect::Save(Box::new(session))),
        );
    }
}

/// A guest's search is one of the guest's own session.
fn within_reach(call: Call, role: &Role) -> Call {
    match (call, role) {
        (
            Call::Search {
                session: None,
                text,
                limit,
                before,
            },
            Role::Guest { session, .. },
        ) => Call::Search {
            session: Some(session.clone()),
            text,
            limit,
            before,
        },
        (call, _) => call,
    }
}

fn remove_later(session: SessionId, deleted_ms: u64) -> Effect {
    Effect::RemoveAt {
        session,
        deleted_ms,
        at_ms: deleted_ms.saturating_add(limits::UNDO_SECONDS * 1000),
    }
}

fn is_the_servers(call: &Call) -> bool {
    match call {
        Call::SessionCreate { .. }
        | Call::SessionRename { .. }
        | Call::SessionPin { .. }
        | Call::SessionArchive { .. }
        | Call::SessionRestore { .. }
        | Call::SessionRetry { .. }
        | Call::SessionRead { .. }
        | Call::Models {}
        | Call::Search { .. }
        | Call::SessionExport { .. }
        | Call::ShareCreate { .. }
        | Call::ShareList { .. }
        | Call::ShareRevoke { .. }
        | Call::DeviceList {}
        | Call::DeviceSignOut { .. }
        | Call::SettingsGet {}
        | Call::SettingsSave { .. }
        | Call::ModelsFind { .. }
        | Call::ModelsScope {}
        | Call::SessionDelete { .. }
        | Call::SessionClone { .. } => true,
        Call::Submit { .. }
        | Call::Withdraw { .. }
        | Call::Stop { .. }
        | Call::AnswerQuestion { .. }
        | Call::Configure { .. }
        | Call::Shell { .. }
        | Call::History { .. }
        | Call::OutputRead { .. }
        | Call::Reset { .. }
        | Call::Compact { .. }
        | Call::Retry { .. }
        | Call::Exclude { .. }
        | Call::OpenChild { .. }
        | Call::Fork { .. }
        | Call::ArchiveChild { .. }
        | Call::Move { .. }
        | Call::FilesFind { .. }
        | Call::PromptsList { .. }
        | Call::Responses { .. } => false,
    }
}

fn unreadable(connection: ConnectionId, id: Option<u64>, out: &mut Vec<Effect>) {
    let message = match id {
        Some(_) => "there is no such call, or its parameters are wrong",
        None => "that was no frame of this protocol",
    };
    let error = CallError::new(ErrorCode::Invalid, message).hint("update the client");
    send(
        connection,
        Lane::Must,
        &ServerFrame::Error { id, error },
        out,
    );
}

fn not_allowed() -> CallError {
    CallError::new(ErrorCode::NotAllowed, "this is the owner's to do")
        .hint("ask the owner for another link")
}

fn failed(reason: &str) -> CallError {
    CallError::new(ErrorCode::Unavailable, reason)
        .hint("`/retry` in the session tries again, and so does `portholed send`")
}

fn send(connection: ConnectionId, lane: Lane, frame: &ServerFrame, out: &mut Vec<Effect>) {
    out.push(Effect::Send {
        connection,
        lane,
        frame: encoded(frame),
    });
}

/// Only the home list can be too long, at tens of thousands of sessions; then its watcher learns that.
fn encoded(frame: &ServerFrame) -> Utf8Bytes {
    encode(frame, limits::SERVER_FRAME_BYTES)
        .unwrap_or_else(|_| {
            r#"{"error":{"id":null,"error":{"code":"too_large","message":"there is too much to show","hint":"archive sessions"}}}"#
                .to_owned()
        })
        .into()
}
