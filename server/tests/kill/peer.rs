//! The other end of a worker's or a server's socket, as a client speaks to it, up to the moment of the kill.

use std::{
    io::{ErrorKind, Read, Write},
    os::unix::net::UnixStream,
    time::{Duration, Instant},
};

use porthole_protocol::{
    Call, CallError, ClientFrame, ConversationId, ConversationState, Entry, Role, ServerFrame,
    SessionId, Topic, TopicDelta, TopicState, Who, decode, encode, limits, replies,
};
use porthole_worker::wire::{self, FromWorker, ToWorker};
use serde_json::Value;

/// The longest that something that has to come may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which of the two contracts is spoken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Worker,
    Server,
}

/// The other end.
pub(crate) struct Peer {
    kind: Kind,
    stream: UnixStream,
    bytes: Vec<u8>,
    /// When it is killed; `None`: not at all.
    end: Option<Instant>,
    session: SessionId,
    calls: u64,
    pub(crate) state: Option<ConversationState>,
}

/// What came.
pub(crate) enum News {
    Ready,
    Frame(Box<ServerFrame>),
    Other,
}

impl Peer {
    pub(crate) fn new(
        kind: Kind,
        stream: UnixStream,
        session: SessionId,
        end: Option<Instant>,
    ) -> Self {
        Self {
            kind,
            stream,
            bytes: Vec::new(),
            end,
            session,
            calls: 0,
            state: None,
        }
    }

    /// Says which session is meant from here on.
    pub(crate) fn set_session(&mut self, session: SessionId) {
        self.session = session;
    }

    pub(crate) fn tell(&mut self, message: &ToWorker) {
        let bytes = wire::encode(message, &[]).expect("encodes");
        self.put(&bytes);
    }

    fn put(&mut self, bytes: &[u8]) {
        // One that is gone shows when its end is read.
        let _ = self.stream.write_all(bytes);
    }

    fn post(&mut self, frame: ClientFrame) {
        match (self.kind, frame) {
            (Kind::Worker, ClientFrame::Call { id, call }) => {
                let (connection, who) = (1, owner());
                self.tell(&ToWorker::Call {
                    connection,
                    id,
                    who,
                    call,
                });
            }
            (Kind::Worker, ClientFrame::Watch { topic }) => {
                let (connection, who) = (1, owner());
                self.tell(&ToWorker::Watch {
                    connection,
                    who,
                    topic,
                });
            }
            (_, frame) => {
                let text = encode(&frame, limits::CLIENT_FRAME_BYTES).expect("encodes");
                self.put(format!("{text}\n").as_bytes());
            }
        }
    }

    /// Returns the next message; `None`: the time is over, or the other end is gone.
    pub(crate) fn next(&mut self) -> Option<News> {
        loop {
            if let Some(news) = self.whole() {
                if let News::Frame(frame) = &news {
                    self.apply(frame);
                }
                return Some(news);
            }
            let left = match self.end {
                Some(end) => end.checked_duration_since(Instant::now())?,
                None => PATIENCE,
            };
            let left = left.max(Duration::from_millis(1));
            self.stream.set_read_timeout(Some(left)).expect("sets");
            let mut buffer = [0; 64 << 10];
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(n) => self.bytes.extend_from_slice(&buffer[..n]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(_) if self.end.is_some() => return None,
                Err(error) => panic!("waited for too long: {error}"),
            }
        }
    }

    fn whole(&mut self) -> Option<News> {
        match self.kind {
            Kind::Worker => {
                let (head, body, used) = wire::decode::<FromWorker>(&self.bytes).expect("valid")?;
                self.bytes.drain(..used);
                Some(match head {
                    FromWorker::Ready => News::Ready,
                    FromWorker::OpenFailed { error } => panic!("not opened: {error:?}"),
                    FromWorker::WatchFailed { error, .. } => panic!("not watched: {error:?}"),
                    FromWorker::Reply { .. }
                    | FromWorker::Snapshot { .. }
                    | FromWorker::Delta { .. } => frame(&body),
                    FromWorker::Status(_)
                    | FromWorker::Idle
                    | FromWorker::Committed { .. }
                    | FromWorker::Entries { .. } => News::Other,
                })
            }
            Kind::Server => {
                let end = self.bytes.iter().position(|byte| *byte == b'\n')?;
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                Some(frame(&line[..end]))
            }
        }
    }

    fn apply(&mut self, frame: &ServerFrame) {
        match frame {
            ServerFrame::Snapshot {
                state: TopicState::Conversation(state),
                ..
            } => self.state = Some((**state).clone()),
            ServerFrame::Delta {
                delta: TopicDelta::Conversation(delta),
                ..
            } => {
                if let Some(state) = &mut self.state {
                    state.apply(delta);
                }
            }
            _ => {}
        }
    }

    /// Watches and returns what there is; `None`: it was killed before.
    pub(crate) fn watch(&mut self) -> Option<ConversationState> {
        let topic = Topic::Conversation {
            session: self.session.clone(),
            conversation: ConversationId::ROOT,
        };
        self.state = None;
        self.post(ClientFrame::Watch { topic });
        while self.state.is_none() {
            self.next()?;
        }
        self.state.clone()
    }

    /// Calls and returns the reply; `None`: it was killed before, and nobody knows.
    pub(crate) fn call(&mut self, call: Call) -> Option<Result<Value, CallError>> {
        self.calls += 1;
        let id = self.calls;
        self.post(ClientFrame::Call { id, call });
        loop {
            let News::Frame(frame) = self.next()? else {
                continue;
            };
            match *frame {
                ServerFrame::Reply { id: of, result } if of == id => {
                    return Some(Ok(serde_json::from_str(result.get()).expect("JSON")));
                }
                ServerFrame::Error {
                    id: Some(of),
                    error,
                } if of == id => return Some(Err(error)),
                _ => {}
            }
        }
    }

    /// Returns every entry there is.
    pub(crate) fn history(&mut self) -> Option<Vec<Entry>> {
        let mut all: Vec<Entry> = Vec::new();
        loop {
            let reply = self.call(Call::History {
                session: self.session.clone(),
                conversation: ConversationId::ROOT,
                before: all.first().map(|entry| entry.id),
                limit: 100,
            })?;
            let page = reply.ok()?;
            let page: replies::History = serde_json::from_value(page).expect("a page");
            all.splice(0..0, page.entries);
            if !page.has_older {
                return Some(all);
            }
        }
    }
}

fn owner() -> Who {
    Who {
        role: Role::Owner,
        id: "owner".into(),
        name: "Ada".into(),
    }
}

fn frame(bytes: &[u8]) -> News {
    let text = std::str::from_utf8(bytes).expect("text");
    News::Frame(Box::new(
        decode(text, limits::SERVER_FRAME_BYTES).expect("a frame"),
    ))
}
