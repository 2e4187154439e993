//! What commands print. A reader that has enough (`| head`) ends the command quietly; `println!` would panic.

use std::{
    fmt::Arguments,
    io::{self, Write as _},
};

/// Prints a line to standard output, as `println!` does.
macro_rules! say {
    ($($argument:tt)*) => { $crate::cli::out::line(format_args!($($argument)*)) };
}

/// Prints a line to standard error, as `eprintln!` does.
macro_rules! note {
    ($($argument:tt)*) => { $crate::cli::out::aside(format_args!($($argument)*)) };
}

pub(super) use {note, say};

/// Prints a line.
pub(super) fn line(text: Arguments<'_>) {
    if writeln!(io::stdout(), "{text}").is_err() {
        std::process::exit(0);
    }
}

/// Prints a line beside the output; it is no loss where nobody can see it.
pub(super) fn aside(text: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}
