//! Benchmarks and pictures: builds what they need, then runs the programs of `porthole-tests` that take them.

use std::{path::Path, process::Command};

use crate::{bundle, cargo};

/// Measures release builds.
pub(crate) fn bench(name: Option<&str>, json: Option<&Path>) -> anyhow::Result<()> {
    bundle::build()?;
    cargo::say("building release programs");
    cargo::cargo(&[
        "build",
        "--release",
        "--bins",
        "--package",
        "porthole",
        "--package",
        "portholed",
        "--package",
        "porthole-tests",
    ])?;
    let mut command = Command::new(cargo::target().join("release/bench"));
    command.args(name);
    if let Some(path) = json {
        command.arg("--json").arg(path);
    }
    cargo::run(&mut command)
}

/// Renders real screens to pictures.
pub(crate) fn shots() -> anyhow::Result<()> {
    bundle::build()?;
    cargo::cargo(&[
        "build",
        "--bins",
        "--package",
        "porthole",
        "--package",
        "portholed",
        "--package",
        "porthole-tests",
    ])?;
    cargo::run(
        Command::new(cargo::target().join("debug/shots")).arg(cargo::root().join("docs/shots")),
    )
}
