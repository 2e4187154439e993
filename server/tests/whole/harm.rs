//! What one client does to the server, and that another one beside it does not feel it. The ceilings are for machines that
//! are busy with other things.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use porthole_protocol::{Call, ErrorCode, ServerFrame, Topic, limits, replies};
use rustix::process::Signal;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_tungstenite::tungstenite::Message;

use crate::{
    real::{Real, resident, signal, slowest_of},
    world::{self, Client, SOON, conversation, eventually, submit},
};

/// How long a healthy client may wait at most.
const HEALTHY: Duration = Duration::from_secs(2);

async fn assert_healthy(healthy: &mut Client) {
    let slowest = slowest_of(healthy, 20).await;
    assert!(slowest < HEALTHY, "{slowest:?}");
}

async fn assert_open(server: &Real) {
    let text = format!(
        "GET /health HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n",
        server.address
    );
    let asked = tokio::time::timeout(HEALTHY, world::http(server.address, &text)).await;
    assert_eq!(asked.expect("in time").body, r#"{"ok":true}"#);
}

#[tokio::test]
async fn those_who_connect_and_say_nothing_or_little_keep_nobody_out() {
    let server = Real::serve().await;
    let mut healthy = server.owner().await;
    let mut silent = Vec::new();
    for number in 0..600 {
        let mut stream = TcpStream::connect(server.address).await.expect("connects");
        if number % 2 == 0 {
            // One that was pushed out already cannot write.
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nhost: ").await;
        }
        silent.push(stream);
        if number % 100 == 99 {
            assert_open(&server).await;
        }
    }
    assert_healthy(&mut healthy).await;
    let mut newest = silent.pop().expect("one");
    let drip = async {
        // It ends although a byte comes now and then.
        while newest.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(SOON, drip)
        .await
        .expect("a head takes only so long");
    assert_open(&server).await;
}

#[tokio::test]
async fn half_open_links_and_answers_that_nobody_reads_keep_nobody_out() {
    let server = Real::serve().await;
    let mut healthy = server.owner().await;
    let cookie = world::redeem(server.address, &server.token().await).await;
    let mut deaf = Vec::new();
    for _ in 0..100 {
        deaf.push(world::link(server.address, &cookie).await);
        let mut stream = TcpStream::connect(server.address).await.expect("connects");
        let ask = format!("GET / HTTP/1.1\r\nhost: {}\r\n\r\n", server.address);
        stream.write_all(ask.as_bytes()).await.expect("asks");
        std::mem::forget(stream);
    }
    assert_healthy(&mut healthy).await;
    assert_open(&server).await;
}

#[tokio::test]
async fn garbage_huge_and_deep_frames_harm_only_who_sends_them() {
    let server = Real::serve().await;
    let mut healthy = server.owner().await;
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"\0\0\0\0\0\0\0\0\r\n\r\n",
        &[0xff; 40_000],
    ] {
        let mut stream = TcpStream::connect(server.address).await.expect("connects");
        let _ = stream.write_all(bytes).await;
        let mut end = Vec::new();
        let read = tokio::time::timeout(SOON, stream.read_to_end(&mut end)).await;
        read.expect("it ends").ok();
    }
    let mut odd = server.owner().await;
    let deep = format!(r#"{{"call":{{"id":5,"method":"{}"#, "[".repeat(900_000));
    let wide = format!(r#"{{"watch":{{"topic":[{}0]}}}}"#, "0,".repeat(500_000));
    let nested = "{\"call\":".repeat(120_000);
    for text in [
        deep,
        wide,
        nested,
        "null".to_owned(),
        "\u{0}".to_owned(),
        String::new(),
    ] {
        odd.socket.send(Message::text(text)).await.expect("sends");
        let frame = odd
            .until("a refusal", |f| matches!(f, ServerFrame::Error { .. }))
            .await;
        assert!(
            matches!(frame, ServerFrame::Error { error, .. } if error.code == ErrorCode::Invalid)
        );
    }
    odd.socket
        .send(Message::binary(vec![7; 1_000]))
        .await
        .expect("sends");
    odd.until("a refusal", |f| matches!(f, ServerFrame::Error { .. }))
        .await;
    assert_healthy(&mut odd).await;
    // One that is too large ends its connection, and nothing else.
    let _ = odd
        .socket
        .send(Message::text("x".repeat(limits::CLIENT_FRAME_BYTES + 1)))
        .await;
    let ended = async { while let Some(Ok(_)) = odd.socket.next().await {} };
    tokio::time::timeout(SOON, ended).await.expect("it ends");
    assert_healthy(&mut healthy).await;
}

#[tokio::test]
async fn one_who_floods_and_never_reads_costs_its_budget_and_nobody_their_turn() {
    let server = Real::serve().await;
    let mut healthy = server.owner().await;
    let flood = server.owner().await;
    slowest_of(&mut healthy, 20).await;
    let before = resident(server.pid());
    let (mut sink, stream) = flood.socket.split();
    let flooding = tokio::spawn(async move {
        for id in 0..400_000 {
            let text = format!(r#"{{"call":{{"id":{id},"method":"nonsense","params":{{}}}}}}"#);
            if sink.send(Message::text(text)).await.is_err() {
                return id;
            }
        }
        400_000
    });
    for _ in 0..10 {
        assert_healthy(&mut healthy).await;
    }
    let grown = resident(server.pid()).saturating_sub(before);
    assert!(grown < 40 << 20, "{grown} bytes");
    let sent = tokio::time::timeout(SOON * 2, flooding)
        .await
        .expect("it ends")
        .expect("no panic");
    assert!(sent < 400_000, "it was ended for what it did not read");
    drop(stream);
    assert_healthy(&mut healthy).await;
}

#[tokio::test]
async fn a_thirty_third_call_is_refused_while_a_worker_hangs_and_the_rest_is_answered_later() {
    let server = Real::serve().await;
    let mut healthy = server.owner().await;
    let mut eager = server.owner().await;
    let session = eager.new_session("r").await;
    let topic = conversation(&session);
    eager.watch(topic.clone()).await;
    eager.snapshot(&topic).await;
    let worker = server.workers()[0];
    signal(worker, Signal::STOP);
    let mut ids = Vec::new();
    for _ in 0..limits::PENDING_CALLS {
        ids.push(eager.post(submit(&session, "hello")).await);
    }
    let one_more = eager
        .call::<replies::Submitted>(submit(&session, "hello"))
        .await;
    assert_eq!(one_more.expect_err("refused").code, ErrorCode::Busy);
    assert_healthy(&mut healthy).await;
    signal(worker, Signal::CONT);
    for id in ids {
        eager
            .answer::<replies::Submitted>(id)
            .await
            .expect("answered, once and the same");
    }
}

#[tokio::test]
async fn many_short_visits_leave_nothing_behind() {
    let server = Real::serve().await;
    let mut healthy = server.owner().await;
    let cookie = world::redeem(server.address, &server.token().await).await;
    let visit = async |count: u32| {
        for _ in 0..count {
            let mut client = world::link(server.address, &cookie).await;
            client.watch(Topic::Sessions).await;
            client.snapshot(&Topic::Sessions).await;
        }
    };
    visit(100).await;
    let before = resident(server.pid());
    visit(400).await;
    let counted = healthy.call::<replies::Models>(Call::Models {}).await;
    counted.expect("answered");
    let grown = resident(server.pid()).saturating_sub(before);
    assert!(grown < 4 << 20, "{grown} bytes");
    let data = server.data();
    let connections = || {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_portholed"))
            .args(["status", "--json", "--data"])
            .arg(&data)
            .output()
            .expect("runs");
        let status: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        status["connections"].as_u64()
    };
    eventually("only the healthy one is left", || connections() == Some(1)).await;
}
