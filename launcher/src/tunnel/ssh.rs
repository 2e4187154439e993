//! One ssh program: its arguments, its shell at the other end, what it says. It is killed when this is dropped, and nothing else is.
//! Nothing secret is ever among the arguments: commands go in, and links come out, through the pipes.

use std::{
    io,
    process::{ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use ring::rand::{SecureRandom, SystemRandom};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::{
    escape,
    failure::Failure,
    surroundings::{self, var},
};

/// Longest output of one command at the other end, in bytes.
const OUTPUT_BYTES: usize = 1 << 20;
/// Longest line that the ssh program says on its error output and that is kept, in bytes.
const SAID_BYTES: u64 = 512;
const SAID_COLUMNS: usize = 160;

/// Whether the ssh program may ask on the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prompts {
    /// The terminal is in its usual mode, and somebody looks at it.
    Yes,
    /// The screen belongs to a UI.
    No,
}

/// Why the ssh program was of no use.
#[derive(Debug, thiserror::Error)]
pub(super) enum SshError {
    /// It is not on this computer.
    #[error("the `ssh` program is not on this computer")]
    NoProgram,
    /// It could not be started or spoken to.
    #[error("the `ssh` program cannot be used: {0}")]
    Io(#[from] io::Error),
    /// It ended; what it said last.
    #[error("{0}")]
    Ended(String),
    /// There is no server program at the other end.
    #[error("`portholed` is not installed there")]
    NoServer,
    /// A command at the other end failed; what it said.
    #[error("{0}")]
    Command(String),
    /// The other end says what cannot be read.
    #[error("the other end answers with something that is no answer")]
    Confused,
}

impl SshError {
    /// Returns the sentence about `host`.
    pub(super) fn told(&self, host: &str) -> String {
        format!("ssh to `{}`: {self}", escape::visible_cut(host, 60))
    }

    pub(super) fn to_failure(&self, host: &str) -> Failure {
        let hint = match self {
            Self::NoProgram => "install OpenSSH's client",
            Self::NoServer => {
                "put `portholed` there into the PATH, `~/.local/bin` or `~/.cargo/bin`"
            }
            Self::Io(_) | Self::Ended(_) | Self::Confused => {
                "run `ssh` with the same host by hand to see what it says"
            }
            Self::Command(_) => "log in there and run `portholed status`",
        };
        Failure::new(self.told(host), hint)
    }
}

/// Refuses what the ssh program would take for an option or several words.
pub(super) fn check_host(host: &str) -> Result<(), Failure> {
    let odd = |c: char| c.is_whitespace() || c.is_control();
    match host.is_empty() || host.starts_with('-') || host.contains(odd) {
        true => Err(Failure::usage(
            "this is no host for ssh",
            "a host looks like `box.example`, `me@box` or a name from `~/.ssh/config`",
        )),
        false => Ok(()),
    }
}

/// Returns the arguments: one connection of our own, one forwarded port, a plain shell at the other end.
fn arguments(host: &str, local: u16, remote: u16, prompts: Prompts) -> Vec<String> {
    let forward = format!("127.0.0.1:{local}:127.0.0.1:{remote}");
    let batch = match prompts {
        Prompts::Yes => "BatchMode=no",
        Prompts::No => "BatchMode=yes",
    };
    // Without a shared connection, what is forwarded ends with this program.
    let words = [
        "-T",
        "-a",
        "-x",
        "-S",
        "none",
        "-o",
        "ControlMaster=no",
        "-o",
        batch,
        "-o",
        "ExitOnForwardFailure=yes",
        "-L",
        &forward,
        "--",
        host,
        "sh",
    ];
    words.map(str::to_owned).to_vec()
}

/// A running ssh program with a shell at the other end.
pub(super) struct Ssh {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    said: Arc<Said>,
    mark: String,
}

/// What it says on its error output.
#[derive(Default)]
struct Said {
    hushed: AtomicBool,
    last: Mutex<String>,
}

impl Ssh {
    pub(super) fn start(
        host: &str,
        local: u16,
        remote: u16,
        prompts: Prompts,
    ) -> Result<Self, SshError> {
        let mut child = Command::new("ssh")
            .args(arguments(host, local, remote, prompts))
            .env_clear()
            .envs(surroundings::for_ssh(var))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => SshError::NoProgram,
                _ => SshError::Io(error),
            })?;
        let missing = || SshError::Io(io::ErrorKind::BrokenPipe.into());
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let said = Arc::new(Said::default());
        said.hushed.store(prompts == Prompts::No, Ordering::Relaxed);
        tokio::spawn(listen(stderr, Arc::clone(&said)));
        Ok(Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
            said,
            mark: mark()?,
        })
    }

    /// Shows nothing more of what it says.
    pub(super) fn hush(&self) {
        self.said.hushed.store(true, Ordering::Relaxed);
    }

    /// Returns whether it still runs.
    pub(super) fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Runs a command of the shell at the other end; returns its status and everything that it printed.
    pub(super) async fn run(&mut self, command: &str) -> Result<(u8, String), SshError> {
        let line = format!(
            "{{ {command}\n}} </dev/null 2>&1; s=$?; echo; echo \"{} $s\"\n",
            self.mark
        );
        if self.stdin.write_all(line.as_bytes()).await.is_err() {
            return Err(self.ended().await);
        }
        let (mut output, mut read) = (Vec::new(), Vec::new());
        loop {
            read.clear();
            let room = (OUTPUT_BYTES - output.len()) as u64;
            let mut bounded = (&mut self.stdout).take(room.max(1));
            match bounded.read_until(b'\n', &mut read).await {
                Ok(1..) if room > 0 => {}
                Ok(1..) => return Err(SshError::Confused),
                Ok(0) | Err(_) => return Err(self.ended().await),
            }
            let text = String::from_utf8_lossy(&read);
            if let Some(status) = text.trim_end().strip_prefix(&self.mark) {
                let status = status.trim().parse().map_err(|_| SshError::Confused)?;
                let output = String::from_utf8_lossy(&output);
                return Ok((status, output.trim().to_owned()));
            }
            output.extend_from_slice(&read);
        }
    }

    async fn ended(&mut self) -> SshError {
        let status = self.child.wait().await.ok();
        let last = self
            .said
            .last
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match last.is_empty() {
            false => SshError::Ended(last),
            true => SshError::Ended(format!("it ended{}", words_of(status))),
        }
    }
}

fn words_of(status: Option<ExitStatus>) -> String {
    let code = status.and_then(|status| status.code());
    code.map(|code| format!(" with status {code}"))
        .unwrap_or_default()
}

/// A line that nothing at the other end prints by itself.
fn mark() -> Result<String, SshError> {
    let mut bytes = [0; 12];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| io::Error::other("this computer gives no random numbers"))?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("porthole-{hex}"))
}

/// Shows what the ssh program says while that may be shown, and keeps its last line.
async fn listen(stderr: impl AsyncRead + Unpin, said: Arc<Said>) {
    let mut stderr = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        let mut bounded = (&mut stderr).take(SAID_BYTES);
        if !matches!(bounded.read_until(b'\n', &mut line).await, Ok(1..)) {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        let text = escape::visible_cut(text.trim_end(), SAID_COLUMNS);
        if text.is_empty() {
            continue;
        }
        if !said.hushed.load(Ordering::Relaxed) {
            crate::note(&text);
        }
        *said.last.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_ssh_would_take_for_an_option_is_refused() {
        for bad in ["", "-oProxyCommand=x", "a b", "a\nb", "\u{1b}[31m"] {
            assert_eq!(check_host(bad).expect_err(bad).status, 2);
        }
        for good in ["box", "me@box.example", "::1", "ssh://me@box:2222"] {
            assert!(check_host(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn the_arguments_share_no_connection_and_name_the_host_last() {
        let quiet = arguments("box", 5000, 7420, Prompts::No).join(" ");
        assert!(
            quiet.ends_with("-L 127.0.0.1:5000:127.0.0.1:7420 -- box sh"),
            "{quiet}"
        );
        assert!(
            quiet.contains("-S none") && quiet.contains("BatchMode=yes"),
            "{quiet}"
        );
        assert!(arguments("box", 1, 2, Prompts::Yes).contains(&"BatchMode=no".to_owned()));
    }
}
