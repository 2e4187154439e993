//! Lives: of workers that crash, idle and stop, and of the server itself.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use porthole_door::LinkControl;
use porthole_protocol::{
    Call, ClientFrame, ErrorCode, ServerFrame, SessionState, SessionsDelta, Topic, TopicDelta,
    TopicState, limits::UNDO_SECONDS, replies,
};
use portholed::server::now_ms;
use tokio_tungstenite::tungstenite::Message;

use crate::world::{World, bundle, config, conversation, eventually, submit};

#[tokio::test]
async fn after_a_crash_watchers_get_a_snapshot_of_a_new_life_and_callers_are_told() {
    let world = World::new().await;
    let mut client = world.owner().await;
    let session = client.new_session("r").await;
    let topic = conversation(&session);
    client.watch(topic.clone()).await;
    let (epoch, _) = client.snapshot(&topic).await;
    let error = client
        .call::<replies::Submitted>(submit(&session, "crash"))
        .await
        .expect_err("crashed");
    assert_eq!(error.code, ErrorCode::Unavailable);
    let (later, _) = client.snapshot(&topic).await;
    assert_eq!(later, epoch + 1);
    client
        .call::<replies::Submitted>(submit(&session, "again"))
        .await
        .expect("it lives");
}

#[tokio::test]
async fn a_worker_that_speaks_out_of_turn_is_replaced() {
    let world = World::new().await;
    let mut client = world.owner().await;
    let session = client.new_session("r").await;
    let topic = conversation(&session);
    client.watch(topic.clone()).await;
    let (epoch, _) = client.snapshot(&topic).await;
    client.post(submit(&session, "garbage")).await;
    assert_eq!(client.snapshot(&topic).await.0, epoch + 1);
}

#[tokio::test]
async fn three_quick_crashes_are_a_failure_until_someone_retries() {
    let world = World::new().await;
    let mut client = world.owner().await;
    let session = client.new_session("r").await;
    let trap = world
        .data()
        .join("sessions")
        .join(session.as_str())
        .join("start-crashes");
    std::fs::write(&trap, "").expect("written");
    client.watch(Topic::Sessions).await;
    client.watch(conversation(&session)).await;
    client
        .until("the end of the watch", |f| {
            matches!(f, ServerFrame::Ended { .. })
        })
        .await;
    let error = client
        .call::<replies::Submitted>(submit(&session, "x"))
        .await
        .expect_err("failed");
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert!(
        error.message.contains("boom"),
        "what it wrote last: {error}"
    );
    std::fs::remove_file(&trap).expect("removed");
    let retry = Call::SessionRetry {
        session: session.clone(),
    };
    client.call::<replies::Done>(retry).await.expect("retried");
    client
        .call::<replies::Submitted>(submit(&session, "x"))
        .await
        .expect("it lives");
}

#[tokio::test]
async fn a_session_that_cannot_be_opened_says_why() {
    let world = World::new().await;
    let mut client = world.owner().await;
    let session = client.new_session("r").await;
    let trap = world
        .data()
        .join("sessions")
        .join(session.as_str())
        .join("open-fails");
    std::fs::write(trap, "").expect("written");
    let error = client
        .call::<replies::Submitted>(submit(&session, "x"))
        .await
        .expect_err("failed");
    assert!(error.message.contains("no such model"), "{error}");
    client.watch(Topic::Sessions).await;
    let frame = client
        .until("rows", |f| matches!(f, ServerFrame::Snapshot { .. }))
        .await;
    let ServerFrame::Snapshot {
        state: TopicState::Sessions(rows),
        ..
    } = frame
    else {
        panic!("rows")
    };
    assert!(
        matches!(&rows[0].state, SessionState::Failed { reason } if reason.contains("no such model"))
    );
}

#[tokio::test]
async fn an_idle_worker_stops_only_when_nobody_watches() {
    let world = World::new().await;
    let mut client = world.owner().await;
    let session = client.new_session("r").await;
    let topic = conversation(&session);
    client.watch(topic.clone()).await;
    client.snapshot(&topic).await;
    client
        .call::<replies::Submitted>(submit(&session, "idle"))
        .await
        .expect("answered");
    client
        .call::<replies::Submitted>(submit(&session, "x"))
        .await
        .expect("still the same life");
    client.watch(topic.clone()).await;
    let (epoch, _) = client.snapshot(&topic).await;
    let folder = world.data().join("sessions").join(session.as_str());
    std::fs::write(folder.join("idle-when-alone"), "").expect("written");
    client
        .send(&ClientFrame::Unwatch {
            topic: topic.clone(),
        })
        .await;
    eventually("it stopped", || folder.join("stopped").exists()).await;
    eventually("it is gone", || world.server.counts().0.workers == 0).await;
    client.watch(topic.clone()).await;
    assert_eq!(
        client.snapshot(&topic).await.0,
        epoch + 1,
        "started when asked for"
    );
}

#[tokio::test]
async fn an_archived_session_has_no_worker_until_it_is_restored() {
    let world = World::new().await;
    let mut client = world.owner().await;
    let session = client.new_session("r").await;
    client
        .call::<replies::Submitted>(submit(&session, "x"))
        .await
        .expect("answered");
    let archive = Call::SessionArchive {
        session: session.clone(),
    };
    client
        .call::<replies::Done>(archive)
        .await
        .expect("archived");
    let folder = world.data().join("sessions").join(session.as_str());
    eventually("the worker was told to stop", || {
        folder.join("stopped").exists()
    })
    .await;
    let error = client
        .call::<replies::Submitted>(submit(&session, "x"))
        .await
        .expect_err("archived");
    assert_eq!(error.code, ErrorCode::Conflict);
    let restore = Call::SessionRestore {
        session: session.clone(),
    };
    client
        .call::<replies::Done>(restore)
        .await
        .expect("restored");
    client
        .call::<replies::Submitted>(submit(&session, "x"))
        .await
        .expect("answered");
}

#[tokio::test]
async fn unfinished_work_goes_on_after_the_server_is_started_again() {
    let world = World::new().await;
    let mut client = world.owner().await;
    let session = client.new_session("r").await;
    client
        .call::<replies::Submitted>(submit(&session, "busy"))
        .await
        .expect("answered");
    let world = World::within(world.stop().await).await;
    eventually("a worker lives again without being asked", || {
        world.server.counts().0.workers == 1
    })
    .await;
}

#[tokio::test]
async fn shutting_down_tells_everyone_stops_the_workers_and_frees_the_folder() {
    let world = World::new().await;
    let mut client = world.owner().await;
    let session = client.new_session("r").await;
    client
        .call::<replies::Submitted>(submit(&session, "x"))
        .await
        .expect("answered");
    let begun = Instant::now();
    let home = world.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(5));
    let mut heard = false;
    while let Some(message) = client.next().await {
        if let Message::Binary(bytes) = message {
            let control: LinkControl = serde_json::from_slice(&bytes).expect("a control");
            heard |= control == LinkControl::ShuttingDown;
        }
    }
    assert!(heard);
    let folder = home.path().join("data/sessions").join(session.as_str());
    assert!(
        folder.join("stopped").exists(),
        "the worker had time to close its store"
    );
    World::within(home).await;
}

#[tokio::test]
async fn a_worker_that_does_not_stop_is_ended() {
    let world = World::new().await;
    let mut client = world.owner().await;
    let session = client.new_session("r").await;
    let folder = world.data().join("sessions").join(session.as_str());
    std::fs::write(folder.join("never-stops"), "").expect("written");
    client
        .call::<replies::Submitted>(submit(&session, "x"))
        .await
        .expect("answered");
    let begun = Instant::now();
    world.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_new_bundle_is_told_to_launchers_and_handed_out() {
    let world = World::new().await;
    let cookie = world.sign_in().await;
    let mut client = world.link(&cookie).await;
    bundle(&world.home.path().join("bundle"), b"two");
    world.server.reload_bundle().expect("read again");
    let Some(Ok(Message::Binary(bytes))) = client.socket.next().await else {
        panic!("a word to the launcher")
    };
    let LinkControl::BundleChanged { sha256 } = serde_json::from_slice(&bytes).expect("a control")
    else {
        panic!("the bundle changed")
    };
    assert_eq!(
        world
            .get(&format!("/door/ui/bundle/{sha256}"), &cookie)
            .await
            .body,
        "two"
    );
}

#[tokio::test]
async fn a_port_or_folder_in_use_and_a_missing_bundle_are_refused_in_words() {
    let world = World::new().await;
    let refused = |with| async {
        let error = portholed::serve::Running::open(with)
            .await
            .err()
            .expect("refused");
        (error.to_string(), error.hint())
    };
    let (message, hint) = refused(config(world.home.path())).await;
    assert!(message.contains("in use by process"), "{message}");
    assert!(hint.contains("portholed stop"), "{hint}");

    let home = tempfile::tempdir().expect("a folder");
    let (message, hint) = refused(config(home.path())).await;
    assert!(message.contains("porthole-ui.wasm"), "{message}");
    assert!(hint.contains("cargo xtask bundle"), "{hint}");

    bundle(&home.path().join("bundle"), b"x");
    let mut with = config(home.path());
    with.listen = world.address;
    let (message, _) = refused(with).await;
    assert!(
        message.contains(&format!("port {} is in use", world.address.port())),
        "{message}"
    );

    let mut with = config(home.path());
    with.listen = "0.0.0.0:0".parse().expect("an address");
    let (message, hint) = refused(with).await;
    assert!(message.contains("without encryption"), "{message}");
    assert!(hint.contains("ssh -L"), "{hint}");
}

#[tokio::test]
async fn a_deleted_session_is_nowhere_until_it_is_restored_whole() {
    let world = World::new().await;
    let mut client = world.owner().await;
    let session = client.new_session("r").await;
    client
        .call::<replies::Submitted>(submit(&session, "x"))
        .await
        .expect("answered");
    client.watch(Topic::Sessions).await;
    client.snapshot(&Topic::Sessions).await;
    let topic = conversation(&session);
    client.watch(topic.clone()).await;
    client.snapshot(&topic).await;
    let delete = Call::SessionDelete {
        session: session.clone(),
    };
    let id = client.post(delete.clone()).await;
    let is_gone = |frame: &ServerFrame| matches!(frame, ServerFrame::Delta { delta: TopicDelta::Sessions(SessionsDelta::Gone { id }), .. } if *id == session);
    client.until("the row is gone", is_gone).await;
    let is_end = |frame: &ServerFrame| matches!(frame, ServerFrame::Ended { error, .. } if error.message.contains("deleted"));
    client.until("the watch ended", is_end).await;
    client.answer::<replies::Done>(id).await.expect("deleted");
    let folder = world.data().join("sessions").join(session.as_str());
    eventually("its worker stopped", || folder.join("stopped").exists()).await;
    for call in [delete, submit(&session, "x")] {
        let refused = client.call::<replies::Done>(call).await;
        assert_eq!(refused.expect_err("gone").code, ErrorCode::NotFound);
    }
    // Also across a restart.
    let world = World::within(world.stop().await).await;
    let mut client = world.owner().await;
    client.watch(Topic::Sessions).await;
    let frame = client.until("home", |f| matches!(f, ServerFrame::Snapshot { .. }));
    let frame = frame.await;
    assert!(
        matches!(frame, ServerFrame::Snapshot { state: TopicState::Sessions(rows), .. } if rows.is_empty())
    );
    let restore = Call::SessionRestore {
        session: session.clone(),
    };
    client
        .call::<replies::Done>(restore)
        .await
        .expect("restored");
    client
        .call::<replies::Submitted>(submit(&session, "x"))
        .await
        .expect("answered");
}

#[tokio::test]
async fn what_was_deleted_too_long_ago_is_removed_at_the_start_and_what_was_deleted_lately_is_not()
{
    let world = World::new().await;
    let mut client = world.owner().await;
    let (old, late) = (client.new_session("a").await, client.new_session("b").await);
    for (session, ago) in [(&old, UNDO_SECONDS * 1000 + 1), (&late, 1000)] {
        let mut kept = world.server.kept_session(session).expect("there");
        kept.deleted_ms = Some(now_ms() - ago);
        assert!(world.server.catalog().save_session(&kept).expect("kept"));
    }
    let home = world.stop().await;
    let sessions = home.path().join("data/sessions");
    // The half of a copy that a crash left behind.
    std::fs::create_dir(sessions.join("x.part")).expect("made");
    let world = World::within(home).await;
    let gone = |name: &str| !sessions.join(name).exists();
    eventually("they are removed", || gone(old.as_str()) && gone("x.part")).await;
    eventually("and forgotten", || {
        let kept = world.server.catalog().sessions().expect("reads");
        kept.len() == 1 && kept[0].id == late
    })
    .await;
    assert!(!gone(late.as_str()));
}

#[tokio::test]
async fn a_worker_that_is_never_ready_is_ended_at_its_bound_and_the_record_says_so() {
    let home = tempfile::tempdir().expect("a folder");
    bundle(&home.path().join("bundle"), b"one");
    let mut with = config(home.path());
    with.worker.start_bound = Duration::from_secs(1);
    let world = World::with(home, with).await;
    let mut client = world.owner().await;
    let session = client.new_session("r").await;
    let folder = world.data().join("sessions").join(session.as_str());
    std::fs::write(folder.join("start-hangs"), "").expect("written");
    let error = client
        .call::<replies::Submitted>(submit(&session, "x"))
        .await
        .expect_err("no worker");
    assert_eq!(error.code, ErrorCode::Unavailable);
    let source = portholed::diagnostics::worker_source(&session);
    let kept = portholed::diagnostics::read(&world.data(), &source);
    let told: Vec<_> = kept.since(0).map(|line| line.text.clone()).collect();
    assert!(
        told.iter()
            .any(|line| line.contains("not ready within 1 s")),
        "{told:?}"
    );
    std::fs::remove_file(folder.join("start-hangs")).expect("removed");
    client
        .call::<replies::Submitted>(submit(&session, "x"))
        .await
        .expect("another start, another chance");
}
