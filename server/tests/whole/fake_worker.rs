//! A worker that does as the text of a submission says. It speaks the real wire and keeps nothing.

use std::{
    io::{Read as _, Write as _},
    os::{fd::AsFd as _, unix::net::UnixStream},
};

use porthole_protocol::{
    Call, CallError, ConversationDelta, ConversationId, ConversationInfo, ConversationState,
    ErrorCode, ModelRef, Policy, ServerFrame, SessionState, SubmissionId, Thinking, Topic,
    TopicDelta, TopicState, Usage, encode, limits, replies,
};
use porthole_worker::wire::{self, FromWorker, Open, Status, ToWorker};

struct Fake {
    socket: UnixStream,
    open: Option<Open>,
    seq: u64,
}

pub(crate) fn run() {
    let stdin = std::io::stdin();
    if rustix::net::sockopt::socket_type(stdin.as_fd()).is_err() {
        return;
    }
    let socket = UnixStream::from(stdin.as_fd().try_clone_to_owned().expect("a socket"));
    let mut fake = Fake {
        socket,
        open: None,
        seq: 0,
    };
    let mut buffer = Vec::new();
    let mut chunk = [0; 65536];
    while let Ok(read @ 1..) = fake.socket.read(&mut chunk) {
        buffer.extend_from_slice(&chunk[..read]);
        while let Some((message, _, len)) = wire::decode::<ToWorker>(&buffer).expect("a message") {
            buffer.drain(..len);
            fake.handle(message);
        }
    }
    std::process::exit(0);
}

impl Fake {
    fn say(&mut self, head: &FromWorker, frame: Option<&ServerFrame>) {
        let body = frame
            .map(|f| encode(f, limits::SERVER_FRAME_BYTES).expect("encodes"))
            .unwrap_or_default();
        let bytes = wire::encode(head, body.as_bytes()).expect("encodes");
        if self.socket.write_all(&bytes).is_err() {
            std::process::exit(0);
        }
    }

    fn open(&self) -> &Open {
        self.open.as_ref().expect("opened first")
    }

    fn topic(&self) -> Topic {
        crate::world::conversation(&self.open().session)
    }

    fn handle(&mut self, message: ToWorker) {
        match message {
            ToWorker::Open(open) => {
                let fails = open.folder.join("open-fails").exists();
                if open.folder.join("start-hangs").exists() {
                    loop {
                        std::thread::park();
                    }
                }
                let crashes = open.folder.join("start-crashes").exists();
                self.open = Some(*open);
                if crashes {
                    eprintln!("boom \u{1b}[2J");
                    std::process::exit(3);
                }
                let error = CallError::new(ErrorCode::Unavailable, "no such model");
                match fails {
                    true => self.say(&FromWorker::OpenFailed { error }, None),
                    false => self.say(&FromWorker::Ready, None),
                }
            }
            ToWorker::Call {
                connection,
                id,
                call,
                ..
            } => self.call(connection, id, call),
            ToWorker::Watch {
                connection, topic, ..
            } => {
                let frame = ServerFrame::Snapshot {
                    topic: topic.clone(),
                    epoch: self.open().generation,
                    seq: self.seq,
                    state: TopicState::Conversation(Box::new(state())),
                };
                self.say(&FromWorker::Snapshot { connection, topic }, Some(&frame));
            }
            ToWorker::Settings(_) => {}
            ToWorker::Watchers { count } => {
                if count == 0 && self.open().folder.join("idle-when-alone").exists() {
                    self.say(&FromWorker::Idle, None);
                }
            }
            // It keeps none.
            ToWorker::Entries { ask, after } => self.say(
                &FromWorker::Entries {
                    ask,
                    last: after,
                    more: false,
                },
                None,
            ),
            ToWorker::Stop => {
                if self.open().folder.join("never-stops").exists() {
                    return;
                }
                std::fs::write(self.open().folder.join("stopped"), "").expect("written");
                std::process::exit(0);
            }
        }
    }

    fn call(&mut self, connection: u64, id: u64, call: Call) {
        let Call::Submit { text, .. } = call else {
            let error = CallError::new(ErrorCode::Invalid, "it only takes input");
            let frame = ServerFrame::Error {
                id: Some(id),
                error,
            };
            return self.say(&FromWorker::Reply { connection, id }, Some(&frame));
        };
        let mut words = text.split(' ');
        match (
            words.next().unwrap_or(""),
            words.next().and_then(|n| n.parse::<u64>().ok()),
        ) {
            ("crash", _) => {
                eprintln!("boom");
                std::process::exit(3);
            }
            ("stall", _) => return,
            ("idle", _) => self.say(&FromWorker::Idle, None),
            ("busy", _) => self.status(
                SessionState::Working {
                    activity: "thinking".to_owned(),
                },
                false,
            ),
            ("answered", _) => self.status(SessionState::Idle, true),
            ("garbage", _) => self.socket.write_all(&[255; 64]).expect("written"),
            ("flood", Some(count)) => (0..count).for_each(|_| self.delta(64 << 10)),
            _ => {}
        }
        let result = serde_json::value::to_raw_value(&replies::Submitted {
            submission: SubmissionId(1),
        });
        let frame = ServerFrame::Reply {
            id,
            result: result.expect("encodes"),
        };
        self.say(&FromWorker::Reply { connection, id }, Some(&frame));
    }

    fn status(&mut self, state: SessionState, answered: bool) {
        let status = Status {
            state,
            suggested_title: Some("A title".to_owned()),
            updated_ms: 1,
            answered,
        };
        self.say(&FromWorker::Status(status), None);
    }

    fn delta(&mut self, bytes: usize) {
        self.seq += 1;
        let mut info = state().info;
        info.cwd = "x".repeat(bytes);
        let topic = self.topic();
        let frame = ServerFrame::Delta {
            topic: topic.clone(),
            epoch: self.open().generation,
            seq: self.seq,
            delta: TopicDelta::Conversation(ConversationDelta::Info {
                info: Box::new(info),
            }),
        };
        self.say(&FromWorker::Delta { topic }, Some(&frame));
    }
}

fn state() -> ConversationState {
    ConversationState {
        info: ConversationInfo {
            id: ConversationId::ROOT,
            cwd: "/".to_owned(),
            branch: None,
            model: ModelRef {
                provider: "fake".to_owned(),
                model: "fake".to_owned(),
            },
            practice: false,
            thinking: Thinking::Off,
            policy: Policy::Ask,
            context_tokens: 0,
            context_limit: None,
            usage: Usage::default(),
            title: None,
            parent: None,
            read_only: None,
            failed: None,
            last: None,
            unpriced: 0,
            prompts: 0,
        },
        entries: Vec::new(),
        has_older: false,
        submissions: Vec::new(),
        turn: None,
        questions: Vec::new(),
        children: Vec::new(),
    }
}
