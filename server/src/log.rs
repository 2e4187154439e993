//! The server's own log: a file in the data folder. No secret reaches it, since none has a text form that could be logged.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Mutex,
};

use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use crate::data::make_private;

/// A log larger than this is put aside at the next start; the one put aside before is dropped.
const KEEP_BYTES: u64 = 8 << 20;

/// Returns where the log of a data folder is.
pub fn path(data: &Path) -> PathBuf {
    data.join("log/serve.log")
}

/// Writes the log of this process to the data folder from here on. `PORTHOLE_LOG` says how
/// much: `error`, `warn`, `info`, `debug` or `trace`. It speaks of this program alone: at `trace`, libraries write what they carry.
///
/// # Errors
/// Where the file cannot be made.
pub fn begin(data: &Path) -> io::Result<()> {
    make_private(&data.join("log"))?;
    let path = path(data);
    if std::fs::metadata(&path).is_ok_and(|metadata| metadata.len() > KEEP_BYTES) {
        std::fs::rename(&path, path.with_extension("log.old"))?;
    }
    let file = append(&path)?;
    let level = std::env::var("PORTHOLE_LOG")
        .ok()
        .and_then(|text| text.parse().ok());
    let level = level.unwrap_or(LevelFilter::INFO);
    let begun = tracing_subscriber::fmt()
        .with_writer(Mutex::new(file))
        .with_ansi(false)
        .finish()
        .with(
            Targets::new()
                .with_default(LevelFilter::WARN)
                .with_target("portholed", level),
        )
        .try_init();
    begun.map_err(io::Error::other)
}

/// Opens a file of the log folder to write at its end.
///
/// # Errors
/// Where that fails.
pub fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}
