//! Reading inside one folder, whatever its names and links say. What may be read there is decided elsewhere.

use std::path::Path;

use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions, OpenOptionsExt as _},
};
use rustix::fs::OFlags;

use super::files;
use crate::{EnvError, ErrorKind, file::Content};

pub(super) fn read(root: &Path, path: &Path, from: u64, max: u64) -> Result<Content, EnvError> {
    let inside = path.strip_prefix(root).unwrap_or(path);
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let folder = Dir::open_ambient_dir(root, ambient_authority())?;
    let mut how = OpenOptions::new();
    how.read(true).custom_flags(nonblocking);
    let file = folder.open_with(inside, &how).map_err(|error| {
        // What leads out is told like what is not there: who asks learns nothing of the rest of the machine.
        match error.kind() {
            std::io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                EnvError::new(ErrorKind::NotFound, "there is no such file")
            }
            _ => error.into(),
        }
    })?;
    files::read_open(file.into_std(), &root.join(inside), from, max)
}
