//! The file in which words are looked up. All of it can be made again from the sessions' stores, so a damaged or older one is
//! thrown away. It knows no session but by its id and reads no store.

use std::{
    collections::BTreeSet,
    fs::{OpenOptions, Permissions},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use porthole_protocol::SessionId;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

use super::{
    question::Question,
    words::{Weight, Words, may_be_kept},
};
use crate::redact::Known;

/// Another one is thrown away.
const VERSION: i64 = 1;
const NAME: &str = "search.sqlite";
const SCHEMA: &str = "
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE sessions (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, last INTEGER NOT NULL);
    CREATE TABLE docs (
        id INTEGER PRIMARY KEY, session INTEGER NOT NULL, conversation INTEGER NOT NULL, entry INTEGER NOT NULL,
        at_ms INTEGER NOT NULL, weight INTEGER NOT NULL, author TEXT NOT NULL, text TEXT NOT NULL
    );
    CREATE INDEX docs_of ON docs (session);
    CREATE VIRTUAL TABLE words USING fts5 (
        body, scope, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3'
    );
";
/// Texts that are looked at of one search, at most; the newest that fit.
const CANDIDATES: usize = 1_000;
/// Bytes of them, at most, but one at least.
const CANDIDATE_BYTES: usize = 2 << 20;
/// Texts that are looked at in one transaction where a secret became known.
const BATCH: i64 = 2_000;

/// A text to be found, and where it is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doc {
    /// The conversation.
    pub conversation: u64,
    /// The entry.
    pub entry: u64,
    /// When it was said.
    pub at_ms: u64,
    /// What can be found.
    pub words: Words,
}

/// A text that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Of which session.
    pub session: SessionId,
    /// What.
    pub doc: Doc,
}

/// Texts that were found, the newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    /// The texts.
    pub found: Vec<Candidate>,
    /// The number of the last one, where there may be older ones.
    pub older: Option<i64>,
    /// The number of the first one.
    pub newest: i64,
}

/// The open file, to write.
pub struct Index(Connection);

/// The open file, to read.
pub struct Reader(Connection);

impl Index {
    /// Opens the index of a data folder; makes it where there is none that can be used.
    ///
    /// # Errors
    /// Where none can be made.
    pub fn open(data: &Path) -> rusqlite::Result<Self> {
        let path = data.join(NAME);
        match Self::try_open(&path) {
            Ok(Some(index)) => Ok(index),
            Ok(None) => Self::anew(&path),
            Err(error) if is_useless(&error) => {
                tracing::warn!("the search index is made again: {error}");
                Self::anew(&path)
            }
            Err(error) => Err(error),
        }
    }

    fn try_open(path: &Path) -> rusqlite::Result<Option<Self>> {
        private_file(path);
        let connection = connect(path)?;
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version == VERSION {
            return Ok(Some(Self(connection)));
        }
        Ok(None)
    }

    fn anew(path: &Path) -> rusqlite::Result<Self> {
        for file in files(path) {
            let _ = std::fs::remove_file(file);
        }
        private_file(path);
        let mut connection = connect(path)?;
        let transaction = connection.transaction()?;
        transaction.execute_batch(SCHEMA)?;
        transaction.execute(
            "INSERT INTO meta (key, value) VALUES ('salt', lower(hex(randomblob(16))))",
            [],
        )?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        transaction.commit()?;
        Ok(Self(connection))
    }

    /// Returns the last entry of a session that is in the index; 0: none is.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn last(&self, session: &SessionId) -> rusqlite::Result<u64> {
        let last = self.0.query_row(
            "SELECT last FROM sessions WHERE id = ?1",
            [session.as_str()],
            |row| row.get::<_, i64>(0),
        );
        Ok(last.optional()?.map_or(0, i64::unsigned_abs))
    }

    /// Returns the sessions that are in the index.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn sessions(&self) -> rusqlite::Result<Vec<SessionId>> {
        let mut rows = self.0.prepare("SELECT id FROM sessions")?;
        let ids = rows.query_map([], |row| row.get::<_, String>(0))?;
        ids.map(|id| id.map(|id| SessionId::parse(&id).ok()))
            .filter_map(Result::transpose)
            .collect()
    }

    /// Takes texts of a session in, up to an entry; all of them or none.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn add(&mut self, session: &SessionId, docs: &[Doc], last: u64) -> rusqlite::Result<()> {
        let transaction = self.0.transaction()?;
        transaction.execute(
            "INSERT INTO sessions (id, last) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET last = excluded.last",
            params![session.as_str(), number(last)],
        )?;
        let n: i64 = transaction.query_row(
            "SELECT n FROM sessions WHERE id = ?1",
            [session.as_str()],
            |row| row.get(0),
        )?;
        for doc in docs {
            transaction
                .prepare_cached(
                    "INSERT INTO docs (session, conversation, entry, at_ms, weight, author, text)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute(params![
                    n,
                    number(doc.conversation),
                    number(doc.entry),
                    number(doc.at_ms),
                    doc.words.weight as i64,
                    doc.words.author,
                    doc.words.text
                ])?;
            transaction
                .prepare_cached("INSERT INTO words (rowid, body, scope) VALUES (?1, ?2, ?3)")?
                .execute(params![
                    transaction.last_insert_rowid(),
                    doc.words.text,
                    scope(n)
                ])?;
        }
        transaction.commit()
    }

    /// Takes everything of a session out.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn forget(&mut self, session: &SessionId) -> rusqlite::Result<()> {
        let transaction = self.0.transaction()?;
        let n: Option<i64> = transaction
            .query_row(
                "DELETE FROM sessions WHERE id = ?1 RETURNING n",
                [session.as_str()],
                |row| row.get(0),
            )
            .optional()?;
        if let Some(n) = n {
            transaction.execute(
                "DELETE FROM words WHERE rowid IN (SELECT id FROM docs WHERE session = ?1)",
                [n],
            )?;
            transaction.execute("DELETE FROM docs WHERE session = ?1", [n])?;
        }
        transaction.commit()
    }

    /// Returns whether secrets are known now that were not when texts were taken in.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn is_outdated(&self, known: &Known) -> rusqlite::Result<bool> {
        let marks = known.marks(&self.meta("salt")?);
        Ok(!marks.is_subset(&self.marks()?))
    }

    /// Looks for secrets in so many texts after one; returns the last one, `None` at the end. Then what was blotted out is gone
    /// from the file.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn redact(&mut self, known: &Known, after: i64) -> rusqlite::Result<Option<i64>> {
        let batch = self.batch(after)?;
        let transaction = self.0.transaction()?;
        for (id, n, text) in &batch {
            let kept = may_be_kept(text, known);
            if kept != *text {
                transaction
                    .execute("UPDATE docs SET text = ?2 WHERE id = ?1", params![id, kept])?;
                transaction.execute(
                    "UPDATE words SET body = ?2, scope = ?3 WHERE rowid = ?1",
                    params![id, kept, scope(*n)],
                )?;
            }
        }
        transaction.commit()?;
        if let Some((last, ..)) = batch.last() {
            return Ok(Some(*last));
        }
        self.settle(known)?;
        Ok(None)
    }

    fn batch(&self, after: i64) -> rusqlite::Result<Vec<(i64, i64, String)>> {
        let mut rows = self
            .0
            .prepare("SELECT id, session, text FROM docs WHERE id > ?1 ORDER BY id LIMIT ?2")?;
        rows.query_map([after, BATCH], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect()
    }

    /// Merges the words, so that those that were taken out are in no part of the file any more, and notes what is known.
    fn settle(&mut self, known: &Known) -> rusqlite::Result<()> {
        self.0
            .execute("INSERT INTO words (words) VALUES ('optimize')", [])?;
        let mut marks = self.marks()?;
        marks.extend(known.marks(&self.meta("salt")?));
        let marks: Vec<String> = marks.into_iter().collect();
        self.0.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('marks', ?1)",
            [marks.join(" ")],
        )?;
        self.0
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    }

    fn marks(&self) -> rusqlite::Result<BTreeSet<String>> {
        let marks = self.meta("marks")?;
        Ok(marks.split_whitespace().map(str::to_owned).collect())
    }

    fn meta(&self, key: &str) -> rusqlite::Result<String> {
        let value = self
            .0
            .query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| {
                row.get(0)
            });
        Ok(value.optional()?.unwrap_or_default())
    }
}

impl Reader {
    /// Opens the index that is there.
    ///
    /// # Errors
    /// Where it fails.
    pub fn open(data: &Path) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(data.join(NAME), flags)?;
        connection.busy_timeout(std::time::Duration::from_secs(2))?;
        Ok(Self(connection))
    }

    /// Returns the newest texts in which all of the words stand: older than one, and of one session where that is named.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn find(
        &self,
        question: &Question,
        session: Option<&SessionId>,
        before: i64,
    ) -> rusqlite::Result<Candidates> {
        let Some(looked_for) = self.looked_for(question, session)? else {
            return Ok(Candidates::default());
        };
        let mut rows = self.0.prepare_cached(
            "SELECT docs.id, sessions.id, conversation, entry, at_ms, weight, author, text
             FROM words JOIN docs ON docs.id = words.rowid JOIN sessions ON sessions.n = docs.session
             WHERE words MATCH ?1 AND words.rowid < ?2 ORDER BY words.rowid DESC",
        )?;
        let mut rows = rows.query(params![looked_for, before])?;
        let (mut out, mut bytes) = (Candidates::default(), 0);
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            if out.found.is_empty() {
                out.newest = id;
            }
            let candidate = candidate(row)?;
            bytes += candidate.doc.words.text.len();
            out.found.push(candidate);
            if out.found.len() >= CANDIDATES || bytes > CANDIDATE_BYTES {
                out.older = Some(id);
                break;
            }
        }
        Ok(out)
    }

    /// Returns the question in the index's language; `None`: the session is not in the index.
    fn looked_for(
        &self,
        question: &Question,
        session: Option<&SessionId>,
    ) -> rusqlite::Result<Option<String>> {
        let Some(session) = session else {
            return Ok(Some(question.to_match()));
        };
        let n = self.0.query_row(
            "SELECT n FROM sessions WHERE id = ?1",
            [session.as_str()],
            |row| row.get::<_, i64>(0),
        );
        let n = n.optional()?;
        Ok(n.map(|n| format!("({}) AND {{scope}} : {}", question.to_match(), scope(n))))
    }
}

fn candidate(row: &rusqlite::Row<'_>) -> rusqlite::Result<Candidate> {
    let unsigned = |n| row.get::<_, i64>(n).map(i64::unsigned_abs);
    let id: String = row.get(1)?;
    let session = SessionId::parse(&id).map_err(|_| rusqlite::Error::InvalidQuery)?;
    Ok(Candidate {
        session,
        doc: Doc {
            conversation: unsigned(2)?,
            entry: unsigned(3)?,
            at_ms: unsigned(4)?,
            words: Words {
                weight: match row.get::<_, i64>(5)? {
                    0 => Weight::Tool,
                    1 => Weight::Model,
                    _ => Weight::Person,
                },
                author: row.get(6)?,
                text: row.get(7)?,
            },
        },
    })
}

/// The word by which the texts of one session are told: no text reaches its column.
fn scope(session: i64) -> String {
    format!("s{session}")
}

fn number(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // What a power loss takes is taken in again from the stores.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "secure_delete", "ON")?;
    connection.pragma_update(None, "journal_size_limit", 16 << 20)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(connection)
}

/// Makes the file private where it can; where not, opening it fails with the reason.
fn private_file(path: &Path) {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path);
    if let Ok(file) = file {
        let _ = file.set_permissions(Permissions::from_mode(0o600));
    }
}

fn files(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|end| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    })
}

/// Whether another try with the same file would fail as well.
fn is_useless(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode;
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}
