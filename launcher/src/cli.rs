//! The command line: what was asked for, handed to the module that does it.
//! The two processes of the sandbox are dispatched before it is ever looked at.

use std::{io::Write, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::{
    argv, debug, doctor, escape,
    failure::Failure,
    launch::{self, Wish},
    privacy, prompt, servers, sign_out,
    surroundings::var,
    terminal, transfer,
};

/// Opens the UI that a Porthole server offers, behind glass.
#[derive(Parser)]
#[command(
    name = "porthole",
    version,
    about,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  porthole                                  the last server, or a hidden prompt for a link\n  porthole http://127.0.0.1:7420            a server that this computer knows\n  porthole --session SESSION-ID             straight to a session; `portholed sessions` lists them\n  porthole --ssh me@box ~/src/shop          a server behind ssh, started if need be\n  portholed link owner | porthole           a link by a pipe"
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// A link to redeem, or the origin of a known server. A link is a secret: the prompt, a pipe or PORTHOLE_LINK keep it out of your shell's history.
    /// With --ssh: a folder there, to open a session that works in it.
    #[arg(value_name = "LINK|ORIGIN|DIR")]
    target: Option<String>,
    /// Open straight at a session.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Reach the server through the ssh program, which is given this host. A server is started there if none runs.
    #[arg(long, value_name = "HOST")]
    ssh: Option<String>,
}

#[derive(Subcommand)]
enum Command {
    /// Come as a guest: redeem a share link and open its session.
    #[command(
        after_help = "Examples:\n  porthole join                             a hidden prompt for the link, then your name\n  porthole join LINK --name Mira"
    )]
    Join {
        /// The link; a hidden prompt, a pipe or PORTHOLE_LINK keep it out of your shell's history.
        link: Option<String>,
        /// Your name, as the others will see it; at most 40 characters.
        #[arg(long)]
        name: Option<String>,
    },
    /// List the servers this computer knows.
    #[command(after_help = "Example:\n  porthole servers --json")]
    Servers {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Forget the credential of a server, here and there.
    #[command(
        after_help = "Examples:\n  porthole sign-out http://127.0.0.1:7420\n  porthole sign-out --all-devices           every device of yours, at the last server"
    )]
    SignOut {
        /// The server; the last one used where none is named.
        origin: Option<String>,
        /// Sign out every device of yours at that server.
        #[arg(long)]
        all_devices: bool,
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
    /// Upload files for a session; prints the id of each attachment.
    #[command(after_help = "Example:\n  porthole upload report.pdf --session k3v9x2abcdef")]
    Upload {
        /// The files.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<String>,
        /// The session.
        #[arg(long, value_name = "ID")]
        session: String,
        /// The server; the last one used where none is named.
        #[arg(long, value_name = "ORIGIN")]
        server: Option<String>,
    },
    /// Download an attachment or a command's output; prints where it is.
    #[command(
        after_help = "Examples:\n  porthole download q7m2k4 --to ~/Downloads\n  porthole download src/main.rs --file --session k3v9x2abcdef"
    )]
    Download {
        /// The attachment's or the output's id; with `--file` a path in the session's directory.
        id: String,
        /// The folder to save it in.
        #[arg(long, value_name = "DIR")]
        to: Option<std::path::PathBuf>,
        /// The session that has it.
        #[arg(long, value_name = "ID", required_if_eq("file", "true"))]
        session: Option<String>,
        /// A file of the session's directory.
        #[arg(long)]
        file: bool,
        /// The server; the last one used where none is named.
        #[arg(long, value_name = "ORIGIN")]
        server: Option<String>,
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
    /// Print the local name that a download would get from the name on standard input, or `refuse: why`.
    #[command(after_help = "Example:\n  printf '../../etc/passwd' | porthole debug safe-name")]
    SafeName {
        /// The input is a `Content-Disposition` header's value.
        #[arg(long)]
        header: bool,
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
    let cli = Cli::try_parse();
    if std::env::args_os().any(|argument| argument.to_string_lossy().contains('#')) {
        argv::wipe();
    }
    let link = privacy::take_variable(prompt::VARIABLE);
    privacy::hide();
    let done = match cli {
        Ok(cli) => run(cli, link),
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

fn run(cli: Cli, link: Option<String>) -> Result<u8, Failure> {
    match cli.command {
        None => open(cli.target, link, cli.session, cli.ssh),
        Some(Command::Join { link: given, name }) => join(given.or(link), name),
        Some(Command::Servers { json }) => servers::run(json),
        Some(Command::SignOut {
            origin,
            all_devices,
            yes,
        }) => sign_out::run(sign_out::Wish {
            origin,
            all_devices,
            yes,
        }),
        Some(Command::Doctor { json }) => doctor::run(json),
        Some(Command::Debug(Debug::Screen { size, json })) => {
            debugged(debug::screen(&size, json, std::io::stdin()))
        }
        Some(Command::Upload {
            files,
            session,
            server,
        }) => transfer::upload_command(&files, &session, server),
        Some(Command::Download {
            id,
            to,
            session,
            file,
            server,
        }) => transfer::download_command(&id, session, file, to, server),
        Some(Command::Debug(Debug::SafeName { header })) => {
            debugged(debug::safe_name(header, std::io::stdin()))
        }
        Some(Command::Debug(Debug::Bundle { file })) => debugged(debug::bundle(&file)),
    }
}

fn open(
    target: Option<String>,
    link: Option<String>,
    session: Option<String>,
    ssh: Option<String>,
) -> Result<u8, Failure> {
    let wish = match ssh {
        Some(host) => Wish::Ssh {
            host,
            dir: target,
            session,
        },
        None => Wish::Open {
            target: wiped(target.or(link))?,
            session,
        },
    };
    terminal::check(var("TERM").as_deref())?;
    launch::run(wish)
}

fn join(given: Option<String>, name: Option<String>) -> Result<u8, Failure> {
    let link = wiped(given)?;
    terminal::check(var("TERM").as_deref())?;
    launch::run(Wish::Join { link, name })
}

/// Returns the link or origin from wherever it comes, and wipes it where others could see it.
fn wiped(given: Option<String>) -> Result<Option<String>, Failure> {
    let is_secret = given.as_deref().is_some_and(|text| text.contains('#'));
    if is_secret && !argv::wipe() {
        crate::warn(
            "the link could not be wiped from the process list; give it by the prompt or a pipe",
        );
    }
    match given {
        Some(link) => Ok(Some(link)),
        None => prompt::from_stdin(),
    }
}

fn debugged(done: anyhow::Result<()>) -> Result<u8, Failure> {
    match done {
        Ok(()) => Ok(0),
        Err(error) => Err(Failure::new(format!("{error:#}"), "")),
    }
}
