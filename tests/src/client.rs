//! A client of the door and the link without a screen: raw frames over a WebSocket, for tests and measures.

use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use futures_util::{SinkExt, StreamExt};
use porthole_door::Link;
use porthole_protocol::{ClientFrame, ServerFrame, decode, encode, limits};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, Utf8Bytes, client::IntoClientRequest, handshake::client::Request},
};

/// Returns the cookie that a link becomes, as `name=value`.
///
/// # Errors
/// Where the server does not take it.
pub async fn redeem(address: SocketAddr, link: &str) -> anyhow::Result<String> {
    let link = Link::parse(link).context("a link")?;
    let body = format!(r#"{{"token":"{}","name":"a measure"}}"#, link.token);
    let text = format!(
        "POST /door/redeem HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(text.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let cookie = answer
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie.and_then(|cookie| cookie.split(';').next());
    cookie.map(str::to_owned).context("the link was not taken")
}

/// An open link.
pub struct Client {
    socket: WebSocketStream<TcpStream>,
}

impl Client {
    /// Opens a link.
    ///
    /// # Errors
    /// Where the server lets nobody in.
    pub async fn open(address: SocketAddr, cookie: &str) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (socket, _) = client_async(request(address, cookie)?, stream).await?;
        Ok(Self { socket })
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// Where the link is closed.
    pub async fn send(&mut self, frame: &ClientFrame) -> anyhow::Result<()> {
        let text = encode(frame, limits::CLIENT_FRAME_BYTES)?;
        Ok(self.socket.send(Message::text(text)).await?)
    }

    /// Returns the text of the next frame.
    ///
    /// # Errors
    /// Where the link is closed.
    pub async fn text(&mut self) -> anyhow::Result<Utf8Bytes> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => return Ok(text),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                None => bail!("the link was closed"),
            }
        }
    }

    /// Returns the first frame like this; the others are dropped.
    ///
    /// # Errors
    /// Where the link is closed first.
    pub async fn until(
        &mut self,
        is_it: impl Fn(&ServerFrame) -> bool,
    ) -> anyhow::Result<ServerFrame> {
        loop {
            let frame = decode(&self.text().await?, limits::SERVER_FRAME_BYTES)?;
            ensure!(
                !matches!(frame, ServerFrame::Ended { .. } | ServerFrame::Error { .. })
                    || is_it(&frame),
                "refused: {frame:?}"
            );
            if is_it(&frame) {
                return Ok(frame);
            }
        }
    }
}

fn request(address: SocketAddr, cookie: &str) -> anyhow::Result<Request> {
    let mut request = format!("ws://{address}/link").into_client_request()?;
    let headers = request.headers_mut();
    headers.insert("cookie", cookie.parse()?);
    headers.insert("origin", format!("http://{address}").parse()?);
    Ok(request)
}
