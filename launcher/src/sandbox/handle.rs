//! A running UI, as the launcher holds it: messages in, posts out, and an end. No task and no thread of its own: whoever
//! awaits [`Sandbox::next`] drives both pipes.

use std::{
    collections::VecDeque, io, os::fd::OwnedFd, path::Path, path::PathBuf, process::Stdio,
    time::Duration,
};

use porthole_bridge::{
    Event, Request, Signal,
    limits::{CALL_WALL, LONG_CALL_WALL, POST_BYTES_PER_CALL, SANDBOX_RSS, STARTUP},
};
use tokio::{
    net::unix::pipe::{Receiver, Sender},
    process::{Child, Command},
    time::{Instant, sleep_until},
};

use super::{Artifact, UiFault, Walls, child::STALE, pipe, program};

/// Messages that may wait for the UI; one more means that it does not read.
const QUEUED: usize = 1_024;
/// Bytes that may wait for the UI; more means the same.
const QUEUED_BYTES: usize = 16 << 20;
/// Below these, [`Sandbox::has_room`] says so.
const ROOM: usize = 64;
const ROOM_BYTES: usize = 4 << 20;
/// How much longer than its deadline a call is waited for before its process is ended: the process itself says so first.
const SHORT_GRACE: Duration = Duration::from_millis(300);
/// The same for a call that may take long.
const GRACE: Duration = Duration::from_secs(2);
/// Memory is looked at after a call, at most this often.
const MEMORY_CHECK: Duration = Duration::from_secs(1);
/// Room in each pipe for a whole frame, so that neither side waits in the middle of one.
const PIPE_BYTES: usize = 256 << 10;

/// What a running UI does.
#[derive(Debug)]
pub enum SandboxEvent {
    /// It asks for something.
    Posted(Request),
    /// It runs no more; nothing follows.
    Ended(UiFault),
}

/// A running UI in its process. Dropping it ends the process.
#[derive(Debug)]
pub struct Sandbox {
    process: Child,
    to_ui: Sender,
    from_ui: Receiver,
    outbox: Vec<u8>,
    sent: usize,
    inbox: Vec<u8>,
    taken: usize,
    artifact: PathBuf,
    walls: Option<Walls>,
    /// The kinds of the calls that have not returned, oldest first.
    pending: VecDeque<u8>,
    /// Since when the oldest of them may be running.
    busy_since: Option<Instant>,
    /// Until when the UI must be loaded, or have drawn its first frame.
    startup: Option<Instant>,
    memory_checked: Instant,
    ended: Option<UiFault>,
}

impl Sandbox {
    /// Starts a UI in a process of its own. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`UiFault::SandboxFailed`] where the process cannot be started.
    pub fn spawn(artifact: Artifact) -> Result<Sandbox, UiFault> {
        Self::spawn_with(&program(), artifact)
    }

    /// [`Sandbox::spawn`] with another program as the child.
    ///
    /// # Errors
    /// As [`Sandbox::spawn`].
    pub fn spawn_with(program: &Path, artifact: Artifact) -> Result<Sandbox, UiFault> {
        start(program, artifact)
            .map_err(|error| UiFault::SandboxFailed(format!("its process: {}", error.kind())))
    }

    /// Returns which walls stand around the UI; known once it is loaded.
    pub fn walls(&self) -> Option<Walls> {
        self.walls
    }

    /// Returns the process that runs the UI; `None`: it has ended.
    pub fn process_id(&self) -> Option<u32> {
        self.process.id()
    }

    /// Says whether more should be sent that can wait: link frames, say. Input need not ask.
    pub fn has_room(&self) -> bool {
        self.pending.len() < ROOM && self.outbox.len() - self.sent < ROOM_BYTES
    }

    /// Hands a message to the UI. It never waits: what the pipe does not take now is queued and goes out while
    /// [`Sandbox::next`] is awaited. Nothing is merged or dropped.
    ///
    /// # Errors
    /// [`UiFault::Hung`] where 1,024 messages or 16 MiB already wait: the UI does not read, and is ended.
    /// [`UiFault::BrokeRules`] for a message over the limits of the bridge; the UI runs on.
    pub async fn send(&mut self, signal: &Signal) -> Result<(), UiFault> {
        if let Some(fault) = &self.ended {
            return Err(fault.clone());
        }
        let message = porthole_bridge::encode_signal(signal)
            .map_err(|error| UiFault::BrokeRules(error.to_string()))?;
        if self.pending.len() >= QUEUED
            || self.outbox.len() - self.sent + message.len() > QUEUED_BYTES
        {
            return Err(self.end(UiFault::Hung));
        }
        let now = Instant::now();
        let kind = match &signal.event {
            Event::Start(_) => {
                self.startup = Some(now + STARTUP);
                pipe::LONG_CALL
            }
            Event::SaveSnapshot => pipe::LONG_CALL,
            _ => pipe::CALL,
        };
        pipe::push(&mut self.outbox, kind, &message);
        self.pending.push_back(kind);
        self.busy_since.get_or_insert(now);
        self.flush();
        Ok(())
    }

    /// Returns the next thing the UI does. Cancelling it loses nothing.
    pub async fn next(&mut self) -> SandboxEvent {
        loop {
            if let Some(fault) = &self.ended {
                return SandboxEvent::Ended(fault.clone());
            }
            match self.take_frame() {
                Some(event) => return event,
                None => self.turn().await,
            }
        }
    }

    /// Waits until the UI is loaded and returns which walls stand around it. It has been told nothing by then.
    ///
    /// # Errors
    /// Why it was not loaded.
    pub async fn loaded(&mut self) -> Result<Walls, UiFault> {
        loop {
            if let Some(fault) = &self.ended {
                return Err(fault.clone());
            }
            if let Some(walls) = self.walls {
                return Ok(walls);
            }
            // Nothing can be posted before anything was sent; what comes all the same is from no UI.
            if self.take_frame().is_none() && self.walls.is_none() {
                self.turn().await;
            }
        }
    }

    /// Waits for one thing to happen and does it.
    async fn turn(&mut self) {
        let deadline = self.deadline();
        let waiting = self.sent < self.outbox.len();
        tokio::select! {
            biased;
            _ = self.from_ui.readable() => self.fill().await,
            _ = self.to_ui.writable(), if waiting => self.flush(),
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                self.end(UiFault::Hung);
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        // Until the UI is loaded, a call waits for that too.
        let short = self.walls.is_some() && self.pending.front() == Some(&pipe::CALL);
        let patience = match short {
            true => CALL_WALL + SHORT_GRACE,
            false => LONG_CALL_WALL + GRACE,
        };
        let call = self.busy_since.map(|since| since + patience);
        [self.startup, call].into_iter().flatten().min()
    }

    /// Reads what is there.
    async fn fill(&mut self) {
        self.inbox.drain(..self.taken);
        self.taken = 0;
        let held = self.inbox.len();
        self.inbox.resize(held + PIPE_BYTES, 0);
        let read = self.from_ui.try_read(&mut self.inbox[held..]);
        self.inbox.truncate(held + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => self.died().await,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => {
                self.end(UiFault::Crashed);
            }
        }
    }

    /// The process closed its pipe without a word.
    async fn died(&mut self) {
        let status = self.process.wait().await;
        let signalled = status.is_ok_and(|status| status.code().is_none());
        self.end(match self.walls {
            None if !signalled => UiFault::SandboxFailed("it ended at once".into()),
            _ => UiFault::Crashed,
        });
    }

    /// Writes what the pipe takes now. A closed pipe shows on the other one, with the reason.
    fn flush(&mut self) {
        while self.sent < self.outbox.len() {
            match self.to_ui.try_write(&self.outbox[self.sent..]) {
                Ok(written) => self.sent += written,
                Err(_) => break,
            }
        }
        if self.sent == self.outbox.len() || self.sent > QUEUED_BYTES {
            self.outbox.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Takes frames from what was read until one concerns the caller.
    fn take_frame(&mut self) -> Option<SandboxEvent> {
        loop {
            let rest = &self.inbox[self.taken..];
            let (head, rest) = rest.split_first_chunk::<{ pipe::HEAD }>()?;
            let (length, kind) = pipe::head(head);
            if length > POST_BYTES_PER_CALL {
                return Some(self.ended_by(UiFault::BrokeRules("an oversized message".into())));
            }
            let body = rest.get(..length)?;
            self.taken += pipe::HEAD + length;
            match kind {
                pipe::POST => {
                    let request = porthole_bridge::decode_request(body);
                    return Some(self.posted(request));
                }
                pipe::DONE => self.returned(),
                pipe::READY => {
                    self.walls = serde_json::from_slice(body).ok();
                    // What was sent before could not begin before now.
                    self.busy_since = self.busy_since.map(|_| Instant::now());
                    self.startup = self.startup.filter(|_| !self.pending.is_empty());
                }
                pipe::FAULT => {
                    let fault = match body.split_first() {
                        Some((kind, detail)) => UiFault::from_wire(*kind, detail),
                        None => UiFault::Crashed,
                    };
                    return Some(self.ended_by(fault));
                }
                _ => return Some(self.ended_by(UiFault::Crashed)),
            }
            if let Some(fault) = &self.ended {
                return Some(SandboxEvent::Ended(fault.clone()));
            }
        }
    }

    fn posted(&mut self, request: Result<Request, porthole_bridge::CodecError>) -> SandboxEvent {
        match request {
            Ok(request) => {
                if matches!(request, Request::Frame(_)) {
                    self.startup = None;
                }
                SandboxEvent::Posted(request)
            }
            Err(error) => self.ended_by(UiFault::BrokeRules(error.to_string())),
        }
    }

    /// A call returned.
    fn returned(&mut self) {
        let now = Instant::now();
        self.pending.pop_front();
        self.busy_since = (!self.pending.is_empty()).then_some(now);
        if now >= self.memory_checked + MEMORY_CHECK {
            self.memory_checked = now;
            if self.process.id().and_then(resident).unwrap_or(0) > SANDBOX_RSS {
                self.end(UiFault::OutOfMemory);
            }
        }
    }

    fn ended_by(&mut self, fault: UiFault) -> SandboxEvent {
        SandboxEvent::Ended(self.end(fault))
    }

    /// Ends the process; the first reason stands.
    fn end(&mut self, fault: UiFault) -> UiFault {
        let _ = self.process.start_kill();
        if matches!(&fault, UiFault::SandboxFailed(why) if why == STALE) {
            // Made for another launcher or damaged: the next start compiles anew.
            let _ = std::fs::remove_file(&self.artifact);
        }
        self.ended.get_or_insert(fault).clone()
    }
}

fn start(program: &Path, artifact: Artifact) -> io::Result<Sandbox> {
    let (child_in, to_ui) = io::pipe()?;
    let (from_ui, child_out) = io::pipe()?;
    let (to_ui, from_ui) = (OwnedFd::from(to_ui), OwnedFd::from(from_ui));
    enlarge(&to_ui);
    enlarge(&from_ui);
    let process = Command::new(program)
        .arg0("porthole")
        .arg("ui-sandbox")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(child_in))
        .stdout(Stdio::from(child_out))
        .stderr(Stdio::from(artifact.file))
        // Keys that the terminal turns into signals are for whoever is in the foreground, an editor say.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let now = Instant::now();
    Ok(Sandbox {
        process,
        to_ui: Sender::from_owned_fd(to_ui)?,
        from_ui: Receiver::from_owned_fd(from_ui)?,
        outbox: Vec::new(),
        sent: 0,
        inbox: Vec::new(),
        taken: 0,
        artifact: artifact.path,
        walls: None,
        pending: VecDeque::new(),
        busy_since: None,
        startup: Some(now + STARTUP),
        memory_checked: now,
        ended: None,
    })
}

/// Makes a pipe larger where that is possible; a small one is only slower.
#[cfg(target_os = "linux")]
fn enlarge(pipe: &OwnedFd) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
}

#[cfg(not(target_os = "linux"))]
fn enlarge(_: &OwnedFd) {}

/// Returns the resident memory of a process in bytes, where the system tells.
fn resident(process: u32) -> Option<usize> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: usize = stat.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size())
}
