//! A server of its own for each test, in a temporary folder, and clients that speak to it.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _};
use porthole_protocol::{
    Call, CallError, ClientFrame, ConversationId, GuestMode, RequestId, SendMode, ServerFrame,
    SessionId, Topic, decode, encode, limits, replies,
};
use portholed::{
    access::NewShare,
    bundle::BundleSource,
    serve::{Config, Hangup, Running, ServeError},
    server::Server,
    token::random_id,
    worker_process::WorkerProgram,
};
use serde::de::DeserializeOwned;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinHandle,
};
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite::Message};

/// A ceiling for waiting, not a measure of speed.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A running server in a folder of its own.
pub(crate) struct World {
    pub(crate) home: tempfile::TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) server: Arc<Server>,
    pub(crate) run: JoinHandle<Result<(), ServeError>>,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// Returns the line of a request that brings the cookie back.
    pub(crate) fn cookie(&self) -> String {
        let lines = &mut self.head.lines();
        let cookie = lines.find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie.and_then(|cookie| cookie.split(';').next());
        format!("cookie: {}\r\n", cookie.expect("a cookie"))
    }
}

/// What a share link is to be.
#[derive(Clone, Copy)]
pub(crate) struct Wishes {
    pub(crate) mode: GuestMode,
    pub(crate) may_approve: bool,
    pub(crate) once: bool,
    pub(crate) seconds: Option<u64>,
}

pub(crate) const VIEW: Wishes = Wishes {
    mode: GuestMode::View,
    may_approve: false,
    once: false,
    seconds: None,
};

pub(crate) const FULL: Wishes = Wishes {
    mode: GuestMode::Full,
    ..VIEW
};

impl World {
    pub(crate) async fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        bundle(&home.path().join("bundle"), b"one");
        Self::within(home).await
    }

    pub(crate) async fn within(home: tempfile::TempDir) -> Self {
        let config = config(home.path());
        Self::with(home, config).await
    }

    pub(crate) async fn with(home: tempfile::TempDir, config: Config) -> Self {
        let running = Running::open(config).await.expect("opens");
        let (address, server) = (running.address(), running.server().clone());
        let run = tokio::spawn(running.run());
        Self {
            home,
            address,
            server,
            run,
        }
    }

    /// Ends the server as `portholed stop` does; returns its folder for another.
    pub(crate) async fn stop(self) -> tempfile::TempDir {
        self.server.shut_down();
        let ended = tokio::time::timeout(SOON, self.run).await.expect("ends");
        ended.expect("does not panic").expect("ends well");
        self.home
    }

    pub(crate) async fn http(&self, text: &str) -> Answer {
        http(self.address, text).await
    }

    pub(crate) async fn get(&self, path: &str, headers: &str) -> Answer {
        let text = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{headers}\r\n",
            self.address
        );
        self.http(&text).await
    }

    pub(crate) async fn post(&self, path: &str, headers: &str, body: &str) -> Answer {
        let text = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{headers}\r\n{body}",
            self.address,
            body.len()
        );
        self.http(&text).await
    }

    pub(crate) fn token(&self) -> String {
        let link = self.server.owner_link().expect("made");
        porthole_door::Link::parse(&link).expect("a link").token
    }

    /// Redeems a link; returns the cookie header's line.
    pub(crate) async fn sign_in(&self) -> String {
        redeem(self.address, &self.token()).await
    }

    /// Makes a share link as the owner's commands do, which no limit on redeeming hinders.
    pub(crate) async fn share(&self, session: &SessionId, wishes: Wishes) -> replies::Shared {
        let new = NewShare {
            session: session.clone(),
            request: RequestId::parse(&random_id::<12>()).expect("an id"),
            mode: wishes.mode,
            may_approve: wishes.may_approve,
            once: wishes.once,
            name: "the team".to_owned(),
            seconds: wishes.seconds,
        };
        self.server.share(new).expect("made")
    }

    /// Redeems a share link, with a cookie or without.
    pub(crate) async fn join(&self, shared: &replies::Shared, name: &str, cookie: &str) -> Answer {
        let token = porthole_door::Link::parse(&shared.link)
            .expect("a link")
            .token;
        let body = serde_json::json!({ "token": token, "name": name }).to_string();
        self.post("/door/redeem", cookie, &body).await
    }

    /// Redeems a share link; returns the cookie header's line.
    pub(crate) async fn guest(&self, shared: &replies::Shared, name: &str) -> String {
        let answer = self.join(shared, name, "").await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.cookie()
    }

    pub(crate) async fn link(&self, cookie: &str) -> Client {
        link(self.address, cookie).await
    }

    pub(crate) async fn owner(&self) -> Client {
        let cookie = self.sign_in().await;
        self.link(&cookie).await
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }
}

/// Redeems a link; returns the cookie header's line.
pub(crate) async fn redeem(address: SocketAddr, token: &str) -> String {
    let body = format!(r#"{{"token":"{token}","name":"test"}}"#);
    let text = format!(
        "POST /door/redeem HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = http(address, &text).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.cookie()
}

pub(crate) async fn link(address: SocketAddr, cookie: &str) -> Client {
    let stream = TcpStream::connect(address).await.expect("connects");
    link_over(stream, &format!("http://{address}"), cookie).await
}

/// Opens a link over a stream that is there, to the server that the client knows under this origin.
pub(crate) async fn link_over<S>(stream: S, origin: &str, cookie: &str) -> Client<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (_, host) = origin.split_once("://").expect("an origin");
    let cookie = cookie.trim().trim_start_matches("cookie: ");
    let request = tokio_tungstenite::tungstenite::http::Request::builder()
        .uri(format!("ws://{host}/link"))
        .header("host", host)
        .header("origin", origin)
        .header("cookie", cookie)
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .body(())
        .expect("a request");
    let (socket, _) = client_async(request, stream).await.expect("upgrades");
    let mut client = Client {
        socket,
        next: 1,
        who: None,
    };
    let hello = client
        .until("hello", |frame| matches!(frame, ServerFrame::Hello { .. }))
        .await;
    let ServerFrame::Hello {
        protocol: 1, who, ..
    } = hello
    else {
        panic!("another protocol")
    };
    client.who = Some(who);
    client
}

pub(crate) async fn http(address: SocketAddr, text: &str) -> Answer {
    let mut stream = TcpStream::connect(address).await.expect("connects");
    stream.write_all(text.as_bytes()).await.expect("writes");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.expect("reads");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|s| s.parse().ok())
        .unwrap_or(0);
    Answer {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

pub(crate) fn config(home: &Path) -> Config {
    Config {
        data: home.join("data"),
        listen: "127.0.0.1:0".parse().expect("an address"),
        bundle: BundleSource::Folder(home.join("bundle")),
        allow_hosts: Vec::new(),
        tls: None,
        public_origin: None,
        upload_bytes: porthole_door::UPLOAD_BYTES,
        worker: WorkerProgram {
            program: std::env::current_exe().expect("known"),
            arguments: ["fake_worker", "--exact", "--ignored", "--nocapture"]
                .map(str::to_owned)
                .to_vec(),
            start_bound: SOON,
        },
        hangup: Hangup::Reload,
        redaction: portholed::redact::Redaction::default(),
    }
}

pub(crate) fn bundle(folder: &Path, wasm: &[u8]) {
    std::fs::create_dir_all(folder).expect("made");
    std::fs::write(folder.join("porthole-ui.wasm"), wasm).expect("written");
    let manifest = r#"{"name":"ui","version":"1","abi":1}"#;
    std::fs::write(folder.join("manifest.json"), manifest).expect("written");
}

/// A client of the link.
pub(crate) struct Client<S = TcpStream> {
    pub(crate) socket: WebSocketStream<S>,
    next: u64,
    /// Who the server says one is.
    pub(crate) who: Option<porthole_protocol::Who>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(crate) async fn send(&mut self, frame: &ClientFrame) {
        let text = encode(frame, limits::CLIENT_FRAME_BYTES).expect("encodes");
        self.socket.send(Message::text(text)).await.expect("sends");
    }

    pub(crate) async fn next(&mut self) -> Option<Message> {
        tokio::time::timeout(SOON, self.socket.next())
            .await
            .expect("in time")
            .and_then(Result::ok)
    }

    /// Returns the first frame like this; the others are dropped.
    pub(crate) async fn until(
        &mut self,
        what: &str,
        is_it: impl Fn(&ServerFrame) -> bool,
    ) -> ServerFrame {
        loop {
            let message = self
                .next()
                .await
                .unwrap_or_else(|| panic!("closed before {what}"));
            if let Message::Text(text) = message {
                let frame = decode(&text, limits::SERVER_FRAME_BYTES).expect("a frame");
                if is_it(&frame) {
                    return frame;
                }
            }
        }
    }

    pub(crate) async fn post(&mut self, call: Call) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&ClientFrame::Call { id, call }).await;
        id
    }

    pub(crate) async fn answer<T: DeserializeOwned>(&mut self, id: u64) -> Result<T, CallError> {
        let mine = |frame: &ServerFrame| match frame {
            ServerFrame::Reply { id: of, .. } => *of == id,
            ServerFrame::Error { id: of, .. } => *of == Some(id),
            _ => false,
        };
        match self.until("an answer", mine).await {
            ServerFrame::Reply { result, .. } => {
                Ok(serde_json::from_str(result.get()).expect("a reply"))
            }
            ServerFrame::Error { error, .. } => Err(error),
            _ => unreachable!("only these two"),
        }
    }

    pub(crate) async fn call<T: DeserializeOwned>(&mut self, call: Call) -> Result<T, CallError> {
        let id = self.post(call).await;
        self.answer(id).await
    }

    pub(crate) async fn new_session(&mut self, request: &str) -> SessionId {
        self.create_at(request, Path::new("/")).await
    }

    pub(crate) async fn create_at(&mut self, request: &str, dir: &Path) -> SessionId {
        let call = Call::SessionCreate {
            request: RequestId::parse(request).expect("an id"),
            dir: Some(dir.display().to_string()),
            title: None,
            model: None,
        };
        self.call::<replies::Created>(call)
            .await
            .expect("made")
            .session
    }

    pub(crate) async fn watch(&mut self, topic: Topic) {
        self.send(&ClientFrame::Watch { topic }).await;
    }

    /// Waits for a snapshot; returns its epoch and number.
    pub(crate) async fn snapshot(&mut self, of: &Topic) -> (u64, u64) {
        let frame = self
            .until(
                "a snapshot",
                |f| matches!(f, ServerFrame::Snapshot { topic, .. } if topic == of),
            )
            .await;
        match frame {
            ServerFrame::Snapshot { epoch, seq, .. } => (epoch, seq),
            _ => unreachable!("only this"),
        }
    }
}

pub(crate) fn conversation(session: &SessionId) -> Topic {
    Topic::Conversation {
        session: session.clone(),
        conversation: ConversationId::ROOT,
    }
}

pub(crate) fn submit(session: &SessionId, text: &str) -> Call {
    Call::Submit {
        session: session.clone(),
        conversation: ConversationId::ROOT,
        request: RequestId::parse("r").expect("an id"),
        mode: SendMode::FollowUp,
        text: text.to_owned(),
        attachments: Vec::new(),
    }
}

/// Waits until something is so.
pub(crate) async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < SOON, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
