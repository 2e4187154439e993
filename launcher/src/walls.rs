//! Which walls really stand here: seen by running the smallest possible UI in a real sandbox process.
//! For reports only; a UI's own process raises its walls itself.

use std::{path::Path, time::Duration};

use porthole_door::Manifest;

use crate::{
    bundle::{VerifiedBundle, sha256_hex},
    sandbox::{self, Sandbox, Walls},
};

/// Longest time that the look may take.
const PATIENCE: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(20);
/// An origin that no server can have.
const NOBODY: &str = "porthole:doctor";

/// A module with a page of memory, `ui_abi() -> 1`, `ui_alloc(_) -> 0` and a `ui_handle` that does nothing.
const SMALLEST: &[u8] = b"\0asm\x01\0\0\0\
    \x01\x0f\x03\x60\x00\x01\x7f\x60\x01\x7f\x01\x7f\x60\x02\x7f\x7f\x00\
    \x03\x04\x03\x00\x01\x02\
    \x05\x03\x01\x00\x01\
    \x07\x2a\x04\x06memory\x02\x00\x06ui_abi\x00\x00\x08ui_alloc\x00\x01\x09ui_handle\x00\x02\
    \x0a\x0e\x03\x04\x00\x41\x01\x0b\x04\x00\x41\x00\x0b\x02\x00\x0b";

/// Returns the walls around a UI's process on this computer; `None` where no such process could be run.
pub(crate) fn probe(cache: &Path) -> Option<Walls> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()?;
    runtime.block_on(async { tokio::time::timeout(PATIENCE, look(cache)).await.ok()? })
}

async fn look(cache: &Path) -> Option<Walls> {
    let sha256 = sha256_hex(SMALLEST);
    let artifact = match sandbox::artifact(cache, NOBODY, &sha256).await {
        Some(artifact) => artifact,
        None => sandbox::compile(smallest(sha256)?, cache, NOBODY)
            .await
            .ok()?,
    };
    let mut ui = Sandbox::spawn(artifact).ok()?;
    loop {
        // It posts nothing; whatever ends it ends the look as well.
        if tokio::time::timeout(STEP, ui.next()).await.is_ok() {
            return None;
        }
        if let Some(walls) = ui.walls() {
            return Some(walls);
        }
    }
}

fn smallest(sha256: String) -> Option<VerifiedBundle> {
    let manifest = Manifest {
        name: "doctor".into(),
        version: "0".into(),
        abi: porthole_bridge::ABI,
        sha256,
        bytes: SMALLEST.len() as u64,
    };
    VerifiedBundle::verify(&manifest, SMALLEST.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_module_is_a_bundle_like_any_other() {
        assert!(smallest(sha256_hex(SMALLEST)).is_some());
    }
}
