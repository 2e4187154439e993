//! The worker's end of the socketpair: whole messages in, encoded messages out. It knows no call.

use std::{io, os::unix::net};

use porthole_protocol::{FrameError, ServerFrame, encode, limits};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
    task::JoinHandle,
};

use crate::wire::{self, FromWorker, ToWorker, WireError};

/// Messages that wait to be written; with more the engine waits for the server.
const QUEUED: usize = 256;
/// Bytes that go into one write, about.
const WRITE_BYTES: usize = 256 << 10;

/// Messages from the server.
pub(crate) struct Reader {
    socket: OwnedReadHalf,
    bytes: Vec<u8>,
}

/// Messages to the server.
pub(crate) struct Writer {
    queue: mpsc::Sender<Vec<u8>>,
    task: JoinHandle<()>,
}

/// Returns both ends of a socket. Needs a runtime.
pub(crate) fn split(socket: net::UnixStream) -> io::Result<(Reader, Writer)> {
    socket.set_nonblocking(true)?;
    let (socket, out) = UnixStream::from_std(socket)?.into_split();
    let (queue, waiting) = mpsc::channel(QUEUED);
    let task = tokio::spawn(write(out, waiting));
    let bytes = Vec::new();
    Ok((Reader { socket, bytes }, Writer { queue, task }))
}

impl Reader {
    /// Returns the next message; `None`: the server is gone. Nothing is lost where this is dropped half-way.
    pub(crate) async fn next(&mut self) -> io::Result<Option<ToWorker>> {
        loop {
            if let Some((message, _, used)) = wire::decode(&self.bytes).map_err(io::Error::other)? {
                self.bytes.drain(..used);
                return Ok(Some(message));
            }
            match self.socket.read_buf(&mut self.bytes).await {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Writer {
    /// Sends a message that carries no frame.
    pub(crate) async fn send(&self, head: &FromWorker) {
        self.put(wire::encode(head, &[])).await;
    }

    /// Sends a message with a frame, encoded here and never again.
    ///
    /// # Errors
    /// Where the frame is over its limit; then nothing is sent.
    pub(crate) async fn frame(
        &self,
        head: &FromWorker,
        frame: &ServerFrame,
    ) -> Result<(), FrameError> {
        let body = encode(frame, limits::SERVER_FRAME_BYTES)?;
        self.put(wire::encode(head, body.as_bytes())).await;
        Ok(())
    }

    /// Sends a message with a body that is no frame.
    pub(crate) async fn body(&self, head: &FromWorker, body: &str) {
        self.put(wire::encode(head, body.as_bytes())).await;
    }

    /// Ends when everything is written or the server is gone.
    pub(crate) async fn close(self) {
        drop(self.queue);
        // The writer only writes; it does not panic.
        let _ = self.task.await;
    }

    async fn put(&self, message: Result<Vec<u8>, WireError>) {
        match message {
            // A server that is gone shows as the end of what is read.
            Ok(message) => drop(self.queue.send(message).await),
            Err(error) => tracing::error!(%error, "a message was not sent"),
        }
    }
}

/// Writes what waits, much of it at a time.
async fn write(mut socket: OwnedWriteHalf, mut waiting: mpsc::Receiver<Vec<u8>>) {
    while let Some(mut bytes) = waiting.recv().await {
        while bytes.len() < WRITE_BYTES {
            let Ok(more) = waiting.try_recv() else { break };
            bytes.extend_from_slice(&more);
        }
        if socket.write_all(&bytes).await.is_err() {
            return;
        }
    }
}
