//! A simulated pair: this switchboard with its outbox and a worker on one side, a client that follows the rules of the
//! protocol on the other, and a connection between them that loses, holds back, doubles, reorders and breaks.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use axum::extract::ws::Utf8Bytes;
use porthole_protocol::{
    ClientFrame, ConversationDelta, ConversationId, ConversationState, ServerFrame, SessionId,
    Topic, TopicDelta, TopicState, Who, decode, encode, limits,
};
use porthole_worker::wire::{ConnectionId, FromWorker, ToWorker};
use proptest::prelude::*;
use serde_json::json;

use super::{Effect, Input, Switchboard};
use crate::{
    catalog::Session,
    outbox::{Next, Out, Outbox},
    sessions,
};

/// What can happen at a step.
#[derive(Clone, Debug)]
enum Step {
    /// The conversation gets an entry.
    Entry,
    /// Its settings change, with so many KiB.
    Info(usize),
    /// The home list changes.
    Title,
    /// The writer takes what waits.
    Write,
    /// The next frame arrives.
    Arrive,
    Lose,
    Double,
    Reorder,
    /// The connection breaks, and there is a new one.
    Break,
    /// The worker dies and lives again.
    Crash,
}

struct Pair {
    board: Switchboard,
    session: Session,
    worker: Worker,
    connection: ConnectionId,
    outbox: Outbox,
    wire: VecDeque<Utf8Bytes>,
    client: Client,
    starts: u32,
}

struct Worker {
    state: ConversationState,
    generation: u64,
    seq: u64,
}

/// A client that does what the protocol's page says, and keeps a second state to which it applies every change twice.
#[derive(Default)]
struct Client {
    topics: BTreeMap<Topic, (TopicState, u64, u64)>,
}

fn topic() -> Topic {
    Topic::Conversation {
        session: id(),
        conversation: ConversationId::ROOT,
    }
}

fn id() -> SessionId {
    SessionId::parse("a").expect("an id")
}

fn state() -> ConversationState {
    let info = json!({
        "id": 1, "cwd": "/", "branch": null, "model": { "provider": "p", "model": "m" }, "practice": false,
        "thinking": "off", "policy": "ask", "context_tokens": 0, "context_limit": null,
        "usage": porthole_protocol::Usage::default(),
    });
    let state = json!({
        "info": info, "entries": [], "has_older": false, "submissions": [], "turn": null, "questions": [],
    });
    serde_json::from_value(state).expect("a state")
}

fn entry(number: u64) -> ConversationDelta {
    let author = json!({ "kind": "system", "id": "porthole", "name": "porthole" });
    let entry = json!({ "id": number, "at_ms": 1, "author": author, "body": { "notice": { "text": format!("n{number}") } } });
    ConversationDelta::Entry {
        entry: Box::new(serde_json::from_value(entry).expect("an entry")),
    }
}

impl Client {
    /// Takes a frame; returns what it asks for then.
    fn take(&mut self, text: &str) -> Option<ClientFrame> {
        match decode(text, limits::SERVER_FRAME_BYTES).expect("a frame") {
            ServerFrame::Snapshot {
                topic,
                epoch,
                seq,
                state,
            } => {
                self.topics.insert(topic, (state, epoch, seq));
                None
            }
            ServerFrame::Delta {
                topic,
                epoch,
                seq,
                delta,
            } => self.change(topic, epoch, seq, &delta),
            _ => None,
        }
    }

    fn change(
        &mut self,
        topic: Topic,
        epoch: u64,
        seq: u64,
        delta: &TopicDelta,
    ) -> Option<ClientFrame> {
        let again = Some(ClientFrame::Watch {
            topic: topic.clone(),
        });
        let Some((state, of, last)) = self.topics.get_mut(&topic) else {
            return again;
        };
        match (*of == epoch, seq) {
            (true, seq) if seq <= *last => None,
            (true, seq) if seq == *last + 1 => {
                *last = seq;
                // Twice is the same as once.
                apply(state, delta);
                apply(state, delta);
                None
            }
            _ => again,
        }
    }
}

fn apply(state: &mut TopicState, delta: &TopicDelta) {
    match (state, delta) {
        (TopicState::Sessions(rows), TopicDelta::Sessions(delta)) => delta.apply(rows),
        (TopicState::Conversation(state), TopicDelta::Conversation(delta)) => state.apply(delta),
        _ => panic!("a change of another topic"),
    }
}

impl Pair {
    fn new() -> Self {
        let session = sessions::create(id(), "/".to_owned(), None, None, 1).expect("made");
        let mut pair = Self {
            board: Switchboard::new("box".to_owned(), 7, vec![session.clone()]),
            session,
            worker: Worker {
                state: state(),
                generation: 0,
                seq: 0,
            },
            connection: 0,
            outbox: Outbox::default(),
            wire: VecDeque::new(),
            client: Client::default(),
            starts: 0,
        };
        pair.connect();
        pair
    }

    fn connect(&mut self) {
        let old = self.connection;
        self.handle(Input::Closed { connection: old });
        self.connection += 1;
        (self.outbox, self.wire) = (Outbox::default(), VecDeque::new());
        let who: Who = crate::server::owner();
        let connection = self.connection;
        self.handle(Input::Opened {
            connection,
            who,
            pass: crate::pass::Pass::Command,
        });
        for topic in [Topic::Sessions, topic()] {
            self.ask(ClientFrame::Watch { topic });
        }
    }

    fn ask(&mut self, frame: ClientFrame) {
        let connection = self.connection;
        self.handle(Input::Frame { connection, frame });
    }

    fn handle(&mut self, input: Input) {
        for effect in self.board.handle(input) {
            match effect {
                Effect::Send {
                    connection,
                    lane,
                    frame,
                } if connection == self.connection => self.outbox.push(lane, Out::Text(frame)),
                Effect::Start(_) => self.start(),
                Effect::StartLater { session, .. } => self.handle(Input::StartDue(session)),
                Effect::Tell { message, .. } => self.tell(*message),
                _ => {}
            }
        }
    }

    fn start(&mut self) {
        self.starts += 1;
        self.worker.generation += 1;
        self.worker.seq = 0;
        let (session, generation) = (id(), self.worker.generation);
        self.handle(Input::WorkerBorn {
            session,
            generation,
        });
        self.say(FromWorker::Ready, None);
    }

    fn say(&mut self, message: FromWorker, frame: Option<ServerFrame>) {
        let body = frame.map(|f| encode(&f, limits::SERVER_FRAME_BYTES).expect("encodes"));
        self.handle(Input::Worker {
            session: id(),
            generation: self.worker.generation,
            message: Box::new(message),
            body: body.unwrap_or_default().into(),
        });
    }

    fn tell(&mut self, message: ToWorker) {
        if let ToWorker::Watch {
            connection, topic, ..
        } = message
        {
            let frame = ServerFrame::Snapshot {
                topic: topic.clone(),
                epoch: self.worker.generation,
                seq: self.worker.seq,
                state: TopicState::Conversation(Box::new(self.worker.state.clone())),
            };
            self.say(FromWorker::Snapshot { connection, topic }, Some(frame));
        }
    }

    fn change(&mut self, delta: ConversationDelta) {
        self.worker.state.apply(&delta);
        self.worker.seq += 1;
        let frame = ServerFrame::Delta {
            topic: topic(),
            epoch: self.worker.generation,
            seq: self.worker.seq,
            delta: TopicDelta::Conversation(delta),
        };
        self.say(FromWorker::Delta { topic: topic() }, Some(frame));
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Entry => self.change(entry(self.worker.state.entries.len() as u64 + 1)),
            Step::Info(kib) => self.change_info(*kib),
            Step::Title => self.change_title(),
            Step::Write => drop(self.write()),
            Step::Arrive => self.arrive(),
            Step::Lose => drop(self.wire.pop_front()),
            Step::Double => self.wire.extend(self.wire.front().cloned()),
            Step::Reorder => self.wire.rotate_left(1.min(self.wire.len())),
            Step::Break => self.connect(),
            Step::Crash => self.crash(),
        }
    }

    fn change_info(&mut self, kib: usize) {
        let mut info = self.worker.state.info.clone();
        info.context_tokens += 1;
        info.cwd = "x".repeat(kib << 10);
        self.change(ConversationDelta::Info {
            info: Box::new(info),
        });
    }

    fn change_title(&mut self) {
        self.session.title.push('x');
        self.handle(Input::Kept(Box::new(self.session.clone())));
    }

    /// Returns whether something was written or asked for.
    fn write(&mut self) -> bool {
        match self.outbox.take() {
            Next::Send(batch) => self
                .wire
                .extend(batch.into_iter().filter_map(|out| match out {
                    Out::Text(text) => Some(text),
                    Out::Control(_) => None,
                })),
            Next::Refresh(topic) => {
                let connection = self.connection;
                self.handle(Input::Refresh { connection, topic });
            }
            Next::Wait => return false,
            Next::End => panic!("nothing here ends a connection"),
        }
        true
    }

    fn arrive(&mut self) {
        let asked = self
            .wire
            .pop_front()
            .and_then(|text| self.client.take(&text));
        if let Some(frame) = asked {
            self.ask(frame);
        }
    }

    fn crash(&mut self) {
        self.handle(Input::WorkerGone {
            session: id(),
            generation: Some(self.worker.generation),
            reason: "gone".to_owned(),
            // Long enough that it is never given up.
            lived: Duration::from_secs(3_600),
        });
    }

    fn settle(&mut self) {
        while self.write() || !self.wire.is_empty() {
            self.arrive();
        }
    }

    fn assert_equal(&self) {
        let (home, ..) = &self.client.topics[&Topic::Sessions];
        let ServerFrame::Snapshot { state, .. } =
            self.board.home().snapshot(&crate::server::owner().role)
        else {
            panic!("a snapshot")
        };
        assert_eq!(*home, state);
        let (conversation, ..) = &self.client.topics[&topic()];
        assert_eq!(
            *conversation,
            TopicState::Conversation(Box::new(self.worker.state.clone()))
        );
    }
}

fn change() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Entry),
        2 => (0usize..4).prop_map(Step::Info),
        1 => (1_000usize..1_500).prop_map(Step::Info),
        2 => Just(Step::Title),
        4 => Just(Step::Write),
        4 => Just(Step::Arrive),
        1 => Just(Step::Break),
        1 => Just(Step::Crash),
    ]
}

fn fault() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => change(),
        1 => Just(Step::Lose),
        1 => Just(Step::Double),
        1 => Just(Step::Reorder),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_breaks_and_whenever_both_sides_end_with_the_same(steps in proptest::collection::vec(change(), 0..40)) {
        let mut pair = Pair::new();
        for step in &steps {
            pair.step(step);
        }
        pair.settle();
        pair.assert_equal();
    }

    #[test]
    fn frames_that_are_lost_doubled_or_reordered_are_made_good_at_the_next_connection(
        steps in proptest::collection::vec(fault(), 0..40),
    ) {
        let mut pair = Pair::new();
        for step in &steps {
            pair.step(step);
        }
        pair.connect();
        pair.settle();
        pair.assert_equal();
    }
}

#[test]
fn a_break_after_every_single_frame_loses_nothing() {
    let script: Vec<_> = [
        Step::Entry,
        Step::Info(1),
        Step::Title,
        Step::Write,
        Step::Arrive,
    ]
    .into_iter()
    .cycle()
    .take(60)
    .collect();
    for at in 0..script.len() {
        let mut pair = Pair::new();
        for (number, step) in script.iter().enumerate() {
            pair.step(step);
            if number == at {
                pair.step(&Step::Break);
            }
        }
        pair.settle();
        pair.assert_equal();
        assert_eq!(pair.starts, 1, "a client that comes back starts nothing");
    }
}

#[test]
fn one_who_missed_a_frame_notices_at_the_next() {
    let mut pair = Pair::new();
    pair.settle();
    pair.step(&Step::Entry);
    pair.write();
    pair.step(&Step::Lose);
    pair.step(&Step::Entry);
    pair.settle();
    pair.assert_equal();
}

#[test]
fn a_delta_is_the_same_bytes_for_every_watcher() {
    let mut pair = Pair::new();
    for connection in 100..600 {
        pair.handle(Input::Opened {
            connection,
            who: crate::server::owner(),
            pass: crate::pass::Pass::Command,
        });
        let frame = ClientFrame::Watch { topic: topic() };
        pair.handle(Input::Frame { connection, frame });
    }
    let effects = pair.board.handle(Input::Worker {
        session: id(),
        generation: pair.worker.generation,
        message: Box::new(FromWorker::Delta { topic: topic() }),
        body: Utf8Bytes::from("{}".to_owned()),
    });
    let bytes = effects.iter().map(|effect| match effect {
        Effect::Send { frame, .. } => frame.as_str().as_ptr(),
        other => panic!("{other:?}"),
    });
    let bytes: Vec<_> = bytes.collect();
    assert_eq!(bytes.len(), 501);
    assert!(bytes.iter().all(|at| *at == bytes[0]));
}
