//! The one request of a download: a range of an attachment, of a file in the session's directory, or of a command's output.
//! Opened, read, answered; nothing is kept between requests.

use std::{
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{
    body::Body,
    extract::{RawQuery, State},
    http::{Response, StatusCode, header},
    response::IntoResponse as _,
};
use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use porthole_door::{
    DOWNLOAD_RANGE, Download, HEADER_NAME, HEADER_TOTAL, HEADER_TYPE, HEADER_VERSION, Source,
};
use porthole_env::{Content, EnvError, ErrorKind};
use porthole_protocol::{AttachmentId, RunId, Who};

use super::{
    attachment::{self, UNKNOWN_TYPE},
    readable,
};
use crate::{answer::Failed, caller::Caller, catalog::Session, export, server::Server};

/// What is read: a path inside a folder that no link leads out of.
struct Found {
    root: PathBuf,
    path: PathBuf,
    name: String,
    media_type: String,
}

/// Answers one range.
pub(crate) async fn range(
    caller: Caller,
    State(server): State<Arc<Server>>,
    RawQuery(query): RawQuery,
) -> Result<Response<Body>, Failed> {
    let asked = Download::from_query(query.as_deref().unwrap_or_default())
        .map_err(|error| Failed::new(StatusCode::BAD_REQUEST, error.to_string(), ""))?;
    let session = match asked.session.as_str() {
        "" => owner_of(&server, &caller.who, &asked.source).ok_or_else(nothing)?,
        session => readable(&server, &caller.who, session)?,
    };
    if asked.bytes > DOWNLOAD_RANGE {
        return Err(Failed::new(
            StatusCode::BAD_REQUEST,
            format!("a range has at most {DOWNLOAD_RANGE} bytes"),
            "",
        ));
    }
    let found = find(&server, &session, &asked.source).ok_or_else(nothing)?;
    let content = server
        .transfers()
        .environment
        .read_inside(&found.root, &found.path, asked.from, asked.bytes)
        .await
        .map_err(refused)?;
    Ok(answer(&found, content))
}

/// Returns the session that has an attachment or an output of this id, among those that the caller may read.
fn owner_of(server: &Server, who: &Who, source: &Source) -> Option<Session> {
    if matches!(source, Source::File(_)) {
        return None;
    }
    let sessions = std::fs::read_dir(server.data().join("sessions")).ok()?;
    sessions.flatten().find_map(|entry| {
        let session = readable(server, who, entry.file_name().to_str()?).ok()?;
        let found = find(server, &session, source)?;
        found.root.join(found.path).exists().then_some(session)
    })
}

fn find(server: &Server, session: &Session, source: &Source) -> Option<Found> {
    let folder = server.session_folder(&session.id);
    match source {
        Source::Attachment(id) => {
            let id = AttachmentId::parse(id).ok()?;
            let root = attachment::folder(&folder);
            let kept = attachment::find(&root, &id)?;
            Some(Found {
                root,
                path: id.as_str().into(),
                name: kept.name,
                media_type: kept.media_type,
            })
        }
        Source::Output(run) => {
            let run = RunId::parse(run).ok()?;
            Some(Found {
                root: folder.join("runs"),
                path: run.as_str().into(),
                name: format!("output-{run}.txt"),
                media_type: "text/plain".to_owned(),
            })
        }
        Source::Export(id) => {
            let kept = export::find(&folder, id)?;
            Some(Found {
                root: kept.folder,
                path: kept.file.into(),
                name: export::name(&session.title, kept.ending),
                media_type: kept.media_type.to_owned(),
            })
        }
        Source::File(path) => {
            let path = Path::new(std::ffi::OsStr::from_bytes(path));
            let guess = mime_guess::from_path(path).first_raw();
            Some(Found {
                root: PathBuf::from(&session.dir),
                path: path.to_owned(),
                name: path.file_name()?.to_string_lossy().into_owned(),
                media_type: guess.unwrap_or(UNKNOWN_TYPE).to_owned(),
            })
        }
    }
}

fn answer(found: &Found, content: Content) -> Response<Body> {
    let name = percent_encode(found.name.as_bytes(), NON_ALPHANUMERIC);
    let headers = [
        (header::CONTENT_TYPE.as_str(), UNKNOWN_TYPE.to_owned()),
        (HEADER_VERSION, format!("{:016x}", content.stat.version)),
        (HEADER_TOTAL, content.stat.size.to_string()),
        (HEADER_TYPE, found.media_type.clone()),
        (HEADER_NAME, format!("attachment; filename*=UTF-8''{name}")),
    ];
    (headers, content.bytes).into_response()
}

fn nothing() -> Failed {
    Failed::new(
        StatusCode::NOT_FOUND,
        "there is no such file in this session",
        "",
    )
}

fn refused(error: EnvError) -> Failed {
    match error.kind {
        ErrorKind::NotFound | ErrorKind::NotFolder | ErrorKind::Invalid => nothing(),
        ErrorKind::Folder | ErrorKind::Special | ErrorKind::Denied => {
            Failed::new(StatusCode::CONFLICT, format!("it {}", error.message), "")
        }
        ErrorKind::Changed | ErrorKind::TooLarge | ErrorKind::Gone | ErrorKind::Other => {
            tracing::error!("cannot read for a download: {error}");
            Failed::internal()
        }
    }
}
