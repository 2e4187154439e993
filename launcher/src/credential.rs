//! Credentials: one private file for each origin, server key and kind of visitor.
//! It never sends anything; whoever sends a cookie has seen the key proved first.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use porthole_door::{COOKIE_DEVICE_PORT, COOKIE_GUEST_PORT, Redeemer};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::{
    app::Admission,
    escape,
    folders::{self, FolderError, Kind},
};

/// Largest record that is read, in bytes.
const RECORD_BYTES: u64 = 16 << 10;
const SUFFIX: &str = "json";
/// What a record is called that could not be read, so that it is not looked at again.
const ASIDE: &str = "unreadable";

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
    /// The host that the ssh program is given to get there; nothing where the origin is reached as it stands.
    #[serde(default)]
    pub ssh: Option<String>,
}

impl Record {
    /// Returns the `Cookie` header's value. A secret.
    pub fn cookie(&self) -> String {
        format!("{}={}", self.cookie_name, self.cookie_value)
    }

    /// Returns who one is and at which server.
    pub fn admission(&self) -> Admission {
        Admission {
            fingerprint: self.fingerprint.clone(),
            who: self.who.clone(),
        }
    }

    /// Returns `owner` or `guest`.
    pub fn who_word(&self) -> &'static str {
        match self.who {
            Redeemer::Owner => "owner",
            Redeemer::Guest { .. } => "guest",
        }
    }

    /// Returns the session that a guest was let into.
    pub fn session(&self) -> Option<&str> {
        match &self.who {
            Redeemer::Owner => None,
            Redeemer::Guest { session, .. } => Some(session),
        }
    }

    /// Returns the port that the origin names.
    pub fn port(&self) -> Option<u16> {
        url::Url::parse(&self.origin).ok()?.port_or_known_default()
    }

    /// Returns the same credential for the same server under another port of this machine: cookies there are named by port.
    pub fn moved_to(&self, origin: &str) -> Self {
        let mut moved = self.clone();
        moved.origin = origin.to_owned();
        for prefix in [COOKIE_DEVICE_PORT, COOKIE_GUEST_PORT] {
            if let (true, Some(port)) = (self.cookie_name.starts_with(prefix), moved.port()) {
                moved.cookie_name = format!("{prefix}{port}");
            }
        }
        moved
    }

    /// A hash, since an origin holds characters that file names should not.
    fn file_name(&self) -> String {
        let session = self.session().unwrap_or_default();
        let parts = [&self.origin, &self.fingerprint, self.who_word(), session];
        let digest = ring::digest::digest(&ring::digest::SHA256, parts.join("\n").as_bytes());
        let hex: String = digest.as_ref()[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("{hex}.{SUFFIX}")
    }
}

/// What the folder holds.
#[derive(Default)]
pub struct Known {
    /// Every record that can be used, the last used first.
    pub records: Vec<Record>,
    /// A sentence for each that cannot.
    pub troubles: Vec<String>,
}

impl Known {
    /// Returns the records of `origin`: the owner's before guests', then the last used first.
    pub fn of(&self, origin: &str) -> Vec<Record> {
        let mut found: Vec<Record> = self
            .records
            .iter()
            .filter(|record| record.origin == origin)
            .cloned()
            .collect();
        found.sort_by_key(|record| record.who != Redeemer::Owner);
        found
    }

    /// Says what is wrong with records that cannot be used.
    pub fn warn(&self) {
        self.troubles
            .iter()
            .for_each(|trouble| crate::warn(trouble));
    }
}

/// The credentials folder.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// Why one record cannot be used.
enum Unusable {
    /// The file is not one of ours, or cannot be read.
    File(FolderError),
    /// It holds no record.
    Content,
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

    /// Returns every record. One that cannot be read is put aside under another name and told; the others are as good as before.
    ///
    /// # Errors
    /// Where the folder cannot be read or locked.
    pub fn known(&self) -> Result<Known, FolderError> {
        // Whoever writes holds the lock, so that nothing half done is seen or put aside.
        let _lock = self.lock()?;
        let entries = fs::read_dir(&self.folder).map_err(|error| self.io(error))?;
        let mut known = Known::default();
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|ext| ext != SUFFIX) {
                continue;
            }
            match read(&path) {
                Ok(record) => known.records.extend(record),
                Err(Unusable::File(error)) => known.troubles.push(error.to_string()),
                Err(Unusable::Content) => known.troubles.push(put_aside(&path)),
            }
        }
        let latest = |record: &Record| (std::cmp::Reverse(record.last_used), record.file_name());
        known.records.sort_by_cached_key(latest);
        Ok(known)
    }

    /// Writes `record` in place of an older one, whole or not at all.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub fn save(&self, record: &Record) -> Result<(), FolderError> {
        let _lock = self.lock()?;
        self.write(record).map_err(|error| self.io(error))
    }

    /// Removes `record`, unless another run has put a newer cookie in its place.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub fn forget(&self, record: &Record) -> Result<(), FolderError> {
        let _lock = self.lock()?;
        if !self.holds(record) {
            return Ok(());
        }
        fs::remove_file(self.folder.join(record.file_name())).map_err(|error| self.io(error))
    }

    /// Notes when a server was used and which bundle ran, unless another run has put a newer cookie in its place.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub fn touch(&self, record: &Record) -> Result<(), FolderError> {
        let _lock = self.lock()?;
        match self.holds(record) {
            true => self.write(record).map_err(|error| self.io(error)),
            false => Ok(()),
        }
    }

    /// Returns whether the folder holds this very cookie.
    fn holds(&self, record: &Record) -> bool {
        let kept = read(&self.folder.join(record.file_name())).ok().flatten();
        kept.is_some_and(|kept| kept.cookie_value == record.cookie_value)
    }

    fn write(&self, record: &Record) -> io::Result<()> {
        let bytes = serde_json::to_vec_pretty(record)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&bytes)?;
        file.as_file().sync_all()?;
        file.persist(self.folder.join(record.file_name()))?;
        fs::File::open(&self.folder)?.sync_all()
    }

    fn lock(&self) -> Result<fs::File, FolderError> {
        let path = self.folder.join("lock");
        if folders::mode_of(&path).is_some() {
            folders::repair(&path, Kind::File)?;
        }
        let file = fs::OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| self.io(error))?;
        folders::repair(&path, Kind::File)?;
        flock(&file, FlockOperation::LockExclusive).map_err(|error| self.io(error.into()))?;
        Ok(file)
    }

    fn io(&self, error: io::Error) -> FolderError {
        FolderError::Io(escape::visible(&self.folder.to_string_lossy()), error)
    }
}

fn read(path: &Path) -> Result<Option<Record>, Unusable> {
    let Some(file) = folders::open_private(path).map_err(Unusable::File)? else {
        return Ok(None);
    };
    let shown = || escape::visible(&path.to_string_lossy());
    let mut bytes = Vec::new();
    file.take(RECORD_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| Unusable::File(FolderError::Io(shown(), error)))?;
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|_| Unusable::Content)
}

/// Gives an unreadable record a name under which it is not looked at again; returns what to tell.
fn put_aside(path: &Path) -> String {
    let aside = path.with_extension(ASIDE);
    let shown = |path: &Path| escape::visible(&path.to_string_lossy());
    let lost = "a credential could not be read; make a fresh link for the server that is missing";
    match fs::rename(path, &aside) {
        Ok(()) => format!("{lost} (it is kept aside as `{}`)", shown(&aside)),
        Err(error) => format!("{lost} (`{}` could not be put aside: {error})", shown(path)),
    }
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
            ssh: None,
        }
    }

    fn guest(session: &str) -> Redeemer {
        Redeemer::Guest {
            session: session.into(),
            mode: "view".into(),
            may_approve: false,
            name: "mira".into(),
            title: "t".into(),
            expires_ms: 0,
        }
    }

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(dir.path()).expect("opens");
        (dir, store)
    }

    fn values(records: &[Record]) -> Vec<&str> {
        records.iter().map(|r| r.cookie_value.as_str()).collect()
    }

    #[test]
    fn owner_and_guests_of_one_origin_are_kept_apart_and_the_owner_comes_first() {
        let (_dir, store) = store();
        let origin = "http://127.0.0.1:1";
        let mut later = record(origin, "g2", guest("s2"));
        later.last_used = 9;
        for record in [
            record(origin, "g1", guest("s1")),
            record(origin, "o", Redeemer::Owner),
            record("http://127.0.0.1:2", "other", Redeemer::Owner),
            later,
        ] {
            store.save(&record).expect("saved");
        }
        let known = store.known().expect("reads");
        assert_eq!(known.records.len(), 4);
        assert_eq!(values(&known.of(origin)), ["o", "g2", "g1"]);
    }

    #[test]
    fn two_servers_behind_one_address_are_kept_apart_by_their_keys() {
        let (_dir, store) = store();
        let origin = "http://127.0.0.1:1";
        let one = record(origin, "one", Redeemer::Owner);
        let mut two = record(origin, "two", Redeemer::Owner);
        two.fingerprint = "g".repeat(43);
        store.save(&one).expect("saved");
        store.save(&two).expect("saved");
        assert_eq!(store.known().expect("reads").of(origin).len(), 2);
        store.forget(&one).expect("removed");
        assert_eq!(values(&store.known().expect("reads").of(origin)), ["two"]);
    }

    #[test]
    fn a_credential_moves_to_another_local_port_with_its_cookies_name() {
        let moved =
            record("http://127.0.0.1:1", "o", Redeemer::Owner).moved_to("http://127.0.0.1:22");
        assert_eq!(moved.cookie(), "porthole-device-22=o");
        assert_eq!(moved.port(), Some(22));
    }

    #[test]
    fn records_are_0600_and_a_wider_mode_is_repaired_on_reading() {
        let (_dir, store) = store();
        let kept = record("http://127.0.0.1:1", "o", Redeemer::Owner);
        store.save(&kept).expect("saved");
        let path = store.folder.join(kept.file_name());
        assert_eq!(folders::mode_of(&path), Some(0o600));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("set");
        assert_eq!(store.known().expect("reads").records.len(), 1);
        assert_eq!(folders::mode_of(&path), Some(0o600));
    }

    #[test]
    fn forgetting_or_noting_an_old_cookie_keeps_a_newer_one() {
        let (_dir, store) = store();
        let old = record("http://127.0.0.1:1", "old", Redeemer::Owner);
        let new = record("http://127.0.0.1:1", "new", Redeemer::Owner);
        store.save(&old).expect("saved");
        store.save(&new).expect("saved");
        store.forget(&old).expect("nothing to do");
        store.touch(&old).expect("nothing to do");
        assert_eq!(values(&store.known().expect("reads").records), ["new"]);
        store.forget(&new).expect("removed");
        store.touch(&new).expect("nothing to do");
        assert!(store.known().expect("reads").records.is_empty());
    }

    #[test]
    fn a_broken_record_is_told_once_and_kept_aside_and_others_still_work() {
        let (_dir, store) = store();
        store
            .save(&record("http://127.0.0.1:1", "o", Redeemer::Owner))
            .expect("saved");
        let broken = store.folder.join("ab.json");
        fs::write(&broken, b"{half").expect("written");
        std::os::unix::fs::symlink("/etc/passwd", store.folder.join("cd.json")).expect("linked");
        let known = store.known().expect("reads");
        assert_eq!(values(&known.records), ["o"]);
        assert_eq!(known.troubles.len(), 2, "{:?}", known.troubles);
        let aside = fs::read(store.folder.join("ab.unreadable")).expect("kept aside");
        assert_eq!(aside, b"{half");
        assert_eq!(store.known().expect("reads").troubles.len(), 1);
    }

    #[test]
    fn many_writers_at_once_leave_whole_records() {
        let (_dir, store) = store();
        let writers: Vec<_> = (0..8)
            .map(|n| {
                let store = store.clone();
                std::thread::spawn(move || {
                    for turn in 0..20 {
                        let value = format!("{n}-{turn}");
                        let origin = format!("http://127.0.0.1:{}", n % 2 + 1);
                        store
                            .save(&record(&origin, &value, Redeemer::Owner))
                            .expect("saved");
                        assert!(store.known().expect("reads").troubles.is_empty());
                    }
                })
            })
            .collect();
        writers
            .into_iter()
            .for_each(|w| w.join().expect("no panic"));
        let known = store.known().expect("reads");
        assert_eq!((known.records.len(), known.troubles.len()), (2, 0));
    }
}
