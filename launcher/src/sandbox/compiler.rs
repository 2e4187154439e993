//! The launcher's side of compiling: a one-shot process gets the bundle and returns code, or is ended.
//! The code is stored unread.

use std::{path::Path, process::Stdio, time::Duration};

use porthole_bridge::limits::CODE_BYTES;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, Command},
};

use super::{Artifact, Effort, UiFault, cache, compile::QUICK, program};
use crate::bundle::VerifiedBundle;

/// How long compiling may take by the clock.
const WALL: Duration = Duration::from_secs(60);
/// Threads that compile: each costs memory under the process's limit. Behind a running UI one is enough.
const THREADS: &str = "4";
const BEHIND: &str = "1";

/// Compiles a bundle in a process of its own and keeps the result.
///
/// # Errors
/// [`UiFault::TooLarge`] where it takes more time, memory or room than allowed; what the compiler said of the module.
pub async fn compile(
    bundle: &VerifiedBundle,
    effort: Effort,
    cache_dir: &Path,
    origin: &str,
) -> Result<Artifact, UiFault> {
    compile_by(&program(), bundle, effort, cache_dir, origin).await
}

/// [`compile`], thoroughly, with another program as the child.
///
/// # Errors
/// As [`compile`].
pub async fn compile_with(
    program: &Path,
    bundle: VerifiedBundle,
    cache_dir: &Path,
    origin: &str,
) -> Result<Artifact, UiFault> {
    compile_by(program, &bundle, Effort::Thorough, cache_dir, origin).await
}

/// [`compile`] with another program as the child.
///
/// # Errors
/// As [`compile`].
pub async fn compile_by(
    program: &Path,
    bundle: &VerifiedBundle,
    effort: Effort,
    cache_dir: &Path,
    origin: &str,
) -> Result<Artifact, UiFault> {
    let mut command = Command::new(program);
    command.arg0("porthole").arg("ui-compile");
    let threads = match effort {
        Effort::Quick => THREADS,
        Effort::Thorough => BEHIND,
    };
    if effort == Effort::Quick {
        command.arg(QUICK);
    }
    let mut child = command
        .env_clear()
        .env("RAYON_NUM_THREADS", threads)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| UiFault::SandboxFailed(error.kind().to_string()))?;
    let Ok(answer) = tokio::time::timeout(WALL, exchange(&mut child, bundle.bytes())).await else {
        return Err(UiFault::TooLarge);
    };
    match answer.split_first() {
        Some((0, code)) if code.len() <= CODE_BYTES => {
            cache::store(cache_dir, origin, bundle.sha256(), effort, code)
        }
        Some((kind, detail)) if *kind != 0 => Err(UiFault::from_wire(*kind, detail)),
        // Ended by a limit before it could answer, or too much code.
        _ => Err(UiFault::TooLarge),
    }
}

/// Hands the bundle over and returns all that comes back, bounded. An error on the way shows as an answer cut short.
async fn exchange(child: &mut Child, bundle: &[u8]) -> Vec<u8> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let mut answer = Vec::new();
    let write = async {
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(bundle).await;
        }
    };
    let read = async {
        if let Some(stdout) = stdout {
            let bound = CODE_BYTES as u64 + 2;
            let _ = stdout.take(bound).read_to_end(&mut answer).await;
        }
    };
    tokio::join!(write, read);
    match child.wait().await {
        Ok(status) if status.success() => answer,
        _ => Vec::new(),
    }
}
