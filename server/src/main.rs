//! The program `portholed`. What it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        unreachable!("nothing else installs a provider before this");
    }
    portholed::cli::main()
}
