//! The listener: accepts, bounds and times connections, and sends every request through the gate before any route.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{Request, Response, StatusCode},
    response::IntoResponse as _,
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use porthole_door::TIMEOUT_SECONDS;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use crate::{
    answer::{Failed, secure},
    door,
    gate::{self, Peer, Refusal},
    server::Server,
};

/// Largest head of a request.
const HEAD_BYTES: usize = 16 << 10;
/// How long a client may take to send a head.
const HEAD_SECONDS: u64 = 10;
/// Connections at once.
const CONNECTIONS: usize = 256;

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

/// Listens on an address of this machine only.
///
/// # Errors
/// [`ListenError`]
pub async fn listen(address: SocketAddr) -> Result<TcpListener, ListenError> {
    if !address.ip().is_loopback() {
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
pub async fn serve(server: Arc<Server>, listener: TcpListener) {
    let routes = door::routes(server.clone());
    let seats = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        // The semaphore is never closed.
        let Ok(seat) = seats.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, peer)) => {
                let peer = Peer(peer.ip());
                let connection = connection(server.clone(), routes.clone(), stream, peer);
                tokio::spawn(async move {
                    connection.await;
                    drop(seat);
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

async fn connection(server: Arc<Server>, routes: Router, stream: TcpStream, peer: Peer) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| answer(server.clone(), routes.clone(), request, peer));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(HEAD_SECONDS))
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    if let Err(error) = served {
        tracing::debug!("a connection ended: {error}");
    }
}

/// The one way in: gate, routes, headers. The log has the status and never the address asked for, which may hold anything.
async fn answer(
    server: Arc<Server>,
    routes: Router,
    mut request: Request<Incoming>,
    peer: Peer,
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
            request.extensions_mut().insert(peer);
            route(routes, request).await
        }
        Err(refusal) => refused(refusal),
    };
    tracing::debug!(status = response.status().as_u16(), "answered");
    Ok(secure(response))
}

async fn route(routes: Router, request: Request<Incoming>) -> Response<Body> {
    let answer = hyper::service::Service::call(&TowerToHyperService::new(routes), request);
    let bound = Duration::from_secs(TIMEOUT_SECONDS);
    match tokio::time::timeout(bound, answer).await {
        Ok(Ok(response)) => response,
        Ok(Err(never)) => match never {},
        Err(_) => Failed::new(StatusCode::REQUEST_TIMEOUT, "the request took too long", "")
            .into_response(),
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
