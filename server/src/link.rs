//! The link as a WebSocket: frames in, frames out, pings. What a frame means is not known here.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{
        FromRequestParts as _, Request, State, WebSocketUpgrade,
        ws::{Message, WebSocket},
    },
    http::{Response, StatusCode},
};
use futures_util::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use porthole_protocol::limits::CLIENT_FRAME_BYTES;
use porthole_worker::wire::ConnectionId;
use tokio::time::Instant;

use crate::{
    answer::Failed,
    caller::{Caller, address},
    outbox::{Next, Out},
    outlet::Outlet,
    server::{Server, now_ms},
    switchboard::Input,
};

/// Links at once.
const LINKS: usize = 1_024;
/// How often a peer is asked whether it is still there.
const PING_EVERY: Duration = Duration::from_secs(30);
/// How long a peer may be silent: two pings and some.
const SILENCE: Duration = Duration::from_secs(75);
/// How long a peer may take to read what waits once the connection is to end.
const LAST_WORDS: Duration = Duration::from_millis(600);

/// Takes a request for the link.
pub async fn upgrade(
    State(server): State<Arc<Server>>,
    request: Request,
) -> Result<Response<Body>, Failed> {
    let (mut parts, _) = request.into_parts();
    let caller = Caller::from_request_parts(&mut parts, &()).await?;
    let from = address(&parts).map_or_else(String::new, |address| address.to_string());
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &())
        .await
        .map_err(|_| {
            Failed::new(
                StatusCode::UPGRADE_REQUIRED,
                "the link is a WebSocket",
                "use the `porthole` launcher",
            )
        })?;
    if server.links() >= LINKS {
        tracing::warn!("too many links at once");
        let status = StatusCode::SERVICE_UNAVAILABLE;
        return Err(
            Failed::new(status, "too many are connected", "try again later").retry_after(5),
        );
    }
    Ok(upgrade
        .max_message_size(CLIENT_FRAME_BYTES)
        .max_frame_size(CLIENT_FRAME_BYTES)
        .on_upgrade(|socket| carry(server, caller, from, socket)))
}

async fn carry(server: Arc<Server>, caller: Caller, from: String, socket: WebSocket) {
    let pass = caller.pass;
    let (connection, outlet) = server.connect(caller.who, pass.clone());
    // Access may have ended between the request and this line: before the link is known, nothing closes it.
    if !server.seen(&pass, &from) {
        return server.disconnect(connection);
    }
    let (sink, stream) = socket.split();
    let cut_off = async {
        outlet.until_cut_off().await;
        tokio::time::sleep(LAST_WORDS).await;
    };
    tokio::select! {
        () = read(&server, connection, stream) => {}
        () = write(&server, connection, &outlet, sink, pass.expires_ms()) => {}
        () = cut_off => {}
        () = outlet.until_overfull() => tracing::debug!("a link that is not read was ended"),
    }
    server.disconnect(connection);
    server.seen(&pass, &from);
}

/// Reads until the peer is gone, breaks the protocol of WebSockets, or is silent for too long.
async fn read(server: &Arc<Server>, connection: ConnectionId, mut stream: SplitStream<WebSocket>) {
    while let Ok(Some(Ok(message))) = tokio::time::timeout(SILENCE, stream.next()).await {
        match message {
            Message::Text(text) => {
                server.handle(Input::of_text(connection, &text));
            }
            Message::Binary(_) => server.handle(Input::Unreadable {
                connection,
                id: None,
            }),
            Message::Ping(_) | Message::Pong(_) => {}
            Message::Close(_) => return,
        }
        // A peer that floods does not keep the others from their turn.
        tokio::task::yield_now().await;
    }
}

async fn write(
    server: &Arc<Server>,
    connection: ConnectionId,
    outlet: &Outlet,
    mut sink: SplitSink<WebSocket, Message>,
    expires_ms: Option<u64>,
) {
    let mut ping_at = Instant::now() + PING_EVERY;
    let mut left = time_left(expires_ms);
    loop {
        if left == Some(Duration::ZERO) {
            server.expire(connection);
        }
        // Looked at again with each ping: a machine that slept has a clock that did not.
        let wake_at = match left {
            Some(left) if !left.is_zero() => ping_at.min(Instant::now() + left),
            _ => ping_at,
        };
        let sent = match tokio::time::timeout_at(wake_at, outlet.next()).await {
            Ok(Next::Send(batch)) => send(&mut sink, batch).await,
            Ok(Next::Refresh(topic)) => {
                server.handle(Input::Refresh { connection, topic });
                Ok(())
            }
            Ok(Next::Wait) => Ok(()),
            Ok(Next::End) => break,
            Err(_) if wake_at < ping_at => Ok(()),
            Err(_) => {
                ping_at += PING_EVERY;
                sink.send(Message::Ping(Vec::new().into())).await
            }
        };
        if sent.is_err() {
            return;
        }
        left = time_left(expires_ms);
    }
    let _ = tokio::time::timeout(LAST_WORDS, sink.send(Message::Close(None))).await;
}

/// Returns how long a link may still be; `None` where its time is not bounded.
fn time_left(expires_ms: Option<u64>) -> Option<Duration> {
    expires_ms.map(|at| Duration::from_millis(at.saturating_sub(now_ms())))
}

async fn send(
    sink: &mut SplitSink<WebSocket, Message>,
    batch: Vec<Out>,
) -> Result<(), axum::Error> {
    for out in batch {
        let message = match out {
            Out::Text(text) => Message::Text(text),
            Out::Control(bytes) => Message::Binary(bytes),
        };
        sink.feed(message).await?;
    }
    sink.flush().await
}
