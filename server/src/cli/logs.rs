//! Prints what is kept: the server's log, or what one source printed; goes on with it. It reads files; the server need
//! not run, and no worker is started for it.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, BufRead as _, BufReader},
    os::unix::fs::MetadataExt as _,
    path::Path,
    thread,
    time::Duration,
};

use super::out::say;
use super::{Failure, LogsArgs, plain::one_line};
use crate::{diagnostics, log};

/// How often a log that is followed is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

pub(super) fn logs(args: &LogsArgs) -> Result<(), Failure> {
    let data = args.data.folder()?;
    let Some(source) = args.source.as_deref() else {
        return server_log(&log::path(&data), None, args.follow);
    };
    let kept = diagnostics::sources(&data);
    let by_session = format!("worker-{source}");
    if let Some(name) = kept
        .iter()
        .find(|name| *name == source || **name == by_session)
    {
        return source_log(&data, name, args.follow);
    }
    let parts = parts(&log::path(&data))?;
    if parts.contains(source) {
        return server_log(&log::path(&data), Some(source), args.follow);
    }
    let all: Vec<_> = parts.into_iter().chain(kept).collect();
    Err(Failure::new(format!("there is no source `{source}`"))
        .hint(format!("there are: {}", all.join(", "))))
}

fn server_log(path: &Path, part: Option<&str>, follow: bool) -> Result<(), Failure> {
    let mut reader = open(path)?;
    let mut line = Vec::new();
    loop {
        if reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            let text = String::from_utf8_lossy(&line);
            if part.is_none_or(|part| parts_of(&text).any(|of| of == part)) {
                say!("{}", one_line(text.trim_end()));
            }
            line.clear();
        } else if !follow {
            return Ok(());
        } else if is_another(reader.get_ref(), path) {
            reader = open(path)?;
        } else {
            thread::sleep(LOOK_EVERY);
        }
    }
}

fn source_log(data: &Path, source: &str, follow: bool) -> Result<(), Failure> {
    let mut seen = 0;
    loop {
        let kept = diagnostics::read(data, source);
        for line in kept.since(seen) {
            say!("{}", one_line(&line.text));
        }
        seen = kept.total();
        if !follow {
            return Ok(());
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    let file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::new(format!("there is no log yet at `{}`", path.display()))
                .hint("a server writes it: `portholed start`")
        }
        _ => Failure::new(format!("cannot read `{}`: {error}", path.display())),
    })?;
    Ok(BufReader::new(file))
}

/// Returns whether the path now names another file: the log was put aside.
fn is_another(file: &File, path: &Path) -> bool {
    let (Ok(old), Ok(new)) = (file.metadata(), std::fs::metadata(path)) else {
        return false;
    };
    old.ino() != new.ino()
}

/// Returns the parts of the server that the log has lines of.
fn parts(path: &Path) -> Result<BTreeSet<String>, Failure> {
    let mut parts = BTreeSet::new();
    let mut reader = open(path)?;
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        parts.extend(parts_of(&text).map(str::to_owned));
        line.clear();
    }
    Ok(parts)
}

/// A line is time, level, and where it comes from as `portholed::PART:`.
fn parts_of(line: &str) -> impl Iterator<Item = &str> {
    let target = line.split_whitespace().nth(2).unwrap_or("");
    let target = target.strip_suffix(':').unwrap_or("");
    let of_ours = target.starts_with("portholed");
    target.split("::").skip(1).filter(move |_| of_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_chosen_by_where_it_comes_from_and_not_by_what_it_says() {
        let line = "2026-11-30T10:00:00Z  WARN portholed::http: refused by link";
        assert_eq!(parts_of(line).collect::<Vec<_>>(), ["http"]);
        assert_eq!(parts_of("a line that other programs wrote").count(), 0);
    }
}
