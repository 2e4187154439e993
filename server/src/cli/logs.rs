//! Prints the server's log, and goes on with it. It reads the file; the server need not run.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader},
    thread,
    time::Duration,
};

use super::out::say;
use super::{Failure, LogsArgs, plain::one_line};
use crate::log;

/// How often a log that is followed is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

pub(super) fn logs(args: &LogsArgs) -> Result<(), Failure> {
    let path = log::path(&args.data.folder()?);
    let file = File::open(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::new(format!("there is no log yet at `{}`", path.display()))
                .hint("a server writes it: `portholed start`")
        }
        _ => Failure::new(format!("cannot read `{}`: {error}", path.display())),
    })?;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        if reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            let text = String::from_utf8_lossy(&line);
            if args
                .source
                .as_deref()
                .is_none_or(|source| is_from(&text, source))
            {
                say!("{}", one_line(text.trim_end()));
            }
            line.clear();
        } else if args.follow {
            thread::sleep(LOOK_EVERY);
        } else {
            return Ok(());
        }
    }
}

/// A line is time, level, and where it comes from as `portholed::PART:`.
fn is_from(line: &str, source: &str) -> bool {
    line.split_whitespace().nth(2).is_some_and(|target| {
        target
            .trim_end_matches(':')
            .split("::")
            .any(|part| part == source)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_chosen_by_where_it_comes_from_and_not_by_what_it_says() {
        let line = "2026-11-30T10:00:00Z  WARN portholed::http: refused by link";
        assert!(is_from(line, "http"));
        assert!(!is_from(line, "link"));
    }
}
