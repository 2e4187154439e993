//! The file of the settings on disk: read bounded, written whole under a lock. What it says is the form's.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Largest file that is read.
const MOST_BYTES: u64 = 256 << 10;
/// How long a writer waits for another.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(20);

/// Returns the text; `None` where there is no file.
///
/// # Errors
/// Where it is there and cannot be read, is too large, or is no text.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        let message = format!("it is larger than {} KiB", MOST_BYTES >> 10);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// The right to write. It ends with the value, and with the process.
#[derive(Debug)]
pub(super) struct Writing(#[expect(dead_code, reason = "holding it is the point")] File);

/// Returns the right to write the file; waits for another writer.
///
/// # Errors
/// Where the lock cannot be made, or the other writer does not end in thirty seconds.
pub(super) fn lock(path: &Path) -> io::Result<Writing> {
    lock_within(path, PATIENCE)
}

fn lock_within(path: &Path, patience: Duration) -> io::Result<Writing> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path.with_extension("toml.lock"))?;
    let deadline = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Writing(file)),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                let message = "another program is writing it";
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK),
        }
    }
}

/// Writes the text in place of the file: whole, or not at all. Mode, owner, and a link to it stay.
///
/// # Errors
/// Where it cannot be written; the file is as it was.
pub(super) fn write(path: &Path, text: &str, _right: &Writing) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().map_or_else(PathBuf::new, Path::to_owned);
    let mut fresh = tempfile::Builder::new()
        .prefix(".settings-")
        .tempfile_in(&folder)?;
    fresh.write_all(text.as_bytes())?;
    if let Ok(before) = target.metadata() {
        let mode = std::fs::Permissions::from_mode(before.mode() & 0o7777);
        fresh.as_file().set_permissions(mode)?;
        let now = fresh.as_file().metadata()?;
        if (now.uid(), now.gid()) != (before.uid(), before.gid()) {
            std::os::unix::fs::fchown(fresh.as_file(), Some(before.uid()), Some(before.gid()))?;
        }
    }
    fresh.as_file().sync_all()?;
    fresh.persist(&target).map_err(|failed| failed.error)?;
    File::open(&folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_save_keeps_mode_and_link_and_leaves_nothing_behind() {
        let home = tempfile::tempdir().expect("a folder");
        let real = home.path().join("real");
        std::fs::create_dir(&real).expect("made");
        let (target, link) = (real.join("s.toml"), home.path().join("settings.toml"));
        std::fs::write(&target, "old").expect("written");
        std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).expect("set");
        std::os::unix::fs::symlink(&target, &link).expect("linked");
        let right = lock(&link).expect("locks");
        write(&link, "new", &right).expect("writes");
        assert_eq!(std::fs::read_to_string(&target).expect("read"), "new");
        assert!(link.symlink_metadata().expect("there").is_symlink());
        assert_eq!(target.metadata().expect("there").mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(&real).expect("lists").count(), 1);
    }

    #[test]
    fn two_writers_take_turns_and_the_second_does_not_wait_for_ever() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("settings.toml");
        let first = lock(&path).expect("locks");
        let second = lock_within(&path, Duration::ZERO).expect_err("refused");
        assert_eq!(second.kind(), io::ErrorKind::TimedOut);
        drop(first);
        assert!(lock_within(&path, Duration::ZERO).is_ok());
    }

    #[test]
    fn what_is_too_large_or_no_text_is_not_read() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("settings.toml");
        assert_eq!(read(&path).expect("none"), None);
        File::create(&path)
            .expect("made")
            .set_len(100 << 20)
            .expect("grown");
        assert!(read(&path).is_err());
        std::fs::write(&path, [0xff, 0xfe]).expect("written");
        assert!(read(&path).is_err());
    }
}
