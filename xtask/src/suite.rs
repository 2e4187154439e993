//! Everything that must hold before a change lands.

use crate::{bundle, cargo};

/// Runs the checks, cheapest first.
pub(crate) fn run() -> anyhow::Result<()> {
    cargo::say("format");
    cargo::cargo(&["fmt", "--all", "--check"])?;
    bundle::build()?;
    cargo::say("the example bundle");
    cargo::cargo(&[
        "build",
        "--package",
        "porthole-examples",
        "--example",
        "hello_ui",
        "--target",
        "wasm32-unknown-unknown",
        "--profile",
        "wasm",
    ])?;
    cargo::say("lints");
    cargo::cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ])?;
    cargo::say("programs");
    cargo::cargo(&["build", "--workspace", "--bins"])?;
    cargo::say("tests");
    cargo::cargo(&["test", "--workspace", "--no-fail-fast"])
}
