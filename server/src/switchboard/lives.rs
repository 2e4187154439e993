//! Lives in every order: people, workers and jobs take turns at random, and what may never be is looked for at each step.
//! The workers, the copies and the clock are simulated.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use porthole_protocol::{
    Call, CallError, ClientFrame, ConversationId, ErrorCode, RequestId, Role, SendMode, SessionId,
    SessionState, Topic, Who,
};
use porthole_worker::wire::{FromWorker, Status, ToWorker};
use proptest::prelude::*;

use super::{Copying, Effect, Input, Switchboard};
use crate::{catalog::Session, pass::Pass, sessions};

/// What can happen at a step.
#[derive(Clone, Copy, Debug)]
enum Step {
    Submit,
    Watch,
    Unwatch,
    Retry,
    Archive,
    Delete,
    Restore,
    Copy,
    /// What was asked for before gets its turn: a process is started.
    Spawn,
    Ready,
    /// The worker tells that it works, or that it is done.
    Works,
    Rests,
    Idle,
    Replies,
    Crash,
    /// A worker that was told to stop ends.
    Stops,
    /// A copy or a removal is done.
    JobEnds,
    /// Time passes.
    Later,
}

const STEPS: [Step; 18] = [
    Step::Submit,
    Step::Watch,
    Step::Unwatch,
    Step::Retry,
    Step::Archive,
    Step::Delete,
    Step::Restore,
    Step::Copy,
    Step::Spawn,
    Step::Ready,
    Step::Works,
    Step::Rests,
    Step::Idle,
    Step::Replies,
    Step::Crash,
    Step::Stops,
    Step::JobEnds,
    Step::Later,
];

/// A simulated process.
struct Process {
    generation: u64,
    ready: bool,
    told_to_stop: bool,
    calls: VecDeque<u64>,
}

/// What a session without a worker is held for.
enum Held {
    Copy(Box<Copying>),
    Remove,
}

struct World {
    board: Switchboard,
    kept: Session,
    process: Option<Process>,
    starting: u32,
    job: Option<Held>,
    later: Vec<Input>,
    generation: u64,
    next_call: u64,
    /// Calls without an answer.
    open: BTreeSet<u64>,
    answers: BTreeMap<u64, String>,
    now: u64,
    removed: bool,
}

const OWNER: u64 = 1;

fn id() -> SessionId {
    SessionId::parse("a").expect("an id")
}

fn topic() -> Topic {
    Topic::Conversation {
        session: id(),
        conversation: ConversationId::ROOT,
    }
}

impl World {
    fn new() -> Self {
        let kept = sessions::create(id(), "/".to_owned(), None, None, 1).expect("made");
        let mut world = Self {
            board: Switchboard::new("box".to_owned(), 1, vec![kept.clone()]),
            kept,
            process: None,
            starting: 0,
            job: None,
            later: Vec::new(),
            generation: 0,
            next_call: 1,
            open: BTreeSet::new(),
            answers: BTreeMap::new(),
            now: 10,
            removed: false,
        };
        let owner = Who {
            role: Role::Owner,
            id: "owner".to_owned(),
            name: "o".to_owned(),
        };
        world.take(Input::Opened {
            connection: OWNER,
            who: owner,
            pass: Pass::Command,
        });
        world
    }

    fn take(&mut self, input: Input) {
        for effect in self.board.handle(input) {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Start(_) => {
                self.starting += 1;
                assert_eq!(self.starting, 1, "one start at a time");
                assert!(self.process.is_none(), "two workers for one store");
                assert!(self.job.is_none(), "a start in the middle of a job");
            }
            Effect::Tell { message, .. } => self.told(&message),
            Effect::StartLater { session, .. } => self.later.push(Input::StartDue(session)),
            Effect::RemoveAt {
                session,
                deleted_ms,
                ..
            } => self.later.push(Input::RemoveDue {
                session,
                deleted_ms,
            }),
            Effect::Copy(copying) => self.begin(Held::Copy(copying)),
            Effect::Remove { deleted_ms, .. } => {
                // As the catalog decides it: what was restored meanwhile stays.
                self.removed |= self.kept.deleted_ms == Some(deleted_ms);
                self.begin(Held::Remove);
            }
            Effect::Send { frame, .. } => self.sent(&frame),
            Effect::Save(_)
            | Effect::Index(_)
            | Effect::Entries { .. }
            | Effect::Control { .. }
            | Effect::Close { .. }
            | Effect::CutOff { .. }
            | Effect::PresenceLater { .. }
            | Effect::Serve { .. } => {}
        }
    }

    fn begin(&mut self, job: Held) {
        assert!(self.process.is_none(), "a job while a worker has the store");
        assert_eq!(self.starting, 0, "a job while a worker is started");
        assert!(self.job.is_none(), "two jobs at once");
        self.job = Some(job);
    }

    fn told(&mut self, message: &ToWorker) {
        // What is said to a worker that is not there is lost, as it is with processes.
        let Some(process) = &mut self.process else {
            return;
        };
        match message {
            ToWorker::Stop => process.told_to_stop = true,
            ToWorker::Call { id, .. } => process.calls.push_back(*id),
            _ => {}
        }
    }

    fn sent(&mut self, frame: &str) {
        let value: serde_json::Value = serde_json::from_str(frame).expect("JSON");
        for kind in ["reply", "error"] {
            if let Some(id) = value[kind]["id"].as_u64() {
                assert!(self.open.remove(&id), "answered twice: {frame}");
                self.answers.insert(id, frame.to_owned());
            }
        }
    }

    fn number(&mut self) -> u64 {
        let number = self.next_call;
        self.next_call += 1;
        self.open.insert(number);
        number
    }

    /// What the server's own calls do: the catalog first, then the switchboard.
    fn keep(&mut self, change: impl FnOnce(&mut Session)) {
        change(&mut self.kept);
        let kept = self.kept.clone();
        self.take(Input::Kept(Box::new(kept)));
    }

    fn halt(&mut self) {
        let error = CallError::new(ErrorCode::Conflict, "put away");
        self.take(Input::Halt {
            session: id(),
            error,
        });
    }

    fn said(&mut self, message: FromWorker) {
        if let Some(process) = &self.process {
            let generation = process.generation;
            self.take(Input::Worker {
                session: id(),
                generation,
                message: Box::new(message),
                body: r#"{"x":{}}"#.into(),
            });
        }
    }

    fn status(&mut self, state: SessionState) {
        if self.process.as_ref().is_some_and(|p| p.ready) {
            self.said(FromWorker::Status(Status {
                state,
                suggested_title: None,
                updated_ms: 2,
                answered: false,
            }));
        }
    }

    fn ends(&mut self) {
        if let Some(process) = self.process.take() {
            self.take(Input::WorkerGone {
                session: id(),
                generation: Some(process.generation),
                reason: "gone".to_owned(),
                lived: Duration::from_secs(600),
            });
        }
    }

    fn job_ends(&mut self) {
        match self.job.take() {
            Some(Held::Copy(copying)) => {
                self.take(Input::Answered {
                    connection: copying.connection,
                    id: copying.id,
                    result: Ok(serde_json::value::to_raw_value("copied").expect("JSON")),
                });
                self.take(Input::JobDone(id()));
            }
            Some(Held::Remove) => self.take(Input::JobDone(id())),
            None => {}
        }
    }

    fn post(&mut self, call: Call) {
        let number = self.number();
        self.take(Input::Frame {
            connection: OWNER,
            frame: ClientFrame::Call { id: number, call },
        });
    }

    fn step(&mut self, step: Step) {
        self.now += 1;
        match step {
            Step::Submit if self.open.len() < 16 => self.post(Call::Submit {
                session: id(),
                conversation: ConversationId::ROOT,
                request: RequestId::parse("r").expect("an id"),
                mode: SendMode::FollowUp,
                text: "hi".to_owned(),
                attachments: Vec::new(),
            }),
            Step::Submit => {}
            Step::Watch => self.frame(ClientFrame::Watch { topic: topic() }),
            Step::Unwatch => self.frame(ClientFrame::Unwatch { topic: topic() }),
            Step::Retry if self.there() && !self.kept.archived => self.take(Input::Retry(id())),
            Step::Retry => {}
            Step::Archive if self.there() => {
                self.keep(|kept| kept.archived = true);
                self.halt();
            }
            Step::Delete if self.there() => {
                let now = self.now;
                self.keep(|kept| kept.deleted_ms = Some(now));
                self.halt();
            }
            Step::Archive | Step::Delete => {}
            Step::Restore if !self.removed => self.keep(|kept| {
                if kept.deleted_ms.take().is_none() {
                    kept.archived = false;
                }
            }),
            Step::Restore => {}
            Step::Copy => self.copy(),
            Step::Spawn if self.starting > 0 => self.spawn(),
            Step::Spawn => {}
            Step::Ready => self.ready(),
            Step::Works => self.status(SessionState::Working {
                activity: "x".to_owned(),
            }),
            Step::Rests => self.status(SessionState::Idle),
            Step::Idle => self.said(FromWorker::Idle),
            Step::Replies => self.replies(),
            Step::Crash => self.ends(),
            Step::Stops if self.process.as_ref().is_some_and(|p| p.told_to_stop) => self.ends(),
            Step::Stops => {}
            Step::JobEnds => self.job_ends(),
            Step::Later => {
                for input in std::mem::take(&mut self.later) {
                    self.take(input);
                }
            }
        }
    }

    fn frame(&mut self, frame: ClientFrame) {
        self.take(Input::Frame {
            connection: OWNER,
            frame,
        });
    }

    /// Whether a person can find it.
    fn there(&self) -> bool {
        !self.removed && self.kept.deleted_ms.is_none()
    }

    fn copy(&mut self) {
        if self.open.len() >= 16 {
            return;
        }
        let call = Call::SessionClone {
            session: id(),
            request: RequestId::parse("c").expect("an id"),
            title: None,
        };
        let number = self.next_call;
        self.post(call);
        self.take(Input::Copy(Box::new(Copying {
            from: id(),
            session: self.kept.clone(),
            request: RequestId::parse("c").expect("an id"),
            connection: OWNER,
            id: number,
        })));
    }

    fn spawn(&mut self) {
        self.starting = 0;
        self.generation += 1;
        let generation = self.generation;
        self.process = Some(Process {
            generation,
            ready: false,
            told_to_stop: false,
            calls: VecDeque::new(),
        });
        self.take(Input::WorkerBorn {
            session: id(),
            generation,
        });
    }

    fn ready(&mut self) {
        if let Some(process) = self.process.as_mut().filter(|p| !p.ready) {
            process.ready = true;
            self.said(FromWorker::Ready);
        }
    }

    fn replies(&mut self) {
        let call = self.process.as_mut().and_then(|p| p.calls.pop_front());
        if let Some(call) = call {
            let generation = self.generation;
            self.take(Input::Worker {
                session: id(),
                generation,
                message: Box::new(FromWorker::Reply {
                    connection: OWNER,
                    id: call,
                }),
                body: format!(r#"{{"reply":{{"id":{call},"result":{{}}}}}}"#).into(),
            });
        }
    }

    /// Lets everything that is under way come to its end.
    fn settle(&mut self) {
        for _ in 0..64 {
            for step in [
                Step::Spawn,
                Step::Ready,
                Step::Replies,
                Step::Stops,
                Step::JobEnds,
                Step::Later,
            ] {
                self.step(step);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn a_store_has_one_user_at_a_time_and_everyone_is_answered(
        steps in prop::collection::vec(prop::sample::select(&STEPS[..]), 0..80)
    ) {
        let mut world = World::new();
        for step in steps {
            world.step(step);
            let put_away = !world.there() || world.kept.archived;
            prop_assert!(!(put_away && world.board.workers.is_ready(&id())), "it works on although it is put away");
        }
        world.settle();
        prop_assert!(world.open.is_empty(), "without an answer: {:?}", world.open);
        prop_assert!(world.job.is_none() && world.starting == 0);
        let available = world.there() && !world.kept.archived;
        if !available {
            prop_assert!(world.process.is_none(), "a worker without a session");
        }
        let watched = world.board.seats.watchers(&id()) > 0;
        if watched {
            prop_assert!(available, "a watch of what is not there");
            prop_assert!(world.process.as_ref().is_some_and(|p| p.ready), "a watch without a worker");
        }
    }
}

fn after(steps: &[Step]) -> World {
    let mut world = World::new();
    for step in steps {
        world.step(*step);
    }
    world
}

#[test]
fn a_copy_waits_for_the_worker_to_stop_and_the_worker_for_the_copy() {
    let mut world = after(&[Step::Watch, Step::Spawn, Step::Ready, Step::Copy]);
    assert!(world.job.is_none() && world.process.as_ref().is_some_and(|p| p.told_to_stop));
    world.step(Step::Submit);
    world.step(Step::Stops);
    assert!(world.job.is_some() && world.starting == 0);
    world.step(Step::JobEnds);
    assert_eq!(
        world.starting, 1,
        "who watched and asked meanwhile is served now"
    );
    world.settle();
    assert_eq!(world.answers.len(), 2);
    assert!(
        world
            .answers
            .values()
            .all(|answer| answer.starts_with(r#"{"reply""#))
    );
}

#[test]
fn what_works_is_not_copied_and_says_so() {
    let world = after(&[
        Step::Watch,
        Step::Spawn,
        Step::Ready,
        Step::Works,
        Step::Copy,
    ]);
    let answer = world.answers.values().next().expect("an answer");
    assert!(answer.contains("this session is working"), "{answer}");
    assert!(world.process.is_some_and(|process| !process.told_to_stop));
}

#[test]
fn a_start_while_a_session_is_put_away_is_refused_in_words_and_one_after_its_return_waits() {
    let mut world = after(&[Step::Watch, Step::Spawn, Step::Ready, Step::Archive]);
    world.step(Step::Submit);
    let answer = world.answers.values().next().expect("an answer");
    assert!(
        answer.contains("archived") && answer.contains("restore it first"),
        "{answer}"
    );
    world.step(Step::Restore);
    world.step(Step::Submit);
    assert_eq!(world.starting, 0, "the old worker is not gone yet");
    world.step(Step::Stops);
    assert_eq!(world.starting, 1);
}

#[test]
fn a_worker_that_is_put_away_before_its_process_is_there_is_told_to_stop_at_birth() {
    let world = after(&[Step::Watch, Step::Archive, Step::Spawn]);
    assert!(world.process.is_some_and(|process| process.told_to_stop));
}

#[test]
fn a_deleted_session_is_removed_when_its_time_is_over_unless_it_was_restored() {
    let mut world = after(&[Step::Watch, Step::Spawn, Step::Ready, Step::Delete]);
    world.step(Step::Later);
    assert!(world.job.is_none(), "its worker is not gone yet");
    world.step(Step::Stops);
    assert!(world.removed && world.job.is_some());

    let mut world = after(&[Step::Delete, Step::Restore, Step::Delete]);
    let second = world.later.pop().expect("a second time");
    world.step(Step::Later);
    assert!(
        !world.removed,
        "the first time is over, and no longer counts"
    );
    world.step(Step::Restore);
    world.take(second);
    assert!(!world.removed && world.board.home().get(&id()).is_some());
}
