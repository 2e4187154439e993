//! A model server on loopback that gives one scripted answer to one request, for tests.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// What a server does when it has answered.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum After {
    Close,
    StayOpen,
    Reset,
}

/// Answers one request with these bytes; returns the request.
pub(crate) async fn serve_once(server: TcpListener, answer: Vec<u8>, after: After) -> String {
    let (mut socket, _) = server.accept().await.expect("one comes");
    let request = read_request(&mut socket).await;
    socket.write_all(&answer).await.expect("it listens");
    match after {
        After::Close => socket.shutdown().await.expect("it listens"),
        // Read until the other side goes away.
        After::StayOpen => drop(socket.read_to_end(&mut Vec::new()).await),
        After::Reset => reset(socket).await,
    }
    request
}

/// Ends the connection by RST: what is unread when a socket closes makes it so.
async fn reset(socket: TcpStream) {
    socket
        .set_zero_linger()
        .expect("an option every system has");
    drop(socket);
}

async fn read_request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .to_lowercase()
                .split("content-length: ")
                .nth(1)
                .and_then(|rest| rest.split("\r\n").next()?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        let count = socket.read_buf(&mut bytes).await.expect("it talks");
        assert_ne!(count, 0, "the request is whole");
    }
}
