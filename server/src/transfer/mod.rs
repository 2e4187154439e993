//! Transfers at the door: files that people upload become attachments, and what a session has is read in ranges.
//! Nothing here is told to a UI, and a worker only ever reads what is finished.

pub mod attachment;
pub(crate) mod download;
mod growing;
pub(crate) mod upload;
mod uploads;

use std::{path::Path, sync::Arc};

use axum::http::StatusCode;
use porthole_door::{UPLOAD_CHUNK, UPLOAD_CHUNKS};
use porthole_env::Environment;
use porthole_protocol::{GuestMode, Role, SessionId, Who};

use crate::{answer::Failed, catalog::Session, server::Server};
use uploads::Uploads;

/// What the server keeps for transfers.
pub struct Transfers {
    uploads: Arc<Uploads>,
    environment: Arc<dyn Environment>,
}

impl Transfers {
    /// Returns none under way; `upload_bytes` is the largest upload that is taken.
    pub fn new(upload_bytes: u64) -> Self {
        let most = UPLOAD_CHUNKS * UPLOAD_CHUNK as u64;
        Self {
            uploads: Arc::new(Uploads::new(upload_bytes.min(most))),
            environment: porthole_env::local(),
        }
    }

    /// Removes what uploads of an earlier life of the server left unfinished in the data folder.
    pub fn sweep(data: &Path) {
        let Ok(sessions) = std::fs::read_dir(data.join("sessions")) else {
            return;
        };
        for session in sessions.flatten() {
            attachment::sweep(&attachment::folder(&session.path()));
        }
    }
}

/// Returns the session where `who` may read it.
fn readable(server: &Server, who: &Who, session: &str) -> Result<Session, Failed> {
    let id = SessionId::parse(session).map_err(|_| no_session())?;
    let may = match &who.role {
        Role::Owner => true,
        Role::Guest { session, .. } => *session == id,
    };
    server
        .kept_session(&id)
        .filter(|_| may)
        .ok_or_else(no_session)
}

/// Returns the session where `who` may also write to it.
fn writable(server: &Server, who: &Who, session: &str) -> Result<Session, Failed> {
    let kept = readable(server, who, session)?;
    match &who.role {
        Role::Owner
        | Role::Guest {
            mode: GuestMode::Full,
            ..
        } => Ok(kept),
        Role::Guest {
            mode: GuestMode::View,
            ..
        } => Err(Failed::new(
            StatusCode::FORBIDDEN,
            "guests who only look may not upload",
            "ask the owner for a link that lets you write",
        )),
    }
}

fn no_session() -> Failed {
    Failed::new(
        StatusCode::NOT_FOUND,
        "there is no such session for you",
        "",
    )
}

fn failed_to(what: &str, error: &std::io::Error) -> Failed {
    tracing::error!("cannot {what}: {error}");
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Failed::new(
            StatusCode::INSUFFICIENT_STORAGE,
            "the server's disk is full",
            "make room there and try again",
        ),
        _ => Failed::internal(),
    }
}
