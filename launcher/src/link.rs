//! The link: one WebSocket to the server, whose text frames are carried unread.
//! It connects once; when to try again is decided elsewhere.

use std::{net::ToSocketAddrs, sync::Arc, time::Duration};

use futures_util::{SinkExt, StreamExt};
use porthole_bridge::limits;
use porthole_door::{LinkControl, PATH_LINK, TIMEOUT_SECONDS};
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::mpsc,
    time::{Instant, timeout},
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
    door::{Door, DoorError, Tls, from_io, from_status, is_plain},
};

/// Silence after which a ping is sent; as much silence again ends the connection.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// Frames that wait to be written; one more is refused.
pub const OUT_FRAMES: usize = 64;
/// Events that wait for the loop; the socket is not read while they do.
pub const IN_EVENTS: usize = 64;

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

/// One connection's task; dropping it ends the connection.
pub struct Connection {
    frames: mpsc::Sender<Vec<u8>>,
    task: tokio::task::JoinHandle<()>,
}

impl Connection {
    /// Starts connecting under `epoch` and reports to `events`.
    pub fn start(
        epoch: u64,
        door: Door,
        tls: Tls,
        record: Arc<Record>,
        events: mpsc::Sender<LinkEvent>,
    ) -> Self {
        let (frames, outgoing) = mpsc::channel(OUT_FRAMES);
        let task = tokio::spawn(async move {
            let reporter = Reporter { epoch, events };
            let ended = run(&door, &tls, &record, outgoing, &reporter).await;
            reporter.tell(LinkHappening::Down(ended)).await;
        });
        Self { frames, task }
    }

    /// Queues a text frame; returns whether there was room.
    pub fn send(&self, frame: Vec<u8>) -> bool {
        self.frames.try_send(frame).is_ok()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Reporter {
    epoch: u64,
    events: mpsc::Sender<LinkEvent>,
}

impl Reporter {
    async fn tell(&self, what: LinkHappening) {
        let epoch = self.epoch;
        // Nobody listens only while the launcher is leaving.
        let _ = self.events.send(LinkEvent { epoch, what }).await;
    }
}

async fn run(
    door: &Door,
    tls: &Tls,
    record: &Record,
    outgoing: mpsc::Receiver<Vec<u8>>,
    reporter: &Reporter,
) -> DoorError {
    // The key is proved before every cookie: whoever took the port since then gets nothing.
    if let Err(error) = door.prove(&record.fingerprint).await {
        return error;
    }
    let connected = timeout(
        Duration::from_secs(TIMEOUT_SECONDS),
        connect(&record.origin, tls, record),
    );
    match connected.await {
        Err(_) => DoorError::TimedOut,
        Ok(Err(error)) => error,
        Ok(Ok(socket)) => carry(socket, outgoing, reporter).await,
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

type Socket = WebSocketStream<Box<dyn Stream>>;

async fn connect(origin: &str, tls: &Tls, record: &Record) -> Result<Socket, DoorError> {
    let url = url::Url::parse(origin).map_err(|_| DoorError::Unreachable)?;
    let stream = open(&url, tls).await?;
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
    let name = ServerName::try_from(bare.to_owned()).map_err(|_| DoorError::Certificate)?;
    let stream = tokio_rustls::TlsConnector::from(tls.config())
        .connect(name, tcp)
        .await
        .map_err(|error| from_io(&error).unwrap_or(DoorError::Certificate))?;
    Ok(Box::new(stream))
}

async fn open_tcp(host: &str, port: u16) -> Result<TcpStream, DoorError> {
    let reached = |error: std::io::Error| from_io(&error).unwrap_or(DoorError::Unreachable);
    if let Ok(address) = host.parse::<std::net::IpAddr>() {
        return TcpStream::connect((address, port)).await.map_err(reached);
    }
    let name = (host.to_owned(), port);
    let addresses = tokio::task::spawn_blocking(move || name.to_socket_addrs())
        .await
        .map_err(|_| DoorError::Unreachable)?
        .map_err(|_| DoorError::Unreachable)?;
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

async fn carry(
    socket: Socket,
    mut outgoing: mpsc::Receiver<Vec<u8>>,
    reporter: &Reporter,
) -> DoorError {
    reporter.tell(LinkHappening::Up).await;
    let (mut sink, mut stream) = socket.split();
    let mut heard = Instant::now();
    let mut pinged = false;
    loop {
        let step = tokio::select! {
            message = stream.next() => {
                (heard, pinged) = (Instant::now(), false);
                incoming(message, reporter).await
            }
            frame = outgoing.recv() => match frame {
                Some(frame) => send_text(&mut sink, frame).await,
                None => Err(DoorError::Unreachable),
            },
            () = tokio::time::sleep_until(heard + KEEPALIVE) => {
                heard = Instant::now();
                match std::mem::replace(&mut pinged, true) {
                    true => Err(DoorError::TimedOut),
                    false => sink.send(Message::Ping(Vec::new().into())).await.map_err(|error| lost(&error)),
                }
            }
        };
        if let Err(error) = step {
            return error;
        }
    }
}

async fn send_text(
    sink: &mut (impl SinkExt<Message, Error = tungstenite::Error> + Unpin),
    frame: Vec<u8>,
) -> Result<(), DoorError> {
    // A UI's frame that is no text is dropped here: the server would end the connection for it.
    let Ok(text) = String::from_utf8(frame) else {
        return Ok(());
    };
    sink.send(Message::Text(text.into()))
        .await
        .map_err(|error| lost(&error))
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
mod tests {
    use tungstenite::Error as E;

    use super::*;

    #[test]
    fn a_handshake_that_is_cut_off_is_tried_again_and_a_wrong_one_is_not() {
        let cut = E::Protocol(ProtocolError::HandshakeIncomplete);
        for error in [cut, E::ConnectionClosed, E::AlreadyClosed] {
            assert!(from_handshake(&error).is_transient(), "{error}");
        }
        let wrong = E::Protocol(ProtocolError::SecWebSocketAcceptKeyMismatch);
        assert_eq!(from_handshake(&wrong), DoorError::NotPorthole);
    }
}
