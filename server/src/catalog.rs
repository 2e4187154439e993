//! What the server itself remembers, in one SQLite file: sessions here, who may come in beside it. What happens inside a session is
//! the worker's to keep.

use std::{
    fs::{OpenOptions, Permissions},
    io,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

use porthole_protocol::{IdError, ModelRef, RequestId, SessionId};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

mod access;

pub use access::{Device, Grant, NewGuest, RedeemError, ShareError, ShareLink};

/// A session as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Which.
    pub id: SessionId,
    /// The title to show; never empty.
    pub title: String,
    /// Whether a person chose the title.
    pub title_given: bool,
    /// The directory it works in.
    pub dir: String,
    /// The model it began with, where one was chosen.
    pub model: Option<ModelRef>,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When something last happened in it.
    pub updated_ms: u64,
    /// Whether it stands first.
    pub pinned: bool,
    /// Whether it is put away.
    pub archived: bool,
    /// Whether an answer came that nobody has looked at.
    pub unread: bool,
    /// Whether work was unfinished when last heard of.
    pub busy: bool,
    /// Whether its worker was ever ready: from then on its store has to be there.
    pub opened: bool,
    /// When it was deleted, where it was; until it is removed it can be restored.
    pub deleted_ms: Option<u64>,
}

/// Why there is no catalog.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// There are sessions, and the file that knew them is empty or gone.
    #[error("`catalog.sqlite` in the data folder is {}, but `sessions/` there is not", if *gone { "gone" } else { "empty" })]
    Lost {
        /// Whether there is no file at all.
        gone: bool,
    },
    /// The file cannot be made private.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file fails, or was written by a newer server.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

/// The open catalog.
pub struct Catalog(Connection);

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS sessions (
        id TEXT PRIMARY KEY, request TEXT NOT NULL UNIQUE, title TEXT NOT NULL, title_given INTEGER NOT NULL,
        dir TEXT NOT NULL, model TEXT, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,
        pinned INTEGER NOT NULL, archived INTEGER NOT NULL, unread INTEGER NOT NULL, busy INTEGER NOT NULL,
        generation INTEGER NOT NULL DEFAULT 0, opened INTEGER NOT NULL DEFAULT 0,
        deleted_ms INTEGER
    ) STRICT;
";
const COLUMNS: &str = "id, title, title_given, dir, model, created_ms, updated_ms, pinned, archived, unread, busy, opened, deleted_ms";

impl Catalog {
    /// Opens the catalog of a data folder; makes it where there is none.
    ///
    /// # Errors
    /// Where the file cannot be used, or was written by a newer server.
    pub fn open(data: &Path) -> Result<Self, CatalogError> {
        let path = data.join("catalog.sqlite");
        make_private(data, &path)?;
        let connection = Connection::open(&path)?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(SCHEMA)?;
        add_column(
            &connection,
            "sessions",
            "opened",
            "INTEGER NOT NULL DEFAULT 0",
        )?;
        add_column(&connection, "sessions", "deleted_ms", "INTEGER")?;
        access::prepare(&connection)?;
        Ok(Self(connection))
    }

    /// Returns every session that is there or can be restored.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn sessions(&self) -> rusqlite::Result<Vec<Session>> {
        let there = "deleted_ms IS NULL OR deleted_ms != 0";
        let sql = format!("SELECT {COLUMNS} FROM sessions WHERE {there}");
        let mut rows = self.0.prepare(&sql)?;
        rows.query_map([], session)?.collect()
    }

    /// Returns the session that a request made.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn session_of_request(&self, request: &RequestId) -> rusqlite::Result<Option<SessionId>> {
        self.0
            .query_row(
                "SELECT id FROM sessions WHERE request = ?1",
                [request.as_str()],
                |row| parsed(row, 0, SessionId::parse),
            )
            .optional()
    }

    /// Keeps a new session.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn add_session(&self, session: &Session, request: &RequestId) -> rusqlite::Result<()> {
        self.0.execute(
            "INSERT INTO sessions (id, request, title, title_given, dir, model, created_ms, updated_ms, pinned, archived, unread, busy, opened)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            params![
                session.id.as_str(), request.as_str(), session.title, session.title_given, session.dir,
                session.model.as_ref().map(ToString::to_string), millis(session.created_ms), millis(session.updated_ms),
                session.pinned, session.archived, session.unread, session.busy, session.opened,
            ],
        )?;
        Ok(())
    }

    /// Keeps what a person changed of a session; returns whether it was still there.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn save_session(&self, session: &Session) -> rusqlite::Result<bool> {
        let saved = self.0.execute(
            "UPDATE sessions SET title = ?2, title_given = ?3, updated_ms = ?4, pinned = ?5, archived = ?6, unread = ?7, busy = ?8,
                    opened = opened OR ?9, deleted_ms = ?10
             WHERE id = ?1 AND (deleted_ms IS NULL OR deleted_ms != 0)",
            params![
                session.id.as_str(), session.title, session.title_given, millis(session.updated_ms),
                session.pinned, session.archived, session.unread, session.busy, session.opened,
                session.deleted_ms.map(millis),
            ],
        )?;
        Ok(saved > 0)
    }

    /// Keeps what its work changed of a session. What a person decided meanwhile stays: this may have been read before.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn save_progress(&self, session: &Session) -> rusqlite::Result<()> {
        self.0.execute(
            "UPDATE sessions SET title = iif(title_given, title, ?2), updated_ms = ?3, unread = ?4, busy = ?5, opened = opened OR ?6
             WHERE id = ?1",
            params![
                session.id.as_str(), session.title, millis(session.updated_ms), session.unread, session.busy, session.opened,
            ],
        )?;
        Ok(())
    }

    /// Settles that a session that was deleted then is gone for good; returns whether it was not restored before.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn condemn(&self, session: &SessionId, deleted_ms: u64) -> rusqlite::Result<bool> {
        let condemned = self.0.execute(
            "UPDATE sessions SET deleted_ms = 0 WHERE id = ?1 AND deleted_ms = ?2",
            params![session.as_str(), millis(deleted_ms)],
        )?;
        Ok(condemned > 0)
    }

    /// Returns the sessions that are gone for good but for what is still to be removed.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn condemned(&self) -> rusqlite::Result<Vec<SessionId>> {
        let mut rows = self
            .0
            .prepare("SELECT id FROM sessions WHERE deleted_ms = 0")?;
        rows.query_map([], |row| parsed(row, 0, SessionId::parse))?
            .collect()
    }

    /// Forgets a session of which nothing is left.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn forget_session(&self, session: &SessionId) -> rusqlite::Result<()> {
        self.0.execute(
            "DELETE FROM sessions WHERE id = ?1 AND deleted_ms = 0",
            [session.as_str()],
        )?;
        Ok(())
    }

    /// Returns the number of the next life of a session's worker.
    ///
    /// # Errors
    /// Where the file fails or there is no such session.
    pub fn next_generation(&self, session: &SessionId) -> rusqlite::Result<u64> {
        self.0.query_row(
            "UPDATE sessions SET generation = generation + 1 WHERE id = ?1 RETURNING generation",
            [session.as_str()],
            |row| row.get::<_, i64>(0).map(i64::unsigned_abs),
        )
    }
}

/// Sees to it that the file is this user's alone before anything is in it. A catalog that was lost is not made anew:
/// sessions would seem never to have been.
fn make_private(data: &Path, path: &Path) -> Result<(), CatalogError> {
    let length = match std::fs::metadata(path) {
        Ok(metadata) => Some(metadata.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    if length.unwrap_or(0) == 0 && has_sessions(data)? {
        return Err(CatalogError::Lost {
            gone: length.is_none(),
        });
    }
    // SQLite gives the files beside it the mode of this one.
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    for beside in ["catalog.sqlite-wal", "catalog.sqlite-shm"] {
        match std::fs::set_permissions(data.join(beside), Permissions::from_mode(0o600)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

fn has_sessions(data: &Path) -> io::Result<bool> {
    match std::fs::read_dir(data.join("sessions")) {
        Ok(mut entries) => entries.next().transpose().map(|entry| entry.is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Brings a table that was made before a column was thought of up to date.
fn add_column(
    connection: &Connection,
    table: &'static str,
    column: &'static str,
    kind: &'static str,
) -> rusqlite::Result<()> {
    let known = "SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2";
    if connection.query_row(known, [table, column], |row| row.get::<_, i64>(0))? == 0 {
        connection.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {column} {kind}"))?;
    }
    Ok(())
}

/// SQLite has no unsigned numbers; the year 292 million comes first.
fn millis(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

fn get_millis(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

fn parsed<T>(
    row: &Row<'_>,
    column: usize,
    parse: fn(&str) -> Result<T, IdError>,
) -> rusqlite::Result<T> {
    parse(&row.get::<_, String>(column)?).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Text,
            Box::new(error),
        )
    })
}

fn session(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        id: parsed(row, 0, SessionId::parse)?,
        title: row.get(1)?,
        title_given: row.get(2)?,
        dir: row.get(3)?,
        model: row
            .get::<_, Option<String>>(4)?
            .as_deref()
            .and_then(ModelRef::parse),
        created_ms: get_millis(row, 5)?,
        updated_ms: get_millis(row, 6)?,
        pinned: row.get(7)?,
        archived: row.get(8)?,
        unread: row.get(9)?,
        busy: row.get(10)?,
        opened: row.get(11)?,
        deleted_ms: row
            .get::<_, Option<i64>>(12)?
            .map(|ms| u64::try_from(ms).unwrap_or(0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_session(id: &str) -> Session {
        Session {
            id: SessionId::parse(id).expect("an id"),
            title: "t".to_owned(),
            title_given: false,
            dir: "/".to_owned(),
            model: ModelRef::parse("mock/a/b"),
            created_ms: 1,
            updated_ms: 2,
            pinned: true,
            archived: false,
            unread: true,
            busy: true,
            opened: false,
            deleted_ms: None,
        }
    }

    #[test]
    fn sessions_and_generations_outlive_the_server() {
        let data = tempfile::tempdir().expect("a folder");
        let request = RequestId::parse("r1").expect("an id");
        let mut there = a_session("s1");
        {
            let catalog = Catalog::open(data.path()).expect("opens");
            catalog.add_session(&there, &request).expect("kept");
            assert_eq!(catalog.next_generation(&there.id).expect("counts"), 1);
            there.title = "other".to_owned();
            there.busy = false;
            there.opened = true;
            assert!(catalog.save_session(&there).expect("kept"));
        }
        let catalog = Catalog::open(data.path()).expect("opens");
        assert_eq!(catalog.sessions().expect("reads"), [there.clone()]);
        assert_eq!(catalog.next_generation(&there.id).expect("counts"), 2);
        assert_eq!(
            catalog.session_of_request(&request).expect("reads"),
            Some(there.id)
        );
    }

    #[test]
    fn a_catalog_from_before_sessions_were_noted_as_opened_is_brought_up_to_date() {
        let data = tempfile::tempdir().expect("a folder");
        let request = RequestId::parse("r1").expect("an id");
        {
            let catalog = Catalog::open(data.path()).expect("opens");
            catalog
                .add_session(&a_session("s1"), &request)
                .expect("kept");
            let older = "ALTER TABLE sessions DROP COLUMN opened; ALTER TABLE sessions DROP COLUMN deleted_ms";
            catalog.0.execute_batch(older).expect("changes");
        }
        let catalog = Catalog::open(data.path()).expect("opens");
        assert_eq!(catalog.sessions().expect("reads"), [a_session("s1")]);
    }

    #[test]
    fn a_deleted_session_comes_back_until_it_is_gone_for_good() {
        let data = tempfile::tempdir().expect("a folder");
        let catalog = Catalog::open(data.path()).expect("opens");
        let request = RequestId::parse("r1").expect("an id");
        let there = a_session("s1");
        catalog.add_session(&there, &request).expect("kept");
        let deleted = Session {
            deleted_ms: Some(7),
            ..there.clone()
        };
        assert!(catalog.save_session(&deleted).expect("kept"));
        // Progress that was under way, and a person who is quicker than the removal.
        catalog.save_progress(&there).expect("kept");
        assert_eq!(
            catalog.sessions().expect("reads"),
            std::slice::from_ref(&deleted)
        );
        assert!(catalog.save_session(&there).expect("restored"));
        assert!(!catalog.condemn(&there.id, 7).expect("looks"));
        assert!(catalog.save_session(&deleted).expect("kept"));
        assert!(!catalog.condemn(&there.id, 6).expect("another time"));
        assert!(catalog.condemn(&there.id, 7).expect("kept"));
        assert!(!catalog.save_session(&there).expect("too late"));
        assert_eq!(catalog.sessions().expect("reads"), []);
        assert_eq!(
            catalog.condemned().expect("reads"),
            std::slice::from_ref(&there.id)
        );
        catalog.forget_session(&there.id).expect("forgotten");
        assert_eq!(catalog.condemned().expect("reads"), []);
    }

    #[test]
    fn the_catalog_is_its_owners_alone() {
        let data = tempfile::tempdir().expect("a folder");
        std::fs::write(data.path().join("catalog.sqlite"), b"").expect("written");
        let _open = Catalog::open(data.path()).expect("opens");
        for file in std::fs::read_dir(data.path()).expect("lists") {
            let file = file.expect("there");
            let mode = file.metadata().expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{:?}", file.file_name());
        }
    }

    #[test]
    fn a_lost_catalog_beside_sessions_is_told_and_not_made_anew() {
        let data = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(data.path().join("sessions/s1")).expect("made");
        let gone = Catalog::open(data.path()).map(|_| ());
        assert!(matches!(gone, Err(CatalogError::Lost { gone: true })));
        let path = data.path().join("catalog.sqlite");
        std::fs::write(&path, b"").expect("written");
        let empty = Catalog::open(data.path()).map(|_| ());
        assert!(matches!(empty, Err(CatalogError::Lost { gone: false })));
        assert_eq!(std::fs::metadata(&path).expect("there").len(), 0);
        std::fs::write(&path, b"not a database, but something").expect("written");
        let damaged = Catalog::open(data.path()).map(|_| ());
        assert!(matches!(damaged, Err(CatalogError::Sqlite(_))));
    }
}
