//! A stream whose other end has to go on reading: one that takes no byte for a while, though there are some for it, has
//! failed. How fast it reads does not matter.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep},
};

/// How long the other end may take no byte.
pub const STALL: Duration = Duration::from_secs(60);

/// The stream.
pub struct Steady<S> {
    stream: S,
    stall: Duration,
    /// When it is over, while something waits to be taken.
    due: Option<Pin<Box<Sleep>>>,
}

impl<S> Steady<S> {
    /// Returns the stream with a bound on how long nothing may be taken of it.
    pub fn new(stream: S, stall: Duration) -> Self {
        Self {
            stream,
            stall,
            due: None,
        }
    }

    fn bound<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.due = None;
            return polled;
        }
        let due = self
            .due
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + self.stall)));
        match due.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Steady<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Steady<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bound(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.bound(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.bound(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.bound(context, polled)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn who_takes_nothing_fails_and_who_takes_little_does_not() {
        let stall = Duration::from_millis(100);
        let (mut reader, stream) = tokio::io::duplex(10);
        let mut steady = Steady::new(stream, stall);
        let slow = async {
            for _ in 0..5 {
                tokio::time::sleep(stall / 2).await;
                reader.read_exact(&mut [0; 10]).await.expect("read");
            }
        };
        let (written, ()) = tokio::join!(steady.write_all(&[0; 60]), slow);
        written.expect("all of it was taken");
        let error = steady.write_all(&[0; 1]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
