//! One archive for people without a toolchain: both programs, the bundle inside the server.

use std::{fs::File, process::Command};

use anyhow::Context;
use flate2::{Compression, write::GzEncoder};

use crate::{bundle, cargo};

/// Builds the archive and says where it is.
pub(crate) fn run() -> anyhow::Result<()> {
    let bundle = bundle::build()?;
    build_programs(&bundle)?;
    let name = format!("porthole-{}-{}", env!("CARGO_PKG_VERSION"), host()?);
    let folder = cargo::target().join("dist-archive");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{name}.tar.gz"));
    let file = File::create(&path).with_context(|| format!("cannot write `{}`", path.display()))?;
    let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::default()));
    for program in ["porthole", "portholed"] {
        archive.append_path_with_name(
            cargo::target().join("dist").join(program),
            format!("{name}/{program}"),
        )?;
    }
    for document in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        archive
            .append_path_with_name(cargo::root().join(document), format!("{name}/{document}"))?;
    }
    archive.into_inner()?.finish()?;
    cargo::say(&format!("made `{}`", path.display()));
    Ok(())
}

fn build_programs(bundle: &std::path::Path) -> anyhow::Result<()> {
    cargo::say("building the programs");
    cargo::run(
        cargo::command()
            .args([
                "build",
                "--profile",
                "dist",
                "--bins",
                "--package",
                "porthole",
                "--package",
                "portholed",
            ])
            .args(["--features", "portholed/embedded-bundle"])
            .env("PORTHOLE_BUNDLE_DIR", bundle),
    )
}

fn host() -> anyhow::Result<String> {
    let version = cargo::output(Command::new("rustc").arg("-vV").current_dir(cargo::root()))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`rustc -vV` names no host")
}
