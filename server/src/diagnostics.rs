//! What child processes print to standard error, as it may be kept: redacted, bounded, one private file a source, there
//! also when the process is gone and the server not running. It decides nothing about the process.

mod history;

use std::{
    ffi::OsStr,
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    time::Instant,
};

pub use history::{History, KEEP_BYTES, KEEP_LINES, Line};

use crate::{
    data::make_private,
    redact::{Lines, Redaction},
    server::now_ms,
};

/// How long changes gather before they are written.
const GATHER: Duration = Duration::from_millis(50);
/// Sources that are kept; the one that was silent for longest goes first.
pub const SOURCES: usize = 128;

/// The name of the source that a detached server itself is.
pub const SERVER_SOURCE: &str = "server-stderr";

/// Returns the name of the source that a session's worker is.
pub fn worker_source(session: &porthole_protocol::SessionId) -> String {
    format!("worker-{session}")
}

/// Returns the sources of a data folder that something is kept of.
pub fn sources(data: &Path) -> Vec<String> {
    let names = files(data).into_iter().filter_map(|path| {
        let name = path.file_stem()?.to_str()?.to_owned();
        (path.extension() == Some(OsStr::new("json"))).then_some(name)
    });
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

/// Returns what is kept of a source; empty where that is nothing that can be read.
pub fn read(data: &Path, source: &str) -> History {
    let text = fs::read(file(data, source)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Removes what is kept of a source.
///
/// # Errors
/// Where that fails.
pub fn forget(data: &Path, source: &str) -> io::Result<()> {
    match fs::remove_file(file(data, source)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What captures one stream of one process.
pub struct Capture {
    data: PathBuf,
    source: String,
    redaction: Redaction,
    history: History,
    lines: Lines,
    /// From where on the lines are of this process.
    begin: u64,
}

impl Capture {
    /// Returns a capture that goes on with what is kept of the source.
    pub fn new(data: &Path, source: String, redaction: Redaction) -> Self {
        let history = read(data, &source);
        Self {
            data: data.to_owned(),
            begin: history.total(),
            source,
            redaction,
            history,
            lines: Lines::default(),
        }
    }

    /// Reads to the end, writing what is kept; returns the capture with all of it.
    pub async fn run(mut self, mut stream: impl AsyncRead + Unpin) -> Self {
        let mut chunk = vec![0; 16 << 10];
        let mut due: Option<Instant> = None;
        loop {
            let at = due.unwrap_or_else(Instant::now);
            tokio::select! {
                read = stream.read(&mut chunk) => match read {
                    Ok(len @ 1..) => {
                        self.take(&chunk[..len]);
                        due = due.or(Some(Instant::now() + GATHER));
                    }
                    Ok(0) | Err(_) => break,
                },
                () = tokio::time::sleep_until(at), if due.is_some() => {
                    due = None;
                    self.save();
                }
            }
        }
        if let Some(line) = self.lines.finish(&self.redaction.known()) {
            self.history.push(now_ms(), line);
        }
        if self.history.total() > self.begin {
            self.save();
        }
        self
    }

    /// Adds a line of the server's own and writes it.
    pub fn note(&mut self, text: &str) {
        self.history.push(now_ms(), self.redaction.text(text));
        self.save();
    }

    /// Returns the last of what this process printed, at most so many characters.
    pub fn tail(&self, chars: usize) -> String {
        self.history.tail(self.begin, chars)
    }

    fn take(&mut self, bytes: &[u8]) {
        for line in self.lines.feed(&self.redaction.known(), bytes) {
            self.history.push(now_ms(), line);
        }
    }

    fn save(&self) {
        if let Err(error) = save(&self.data, &self.source, &self.history) {
            tracing::warn!("cannot keep what `{}` printed: {error}", self.source);
        }
    }
}

fn save(data: &Path, source: &str, history: &History) -> io::Result<()> {
    let folder = folder(data);
    make_private(&folder)?;
    let path = file(data, source);
    if !path.exists() {
        make_room(data)?;
    }
    // Made 0600, whole or not at all.
    let mut new = tempfile::NamedTempFile::new_in(&folder)?;
    new.write_all(&serde_json::to_vec(history)?)?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn make_room(data: &Path) -> io::Result<()> {
    let mut all: Vec<_> = files(data)
        .into_iter()
        .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
        .collect();
    all.sort_unstable();
    let excess = (all.len() + 1).saturating_sub(SOURCES);
    all.into_iter()
        .take(excess)
        .try_for_each(|(_, path)| fs::remove_file(path))
}

fn files(data: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(data)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn folder(data: &Path) -> PathBuf {
    data.join("log/sources")
}

fn file(data: &Path, source: &str) -> PathBuf {
    folder(data).join(format!("{source}.json"))
}

#[cfg(test)]
mod tests;
