//! A store that was copied as a file, made that of another session. It copies nothing itself.

use std::{path::Path, time::Duration};

use porthole_protocol::{CallError, ErrorCode};

use super::{StoreError, lock::Lock, schema};

/// What may not be copied while it is going on, since it would go on twice.
const GOES_ON: &str =
    "SELECT EXISTS (SELECT 1 FROM turns WHERE open) OR EXISTS (SELECT 1 FROM shells WHERE open)";

/// How long a copy waits for who reads in the store.
const PATIENCE: Duration = Duration::from_secs(5);

/// Does something with the files of a session while no other process or thread has its store. Blocks.
///
/// # Errors
/// Where someone else keeps the store.
pub fn with_store_held<T>(folder: &Path, work: impl FnOnce() -> T) -> Result<T, CallError> {
    let lock = Lock::take(folder, PATIENCE).map_err(|error| error.to_call_error())?;
    let done = work();
    drop(lock);
    Ok(done)
}

/// Settles a copied store in `folder`: what a person allowed in the one session is not allowed in the other. Blocks.
///
/// # Errors
/// `Conflict` where work was going on in it; otherwise what failed.
pub fn settle_copy(folder: &Path) -> Result<(), CallError> {
    let settled = settle(folder).map_err(|error| error.to_call_error())?;
    match settled {
        true => Ok(()),
        false => Err(
            CallError::new(ErrorCode::Conflict, "this session is working")
                .hint("copy it when it is done, or stop it first"),
        ),
    }
}

/// Returns whether nothing was going on.
fn settle(folder: &Path) -> Result<bool, StoreError> {
    let file = folder.join("session.db");
    schema::look(&file)?;
    let _lock = Lock::take(folder, Duration::ZERO)?;
    let connection = schema::open(&file, false)?;
    if connection.query_row(GOES_ON, [], |row| row.get(0))? {
        return Ok(false);
    }
    connection.execute("DELETE FROM allowed", [])?;
    Ok(true)
}
