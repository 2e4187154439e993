//! Whether the other end of the link is still there: silence, a ping, silence again.
//! It counts bytes, not messages, so that a large frame on a slow line is a sign of life. It sends nothing itself.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::Notify,
    time::{Instant, sleep, sleep_until},
};

/// Silence after which a ping is sent.
const QUIET: Duration = Duration::from_secs(10);
/// How long the answer to a ping may take; with [`QUIET`], how soon a half-open link is found.
const ANSWER: Duration = Duration::from_secs(5);
/// The same where the computer has just woken up: most links have not outlived that.
const ANSWER_AWAKE: Duration = Duration::from_secs(2);
/// How long not one byte of a message may go out.
const STALL: Duration = Duration::from_secs(10);

/// Signs of life of one connection.
pub(super) struct Pulse {
    heard: Mutex<Instant>,
    /// Counts what was heard: clocks are too coarse to tell two moments apart.
    signs: AtomicU64,
    wrote: Mutex<Instant>,
    busy: AtomicBool,
    due: Notify,
    pinged: Notify,
    probe: Notify,
}

impl Pulse {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            heard: Mutex::new(now),
            signs: AtomicU64::new(0),
            wrote: Mutex::new(now),
            busy: AtomicBool::new(false),
            due: Notify::new(),
            pinged: Notify::new(),
            probe: Notify::new(),
        }
    }

    /// Counts from now.
    pub(super) fn begin(&self) {
        self.sign();
    }

    fn sign(&self) {
        self.signs.fetch_add(1, Ordering::Relaxed);
        set(&self.heard);
    }

    /// Wants to know soon.
    pub(super) fn probe(&self) {
        self.probe.notify_one();
    }

    /// Tells whether reading waits for somebody on this side.
    pub(super) fn busy(&self, busy: bool) {
        self.sign();
        self.busy.store(busy, Ordering::Relaxed);
    }

    /// Waits until a ping is to be sent.
    pub(super) async fn ping_due(&self) {
        self.due.notified().await;
    }

    /// Tells that the ping went out.
    pub(super) fn pinged(&self) {
        self.pinged.notify_one();
    }

    /// Waits until the other end is gone.
    pub(super) async fn lost(&self) {
        loop {
            let patience = tokio::select! {
                () = self.quiet() => ANSWER,
                () = self.probe.notified() => ANSWER_AWAKE,
            };
            // The answer may be there before the writer has told that it asked.
            let before = self.signs.load(Ordering::Relaxed);
            self.due.notify_one();
            self.pinged.notified().await;
            sleep(patience).await;
            if self.signs.load(Ordering::Relaxed) == before && !self.busy.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// Waits until not one byte has gone out for too long, from now on.
    pub(super) async fn stalled(&self) {
        set(&self.wrote);
        sleep_past(&self.wrote, STALL, || false).await;
    }

    async fn quiet(&self) {
        sleep_past(&self.heard, QUIET, || self.busy.load(Ordering::Relaxed)).await;
    }
}

/// Sleeps until `mark` is `long` ago; while `held`, it counts from now.
async fn sleep_past(mark: &Mutex<Instant>, long: Duration, held: impl Fn() -> bool) {
    loop {
        let seen = get(mark);
        sleep_until(seen + long).await;
        if held() {
            set(mark);
        } else if get(mark) == seen {
            return;
        }
    }
}

fn get(mark: &Mutex<Instant>) -> Instant {
    *mark.lock().unwrap_or_else(PoisonError::into_inner)
}

fn set(mark: &Mutex<Instant>) {
    *mark.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
}

/// A stream whose bytes are signs of life.
pub(super) struct Measured<S> {
    inner: S,
    pulse: Arc<Pulse>,
}

impl<S> Measured<S> {
    pub(super) fn new(inner: S, pulse: Arc<Pulse>) -> Self {
        Self { inner, pulse }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Measured<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let read = Pin::new(&mut this.inner).poll_read(cx, buf);
        if read.is_ready() {
            this.pulse.sign();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Measured<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = Pin::new(&mut this.inner).poll_write(cx, buf);
        if wrote.is_ready() {
            set(&this.pulse.wrote);
        }
        wrote
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}
