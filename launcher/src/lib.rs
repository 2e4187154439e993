//! The launcher as a library, so that its binary, its tests and its benchmarks share one code.
//! Not an API for others.

// What is asked, and what is opened.
pub mod argv;
pub mod cli;
pub mod doctor;
pub mod invitation;
pub mod launch;
pub mod name;
pub mod privacy;
pub mod prompt;
pub mod servers;
pub mod sign_out;

// The decisions.
pub mod app;
pub mod backoff;
pub mod chord;
pub mod gesture;
pub mod permit;

// The shell around them.
pub mod driver;
pub mod errand;
pub mod signals;
pub mod slumber;
pub mod stage;
pub mod wake;

// The server.
pub mod credential;
pub mod door;
pub mod link;
pub mod tunnel;

// The UI.
pub mod bundle;
pub mod escape;
pub mod host;
pub mod sandbox;
pub mod screen;

// The visitor's computer.
pub mod clipboard;
pub mod draw;
pub mod editor;
pub mod folders;
pub mod opener;
pub mod patch;
pub mod preferences;
pub mod surroundings;
pub mod terminal;
pub mod timezone;
pub mod transfer;

pub mod debug;
pub mod failure;

use std::io::Write;

/// Says one thing on standard output, as the result that was asked for.
///
/// # Errors
/// Where nothing can be written there.
pub(crate) fn say(text: &str) -> Result<(), failure::Failure> {
    writeln!(std::io::stdout(), "{text}").map_err(unheard)
}

/// Returns what a command says whose output goes nowhere.
pub(crate) fn unheard(error: std::io::Error) -> failure::Failure {
    failure::Failure::new(format!("the output could not be written: {error}"), "")
}

/// Says something beside the matter on standard error.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Warns on standard error.
pub(crate) fn warn(text: &str) {
    let _ = writeln!(std::io::stderr(), "warning: {text}");
}
