//! Writing a file at exactly a path: no part of it may be a link, also not one that is put there meanwhile. Each folder is
//! opened from the one above it, and the file is made and renamed within the last. What may be written is decided elsewhere.

use std::{
    ffi::{OsStr, OsString},
    fs::{File, Metadata},
    io::Write as _,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Component, Path},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{
        AtFlags, CWD, Mode, OFlags, RenameFlags, mkdirat, openat, renameat, renameat_with, unlinkat,
    },
    io::Errno,
};

use super::files::{
    NEW_FILE_MODE, changed, check, describe, keep_owner_and_mode, refuse_what_is_no_file,
};
use crate::{EnvError, ErrorKind, Expect, Stat};

const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::RDONLY);

pub(super) fn write(path: &Path, bytes: &[u8], expect: Expect) -> Result<Stat, EnvError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(EnvError::new(ErrorKind::Folder, "is a folder"));
    };
    let folder = open(parent)?;
    let before = existing(folder.as_fd(), name)?;
    check(expect, before.as_ref())?;
    let part = Part::new(folder.as_fd())?;
    (&part.file).write_all(bytes)?;
    if let Some(before) = &before {
        keep_owner_and_mode(&part.file, before)?;
    }
    part.file.sync_all()?;
    // Checked again as late as can be: the window in which another writer's bytes get lost is this short.
    check(expect, existing(folder.as_fd(), name)?.as_ref())?;
    let done = part.become_file(name, expect)?;
    // Without it the new name may be lost with the power. Not every file system can, so a failure is no error.
    let _ = File::from(folder).sync_all();
    Ok(describe(path.to_owned(), &done.metadata()?))
}

/// Opens a folder without following a link on the way; makes what is missing.
fn open(path: &Path) -> Result<OwnedFd, EnvError> {
    let mut at = openat(CWD, "/", FOLDER, Mode::empty()).map_err(error)?;
    for part in path.components() {
        let name = match part {
            Component::Normal(name) => name,
            Component::RootDir | Component::CurDir => continue,
            Component::ParentDir | Component::Prefix(_) => return Err(leads_elsewhere()),
        };
        at = match openat(&at, name, FOLDER, Mode::empty()) {
            Err(Errno::NOENT) => {
                match mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(error(errno)),
                }
                openat(&at, name, FOLDER, Mode::empty()).map_err(error)?
            }
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(no_folder(at.as_fd(), name)),
            opened => opened.map_err(error)?,
        };
    }
    Ok(at)
}

/// Returns what a link in the way, or any other failure, is told as.
fn error(errno: Errno) -> EnvError {
    match errno {
        Errno::LOOP | Errno::MLINK => leads_elsewhere(),
        errno => std::io::Error::from(errno).into(),
    }
}

/// Returns what stands where a folder has to be: the system tells a link and a file alike.
fn no_folder(at: BorrowedFd<'_>, name: &OsStr) -> EnvError {
    match existing(at, name) {
        Err(error) if error.kind == ErrorKind::Changed => error,
        _ => EnvError::new(ErrorKind::NotFolder, "is no folder"),
    }
}

fn leads_elsewhere() -> EnvError {
    EnvError::new(ErrorKind::Changed, "the path leads elsewhere by now")
}

fn existing(folder: BorrowedFd<'_>, name: &OsStr) -> Result<Option<Metadata>, EnvError> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | look();
    match openat(folder, name, flags, Mode::empty()) {
        Ok(file) => {
            let metadata = File::from(file).metadata()?;
            if metadata.is_symlink() {
                return Err(leads_elsewhere());
            }
            refuse_what_is_no_file(&metadata)?;
            Ok(Some(metadata))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(error(errno)),
    }
}

/// Returns how a file is opened only to be looked at: it may not be readable.
fn look() -> OFlags {
    #[cfg(target_os = "linux")]
    return OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    return OFlags::RDONLY;
}

/// A file that is being written. Removed when dropped before it got its name.
struct Part<'a> {
    folder: BorrowedFd<'a>,
    name: OsString,
    file: File,
}

impl<'a> Part<'a> {
    fn new(folder: BorrowedFd<'a>) -> Result<Self, EnvError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!(".porthole-{}-{number}", std::process::id()));
            let mode = Mode::from_raw_mode(NEW_FILE_MODE);
            match openat(folder, &name, flags | OFlags::WRONLY, mode) {
                // Left behind by a process that had this number.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(error(errno)),
                Ok(file) => {
                    return Ok(Self {
                        folder,
                        name,
                        file: File::from(file),
                    });
                }
            }
        }
    }

    fn become_file(self, name: &OsStr, expect: Expect) -> Result<File, EnvError> {
        match expect {
            Expect::Nothing => {
                let flags = RenameFlags::NOREPLACE;
                renameat_with(self.folder, &self.name, self.folder, name, flags)
            }
            Expect::Anything | Expect::Version(_) => {
                renameat(self.folder, &self.name, self.folder, name)
            }
        }
        .map_err(|errno| match errno {
            Errno::EXIST => changed(),
            errno => error(errno),
        })?;
        Ok(self.file.try_clone()?)
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        // Where it got its name there is nothing to remove.
        let _ = unlinkat(self.folder, &self.name, AtFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    use super::*;

    fn refused(path: &Path, expect: Expect) {
        let error = write(path, b"new", expect).expect_err("is refused");
        assert_eq!(error.kind, ErrorKind::Changed, "{error}");
    }

    #[test]
    fn a_link_anywhere_on_the_path_is_refused_and_nothing_is_written_behind_it() {
        let dir = tempfile::tempdir().expect("folder");
        let dir = dir.path().canonicalize().expect("a path");
        let at = |path: &str| dir.join(path);
        fs::create_dir_all(at("outside/deep")).expect("folder");
        fs::create_dir_all(at("work/real")).expect("folder");
        fs::write(at("outside/secret"), "old").expect("writes");
        symlink(at("outside"), at("work/link")).expect("link");
        symlink(at("outside/secret"), at("work/file")).expect("link");
        for path in [
            "work/link/new",
            "work/link/deep/new",
            "work/file",
            "work/link/secret",
        ] {
            for expect in [Expect::Nothing, Expect::Anything] {
                refused(&at(path), expect);
            }
        }
        assert_eq!(fs::read(at("outside/secret")).expect("is there"), b"old");
        assert_eq!(fs::read_dir(at("outside")).expect("folder").count(), 2);
        refused(&at("work/real/../../outside/new"), Expect::Anything);
    }

    #[test]
    fn a_file_is_made_with_its_folders_and_replaced_with_its_mode() {
        let dir = tempfile::tempdir().expect("folder");
        let dir = dir.path().canonicalize().expect("a path");
        let path = dir.join("a/b/c.txt");
        let stat = write(&path, b"one", Expect::Nothing).expect("is made");
        assert_eq!((stat.size, stat.real.as_path()), (3, path.as_path()));
        let again = write(&path, b"two", Expect::Nothing).expect_err("is there");
        assert_eq!(again.kind, ErrorKind::Changed);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("sets");
        let version = super::super::files::stat(&path).expect("is there").version;
        let stat = write(&path, b"three", Expect::Version(version)).expect("is replaced");
        assert_eq!(stat.mode, 0o640);
        assert_eq!(fs::read(&path).expect("is there"), b"three");
        let stale = write(&path, b"four", Expect::Version(version)).expect_err("is another");
        assert_eq!(stale.kind, ErrorKind::Changed);
        let left = fs::read_dir(dir.join("a/b")).expect("folder").count();
        assert_eq!(left, 1, "nothing else stays");
    }
}
