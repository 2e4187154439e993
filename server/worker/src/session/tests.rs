//! The driver with models and tools as a test tells them: a client beside it in one runtime, and crashes at every commit.

mod attached;
mod client;
mod conversations;
mod crash;
mod power;
mod real;
mod script;
mod set;

use std::time::{Duration, Instant};

use porthole_protocol::{
    Call, EntryBody, ErrorCode, GuestMode, Role, SessionState, Topic, TurnPhase, Who, replies,
};
use tokio::task::LocalSet;

pub(crate) use script::Script;

use client::{Client, session, text_of};

/// Runs a test with the driver beside it.
async fn beside<T>(test: impl Future<Output = T>) -> T {
    let world = LocalSet::new();
    let bounded = tokio::time::timeout(Duration::from_secs(60), world.run_until(test));
    bounded
        .await
        .expect("the test waits for something that does not come")
}

fn guest(mode: GuestMode) -> Who {
    Who {
        role: Role::Guest {
            session: session(),
            mode,
            may_approve: false,
        },
        id: "g1".into(),
        name: "Mira".into(),
    }
}

#[tokio::test]
async fn a_message_is_answered_and_the_deltas_lead_to_the_same_state_as_a_snapshot() {
    beside(async {
        let dir = tempfile::tempdir().expect("folder");
        let mut client = Client::start(dir.path(), &Script::new(), None).await;
        client.watch().await;
        client.submit("r1", "hello").await.expect("taken");
        client
            .until("answered", |c| c.finals() == 1 && c.state().turn.is_none())
            .await;
        client.catch_up().await;
        let followed = client.state().clone();
        client.watch().await;
        assert_eq!(*client.state(), followed);
        let title = client
            .status
            .as_ref()
            .and_then(|s| s.suggested_title.clone());
        assert_eq!(title.as_deref(), Some("hello"));
        assert!(client.answered, "the home list learns of the answer");
    })
    .await;
}

#[tokio::test]
async fn four_thousand_pieces_come_in_few_deltas_and_whole() {
    beside(async {
        let dir = tempfile::tempdir().expect("folder");
        let mut client = Client::start(dir.path(), &Script::new(), None).await;
        client.watch().await;
        client.submit("r1", "stream").await.expect("taken");
        let whole = script::streamed();
        client
            .until("some text", |c| !c.open_text().is_empty())
            .await;
        client.watch().await;
        client.until("all text", |c| c.open_text() == whole).await;
        assert!((1..400).contains(&client.grown), "{} deltas", client.grown);
        client.stop("s1").await;
        client.until("stopped", |c| c.state().turn.is_none()).await;
        let kept = client.state().entries.iter().any(|e| {
            matches!(
                &e.body,
                EntryBody::Answer {
                    incomplete: true,
                    ..
                }
            ) && text_of(e) == whole
        });
        assert!(kept, "what had arrived is kept");
    })
    .await;
}

#[tokio::test]
async fn a_question_waits_for_those_who_come_later_and_is_answered_once() {
    beside(async {
        let dir = tempfile::tempdir().expect("folder");
        let mut client = Client::start(dir.path(), &Script::new(), None).await;
        client.submit("r1", "work").await.expect("taken");
        let asks = |s: &SessionState| matches!(s, SessionState::Waiting { question } if question == "run make?");
        client.until("waits", |c| c.status.as_ref().is_some_and(|s| asks(&s.state))).await;
        client.watch().await;
        assert_eq!(client.state().turn.as_ref().map(|t| t.phase.clone()), Some(TurnPhase::Question));
        let question = client.state().questions[0].id;
        assert!(client.answer(question).await.counted);
        let again = client.answer(question).await;
        assert!(again.counted, "the same request has the same reply");
        client.until("done", |c| c.finals() == 1 && c.state().questions.is_empty()).await;
    })
    .await;
}

#[tokio::test]
async fn a_message_taken_back_twice_under_one_request_is_given_back_both_times() {
    beside(async {
        let dir = tempfile::tempdir().expect("folder");
        let mut client = Client::start(dir.path(), &Script::new(), None).await;
        client.submit("r1", "work").await.expect("taken");
        let reply = client.submit("r2", "not this").await.expect("taken");
        let queued: replies::Submitted = serde_json::from_value(reply).expect("a reply");
        let back = |request| client::withdraw(request, queued.submission);
        let first = client.call(back("w1")).await.expect("waits");
        let again = client.call(back("w1")).await.expect("the same request");
        assert_eq!(first, again);
        assert_eq!(first["text"], "not this");
        let other = client.call(back("w2")).await;
        assert_eq!(other.map_err(|e| e.code), Err(ErrorCode::Conflict));
    })
    .await;
}

#[tokio::test]
async fn a_viewing_guest_watches_and_changes_nothing() {
    beside(async {
        let dir = tempfile::tempdir().expect("folder");
        let mut client = Client::start(dir.path(), &Script::new(), None).await;
        client.who = guest(GuestMode::View);
        client.watch().await;
        let refused = client.submit("r1", "hello").await.expect_err("refused");
        assert_eq!(refused.code, ErrorCode::NotAllowed);
        client.who = guest(GuestMode::Full);
        client.submit("r1", "hello").await.expect("taken");
    })
    .await;
}

#[tokio::test]
async fn an_unknown_model_is_refused_and_a_lost_one_fails_the_turn_with_one_error() {
    beside(async {
        let dir = tempfile::tempdir().expect("folder");
        let mut client = Client::start(dir.path(), &Script::new(), None).await;
        client.watch().await;
        let refused = client.configure("test/none").await.expect_err("refused");
        assert_eq!(refused.code, ErrorCode::Invalid);
        assert!(!refused.hint.is_empty());
        client.configure("test/two").await.expect("there is one");
        client
            .until("shown", |c| c.state().info.model.model == "two")
            .await;
        client.submit("r1", "fail").await.expect("taken");
        client
            .until("failed", |c| c.finals() == 1 && c.state().turn.is_none())
            .await;
        let errors = |c: &Client| {
            c.state()
                .entries
                .iter()
                .filter(|e| matches!(e.body, EntryBody::Error { .. }))
                .count()
        };
        assert_eq!(errors(&client), 1);
    })
    .await;
}

#[tokio::test]
async fn a_full_disk_acknowledges_nothing_and_what_fits_later_is_taken() {
    beside(async {
        let dir = tempfile::tempdir().expect("folder");
        let mut client = Client::start_full(dir.path(), &Script::new(), 60).await;
        client.watch().await;
        let refused = client
            .submit("r1", &"x".repeat(400_000))
            .await
            .expect_err("refused");
        assert_eq!(refused.code, ErrorCode::Unavailable);
        assert!(refused.message.contains("disk is full"), "{refused:?}");
        let failed = |s: &SessionState| matches!(s, SessionState::Failed { .. });
        client
            .until("told", |c| {
                c.status.as_ref().is_some_and(|s| failed(&s.state))
            })
            .await;
        assert!(client.state().entries.is_empty() && client.state().submissions.is_empty());
        client.submit("r2", "small").await.expect("taken");
        client.until("answered", |c| c.finals() == 1).await;
    })
    .await;
}

#[tokio::test]
async fn output_is_read_in_ranges_and_another_generation_is_a_conflict() {
    beside(async {
        let dir = tempfile::tempdir().expect("folder");
        let mut client = Client::start(dir.path(), &Script::new(), None).await;
        std::fs::create_dir_all(dir.path().join("runs")).expect("folder");
        std::fs::write(dir.path().join("runs/sh-1"), b"hello world").expect("file");
        let read = |generation, from, bytes| Call::OutputRead {
            session: session(),
            run: porthole_protocol::RunId::parse("sh-1").expect("id"),
            generation,
            from,
            bytes,
        };
        let part = client.call(read(0, 6, 3)).await.expect("read");
        assert_eq!(part["base64"], "d29y");
        assert_eq!(
            (&part["total"], &part["complete"]),
            (&11.into(), &true.into())
        );
        let conflict = client.call(read(1, 0, 3)).await.expect_err("refused");
        assert_eq!(conflict.code, ErrorCode::Conflict);
        assert!(
            client.call(read(0, 0, 0)).await.is_err(),
            "nothing is no range"
        );
    })
    .await;
}

#[tokio::test]
async fn a_worker_at_rest_says_so_once_and_not_while_someone_watches() {
    beside(async {
        let dir = tempfile::tempdir().expect("folder");
        let mut client = Client::start(dir.path(), &Script::new(), None).await;
        client.until("rest", |c| c.idle == 1).await;
        client.watch().await;
        client.submit("r1", "hello").await.expect("taken");
        client
            .until("answered", |c| c.finals() == 1 && c.state().turn.is_none())
            .await;
        assert_eq!(client.idle, 1);
        client.watchers(0).await;
        client.until("rest again", |c| c.idle == 2).await;
    })
    .await;
}

#[tokio::test]
async fn a_server_that_is_gone_ends_the_worker_soon_and_a_stuck_tool_is_found_interrupted() {
    beside(async {
        let dir = tempfile::tempdir().expect("folder");
        let script = Script::new();
        let mut client = Client::start(dir.path(), &script, None).await;
        client.submit("r1", "stick").await.expect("taken");
        client.until("runs", |_| script.ran().len() == 1).await;
        let before = Instant::now();
        client.gone().await;
        assert!(before.elapsed() < Duration::from_secs(3));
        let mut client = Client::start(dir.path(), &script, None).await;
        client.watch().await;
        client.until("told", |c| c.finals() == 1).await;
        let interrupted = |e: &porthole_protocol::Entry| {
            matches!(
                &e.body,
                EntryBody::ToolResult {
                    outcome: porthole_protocol::ToolOutcome::Interrupted,
                    ..
                }
            )
        };
        assert!(client.state().entries.iter().any(interrupted));
        assert_eq!(script.ran().len(), 1, "it did not run again");
    })
    .await;
}

#[tokio::test]
async fn a_turn_that_was_told_to_stop_ends_after_a_crash_and_asks_no_model() {
    beside(async {
        let dir = tempfile::tempdir().expect("folder");
        let script = Script::new();
        let mut client = Client::start(dir.path(), &script, None).await;
        client.submit("r1", "stick").await.expect("taken");
        client.until("runs", |_| script.ran().len() == 1).await;
        client.stop("s1").await;
        client.gone().await;
        let asked = script.prompts().len();
        let mut client = Client::start(dir.path(), &script, None).await;
        client.watch().await;
        client.until("ended", |c| c.state().turn.is_none()).await;
        client.stop("s1").await;
        client.catch_up().await;
        assert_eq!(script.prompts().len(), asked);
        let stops = |e: &&porthole_protocol::Entry| matches!(&e.body, EntryBody::Notice { .. });
        assert_eq!(client.state().entries.iter().filter(stops).count(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_fault_in_a_tool_is_a_failed_result_and_the_turn_goes_on() {
    beside(async {
        let dir = tempfile::tempdir().expect("folder");
        let mut client = Client::start(dir.path(), &Script::new(), None).await;
        client.watch().await;
        client.submit("r1", "break").await.expect("taken");
        client.until("done", |c| c.finals() == 1).await;
        let failed = |e: &porthole_protocol::Entry| {
            matches!(
                &e.body,
                EntryBody::ToolResult {
                    outcome: porthole_protocol::ToolOutcome::Failed,
                    ..
                }
            )
        };
        assert!(client.state().entries.iter().any(failed));
    })
    .await;
}

#[tokio::test]
async fn a_topic_that_is_not_there_cannot_be_watched() {
    beside(async {
        let dir = tempfile::tempdir().expect("folder");
        let mut client = Client::start(dir.path(), &Script::new(), None).await;
        assert_eq!(
            client.try_watch(Topic::Sessions).await.map_err(|e| e.code),
            Err(ErrorCode::NotFound)
        );
    })
    .await;
}
