//! Search over all sessions: one index, kept up with what workers say they committed, and made again from the stores where it
//! is missing. Nothing here wakes a worker or resumes work.

mod answer;
mod excerpt;
mod index;
mod question;
mod rank;
mod words;

use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, Mutex},
};

use porthole_protocol::SessionId;
use tokio::sync::Notify;

pub use excerpt::{Excerpt, excerpt};
pub use index::{Candidate, Candidates, Doc, Index, Reader};
pub use question::Question;
pub use rank::{Page, Title, page, titles};
pub use words::{Weight, Words, may_be_kept, words};

use crate::{
    redact::Known,
    server::{Server, locked},
};

/// The index, and what waits to be taken in.
pub struct Search {
    files: Result<Files, String>,
    waiting: Mutex<VecDeque<SessionId>>,
    woken: Notify,
}

struct Files {
    index: Mutex<Index>,
    reader: Mutex<Reader>,
}

impl Search {
    /// Opens the index of a data folder. Where that fails, searches say why, and all else goes on.
    pub fn open(data: &Path) -> Self {
        let files = Index::open(data).and_then(|index| {
            Ok(Files {
                index: Mutex::new(index),
                reader: Mutex::new(Reader::open(data)?),
            })
        });
        if let Err(error) = &files {
            tracing::error!("there is no search: {error}");
        }
        Self {
            files: files.map_err(|error| error.to_string()),
            waiting: Mutex::default(),
            woken: Notify::new(),
        }
    }

    /// Has a session looked at: what is new is taken in; one that is gone is taken out.
    pub fn mark(&self, session: &SessionId) {
        let mut waiting = locked(&self.waiting);
        if !waiting.contains(session) {
            waiting.push_back(session.clone());
            self.woken.notify_one();
        }
    }

    /// Has the whole index looked at for secrets that became known.
    pub fn secrets_changed(&self) {
        self.woken.notify_one();
    }

    /// Returns whether something waits to be taken in.
    pub fn is_behind(&self) -> bool {
        !locked(&self.waiting).is_empty()
    }

    /// Finds texts. Blocks.
    ///
    /// # Errors
    /// Why it cannot, for a person.
    pub fn find(
        &self,
        question: &Question,
        session: Option<&SessionId>,
        before: i64,
    ) -> Result<Candidates, String> {
        let files = self.files.as_ref().map_err(Clone::clone)?;
        let found = locked(&files.reader).find(question, session, before);
        found.map_err(|error| error.to_string())
    }

    /// Does something with the index. Blocks.
    fn write<T>(&self, job: impl FnOnce(&mut Index) -> rusqlite::Result<T>) -> Result<T, String> {
        let files = self.files.as_ref().map_err(Clone::clone)?;
        job(&mut locked(&files.index)).map_err(|error| error.to_string())
    }
}

/// Keeps the index of a server up to date until the server ends.
pub(crate) async fn run(server: Arc<Server>) {
    if server.search().files.is_err() {
        return;
    }
    let ended = server.until_down();
    let work = async {
        begin(&server);
        let mut known = None;
        loop {
            let woken = server.search().woken.notified();
            let now = server.redaction().known();
            if known.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &now)) {
                redact(&server).await;
                known = Some(now);
            }
            while let Some(session) = next(&server) {
                if let Err(error) = take_in(&server, &session).await {
                    tracing::warn!(%session, "not all of it can be searched: {error}");
                }
                done(&server, &session);
            }
            woken.await;
        }
    };
    tokio::select! {
        () = ended => {}
        () = work => {}
    }
}

/// Marks every session that is there or was: the oldest first, so that newer texts have higher numbers.
fn begin(server: &Arc<Server>) {
    let gone = server.search().write(|index| index.sessions());
    let mut there = server.kept_sessions();
    there.sort_by_key(|session| session.updated_ms);
    for session in gone.unwrap_or_default() {
        if server.kept_session(&session).is_none() {
            server.search().mark(&session);
        }
    }
    for session in there {
        server.search().mark(&session.id);
    }
}

/// It stays in the list while it is looked at, so that a search can say so.
fn next(server: &Arc<Server>) -> Option<SessionId> {
    locked(&server.search().waiting).front().cloned()
}

fn done(server: &Arc<Server>, session: &SessionId) {
    let mut waiting = locked(&server.search().waiting);
    if waiting.front() == Some(session) {
        waiting.pop_front();
    }
}

/// Takes in what a session committed since.
async fn take_in(server: &Arc<Server>, session: &SessionId) -> Result<(), String> {
    match server.kept_session(session) {
        None => {
            let id = session.clone();
            return blocking(server, move |search, _| search.write(|i| i.forget(&id))).await;
        }
        Some(kept) if !kept.opened => return Ok(()),
        Some(_) => {}
    }
    loop {
        let id = session.clone();
        let last = blocking(server, move |search, _| search.write(|i| i.last(&id))).await?;
        let kept = server.kept_entries(session, last).await?;
        if kept.last <= last {
            return Ok(());
        }
        let (id, more) = (session.clone(), kept.more);
        blocking(server, move |search, known| {
            let entries = kept.entries().map_err(|error| error.to_string())?;
            let docs: Vec<Doc> = entries.iter().filter_map(|e| doc(e, known)).collect();
            search.write(|index| index.add(&id, &docs, kept.last))
        })
        .await?;
        if !more {
            return Ok(());
        }
    }
}

fn doc(kept: &porthole_worker::wire::KeptEntry, known: &Known) -> Option<Doc> {
    Some(Doc {
        conversation: kept.conversation.0,
        entry: kept.entry.id.0,
        at_ms: kept.entry.at_ms,
        words: words(&kept.entry, known)?,
    })
}

/// Takes out what is known to be a secret only now.
async fn redact(server: &Arc<Server>) {
    let outdated = blocking(server, |search, known| {
        search.write(|index| index.is_outdated(known))
    });
    let mut after = match outdated.await {
        Ok(true) => Some(0),
        _ => None,
    };
    while let Some(from) = after {
        let batch = blocking(server, move |search, known| {
            search.write(|index| index.redact(known, from))
        });
        after = batch.await.unwrap_or_else(|error| {
            tracing::error!("the search index may hold a secret: {error}");
            None
        });
    }
}

async fn blocking<T: Send + 'static>(
    server: &Arc<Server>,
    job: impl FnOnce(&Search, &Known) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let server = server.clone();
    let job = move || job(server.search(), &server.redaction().known());
    let done = tokio::task::spawn_blocking(job).await;
    done.unwrap_or_else(|error| Err(error.to_string()))
}

#[cfg(test)]
mod tests;
