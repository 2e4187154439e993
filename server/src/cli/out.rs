//! What commands print. A reader that has enough (`| head`) ends the command quietly; `println!` would panic.

use std::{
    fmt::Arguments,
    io::{self, Write as _},
};

use super::Failure;

/// Prints a line to standard output, as `println!` does.
macro_rules! say {
    ($($argument:tt)*) => { $crate::cli::out::line(format_args!($($argument)*)) };
}

/// Prints a line to standard error, as `eprintln!` does.
macro_rules! note {
    ($($argument:tt)*) => { $crate::cli::out::aside(format_args!($($argument)*)) };
}

pub(super) use {note, say};

/// Prints a line. Where it cannot be kept (a full disk), the command has failed.
pub(super) fn line(text: Arguments<'_>) {
    let mut stdout = io::stdout();
    let Err(error) = writeln!(stdout, "{text}").and_then(|()| stdout.flush()) else {
        return;
    };
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    Failure::new(format!("cannot write the output: {error}"))
        .hint("is the disk full?")
        .print();
    std::process::exit(1);
}

/// Prints a line beside the output; it is no loss where nobody can see it.
pub(super) fn aside(text: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}
