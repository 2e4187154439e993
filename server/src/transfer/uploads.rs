//! The uploads that are under way: how many, how large, for how long. What one of them does is its own matter.

use std::{
    collections::{HashMap, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use porthole_protocol::AttachmentId;

use super::{
    attachment, failed_to,
    growing::{Growing, Plan},
};
use crate::{answer::Failed, server::locked};

/// Uploads that one person may have under way.
const A_PERSON: usize = 4;
/// Uploads that may be under way.
const ALL: usize = 32;
/// Bytes of all attachments of one session, unless single ones may be larger than a quarter of it.
const SESSION_BYTES: u64 = 1 << 30;
/// Finished uploads that are remembered.
const FINISHED: usize = 64;
/// After how long without a chunk an upload is given up.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// One upload under way.
pub(super) struct Upload {
    pub(super) plan: Arc<Plan>,
    pub(super) growing: tokio::sync::Mutex<Growing>,
}

/// The uploads under way.
pub(super) struct Uploads {
    /// Largest upload.
    pub(super) limit: u64,
    open: Mutex<HashMap<AttachmentId, Arc<Upload>>>,
    /// The newest finished ones and their folders, for whoever did not hear the answer.
    finished: Mutex<VecDeque<(AttachmentId, PathBuf)>>,
}

impl Uploads {
    pub(super) fn new(limit: u64) -> Self {
        Self {
            limit,
            open: Mutex::default(),
            finished: Mutex::default(),
        }
    }

    /// Begins an upload, where there is room for it.
    pub(super) fn begin(self: &Arc<Self>, plan: Plan) -> Result<Arc<Upload>, Failed> {
        self.check_size(&plan)?;
        let mut open = locked(&self.open);
        let theirs = |upload: &&Arc<Upload>| upload.plan.who.id == plan.who.id;
        if open.len() >= ALL || open.values().filter(theirs).count() >= A_PERSON {
            return Err(Failed::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too many uploads are under way",
                "wait until one has ended",
            )
            .retry_after(5));
        }
        let coming: u64 = open
            .values()
            .filter(|upload| upload.plan.session == plan.session)
            .map(|upload| upload.plan.bytes)
            .sum();
        let room = SESSION_BYTES.max(self.limit.saturating_mul(4));
        if attachment::total(&plan.blobs) + coming + plan.bytes > room {
            return Err(Failed::new(
                StatusCode::INSUFFICIENT_STORAGE,
                format!(
                    "the attachments of this session would be over {}",
                    mib(room)
                ),
                "go on in another session",
            ));
        }
        let growing =
            Growing::begin(&plan).map_err(|error| failed_to("begin an upload", &error))?;
        let upload = Arc::new(Upload {
            plan: Arc::new(plan),
            growing: tokio::sync::Mutex::new(growing),
        });
        open.insert(upload.plan.id.clone(), upload.clone());
        self.watch(upload.clone());
        Ok(upload)
    }

    fn check_size(&self, plan: &Plan) -> Result<(), Failed> {
        if plan.bytes <= self.limit {
            return Ok(());
        }
        Err(Failed::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("this server takes files of up to {}", mib(self.limit)),
            "its owner can let it take more with `portholed serve --max-upload MIB`",
        ))
    }

    pub(super) fn find(&self, id: &AttachmentId) -> Option<Arc<Upload>> {
        locked(&self.open).get(id).cloned()
    }

    /// Takes out an upload that has become an attachment.
    pub(super) fn finish(&self, plan: &Plan) {
        let mut finished = locked(&self.finished);
        finished.truncate(FINISHED - 1);
        finished.push_front((plan.id.clone(), plan.blobs.clone()));
        locked(&self.open).remove(&plan.id);
    }

    /// Returns the folder of an upload that was finished lately.
    pub(super) fn finished(&self, id: &AttachmentId) -> Option<PathBuf> {
        let finished = locked(&self.finished);
        let (_, blobs) = finished.iter().find(|(finished, _)| finished == id)?;
        Some(blobs.clone())
    }

    /// Ends an upload and removes what has arrived of it.
    pub(super) fn discard(&self, id: &AttachmentId) {
        if let Some(upload) = locked(&self.open).remove(id) {
            // What is left behind goes at the next start.
            let _ = std::fs::remove_file(attachment::part(&upload.plan.blobs, id));
        }
    }

    /// Gives the upload up once nothing came for long; ends with it.
    fn watch(self: &Arc<Self>, upload: Arc<Upload>) {
        let uploads = self.clone();
        tokio::spawn(async move {
            loop {
                let due = upload.growing.lock().await.last + IDLE;
                tokio::time::sleep_until(due.into()).await;
                if uploads.find(&upload.plan.id).is_none() {
                    return;
                }
                if upload.growing.lock().await.last + IDLE <= Instant::now() {
                    return uploads.discard(&upload.plan.id);
                }
            }
        });
    }
}

/// Returns a size in words.
fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}
