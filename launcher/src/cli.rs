//! The command line: what was asked for, handed to the module that does it.
//! The two processes of the sandbox are dispatched before it is ever looked at.

use std::{io::Write, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::{
    argv, debug, doctor, escape, failure::Failure, launch, prompt, servers, sign_out, terminal,
};

/// Opens the UI that a Porthole server offers, behind glass.
#[derive(Parser)]
#[command(
    name = "porthole",
    version,
    about,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  porthole                                  the last server, or a hidden prompt for a link\n  porthole http://127.0.0.1:7420            a server that this computer knows\n  porthole --session 01J9…                  straight to a session\n  portholed link owner | porthole           a link by a pipe"
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// A link to redeem, or the origin of a known server. A link is a secret: the prompt, a pipe or PORTHOLE_LINK keep it out of your shell's history.
    #[arg(value_name = "LINK|ORIGIN")]
    target: Option<String>,
    /// Open straight at a session.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

#[derive(Subcommand)]
enum Command {
    /// List the servers this computer knows.
    #[command(after_help = "Example:\n  porthole servers --json")]
    Servers {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Forget the credential of a server, here and there.
    #[command(after_help = "Example:\n  porthole sign-out http://127.0.0.1:7420")]
    SignOut {
        /// The server; the last one used where none is named.
        origin: Option<String>,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
    /// Say what works here, what does not, and what to do about it.
    #[command(after_help = "Example:\n  porthole doctor --json")]
    Doctor {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Look at what the launcher makes of foreign bytes.
    #[command(subcommand)]
    Debug(Debug),
}

#[derive(Subcommand)]
enum Debug {
    /// Show what the filter makes of a frame read from standard input.
    #[command(
        after_help = "Example:\n  printf 'hello' | porthole debug screen --size 80x24 --json"
    )]
    Screen {
        /// The screen's size.
        #[arg(long, value_name = "COLSxROWS", default_value = "80x24")]
        size: String,
        /// Print cursor, styles and what was dropped as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say whether a bundle would be accepted.
    #[command(after_help = "Example:\n  porthole debug bundle target/bundle/porthole-ui.wasm")]
    Bundle {
        /// The wasm file.
        file: std::path::PathBuf,
    },
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let done = match Cli::try_parse() {
        Ok(cli) => run(cli),
        Err(error) => refused(&error),
    };
    match done {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            // Nobody to tell means nothing to do.
            let _ = writeln!(std::io::stderr(), "{failure}");
            ExitCode::from(failure.status)
        }
    }
}

/// Prints what was asked for instead of a command, or what was wrong with one. An argument may be foreign text: what of it
/// would act on a terminal is shown.
fn refused(error: &clap::Error) -> Result<u8, Failure> {
    if error.use_stderr() {
        let text = error.to_string();
        let lines: Vec<String> = text.trim_end().lines().map(escape::visible).collect();
        let _ = writeln!(std::io::stderr(), "{}", lines.join("\n"));
    } else {
        error.print().map_err(crate::unheard)?;
    }
    Ok(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn run(cli: Cli) -> Result<u8, Failure> {
    match cli.command {
        None => open(cli.target, cli.session),
        Some(Command::Servers { json }) => servers::run(json),
        Some(Command::SignOut { origin, yes }) => sign_out::run(origin, yes),
        Some(Command::Doctor { json }) => doctor::run(json),
        Some(Command::Debug(Debug::Screen { size, json })) => {
            debugged(debug::screen(&size, json, std::io::stdin()))
        }
        Some(Command::Debug(Debug::Bundle { file })) => debugged(debug::bundle(&file)),
    }
}

fn open(target: Option<String>, session: Option<String>) -> Result<u8, Failure> {
    let is_secret = target.as_deref().is_some_and(|text| text.contains('#'));
    if is_secret && !argv::wipe() {
        crate::warn(
            "the link could not be wiped from the process list; give it by the prompt or a pipe",
        );
    }
    terminal::check(crate::surroundings::var("TERM").as_deref())?;
    let target = match target {
        Some(target) => Some(target),
        None => match crate::surroundings::var(prompt::VARIABLE).filter(|text| !text.is_empty()) {
            Some(link) => Some(link),
            None => prompt::from_stdin()?,
        },
    };
    launch::run(target, session)
}

fn debugged(done: anyhow::Result<()>) -> Result<u8, Failure> {
    match done {
        Ok(()) => Ok(0),
        Err(error) => Err(Failure::new(format!("{error:#}"), "")),
    }
}
