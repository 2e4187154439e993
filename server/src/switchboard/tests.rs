//! The switchboard as tables: inputs in, effects out, no clock and no socket.

use std::time::Duration;

use porthole_protocol::{
    Call, CallError, ClientFrame, ConversationId, ErrorCode, GuestMode, RequestId, Role, SendMode,
    ServerFrame, SessionId, SessionState, Topic, Who, decode, limits,
};
use porthole_worker::wire::{FromWorker, Status, ToWorker};

use super::{Effect, Input, Switchboard};
use crate::{catalog::Session, outbox::Lane, pass::Pass, sessions};

fn id(text: &str) -> SessionId {
    SessionId::parse(text).expect("an id")
}

fn session(name: &str) -> Session {
    sessions::create(id(name), "/".to_owned(), None, None, 1).expect("made")
}

fn board() -> Switchboard {
    Switchboard::new("box".to_owned(), 7, vec![session("a"), session("b")])
}

fn who(role: Role) -> Who {
    Who {
        role,
        id: "x".to_owned(),
        name: "x".to_owned(),
    }
}

fn guest(of: &str, mode: GuestMode) -> Who {
    who(Role::Guest {
        session: id(of),
        mode,
        may_approve: false,
    })
}

fn open(board: &mut Switchboard, connection: u64, who: Who) {
    let effects = board.handle(Input::Opened {
        connection,
        who,
        pass: Pass::Command,
    });
    assert_eq!(effects.len(), 1, "hello and nothing else");
}

fn submit(of: &str) -> Call {
    Call::Submit {
        session: id(of),
        conversation: ConversationId::ROOT,
        request: RequestId::parse("r").expect("an id"),
        mode: SendMode::FollowUp,
        text: "hi".to_owned(),
        attachments: Vec::new(),
    }
}

fn topic(of: &str) -> Topic {
    Topic::Conversation {
        session: id(of),
        conversation: ConversationId::ROOT,
    }
}

fn call(board: &mut Switchboard, connection: u64, number: u64, call: Call) -> Vec<Effect> {
    board.handle(Input::Frame {
        connection,
        frame: ClientFrame::Call { id: number, call },
    })
}

fn watch(board: &mut Switchboard, connection: u64, topic: Topic) -> Vec<Effect> {
    board.handle(Input::Frame {
        connection,
        frame: ClientFrame::Watch { topic },
    })
}

fn said(board: &mut Switchboard, of: &str, generation: u64, message: FromWorker) -> Vec<Effect> {
    board.handle(Input::Worker {
        session: id(of),
        generation,
        message: Box::new(message),
        body: "body".into(),
    })
}

fn gone(board: &mut Switchboard, of: &str, generation: u64, lived: u64) -> Vec<Effect> {
    board.handle(Input::WorkerGone {
        session: id(of),
        generation: Some(generation),
        reason: "it crashed".to_owned(),
        lived: Duration::from_secs(lived),
    })
}

fn live(board: &mut Switchboard, of: &str, generation: u64) -> Vec<Effect> {
    board.handle(Input::WorkerBorn {
        session: id(of),
        generation,
    });
    said(board, of, generation, FromWorker::Ready)
}

/// Returns the code of the error that a connection is sent.
fn error(effects: &[Effect], to: u64) -> Option<ErrorCode> {
    effects.iter().find_map(|effect| match effect {
        Effect::Send {
            connection, frame, ..
        } if *connection == to => match decode(frame, limits::SERVER_FRAME_BYTES).ok()? {
            ServerFrame::Error { error, .. } | ServerFrame::Ended { error, .. } => Some(error.code),
            _ => None,
        },
        _ => None,
    })
}

fn starts(effects: &[Effect]) -> bool {
    effects
        .iter()
        .any(|effect| matches!(effect, Effect::Start(_)))
}

fn later(effects: &[Effect]) -> Option<u128> {
    effects.iter().find_map(|effect| match effect {
        Effect::StartLater { after, .. } => Some(after.as_millis()),
        _ => None,
    })
}

fn told(effects: &[Effect]) -> Vec<&ToWorker> {
    fn tell(effect: &Effect) -> Option<&ToWorker> {
        match effect {
            Effect::Tell { message, .. } => Some(message),
            _ => None,
        }
    }
    effects.iter().filter_map(tell).collect()
}

#[test]
fn calls_wait_for_the_worker_and_go_to_it_in_order() {
    let mut board = board();
    open(&mut board, 1, who(Role::Owner));
    assert!(starts(&call(&mut board, 1, 1, submit("a"))));
    assert!(
        !starts(&call(&mut board, 1, 2, submit("a"))),
        "one start is enough"
    );
    let effects = live(&mut board, "a", 1);
    let ids: Vec<_> = told(&effects)
        .into_iter()
        .filter_map(|message| match message {
            ToWorker::Call { id, .. } => Some(*id),
            _ => None,
        })
        .collect();
    assert_eq!(ids, [1, 2]);
}

#[test]
fn a_guest_is_checked_before_a_worker_is_started() {
    let mut board = board();
    open(&mut board, 1, guest("a", GuestMode::View));
    let effects = call(&mut board, 1, 1, submit("a"));
    assert_eq!(error(&effects, 1), Some(ErrorCode::NotAllowed));
    assert!(!starts(&effects));
    let effects = watch(&mut board, 1, topic("b"));
    assert_eq!(
        error(&effects, 1),
        Some(ErrorCode::NotFound),
        "as if it were not there"
    );
    assert!(!starts(&effects));
    assert!(starts(&watch(&mut board, 1, topic("a"))));
}

#[test]
fn a_guest_sees_one_row_and_no_change_of_others() {
    let mut board = board();
    open(&mut board, 1, guest("a", GuestMode::View));
    watch(&mut board, 1, Topic::Sessions);
    let effects = board.handle(Input::Kept(Box::new(session("b"))));
    let shows = |effect: &Effect| matches!(effect, Effect::Send { .. });
    assert!(!effects.iter().any(shows), "nothing is shown: {effects:?}");
    let mut effects = board.handle(Input::Kept(Box::new(session("a"))));
    effects.retain(shows);
    let [
        Effect::Send {
            connection: 1,
            lane: Lane::Topic(Topic::Sessions),
            frame,
        },
    ] = &effects[..]
    else {
        panic!("one frame: {effects:?}")
    };
    assert!(
        frame.contains(r#""id":"a""#) && !frame.contains(r#""id":"b""#),
        "{frame}"
    );
    assert!(
        frame.starts_with(r#"{"snapshot""#),
        "its numbers have gaps: {frame}"
    );
}

#[test]
fn crashes_are_waited_out_longer_each_time_and_then_a_failure() {
    let mut board = board();
    open(&mut board, 1, who(Role::Owner));
    watch(&mut board, 1, topic("a"));
    live(&mut board, "a", 1);
    assert_eq!(later(&gone(&mut board, "a", 1, 1)), Some(250));
    assert!(starts(&board.handle(Input::StartDue(id("a")))));
    live(&mut board, "a", 2);
    assert_eq!(later(&gone(&mut board, "a", 2, 1)), Some(500));
    board.handle(Input::StartDue(id("a")));
    live(&mut board, "a", 3);
    let effects = gone(&mut board, "a", 3, 1);
    assert_eq!(later(&effects), None);
    assert_eq!(error(&effects, 1), Some(ErrorCode::Unavailable));
    let failed = &board.home().get(&id("a")).expect("there").state;
    assert!(matches!(failed, SessionState::Failed { reason } if reason == "it crashed"));
    assert!(
        !starts(&watch(&mut board, 1, topic("a"))),
        "only a person starts it again"
    );
    assert!(starts(&board.handle(Input::Retry(id("a")))));
}

#[test]
fn a_crash_after_a_long_life_begins_the_count_again() {
    let mut board = board();
    open(&mut board, 1, who(Role::Owner));
    watch(&mut board, 1, topic("a"));
    for generation in 1..10 {
        live(&mut board, "a", generation);
        assert_eq!(later(&gone(&mut board, "a", generation, 3600)), Some(250));
        board.handle(Input::StartDue(id("a")));
    }
}

#[test]
fn a_crash_without_watchers_and_work_starts_nothing() {
    let mut board = board();
    open(&mut board, 1, who(Role::Owner));
    call(&mut board, 1, 1, submit("a"));
    live(&mut board, "a", 1);
    said(
        &mut board,
        "a",
        1,
        FromWorker::Reply {
            connection: 1,
            id: 1,
        },
    );
    assert_eq!(later(&gone(&mut board, "a", 1, 1)), None);
}

#[test]
fn a_worker_answers_only_for_its_own_session_and_life() {
    let mut board = board();
    open(&mut board, 1, who(Role::Owner));
    call(&mut board, 1, 1, submit("a"));
    watch(&mut board, 1, topic("a"));
    watch(&mut board, 1, topic("b"));
    live(&mut board, "a", 1);
    live(&mut board, "b", 1);
    let reply = || FromWorker::Reply {
        connection: 1,
        id: 1,
    };
    let snapshot = || FromWorker::Snapshot {
        connection: 1,
        topic: topic("a"),
    };
    let delta = || FromWorker::Delta { topic: topic("a") };
    for message in [reply(), snapshot(), delta()] {
        assert!(
            said(&mut board, "b", 1, message.clone()).is_empty(),
            "another session: {message:?}"
        );
        assert!(
            said(&mut board, "a", 9, message.clone()).is_empty(),
            "another life: {message:?}"
        );
    }
    assert!(
        said(&mut board, "a", 1, delta()).is_empty(),
        "no delta before the snapshot"
    );
    assert_eq!(said(&mut board, "a", 1, snapshot()).len(), 1);
    assert_eq!(said(&mut board, "a", 1, delta()).len(), 1);
    assert_eq!(said(&mut board, "a", 1, reply()).len(), 1);
    assert!(
        said(&mut board, "a", 1, reply()).is_empty(),
        "answered once"
    );
}

#[test]
fn a_snapshot_is_asked_for_once_however_often_a_client_asks() {
    let mut board = board();
    open(&mut board, 1, who(Role::Owner));
    live(&mut board, "a", 1);
    watch(&mut board, 1, topic("a"));
    live(&mut board, "a", 1);
    for _ in 0..100 {
        assert!(told(&watch(&mut board, 1, topic("a"))).is_empty());
    }
}

#[test]
fn the_thirty_third_watch_is_refused() {
    let mut board = board();
    open(&mut board, 1, who(Role::Owner));
    for number in 1..=limits::WATCHES as u64 {
        let topic = Topic::Conversation {
            session: id("a"),
            conversation: ConversationId(number),
        };
        assert_eq!(error(&watch(&mut board, 1, topic), 1), None);
    }
    assert_eq!(
        error(&watch(&mut board, 1, Topic::Sessions), 1),
        Some(ErrorCode::Busy)
    );
}

#[test]
fn nothing_is_started_once_the_server_ends() {
    let mut board = board();
    open(&mut board, 1, who(Role::Owner));
    watch(&mut board, 1, topic("a"));
    live(&mut board, "a", 1);
    let effects = board.handle(Input::ShutDown);
    assert_eq!(told(&effects), [&ToWorker::Stop]);
    let effects = gone(&mut board, "a", 1, 1);
    assert!(!starts(&effects) && later(&effects).is_none());
    assert_eq!(
        error(&call(&mut board, 1, 2, submit("b")), 1),
        Some(ErrorCode::Unavailable)
    );
}

#[test]
fn a_worker_that_could_not_open_is_made_to_end_and_is_not_started_again() {
    let mut board = board();
    open(&mut board, 1, who(Role::Owner));
    watch(&mut board, 1, topic("a"));
    board.handle(Input::WorkerBorn {
        session: id("a"),
        generation: 1,
    });
    let error = CallError::new(ErrorCode::Unavailable, "no model").hint("choose one");
    let effects = said(&mut board, "a", 1, FromWorker::OpenFailed { error });
    assert_eq!(told(&effects), [&ToWorker::Stop]);
    let effects = gone(&mut board, "a", 1, 1);
    assert!(!starts(&effects) && later(&effects).is_none());
    let state = &board.home().get(&id("a")).expect("there").state;
    assert!(matches!(state, SessionState::Failed { reason } if reason == "no model (choose one)"));
}

#[test]
fn a_retry_does_not_hide_what_a_worker_is_doing() {
    let mut board = board();
    open(&mut board, 1, who(Role::Owner));
    watch(&mut board, 1, topic("a"));
    live(&mut board, "a", 1);
    let working = SessionState::Working {
        activity: "thinking".to_owned(),
    };
    let status = Status {
        state: working.clone(),
        suggested_title: None,
        updated_ms: 2,
        answered: false,
    };
    said(&mut board, "a", 1, FromWorker::Status(status));
    assert!(!starts(&board.handle(Input::Retry(id("a")))));
    assert_eq!(board.home().get(&id("a")).expect("there").state, working);
}

#[test]
fn a_session_is_noted_as_opened_once_before_its_worker_is_asked_for_anything() {
    let mut board = board();
    open(&mut board, 1, who(Role::Owner));
    call(&mut board, 1, 1, submit("a"));
    assert!(!board.home().get(&id("a")).expect("there").session.opened);
    let effects = live(&mut board, "a", 1);
    assert!(
        matches!(&effects[..], [Effect::Save(kept), Effect::Tell { .. }, ..] if kept.opened),
        "{effects:?}"
    );
    gone(&mut board, "a", 1, 1);
    call(&mut board, 1, 2, submit("a"));
    let again = live(&mut board, "a", 2);
    assert!(!again.iter().any(|effect| matches!(effect, Effect::Save(_))));
}

#[test]
fn a_store_that_fails_ends_the_watches_with_the_reason_and_the_worker_lives() {
    let mut board = board();
    open(&mut board, 1, who(Role::Owner));
    watch(&mut board, 1, topic("a"));
    live(&mut board, "a", 1);
    let status = Status {
        state: SessionState::Failed {
            reason: "the disk is full".to_owned(),
        },
        suggested_title: None,
        updated_ms: 2,
        answered: false,
    };
    let effects = said(&mut board, "a", 1, FromWorker::Status(status));
    let ended = effects.iter().any(|effect| {
        matches!(effect, Effect::Send { connection: 1, frame, .. }
            if frame.starts_with(r#"{"ended""#) && frame.contains("the disk is full"))
    });
    assert!(ended, "{effects:?}");
    let refused = call(&mut board, 1, 1, submit("a"));
    assert_eq!(error(&refused, 1), Some(ErrorCode::Unavailable));
    board.handle(Input::Retry(id("a")));
    assert_eq!(told(&watch(&mut board, 1, topic("a"))).len(), 2);
}

#[test]
fn a_call_that_cannot_be_read_is_answered_under_its_id() {
    let mut board = board();
    open(&mut board, 1, who(Role::Owner));
    let table = [
        (
            r#"{"call":{"id":7,"method":"no.such","params":{}}}"#,
            Some(7),
        ),
        (
            r#"{"call":{"id":8,"method":"session.pin","params":{"x":1}}}"#,
            Some(8),
        ),
        (r#"{"call":{"id":"x"}}"#, None),
        (r#"{"other":{}}"#, None),
        ("no JSON", None),
    ];
    for (text, expected) in table {
        let effects = board.handle(Input::of_text(1, text));
        let [Effect::Send { frame, .. }] = &effects[..] else {
            panic!("one answer: {effects:?}");
        };
        let Ok(ServerFrame::Error { id, error }) = decode(frame, limits::SERVER_FRAME_BYTES) else {
            panic!("an error: {frame}");
        };
        assert_eq!((id, error.code), (expected, ErrorCode::Invalid), "{text}");
        assert!(!error.hint.is_empty());
    }
}

#[test]
fn a_worker_stops_at_rest_only_where_nobody_watches_waits_or_works() {
    let stops = |effects: &[Effect]| told(effects).contains(&&ToWorker::Stop);
    let ready = || {
        let mut board = board();
        open(&mut board, 1, who(Role::Owner));
        board.handle(Input::Retry(id("a")));
        live(&mut board, "a", 1);
        board
    };
    assert!(stops(&said(&mut ready(), "a", 1, FromWorker::Idle)));
    let mut watched = ready();
    watch(&mut watched, 1, topic("a"));
    assert!(!stops(&said(&mut watched, "a", 1, FromWorker::Idle)));
    let mut called = ready();
    call(&mut called, 1, 1, submit("a"));
    assert!(!stops(&said(&mut called, "a", 1, FromWorker::Idle)));
    let mut working = ready();
    let status = Status {
        state: SessionState::Waiting {
            question: "run it?".to_owned(),
        },
        suggested_title: None,
        updated_ms: 2,
        answered: false,
    };
    said(&mut working, "a", 1, FromWorker::Status(status));
    assert!(!stops(&said(&mut working, "a", 1, FromWorker::Idle)));
}
