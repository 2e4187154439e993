//! Tries the whole sandbox with the smallest bundle there is, and then tries to break out, for `porthole doctor`.
//! It asks no server for anything.

use std::{io, path::Path, process::Stdio, time::Duration};

use porthole_bridge::ABI;
use porthole_door::Manifest;
use serde::Serialize;
use tokio::{io::AsyncReadExt as _, process::Command};

use super::{
    Sandbox, UiFault, Walls,
    attempts::{Attempt, Wall},
    compiler, program,
};
use crate::bundle::{BundleError, VerifiedBundle, sha256_hex};

/// A module with the four exports of a bundle, which do nothing. By sections: header, types, functions, memory,
/// exports, code.
const BUNDLE: &[u8] = b"\0asm\x01\0\0\0\
    \x01\x0f\x03\x60\x00\x01\x7f\x60\x01\x7f\x01\x7f\x60\x02\x7f\x7f\x00\
    \x03\x04\x03\x00\x01\x02\
    \x05\x03\x01\x00\x01\
    \x07\x2a\x04\x06memory\x02\x00\x06ui_abi\x00\x00\x08ui_alloc\x00\x01\x09ui_handle\x00\x02\
    \x0a\x0e\x03\x04\x00\x41\x01\x0b\x04\x00\x41\x00\x0b\x02\x00\x0b";

/// Longest time that trying to break out may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most that a process says of what it tried.
const REPORT_BYTES: u64 = 64 << 10;

/// What was found out about the walls.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// Which walls stand around a UI.
    pub walls: Walls,
    /// Every way out that was tried, from the process of a UI and from the one that compiles.
    pub tried: Vec<Attempt>,
}

/// Compiles and loads a bundle that does nothing, and tries to break out of the walls around it.
///
/// # Errors
/// What keeps any UI from running here.
pub async fn check(cache_dir: &Path) -> Result<Standing, UiFault> {
    check_with(&program(), cache_dir).await
}

/// [`check`] with another program as the children.
///
/// # Errors
/// As [`check`].
pub async fn check_with(program: &Path, cache_dir: &Path) -> Result<Standing, UiFault> {
    let manifest = Manifest {
        name: "probe".into(),
        version: "0".into(),
        abi: ABI,
        sha256: sha256_hex(BUNDLE),
        bytes: BUNDLE.len() as u64,
    };
    let bundle =
        VerifiedBundle::verify(&manifest, BUNDLE.to_vec()).map_err(|error| match error {
            BundleError::Refused(fault) => fault,
            other => UiFault::SandboxFailed(other.to_string()),
        })?;
    let artifact = compiler::compile_with(program, bundle, cache_dir, "probe").await?;
    let walls = Sandbox::spawn_with(program, artifact)?.loaded().await?;
    let mut tried = Vec::new();
    for purpose in ["run", "compile"] {
        tried.extend(attempts(program, purpose).await?);
    }
    Ok(Standing { walls, tried })
}

/// Returns what a process that has raised its walls could not do, and what it could.
async fn attempts(program: &Path, purpose: &str) -> Result<Vec<Attempt>, UiFault> {
    let unknown = |_| UiFault::SandboxFailed("trying to break out of it".into());
    let report = tokio::time::timeout(PATIENCE, report(program, purpose)).await;
    let report = report.map_err(|_| unknown(()))?.map_err(|_| unknown(()))?;
    let mut tried: Vec<Attempt> = report
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    // Whatever got so far through that the rest of the report is missing.
    if tried.pop_if(|last| last.wall == Wall::End).is_none() {
        tried.push(Attempt {
            wall: Wall::Calls,
            what: "something that ended the report".into(),
            held: false,
        });
    }
    Ok(tried)
}

async fn report(program: &Path, purpose: &str) -> io::Result<String> {
    let mut child = Command::new(program)
        .arg0("porthole")
        .args(["ui-attempts", purpose])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let mut text = String::new();
    if let Some(out) = child.stdout.take() {
        out.take(REPORT_BYTES).read_to_string(&mut text).await?;
    }
    child.wait().await?;
    Ok(text)
}
