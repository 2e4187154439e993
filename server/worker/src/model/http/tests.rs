//! Requests over loopback to a scripted server: each API, each way a connection can go wrong.

use std::{net::SocketAddr, path::Path};

use porthole_protocol::{ModelRef, Thinking};
use tokio::net::TcpListener;

use super::*;
use crate::model::{
    AnswerBlock, Inventory, Model, PromptItem,
    scripted::{After, serve_once},
};

fn prompt() -> Prompt {
    Prompt {
        system: "be brief".to_owned(),
        items: vec![PromptItem::User {
            speaker: String::new(),
            files: Vec::new(),
            text: "hello".to_owned(),
        }],
        tools: Vec::new(),
        thinking: Thinking::Off,
        cache: Default::default(),
    }
}

fn stream(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{body}").into_bytes()
}

fn case(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cases/sse")
        .join(name);
    stream(&std::fs::read_to_string(path).expect("the case is there"))
}

async fn model(api: &str, address: SocketAddr) -> Model {
    let file = format!(
        "[provider.p]\napi = \"{api}\"\nbase_url = \"http://{address}/v1\"\nkey_env = \"K\"\nmodels = [ {{ id = \"m\" }} ]"
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("models.toml"), file).expect("the file can be written");
    let key = |name: &str| (name == "K").then(|| "sk-CANARY1234".to_owned());
    let inventory = Inventory::load(folder.path(), key)
        .await
        .expect("nothing is wrong");
    let model = inventory
        .resolve(&ModelRef::parse("p/m").expect("a name"))
        .expect("configured");
    let long = Duration::from_secs(60);
    model.with_timeouts(Timeouts {
        silence: long,
        no_event: long,
        after_answer: long,
    })
}

/// Makes one request to a server that answers like this; returns what came of it, the pieces and the request.
async fn exchange(
    api: &str,
    answer: Vec<u8>,
    after: After,
    timeouts: Option<Timeouts>,
) -> (Result<Response, ModelError>, Vec<Piece>, String) {
    let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let mut model = model(api, server.local_addr().expect("an address")).await;
    if let Some(timeouts) = timeouts {
        model = model.with_timeouts(timeouts);
    }
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let prompt = prompt();
    let (result, request) = tokio::join!(
        model.request(&prompt, &sender),
        serve_once(server, answer, after)
    );
    let mut pieces = Vec::new();
    while let Ok(piece) = receiver.try_recv() {
        pieces.push(piece);
    }
    (result, pieces, request)
}

fn shown(pieces: &[Piece]) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Thinking(text) => format!("({text})"),
    };
    pieces.iter().map(text).collect()
}

#[tokio::test]
async fn each_api_is_spoken_and_the_answer_ends_though_the_socket_stays_open() {
    let table = [
        (
            "chat",
            "c01_chat_utf8_split.txt",
            "POST /v1/chat/completions ",
            "authorization: Bearer sk-CANARY1234",
            "北京 🌧️ naïve ok",
        ),
        (
            "responses",
            "r01_responses_text.txt",
            "POST /v1/responses ",
            "authorization: Bearer sk-CANARY1234",
            "Grüße 世界",
        ),
        (
            "messages",
            "a01_anthropic_text.txt",
            "POST /v1/messages ",
            "x-api-key: sk-CANARY1234",
            "Hello 👋🏽!",
        ),
    ];
    for (api, name, path, key, text) in table {
        let (result, pieces, request) = exchange(api, case(name), After::StayOpen, None).await;
        assert!(
            request.starts_with(path) && request.contains(key),
            "{request}"
        );
        assert!(
            request.contains("be brief") && request.contains("hello"),
            "{request}"
        );
        assert_eq!(shown(&pieces), text);
        let response = result.expect("the answer is whole");
        assert_eq!(
            response.blocks,
            [AnswerBlock::Text {
                text: text.to_owned()
            }]
        );
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_off_is_an_error_with_what_had_arrived() {
    for after in [After::Close, After::Reset] {
        let (result, _, _) = exchange("chat", case("c06_chat_truncated.txt"), after, None).await;
        let error = result.expect_err("half an answer");
        assert!(error.retryable);
        // A reset may overtake what was sent before it.
        if after == After::Close {
            assert_eq!(error.kind, ModelErrorKind::StreamTruncated);
            assert_eq!(error.partial.blocks.len(), 1);
        }
    }
}

fn short(silence: u64, no_event: u64, after_answer: u64) -> Option<Timeouts> {
    Some(Timeouts {
        silence: Duration::from_millis(silence),
        no_event: Duration::from_millis(no_event),
        after_answer: Duration::from_millis(after_answer),
    })
}

#[tokio::test]
async fn a_silent_socket_ends_with_the_time_it_was_silent() {
    let begun = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let (result, _, _) = exchange(
        "chat",
        stream(begun),
        After::StayOpen,
        short(50, 60_000, 60_000),
    )
    .await;
    let error = result.expect_err("silence");
    assert_eq!(
        (error.kind, error.retryable),
        (ModelErrorKind::Network, true)
    );
    assert_eq!(error.message, "no data for 0.05 s");
    assert_eq!(error.partial.blocks.len(), 1);
}

#[tokio::test]
async fn keep_alives_alone_are_waited_for_only_so_long() {
    let (result, _, _) = exchange(
        "chat",
        stream(": ping\n\n"),
        After::StayOpen,
        short(60_000, 50, 60_000),
    )
    .await;
    let error = result.expect_err("no event");
    assert!(
        error
            .message
            .contains("no part of an answer came for 0.05 s"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn an_answer_that_is_over_does_not_wait_for_its_done_for_long() {
    let over =
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n";
    let (result, _, _) = exchange(
        "chat",
        stream(over),
        After::StayOpen,
        short(60_000, 60_000, 50),
    )
    .await;
    assert_eq!(
        result.expect("the answer is whole").stop.as_deref(),
        Some("stop")
    );
}

#[tokio::test]
async fn a_refused_key_is_told_without_the_key() {
    let body = r#"{"error":{"message":"Incorrect API key provided: sk-CANARY1234","code":"invalid_api_key"}}"#;
    let answer = format!(
        "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (result, _, _) = exchange("chat", answer.into_bytes(), After::Close, None).await;
    let error = result.expect_err("refused");
    assert_eq!((error.kind, error.retryable), (ModelErrorKind::Key, false));
    assert_eq!(error.message, "Incorrect API key provided: [key]");
    assert!(!error.hint.is_empty());
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_a_server_that_is_away_is_named() {
    let answer =
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let (result, _, _) = exchange("chat", answer.to_vec(), After::Close, None).await;
    assert!(result.expect_err("no answer").message.contains("302"));
    let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = server.local_addr().expect("an address");
    drop(server);
    let (sender, _receiver) = mpsc::unbounded_channel();
    let error = model("chat", address)
        .await
        .request(&prompt(), &sender)
        .await;
    let error = error.expect_err("nobody is there");
    assert_eq!(
        (error.kind, error.retryable),
        (ModelErrorKind::Network, true)
    );
    assert!(
        error.message.contains(&format!("cannot reach {address}: ")),
        "{}",
        error.message
    );
    assert!(
        error.message.to_lowercase().contains("refused"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn stopping_a_request_closes_its_connection_at_once() {
    let begun = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let model = model("chat", server.local_addr().expect("an address")).await;
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let served = tokio::spawn(serve_once(server, stream(begun), After::StayOpen));
    let prompt = prompt();
    tokio::select! {
        _ = model.request(&prompt, &sender) => panic!("the answer is not whole"),
        piece = receiver.recv() => assert_eq!(piece, Some(Piece::Text("a".to_owned()))),
    }
    // The server reads on until the other side is gone.
    assert!(served.await.expect("the server ends").contains("hello"));
}

#[test]
fn clients_are_built_once_for_each_kind_of_address() {
    let clients = Clients::default();
    for address in ["http://127.0.0.1:1/", "https://example.org/"] {
        let url = Url::parse(address).expect("an address");
        assert!(clients.for_url(&url).is_ok(), "{address}");
    }
    assert!(clients.plain.get().is_some() && clients.tls.get().is_some());
}

#[tokio::test]
async fn an_answer_without_end_is_ended_and_what_had_arrived_is_kept() {
    let event = |text: &str| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    };
    let body = event(&"w".repeat(64 << 10)).repeat(40);
    let (result, pieces, _) = exchange("chat", stream(&body), After::Close, None).await;
    let error = result.expect_err("it is too long");
    assert!(error.message.contains("longer than 2 MiB"), "{error:?}");
    assert!(!error.retryable && !error.hint.is_empty());
    assert!(shown(&pieces).len() <= 2 << 20);
    assert!(
        matches!(&error.partial.blocks[..], [AnswerBlock::Text { text }] if text.len() > 1 << 20)
    );
}

#[tokio::test]
async fn an_origin_that_hangs_does_not_hold_up_another_one_beside_it() {
    let hanging = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let good = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let file = format!(
        "[provider.bad]\napi = \"chat\"\nbase_url = \"http://{}/v1\"\nmodels = [ {{ id = \"m\" }} ]\n\
         [provider.good]\napi = \"chat\"\nbase_url = \"http://{}/v1\"\nmodels = [ {{ id = \"m\" }} ]",
        hanging.local_addr().expect("an address"),
        good.local_addr().expect("an address"),
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("models.toml"), file).expect("written");
    let inventory = Inventory::load(folder.path(), |_| None)
        .await
        .expect("good");
    let model = |name| inventory.resolve(&ModelRef::parse(name).expect("a name"));
    let (bad, well) = (
        model("bad/m").expect("there"),
        model("good/m").expect("there"),
    );
    let stuck: Vec<_> = (0..64)
        .map(|_| {
            let bad = bad.clone();
            tokio::spawn(async move {
                let (sender, _pieces) = mpsc::unbounded_channel();
                bad.request(&prompt(), &sender).await
            })
        })
        .collect();
    let mut held = Vec::new();
    while held.len() < stuck.len() {
        // Each is taken and never answered.
        held.push(hanging.accept().await.expect("comes"));
    }
    let (sender, _pieces) = mpsc::unbounded_channel();
    let prompt = prompt();
    let (answer, _) = tokio::join!(
        well.request(&prompt, &sender),
        serve_once(good, case("c01_chat_utf8_split.txt"), After::StayOpen)
    );
    assert!(answer.is_ok(), "{answer:?}");
    assert!(stuck.iter().all(|request| !request.is_finished()));
    for request in stuck {
        request.abort();
    }
}
