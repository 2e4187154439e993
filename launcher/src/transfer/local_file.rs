//! A file of this computer that may be sent: an open descriptor of a regular file, and what it was when it was opened.
//! What is sent is read from that descriptor; a path is never opened a second time.

use std::{
    fs::{File, Metadata},
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

/// Folders whose files are no files: reading them tells of this process, or never ends.
const NO_FILES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// A file that may be sent.
#[derive(Debug)]
pub struct LocalFile {
    file: File,
    path: PathBuf,
    stamp: Stamp,
}

/// Why a path is not sent. The sentences go with the path before them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is no path.
    #[error("is no path of a file: {0}")]
    NotAPath(&'static str),
    /// Nothing is there.
    #[error("is not there")]
    Missing,
    /// A link.
    #[error("is a link; name the file that it leads to")]
    Link,
    /// A folder.
    #[error("is a folder; only files are sent")]
    Folder,
    /// A pipe, a socket, a device.
    #[error("is no regular file (a pipe, a socket or a device)")]
    Special,
    /// A file of the system that only looks like one.
    #[error("is no file but a window into this computer's system")]
    System,
    /// Over the limit.
    #[error("has {}, which is over the limit of {}", super::size(*.bytes), super::size(*.limit))]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// It is another than it was.
    #[error("changed since it was chosen; choose it again")]
    Changed,
    /// The system does not let us.
    #[error("cannot be read: {0}")]
    Unreadable(io::ErrorKind),
}

/// What tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl LocalFile {
    /// Opens what is at `path`, where it is a regular file of at most `limit` bytes that no link at its end leads to. It
    /// never waits: a pipe without a writer is refused, not opened.
    ///
    /// # Errors
    /// [`Refused`]
    pub fn open(path: &Path, limit: u64) -> Result<Self, Refused> {
        let path = resolved(path)?;
        let before = std::fs::symlink_metadata(&path).map_err(unreadable)?;
        refuse_kind(&before)?;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::options()
            .read(true)
            .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
            .open(&path)
            .map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        refuse_kind(&metadata)?;
        let stamp = Stamp::of(&metadata);
        if stamp != Stamp::of(&before) {
            return Err(Refused::Changed);
        }
        if stamp.bytes > limit {
            let bytes = stamp.bytes;
            return Err(Refused::TooLarge { bytes, limit });
        }
        Ok(Self { file, path, stamp })
    }

    /// Returns whether the descriptor is still the file that was opened, and the path still leads to it.
    ///
    /// # Errors
    /// [`Refused::Changed`]
    pub fn check(&self) -> Result<(), Refused> {
        let open = self.file.metadata().map_err(unreadable)?;
        let there = std::fs::symlink_metadata(&self.path).map_err(|_| Refused::Changed)?;
        match Stamp::of(&open) == self.stamp && Stamp::of(&there) == self.stamp {
            true => Ok(()),
            false => Err(Refused::Changed),
        }
    }

    /// Returns exactly `bytes` bytes from `from` on.
    ///
    /// # Errors
    /// [`Refused::Changed`] where there are no longer so many.
    pub fn read(&self, from: u64, bytes: usize) -> Result<Vec<u8>, Refused> {
        let mut chunk = vec![0; bytes];
        self.file
            .read_exact_at(&mut chunk, from)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => Refused::Changed,
                _ => unreadable(error),
            })?;
        Ok(chunk)
    }

    /// Returns its size when it was opened.
    pub fn bytes(&self) -> u64 {
        self.stamp.bytes
    }

    /// Returns its path, its folder's links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its name as text.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// Two are the same where they are the same state of the same file.
impl PartialEq for LocalFile {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.stamp == other.stamp
    }
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Returns the path with its folder's links resolved, so that what is shown is where it is.
fn resolved(path: &Path) -> Result<PathBuf, Refused> {
    let name = path.file_name().ok_or(Refused::Folder)?;
    let folder = match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => return Err(Refused::Folder),
    };
    let folder = folder.canonicalize().map_err(unreadable)?;
    match NO_FILES.iter().any(|system| folder.starts_with(system)) {
        true => Err(Refused::System),
        false => Ok(folder.join(name)),
    }
}

fn refuse_kind(metadata: &Metadata) -> Result<(), Refused> {
    let kind = metadata.file_type();
    if kind.is_file() {
        Ok(())
    } else if kind.is_dir() {
        Err(Refused::Folder)
    } else if kind.is_symlink() {
        Err(Refused::Link)
    } else {
        Err(Refused::Special)
    }
}

fn unreadable(error: io::Error) -> Refused {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Refused::Missing,
        _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => Refused::Link,
        kind => Refused::Unreadable(kind),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    const LIMIT: u64 = 1000;

    fn refused(path: &Path) -> Refused {
        LocalFile::open(path, LIMIT).expect_err("refused")
    }

    #[test]
    fn only_a_regular_file_that_nothing_leads_to_is_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "text").expect("written");
        symlink(at("a"), at("link")).expect("linked");
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), 0o600.into()).expect("a pipe");
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("bound");
        fs::write(at("large"), vec![0; 1001]).expect("written");
        assert_eq!(LocalFile::open(&at("a"), LIMIT).expect("opens").bytes(), 4);
        assert_eq!(refused(&at("link")), Refused::Link);
        assert_eq!(refused(&at("pipe")), Refused::Special);
        assert_eq!(refused(&at("socket")), Refused::Special);
        assert_eq!(refused(folder.path()), Refused::Folder);
        assert_eq!(refused(Path::new("/")), Refused::Folder);
        assert_eq!(refused(&at("none")), Refused::Missing);
        assert!(matches!(refused(&at("large")), Refused::TooLarge { .. }));
        for system in [
            "/dev/zero",
            "/dev/fd/0",
            "/proc/self/environ",
            "/proc/1/../self/environ",
        ] {
            assert_eq!(refused(Path::new(system)), Refused::System, "{system}");
        }
    }

    #[test]
    fn a_file_that_is_swapped_or_changed_after_it_was_chosen_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let other = folder.path().join("other");
        fs::write(&other, "same").expect("written");
        type Trick<'a> = &'a dyn Fn();
        let swap: Trick = &|| {
            fs::remove_file(&path).expect("removed");
            fs::hard_link(&other, &path).expect("linked");
        };
        let grow: Trick = &|| fs::write(&path, "longer than it was").expect("written");
        let shrink: Trick = &|| fs::write(&path, "s").expect("written");
        let remove: Trick = &|| fs::remove_file(&path).expect("removed");
        for trick in [swap, grow, shrink, remove] {
            let _ = fs::remove_file(&path);
            fs::write(&path, "same").expect("written");
            let file = LocalFile::open(&path, LIMIT).expect("opens");
            assert_eq!(file.check(), Ok(()));
            trick();
            assert_eq!(file.check(), Err(Refused::Changed));
        }
        fs::write(&path, "same").expect("written");
        let file = LocalFile::open(&path, LIMIT).expect("opens");
        fs::write(&path, "s").expect("written");
        assert_eq!(file.read(0, 4), Err(Refused::Changed));
    }
}
