//! Names the folder of the bundle that goes into the program, where one was asked for. It builds no bundle.

use std::{env, path::PathBuf};

fn main() {
    println!("cargo::rerun-if-env-changed=PORTHOLE_BUNDLE_DIR");
    if env::var_os("CARGO_FEATURE_EMBEDDED_BUNDLE").is_none() {
        return;
    }
    let Some(folder) = env::var_os("PORTHOLE_BUNDLE_DIR").map(PathBuf::from) else {
        println!(
            "cargo::error=the feature `embedded-bundle` needs `PORTHOLE_BUNDLE_DIR`; `cargo xtask bundle` makes the bundle"
        );
        return;
    };
    for (variable, name) in [
        ("PORTHOLE_EMBEDDED_WASM", "porthole-ui.wasm"),
        ("PORTHOLE_EMBEDDED_MANIFEST", "manifest.json"),
    ] {
        let file = folder.join(name);
        if !file.is_file() {
            println!(
                "cargo::error=no {}; `cargo xtask bundle` makes the bundle",
                file.display()
            );
        }
        println!("cargo::rerun-if-changed={}", file.display());
        println!("cargo::rustc-env={variable}={}", file.display());
    }
}
