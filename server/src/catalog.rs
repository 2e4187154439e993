//! What the server itself remembers: sessions, devices and links, in one SQLite file. What happens inside a session is
//! the worker's to keep.

use std::path::Path;

use porthole_protocol::{ModelRef, RequestId, SessionId};
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};

use crate::token::TokenHash;

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
}

/// A device of the owner.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Device {
    /// Its public id.
    pub id: String,
    /// Its name, as it called itself.
    pub name: String,
    /// When it redeemed its link, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When it last connected.
    pub used_ms: u64,
}

/// Why a link was not redeemed.
#[derive(Debug, thiserror::Error)]
pub enum RedeemError {
    /// There is no such link.
    #[error("this link is not known here")]
    Unknown,
    /// Someone was first.
    #[error("this link was already used")]
    Used,
    /// It is too old.
    #[error("this link has expired")]
    Expired,
    /// The catalog failed.
    #[error(transparent)]
    Catalog(#[from] rusqlite::Error),
}

/// The open catalog.
pub struct Catalog(Connection);

/// A used or expired link is remembered for so long, so that it can be called by its name.
const KEEP_LINKS_MS: u64 = 24 * 60 * 60 * 1000;

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS sessions (
        id TEXT PRIMARY KEY, request TEXT NOT NULL UNIQUE, title TEXT NOT NULL, title_given INTEGER NOT NULL,
        dir TEXT NOT NULL, model TEXT, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,
        pinned INTEGER NOT NULL, archived INTEGER NOT NULL, unread INTEGER NOT NULL, busy INTEGER NOT NULL,
        generation INTEGER NOT NULL DEFAULT 0, opened INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE IF NOT EXISTS devices (
        id TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE, name TEXT NOT NULL, created_ms INTEGER NOT NULL, used_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS owner_links (
        hash BLOB PRIMARY KEY, expires_ms INTEGER NOT NULL, used_ms INTEGER
    ) STRICT;
";
const COLUMNS: &str = "id, title, title_given, dir, model, created_ms, updated_ms, pinned, archived, unread, busy, opened";

impl Catalog {
    /// Opens the catalog of a data folder; makes it where there is none.
    ///
    /// # Errors
    /// Where the file cannot be used, or was written by a newer server.
    pub fn open(data: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(data.join("catalog.sqlite"))?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch(SCHEMA)?;
        add_opened(&connection)?;
        Ok(Self(connection))
    }

    /// Returns every session.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn sessions(&self) -> rusqlite::Result<Vec<Session>> {
        let mut rows = self.0.prepare(&format!("SELECT {COLUMNS} FROM sessions"))?;
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
                |row| id(row, 0),
            )
            .optional()
    }

    /// Keeps a new session.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn add_session(&self, session: &Session, request: &RequestId) -> rusqlite::Result<()> {
        self.0.execute(
            "INSERT INTO sessions (id, request, title, title_given, dir, model, created_ms, updated_ms, pinned, archived, unread, busy)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            params![
                session.id.as_str(), request.as_str(), session.title, session.title_given, session.dir,
                session.model.as_ref().map(ToString::to_string), millis(session.created_ms), millis(session.updated_ms),
                session.pinned, session.archived, session.unread, session.busy,
            ],
        )?;
        Ok(())
    }

    /// Keeps what may change of a session.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn save_session(&self, session: &Session) -> rusqlite::Result<()> {
        self.0.execute(
            "UPDATE sessions SET title = ?2, title_given = ?3, updated_ms = ?4, pinned = ?5, archived = ?6, unread = ?7, busy = ?8, opened = ?9
             WHERE id = ?1",
            params![
                session.id.as_str(), session.title, session.title_given, millis(session.updated_ms),
                session.pinned, session.archived, session.unread, session.busy, session.opened,
            ],
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

    /// Keeps a new owner link, and forgets those long past.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn add_owner_link(
        &self,
        hash: &TokenHash,
        now_ms: u64,
        expires_ms: u64,
    ) -> rusqlite::Result<()> {
        let past = millis(now_ms.saturating_sub(KEEP_LINKS_MS));
        self.0
            .execute("DELETE FROM owner_links WHERE expires_ms < ?1", [past])?;
        self.0.execute(
            "INSERT INTO owner_links (hash, expires_ms) VALUES (?1, ?2)",
            params![hash, millis(expires_ms)],
        )?;
        Ok(())
    }

    /// Uses an owner link up and keeps the device that used it, or neither.
    ///
    /// # Errors
    /// [`RedeemError`]
    pub fn redeem(
        &mut self,
        link: &TokenHash,
        device: &Device,
        cookie: &TokenHash,
    ) -> Result<(), RedeemError> {
        let transaction = self
            .0
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = transaction
            .query_row(
                "SELECT expires_ms, used_ms FROM owner_links WHERE hash = ?1",
                [link],
                |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?)),
            )
            .optional()?;
        match found {
            None => return Err(RedeemError::Unknown),
            Some((_, Some(_))) => return Err(RedeemError::Used),
            Some((expires, None)) if expires <= millis(device.created_ms) => {
                return Err(RedeemError::Expired);
            }
            Some(_) => {}
        }
        transaction.execute(
            "UPDATE owner_links SET used_ms = ?2 WHERE hash = ?1",
            params![link, millis(device.created_ms)],
        )?;
        transaction.execute(
            "INSERT INTO devices (id, hash, name, created_ms, used_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                device.id,
                cookie,
                device.name,
                millis(device.created_ms),
                millis(device.used_ms)
            ],
        )?;
        transaction.commit()?;
        Ok(())
    }

    /// Returns the device that a cookie belongs to.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn device_of(&self, cookie: &TokenHash) -> rusqlite::Result<Option<Device>> {
        self.0
            .prepare_cached("SELECT id, name, created_ms, used_ms FROM devices WHERE hash = ?1")?
            .query_row([cookie], device)
            .optional()
    }

    /// Notes that a device connected; returns whether there is one.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn touch_device(&self, id: &str, now_ms: u64) -> rusqlite::Result<bool> {
        let touched = self.0.execute(
            "UPDATE devices SET used_ms = ?2 WHERE id = ?1",
            params![id, millis(now_ms)],
        )?;
        Ok(touched > 0)
    }

    /// Returns every device, the newest first.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn devices(&self) -> rusqlite::Result<Vec<Device>> {
        let mut rows = self.0.prepare(
            "SELECT id, name, created_ms, used_ms FROM devices ORDER BY created_ms DESC, id",
        )?;
        rows.query_map([], device)?.collect()
    }

    /// Forgets a device; returns whether there was one.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn remove_device(&self, id: &str) -> rusqlite::Result<bool> {
        Ok(self.0.execute("DELETE FROM devices WHERE id = ?1", [id])? > 0)
    }
}

/// Brings a catalog that was made before this was noted up to date.
fn add_opened(connection: &Connection) -> rusqlite::Result<()> {
    let known = "SELECT count(*) FROM pragma_table_info('sessions') WHERE name = 'opened'";
    if connection.query_row(known, [], |row| row.get::<_, i64>(0))? == 0 {
        connection
            .execute_batch("ALTER TABLE sessions ADD COLUMN opened INTEGER NOT NULL DEFAULT 0")?;
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

fn id(row: &Row<'_>, column: usize) -> rusqlite::Result<SessionId> {
    SessionId::parse(&row.get::<_, String>(column)?).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Text,
            Box::new(error),
        )
    })
}

fn session(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        id: id(row, 0)?,
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
    })
}

fn device(row: &Row<'_>) -> rusqlite::Result<Device> {
    Ok(Device {
        id: row.get(0)?,
        name: row.get(1)?,
        created_ms: get_millis(row, 2)?,
        used_ms: get_millis(row, 3)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_device(id: &str, now_ms: u64) -> Device {
        Device {
            id: id.to_owned(),
            name: "laptop".to_owned(),
            created_ms: now_ms,
            used_ms: now_ms,
        }
    }

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
        }
    }

    #[test]
    fn a_link_is_used_once_and_tells_why_not_again() {
        let data = tempfile::tempdir().expect("a folder");
        let mut catalog = Catalog::open(data.path()).expect("opens");
        catalog.add_owner_link(&[1; 32], 0, 100).expect("kept");
        catalog.add_owner_link(&[2; 32], 0, 100).expect("kept");
        let mut redeem = |link, device: &str, at, cookie| {
            catalog.redeem(&[link; 32], &a_device(device, at), &[cookie; 32])
        };
        assert!(matches!(redeem(9, "a", 1, 10), Err(RedeemError::Unknown)));
        assert!(redeem(1, "a", 1, 10).is_ok());
        assert!(matches!(redeem(1, "b", 1, 11), Err(RedeemError::Used)));
        assert!(matches!(redeem(2, "b", 100, 11), Err(RedeemError::Expired)));
        let found = catalog.device_of(&[10; 32]).expect("reads").expect("there");
        assert_eq!(found.id, "a");
        assert_eq!(catalog.device_of(&[11; 32]).expect("reads"), None);
        assert!(catalog.remove_device("a").expect("writes"));
        assert!(!catalog.remove_device("a").expect("writes"));
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
            catalog.save_session(&there).expect("kept");
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
            let older = "ALTER TABLE sessions DROP COLUMN opened";
            catalog.0.execute_batch(older).expect("changes");
        }
        let catalog = Catalog::open(data.path()).expect("opens");
        assert_eq!(catalog.sessions().expect("reads"), [a_session("s1")]);
    }
}
