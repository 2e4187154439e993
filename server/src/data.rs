//! The data folder: private to its owner, used by one server at a time. What is in its files is not known here.

use std::{
    fmt,
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::{Path, PathBuf},
    time::SystemTime,
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
    #[error("the data folder `{}` is in use by {holder}", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
        /// Who has it, as far as known.
        holder: Holder,
    },
    /// It is someone else's.
    #[error("the data folder `{}` belongs to another user", .0.display())]
    Foreign(PathBuf),
    /// It is a folder that everybody uses.
    #[error("`{}` is a folder that everybody may write to", .0.display())]
    Shared(PathBuf),
    /// It cannot be made or used.
    #[error("cannot use the data folder `{}`: {error}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Who has a data folder, in words; read from the folder, so that it is known also where the server does not answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    pid: Option<u32>,
    since: String,
    address: String,
}

impl Holder {
    /// Returns who has the folder; `None` where nobody has.
    pub fn of(folder: &Path) -> Option<Self> {
        let mut lock = File::open(folder.join("lock")).ok()?;
        match lock.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(Self::read(&mut lock)),
            Ok(()) | Err(TryLockError::Error(_)) => None,
        }
    }

    /// Returns its process, where that is known.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    fn read(lock: &mut File) -> Self {
        let mut text = String::new();
        let _ = lock.take(500).read_to_string(&mut text);
        let plain = |line: &str| {
            line.chars()
                .filter(|c| c.is_ascii_graphic() || *c == ' ')
                .collect()
        };
        let mut lines = text.lines();
        Self {
            pid: lines.next().and_then(|line| line.parse().ok()),
            since: lines.next().map(plain).unwrap_or_default(),
            address: lines.next().map(plain).unwrap_or_default(),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "process {pid}")?,
            None => f.write_str("an unknown process")?,
        }
        if !self.address.is_empty() {
            write!(f, ", which listens on {}", self.address)?;
        }
        match self.since.as_str() {
            "" => Ok(()),
            since => write!(f, ", since {since}"),
        }
    }
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
        check(path)?;
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
                let holder = Holder::read(&mut lock);
                return Err(DataError::InUse { path, holder });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let since = httpdate::fmt_http_date(SystemTime::now());
        let written = write_lines(&mut lock, &format!("{}\n{since}\n", std::process::id()));
        written.map_err(failed)?;
        Ok(Self { path, lock })
    }

    /// Notes where the server listens, for whoever finds the folder in use.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub fn note(&mut self, address: &str) -> io::Result<()> {
        writeln!(self.lock, "{address}")?;
        self.lock.flush()
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

/// A folder that is someone else's, or everybody's, is not made private: that would take it from others.
fn check(path: &Path) -> Result<(), DataError> {
    let Ok(metadata) = std::fs::metadata(path) else {
        return Ok(());
    };
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(DataError::Foreign(path.to_owned()));
    }
    let shared = metadata.mode() & 0o002 != 0;
    match shared && !path.join("lock").exists() {
        true => Err(DataError::Shared(path.to_owned())),
        false => Ok(()),
    }
}

fn write_lines(lock: &mut File, text: &str) -> io::Result<()> {
    lock.rewind()?;
    lock.set_len(0)?;
    lock.write_all(text.as_bytes())?;
    lock.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_private_and_names_who_has_it() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("a/b");
        let mut folder = DataFolder::take(&path).expect("taken");
        folder.note("http://127.0.0.1:7420").expect("noted");
        let mode = std::fs::metadata(&path)
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
        let error = DataFolder::take(&path).expect_err("in use").to_string();
        let holder = format!(
            "process {}, which listens on http://127.0.0.1:7420, since ",
            std::process::id()
        );
        assert!(error.contains(&holder), "{error}");
        assert!(Holder::of(&path).is_some_and(|of| error.ends_with(&of.to_string())));
        folder.release();
        assert_eq!(Holder::of(&path), None);
        assert!(DataFolder::take(&path).is_ok(), "free again");
    }

    #[test]
    fn a_folder_that_others_may_read_is_made_private_and_one_that_is_everybodys_is_refused() {
        let home = tempfile::tempdir().expect("a folder");
        let set = |path: &Path, mode| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path, permissions).expect("set");
        };
        let readable = home.path().join("readable");
        std::fs::create_dir(&readable).expect("made");
        set(&readable, 0o755);
        DataFolder::take(&readable).expect("taken").release();
        set(&readable, 0o777);
        DataFolder::take(&readable)
            .expect("it is one of ours")
            .release();
        let mode = std::fs::metadata(&readable)
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);

        let shared = home.path().join("shared");
        std::fs::create_dir(&shared).expect("made");
        set(&shared, 0o1777);
        assert!(matches!(
            DataFolder::take(&shared),
            Err(DataError::Shared(_))
        ));
        let mode = std::fs::metadata(&shared)
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o1777, "it is left as it was");
    }
}
