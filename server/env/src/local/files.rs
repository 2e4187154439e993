//! Reading, writing and listing. It confines no path: who may is decided elsewhere.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    hash::{DefaultHasher, Hash, Hasher},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::{Gid, OFlags, Uid};

use crate::{
    EnvError, ErrorKind, Expect, Kind, Listing, Name, Stat,
    file::{Content, READ_BYTES},
};

/// Permission bits of a file that is new and was given none, before the umask.
pub(super) const NEW_FILE_MODE: u32 = 0o666;
/// Links followed before a path counts as leading to itself, as Linux does it.
const MOST_LINKS: usize = 40;

pub(super) fn stat(path: &Path) -> Result<Stat, EnvError> {
    Ok(describe(fs::canonicalize(path)?, &fs::metadata(path)?))
}

pub(super) fn read(path: &Path, from: u64, max: u64) -> Result<Content, EnvError> {
    // Without NONBLOCK the open itself would wait for the other end of a pipe.
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking)
        .open(path)?;
    read_open(file, path, from, max)
}

/// Reads from a file that was opened at `path`.
pub(super) fn read_open(
    mut file: File,
    path: &Path,
    from: u64,
    max: u64,
) -> Result<Content, EnvError> {
    let metadata = file.metadata()?;
    refuse_what_is_no_file(&metadata)?;
    let stat = describe(fs::canonicalize(path)?, &metadata);
    if i64::try_from(from).is_err() {
        // No system counts so far: there is nothing.
        let bytes = Vec::new();
        return Ok(Content { stat, bytes });
    }
    if from > 0 {
        file.seek(SeekFrom::Start(from))?;
    }
    let max = max.min(READ_BYTES);
    let expected = max.min(metadata.len().saturating_sub(from));
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    file.take(max).read_to_end(&mut bytes)?;
    Ok(Content { stat, bytes })
}

pub(super) fn write(path: &Path, bytes: &[u8], expect: Expect) -> Result<Stat, EnvError> {
    let target = follow(path)?;
    let folder = target
        .parent()
        .ok_or_else(|| EnvError::new(ErrorKind::Folder, "is a folder"))?;
    fs::create_dir_all(folder)?;
    let before = existing(&target)?;
    check(expect, before.as_ref())?;
    let mut temporary = tempfile::Builder::new()
        .prefix(".porthole-")
        .permissions(fs::Permissions::from_mode(NEW_FILE_MODE))
        .tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    if let Some(before) = &before {
        keep_owner_and_mode(temporary.as_file(), before)?;
    }
    temporary.as_file().sync_all()?;
    // Checked again as late as can be: the window in which another writer's bytes get lost is this short.
    check(expect, existing(&target)?.as_ref())?;
    match expect {
        Expect::Nothing => temporary.persist_noclobber(&target),
        Expect::Anything | Expect::Version(_) => temporary.persist(&target),
    }
    .map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => changed(),
        _ => error.error.into(),
    })?;
    // Without it the new name may be lost with the power. Not every file system can, so a failure is no error.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    stat(&target)
}

pub(super) fn list(path: &Path, limit: usize) -> Result<Listing, EnvError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let metadata = entry.metadata();
        names.push(Name {
            name: entry.file_name(),
            kind: metadata.as_ref().map_or(Kind::Other, kind),
            size: metadata.as_ref().map_or(0, Metadata::len),
        });
    }
    names.sort_by(|a, b| a.name.cmp(&b.name));
    let total = names.len() as u64;
    names.truncate(limit);
    Ok(Listing { names, total })
}

pub(super) fn describe(real: PathBuf, metadata: &Metadata) -> Stat {
    Stat {
        real,
        kind: kind(metadata),
        size: metadata.len(),
        modified_ns: modified_ns(metadata),
        mode: metadata.mode() & 0o7777,
        version: version(metadata),
    }
}

pub(super) fn kind(metadata: &Metadata) -> Kind {
    let kind = metadata.file_type();
    if kind.is_file() {
        Kind::File
    } else if kind.is_dir() {
        Kind::Folder
    } else if kind.is_symlink() {
        Kind::Link
    } else {
        Kind::Other
    }
}

fn modified_ns(metadata: &Metadata) -> u64 {
    let seconds = u64::try_from(metadata.mtime()).unwrap_or(0);
    let rest = u64::try_from(metadata.mtime_nsec()).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

fn version(metadata: &Metadata) -> u64 {
    let mut hasher = DefaultHasher::new();
    (metadata.dev(), metadata.ino(), metadata.size()).hash(&mut hasher);
    (metadata.mtime(), metadata.mtime_nsec()).hash(&mut hasher);
    (metadata.ctime(), metadata.ctime_nsec()).hash(&mut hasher);
    hasher.finish()
}

pub(super) fn refuse_what_is_no_file(metadata: &Metadata) -> Result<(), EnvError> {
    match kind(metadata) {
        Kind::File => Ok(()),
        Kind::Folder => Err(EnvError::new(ErrorKind::Folder, "is a folder")),
        Kind::Link | Kind::Other => Err(EnvError::new(
            ErrorKind::Special,
            "is no regular file (a device, a pipe or a socket)",
        )),
    }
}

/// Returns where a path leads, also where nothing is there yet.
fn follow(path: &Path) -> Result<PathBuf, EnvError> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(next) = fs::read_link(&target) else {
            return Ok(target);
        };
        target = match target.parent() {
            Some(folder) => folder.join(next),
            None => next,
        };
    }
    Err(EnvError::new(ErrorKind::Other, "the link leads to itself"))
}

fn existing(target: &Path) -> Result<Option<Metadata>, EnvError> {
    match fs::symlink_metadata(target) {
        Ok(metadata) => refuse_what_is_no_file(&metadata).map(|()| Some(metadata)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn check(expect: Expect, now: Option<&Metadata>) -> Result<(), EnvError> {
    let as_expected = match (expect, now) {
        (Expect::Anything, _) | (Expect::Nothing, None) => true,
        (Expect::Version(wanted), Some(now)) => wanted == version(now),
        (Expect::Nothing, Some(_)) | (Expect::Version(_), None) => false,
    };
    if as_expected { Ok(()) } else { Err(changed()) }
}

pub(super) fn changed() -> EnvError {
    EnvError::new(ErrorKind::Changed, "the file changed meanwhile")
}

pub(super) fn keep_owner_and_mode(file: &File, before: &Metadata) -> Result<(), EnvError> {
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (before.uid(), before.gid()) {
        let (owner, group) = (Uid::from_raw(before.uid()), Gid::from_raw(before.gid()));
        rustix::fs::fchown(file, Some(owner), Some(group)).map_err(std::io::Error::from)?;
    }
    // After the owner: changing that clears the set-id bits.
    file.set_permissions(fs::Permissions::from_mode(before.mode() & 0o7777))?;
    Ok(())
}
