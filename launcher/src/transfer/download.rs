//! Saving one file: in ranges of one and the same version, into a temporary file that becomes the file only when it is whole.

use std::{path::PathBuf, sync::Arc, time::Instant};

use porthole_door::{DOWNLOAD_RANGE, Download, Source};
use tempfile::NamedTempFile;
use tokio::sync::watch;

use super::{
    Place, TransferError, name_in,
    place::{unwritable, write_at},
    safe_name,
};
use crate::{
    backoff,
    credential::Record,
    door::{Answered, Door, Range, STALL},
};

/// What is saved, and where.
pub struct Wish {
    /// The door of the server.
    pub door: Door,
    /// The credential.
    pub record: Record,
    /// The session.
    pub session: String,
    /// What of it.
    pub source: Source,
    /// The safe name that was agreed to; `None`: the one the server gives, made safe.
    pub name: Option<String>,
    /// Where to.
    pub place: Place,
    /// The largest file that is taken.
    pub limit: u64,
}

/// A saved file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Where it is.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Saves it, telling `progress` the bytes so far and in all. `cancel` becoming true ends it, and so does dropping it.
///
/// # Errors
/// [`TransferError`]; nothing of it is left here.
pub async fn download(
    wish: &Wish,
    progress: impl Fn(u64, u64),
    mut cancel: watch::Receiver<bool>,
) -> Result<Saved, TransferError> {
    tokio::select! {
        saved = save(wish, &progress) => saved,
        _ = cancel.wait_for(|cancel| *cancel) => Err(TransferError::Cancelled),
    }
}

async fn save(wish: &Wish, progress: &impl Fn(u64, u64)) -> Result<Saved, TransferError> {
    let first = range(wish, 0).await?;
    let (total, version) = (first.total, first.version.clone());
    if total > wish.limit {
        let (bytes, limit) = (total, wish.limit);
        return Err(TransferError::TooLarge { bytes, limit });
    }
    let name = match &wish.name {
        Some(name) => name.clone(),
        None => name_of(&first)?,
    };
    let file = wish.place.begin(total)?;
    let mut writer = Writer::new(&file)?;
    let (mut from, mut next) = (0, first);
    loop {
        check(&next, from, total, &version)?;
        let bytes = next.bytes.len() as u64;
        let written = writer.write(std::mem::take(&mut next.bytes), from);
        from += bytes;
        if from == total {
            written.await?;
            break;
        }
        // The next range is on its way while this one goes to the disk.
        let (done, following) = tokio::join!(written, range(wish, from));
        done?;
        next = following?;
        progress(from, total);
    }
    let path = keep(wish, file, name).await?;
    Ok(Saved { path, bytes: total })
}

/// Every range is of the same state of the file, and whole.
fn check(range: &Range, from: u64, total: u64, version: &str) -> Result<(), TransferError> {
    let expected = (total - from).min(DOWNLOAD_RANGE);
    let same = range.total == total && range.version == version;
    match same && range.bytes.len() as u64 == expected {
        true => Ok(()),
        false => Err(TransferError::Changed),
    }
}

/// Reads one range, again where the connection was lost, until nothing has moved for too long.
async fn range(wish: &Wish, from: u64) -> Result<Range, TransferError> {
    let asked = Download {
        session: wish.session.clone(),
        source: wish.source.clone(),
        from,
        bytes: DOWNLOAD_RANGE,
    };
    let begun = Instant::now();
    let mut failures = 0;
    loop {
        let error = match once(wish, &asked).await {
            Ok(range) => return Ok(range),
            Err(error) => TransferError::from(error),
        };
        if !error.is_transient() {
            return Err(error);
        }
        if begun.elapsed() >= STALL {
            return Err(TransferError::Stalled);
        }
        failures += 1;
        tokio::time::sleep(backoff::wait(failures, u32::MAX / 2, None)).await;
    }
}

/// The server proves its key before every range: the one before it may have come by a connection that is gone.
async fn once(wish: &Wish, asked: &Download) -> Result<Range, Answered> {
    let proved = wish.door.prove(&wish.record.fingerprint).await?;
    proved.range(&wish.record, asked).await
}

fn name_of(range: &Range) -> Result<String, TransferError> {
    let named = match &range.disposition {
        Some(header) => name_in(header).map_err(TransferError::Name)?,
        None => None,
    };
    safe_name(&named.unwrap_or_default()).map_err(TransferError::Name)
}

async fn keep(wish: &Wish, file: NamedTempFile, name: String) -> Result<PathBuf, TransferError> {
    let place = wish.place.clone();
    tokio::task::spawn_blocking(move || place.keep(file, &name))
        .await
        .map_err(|_| TransferError::Cancelled)?
}

/// Writes ranges on a thread where waiting for a disk holds nobody up.
struct Writer(Arc<std::fs::File>);

impl Writer {
    fn new(file: &NamedTempFile) -> Result<Self, TransferError> {
        let own = file.as_file().try_clone();
        own.map(|file| Self(Arc::new(file)))
            .map_err(|error| unwritable(&error))
    }

    fn write(
        &mut self,
        bytes: Vec<u8>,
        from: u64,
    ) -> impl Future<Output = Result<(), TransferError>> + use<> {
        let file = self.0.clone();
        let written = tokio::task::spawn_blocking(move || write_at(&file, &bytes, from));
        async move {
            let written = written.await.map_err(|_| TransferError::Cancelled)?;
            written.map_err(|error| unwritable(&error))
        }
    }
}
