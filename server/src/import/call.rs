//! A file becomes a session: read whole, written in one transaction, and only then in the list. Where a step fails, nothing
//! is left.

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
    sync::Arc,
};

use porthole_protocol::{
    CallError, EntryBody, ErrorCode, ModelRef, RequestId, SessionId, limits::TITLE_CHARS,
};

use super::{ImportError, Imported, parse};
use crate::{
    data::make_private,
    server::{Server, now_ms},
    sessions,
    switchboard::Input,
    token::random_id,
};

/// What became of a file.
pub(crate) struct Made {
    /// The session.
    pub(crate) session: SessionId,
    /// How many entries it has.
    pub(crate) entries: usize,
    /// How many lines had no place in it.
    pub(crate) skipped: usize,
}

impl Server {
    /// Makes a session of a file on this machine.
    ///
    /// # Errors
    /// What is wrong with the file, or why nothing can be kept.
    pub(crate) async fn import(
        self: &Arc<Self>,
        file: PathBuf,
        title: Option<String>,
    ) -> Result<Made, CallError> {
        let model = self.default_model().await?;
        let server = self.clone();
        let work = move || server.import_now(&file, title.as_deref(), &model);
        let made = tokio::task::spawn_blocking(work).await;
        made.unwrap_or_else(|error| Err(failed(&error.to_string())))
    }

    fn import_now(
        self: &Arc<Self>,
        file: &Path,
        title: Option<&str>,
        model: &ModelRef,
    ) -> Result<Made, CallError> {
        let mut imported = read(file).map_err(|error| {
            let message = format!("cannot import `{}`: {error}", file.display());
            CallError::new(ErrorCode::Invalid, message).hint(
                "`portholed export ID --format json` writes such a file; nothing was imported",
            )
        })?;
        let id = SessionId::parse(&random_id::<12>()).map_err(|e| failed(&e.to_string()))?;
        let title = title.map_or_else(|| title_of(&imported), str::to_owned);
        let mut session = sessions::create(
            id.clone(),
            directory(imported.dir.as_deref()),
            Some(&title),
            Some(model.clone()),
            now_ms(),
        )?;
        session.created_ms = imported.created_ms.unwrap_or(session.created_ms);
        session.opened = true;
        let (entries, skipped) = (imported.entries.len(), imported.skipped);
        let folder = self.session_folder(&id);
        let kept = make_private(&folder)
            .map_err(|error| error.to_string())
            .and_then(|()| {
                let entries = std::mem::take(&mut imported.entries);
                porthole_worker::import(&folder, model, entries).map_err(|error| error.to_string())
            })
            .and_then(|()| self.list(&session));
        if let Err(error) = kept {
            // It was never in the list: nobody has seen it.
            let _ = std::fs::remove_dir_all(&folder);
            return Err(failed(&error));
        }
        self.handle(Input::Kept(Box::new(session)));
        self.search().mark(&id);
        Ok(Made {
            session: id,
            entries,
            skipped,
        })
    }

    fn list(&self, session: &crate::catalog::Session) -> Result<(), String> {
        let request = RequestId::parse(&random_id::<20>()).map_err(|error| error.to_string())?;
        let added = self.catalog().add_session(session, &request);
        added.map_err(|error| error.to_string())
    }
}

fn read(path: &Path) -> Result<Imported, ImportError> {
    let told = |error: std::io::Error| ImportError::Read(error.to_string());
    // A pipe or a device would never end.
    if !std::fs::metadata(path).map_err(told)?.is_file() {
        return Err(ImportError::Read("it is no regular file".to_owned()));
    }
    parse(BufReader::new(File::open(path).map_err(told)?))
}

fn title_of(imported: &Imported) -> String {
    let first = imported
        .entries
        .iter()
        .find_map(|kept| match &kept.entry.body {
            EntryBody::Message { text, .. } => text.lines().find(|line| !line.trim().is_empty()),
            _ => None,
        });
    let title = imported
        .title
        .as_deref()
        .filter(|title| !title.trim().is_empty());
    let title = title.or(first).unwrap_or("Imported session");
    title.trim().chars().take(TITLE_CHARS.min(80)).collect()
}

/// The directory of the file where it is on this machine as well, otherwise the owner's home.
fn directory(named: Option<&str>) -> String {
    let there = named.filter(|dir| Path::new(dir).is_absolute() && Path::new(dir).is_dir());
    match (there, directories::BaseDirs::new()) {
        (Some(dir), _) => dir.to_owned(),
        (None, Some(dirs)) => dirs.home_dir().to_string_lossy().into_owned(),
        (None, None) => "/".to_owned(),
    }
}

fn failed(error: &str) -> CallError {
    CallError::new(
        ErrorCode::Unavailable,
        format!("cannot keep the session: {error}"),
    )
    .hint("check the disk that holds the data folder, then try again")
}
