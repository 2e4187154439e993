//! A model server that follows a script and keeps what it was asked. It speaks the streaming chat-completions API and
//! is no language model: a request takes the next step of the script, whatever it says.

use std::{
    collections::VecDeque,
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{StatusCode, header},
    response::Response,
    routing::post,
};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};

/// What the server does with one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Streams text in these pieces.
    Text {
        /// The pieces.
        pieces: Vec<String>,
        /// Milliseconds between two pieces; 0: as fast as they are taken.
        #[serde(default)]
        pause_ms: u64,
    },
    /// Streams text, then holds the stream open until [`ModelServer::release`], then streams the rest.
    Hold {
        /// The pieces before.
        before: Vec<String>,
        /// The pieces after.
        after: Vec<String>,
    },
    /// Calls tools.
    Tools {
        /// Text before the calls; may be empty.
        #[serde(default)]
        text: String,
        /// Name and arguments of each call.
        calls: Vec<(String, Value)>,
    },
    /// Answers with a status and a body as they are.
    Raw {
        /// The status.
        status: u16,
        /// The content type.
        content_type: String,
        /// Other headers.
        #[serde(default)]
        headers: Vec<(String, String)>,
        /// The body.
        body: String,
    },
    /// Streams some pieces, then breaks the connection.
    Break {
        /// The pieces.
        pieces: Vec<String>,
    },
}

impl Step {
    /// Returns a step that streams `text` word by word.
    pub fn text(text: &str) -> Self {
        let pieces = text.split_inclusive(' ').map(str::to_owned).collect();
        Self::Text {
            pieces,
            pause_ms: 0,
        }
    }

    /// Returns a step that calls one tool.
    pub fn tool(name: &str, arguments: Value) -> Self {
        Self::Tools {
            text: String::new(),
            calls: vec![(name.to_owned(), arguments)],
        }
    }
}

/// A running server. It ends when this is dropped.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    _stop: oneshot::Sender<Infallible>,
}

struct Shared {
    state: Mutex<Inner>,
    asked: Condvar,
    released: watch::Sender<u64>,
}

#[derive(Default)]
struct Inner {
    script: VecDeque<Step>,
    requests: Vec<Value>,
    calls: u64,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ModelServer {
    /// Starts a server on `listen`; port 0 picks one.
    ///
    /// # Errors
    /// Where the address cannot be listened on.
    pub fn start(listen: SocketAddr, script: Vec<Step>) -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind(listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let state = Mutex::new(Inner {
            script: script.into(),
            ..Inner::default()
        });
        let shared = Arc::new(Shared {
            state,
            asked: Condvar::new(),
            released: watch::Sender::new(0),
        });
        let (stop, stopped) = oneshot::channel::<Infallible>();
        let router = router(shared.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        std::thread::Builder::new()
            .name("model-server".into())
            .spawn(move || {
                runtime.block_on(async move {
                    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                        return;
                    };
                    tokio::select! {
                        _ = axum::serve(listener, router).into_future() => {}
                        _ = stopped => {}
                    }
                });
            })?;
        Ok(Self {
            address,
            shared,
            _stop: stop,
        })
    }

    /// Returns the base URL to configure.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Adds steps to the end of the script.
    pub fn push(&self, steps: impl IntoIterator<Item = Step>) {
        self.shared.lock().script.extend(steps);
    }

    /// Lets every held stream go on.
    pub fn release(&self) {
        self.shared.released.send_modify(|count| *count += 1);
    }

    /// Returns the bodies of all requests so far, oldest first.
    pub fn requests(&self) -> Vec<Value> {
        self.shared.lock().requests.clone()
    }

    /// Waits until there were so many requests. Returns whether there were within the time.
    pub fn wait_for_requests(&self, count: usize, at_most: Duration) -> bool {
        let guard = self.shared.lock();
        let (guard, _) = self
            .shared
            .asked
            .wait_timeout_while(guard, at_most, |inner| inner.requests.len() < count)
            .unwrap_or_else(PoisonError::into_inner);
        guard.requests.len() >= count
    }
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(answer))
        .with_state(shared)
}

async fn answer(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let (step, call_number) = {
        let mut inner = shared.lock();
        let step = inner.script.pop_front().unwrap_or_else(|| echo(&request));
        inner.requests.push(request);
        inner.calls += 1;
        (step, inner.calls)
    };
    shared.asked.notify_all();
    respond(step, call_number, shared.released.subscribe())
}

/// Past the end of the script the server says back what it was last told.
fn echo(request: &Value) -> Step {
    let last = request["messages"]
        .as_array()
        .and_then(|m| m.last())
        .cloned()
        .unwrap_or_default();
    let text = match &last["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|p| p["text"].as_str()).collect(),
        _ => String::new(),
    };
    // Before what someone typed stands the line that says who speaks.
    let typed = text
        .strip_prefix("<speaker ")
        .and_then(|rest| rest.split_once("/>\n"));
    let text = typed.map_or(text.as_str(), |(_, typed)| typed);
    Step::text(&format!("You said: {text}"))
}

fn respond(step: Step, number: u64, released: watch::Receiver<u64>) -> Response {
    match step {
        Step::Text { pieces, pause_ms } => events(
            pieces
                .into_iter()
                .map(|p| Part::Bytes(delta(&json!({ "content": p }))))
                .chain(end("stop")),
            pause_ms,
            released,
        ),
        Step::Hold { before, after } => {
            let text = |p: String| Part::Bytes(delta(&json!({ "content": p })));
            let parts = before.into_iter().map(text).chain([Part::Hold]);
            events(
                parts.chain(after.into_iter().map(text)).chain(end("stop")),
                0,
                released,
            )
        }
        Step::Tools { text, calls } => {
            let first = (!text.is_empty()).then(|| Part::Bytes(delta(&json!({ "content": text }))));
            let calls = calls.into_iter().enumerate().map(move |(index, (name, arguments))| {
                let call = json!({ "index": index, "id": format!("call_{number}_{index}"), "type": "function",
                    "function": { "name": name, "arguments": arguments.to_string() } });
                Part::Bytes(delta(&json!({ "tool_calls": [call] })))
            });
            events(
                first.into_iter().chain(calls).chain(end("tool_calls")),
                0,
                released,
            )
        }
        Step::Break { pieces } => events(
            pieces
                .into_iter()
                .map(|p| Part::Bytes(delta(&json!({ "content": p }))))
                .chain([Part::Break]),
            0,
            released,
        ),
        Step::Raw {
            status,
            content_type,
            headers,
            body,
        } => raw(status, &content_type, headers, body),
    }
}

fn raw(status: u16, content_type: &str, headers: Vec<(String, String)>, body: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut builder = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, content_type);
    for (name, value) in headers {
        builder = builder.header(name, value);
    }
    builder.body(Body::from(body)).unwrap_or_default()
}

enum Part {
    Bytes(String),
    Hold,
    Break,
}

fn delta(delta: &Value) -> String {
    let chunk =
        json!({ "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": delta }] });
    format!("data: {chunk}\n\n")
}

fn end(reason: &str) -> impl Iterator<Item = Part> {
    let last = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    let usage =
        json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 10 } });
    [
        format!("data: {last}\n\n"),
        format!("data: {usage}\n\n"),
        "data: [DONE]\n\n".to_owned(),
    ]
    .into_iter()
    .map(Part::Bytes)
}

fn events(
    parts: impl Iterator<Item = Part> + Send + 'static,
    pause_ms: u64,
    released: watch::Receiver<u64>,
) -> Response {
    let state = (parts, released, true);
    let body = stream::unfold(state, move |(mut parts, mut released, first)| async move {
        if pause_ms > 0 && !first {
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        }
        loop {
            match parts.next()? {
                Part::Bytes(text) => {
                    return Some((Ok(Bytes::from(text)), (parts, released, false)));
                }
                Part::Hold => _ = released.changed().await,
                Part::Break => {
                    let broken = std::io::Error::other("the script breaks the connection here");
                    return Some((Err(broken), (parts, released, false)));
                }
            }
        }
    });
    Response::builder()
        .header(header::CONTENT_TYPE, "text/event-stream")
        .body(Body::from_stream(body))
        .unwrap_or_default()
}
