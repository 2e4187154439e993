//! What is worked out when the UI is built, so that the bundle need not: the grammars.
#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a build reads and writes files; only the bundle must not"
)]

mod grammars;

use std::{env, error::Error, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build");
    let out = env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?;
    let out = Path::new(&out);
    grammars::write(out)
}
