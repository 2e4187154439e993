//! An attached picture from the session's folder to the body of the request, as each API has it.

use std::path::Path;

use porthole_protocol::{AttachmentId, Call, ConversationId, RequestId, SendMode};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{
    beside,
    client::{Client, session, text_of},
};
use crate::model::scripted::{After, serve_once};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n a picture";
/// `PNG` in base 64.
const DATA: &str = "iVBORw0KGgogYSBwaWN0dXJl";

const CHAT: &[&str] = &[
    r#"{"choices":[{"index":0,"delta":{"content":"seen"},"finish_reason":null}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "[DONE]",
];
const RESPONSES: &[&str] = &[
    r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m1","role":"assistant","content":[]}}"#,
    r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"m1","delta":"seen"}"#,
    r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","id":"m1","role":"assistant","content":[{"type":"output_text","text":"seen"}]}],"usage":{"input_tokens":1,"output_tokens":1}}}"#,
];
const MESSAGES: &[&str] = &[
    r#"{"type":"message_start","message":{"id":"m1","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"seen"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}"#,
    r#"{"type":"message_stop"}"#,
];

fn stream(events: &[&str]) -> Vec<u8> {
    let events: String = events
        .iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    format!("{head}{events}").into_bytes()
}

fn attach(folder: &Path, id: &str, name: &str, media_type: &str, bytes: &[u8]) -> AttachmentId {
    let blobs = folder.join("blobs");
    std::fs::create_dir_all(&blobs).expect("folder");
    std::fs::write(blobs.join(id), bytes).expect("writes");
    let known = json!({ "name": name, "bytes": bytes.len(), "media_type": media_type });
    std::fs::write(blobs.join(format!("{id}.json")), known.to_string()).expect("writes");
    AttachmentId::parse(id).expect("id")
}

/// Sends a message with a picture and a text to a model of this API; returns the body of the request.
async fn asked(api: &str, events: &[&str], images: bool) -> Value {
    let folder = tempfile::tempdir().expect("folder");
    let dir = tempfile::tempdir().expect("folder");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let models = format!(
        "[provider.mock]\napi = \"{api}\"\nbase_url = \"{url}\"\nmodels = [ {{ id = \"m\", context = 100000, images = {images} }} ]\n"
    );
    std::fs::write(folder.path().join("models.toml"), models).expect("writes");
    let server = tokio::spawn(serve_once(listener, stream(events), After::Close));
    let mut client = Client::start_real(folder.path(), dir.path(), Some("mock/m")).await;
    client.watch().await;
    let attachments = vec![
        attach(folder.path(), "a1", "p.png", "image/png", PNG),
        attach(folder.path(), "a2", "n.txt", "text/plain", b"some notes"),
    ];
    let submit = Call::Submit {
        session: session(),
        conversation: ConversationId::ROOT,
        request: RequestId::parse("r1").expect("id"),
        mode: SendMode::FollowUp,
        text: "what is this?".into(),
        attachments,
    };
    client.call(submit).await.expect("taken");
    client
        .until("answered", |c| c.finals() == 1 && c.state().turn.is_none())
        .await;
    let last = client.state().entries.last().expect("an answer");
    assert_eq!(text_of(last), "seen", "{last:?}");
    client.gone().await;
    let request = server.await.expect("it was asked");
    let (_, body) = request.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect("JSON")
}

/// Returns every block of a body that has this type.
fn blocks(value: &Value, kind: &str) -> Vec<Value> {
    let own = (value["type"] == kind).then(|| value.clone());
    let below: Vec<Value> = match value {
        Value::Array(items) => items.iter().flat_map(|item| blocks(item, kind)).collect(),
        Value::Object(items) => items.values().flat_map(|item| blocks(item, kind)).collect(),
        _ => Vec::new(),
    };
    own.into_iter().chain(below).collect()
}

#[tokio::test]
async fn an_attached_picture_is_in_the_request_as_each_api_has_it() {
    beside(async {
        let url = format!("data:image/png;base64,{DATA}");
        let chat = asked("chat", CHAT, true).await;
        let found = blocks(&chat, "image_url");
        assert_eq!(found.len(), 1, "{chat}");
        assert_eq!(found[0]["image_url"]["url"], url);
        let responses = asked("responses", RESPONSES, true).await;
        let found = blocks(&responses, "input_image");
        assert_eq!(found.len(), 1, "{responses}");
        assert_eq!(found[0]["image_url"], url);
        let messages = asked("messages", MESSAGES, true).await;
        let found = blocks(&messages, "image");
        assert_eq!(found.len(), 1, "{messages}");
        let source = json!({ "type": "base64", "media_type": "image/png", "data": DATA });
        assert_eq!(found[0]["source"], source);
        for body in [chat, responses, messages] {
            assert!(body.to_string().contains("some notes"), "{body}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_model_that_takes_no_pictures_is_told_where_it_is() {
    beside(async {
        let body = asked("chat", CHAT, false).await;
        assert!(blocks(&body, "image_url").is_empty(), "{body}");
        assert!(body.to_string().contains("blobs/a1"), "{body}");
    })
    .await;
}
