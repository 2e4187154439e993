//! A tiny client of the protocol: it watches the home list and prints every row that changes.
//! `PORTHOLE_COOKIE='name=value' cargo run -p porthole-examples --example client -- 127.0.0.1:7420`

use anyhow::Context;
use futures_util::{SinkExt, StreamExt};
use porthole_protocol::{
    ClientFrame, ServerFrame, SessionRow, SessionsDelta, Topic, TopicDelta, TopicState, decode,
    encode, limits,
};
use tokio_tungstenite::tungstenite::{
    Message, client::IntoClientRequest, handshake::client::Request,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let host = std::env::args().nth(1).context("usage: client HOST:PORT")?;
    let stream = tokio::net::TcpStream::connect(&host).await?;
    let (mut link, _) = tokio_tungstenite::client_async(request(&host)?, stream).await?;
    let watch = encode(
        &ClientFrame::Watch {
            topic: Topic::Sessions,
        },
        limits::CLIENT_FRAME_BYTES,
    )?;
    link.send(Message::text(watch)).await?;
    while let Some(message) = link.next().await {
        if let Message::Text(text) = message? {
            print(decode(&text, limits::SERVER_FRAME_BYTES)?);
        }
    }
    Ok(())
}

fn request(host: &str) -> anyhow::Result<Request> {
    let cookie = std::env::var("PORTHOLE_COOKIE").context("PORTHOLE_COOKIE is not set")?;
    let mut request = format!("ws://{host}/link").into_client_request()?;
    request.headers_mut().insert("cookie", cookie.parse()?);
    request
        .headers_mut()
        .insert("origin", format!("http://{host}").parse()?);
    Ok(request)
}

fn print(frame: ServerFrame) {
    match frame {
        ServerFrame::Snapshot {
            state: TopicState::Sessions(rows),
            ..
        } => rows.iter().for_each(print_row),
        ServerFrame::Delta {
            delta: TopicDelta::Sessions(SessionsDelta::Row { row }),
            ..
        } => print_row(&row),
        _ => {}
    }
}

fn print_row(row: &SessionRow) {
    println!("{}  {}  {:?}", row.id, row.title.escape_debug(), row.state);
}
