//! One worker as a process: started, spoken with over its socketpair, ended. When it is started is decided elsewhere.

use std::{
    os::{fd::OwnedFd, unix::net::UnixStream as StdStream},
    path::PathBuf,
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::extract::ws::Utf8Bytes;
use porthole_protocol::SessionId;
use porthole_worker::wire::{self, FromWorker, Open, ToWorker};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    process::{Child, Command},
    sync::mpsc,
};

use crate::{
    diagnostics::{Capture, worker_source},
    server::Server,
    switchboard::Input,
};

/// How a worker is started: a program that finds its socket as standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerProgram {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How long it may take until it is ready.
    pub start_bound: Duration,
}

/// How long a worker may take from being told to stop.
const STOP_BOUND: Duration = Duration::from_secs(3);
/// How much of what it wrote to standard error is kept, in characters.
const STDERR_CHARS: usize = 4_000;
/// How long a worker's standard error may stay open after its end, held by what it started.
const STDERR_BOUND: Duration = Duration::from_secs(1);

impl WorkerProgram {
    /// Returns this program itself.
    ///
    /// # Errors
    /// Where it cannot be found any more.
    pub fn this() -> std::io::Result<Self> {
        Ok(Self {
            program: std::env::current_exe()?,
            arguments: vec!["worker".to_owned()],
            start_bound: Duration::from_secs(60),
        })
    }

    fn spawn(&self) -> std::io::Result<(Child, UnixStream)> {
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        Ok((child, UnixStream::from_std(ours)?))
    }
}

/// The way to a worker that lives.
pub struct WorkerHandle {
    generation: u64,
    messages: mpsc::UnboundedSender<Box<ToWorker>>,
}

impl WorkerHandle {
    /// Says something to it; what comes too late is lost with the worker.
    pub fn tell(&self, message: Box<ToWorker>) {
        let _ = self.messages.send(message);
    }

    /// Returns which life it is.
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

/// Starts a worker and a task that stays with it to its end.
///
/// # Errors
/// Where the process cannot be started.
pub fn start(
    server: &Arc<Server>,
    program: &WorkerProgram,
    open: Open,
) -> std::io::Result<WorkerHandle> {
    let (child, socket) = program.spawn()?;
    let (messages, receiver) = mpsc::unbounded_channel();
    let handle = WorkerHandle {
        generation: open.generation,
        messages,
    };
    handle.tell(Box::new(ToWorker::Open(Box::new(open.clone()))));
    let life = Life {
        server: server.clone(),
        session: open.session,
        generation: open.generation,
        start_bound: program.start_bound,
    };
    tokio::spawn(life.run(child, socket, receiver));
    Ok(handle)
}

/// What stays the same from a worker's start to its end.
struct Life {
    server: Arc<Server>,
    session: SessionId,
    generation: u64,
    start_bound: Duration,
}

impl Life {
    async fn run(
        self,
        mut child: Child,
        socket: UnixStream,
        messages: mpsc::UnboundedReceiver<Box<ToWorker>>,
    ) {
        let born = Instant::now();
        let stderr = child.stderr.take().map(|stderr| {
            let capture = Capture::new(
                self.server.data(),
                worker_source(&self.session),
                self.server.redaction().clone(),
            );
            tokio::spawn(capture.run(stderr))
        });
        let (reader, writer) = socket.into_split();
        let end = tokio::select! {
            end = self.read(reader) => end,
            end = write(writer, messages) => end,
        };
        let pid = child.id();
        let reason = end_process(&mut child, &end).await;
        end_commands(pid).await;
        let capture = match stderr {
            Some(task) => tokio::time::timeout(STDERR_BOUND, task)
                .await
                .ok()
                .and_then(Result::ok),
            None => None,
        };
        let reason = match capture {
            Some(mut capture) => {
                let tail = shown(&capture.tail(STDERR_CHARS));
                capture.note(&format!("life {} is over: {reason}", self.generation));
                with_tail(reason, &tail)
            }
            None => reason,
        };
        tracing::info!(session = %self.session, generation = self.generation, "worker gone: {reason}");
        self.server
            .worker_gone(&self.session, self.generation, reason, born.elapsed());
    }

    /// Reads until the worker is gone; the start bound ends with the first message.
    async fn read(&self, mut reader: OwnedReadHalf) -> End {
        let mut buffer = Vec::with_capacity(64 << 10);
        let mut heard = false;
        loop {
            let read = reader.read_buf(&mut buffer);
            let read = match heard {
                true => read.await,
                false => match tokio::time::timeout(self.start_bound, read).await {
                    Ok(read) => read,
                    Err(_) => return End::NotReady(self.start_bound),
                },
            };
            match read {
                Ok(0) | Err(_) => return End::Closed,
                Ok(_) => {}
            }
            match self.take(&mut buffer) {
                Ok(messages) => heard |= messages > 0,
                Err(_) => return End::Malformed,
            }
        }
    }

    /// Takes every whole message out of the buffer; returns how many.
    fn take(&self, buffer: &mut Vec<u8>) -> Result<usize, wire::WireError> {
        let (mut at, mut count) = (0, 0);
        while let Some((message, body, len)) = wire::decode::<FromWorker>(&buffer[at..])? {
            let body = Utf8Bytes::try_from(body).map_err(|_| wire::WireError::Malformed)?;
            self.server.handle(Input::Worker {
                session: self.session.clone(),
                generation: self.generation,
                message: Box::new(message),
                body,
            });
            at += len;
            count += 1;
        }
        buffer.drain(..at);
        if buffer.is_empty() && buffer.capacity() > 1 << 20 {
            *buffer = Vec::with_capacity(64 << 10);
        }
        Ok(count)
    }
}

/// How the conversation with a worker ended.
enum End {
    Closed,
    Malformed,
    NotReady(Duration),
    StopOverdue,
}

/// Writes what is to be said; once that was to stop, it waits only so long for the other end to close.
async fn write(
    mut writer: OwnedWriteHalf,
    mut messages: mpsc::UnboundedReceiver<Box<ToWorker>>,
) -> End {
    while let Some(message) = messages.recv().await {
        let stop = *message == ToWorker::Stop;
        let written = match wire::encode(&*message, &[]) {
            Ok(bytes) => writer.write_all(&bytes).await.is_ok(),
            Err(_) => return End::Malformed,
        };
        if stop {
            tokio::time::sleep(STOP_BOUND).await;
            return End::StopOverdue;
        }
        if !written {
            break;
        }
    }
    // The reader sees the end; until then nothing more can be said.
    std::future::pending().await
}

/// Waits a moment for the process to end by itself, then ends it with all of its group.
async fn end_process(child: &mut Child, end: &End) -> String {
    let patience = match end {
        End::Closed => Duration::from_secs(1),
        End::Malformed | End::NotReady(_) | End::StopOverdue => Duration::ZERO,
    };
    let pid = child.id();
    let status = tokio::time::timeout(patience, child.wait()).await;
    if status.is_err() {
        if let Some(pid) = pid.and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed())) {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
        let _ = child.kill().await;
    }
    match (end, status) {
        (End::Malformed, _) => "the worker spoke out of turn".to_owned(),
        (End::NotReady(bound), _) => {
            format!("the worker was not ready within {} s", bound.as_secs())
        }
        (End::StopOverdue, _) => "the worker did not stop in time".to_owned(),
        (End::Closed, Ok(Ok(status))) => format!("the worker ended ({status})"),
        (End::Closed, _) => "the worker ended".to_owned(),
    }
}

/// No command outlives its worker, however that ended.
async fn end_commands(worker: Option<u32>) {
    let Some(worker) = worker else { return };
    let killed = tokio::task::spawn_blocking(move || porthole_env::kill_commands_of(worker)).await;
    if let Ok(count @ 1..) = killed {
        tracing::warn!("killed {count} processes of commands whose worker is gone");
    }
}

/// It is shown to people: nothing in it may steer a terminal.
fn shown(text: &str) -> String {
    let shown = |c: char| if c.is_control() && c != '\n' { '?' } else { c };
    text.chars().map(shown).collect()
}

fn with_tail(reason: String, tail: &str) -> String {
    match tail.trim() {
        "" => reason,
        tail => format!("{reason}: {tail}"),
    }
}
