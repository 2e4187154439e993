//! The link: one WebSocket to the server, whose text frames are carried unread.
//! It connects once; when to try again is decided elsewhere.

mod pulse;

use std::{sync::Arc, time::Duration};

use futures_util::{SinkExt, StreamExt};
use porthole_bridge::limits;
use porthole_door::{LinkControl, PATH_LINK, TIMEOUT_SECONDS};
use pulse::{Measured, Pulse};
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        self, Message,
        client::IntoClientRequest,
        error::ProtocolError,
        handshake::client::Request,
        http::{HeaderValue, header},
        protocol::WebSocketConfig,
    },
};

use crate::{
    credential::Record,
    door::{CertificateFault, Door, DoorError, Tls, address, from_io, from_status, is_plain},
    tunnel::Tunnel,
};

/// Frames that wait to be written; one more is refused.
pub const OUT_FRAMES: usize = 64;
/// Bytes of the frames that wait to be written; a frame that does not fit is refused.
pub const OUT_BYTES: usize = 4 << 20;
/// Events that wait for the loop; the socket is not read while they do.
pub const IN_EVENTS: usize = 64;
/// Bytes of the frames that wait for the loop; the socket is not read while one does not fit.
pub const IN_BYTES: usize = limits::LINK_IN_BYTES;

/// What happens on the link, each under the epoch of its connection.
#[derive(Debug)]
pub struct LinkEvent {
    /// The connection's number.
    pub epoch: u64,
    /// What happened.
    pub what: LinkHappening,
}

/// What happened on one connection.
#[derive(Debug, PartialEq, Eq)]
pub enum LinkHappening {
    /// Frames flow.
    Up,
    /// A text frame, unread.
    Text(Vec<u8>),
    /// What concerns the launcher.
    Control(LinkControl),
    /// The connection ended, or never came to be.
    Down(DoorError),
}

/// An event on its way to the loop, with the room that it takes up until it is taken.
#[derive(Debug)]
pub struct Incoming {
    /// The event.
    pub event: LinkEvent,
    _room: Option<OwnedSemaphorePermit>,
}

impl From<LinkEvent> for Incoming {
    fn from(event: LinkEvent) -> Self {
        Self { event, _room: None }
    }
}

/// How the server is reached.
#[derive(Clone)]
pub struct Route {
    /// Its door.
    pub door: Door,
    /// TLS for it.
    pub tls: Tls,
    /// The credential.
    pub record: Arc<Record>,
    /// The ssh program that carries the connection, where one does.
    pub tunnel: Option<Arc<Tunnel>>,
}

type Outgoing = (Vec<u8>, OwnedSemaphorePermit);

/// One connection's task; dropping it ends the connection.
pub struct Connection {
    frames: mpsc::Sender<Outgoing>,
    room: Arc<Semaphore>,
    pulse: Arc<Pulse>,
    task: tokio::task::JoinHandle<()>,
}

impl Connection {
    /// Starts connecting under `epoch` and reports to `events`.
    pub fn start(epoch: u64, route: Route, events: mpsc::Sender<Incoming>) -> Self {
        let (frames, outgoing) = mpsc::channel(OUT_FRAMES);
        let pulse = Arc::new(Pulse::new());
        let for_task = Arc::clone(&pulse);
        let task = tokio::spawn(async move {
            let reporter = Reporter::new(epoch, events);
            let ended = run(&route, for_task, outgoing, &reporter).await;
            if let (DoorError::TimedOut, Some(tunnel)) = (&ended, &route.tunnel) {
                tunnel.doubt();
            }
            reporter.tell(LinkHappening::Down(ended)).await;
        });
        Self {
            frames,
            room: Arc::new(Semaphore::new(OUT_BYTES)),
            pulse,
            task,
        }
    }

    /// Queues a text frame; returns whether there was room.
    pub fn send(&self, frame: Vec<u8>) -> bool {
        let bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        match Arc::clone(&self.room).try_acquire_many_owned(bytes) {
            Ok(room) => self.frames.try_send((frame, room)).is_ok(),
            Err(_) => false,
        }
    }

    /// Finds out soon whether the other end is still there.
    pub fn probe(&self) {
        self.pulse.probe();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Reporter {
    epoch: u64,
    events: mpsc::Sender<Incoming>,
    room: Arc<Semaphore>,
}

impl Reporter {
    fn new(epoch: u64, events: mpsc::Sender<Incoming>) -> Self {
        let room = Arc::new(Semaphore::new(IN_BYTES));
        Self {
            epoch,
            events,
            room,
        }
    }

    async fn tell(&self, what: LinkHappening) {
        let bytes = match &what {
            LinkHappening::Text(frame) => frame.len().min(IN_BYTES),
            _ => 0,
        };
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.room).acquire_many_owned(permits).await;
        let incoming = Incoming {
            event: LinkEvent {
                epoch: self.epoch,
                what,
            },
            _room: room.ok(),
        };
        // Nobody listens only while the launcher is leaving.
        let _ = self.events.send(incoming).await;
    }
}

async fn run(
    route: &Route,
    pulse: Arc<Pulse>,
    outgoing: mpsc::Receiver<Outgoing>,
    reporter: &Reporter,
) -> DoorError {
    if let Some(tunnel) = &route.tunnel
        && let Err(error) = tunnel.ready().await
    {
        return error;
    }
    let record = &route.record;
    // The key is proved before every cookie: whoever took the port since then gets nothing.
    if let Err(error) = route.door.prove(&record.fingerprint).await {
        return error;
    }
    let connected = timeout(
        Duration::from_secs(TIMEOUT_SECONDS),
        connect(&record.origin, &route.tls, record, &pulse),
    );
    match connected.await {
        Err(_) => DoorError::TimedOut,
        Ok(Err(error)) => error,
        Ok(Ok(socket)) => carry(socket, outgoing, reporter, &pulse).await,
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

type Socket = WebSocketStream<Measured<Box<dyn Stream>>>;

async fn connect(
    origin: &str,
    tls: &Tls,
    record: &Record,
    pulse: &Arc<Pulse>,
) -> Result<Socket, DoorError> {
    let url = url::Url::parse(origin).map_err(|_| DoorError::Unreachable)?;
    let stream = Measured::new(open(&url, tls).await?, Arc::clone(pulse));
    let request = upgrade_request(origin, record)?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(limits::LINK_IN_BYTES))
        .max_frame_size(Some(limits::LINK_IN_BYTES));
    match client_async_with_config(request, stream, Some(config)).await {
        Ok((socket, _)) => Ok(socket),
        Err(error) => Err(from_handshake(&error)),
    }
}

async fn open(url: &url::Url, tls: &Tls) -> Result<Box<dyn Stream>, DoorError> {
    let host = url.host_str().ok_or(DoorError::Unreachable)?;
    let port = url.port_or_known_default().ok_or(DoorError::Unreachable)?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let tcp = open_tcp(bare, port).await?;
    // A keystroke's frame must not wait for the next one.
    let _ = tcp.set_nodelay(true);
    if is_plain(url.as_str()) {
        return Ok(Box::new(tcp));
    }
    let name = ServerName::try_from(bare.to_owned())
        .map_err(|_| DoorError::Certificate(CertificateFault::WrongName))?;
    let stream = tokio_rustls::TlsConnector::from(tls.config())
        .connect(name, tcp)
        .await
        .map_err(|error| {
            from_io(&error).unwrap_or(DoorError::Certificate(CertificateFault::Other))
        })?;
    Ok(Box::new(stream))
}

async fn open_tcp(host: &str, port: u16) -> Result<TcpStream, DoorError> {
    let reached = |error: std::io::Error| from_io(&error).unwrap_or(DoorError::Unreachable);
    let addresses = address::look_up(host, port).await.map_err(reached)?;
    let mut last = DoorError::Unreachable;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = reached(error),
        }
    }
    Err(last)
}

fn upgrade_request(origin: &str, record: &Record) -> Result<Request, DoorError> {
    let address = format!("{}{PATH_LINK}", origin.replacen("http", "ws", 1));
    let mut request = address
        .into_client_request()
        .map_err(|_| DoorError::Unreachable)?;
    let value = |text: &str| HeaderValue::from_str(text).map_err(|_| DoorError::SignedOut);
    let mut cookie = value(&record.cookie())?;
    cookie.set_sensitive(true);
    request.headers_mut().insert(header::COOKIE, cookie);
    request.headers_mut().insert(header::ORIGIN, value(origin)?);
    Ok(request)
}

fn from_handshake(error: &tungstenite::Error) -> DoorError {
    match error {
        tungstenite::Error::Http(response) => {
            let retry = response.headers().get(header::RETRY_AFTER);
            from_status(
                response.status().as_u16(),
                retry.and_then(|value| value.to_str().ok()),
            )
        }
        tungstenite::Error::Io(io) => from_io(io).unwrap_or(DoorError::Unreachable),
        // What was cut off says nothing about who is there.
        tungstenite::Error::Protocol(
            ProtocolError::HandshakeIncomplete | ProtocolError::ResetWithoutClosingHandshake,
        ) => DoorError::Unreachable,
        tungstenite::Error::Protocol(_) | tungstenite::Error::HttpFormat(_) => {
            DoorError::NotPorthole
        }
        _ => DoorError::Unreachable,
    }
}

/// Reads, writes and listens for the pulse side by side until one of them ends the connection.
async fn carry<S: AsyncRead + AsyncWrite + Unpin>(
    socket: WebSocketStream<Measured<S>>,
    outgoing: mpsc::Receiver<Outgoing>,
    reporter: &Reporter,
    pulse: &Pulse,
) -> DoorError {
    reporter.tell(LinkHappening::Up).await;
    pulse.begin();
    let (sink, stream) = socket.split();
    tokio::select! {
        ended = read(stream, reporter, pulse) => ended,
        ended = write(sink, outgoing, pulse) => ended,
        () = pulse.lost() => DoorError::TimedOut,
    }
}

async fn read(
    mut stream: impl StreamExt<Item = Result<Message, tungstenite::Error>> + Unpin,
    reporter: &Reporter,
    pulse: &Pulse,
) -> DoorError {
    loop {
        let message = stream.next().await;
        // While the loop has no room nothing is read, which says nothing about the other end.
        pulse.busy(true);
        let step = incoming(message, reporter).await;
        pulse.busy(false);
        if let Err(error) = step {
            return error;
        }
    }
}

async fn write(
    mut sink: impl SinkExt<Message, Error = tungstenite::Error> + Unpin,
    mut outgoing: mpsc::Receiver<Outgoing>,
    pulse: &Pulse,
) -> DoorError {
    loop {
        let (message, _room) = tokio::select! {
            frame = outgoing.recv() => match frame {
                Some((frame, room)) => match String::from_utf8(frame) {
                    Ok(text) => (Message::Text(text.into()), Some(room)),
                    // A UI's frame that is no text is dropped here: the server would end the connection for it.
                    Err(_) => continue,
                },
                None => return DoorError::Unreachable,
            },
            () = pulse.ping_due() => (Message::Ping(Vec::new().into()), None),
        };
        let is_ping = matches!(message, Message::Ping(_));
        tokio::select! {
            sent = sink.send(message) => if let Err(error) = sent {
                return lost(&error);
            },
            () = pulse.stalled() => return DoorError::TimedOut,
        }
        if is_ping {
            pulse.pinged();
        }
    }
}

async fn incoming(
    message: Option<Result<Message, tungstenite::Error>>,
    reporter: &Reporter,
) -> Result<(), DoorError> {
    match message {
        Some(Ok(Message::Text(text))) => {
            reporter
                .tell(LinkHappening::Text(text.as_bytes().to_vec()))
                .await;
        }
        Some(Ok(Message::Binary(bytes))) => {
            if let Ok(control) = serde_json::from_slice(&bytes) {
                reporter.tell(LinkHappening::Control(control)).await;
            }
        }
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
        Some(Ok(Message::Close(_))) | None => return Err(DoorError::Unreachable),
        Some(Err(error)) => return Err(lost(&error)),
    }
    Ok(())
}

fn lost(error: &tungstenite::Error) -> DoorError {
    match error {
        tungstenite::Error::Capacity(_) => DoorError::TooLarge(limits::LINK_IN_BYTES),
        tungstenite::Error::Io(io) => from_io(io).unwrap_or(DoorError::Unreachable),
        _ => DoorError::Unreachable,
    }
}

#[cfg(test)]
mod tests;
