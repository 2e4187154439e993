//! Inventories from files and variables, and requests to a model server on loopback.

use std::{collections::HashMap, net::SocketAddr, time::Duration};

use porthole_protocol::Thinking;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::model::{ModelErrorKind, PromptItem};

async fn load(file: Option<&str>, variables: &[(&str, &str)]) -> Result<Inventory, InventoryError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    if let Some(text) = file {
        std::fs::write(folder.path().join(FILE), text).expect("the file can be written");
        std::fs::write(folder.path().join("good.key"), "sk-CANARY1234\n").expect("written");
        std::fs::write(folder.path().join("bad.key"), "sk-CANARY1234\n\n").expect("written");
    }
    let table: HashMap<_, _> = [("PORTHOLE_NO_LOCAL_MODELS", "1")]
        .iter()
        .chain(variables)
        .copied()
        .collect();
    Inventory::load(folder.path(), |name| table.get(name).map(|&v| v.to_owned())).await
}

fn names(inventory: &Inventory) -> Vec<String> {
    let list = inventory.list();
    list.iter().map(|info| info.model.to_string()).collect()
}

#[tokio::test]
async fn with_nothing_configured_there_is_practice() {
    let inventory = load(None, &[]).await.expect("nothing is wrong");
    assert_eq!(names(&inventory), ["practice/practice"]);
    assert_eq!(inventory.default_model(), practice::name());
    let info = inventory.list().remove(0);
    assert!(info.practice && info.ready && info.source == "built in");
}

#[tokio::test]
async fn a_key_in_the_environment_brings_its_providers_models() {
    let variables = [
        ("OPENAI_API_KEY", "sk-CANARY1234"),
        ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
    ];
    let inventory = load(None, &variables).await.expect("nothing is wrong");
    let first = inventory.list().remove(0);
    assert_eq!(inventory.default_model(), first.model);
    assert_eq!(
        (first.model.provider.as_str(), first.source.as_str()),
        ("openai", "OPENAI_API_KEY")
    );
    assert!(first.context.is_some() && first.ready);
    assert_eq!(
        names(&inventory).last().map(String::as_str),
        Some("practice/practice")
    );
    assert!(!format!("{inventory:?}").contains("CANARY"));
    let error = load(None, &[variables[0], ("OPENAI_BASE_URL", "sk-CANARY")]).await;
    let told = error.expect_err("no address").to_string();
    assert!(
        told.contains("`OPENAI_BASE_URL`") && !told.contains("CANARY"),
        "{told}"
    );
}

const FILE_TEXT: &str = r#"
[provider.one]
api = "chat"
base_url = "http://127.0.0.1:1/v1"
key_env = "ONE_KEY"
models = [ { id = "a" } ]
[provider.two]
api = "chat"
base_url = "http://127.0.0.1:1/v1"
key_file = "good.key"
models = [ { id = "x/y", name = "Why", context = 5, thinking = ["high"] } ]
[provider.three]
api = "chat"
base_url = "http://127.0.0.1:1/v1"
key_file = "bad.key"
models = [ { id = "c" } ]
"#;

#[tokio::test]
async fn a_file_decides_alone_and_the_first_ready_model_is_the_default() {
    let variables = [("OPENAI_API_KEY", "sk-CANARY1234")];
    let inventory = load(Some(FILE_TEXT), &variables)
        .await
        .expect("nothing is wrong");
    assert_eq!(
        names(&inventory),
        ["one/a", "two/x/y", "three/c", "practice/practice"]
    );
    assert_eq!(inventory.default_model().to_string(), "two/x/y");
    let ready: Vec<_> = inventory.list().iter().map(|info| info.ready).collect();
    assert_eq!(ready, [false, true, false, true]);
    let why = inventory.list().remove(1);
    assert_eq!(
        (why.name.as_str(), why.context, why.thinking),
        ("Why", Some(5), vec![Thinking::High])
    );
    assert!(
        inventory
            .resolve(&ModelRef::parse("one/b").expect("a name"))
            .is_none()
    );
}

#[tokio::test]
async fn a_missing_or_malformed_key_is_told_when_the_model_is_asked() {
    let inventory = load(Some(FILE_TEXT), &[]).await.expect("nothing is wrong");
    let (sender, _receiver) = mpsc::unbounded_channel();
    for (name, words) in [
        ("one/a", "`ONE_KEY` with the key is not set"),
        ("three/c", "has 14 characters"),
    ] {
        let model = inventory
            .resolve(&ModelRef::parse(name).expect("a name"))
            .expect("configured");
        let error = model.request(&prompt(), &sender).await.expect_err("no key");
        assert_eq!((error.kind, error.retryable), (ModelErrorKind::Key, false));
        assert!(error.message.contains(words), "{}", error.message);
        assert!(!error.message.contains("CANARY"));
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_understood_is_an_error_with_its_line() {
    let told = load(Some("default = \"a/b\"\n[provider.a]\napi = "), &[]).await;
    let told = told.expect_err("half a file").to_string();
    assert!(told.contains("models.toml` line 3"), "{told}");
    let told = load(Some("default = \"a/b\"\n"), &[]).await;
    let told = told.expect_err("nobody has it").to_string();
    assert!(
        told.contains("models.toml") && told.contains("`a/b`"),
        "{told}"
    );
}

#[tokio::test]
async fn the_default_can_be_set_by_a_pair_of_variables_and_not_by_half_of_one() {
    let provider = ("PORTHOLE_DEFAULT_PROVIDER", "one");
    let model = ("PORTHOLE_DEFAULT_MODEL", "a");
    let inventory = load(Some(FILE_TEXT), &[provider, model])
        .await
        .expect("both halves");
    assert_eq!(inventory.default_model().to_string(), "one/a");
    for half in [provider, model] {
        let told = load(Some(FILE_TEXT), &[half])
            .await
            .expect_err("one half")
            .to_string();
        assert!(told.contains("only half"), "{told}");
    }
}

#[tokio::test]
async fn a_local_server_is_found_when_nothing_is_configured() {
    let server = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = server.local_addr().expect("an address").to_string();
    let body = r#"{"models":[{"name":"qwen3:8b"}]}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let served = serve_once(server, answer.into_bytes(), After::Close);
    let variables = [
        ("PORTHOLE_NO_LOCAL_MODELS", ""),
        ("OLLAMA_HOST", address.as_str()),
    ];
    let load = load(None, &variables);
    let (inventory, asked) = tokio::join!(load, served);
    let inventory = inventory.expect("nothing is wrong");
    assert!(asked.starts_with("GET /api/tags "), "{asked}");
    assert_eq!(names(&inventory)[0], "ollama/qwen3:8b");
    assert_eq!(inventory.list()[0].source, format!("found at {address}"));
}

/// What a server does when it has answered.
#[derive(Clone, Copy, PartialEq)]
enum After {
    Close,
    StayOpen,
    Reset,
}

/// Answers one request with these bytes; returns the request.
async fn serve_once(server: TcpListener, answer: Vec<u8>, after: After) -> String {
    let (mut socket, _) = server.accept().await.expect("one comes");
    let request = read_request(&mut socket).await;
    socket.write_all(&answer).await.expect("it listens");
    match after {
        After::Close => socket.shutdown().await.expect("it listens"),
        // Read until the other side goes away.
        After::StayOpen => drop(socket.read_to_end(&mut Vec::new()).await),
        After::Reset => reset(socket).await,
    }
    request
}

/// Ends the connection by RST: what is unread when a socket closes makes it so.
async fn reset(socket: TcpStream) {
    socket
        .set_zero_linger()
        .expect("an option every system has");
    drop(socket);
}

async fn read_request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .to_lowercase()
                .split("content-length: ")
                .nth(1)
                .and_then(|rest| rest.split("\r\n").next()?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        let count = socket.read_buf(&mut bytes).await.expect("it talks");
        assert_ne!(count, 0, "the request is whole");
    }
}

fn prompt() -> Prompt {
    Prompt {
        system: "be brief".to_owned(),
        items: vec![PromptItem::User {
            text: "hello".to_owned(),
        }],
        tools: Vec::new(),
        thinking: Thinking::Off,
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
    let inventory = load(Some(&file), &[("K", "sk-CANARY1234")])
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
            [super::super::AnswerBlock::Text {
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
