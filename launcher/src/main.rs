//! The `porthole` program: which command runs.

use std::{path::Path, process::ExitCode};

use porthole_launcher::{debug, sandbox};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["ui-sandbox"] => return sandbox::child::main(),
        ["ui-compile"] => return sandbox::compile::main(),
        ["debug", "screen", "--size", size] => debug::screen(size, false, std::io::stdin()),
        ["debug", "screen", "--size", size, "--json"] => {
            debug::screen(size, true, std::io::stdin())
        }
        ["debug", "bundle", path] => debug::bundle(Path::new(path)),
        _ => return ExitCode::from(2),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
