//! One upload as it grows: chunks in order, each once, hashed as they come. Who sends them is decided elsewhere.

use std::{fs::File, os::unix::fs::FileExt as _, path::PathBuf, sync::Arc, time::Instant};

use axum::{body::Bytes, http::StatusCode};
use porthole_door::{UPLOAD_CHUNK, UploadState, chunks};
use porthole_protocol::{AttachmentId, SessionId, Who};
use ring::digest::{Context, SHA256};

use super::{
    attachment::{self, Kept},
    failed_to,
};
use crate::{answer::Failed, token::hex};

/// Bytes of the beginning in which a media type is looked for.
const HEAD: usize = 8 << 10;

/// What an upload is of; does not change.
pub(super) struct Plan {
    pub(super) id: AttachmentId,
    pub(super) session: SessionId,
    pub(super) who: Who,
    pub(super) blobs: PathBuf,
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) media_type: String,
}

/// What has arrived.
pub(super) struct Growing {
    file: Arc<File>,
    next: u64,
    hash: Context,
    head: Vec<u8>,
    /// When a chunk last arrived.
    pub(super) last: Instant,
}

impl Growing {
    /// Makes the file, where nobody else reads it.
    pub(super) fn begin(plan: &Plan) -> std::io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt as _;
        attachment::make_folder(&plan.blobs)?;
        let file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(attachment::part(&plan.blobs, &plan.id))?;
        Ok(Self {
            file: Arc::new(file),
            next: 0,
            hash: Context::new(&SHA256),
            head: Vec::new(),
            last: Instant::now(),
        })
    }

    /// Returns where it is.
    pub(super) fn state(&self, plan: &Plan) -> UploadState {
        UploadState {
            upload: plan.id.to_string(),
            next: self.next,
            chunks: chunks(plan.bytes),
        }
    }

    /// Takes a chunk. The one before the next was taken already: its answer was lost.
    pub(super) async fn take(
        &mut self,
        plan: &Plan,
        chunk: u64,
        body: Bytes,
    ) -> Result<(), Failed> {
        self.last = Instant::now();
        if self.next.checked_sub(1) == Some(chunk) {
            return Ok(());
        }
        if chunk != self.next || chunk >= chunks(plan.bytes) {
            return Err(Failed::new(
                StatusCode::CONFLICT,
                format!("chunk {} comes next", self.next),
                "",
            ));
        }
        let begin = chunk * UPLOAD_CHUNK as u64;
        let expected = (plan.bytes - begin).min(UPLOAD_CHUNK as u64);
        if body.len() as u64 != expected {
            return Err(Failed::new(
                StatusCode::BAD_REQUEST,
                format!("chunk {chunk} has {expected} bytes"),
                "",
            ));
        }
        if self.head.is_empty() {
            self.head = body[..body.len().min(HEAD)].to_vec();
        }
        let (file, mut hash) = (self.file.clone(), self.hash.clone());
        let written = tokio::task::spawn_blocking(move || {
            file.write_all_at(&body, begin)?;
            hash.update(&body);
            Ok(hash)
        });
        let written: std::io::Result<Context> = written.await.map_err(|_| Failed::internal())?;
        self.hash = written.map_err(|error| failed_to("keep an upload", &error))?;
        self.next += 1;
        Ok(())
    }

    /// Makes it an attachment, where all of it has arrived and is what was sent.
    pub(super) async fn finish(
        &self,
        plan: &Arc<Plan>,
        sha256: &str,
        at_ms: u64,
    ) -> Result<Kept, Failed> {
        if self.next != chunks(plan.bytes) {
            return Err(Failed::new(
                StatusCode::CONFLICT,
                format!("chunk {} comes next", self.next),
                "",
            ));
        }
        let kept = Kept {
            name: plan.name.clone(),
            bytes: plan.bytes,
            media_type: attachment::media_type(&self.head, &plan.media_type),
            sha256: hex(self.hash.clone().finish().as_ref()),
            who: plan.who.clone(),
            at_ms,
        };
        if kept.sha256 != sha256 {
            return Err(Failed::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "what arrived is not what was sent",
                "send the file again",
            ));
        }
        let (plan, file, known) = (plan.clone(), self.file.clone(), kept.clone());
        tokio::task::spawn_blocking(move || attachment::keep(&plan.blobs, &plan.id, &file, &known))
            .await
            .map_err(|_| Failed::internal())?
            .map_err(|error| failed_to("keep an attachment", &error))?;
        Ok(kept)
    }
}
