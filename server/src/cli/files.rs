//! `portholed export` and `portholed import`: sessions to and from files of this machine.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use porthole_protocol::{Call, ExportFormat, SessionId, replies::Exported};

use super::{
    DataArgs, Failure,
    client::{Link, ask_for_long, strange},
    engine::session,
    out::{note, say},
};
use crate::{
    export::{self, ending},
    local::{Ask, Tell},
};

pub(super) fn export(
    id: &str,
    format: ExportFormat,
    out: Option<&Path>,
    data: &DataArgs,
) -> Result<(), Failure> {
    let session = session(id)?;
    let exported: Exported = Link::open(data)?.call(Call::SessionExport {
        session: session.clone(),
        format,
    })?;
    let file = kept_at(data, &session, &exported.export, format)?;
    let copied = copy(&file, out);
    // It would go by itself in an hour.
    let _ = fs::remove_file(&file);
    copied
}

fn kept_at(
    data: &DataArgs,
    session: &SessionId,
    export: &str,
    format: ExportFormat,
) -> Result<PathBuf, Failure> {
    let folder = data.folder()?.join("sessions").join(session.as_str());
    Ok(export::folder(&folder).join(format!("{export}.{}", ending(format))))
}

fn copy(from: &Path, out: Option<&Path>) -> Result<(), Failure> {
    let mut from = File::open(from)?;
    let Some(out) = out else {
        return match io::copy(&mut from, &mut io::stdout().lock()) {
            // A reader that has enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            copied => Ok(copied.map(|_| ())?),
        };
    };
    let told = |error: io::Error| {
        let failure = Failure::new(format!("cannot write `{}`: {error}", out.display()));
        match error.kind() {
            io::ErrorKind::AlreadyExists => failure.hint("name a file that is not there yet"),
            _ => failure,
        }
    };
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(out)
        .map_err(told)?;
    let written = io::copy(&mut from, &mut file).and_then(|_| file.flush());
    if written.is_err() {
        // Half a session would look like one.
        let _ = fs::remove_file(out);
    }
    written.map_err(told)
}

pub(super) fn import(file: &Path, title: Option<&str>, data: &DataArgs) -> Result<(), Failure> {
    let path = file.canonicalize().map_err(|error| {
        Failure::new(format!("cannot read `{}`: {error}", file.display()))
            .hint("name a file that is there: `portholed import FILE`")
    })?;
    let path = path.to_str().ok_or_else(|| {
        Failure::new("the file's path is no UTF-8").hint("copy it to a plain name")
    })?;
    let ask = Ask::Import {
        path: path.to_owned(),
        title: title.map(str::to_owned),
    };
    match ask_for_long(data, &ask)? {
        Tell::Imported {
            session,
            entries,
            skipped,
        } => {
            say!("{session}");
            note!("{entries} entries");
            if skipped > 0 {
                note!("{skipped} parts of the file have no place in a session and were left out");
            }
            Ok(())
        }
        _ => Err(strange()),
    }
}
