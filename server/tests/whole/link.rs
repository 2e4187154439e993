//! The link over real sockets: calls, watches, bounds.

use futures_util::SinkExt as _;
use porthole_door::LinkControl;
use porthole_protocol::{
    Call, ErrorCode, RequestId, ServerFrame, SessionsDelta, Topic, TopicDelta, limits, replies,
};
use tokio_tungstenite::tungstenite::Message;

use crate::world::{World, conversation, submit};

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
    let unknown = Call::SessionCreate {
        request: RequestId::parse("r3").expect("an id"),
        dir: None,
        title: None,
        model: porthole_protocol::ModelRef::parse("no/such"),
    };
    let error = client
        .call::<replies::Created>(unknown)
        .await
        .expect_err("refused");
    assert_eq!(error.code, ErrorCode::Invalid);
    assert!(error.message.contains("no/such") && !error.hint.is_empty());
    other.watch(Topic::Sessions).await;
    let unchanged = other.snapshot(&Topic::Sessions).await;
    assert_eq!(unchanged, (epoch, seq + 1), "none was made");
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
    for (garbage, answered) in [
        ("", None),
        ("{", None),
        ("[]", None),
        (r#"{"call":{"id":1,"method":"rm","params":{}}}"#, Some(1)),
        (&"[".repeat(9000), None),
    ] {
        client
            .socket
            .send(Message::text(garbage))
            .await
            .expect("sends");
        let frame = client
            .until(
                "an error",
                |f| matches!(f, ServerFrame::Error { id, .. } if *id == answered),
            )
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
