//! The requests of an upload: open, state, chunk, finish, discard. Each asks anew whether the caller may.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, to_bytes},
    extract::{Path, Request, State},
    http::{Response, StatusCode},
};
use porthole_door::{Attached, UPLOAD_CHUNK, UploadFinish, UploadOpen};
use porthole_protocol::{AttachmentId, Who};

use super::{
    attachment::{self, Kept},
    growing::Plan,
    uploads::Upload,
    writable,
};
use crate::{
    answer::{Failed, json},
    caller::Caller,
    door::body,
    server::{Server, now_ms},
    token::random_id,
};

/// How long a chunk may take to arrive.
const CHUNK_TIME: Duration = Duration::from_secs(60);

/// Begins an upload.
pub(crate) async fn open(
    caller: Caller,
    State(server): State<Arc<Server>>,
    request: Request,
) -> Result<Response<Body>, Failed> {
    let asked: UploadOpen = body(request).await?;
    let session = writable(&server, &caller.who, &asked.session)?;
    if session.archived {
        return Err(Failed::new(
            StatusCode::CONFLICT,
            "this session is archived",
            "restore it first",
        ));
    }
    let plan = Plan {
        id: AttachmentId::parse(&random_id::<16>()).map_err(|_| Failed::internal())?,
        blobs: attachment::folder(&server.session_folder(&session.id)),
        session: session.id,
        who: caller.who,
        name: attachment::clean_name(&asked.name),
        bytes: asked.bytes,
        media_type: asked.media_type,
    };
    let upload = server.transfers().uploads.begin(plan)?;
    let state = upload.growing.lock().await.state(&upload.plan);
    Ok(json(StatusCode::OK, &state))
}

/// Tells which chunk comes next.
pub(crate) async fn state(
    caller: Caller,
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
) -> Result<Response<Body>, Failed> {
    let upload = theirs(&server, &caller.who, &id)?;
    let state = upload.growing.lock().await.state(&upload.plan);
    Ok(json(StatusCode::OK, &state))
}

/// Takes a chunk.
pub(crate) async fn chunk(
    caller: Caller,
    State(server): State<Arc<Server>>,
    Path((id, chunk)): Path<(String, u64)>,
    request: Request,
) -> Result<Response<Body>, Failed> {
    let upload = theirs(&server, &caller.who, &id)?;
    let arriving = to_bytes(request.into_body(), UPLOAD_CHUNK);
    let bytes = tokio::time::timeout(CHUNK_TIME, arriving)
        .await
        .map_err(|_| Failed::new(StatusCode::REQUEST_TIMEOUT, "the chunk came too slowly", ""))?
        .map_err(|_| {
            Failed::new(
                StatusCode::BAD_REQUEST,
                "the chunk did not arrive whole",
                "",
            )
        })?;
    let mut growing = upload.growing.lock().await;
    // It may have ended while the bytes were on their way.
    theirs(&server, &caller.who, &id)?;
    growing.take(&upload.plan, chunk, bytes).await?;
    Ok(json(StatusCode::OK, &growing.state(&upload.plan)))
}

/// Makes an upload an attachment. Asked for again after a lost answer, it gives the same answer.
pub(crate) async fn finish(
    caller: Caller,
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response<Body>, Failed> {
    let asked: UploadFinish = body(request).await?;
    let upload = match theirs(&server, &caller.who, &id) {
        Ok(upload) => upload,
        Err(gone) => return finished(&server, &caller.who, &id, &asked).ok_or(gone),
    };
    let uploads = &server.transfers().uploads;
    let growing = upload.growing.lock().await;
    if let Err(gone) = theirs(&server, &caller.who, &id) {
        return finished(&server, &caller.who, &id, &asked).ok_or(gone);
    }
    match growing.finish(&upload.plan, &asked.sha256, now_ms()).await {
        Ok(kept) => {
            uploads.finish(&upload.plan);
            tracing::info!(session = %upload.plan.session, bytes = kept.bytes, "a file was uploaded");
            Ok(answer(&upload.plan.id, &kept))
        }
        Err(failed) => {
            // A chunk that is missing can still come; anything else cannot be mended.
            if failed.status() != StatusCode::CONFLICT {
                uploads.discard(&upload.plan.id);
            }
            Err(failed)
        }
    }
}

/// Takes an upload back.
pub(crate) async fn discard(
    caller: Caller,
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
) -> Result<Response<Body>, Failed> {
    let upload = theirs(&server, &caller.who, &id)?;
    server.transfers().uploads.discard(&upload.plan.id);
    Ok(json(StatusCode::OK, &serde_json::json!({})))
}

/// Returns the upload where it is the caller's, who may still write to its session.
fn theirs(server: &Server, who: &Who, id: &str) -> Result<Arc<Upload>, Failed> {
    let upload = AttachmentId::parse(id)
        .ok()
        .and_then(|id| server.transfers().uploads.find(&id))
        .filter(|upload| upload.plan.who.id == who.id)
        .ok_or_else(|| {
            Failed::new(
                StatusCode::NOT_FOUND,
                "there is no such upload any more",
                "begin it again",
            )
        })?;
    writable(server, who, upload.plan.session.as_str())?;
    Ok(upload)
}

/// Returns the answer to whoever finished this upload before, as the hash shows, and did not hear of it.
fn finished(server: &Server, who: &Who, id: &str, asked: &UploadFinish) -> Option<Response<Body>> {
    let id = AttachmentId::parse(id).ok()?;
    let blobs = server.transfers().uploads.finished(&id)?;
    let kept = attachment::find(&blobs, &id)?;
    (kept.who.id == who.id && kept.sha256 == asked.sha256).then(|| answer(&id, &kept))
}

fn answer(id: &AttachmentId, kept: &Kept) -> Response<Body> {
    let attached = Attached {
        id: id.to_string(),
        name: kept.name.clone(),
        bytes: kept.bytes,
        media_type: kept.media_type.clone(),
    };
    json(StatusCode::OK, &attached)
}
