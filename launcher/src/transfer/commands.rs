//! `porthole upload` and `porthole download`: the same transfers from the shell. What is named there is agreed to.

use std::{
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use porthole_door::Source;
use tokio::sync::watch;

use super::{LocalFile, Place, TransferError, Upload, Wish, local_path, size, upload::Content};
use crate::{
    credential::{Known, Record, Store},
    door::{Door, Tls},
    escape,
    failure::Failure,
    folders::Folders,
    launch,
    preferences::Preferences,
};

/// What both commands work with.
struct Means {
    door: Door,
    record: Record,
    limit: u64,
    cancel: watch::Receiver<bool>,
}

/// Uploads files for a session; prints the id and name of each attachment.
///
/// # Errors
/// Where one of them is not to be sent, before any is; or a transfer ended early.
pub fn upload(files: &[String], session: &str, origin: Option<String>) -> Result<u8, Failure> {
    run(origin, Some(session), async |means| {
        let opened: Result<Vec<_>, Failure> =
            files.iter().map(|file| open(file, means.limit)).collect();
        for file in opened? {
            send(&means, file, session).await?;
        }
        Ok(0)
    })
}

fn open(text: &str, limit: u64) -> Result<LocalFile, Failure> {
    let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
    local_path(text, home.as_deref())
        .and_then(|path| LocalFile::open(&path, limit))
        .map_err(|refused| {
            let shown = escape::visible(text);
            Failure::new(format!("`{shown}` {refused}"), "nothing was sent")
        })
}

async fn send(means: &Means, file: LocalFile, session: &str) -> Result<(), Failure> {
    let (name, bytes) = (file.name(), file.bytes());
    let shown = escape::visible(&name);
    let what = Upload {
        door: means.door.clone(),
        record: means.record.clone(),
        session: session.to_owned(),
        name,
        content: Content::File(Arc::new(file)),
    };
    let told = Told::new(format!("uploading {shown}"));
    let sent = super::upload(&what, |so_far| told.at(so_far, bytes), means.cancel.clone()).await;
    told.end();
    let attached = sent.map_err(|error| named(&shown, &error))?;
    crate::say(&format!("{}  {}", escape::visible(&attached.id), shown))
}

/// Downloads an attachment or a command's output by its id, or a file of a session by its path; prints where it is.
///
/// # Errors
/// Where there is no such thing, or the transfer ended early.
pub fn download(
    id: &str,
    session: Option<String>,
    is_path: bool,
    to: Option<PathBuf>,
    origin: Option<String>,
) -> Result<u8, Failure> {
    let folder = to.unwrap_or_else(|| Path::new(".").to_owned());
    let sources = match is_path {
        true => vec![Source::File(id.as_bytes().to_vec())],
        false => vec![
            Source::Attachment(id.to_owned()),
            Source::Output(id.to_owned()),
        ],
    };
    run(origin, session.as_deref(), async |means| {
        let mut failed = None;
        for source in sources {
            match fetch(&means, source, session.as_deref(), &folder).await {
                Ok(path) => {
                    crate::say(&escape::visible(&path.to_string_lossy()))?;
                    return Ok(0);
                }
                Err(error @ TransferError::Told { .. }) => failed = failed.or(Some(error)),
                Err(error) => return Err(named(&escape::visible(id), &error)),
            }
        }
        let error = failed.unwrap_or(TransferError::Cancelled);
        Err(named(&escape::visible(id), &error))
    })
}

async fn fetch(
    means: &Means,
    source: Source,
    session: Option<&str>,
    folder: &Path,
) -> Result<PathBuf, TransferError> {
    let wish = Wish {
        door: means.door.clone(),
        record: means.record.clone(),
        session: session.unwrap_or_default().to_owned(),
        source,
        name: None,
        place: Place::new(folder.to_owned()),
        limit: means.limit,
    };
    let told = Told::new("downloading".to_owned());
    let saved = super::download(
        &wish,
        |so_far, all| told.at(so_far, all),
        means.cancel.clone(),
    );
    let saved = saved.await;
    told.end();
    Ok(saved?.path)
}

fn named(shown: &str, error: &TransferError) -> Failure {
    let mut failure = error.to_failure();
    failure.message = format!("`{shown}`: {}", failure.message);
    failure
}

/// Finds the server and runs `work`; an interrupt or the end of the terminal cancels it, so that it leaves nothing behind.
fn run(
    origin: Option<String>,
    session: Option<&str>,
    work: impl AsyncFnOnce(Means) -> Result<u8, Failure>,
) -> Result<u8, Failure> {
    let folders = Folders::of_visitor()?;
    let known = Store::open(&folders.state)?.known()?;
    known.warn();
    let record = choose(&known, origin, session)?;
    let limit = Preferences::read(&folders.config)?.transfer_bytes();
    let at_door = |error: crate::door::DoorError| error.to_failure(&record.origin);
    let tls = Tls::for_origin(&record.origin).map_err(at_door)?;
    let door = Door::new(&record.origin, &tls).map_err(at_door)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let (ending, cancel) = watch::channel(false);
        let mut signals = crate::signals::Signals::new()?;
        tokio::spawn(async move {
            loop {
                match signals.next().await {
                    crate::signals::ProcessSignal::End(_)
                    | crate::signals::ProcessSignal::Interrupt => break,
                    crate::signals::ProcessSignal::Size
                    | crate::signals::ProcessSignal::Continued => {}
                    crate::signals::ProcessSignal::Stop => crate::signals::stop_self(),
                }
            }
            ending.send_replace(true);
            // The receiver keeps the word; the sender must outlive whoever asks.
            std::future::pending::<()>().await;
        });
        work(Means {
            door,
            record,
            limit,
            cancel,
        })
        .await
    })
}

/// Returns whom to be at that server, or at the last one used: the owner, else the guest of that session.
fn choose(known: &Known, origin: Option<String>, session: Option<&str>) -> Result<Record, Failure> {
    let origin = match origin {
        Some(text) => Some(launch::origin_of(&text)?),
        None => known.records.first().map(|record| record.origin.clone()),
    };
    let records = origin.map(|origin| known.of(&origin)).unwrap_or_default();
    let fits = |record: &&Record| match record.session() {
        Some(theirs) => session.is_none_or(|wanted| wanted == theirs),
        None => true,
    };
    records.iter().find(fits).cloned().ok_or_else(|| {
        Failure::new(
            "no such server is known, or none of its credentials is for that session",
            "`porthole servers` lists those that are; `porthole LINK` opens one",
        )
    })
}

/// Progress on a terminal's standard error, one line that is written over.
struct Told(Option<String>);

impl Told {
    fn new(what: String) -> Self {
        Self(std::io::stderr().is_terminal().then_some(what))
    }

    fn at(&self, so_far: u64, all: u64) {
        if let Some(what) = &self.0 {
            let line = format!("\r{what}: {} of {}\x1b[K", size(so_far), size(all));
            // Nobody to tell means nothing to do.
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }

    fn end(&self) {
        if self.0.is_some() {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
        }
    }
}
