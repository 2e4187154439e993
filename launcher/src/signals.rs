//! Signals as events, and stopping oneself as job control does.

use std::io;

use rustix::process::{Signal, getpid, kill_current_process_group, kill_process};
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

/// Stops this process; returns when it was continued.
pub fn stop_self() {
    // A signal to oneself is always permitted.
    let _ = kill_process(getpid(), Signal::STOP);
}

/// Stops everything in this process's group, so that whoever started us notices as with the terminal's own key.
pub fn stop_group() {
    let _ = kill_current_process_group(Signal::STOP);
}
