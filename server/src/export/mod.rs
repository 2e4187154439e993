//! A session as one file: Markdown, JSON that can be imported again, or an HTML page that needs nothing else. It is written
//! entry by entry into the session's folder, fetched from there, and removed after an hour.

mod html;
mod markdown;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use porthole_protocol::{
    AttachmentId, CallError, ErrorCode, ExportFormat, SessionId, replies::Exported,
};
use porthole_worker::wire::KeptEntry;

use crate::{
    catalog::Session,
    data::make_private,
    server::{Server, now_ms},
    switchboard::unknown_session,
    token::random_id,
    transfer::attachment,
};

/// What the first bytes of an export in JSON are, up to its version.
pub const JSON_START: &str = r#"{"format":"porthole-session","version":"#;
/// The version of an export in JSON.
pub const JSON_VERSION: u32 = 1;
/// How long an export stays.
const STAYS: Duration = Duration::from_secs(60 * 60);
const FORMATS: [ExportFormat; 3] = [
    ExportFormat::Markdown,
    ExportFormat::Json,
    ExportFormat::Html,
];

/// Returns how the name of a file of a format ends.
pub fn ending(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Markdown => "md",
        ExportFormat::Json => "json",
        ExportFormat::Html => "html",
    }
}

/// An export that is there.
pub(crate) struct KeptExport {
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// Its file.
    pub(crate) file: String,
    /// Its media type.
    pub(crate) media_type: &'static str,
    /// How a name for it ends.
    pub(crate) ending: &'static str,
}

/// Returns where a session's exports are.
pub fn folder(session: &Path) -> PathBuf {
    session.join("exports")
}

/// Returns an export that is there.
pub(crate) fn find(session: &Path, id: &str) -> Option<KeptExport> {
    // An id is no path.
    let id = AttachmentId::parse(id).ok()?;
    let folder = folder(session);
    FORMATS.into_iter().find_map(|format| {
        let file = format!("{id}.{}", ending(format));
        folder.join(&file).is_file().then(|| KeptExport {
            folder: folder.clone(),
            file,
            media_type: match format {
                ExportFormat::Markdown => "text/markdown",
                ExportFormat::Json => "application/json",
                ExportFormat::Html => "text/html",
            },
            ending: ending(format),
        })
    })
}

/// Returns a name for an export of a session.
pub(crate) fn name(title: &str, ending: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
    let plain: String = title.chars().take(60).map(plain).collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    match words.is_empty() {
        true => format!("session.{ending}"),
        false => format!("{}.{ending}", words.join("-")),
    }
}

/// A file that grows, and what it is of.
struct Growing {
    format: ExportFormat,
    out: BufWriter<File>,
    /// Where the session keeps its attachments.
    blobs: PathBuf,
    entries: u64,
    pictures: html::Pictures,
}

impl Growing {
    fn begin(
        path: &Path,
        session: &Session,
        folder: &Path,
        format: ExportFormat,
    ) -> io::Result<Self> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        let mut out = BufWriter::new(file);
        match format {
            ExportFormat::Markdown => markdown::begin(&mut out, session)?,
            ExportFormat::Html => html::begin(&mut out, session)?,
            ExportFormat::Json => begin_json(&mut out, session)?,
        }
        Ok(Self {
            format,
            out,
            blobs: attachment::folder(folder),
            entries: 0,
            pictures: html::Pictures::default(),
        })
    }

    fn add(&mut self, kept: &KeptEntry) -> io::Result<()> {
        match self.format {
            ExportFormat::Markdown => markdown::entry(&mut self.out, kept)?,
            ExportFormat::Html => {
                html::entry(&mut self.out, kept, &self.blobs, &mut self.pictures)?;
            }
            ExportFormat::Json => {
                let comma = if self.entries > 0 { ",\n" } else { "\n" };
                self.out.write_all(comma.as_bytes())?;
                serde_json::to_writer(&mut self.out, kept)?;
            }
        }
        self.entries += 1;
        Ok(())
    }

    fn end(mut self) -> io::Result<()> {
        match self.format {
            ExportFormat::Markdown => {}
            ExportFormat::Html => html::end(&mut self.out)?,
            ExportFormat::Json => self.out.write_all(b"\n]}\n")?,
        }
        self.out.flush()
    }
}

fn begin_json(out: &mut impl Write, session: &Session) -> io::Result<()> {
    let about = serde_json::json!({
        "id": session.id, "title": session.title, "dir": session.dir, "created_ms": session.created_ms,
    });
    write!(
        out,
        "{JSON_START}{JSON_VERSION},\"session\":{about},\"entries\":["
    )
}

impl Server {
    /// Writes a session into one file.
    ///
    /// # Errors
    /// Where there is none, or its store or the disk fails; then no file is left.
    pub(crate) async fn exported(
        self: Arc<Self>,
        id: SessionId,
        format: ExportFormat,
    ) -> Result<Exported, CallError> {
        let session = self.kept_session(&id).ok_or_else(unknown_session)?;
        let folder = folder(&self.session_folder(&id));
        let export = random_id::<12>();
        let part = folder.join(format!("{export}.part"));
        let written = self.write_export(&session, format, &part).await;
        let whole = folder.join(format!("{export}.{}", ending(format)));
        let kept = written.and_then(|()| {
            fs::rename(&part, &whole)
                .and_then(|()| fs::metadata(&whole))
                .map_err(|error| error.to_string())
        });
        match kept {
            Ok(metadata) => Ok(Exported {
                export,
                name: name(&session.title, ending(format)),
                bytes: metadata.len(),
            }),
            Err(error) => {
                // What is half is nothing.
                let _ = fs::remove_file(&part);
                let message = format!("cannot export the session: {error}");
                Err(CallError::new(ErrorCode::Unavailable, message)
                    .hint("check the disk that holds the data folder, then try again"))
            }
        }
    }

    async fn write_export(
        self: &Arc<Self>,
        session: &Session,
        format: ExportFormat,
        part: &Path,
    ) -> Result<(), String> {
        let folder = self.session_folder(&session.id);
        let (about, path) = (session.clone(), part.to_owned());
        let mut growing = off_loop(move || {
            make_private(&self::folder(&folder))?;
            sweep(&self::folder(&folder), SystemTime::now());
            Growing::begin(&path, &about, &folder, format)
        })
        .await?;
        let (mut last, mut more) = (0, session.opened);
        while more {
            let kept = self.kept_entries(&session.id, last).await?;
            more = kept.more && kept.last > last;
            last = kept.last;
            growing = off_loop(move || {
                for entry in kept.entries()? {
                    growing.add(&entry)?;
                }
                Ok(growing)
            })
            .await?;
        }
        off_loop(move || growing.end()).await
    }
}

async fn off_loop<T: Send + 'static>(
    job: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(job).await;
    let done = done.map_err(|error| error.to_string())?;
    done.map_err(|error| error.to_string())
}

/// Removes exports that have been there for long enough.
fn sweep(folder: &Path, now: SystemTime) {
    let Ok(files) = fs::read_dir(folder) else {
        return;
    };
    for file in files.flatten() {
        let age = file
            .metadata()
            .and_then(|known| known.modified())
            .map(|made| now.duration_since(made).unwrap_or_default());
        if age.is_ok_and(|age| age > STAYS) {
            // One that cannot be removed now is tried again with the next export.
            let _ = fs::remove_file(file.path());
        }
    }
}

/// Returns a time for people.
fn shown_time(ms: u64) -> String {
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_millis(ms.min(now_ms() * 4)))
}
