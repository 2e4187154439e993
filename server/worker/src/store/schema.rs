//! The tables and how the file is opened. A store of an older version is brought up to date; a newer one is refused.

use std::{fs::File, io::Read, path::Path};

use rusqlite::{Connection, OpenFlags};

use super::StoreError;

/// What brings a store from version `n` to `n + 1`, in order. Only ever appended to.
const STEPS: &[&str] = &["
    CREATE TABLE conversations (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, at_ms INTEGER NOT NULL,
        cut INTEGER NOT NULL, body TEXT NOT NULL, provider TEXT
    );
    CREATE INDEX entries_of ON entries (conversation, id);
    CREATE TABLE submissions (id INTEGER PRIMARY KEY, queued INTEGER NOT NULL, body TEXT NOT NULL);
    CREATE INDEX submissions_queued ON submissions (id) WHERE queued;
    CREATE TABLE turns (id INTEGER PRIMARY KEY, open INTEGER NOT NULL, body TEXT NOT NULL);
    CREATE INDEX turns_open ON turns (id) WHERE open;
    CREATE TABLE calls (
        call TEXT PRIMARY KEY, turn INTEGER NOT NULL, open INTEGER NOT NULL, body TEXT NOT NULL
    );
    CREATE INDEX calls_open ON calls (turn) WHERE open;
    CREATE TABLE questions (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
    CREATE TABLE shells (id INTEGER PRIMARY KEY, turn INTEGER NOT NULL, open INTEGER NOT NULL, body TEXT NOT NULL);
    CREATE INDEX shells_open ON shells (id) WHERE open;
    CREATE TABLE allowed (what TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE requests (key TEXT PRIMARY KEY, reply TEXT NOT NULL, at_ms INTEGER NOT NULL) WITHOUT ROWID;
", "
    ALTER TABLE submissions ADD COLUMN conversation INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE turns ADD COLUMN conversation INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE shells ADD COLUMN conversation INTEGER NOT NULL DEFAULT 1;
"];

/// What every store begins with.
const HEADER: &[u8; 16] = b"SQLite format 3\0";

/// Looks whether a store is there at all. It changes nothing; SQLite would take an empty file for a new store.
pub(super) fn look(path: &Path) -> Result<(), StoreError> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                return Err(StoreError::Missing);
            }
            _ => return Err(error.into()),
        },
    };
    let mut header = Vec::new();
    Read::by_ref(&mut file)
        .take(HEADER.len() as u64)
        .read_to_end(&mut header)?;
    match header.as_slice() {
        [] => Err(StoreError::Damaged("its file is empty".to_owned())),
        header if header == HEADER => Ok(()),
        _ => Err(StoreError::Damaged("its file is no database".to_owned())),
    }
}

/// Opens the file, or makes it for a session that is new; settles how it is written, and brings it up to date.
pub(super) fn open(path: &Path, is_new: bool) -> Result<Connection, StoreError> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, is_new);
    if is_new {
        // Made here, so that no moment passes in which others may read it; its log gets the same rights.
        private_file(path)?;
    } else {
        free_log(path)?;
    }
    settle(Connection::open_with_flags(path, flags)?, path, is_new)
}

/// Opens or makes the file on another disk than the machine's.
#[cfg(test)]
pub(super) fn open_on(
    path: &Path,
    is_new: bool,
    disk: &std::ffi::CStr,
) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_CREATE;
    settle(
        Connection::open_with_flags_and_vfs(path, flags, disk)?,
        path,
        is_new,
    )
}

fn settle(mut connection: Connection, path: &Path, is_new: bool) -> Result<Connection, StoreError> {
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "journal_size_limit", 4 << 20)?;
    connection.set_prepared_statement_cache_capacity(32);
    migrate(&mut connection, path, is_new)?;
    Ok(connection)
}

/// Lets the log be written that stands beside the file: one that was made while the file could only be read has its rights, and
/// would keep the store closed after the file has its own back.
fn free_log(path: &Path) -> Result<(), StoreError> {
    if std::fs::metadata(path)?.permissions().readonly() {
        return Ok(());
    }
    for end in ["-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        match std::fs::metadata(&name) {
            Ok(log) if log.permissions().readonly() => set_private(Path::new(&name))?,
            _ => {}
        }
    }
    Ok(())
}

/// Makes an empty file that nobody but its owner reads, where there is none.
fn private_file(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    set_private(path)
}

fn migrate(connection: &mut Connection, path: &Path, is_new: bool) -> Result<(), StoreError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let done = usize::try_from(version).map_err(|_| StoreError::Newer(version))?;
    if version == 0 && !is_new {
        return Err(StoreError::Damaged("it holds nothing".to_owned()));
    }
    let steps = STEPS.get(done..).ok_or(StoreError::Newer(version))?;
    // One that was never open has nothing to lose: its making was interrupted half-way.
    if version > 0 && !is_new && !steps.is_empty() {
        keep_copy(connection, path, version)?;
    }
    for (n, step) in (done..).zip(steps) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", n + 1)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Keeps the store as it was before it is brought up to date: `session.db.vN` beside it, whole or not there.
fn keep_copy(connection: &Connection, path: &Path, version: i64) -> Result<(), StoreError> {
    let copy = path.with_extension(format!("db.v{version}"));
    let part = path.with_extension("db.part");
    if copy.exists() {
        // An earlier try came as far as this; nothing was changed since.
        return Ok(());
    }
    match std::fs::remove_file(&part) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    connection.execute("VACUUM INTO ?1", [part.to_string_lossy()])?;
    set_private(&part)?;
    File::open(&part)?.sync_all()?;
    std::fs::rename(&part, &copy)?;
    if let Some(folder) = path.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Lets nobody but the owner of the process read a file.
fn set_private(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::set_permissions(
        path,
        std::fs::Permissions::from_mode(0o600),
    )?)
}

/// Moves the log into the file and cuts it.
pub(super) fn checkpoint(connection: &Connection) -> Result<(), StoreError> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}
