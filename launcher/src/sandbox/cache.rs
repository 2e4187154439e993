//! Compiled bundles on disk, by origin, bundle hash and engine. They are native code: only this user may write them,
//! and this process never looks inside.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::{Path, PathBuf},
};

use porthole_bridge::limits::CODE_BYTES;
use rustix::fs::{FlockOperation, OFlags, flock};

use super::{Effort, UiFault, engine};
use crate::bundle::sha256_hex;

/// Most compiled bundles that are kept; the oldest go first.
const KEPT: usize = 12;

/// A compiled bundle, open for reading and unread.
#[derive(Debug)]
pub struct Artifact {
    pub(super) file: File,
    pub(super) path: PathBuf,
}

/// Returns the compiled bundle of this hash from the cache, the best there is. `None`: there is none that may be used.
pub async fn artifact(cache_dir: &Path, origin: &str, sha256: &str) -> Option<Artifact> {
    [Effort::Thorough, Effort::Quick]
        .into_iter()
        .find_map(|effort| open(&path(cache_dir, origin, sha256, effort)?).ok())
}

/// Returns whether nothing better could be made of this hash than what is in the cache.
pub fn is_thorough(cache_dir: &Path, origin: &str, sha256: &str) -> bool {
    path(cache_dir, origin, sha256, Effort::Thorough).is_some_and(|path| open(&path).is_ok())
}

/// Keeps the bytes of a compiled bundle and returns it.
pub(super) fn store(
    cache_dir: &Path,
    origin: &str,
    sha256: &str,
    effort: Effort,
    bytes: &[u8],
) -> Result<Artifact, UiFault> {
    let path = path(cache_dir, origin, sha256, effort)
        .ok_or_else(|| UiFault::SandboxFailed("no engine on this machine".into()))?;
    write(cache_dir, &path, bytes)
        .map_err(|error| UiFault::SandboxFailed(format!("the cache: {}", error.kind())))
}

fn path(cache_dir: &Path, origin: &str, sha256: &str, effort: Effort) -> Option<PathBuf> {
    let engine = engine::fingerprint()?;
    let effort = match effort {
        Effort::Quick => "\nquick",
        Effort::Thorough => "",
    };
    let key = sha256_hex(format!("{origin}\n{sha256}\n{engine:016x}{effort}").as_bytes());
    Some(cache_dir.join(key))
}

fn write(dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<Artifact> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700))?;
    // Else another launcher may remove what this one is writing or has not opened yet.
    let lock = File::open(dir)?;
    flock(&lock, FlockOperation::LockExclusive)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    let kept = open(path)?;
    // What cannot be removed costs room and nothing else.
    let _ = prune(dir);
    Ok(kept)
}

fn prune(dir: &Path) -> io::Result<()> {
    let mut kept: Vec<_> = fs::read_dir(dir)?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let changed = entry.metadata().ok()?.modified().ok()?;
            Some((changed, entry.path()))
        })
        .collect();
    kept.sort();
    let surplus = kept.len().saturating_sub(KEPT);
    for (_, path) in kept.into_iter().take(surplus) {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// Opens a compiled bundle, if only this user can have written it.
fn open(path: &Path) -> io::Result<Artifact> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
        .open(path)?;
    let meta = file.metadata()?;
    let own = meta.uid() == rustix::process::geteuid().as_raw();
    let sound = meta.is_file() && meta.mode() & 0o077 == 0 && meta.len() <= CODE_BYTES as u64;
    if !own || !sound {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(Artifact {
        file,
        path: path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_others_could_have_written_is_not_used() {
        let dir = tempfile::tempdir().expect("a folder");
        let dir = dir.path().join("ui");
        store(&dir, "http://a", "00", Effort::Thorough, b"code").expect("stored");
        let path = path(&dir, "http://a", "00", Effort::Thorough).expect("an engine");
        assert_eq!(
            fs::metadata(&dir).expect("it is there").mode() & 0o777,
            0o700
        );
        assert_eq!(
            fs::metadata(&path).expect("it is there").mode() & 0o777,
            0o600
        );
        assert!(artifact(&dir, "http://a", "00").await.is_some());
        assert!(artifact(&dir, "http://b", "00").await.is_none());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).expect("may");
        assert!(artifact(&dir, "http://a", "00").await.is_none());
    }

    #[tokio::test]
    async fn what_is_no_file_is_not_used_and_keeps_nobody_waiting() {
        let dir = tempfile::tempdir().expect("a folder");
        store(dir.path(), "http://a", "00", Effort::Thorough, b"code").expect("stored");
        let path = path(dir.path(), "http://a", "00", Effort::Thorough).expect("an engine");
        fs::remove_file(&path).expect("removed");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).expect("made");
        assert!(artifact(dir.path(), "http://a", "00").await.is_none());
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let dir = tempfile::tempdir().expect("a folder");
        for number in 0..KEPT + 3 {
            store(
                dir.path(),
                "http://a",
                &number.to_string(),
                Effort::Thorough,
                b"code",
            )
            .expect("stored");
        }
        assert_eq!(fs::read_dir(dir.path()).expect("readable").count(), KEPT);
    }

    #[test]
    fn launchers_that_start_at_once_do_not_hinder_each_other() {
        let dir = tempfile::tempdir().expect("a folder");
        let store_all = |origin: String| {
            for number in 0..50 {
                let sha256 = number.to_string();
                store(dir.path(), &origin, &sha256, Effort::Quick, b"code").expect("stored");
            }
        };
        std::thread::scope(|scope| {
            for launcher in 0..4 {
                scope.spawn(move || store_all(format!("http://{launcher}")));
            }
        });
    }

    #[tokio::test]
    async fn better_code_is_taken_as_soon_as_there_is_some() {
        let dir = tempfile::tempdir().expect("a folder");
        let read = async || {
            let artifact = artifact(dir.path(), "http://a", "00").await.expect("kept");
            std::io::read_to_string(artifact.file).expect("readable")
        };
        store(dir.path(), "http://a", "00", Effort::Quick, b"quick").expect("stored");
        assert_eq!(read().await, "quick");
        assert!(!is_thorough(dir.path(), "http://a", "00"));
        store(dir.path(), "http://a", "00", Effort::Thorough, b"thorough").expect("stored");
        assert_eq!(read().await, "thorough");
        assert!(is_thorough(dir.path(), "http://a", "00"));
    }
}
