//! A program that runs beside a session and is talked to over its pipes. It reads nothing of what the program says.

use std::{ffi::OsString, io, path::Path, process::Stdio};

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::{group::Group, process::own_session};

/// A program that runs. Dropping it kills it and everything that it started.
pub struct Beside {
    group: Group,
    /// Reaped when it ends.
    _child: Child,
    pipes: Option<Pipes>,
}

/// What a program reads and writes.
pub struct Pipes {
    /// What it reads.
    pub stdin: ChildStdin,
    /// What it writes.
    pub stdout: ChildStdout,
    /// What it says on the side.
    pub stderr: ChildStderr,
}

impl Beside {
    /// Starts a program in a folder, with these variables and no others.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(
        program: &str,
        arguments: &[String],
        cwd: &Path,
        variables: &[(OsString, OsString)],
    ) -> io::Result<Self> {
        let mut group = Group::new();
        let (mark, value) = group.variable();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(cwd)
            .env_clear()
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env(mark, value)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        own_session(&mut command);
        let mut child = command.spawn()?;
        if let Some(pid) = child.id() {
            group.led_by(pid);
        }
        let pipes = match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(stdin), Some(stdout), Some(stderr)) => Some(Pipes {
                stdin,
                stdout,
                stderr,
            }),
            _ => None,
        };
        Ok(Self {
            group,
            _child: child,
            pipes,
        })
    }

    /// Returns its pipes, the first time.
    pub fn pipes(&mut self) -> Option<Pipes> {
        self.pipes.take()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.group.kill();
    }
}
