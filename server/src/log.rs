//! The server's own log: a file in the data folder, bounded, with every line redacted before it is written.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Mutex,
};

use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use crate::{data::make_private, redact::Redaction};

/// A log larger than this is put aside; the one put aside before is dropped.
const KEEP_BYTES: u64 = 8 << 20;

/// Returns where the log of a data folder is.
pub fn path(data: &Path) -> PathBuf {
    data.join("log/serve.log")
}

/// Writes the log of this process to the data folder from here on, a fault of the program included. `PORTHOLE_LOG` says how
/// much: `error`, `warn`, `info`, `debug` or `trace`. It speaks of this program alone: at `trace`, libraries write what they carry.
///
/// # Errors
/// Where the file cannot be made.
pub fn begin(data: &Path, redaction: Redaction) -> io::Result<()> {
    make_private(&data.join("log"))?;
    let level = std::env::var("PORTHOLE_LOG")
        .ok()
        .and_then(|text| text.parse().ok());
    let level = level.unwrap_or(LevelFilter::INFO);
    let kept = Kept::open(path(data), redaction.clone())?;
    let begun = tracing_subscriber::fmt()
        .with_writer(Mutex::new(kept))
        .with_ansi(false)
        .finish()
        .with(
            Targets::new()
                .with_default(LevelFilter::WARN)
                .with_target("portholed", level),
        )
        .try_init();
    std::panic::set_hook(Box::new(move |fault| {
        let told = redaction.text(&fault.to_string());
        tracing::error!("a fault: {told}");
        // Nobody is left to tell where standard error is gone.
        let _ = writeln!(io::stderr(), "error: {told}");
    }));
    begun.map_err(io::Error::other)
}

/// Opens a file of the log folder to write at its end.
fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

/// The log's file. Each write is one whole event.
struct Kept {
    path: PathBuf,
    file: File,
    bytes: u64,
    redaction: Redaction,
}

impl Kept {
    fn open(path: PathBuf, redaction: Redaction) -> io::Result<Self> {
        let file = append(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Self {
            path,
            file,
            bytes,
            redaction,
        })
    }

    fn put_aside(&mut self) -> io::Result<()> {
        std::fs::rename(&self.path, self.path.with_extension("log.old"))?;
        self.file = append(&self.path)?;
        self.bytes = 0;
        Ok(())
    }
}

impl Write for Kept {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        if self.bytes > KEEP_BYTES {
            self.put_aside()?;
        }
        let text = self.redaction.text(&String::from_utf8_lossy(event));
        self.file.write_all(text.as_bytes())?;
        self.bytes += text.len() as u64;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_grows_is_put_aside_once_and_keeps_no_secret() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("serve.log");
        let mut kept = Kept::open(path.clone(), Redaction::default()).expect("opens");
        let event = format!("{} pho_abcdefgh12345678\n", "x".repeat(10_000));
        for _ in 0..1_000 {
            kept.write_all(event.as_bytes()).expect("writes");
        }
        let now = std::fs::read_to_string(&path).expect("there");
        let before = std::fs::read_to_string(path.with_extension("log.old")).expect("put aside");
        assert!(before.len() as u64 <= KEEP_BYTES + 20_000 && !now.is_empty());
        assert!(!now.contains("pho_") && !before.contains("pho_"));
    }
}
