//! What can happen to the switchboard, and what it can want done: two closed lists.

use std::time::Duration;

use axum::extract::ws::Utf8Bytes;
use porthole_door::{AccessCause, LinkControl};
use porthole_protocol::{
    Call, CallError, ClientFrame, Looks, SessionId, SettingsState, Topic, Who, decode,
    limits::CLIENT_FRAME_BYTES,
};
use porthole_worker::{
    Kept,
    wire::{ConnectionId, FromWorker, ToWorker},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Copying;
use crate::{
    catalog::Session,
    outbox::Lane,
    pass::{Pass, Whose},
};

/// Everything that can happen.
#[derive(Debug)]
pub enum Input {
    /// The server started: interrupted work goes on.
    Start,
    /// Someone connected.
    Opened {
        /// The connection.
        connection: ConnectionId,
        /// Who.
        who: Who,
        /// By what they were let in.
        pass: Pass,
    },
    /// A connection is gone.
    Closed {
        /// The connection.
        connection: ConnectionId,
    },
    /// A client's frame.
    Frame {
        /// The connection.
        connection: ConnectionId,
        /// The frame.
        frame: ClientFrame,
    },
    /// A client's message that is no frame of this protocol.
    Unreadable {
        /// The connection.
        connection: ConnectionId,
        /// The client's id, where it was at least a call with one.
        id: Option<u64>,
    },
    /// Everything is sent, and this topic had fallen behind.
    Refresh {
        /// The connection.
        connection: ConnectionId,
        /// The topic.
        topic: Topic,
    },
    /// The server's own answer to a call.
    Answered {
        /// The connection.
        connection: ConnectionId,
        /// The client's id of the call.
        id: u64,
        /// The reply.
        result: Result<Box<RawValue>, CallError>,
    },
    /// What is kept of a session is new or changed.
    Kept(Box<Session>),
    /// A session's failure is to be forgotten and its worker started.
    Retry(SessionId),
    /// A session is put away: its worker is to stop, and who waits is told why.
    Halt {
        /// Which.
        session: SessionId,
        /// Why.
        error: CallError,
    },
    /// A session is to be copied.
    Copy(Box<Copying>),
    /// The time in which a session that was deleted then could be restored is over.
    RemoveDue {
        /// Which.
        session: SessionId,
        /// When it was deleted, in milliseconds since the Unix epoch.
        deleted_ms: u64,
    },
    /// The copy or the removal of a session is done, or failed.
    JobDone(SessionId),
    /// A worker said something.
    Worker {
        /// The session.
        session: SessionId,
        /// Which life.
        generation: u64,
        /// What.
        message: Box<FromWorker>,
        /// The frame that travels along.
        body: Utf8Bytes,
    },
    /// A worker could not be started, or is gone.
    WorkerGone {
        /// The session.
        session: SessionId,
        /// Which life; `None`: it never lived.
        generation: Option<u64>,
        /// Why, for a person.
        reason: String,
        /// How long it lived.
        lived: Duration,
    },
    /// A worker lives; it is told to open next.
    WorkerBorn {
        /// The session.
        session: SessionId,
        /// Which life.
        generation: u64,
    },
    /// The waiting time before another start is over.
    StartDue(SessionId),
    /// Someone may no longer.
    AccessEnded {
        /// Who.
        whose: Whose,
        /// Why, for a program.
        cause: AccessCause,
        /// Why, for a person.
        reason: String,
    },
    /// The settings changed, or what is wrong with their file.
    Settings(Box<SettingsState>),
    /// Who is in a session is to be looked at again.
    PresenceDue(SessionId),
    /// There is another bundle.
    BundleChanged {
        /// Its hash.
        sha256: String,
    },
    /// The looks that are offered are others.
    Looks(Box<Looks>),
    /// The server ends.
    ShutDown,
}

/// What is to be done.
#[derive(Debug)]
pub enum Effect {
    /// Queue a frame.
    Send {
        /// To whom.
        connection: ConnectionId,
        /// How it gives way.
        lane: Lane,
        /// The frame.
        frame: Utf8Bytes,
    },
    /// Queue a word to the launcher.
    Control {
        /// To whom.
        connection: ConnectionId,
        /// What.
        control: LinkControl,
    },
    /// Close once all that waits is sent.
    Close {
        /// Which.
        connection: ConnectionId,
    },
    /// Drop what waits, queue a last word to the launcher, and close soon, read or not.
    CutOff {
        /// Which.
        connection: ConnectionId,
        /// The word.
        control: LinkControl,
    },
    /// Say so after a while with [`Input::PresenceDue`].
    PresenceLater {
        /// Which.
        session: SessionId,
        /// After how long.
        after: Duration,
    },
    /// Answer a call that is the server's own.
    Serve {
        /// Whose.
        connection: ConnectionId,
        /// The client's id of it.
        id: u64,
        /// The call.
        call: Call,
        /// By what the caller was let in.
        pass: Pass,
    },
    /// Start a worker.
    Start(SessionId),
    /// Say so after a while with [`Input::StartDue`].
    StartLater {
        /// Which.
        session: SessionId,
        /// After how long.
        after: Duration,
    },
    /// Say something to a worker.
    Tell {
        /// Which.
        session: SessionId,
        /// What.
        message: Box<ToWorker>,
    },
    /// Write what its work changed of a session.
    Save(Box<Session>),
    /// Look through what is new in a session.
    Index(SessionId),
    /// Give what a worker told to whoever asked for it.
    Entries {
        /// Which session's.
        session: SessionId,
        /// The number of the question.
        ask: u64,
        /// What it told.
        kept: Box<Kept>,
    },
    /// Copy a session that has no worker; say when that is done with [`Input::JobDone`].
    Copy(Box<Copying>),
    /// Say so at that time with [`Input::RemoveDue`].
    RemoveAt {
        /// Which.
        session: SessionId,
        /// When it was deleted, in milliseconds since the Unix epoch.
        deleted_ms: u64,
        /// When to say so.
        at_ms: u64,
    },
    /// Remove a session that has no worker, unless it was restored; say when that is done with [`Input::JobDone`].
    Remove {
        /// Which.
        session: SessionId,
        /// When it was deleted.
        deleted_ms: u64,
    },
}

impl Input {
    /// Returns what a client's text is.
    pub fn of_text(connection: ConnectionId, text: &str) -> Self {
        match decode(text, CLIENT_FRAME_BYTES) {
            Ok(frame) => Self::Frame { connection, frame },
            Err(_) => Self::Unreadable {
                connection,
                id: call_id(text),
            },
        }
    }
}

/// Returns the id of what was meant to be a call, so that whoever waits for its reply learns that none comes.
fn call_id(text: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Frame {
        call: Call,
    }
    #[derive(Deserialize)]
    struct Call {
        id: u64,
    }
    let within = text.len() <= CLIENT_FRAME_BYTES;
    let frame = within.then(|| serde_json::from_str::<Frame>(text).ok())??;
    Some(frame.call.id)
}
