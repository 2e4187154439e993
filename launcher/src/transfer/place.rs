//! Where a download lands: a folder, a temporary file in it that nobody can guess, and a name that nothing has yet.

use std::{
    fs::{File, Permissions},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use super::{TransferError, name::numbered};

/// How many files of one name are stepped around.
const SAME_NAME: u32 = 1_000;

/// A folder to save into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    folder: PathBuf,
}

impl Place {
    /// Returns the folder as a place.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path that a file of this name would get now, and whether one of that name is there already.
    pub fn free_path(&self, name: &str) -> (PathBuf, bool) {
        let plain = self.folder.join(name);
        if plain.symlink_metadata().is_err() {
            return (plain, false);
        }
        let free = (2..=SAME_NAME)
            .map(|count| self.folder.join(numbered(name, count)))
            .find(|path| path.symlink_metadata().is_err());
        (free.unwrap_or(plain), true)
    }

    /// Makes the temporary file, where there is room for `bytes`.
    ///
    /// # Errors
    /// Where there is none, or the folder cannot be written.
    pub(super) fn begin(&self, bytes: u64) -> Result<NamedTempFile, TransferError> {
        let free = free_bytes(&self.folder).unwrap_or(u64::MAX);
        if free < bytes {
            return Err(TransferError::NoRoom { bytes, free });
        }
        tempfile::Builder::new()
            .prefix(".porthole-")
            .suffix(".part")
            .rand_bytes(12)
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(&self.folder)
            .map_err(|error| unwritable(&error))
    }

    /// Gives the whole file its name, on disk and never over another; returns its path.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(super) fn keep(
        &self,
        mut file: NamedTempFile,
        name: &str,
    ) -> Result<PathBuf, TransferError> {
        let failed = |error: io::Error| unwritable(&error);
        file.as_file()
            .set_permissions(Permissions::from_mode(0o666 & !umask()))
            .map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        for count in 1..=SAME_NAME {
            let path = match count {
                1 => self.folder.join(name),
                _ => self.folder.join(numbered(name, count)),
            };
            match file.persist_noclobber(&path) {
                Ok(_) => return Ok(path),
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                    file = error.file;
                }
                Err(error) => return Err(unwritable(&error.error)),
            }
        }
        Err(TransferError::Unwritable(io::ErrorKind::AlreadyExists))
    }
}

/// Returns where downloads go: the desktop's folder for them, else the home.
pub fn download_folder() -> Option<PathBuf> {
    let named = directories::UserDirs::new();
    let named = named.as_ref().and_then(directories::UserDirs::download_dir);
    let home = directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
    let usual = home.as_ref().map(|home| home.join("Downloads"));
    [named.map(Path::to_owned), usual, home]
        .into_iter()
        .flatten()
        .find(|folder| folder.is_dir())
}

pub(super) fn unwritable(error: &io::Error) -> TransferError {
    TransferError::Unwritable(error.kind())
}

/// Writes a range at its place.
pub(super) fn write_at(file: &File, bytes: &[u8], from: u64) -> io::Result<()> {
    use std::os::unix::fs::FileExt as _;
    file.write_all_at(bytes, from)
}

fn free_bytes(folder: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// The mask can only be read by setting it; what another thread makes meanwhile is more private, never less.
fn umask() -> u32 {
    let mask = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    rustix::process::umask(mask);
    mask.bits()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_never_lands_on_another_and_is_no_more_open_than_any() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place::new(folder.path().to_owned());
        fs::write(folder.path().join("a.txt"), "mine").expect("written");
        std::os::unix::fs::symlink("/nowhere", folder.path().join("a (2).txt")).expect("linked");
        assert_eq!(
            place.free_path("a.txt"),
            (folder.path().join("a (3).txt"), true)
        );
        let file = place.begin(3).expect("begun");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(file.path()), 0o600);
        write_at(file.as_file(), b"new", 0).expect("written");
        let path = place.keep(file, "a.txt").expect("kept");
        assert_eq!(path, folder.path().join("a (3).txt"));
        assert_eq!(mode(&path), 0o666 & !umask());
        assert_eq!(
            fs::read_to_string(folder.path().join("a.txt")).expect("read"),
            "mine"
        );
        drop(place.begin(3).expect("begun"));
        assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 3);
    }

    #[test]
    fn a_file_without_room_is_refused_before_it_begins() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place::new(folder.path().to_owned());
        let refused = place.begin(u64::MAX).expect_err("no room");
        assert!(matches!(refused, TransferError::NoRoom { .. }), "{refused}");
        let gone = Place::new(folder.path().join("none"));
        assert!(matches!(gone.begin(0), Err(TransferError::Unwritable(_))));
    }
}
