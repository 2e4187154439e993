//! Tries the whole sandbox with the smallest bundle there is, for `porthole doctor`. It asks no server for anything.

use std::path::Path;

use porthole_bridge::ABI;
use porthole_door::Manifest;

use super::{Sandbox, UiFault, Walls, compiler, program};
use crate::bundle::{BundleError, VerifiedBundle, sha256_hex};

/// A module with the four exports of a bundle, which do nothing. By sections: header, types, functions, memory,
/// exports, code.
const BUNDLE: &[u8] = b"\0asm\x01\0\0\0\
    \x01\x0f\x03\x60\x00\x01\x7f\x60\x01\x7f\x01\x7f\x60\x02\x7f\x7f\x00\
    \x03\x04\x03\x00\x01\x02\
    \x05\x03\x01\x00\x01\
    \x07\x2a\x04\x06memory\x02\x00\x06ui_abi\x00\x00\x08ui_alloc\x00\x01\x09ui_handle\x00\x02\
    \x0a\x0e\x03\x04\x00\x41\x01\x0b\x04\x00\x41\x00\x0b\x02\x00\x0b";

/// Compiles and loads a bundle that does nothing, and returns which walls stand around it.
///
/// # Errors
/// What keeps any UI from running here.
pub async fn check(cache_dir: &Path) -> Result<Walls, UiFault> {
    check_with(&program(), cache_dir).await
}

/// [`check`] with another program as the children.
///
/// # Errors
/// As [`check`].
pub async fn check_with(program: &Path, cache_dir: &Path) -> Result<Walls, UiFault> {
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
    Sandbox::spawn_with(program, artifact)?.loaded().await
}
