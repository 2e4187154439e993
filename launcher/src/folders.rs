//! The launcher's own folders: where they are, and that nobody else can read them.
//! It knows nothing of what is kept inside.

use std::{
    fs,
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use directories::ProjectDirs;
use rustix::fs::{Mode, OFlags};

use crate::failure::Failure;

/// Where the launcher keeps things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// Preferences; written by the visitor.
    pub config: PathBuf,
    /// Credentials; 0700.
    pub state: PathBuf,
    /// Compiled bundles; 0700, may be deleted at any time.
    pub cache: PathBuf,
}

/// Why a folder or file of ours is not used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There is no home folder to put it in.
    #[error("no home folder is known")]
    NoHome,
    /// It belongs to somebody else.
    #[error("`{0}` belongs to another user")]
    Foreign(String),
    /// It is not what it should be, e.g. a link in place of a folder.
    #[error("`{0}` is a link or something else in place of a plain file or folder of yours")]
    Odd(String),
    /// The system said no.
    #[error("`{0}`: {1}")]
    Io(String, io::Error),
}

impl Folders {
    /// Returns the visitor's folders: as the `XDG_*` variables name them, else where the system keeps such things.
    ///
    /// # Errors
    /// [`FolderError::NoHome`] where the visitor has no home.
    pub fn of_visitor() -> Result<Self, FolderError> {
        let dirs = ProjectDirs::from("", "", "porthole").ok_or(FolderError::NoHome)?;
        let state = dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir());
        let folders = Self {
            config: dirs.config_dir().to_owned(),
            state: state.to_owned(),
            cache: dirs.cache_dir().to_owned(),
        };
        match folders.state.is_absolute() {
            true => Ok(folders),
            false => Err(FolderError::NoHome),
        }
    }
}

/// Makes `path` a folder of ours with mode 0700, repairing a wider mode.
///
/// # Errors
/// Where it belongs to another user, is no folder, or cannot be made.
pub fn make_private(path: &Path) -> Result<(), FolderError> {
    let io = |error| FolderError::Io(shown(path), error);
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path);
    made.map_err(io)?;
    repair(path, Kind::Folder)
}

/// What is expected at a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A folder, mode 0700.
    Folder,
    /// A regular file, mode 0600.
    File,
}

/// Checks that `path` is ours and of the right kind, and takes group and others off its mode.
///
/// # Errors
/// Where it belongs to another user, is of another kind (links included), or the mode cannot be set.
pub fn repair(path: &Path, kind: Kind) -> Result<(), FolderError> {
    let io = |error| FolderError::Io(shown(path), error);
    let meta = fs::symlink_metadata(path).map_err(io)?;
    let right_kind = match kind {
        Kind::Folder => meta.is_dir(),
        Kind::File => meta.is_file(),
    };
    if !right_kind {
        return Err(FolderError::Odd(shown(path)));
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(FolderError::Foreign(shown(path)));
    }
    let mode = match kind {
        Kind::Folder => 0o700,
        Kind::File => 0o600,
    };
    if meta.mode() & 0o777 == mode {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(io)
}

/// Opens the file at `path` where it is a plain file of ours, taking group and others off its mode;
/// `None` where nothing is there. What is checked is what was opened.
///
/// # Errors
/// Where it is a link or another kind of thing, belongs to another user, or cannot be opened.
pub fn open_private(path: &Path) -> Result<Option<fs::File>, FolderError> {
    let io = |error: io::Error| FolderError::Io(shown(path), error);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => fs::File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::MLINK | rustix::io::Errno::NXIO) => {
            return Err(FolderError::Odd(shown(path)));
        }
        Err(error) => return Err(io(error.into())),
    };
    let meta = file.metadata().map_err(io)?;
    if !meta.is_file() {
        return Err(FolderError::Odd(shown(path)));
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(FolderError::Foreign(shown(path)));
    }
    if meta.mode() & 0o077 != 0 {
        let private = fs::Permissions::from_mode(0o600);
        file.set_permissions(private).map_err(io)?;
    }
    Ok(Some(file))
}

/// Returns the mode bits of `path`, or nothing where it is not there.
pub fn mode_of(path: &Path) -> Option<u32> {
    match fs::symlink_metadata(path) {
        Ok(meta) => Some(meta.mode() & 0o777),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(_) => None,
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        let hint = match &error {
            FolderError::NoHome => "set `HOME`, or `XDG_STATE_HOME` and its like",
            FolderError::Foreign(_) => "give it back to yourself with `chown`, or move it away",
            FolderError::Odd(_) => "move it away; the launcher makes its own",
            FolderError::Io(..) => "check that the folder can be written and the disk is not full",
        };
        Self::new(error.to_string(), hint)
    }
}

fn shown(path: &Path) -> String {
    crate::escape::visible(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_mode_is_taken_back() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let ours = dir.path().join("state");
        make_private(&ours).expect("made");
        fs::set_permissions(&ours, fs::Permissions::from_mode(0o755)).expect("set");
        make_private(&ours).expect("repaired");
        assert_eq!(mode_of(&ours), Some(0o700));
    }

    #[test]
    fn a_link_in_place_of_a_file_is_refused() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/etc/passwd", &link).expect("linked");
        assert!(matches!(
            repair(&link, Kind::File),
            Err(FolderError::Odd(_))
        ));
    }

    #[test]
    fn a_link_in_place_of_our_folder_is_refused_with_a_sentence() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (there, ours) = (dir.path().join("there"), dir.path().join("ours"));
        fs::create_dir(&there).expect("made");
        std::os::unix::fs::symlink(&there, &ours).expect("linked");
        let error = make_private(&ours).expect_err("a link");
        assert!(matches!(error, FolderError::Odd(_)));
        let said = Failure::from(error).to_string();
        assert!(
            said.contains("is a link") && said.contains("hint: "),
            "{said}"
        );
    }

    #[test]
    fn a_folder_or_file_of_somebody_else_is_refused() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (ours, file) = (dir.path().join("ours"), dir.path().join("file"));
        make_private(&ours).expect("made");
        fs::write(&file, b"x").expect("written");
        // Only root may give things away; for others there is nothing to try.
        if !rustix::process::geteuid().is_root() {
            return;
        }
        for path in [&ours, &file] {
            std::os::unix::fs::chown(path, Some(65_534), None).expect("given away");
        }
        assert!(matches!(make_private(&ours), Err(FolderError::Foreign(_))));
        assert!(matches!(open_private(&file), Err(FolderError::Foreign(_))));
    }

    #[test]
    fn only_plain_files_are_opened_and_a_fifo_keeps_nobody_waiting() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (fifo, link) = (dir.path().join("fifo"), dir.path().join("link"));
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0)
            .expect("made");
        std::os::unix::fs::symlink("/etc/passwd", &link).expect("linked");
        for odd in [fifo.as_path(), &link, dir.path()] {
            assert!(
                matches!(open_private(odd), Err(FolderError::Odd(_))),
                "{odd:?}"
            );
        }
        assert!(
            open_private(&dir.path().join("none"))
                .expect("reads")
                .is_none()
        );
    }
}
