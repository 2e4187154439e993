//! The launcher's entry: the processes of the sandbox first, then the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The sandbox's processes start with nothing but their pipes, and fast: no parser, no TLS, no runtime before them.
    match std::env::args_os().nth(1) {
        Some(name) if name == "ui-sandbox" => porthole_launcher::sandbox::child::main(),
        Some(name) if name == "ui-compile" => porthole_launcher::sandbox::compile::main(),
        Some(name) if name == "ui-attempts" => porthole_launcher::sandbox::attempts::main(),
        _ => porthole_launcher::cli::main(),
    }
}
