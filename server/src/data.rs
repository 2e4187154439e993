//! The data folder: private to its owner, used by one server at a time. What is in its files is not known here.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

/// A data folder that this process has for itself.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    lock: File,
}

/// Why the folder cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// Another server has it.
    #[error("the data folder `{}` is in use by process {pid}", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
        /// Who has it, as far as known.
        pid: String,
    },
    /// It cannot be made or used.
    #[error("cannot use the data folder `{}`: {error}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl DataFolder {
    /// Makes the folder where there is none, and takes it for this process.
    ///
    /// # Errors
    /// [`DataError`]
    pub fn take(path: &Path) -> Result<Self, DataError> {
        let failed = |error| DataError::Io {
            path: path.to_owned(),
            error,
        };
        make_private(path).map_err(failed)?;
        let path = path.canonicalize().map_err(failed)?;
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path.join("lock"))
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let pid = read_pid(&mut lock);
                return Err(DataError::InUse { path, pid });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        write_pid(&mut lock).map_err(failed)?;
        Ok(Self { path, lock })
    }

    /// Returns its real path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the folder back.
    pub fn release(mut self) {
        // The next holder writes its own id; a stale one only ever stands in a message.
        let _ = self.lock.rewind().and_then(|()| self.lock.set_len(0));
    }
}

/// Makes a folder that only its owner may enter, or makes the one that is there so.
///
/// # Errors
/// Where that fails.
pub fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
}

/// Returns the default data folder of this user; `None` without a home.
pub fn default_folder() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.data_dir().join("portholed"))
}

fn read_pid(lock: &mut File) -> String {
    let mut text = String::new();
    let _ = lock.take(20).read_to_string(&mut text);
    match text.trim() {
        "" => "(unknown)".to_owned(),
        pid => pid.chars().filter(char::is_ascii_digit).collect(),
    }
}

fn write_pid(lock: &mut File) -> io::Result<()> {
    lock.rewind()?;
    lock.set_len(0)?;
    writeln!(lock, "{}", std::process::id())?;
    lock.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_private_and_names_who_has_it() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("a/b");
        let folder = DataFolder::take(&path).expect("taken");
        let mode = std::fs::metadata(&path)
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
        let error = DataFolder::take(&path).expect_err("in use").to_string();
        assert!(error.contains(&std::process::id().to_string()), "{error}");
        folder.release();
        assert!(DataFolder::take(&path).is_ok(), "free again");
    }
}
