//! The whole server over real sockets, with a worker that does as it is told.

mod world;

use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use porthole_door::LinkControl;
use porthole_protocol::{
    Call, ClientFrame, ErrorCode, RequestId, ServerFrame, SessionState, SessionsDelta, Topic,
    TopicDelta, TopicState, limits, replies,
};
use tokio_tungstenite::tungstenite::Message;
use world::{World, bundle, conversation, eventually, submit};

#[test]
#[ignore = "other tests start this as the worker of a session"]
fn fake_worker() {
    world::fake_worker::run();
}

#[tokio::test]
async fn nothing_but_health_page_and_redeeming_is_reached_without_a_cookie() {
    let world = World::new().await;
    for (path, status) in [
        ("/health", 200),
        ("/", 200),
        ("/door/admitted", 401),
        ("/door/ui/manifest", 401),
        ("/door/ui/bundle/abc", 401),
        ("/nowhere", 404),
        ("/door/redeem", 405),
    ] {
        let answer = world.get(path, "").await;
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        for header in [
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "content-security-policy: default-src 'none'",
        ] {
            assert!(answer.head.contains(header), "{path}: {}", answer.head);
        }
    }
    let origin = format!("origin: http://{}\r\n", world.address);
    assert_eq!(world.get("/link", &origin).await.status, 401);
    assert_eq!(
        world.get("/link", "").await.status,
        403,
        "before anyone asks who"
    );
    assert_eq!(world.post("/door/sign-out", "", "").await.status, 401);
}

#[tokio::test]
async fn the_gate_stands_before_every_route() {
    let world = World::new().await;
    let cookie = world.sign_in().await;
    for path in [
        "/",
        "/health",
        "/door/admitted",
        "/door/ui/manifest",
        "/link",
        "/nowhere",
    ] {
        let text = format!(
            "GET {path} HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n{cookie}\r\n"
        );
        assert_eq!(world.http(&text).await.status, 421, "{path}");
        let cross = world
            .get(path, &format!("{cookie}sec-fetch-site: cross-site\r\n"))
            .await;
        assert_eq!(cross.status, 403, "{path}");
    }
    let long = "x".repeat(40_000);
    let answer = world.get("/health", &format!("x-long: {long}\r\n")).await;
    assert_eq!(answer.status, 431, "{}", answer.head);
}

#[tokio::test]
async fn a_link_is_looked_at_freely_and_redeemed_once() {
    let world = World::new().await;
    let body = format!(r#"{{"token":"{}","name":"a"}}"#, world.token());
    for _ in 0..3 {
        assert_eq!(world.get("/", "").await.status, 200);
    }
    let first = world.post("/door/redeem", "", &body);
    let (first, second) = tokio::join!(first, world.post("/door/redeem", "", &body));
    let mut statuses = [first.status, second.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 410], "of two at once one wins");
    let loser = if first.status == 410 { first } else { second };
    assert!(loser.body.contains("already used"), "{}", loser.body);
    assert!(
        loser.body.contains("portholed link owner"),
        "{}",
        loser.body
    );
    let wrong = format!(r#"{{"token":"pho_{}","name":"a"}}"#, "a".repeat(43));
    assert_eq!(world.post("/door/redeem", "", &wrong).await.status, 404);
    assert_eq!(world.post("/door/redeem", "", "{").await.status, 400);
}

#[tokio::test]
async fn guessing_is_slowed_down_with_a_time_to_wait() {
    let world = World::new().await;
    let wrong = format!(r#"{{"token":"pho_{}","name":"a"}}"#, "a".repeat(43));
    for _ in 0..40 {
        let answer = world.post("/door/redeem", "", &wrong).await;
        if answer.status == 429 {
            return assert!(answer.head.contains("retry-after: "), "{}", answer.head);
        }
    }
    panic!("forty guesses were all looked at");
}

#[tokio::test]
async fn the_cookie_is_strict_and_gives_manifest_and_bundle() {
    let world = World::new().await;
    let body = format!(r#"{{"token":"{}","name":"a"}}"#, world.token());
    let answer = world.post("/door/redeem", "", &body).await;
    let expected = format!("set-cookie: porthole-device-{}=phd_", world.address.port());
    assert!(answer.head.contains(&expected), "{}", answer.head);
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(answer.head.contains(part), "{}", answer.head);
    }
    let cookie = world.sign_in().await;
    let manifest = world.get("/door/ui/manifest", &cookie).await;
    let manifest: porthole_door::Manifest =
        serde_json::from_str(&manifest.body).expect("a manifest");
    let path = format!("/door/ui/bundle/{}", manifest.sha256);
    assert_eq!(world.get(&path, &cookie).await.body, "one");
    assert_eq!(world.get("/door/ui/bundle/0", &cookie).await.status, 404);
}

#[tokio::test]
async fn signing_out_ends_the_devices_links_at_once() {
    let world = World::new().await;
    let cookie = world.sign_in().await;
    let mut client = world.link(&cookie).await;
    assert_eq!(world.post("/door/sign-out", &cookie, "").await.status, 200);
    let Some(Message::Binary(control)) = client.next().await else {
        panic!("a word to the launcher")
    };
    let control: LinkControl = serde_json::from_slice(&control).expect("a control");
    assert!(matches!(control, LinkControl::AccessEnded { .. }));
    assert!(matches!(
        client.next().await,
        None | Some(Message::Close(_))
    ));
    assert_eq!(world.get("/door/admitted", &cookie).await.status, 401);
}

#[tokio::test]
async fn a_session_is_made_once_for_a_request_and_shown_to_everyone() {
    let world = World::new().await;
    let mut client = world.owner().await;
    client.watch(Topic::Sessions).await;
    let (epoch, seq) = client.snapshot(&Topic::Sessions).await;
    let session = client.new_session("once").await;
    assert_eq!(client.new_session("once").await, session);
    let mut other = world.owner().await;
    other.watch(Topic::Sessions).await;
    assert_eq!(
        other.snapshot(&Topic::Sessions).await,
        (epoch, seq + 1),
        "one change"
    );
    let missing = Call::SessionCreate {
        request: RequestId::parse("r2").expect("an id"),
        dir: Some("/no/such/folder".to_owned()),
        title: None,
        model: None,
    };
    let error = client
        .call::<replies::Created>(missing)
        .await
        .expect_err("refused");
    assert!(error.message.contains("/no/such/folder"), "{error}");
}

#[tokio::test]
async fn calls_reach_the_worker_and_answers_come_back() {
    let world = World::new().await;
    let mut client = world.owner().await;
    let session = client.new_session("r").await;
    client
        .call::<replies::Submitted>(submit(&session, "hello"))
        .await
        .expect("committed");
    let unknown = porthole_protocol::SessionId::parse("nope").expect("an id");
    let error = client
        .call::<replies::Submitted>(submit(&unknown, "x"))
        .await
        .expect_err("unknown");
    assert_eq!(error.code, ErrorCode::NotFound);
}

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
async fn a_slow_reader_gets_a_snapshot_in_place_of_what_it_missed() {
    let world = World::new().await;
    let (mut slow, mut fast) = (world.owner().await, world.owner().await);
    let session = fast.new_session("r").await;
    let topic = conversation(&session);
    slow.watch(topic.clone()).await;
    slow.snapshot(&topic).await;
    // 32 MiB of changes while the slow one does not read.
    let flood = 512;
    fast.call::<replies::Submitted>(submit(&session, &format!("flood {flood}")))
        .await
        .expect("flooded");
    let mut last = 0;
    let mut deltas = 0;
    let mut snapshots = 0;
    while last < flood {
        match slow.until("what is going on", |_| true).await {
            ServerFrame::Delta { seq, .. } => {
                assert_eq!(seq, last + 1, "no gap goes unnoticed");
                last = seq;
                deltas += 1;
            }
            ServerFrame::Snapshot { seq, .. } => {
                last = seq;
                snapshots += 1;
            }
            _ => {}
        }
    }
    assert!(
        snapshots > 0 && deltas < flood,
        "{snapshots} snapshots, {deltas} deltas"
    );
    slow.call::<replies::Submitted>(submit(&session, "flood 1"))
        .await
        .expect("it goes on");
}

#[tokio::test]
async fn the_thirty_third_call_is_refused_and_the_others_go_on() {
    let world = World::new().await;
    let mut client = world.owner().await;
    let session = client.new_session("r").await;
    for _ in 0..limits::PENDING_CALLS {
        client.post(submit(&session, "stall")).await;
    }
    let error = client
        .call::<replies::Submitted>(submit(&session, "one more"))
        .await
        .expect_err("refused");
    assert_eq!(error.code, ErrorCode::Busy);
    client.watch(Topic::Sessions).await;
    client.snapshot(&Topic::Sessions).await;
}

#[tokio::test]
async fn garbage_is_answered_and_a_frame_too_large_ends_the_connection() {
    let world = World::new().await;
    let mut client = world.owner().await;
    for garbage in [
        "",
        "{",
        "[]",
        r#"{"call":{"id":1,"method":"rm","params":{}}}"#,
        &"[".repeat(9000),
    ] {
        client
            .socket
            .send(Message::text(garbage))
            .await
            .expect("sends");
        let frame = client
            .until("an error", |f| {
                matches!(f, ServerFrame::Error { id: None, .. })
            })
            .await;
        assert!(
            matches!(frame, ServerFrame::Error { error, .. } if error.code == ErrorCode::Invalid)
        );
    }
    client.new_session("still-there").await;
    let large = "x".repeat(limits::CLIENT_FRAME_BYTES + 1);
    // The server may be gone before all of it is written.
    let _ = client.socket.send(Message::text(large)).await;
    while let Some(message) = client.next().await {
        assert!(!matches!(message, Message::Text(_)), "no answer to it");
    }
    world.owner().await;
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
async fn an_answer_that_nobody_saw_is_unread_and_names_the_session() {
    let world = World::new().await;
    let mut client = world.owner().await;
    let session = client.new_session("r").await;
    client.watch(Topic::Sessions).await;
    client.snapshot(&Topic::Sessions).await;
    client.post(submit(&session, "answered")).await;
    let frame = client
        .until("a change", |f| matches!(f, ServerFrame::Delta { .. }))
        .await;
    let ServerFrame::Delta {
        delta: TopicDelta::Sessions(SessionsDelta::Row { row }),
        ..
    } = frame
    else {
        panic!("a row")
    };
    assert!(row.unread);
    assert_eq!(row.title, "A title");
    client
        .call::<replies::Done>(Call::SessionRead { session })
        .await
        .expect("read");
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
    let refused = |config| async {
        let error = portholed::serve::Running::open(config)
            .await
            .err()
            .expect("refused");
        (error.to_string(), error.hint())
    };
    let (message, hint) = refused(world::config(world.home.path())).await;
    assert!(message.contains("in use by process"), "{message}");
    assert!(hint.contains("portholed stop"), "{hint}");

    let home = tempfile::tempdir().expect("a folder");
    let (message, hint) = refused(world::config(home.path())).await;
    assert!(message.contains("porthole-ui.wasm"), "{message}");
    assert!(hint.contains("cargo xtask bundle"), "{hint}");

    bundle(&home.path().join("bundle"), b"x");
    let mut config = world::config(home.path());
    config.listen = world.address;
    let (message, _) = refused(config).await;
    assert!(
        message.contains(&format!("port {} is in use", world.address.port())),
        "{message}"
    );

    let mut config = world::config(home.path());
    config.listen = "0.0.0.0:0".parse().expect("an address");
    let (message, hint) = refused(config).await;
    assert!(message.contains("without encryption"), "{message}");
    assert!(hint.contains("ssh -L"), "{hint}");
}
