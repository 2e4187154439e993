//! Credentials: one private file for each origin and kind of visitor, bound to the server's key.
//! It never sends anything; whoever sends a cookie has seen the key proved first.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
};

use porthole_door::Redeemer;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::folders::{self, FolderError, Kind};

/// Largest record that is read, in bytes.
const RECORD_BYTES: u64 = 16 << 10;
const SUFFIX: &str = "json";

/// What is kept of one server. The cookie is a secret, so there is no `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Scheme, host and port.
    pub origin: String,
    /// SHA-256 of the server's public key, base64url: the cookie goes to the holder of this key only.
    pub fingerprint: String,
    /// The cookie's name.
    pub cookie_name: String,
    /// The cookie's value. A secret.
    pub cookie_value: String,
    /// Who the cookie makes you.
    pub who: Redeemer,
    /// Seconds since the Unix epoch.
    pub last_used: u64,
    /// SHA-256 of the bundle that ran last, hex.
    #[serde(default)]
    pub bundle: Option<String>,
}

impl Record {
    /// Returns the `Cookie` header's value. A secret.
    pub fn cookie(&self) -> String {
        format!("{}={}", self.cookie_name, self.cookie_value)
    }

    /// Returns `owner` or `guest`.
    pub fn who_word(&self) -> &'static str {
        match self.who {
            Redeemer::Owner => "owner",
            Redeemer::Guest { .. } => "guest",
        }
    }

    fn file_name(&self) -> String {
        file_name(&self.origin, self.who_word())
    }
}

/// The credentials folder.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// Opens the folder below `state`, making and repairing it.
    ///
    /// # Errors
    /// Where the folder is not ours.
    pub fn open(state: &Path) -> Result<Self, FolderError> {
        let folder = state.join("credentials");
        folders::make_private(state)?;
        folders::make_private(&folder)?;
        Ok(Self { folder })
    }

    /// Returns every readable record, the last used first. Files that are no record are passed over.
    ///
    /// # Errors
    /// Where the folder cannot be read or a record belongs to another user.
    pub fn all(&self) -> Result<Vec<Record>, FolderError> {
        let entries = fs::read_dir(&self.folder).map_err(|error| self.io(error))?;
        let mut records = Vec::new();
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|ext| ext == SUFFIX) {
                records.extend(read(&path)?);
            }
        }
        records.sort_by_key(|record| std::cmp::Reverse(record.last_used));
        Ok(records)
    }

    /// Returns the record for `origin`; the owner's before a guest's.
    ///
    /// # Errors
    /// Where a record is there but not ours.
    pub fn find(&self, origin: &str) -> Result<Option<Record>, FolderError> {
        for who in ["owner", "guest"] {
            let path = self.folder.join(file_name(origin, who));
            if let Some(record) = read(&path)?.filter(|record| record.origin == origin) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Writes `record` in place of an older one, whole or not at all.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub fn save(&self, record: &Record) -> Result<(), FolderError> {
        let _lock = self.lock()?;
        let bytes = serde_json::to_vec_pretty(record)
            .map_err(|error| self.io(std::io::Error::other(error)))?;
        let mut file =
            tempfile::NamedTempFile::new_in(&self.folder).map_err(|error| self.io(error))?;
        file.write_all(&bytes).map_err(|error| self.io(error))?;
        file.as_file().sync_all().map_err(|error| self.io(error))?;
        file.persist(self.folder.join(record.file_name()))
            .map_err(|error| self.io(error.error))?;
        Ok(())
    }

    /// Removes `record`, unless another run has put a newer cookie in its place.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub fn forget(&self, record: &Record) -> Result<(), FolderError> {
        let _lock = self.lock()?;
        let path = self.folder.join(record.file_name());
        match read(&path)? {
            Some(kept) if kept.cookie_value == record.cookie_value => {
                fs::remove_file(&path).map_err(|error| self.io(error))
            }
            _ => Ok(()),
        }
    }

    /// Notes when a server was used and which bundle ran, in the newest record.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub fn touch(&self, record: &Record) -> Result<(), FolderError> {
        let path = self.folder.join(record.file_name());
        match read(&path)? {
            Some(kept) if kept.cookie_value == record.cookie_value => self.save(record),
            _ => Ok(()),
        }
    }

    fn lock(&self) -> Result<fs::File, FolderError> {
        let file = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.folder.join("lock"))
            .map_err(|error| self.io(error))?;
        folders::repair(&self.folder.join("lock"), Kind::File)?;
        flock(&file, FlockOperation::LockExclusive).map_err(|error| self.io(error.into()))?;
        Ok(file)
    }

    fn io(&self, error: std::io::Error) -> FolderError {
        FolderError::Io(
            crate::escape::visible(&self.folder.to_string_lossy()),
            error,
        )
    }
}

/// A hash, since an origin holds characters that file names should not.
fn file_name(origin: &str, who: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, format!("{origin}\n{who}").as_bytes());
    let hex: String = digest.as_ref()[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{hex}.{SUFFIX}")
}

fn read(path: &Path) -> Result<Option<Record>, FolderError> {
    match fs::symlink_metadata(path) {
        Err(_) => return Ok(None),
        Ok(_) => folders::repair(path, Kind::File)?,
    }
    let io = |error| FolderError::Io(path.display().to_string(), error);
    let mut bytes = Vec::new();
    fs::File::open(path)
        .map_err(io)?
        .take(RECORD_BYTES)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    Ok(serde_json::from_slice(&bytes).ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn record(origin: &str, value: &str, who: Redeemer) -> Record {
        Record {
            origin: origin.into(),
            fingerprint: "f".repeat(43),
            cookie_name: "porthole-device-1".into(),
            cookie_value: value.into(),
            who,
            last_used: 1,
            bundle: None,
        }
    }

    fn guest() -> Redeemer {
        Redeemer::Guest {
            session: "s1".into(),
            mode: "view".into(),
            may_approve: false,
            name: "mira".into(),
            title: "t".into(),
            expires_ms: 0,
        }
    }

    #[test]
    fn owner_and_guest_of_one_origin_are_kept_apart_and_the_owner_comes_first() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(dir.path()).expect("opens");
        let origin = "http://127.0.0.1:1";
        store.save(&record(origin, "g", guest())).expect("saved");
        store
            .save(&record(origin, "o", Redeemer::Owner))
            .expect("saved");
        assert_eq!(store.all().expect("reads").len(), 2);
        let found = store.find(origin).expect("reads").expect("is there");
        assert_eq!(found.cookie_value, "o");
    }

    #[test]
    fn records_are_0600_and_a_wider_mode_is_repaired_on_reading() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(dir.path()).expect("opens");
        let kept = record("http://127.0.0.1:1", "o", Redeemer::Owner);
        store.save(&kept).expect("saved");
        let path = store.folder.join(kept.file_name());
        assert_eq!(folders::mode_of(&path), Some(0o600));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("set");
        store.find(&kept.origin).expect("reads").expect("is there");
        assert_eq!(folders::mode_of(&path), Some(0o600));
    }

    #[test]
    fn forgetting_an_old_cookie_keeps_a_newer_one() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(dir.path()).expect("opens");
        let old = record("http://127.0.0.1:1", "old", Redeemer::Owner);
        let new = record("http://127.0.0.1:1", "new", Redeemer::Owner);
        store.save(&old).expect("saved");
        store.save(&new).expect("saved");
        store.forget(&old).expect("nothing to do");
        assert!(store.find(&new.origin).expect("reads").is_some());
        store.forget(&new).expect("removed");
        assert!(store.find(&new.origin).expect("reads").is_none());
    }

    #[test]
    fn a_broken_record_is_no_record_and_no_error() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(dir.path()).expect("opens");
        fs::write(store.folder.join(file_name("x", "owner")), b"{half").expect("written");
        assert!(store.find("x").expect("reads").is_none());
        assert!(store.all().expect("reads").is_empty());
    }
}
