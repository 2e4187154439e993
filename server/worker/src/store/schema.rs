//! The tables and how the file is opened. A store of an older version is brought up to date; a newer one is refused.

use std::path::Path;

use rusqlite::Connection;

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
"];

/// Opens the file, settles how it is written, and brings it up to date.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = Connection::open(path)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "journal_size_limit", 4 << 20)?;
    connection.set_prepared_statement_cache_capacity(32);
    migrate(&mut connection)?;
    Ok(connection)
}

fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let done = usize::try_from(version).map_err(|_| StoreError::Newer(version))?;
    let steps = STEPS.get(done..).ok_or(StoreError::Newer(version))?;
    for (n, step) in (done..).zip(steps) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", n + 1)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Moves the log into the file and cuts it.
pub(super) fn checkpoint(connection: &Connection) -> Result<(), StoreError> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}
