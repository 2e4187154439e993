//! The launcher's own folders: where they are, and that nobody else can read them.
//! It knows nothing of what is kept inside.

use std::{
    fs,
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

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
    #[error("neither `HOME` nor the `XDG_*` folders are set")]
    NoHome,
    /// It belongs to somebody else.
    #[error("`{0}` belongs to another user")]
    Foreign(String),
    /// It is not what it should be, e.g. a link in place of a folder.
    #[error("`{0}` is not a plain file or folder")]
    Odd(String),
    /// The system said no.
    #[error("`{0}`: {1}")]
    Io(String, io::Error),
}

impl Folders {
    /// Returns the folders that the environment names through `var`.
    ///
    /// # Errors
    /// [`FolderError::NoHome`] where nothing names a home.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<Self, FolderError> {
        let home = var("HOME").map(PathBuf::from).filter(|p| p.is_absolute());
        let folder = |name: &str, below: &str| {
            var(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
                .or_else(|| home.as_ref().map(|home| home.join(below)))
                .map(|base| base.join("porthole"))
                .ok_or(FolderError::NoHome)
        };
        Ok(Self {
            config: folder("XDG_CONFIG_HOME", ".config")?,
            state: folder("XDG_STATE_HOME", ".local/state")?,
            cache: folder("XDG_CACHE_HOME", ".cache")?,
        })
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

/// Returns the mode bits of `path`, or nothing where it is not there.
pub fn mode_of(path: &Path) -> Option<u32> {
    match fs::symlink_metadata(path) {
        Ok(meta) => Some(meta.mode() & 0o777),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(_) => None,
    }
}

fn shown(path: &Path) -> String {
    crate::escape::visible(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_xdg_folders_win_over_home_and_relative_ones_are_ignored() {
        let folders = Folders::from_env(|name| match name {
            "HOME" => Some("/home/me".into()),
            "XDG_STATE_HOME" => Some("/state".into()),
            "XDG_CONFIG_HOME" => Some("relative".into()),
            _ => None,
        })
        .expect("a home is set");
        assert_eq!(folders.state, Path::new("/state/porthole"));
        assert_eq!(folders.config, Path::new("/home/me/.config/porthole"));
        assert_eq!(folders.cache, Path::new("/home/me/.cache/porthole"));
    }

    #[test]
    fn without_any_home_there_are_no_folders() {
        assert!(matches!(
            Folders::from_env(|_| None),
            Err(FolderError::NoHome)
        ));
    }

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
}
