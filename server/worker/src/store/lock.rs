//! One process at a time per store: an OS lock on a file beside it. The lock ends with the process, however that ends.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Write},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::StoreError;

/// How long between two tries.
const STEP: Duration = Duration::from_millis(20);

/// Holds the lock while it lives.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a folder, by its real path, so that a link to it is no way around. Blocks while another
    /// process holds it, but for no longer than `patience`: a worker whose server died takes a moment to leave.
    pub(super) fn take(folder: &Path, patience: Duration) -> Result<Self, StoreError> {
        let path = folder.canonicalize()?.join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let end = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(STEP),
                Err(TryLockError::WouldBlock) => return Err(StoreError::InUse(holder(&mut file))),
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
        file.set_len(0)?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Self { _file: file })
    }
}

/// Returns " (pid N)" where the holder wrote it.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = Read::by_ref(file).take(32).read_to_string(&mut text);
    match text.trim().parse::<u32>() {
        Ok(pid) if read.is_ok() => format!(" (pid {pid})"),
        _ => String::new(),
    }
}
