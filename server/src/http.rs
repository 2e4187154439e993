//! The listener: accepts, bounds and times connections, and sends every request through the gate before any route.

use std::{
    collections::HashMap,
    convert::Infallible,
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes, HttpBody},
    http::{Request, Response, StatusCode, header},
    response::IntoResponse as _,
};
use hyper::{
    body::{Frame, Incoming, SizeHint},
    server::conn::http1,
    service::{HttpService, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use porthole_door::TIMEOUT_SECONDS;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};
use tokio_rustls::TlsAcceptor;

use crate::{
    answer::{Failed, secure},
    door,
    gate::{self, Peer, Refusal},
    lobby::{Entry, Lobby, Seat},
    server::{Server, locked},
    steady::{STALL, Steady},
    tls::Tls,
};

/// Largest head of a request.
const HEAD_BYTES: usize = 16 << 10;
/// How long a client may take to send a head, or to agree on encryption.
const HEAD_BOUND: Duration = Duration::from_secs(5);

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Something else listens there.
    #[error("port {} is in use", .0.port())]
    InUse(SocketAddr),
    /// Others could reach it, and could read along.
    #[error("listening on `{0}` would let others reach this server without encryption")]
    NotLoopback(SocketAddr),
    /// Another failure.
    #[error("cannot listen on `{0}`: {1}")]
    Io(SocketAddr, io::Error),
}

/// Listens on an address: without encryption only on this machine's own.
///
/// # Errors
/// [`ListenError`]
pub async fn listen(address: SocketAddr, tls: Option<&Tls>) -> Result<TcpListener, ListenError> {
    if !address.ip().is_loopback() && tls.is_none() {
        return Err(ListenError::NotLoopback(address));
    }
    TcpListener::bind(address)
        .await
        .map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => ListenError::InUse(address),
            _ => ListenError::Io(address, error),
        })
}

/// Serves until it is dropped.
pub async fn serve(server: Arc<Server>, listener: TcpListener, tls: Option<Arc<Tls>>) {
    let routes = door::routes(server.clone());
    let lobby = Arc::new(Open::default());
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let acceptor = tls.as_ref().map(|tls| tls.acceptor());
                let (server, routes) = (server.clone(), routes.clone());
                lobby.admit(peer.ip(), |seat| async move {
                    let _ = stream.set_nodelay(true);
                    let service =
                        service_fn(move |request| answer(&server, &routes, &seat, request));
                    match acceptor {
                        Some(acceptor) => encrypted(acceptor, stream, service).await,
                        None => speak(Steady::new(stream, STALL), service).await,
                    }
                });
            }
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                // Out of descriptors: they come back only as others end.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// The connections that are open and no links yet.
#[derive(Default)]
struct Open {
    lobby: Mutex<Lobby>,
    tasks: Mutex<HashMap<Seat, AbortHandle>>,
}

impl Open {
    fn admit<F>(self: &Arc<Self>, peer: IpAddr, connection: impl FnOnce(Arc<Sits>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let entry = locked(&self.lobby).enter(peer);
        let seat = match entry {
            Entry::In(seat) => seat,
            Entry::InFor(seat, leaves) => {
                if let Some(task) = locked(&self.tasks).remove(&leaves) {
                    task.abort();
                }
                seat
            }
            Entry::Full => return tracing::warn!("too many connections at once"),
        };
        let sits = Arc::new(Sits {
            open: self.clone(),
            seat,
            peer: Peer(peer),
        });
        let connection = connection(sits.clone());
        let task = tokio::spawn(async move {
            connection.await;
            drop(sits);
        });
        locked(&self.tasks).insert(seat, task.abort_handle());
    }
}

/// A connection's seat; dropped, it is free.
struct Sits {
    open: Arc<Open>,
    seat: Seat,
    peer: Peer,
}

impl Drop for Sits {
    fn drop(&mut self) {
        locked(&self.open.lobby).left(self.seat);
        locked(&self.open.tasks).remove(&self.seat);
    }
}

/// The time from a whole request to the end of its answer's body.
struct Answering(Arc<Sits>);

impl Answering {
    fn begin(sits: &Arc<Sits>) -> Self {
        locked(&sits.open.lobby).asked(sits.seat);
        Self(sits.clone())
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        locked(&self.0.open.lobby).answered(self.0.seat);
    }
}

/// A body that keeps its connection from giving way while it is sent.
struct Held {
    body: Body,
    _until_sent: Answering,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

async fn encrypted<S>(acceptor: TlsAcceptor, stream: TcpStream, service: S)
where
    S: HttpService<Incoming, ResBody = Body, Error = Infallible>,
{
    let agreed = async {
        let mut first = [0];
        if stream.peek(&mut first).await? > 0 && first[0].is_ascii_alphabetic() {
            return refuse_plain(stream).await.map(|()| None);
        }
        acceptor.accept(Steady::new(stream, STALL)).await.map(Some)
    };
    match tokio::time::timeout(HEAD_BOUND, agreed).await {
        Ok(Ok(Some(stream))) => speak(stream, service).await,
        Ok(Ok(None)) => {}
        Ok(Err(error)) => tracing::debug!("no encryption was agreed on: {error}"),
        Err(_) => tracing::debug!("no encryption was agreed on in time"),
    }
}

/// Someone forgot the `s`.
async fn refuse_plain(mut stream: TcpStream) -> io::Result<()> {
    const BODY: &str = r#"{"message":"this server is reached with https only","hint":"use `https://` in place of `http://`"}"#;
    let text = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{BODY}",
        BODY.len()
    );
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

async fn speak<S>(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, service: S)
where
    S: HttpService<Incoming, ResBody = Body, Error = Infallible>,
{
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_BOUND)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    if let Err(error) = served {
        tracing::debug!("a connection ended: {error}");
    }
}

fn answer(
    server: &Arc<Server>,
    routes: &Router,
    sits: &Arc<Sits>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<Body>, Infallible>> + use<> {
    let answering = Answering::begin(sits);
    answered(server.clone(), routes.clone(), answering, request)
}

/// The one way in: gate, routes, headers. The log has the status and never the address asked for, which may hold anything.
async fn answered(
    server: Arc<Server>,
    routes: Router,
    answering: Answering,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let place = gate::admit(
        request.method(),
        request.uri(),
        request.headers(),
        server.rules(),
    );
    let response = match place {
        Ok(place) => {
            request.extensions_mut().insert(place);
            request.extensions_mut().insert(answering.0.peer);
            route(routes, request).await
        }
        Err(refusal) => refused(refusal),
    };
    tracing::debug!(status = response.status().as_u16(), "answered");
    Ok(secure(response).map(|body| {
        Body::new(Held {
            body,
            _until_sent: answering,
        })
    }))
}

async fn route(routes: Router, request: Request<Incoming>) -> Response<Body> {
    let answer = hyper::service::Service::call(&TowerToHyperService::new(routes), request);
    let bound = Duration::from_secs(TIMEOUT_SECONDS);
    match tokio::time::timeout(bound, answer).await {
        Ok(Ok(response)) => in_words(response),
        Ok(Err(never)) => match never {},
        Err(_) => Failed::new(StatusCode::REQUEST_TIMEOUT, "the request took too long", "")
            .into_response(),
    }
}

/// What the router itself refuses says so as everything else does, and repeats nothing of the request.
fn in_words(response: Response<Body>) -> Response<Body> {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_text = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/plain"));
    match response.status() {
        status if status.is_client_error() && is_text => {
            Failed::new(status, "the request does not parse", "update the launcher").into_response()
        }
        _ => response,
    }
}

fn refused(refusal: Refusal) -> Response<Body> {
    tracing::warn!("refused a request: {refusal}");
    let status = match refusal {
        Refusal::BadHost | Refusal::AbsoluteForm => StatusCode::BAD_REQUEST,
        Refusal::UnknownHost => StatusCode::MISDIRECTED_REQUEST,
        Refusal::ForeignOrigin | Refusal::NoOrigin | Refusal::Forwarded => StatusCode::FORBIDDEN,
    };
    Failed::new(status, refusal.to_string(), refusal.hint()).into_response()
}
