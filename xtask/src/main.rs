//! The project's own commands: `cargo xtask up`, `test`, `bundle`, `bench`, `shots`, `dist`.
//! Each is a list of steps over cargo and the built programs; no product code lives here.

mod bundle;
mod cargo;
mod dist;
mod measure;
mod suite;
mod up;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", version)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Builds everything, starts a server on this machine and opens the UI on a session for DIR.
    Up {
        /// The directory to work in; without it, the current one.
        dir: Option<PathBuf>,
        /// Builds with optimisation: slower to build, faster to use.
        #[arg(long)]
        release: bool,
        /// Does everything but open the UI.
        #[arg(long)]
        no_open: bool,
    },
    /// Checks format and lints, builds, and runs every test.
    Test,
    /// Builds the UI bundle into `target/bundle`.
    Bundle,
    /// Measures release builds beside references taken in the same run.
    Bench {
        /// One of start, key, hop, stream, idle, filter, load; without it, all.
        name: Option<String>,
        /// Also writes the rows as JSON.
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Renders real screens to pictures in `docs/shots`.
    Shots,
    /// Makes one archive for people without a toolchain.
    Dist,
}

fn main() -> ExitCode {
    let result = match Options::parse().command {
        Command::Up {
            dir,
            release,
            no_open,
        } => up::run(dir, release, !no_open),
        Command::Test => suite::run(),
        Command::Bundle => bundle::build().map(drop),
        Command::Bench { name, json } => measure::bench(name.as_deref(), json.as_deref()),
        Command::Shots => measure::shots(),
        Command::Dist => dist::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
