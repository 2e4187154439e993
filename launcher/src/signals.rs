//! Signals as events, and stopping oneself as job control does.

use std::{
    io,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use rustix::process::{Signal, getpgrp, getpid, getsid, kill_current_process_group, kill_process};
use tokio::signal::unix::{self, SignalKind};

/// A signal that concerns the launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessSignal {
    /// End with this status.
    End(u8),
    /// The interrupt key, while something else owns the keys, or from outside.
    Interrupt,
    /// The window's size changed.
    Size,
    /// Stop until continued.
    Stop,
    /// Continued after a stop that was not ours.
    Continued,
}

/// The signals, as they come.
pub struct Signals {
    terminate: unix::Signal,
    hang_up: unix::Signal,
    interrupt: unix::Signal,
    quit: unix::Signal,
    size: unix::Signal,
    stop: unix::Signal,
    continued: unix::Signal,
}

impl Signals {
    /// Takes the signals over from their defaults.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn new() -> io::Result<Self> {
        TAKEN.store(true, Ordering::SeqCst);
        let raw = |signal: Signal| unix::signal(SignalKind::from_raw(signal.as_raw()));
        Ok(Self {
            terminate: unix::signal(SignalKind::terminate())?,
            hang_up: unix::signal(SignalKind::hangup())?,
            interrupt: unix::signal(SignalKind::interrupt())?,
            quit: unix::signal(SignalKind::quit())?,
            size: unix::signal(SignalKind::window_change())?,
            stop: raw(Signal::TSTP)?,
            continued: raw(Signal::CONT)?,
        })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) -> ProcessSignal {
        tokio::select! {
            _ = self.terminate.recv() => ProcessSignal::End(143),
            _ = self.hang_up.recv() => ProcessSignal::End(129),
            _ = self.quit.recv() => ProcessSignal::End(131),
            _ = self.interrupt.recv() => ProcessSignal::Interrupt,
            _ = self.size.recv() => ProcessSignal::Size,
            _ = self.stop.recv() => ProcessSignal::Stop,
            _ = self.continued.recv() => ProcessSignal::Continued,
        }
    }
}

/// Whether [`Signals`] are listened to.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Has `restore` called before a signal ends the process, until [`Signals`] are listened to.
///
/// # Errors
/// Where the system refuses.
pub fn end_with(restore: fn()) -> io::Result<()> {
    let (ready, listening) = mpsc::channel();
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .build();
            if let Ok(runtime) = runtime {
                runtime.block_on(end_at_signal(restore, &ready));
            }
        })?;
    listening
        .recv()
        .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

async fn end_at_signal(restore: fn(), ready: &mpsc::Sender<io::Result<()>>) {
    let listen = || {
        Ok::<_, io::Error>([
            unix::signal(SignalKind::terminate())?,
            unix::signal(SignalKind::hangup())?,
            unix::signal(SignalKind::interrupt())?,
            unix::signal(SignalKind::quit())?,
        ])
    };
    let (mut signals, told) = match listen() {
        Ok(signals) => (signals, Ok(())),
        Err(error) => return drop(ready.send(Err(error))),
    };
    // Whoever asked waits for this.
    let _ = ready.send(told);
    let [terminate, hang_up, interrupt, quit] = &mut signals;
    let status = tokio::select! {
        _ = terminate.recv() => 143,
        _ = hang_up.recv() => 129,
        _ = interrupt.recv() => 130,
        _ = quit.recv() => 131,
    };
    if !TAKEN.load(Ordering::SeqCst) {
        restore();
        std::process::exit(status);
    }
}

/// Stops this process; returns when it was continued.
pub fn stop_self() {
    // A signal to oneself is always permitted.
    let _ = kill_process(getpid(), Signal::STOP);
}

/// Stops everything in this process's group, so that whoever started us notices as with the terminal's own key.
pub fn stop_group() {
    let _ = kill_current_process_group(Signal::STOP);
}

/// Says whether a shell with job control waits for us. The first process group of a session has none: what stops there
/// is never continued.
pub fn has_shell() -> bool {
    getsid(None).is_ok_and(|session| session != getpgrp())
}
