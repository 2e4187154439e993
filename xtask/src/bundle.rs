//! Building the UI bundle: the wasm target, the module, and the manifest beside it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use ring::digest;
use serde_json::json;

use crate::cargo;

const TARGET: &str = "wasm32-unknown-unknown";

/// Builds the bundle and returns its folder.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    ensure_target()?;
    cargo::say("building the UI bundle");
    cargo::cargo(&[
        "build",
        "--package",
        "porthole-ui",
        "--lib",
        "--target",
        TARGET,
        "--profile",
        "wasm",
    ])?;
    let built = cargo::target().join(TARGET).join("wasm/porthole_ui.wasm");
    let folder = cargo::target().join("bundle");
    write(&built, &folder)?;
    Ok(folder)
}

/// Adds the wasm target where it is missing.
fn ensure_target() -> anyhow::Result<()> {
    let sysroot = cargo::output(
        Command::new("rustc")
            .args(["--print", "sysroot"])
            .current_dir(cargo::root()),
    )?;
    if Path::new(&sysroot)
        .join("lib/rustlib")
        .join(TARGET)
        .is_dir()
    {
        return Ok(());
    }
    cargo::say("adding the wasm target");
    cargo::run(Command::new("rustup").args(["target", "add", TARGET]).current_dir(cargo::root())).with_context(|| {
        format!(
            "the Rust target `{TARGET}` is missing and could not be added\n\n\
             hint: run `rustup target add {TARGET}`; without rustup, install your system's package of that target \
             (Debian: `libstd-rust-dev-wasm32`) for the same compiler version"
        )
    })
}

/// Copies the module and writes its manifest, each through a temporary name, so that a server that reads meanwhile sees a whole file.
fn write(built: &Path, folder: &Path) -> anyhow::Result<()> {
    let module = fs::read(built).with_context(|| format!("cannot read `{}`", built.display()))?;
    let limit = porthole_bridge::limits::MODULE_BYTES;
    ensure!(
        module.len() <= limit,
        "the bundle has {} bytes; a launcher takes {limit}",
        module.len()
    );
    fs::create_dir_all(folder)?;
    let manifest = json!({
        "name": "porthole",
        "version": env!("CARGO_PKG_VERSION"),
        "abi": porthole_bridge::ABI,
        "sha256": hex(digest::digest(&digest::SHA256, &module).as_ref()),
        "bytes": module.len(),
    });
    for (name, bytes) in [
        ("porthole-ui.wasm", module),
        ("manifest.json", manifest.to_string().into_bytes()),
    ] {
        let temporary = folder.join(format!(".{name}.new"));
        fs::write(&temporary, bytes)?;
        fs::rename(&temporary, folder.join(name))?;
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
