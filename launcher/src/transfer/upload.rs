//! Sending one file: in chunks, read from the descriptor that was agreed to, taken up again after a lost connection, and
//! taken back where it does not end well.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use porthole_door::{Attached, UPLOAD_CHUNK, UploadFinish, UploadOpen, UploadState, chunks};
use ring::digest::{Context, SHA256};
use tokio::sync::watch;

use super::{LocalFile, TransferError};
use crate::{
    backoff,
    credential::Record,
    door::{Answered, Door, STALL},
};

/// How often a server that has lost an upload (it was started anew) is sent the file from the beginning.
const BEGINNINGS: u32 = 3;

/// What is sent, and where to.
pub struct Upload {
    /// The door of the server.
    pub door: Door,
    /// The credential.
    pub record: Record,
    /// The session it is for.
    pub session: String,
    /// The name it is sent under.
    pub name: String,
    /// What is sent.
    pub content: Content,
}

/// What is sent.
#[derive(Clone, Debug)]
pub enum Content {
    /// A file of this computer.
    File(Arc<LocalFile>),
    /// Bytes that were pasted.
    Bytes(Arc<[u8]>),
}

impl Content {
    /// Returns its size in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::File(file) => file.bytes(),
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }

    fn check(&self) -> Result<(), TransferError> {
        match self {
            Self::File(file) => Ok(file.check()?),
            Self::Bytes(_) => Ok(()),
        }
    }

    /// Reads a chunk on a thread where waiting for a disk holds nobody up.
    async fn chunk(&self, chunk: u64) -> Result<Vec<u8>, TransferError> {
        let from = chunk * UPLOAD_CHUNK as u64;
        let rest = self.bytes().saturating_sub(from);
        let bytes = usize::try_from(rest)
            .unwrap_or(usize::MAX)
            .min(UPLOAD_CHUNK);
        match self {
            Self::File(file) => {
                let file = file.clone();
                let read = tokio::task::spawn_blocking(move || file.read(from, bytes)).await;
                Ok(read.map_err(|_| TransferError::Cancelled)??)
            }
            Self::Bytes(all) => {
                let from = usize::try_from(from).unwrap_or(usize::MAX);
                let part = all.get(from..).and_then(|rest| rest.get(..bytes));
                Ok(part.unwrap_or_default().to_vec())
            }
        }
    }
}

/// Sends it, telling `progress` the bytes that have arrived. `cancel` becoming true ends it.
///
/// # Errors
/// [`TransferError`]; nothing of it is left on the server that this launcher can reach.
pub async fn upload(
    upload: &Upload,
    progress: impl Fn(u64),
    mut cancel: watch::Receiver<bool>,
) -> Result<Attached, TransferError> {
    let mut sending = Sending {
        upload,
        id: None,
        begun: 0,
        failures: 0,
        moved: Instant::now(),
        sha256: None,
    };
    let ended = tokio::select! {
        ended = sending.send_all(&progress) => ended,
        _ = cancel.wait_for(|cancel| *cancel) => Err(TransferError::Cancelled),
    };
    if ended.is_err() {
        sending.take_back().await;
    }
    ended
}

struct Sending<'a> {
    upload: &'a Upload,
    id: Option<String>,
    begun: u32,
    failures: u32,
    moved: Instant,
    /// The hash of the whole, once all of it was sent.
    sha256: Option<String>,
}

impl Sending<'_> {
    async fn send_all(&mut self, progress: &impl Fn(u64)) -> Result<Attached, TransferError> {
        loop {
            match self.once(progress).await {
                Err(error) if error.is_transient() => self.wait(error).await?,
                ended => return ended,
            }
        }
    }

    /// Goes on from wherever the server is, until the end or a failure.
    async fn once(&mut self, progress: &impl Fn(u64)) -> Result<Attached, TransferError> {
        let upload = self.upload;
        upload.content.check()?;
        let proved = upload.door.prove(&upload.record.fingerprint).await?;
        if let Some(attached) = self.finished(&proved).await? {
            return Ok(attached);
        }
        let mut state = self.begin(&proved).await?;
        let count = chunks(upload.content.bytes());
        let mut hash = Hash::new(upload.content.clone());
        while state.next < count {
            let chunk = state.next;
            let bytes = upload.content.chunk(chunk).await?;
            hash.take(chunk, &bytes);
            // Each chunk carries the cookie, and may go by another connection than the one before.
            let proved = upload.door.prove(&upload.record.fingerprint).await?;
            state = proved
                .upload_chunk(&upload.record, &state.upload, chunk, bytes)
                .await?;
            if state.next != chunk + 1 {
                return Err(crate::door::DoorError::NotPorthole.into());
            }
            self.moved = Instant::now();
            self.failures = 0;
            let sent = state.next.saturating_mul(UPLOAD_CHUNK as u64);
            progress(sent.min(upload.content.bytes()));
        }
        let sha256 = hash.finish().await?;
        upload.content.check()?;
        self.sha256 = Some(sha256.clone());
        let finish = UploadFinish { sha256 };
        let attached = proved
            .upload_finish(&upload.record, &state.upload, &finish)
            .await?;
        self.id = None;
        Ok(attached)
    }

    /// Asks again for an end whose answer was lost: it is an attachment already, or it is not yet.
    async fn finished(
        &mut self,
        proved: &crate::door::Proved<'_>,
    ) -> Result<Option<Attached>, TransferError> {
        let (Some(id), Some(sha256)) = (self.id.clone(), self.sha256.take()) else {
            return Ok(None);
        };
        let finish = UploadFinish { sha256 };
        let record = &self.upload.record;
        match proved.upload_finish(record, &id, &finish).await {
            Ok(attached) => {
                self.id = None;
                Ok(Some(attached))
            }
            Err(Answered::Told {
                status: 404 | 409, ..
            }) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// Returns where the server is: in the upload that was begun, or in a new one where that is lost.
    async fn begin(
        &mut self,
        proved: &crate::door::Proved<'_>,
    ) -> Result<UploadState, TransferError> {
        let upload = self.upload;
        if let Some(id) = &self.id {
            match proved.upload_state(&upload.record, id).await {
                // The server was started anew and has swept it.
                Err(Answered::Told { status: 404, .. }) if self.begun < BEGINNINGS => {
                    self.id = None;
                }
                other => return Ok(other?),
            }
        }
        self.begun += 1;
        let open = UploadOpen {
            session: upload.session.clone(),
            name: upload.name.clone(),
            bytes: upload.content.bytes(),
            media_type: media_type(&upload.name),
        };
        let state = proved.upload_open(&upload.record, &open).await?;
        // The id becomes part of a path.
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if state.upload.is_empty() || state.upload.len() > 64 || !state.upload.bytes().all(plain) {
            return Err(crate::door::DoorError::NotPorthole.into());
        }
        self.id = Some(state.upload.clone());
        Ok(state)
    }

    async fn wait(&mut self, error: TransferError) -> Result<(), TransferError> {
        if self.moved.elapsed() >= STALL {
            return Err(TransferError::Stalled);
        }
        self.failures += 1;
        let asked = match &error {
            TransferError::Door(error) => error.asked_wait(),
            _ => None,
        };
        tokio::time::sleep(backoff::wait(self.failures, u32::MAX / 2, asked)).await;
        Ok(())
    }

    /// Has the server forget what it has; where it cannot be reached, it does so by itself after a while.
    async fn take_back(&self) {
        let Some(id) = &self.id else { return };
        let upload = self.upload;
        let told = async {
            let proved = upload.door.prove(&upload.record.fingerprint).await?;
            proved.upload_discard(&upload.record, id).await
        };
        let _ = tokio::time::timeout(Duration::from_secs(2), told).await;
    }
}

/// The hash of the whole, of which a part may have been sent before.
struct Hash {
    content: Content,
    context: Context,
    next: u64,
}

impl Hash {
    fn new(content: Content) -> Self {
        Self {
            content,
            context: Context::new(&SHA256),
            next: 0,
        }
    }

    /// Takes a chunk that is being sent anyway, where it is the next; the others are read again at the end.
    fn take(&mut self, chunk: u64, bytes: &[u8]) {
        if chunk == self.next {
            self.context.update(bytes);
            self.next += 1;
        }
    }

    async fn finish(mut self) -> Result<String, TransferError> {
        while self.next < chunks(self.content.bytes()) {
            let bytes = self.content.chunk(self.next).await?;
            self.context.update(&bytes);
            self.next += 1;
        }
        let digest = self.context.finish();
        Ok(digest
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect())
    }
}

/// Returns the media type that a name stands for.
fn media_type(name: &str) -> String {
    mime_guess::from_path(name)
        .first_raw()
        .unwrap_or("application/octet-stream")
        .to_owned()
}
