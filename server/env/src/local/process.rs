//! One command: started, read, ended. It keeps no output.

use std::{
    ffi::OsStr,
    io,
    os::fd::OwnedFd,
    os::unix::process::ExitStatusExt,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    net::unix::pipe,
    process::Child,
    sync::{mpsc, oneshot, watch},
    time::{sleep, timeout},
};

use super::group::{Group, Left};
use crate::{Command, Ended, EnvError, ErrorKind, Exit};

/// How long output may go on to arrive after the command ended, while others hold its pipe.
const OUTPUT_GRACE: Duration = Duration::from_millis(200);
/// How long a killed command may take to be reaped.
const REAP_GRACE: Duration = Duration::from_secs(1);
/// Bytes of one piece of output.
const PIECE: usize = 256 << 10;
/// Bytes that a command can be ahead, where the system lets a pipe hold so many.
#[cfg(target_os = "linux")]
const PIPE: usize = 1 << 20;

pub(super) async fn exec(
    command: Command,
    output: mpsc::Sender<Vec<u8>>,
    stop: watch::Receiver<bool>,
    left: &Left,
) -> Result<Exit, EnvError> {
    let mut running = Running::start(&command, output)?;
    let (ended, status) = running.until_end(command.timeout, stop).await?;
    running.finish_output().await;
    let alive = running.group.alive();
    let group = running.disarm();
    if !alive.is_empty() {
        left.keep(group);
    }
    Ok(Exit {
        ended,
        status: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
        left: alive
            .iter()
            .map(|pid| pid.as_raw_nonzero().get().unsigned_abs())
            .collect(),
    })
}

/// A command that runs. Dropping it kills its group.
struct Running {
    child: Child,
    group: Group,
    armed: bool,
    enough: Option<oneshot::Sender<()>>,
    pump: Option<oneshot::Receiver<()>>,
}

impl Running {
    fn start(command: &Command, output: mpsc::Sender<Vec<u8>>) -> Result<Self, EnvError> {
        let (reader, writer) = io::pipe()?;
        widen(&reader);
        let mut group = Group::new();
        let child = spawn(command, &group, writer)?;
        if let Some(pid) = child.id() {
            group.led_by(pid);
        }
        let reader = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let (enough, told) = oneshot::channel();
        let (done, pump) = oneshot::channel();
        drop(tokio::spawn(pump_output(reader, output, told, done)));
        Ok(Self {
            child,
            group,
            armed: true,
            enough: Some(enough),
            pump: Some(pump),
        })
    }

    async fn until_end(
        &mut self,
        time: Duration,
        mut stop: watch::Receiver<bool>,
    ) -> Result<(Ended, Option<ExitStatus>), EnvError> {
        let ended = tokio::select! {
            biased;
            () = stopped(&mut stop) => Ended::Stopped,
            status = self.child.wait() => return Ok((Ended::Itself, Some(status?))),
            () = sleep(time) => Ended::TimedOut,
        };
        // Reaped meanwhile, else the leader would count as alive only because nobody waited for it.
        let (_, status) =
            tokio::join!(self.group.end(), timeout(REAP_GRACE * 4, self.child.wait()));
        Ok((ended, status.ok().and_then(Result::ok)))
    }

    /// Waits until everything that was written before the end went out.
    async fn finish_output(&mut self) {
        let Some(mut pump) = self.pump.take() else {
            return;
        };
        if timeout(OUTPUT_GRACE, &mut pump).await.is_err() {
            drop(self.enough.take());
            let _ = pump.await;
        }
    }

    fn disarm(mut self) -> Group {
        self.armed = false;
        self.group.clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.armed {
            self.group.kill();
        }
    }
}

/// Lets a pipe hold more, so that a command that prints much waits less often. A refusal changes nothing but the speed.
#[cfg(target_os = "linux")]
fn widen(pipe: &io::PipeReader) {
    let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE);
}

#[cfg(not(target_os = "linux"))]
fn widen(_pipe: &io::PipeReader) {}

fn spawn(command: &Command, group: &Group, writer: io::PipeWriter) -> Result<Child, EnvError> {
    let (mark, value) = group.variable();
    let mut process = tokio::process::Command::new(shell());
    process
        .arg("-c")
        .arg(&command.line)
        .current_dir(&command.cwd)
        .env_clear()
        .envs(command.variables.iter().map(|(name, value)| (name, value)))
        .env(mark, OsStr::new(value))
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    own_session(&mut process);
    process
        .spawn()
        .map_err(|error| not_started(command, &error))
}

/// A session of its own has no terminal: what asks on `/dev/tty` fails at once instead of waiting. Where the system can,
/// the shell dies with who started it.
pub(super) fn own_session(process: &mut tokio::process::Command) {
    let lead = || {
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        rustix::process::setsid().map(drop).map_err(io::Error::from)
    };
    #[expect(
        unsafe_code,
        reason = "runs between fork and exec; two system calls, no allocation, no lock"
    )]
    // SAFETY: `prctl` and `setsid` are async-signal-safe, and the closure does nothing else.
    unsafe {
        process.pre_exec(lead);
    }
}

fn shell() -> &'static str {
    ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists())
        .unwrap_or("/bin/sh")
}

fn not_started(command: &Command, error: &io::Error) -> EnvError {
    if !command.cwd.is_dir() {
        return EnvError::new(
            ErrorKind::NotFolder,
            format!("the folder `{}` is not there", command.cwd.display()),
        );
    }
    match error.kind() {
        io::ErrorKind::ArgumentListTooLong => {
            EnvError::new(ErrorKind::TooLarge, "the command line is too long")
        }
        io::ErrorKind::InvalidInput => {
            EnvError::new(ErrorKind::Invalid, "the command line holds a NUL byte")
        }
        _ => EnvError::new(
            ErrorKind::Other,
            format!("the shell could not be started: {error}"),
        ),
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        // Nobody is left who could stop it.
        std::future::pending::<()>().await;
    }
}

/// Sends on what comes out of the pipe until it ends or `enough`; then reads what is still in the pipe, tells `done`
/// and goes on to read without keeping: a process that was left running shall not end by a broken pipe.
async fn pump_output(
    mut reader: pipe::Receiver,
    output: mpsc::Sender<Vec<u8>>,
    mut enough: oneshot::Receiver<()>,
    done: oneshot::Sender<()>,
) {
    let mut piece = vec![0; PIECE];
    let open = loop {
        tokio::select! {
            biased;
            _ = &mut enough => break true,
            read = reader.read(&mut piece) => match read {
                Ok(0) | Err(_) => break false,
                Ok(len) => if output.send(piece[..len].to_vec()).await.is_err() { break true },
            },
        }
    };
    if open && let Ok(len) = reader.try_read(&mut piece) {
        let _ = output.send(piece[..len].to_vec()).await;
    }
    drop(output);
    let _ = done.send(());
    if open {
        while matches!(reader.read(&mut piece).await, Ok(len) if len > 0) {}
    }
}
