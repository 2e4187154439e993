//! Who may come in, as it is kept: devices, owner links, share links and the guests who came by them. Of every secret
//! only its hash is kept.

use porthole_protocol::{AccessId, GuestMode, RequestId, SessionId};
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};

use super::{Catalog, get_millis, millis, parsed};
use crate::{pass::Pass, token::TokenHash};

/// A device of the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its public id.
    pub id: AccessId,
    /// Its name, as it called itself.
    pub name: String,
    /// When it redeemed its link, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// When it was last here.
    pub used_ms: u64,
    /// From which address; may be empty.
    pub from: String,
}

/// A share link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareLink {
    /// Its public id.
    pub id: AccessId,
    /// The session.
    pub session: SessionId,
    /// What the owner calls it; may be empty.
    pub name: String,
    /// How much its guests may do.
    pub mode: GuestMode,
    /// Whether they may answer questions.
    pub may_approve: bool,
    /// Whether only the first who uses it comes in.
    pub once: bool,
    /// Whether someone used it.
    pub used: bool,
    /// When it was made.
    pub created_ms: u64,
    /// When it ends.
    pub expires_ms: u64,
}

/// What a guest was let in with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Its public id.
    pub id: AccessId,
    /// What the guest calls themselves.
    pub name: String,
    /// When they came first.
    pub created_ms: u64,
    /// When they were last here.
    pub used_ms: u64,
    /// The link they came by, which says what they may do and until when.
    pub share: ShareLink,
}

/// Why a link was not redeemed.
#[derive(Debug, thiserror::Error)]
pub enum RedeemError {
    /// There is no such link, or none any more.
    #[error("this link is not known here")]
    Unknown,
    /// Someone was first.
    #[error("this link was already used")]
    Used,
    /// It is too old.
    #[error("this link has expired")]
    Expired,
    /// As many came by it as can be told apart.
    #[error("too many people came by this link")]
    Full,
    /// The catalog failed.
    #[error(transparent)]
    Catalog(#[from] rusqlite::Error),
}

/// Why a share link was not kept.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// The same request made one that is already used.
    #[error("this request already made a link, and someone used it")]
    Used,
    /// There are too many.
    #[error("there are too many share links")]
    TooMany,
    /// The catalog failed.
    #[error(transparent)]
    Catalog(#[from] rusqlite::Error),
}

/// A used or expired owner link is remembered for so long, so that it can be called by its name.
const KEEP_LINKS_MS: u64 = 24 * 60 * 60 * 1000;
/// Share links at once.
const SHARES: i64 = 1_000;
/// Guests who came by one link.
const GUESTS: i64 = 1_000;

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS devices (
        id TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE, name TEXT NOT NULL, created_ms INTEGER NOT NULL,
        used_ms INTEGER NOT NULL, origin TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE TABLE IF NOT EXISTS owner_links (
        hash BLOB PRIMARY KEY, expires_ms INTEGER NOT NULL, used_ms INTEGER
    ) STRICT;
    CREATE TABLE IF NOT EXISTS shares (
        id TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE, request TEXT NOT NULL UNIQUE, session TEXT NOT NULL, name TEXT NOT NULL,
        mode TEXT NOT NULL, may_approve INTEGER NOT NULL, once INTEGER NOT NULL, used INTEGER NOT NULL,
        created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE IF NOT EXISTS grants (
        id TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE, share TEXT NOT NULL, name TEXT NOT NULL,
        created_ms INTEGER NOT NULL, used_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS grants_of_share ON grants (share);
";
const SHARE: &str =
    "s.id, s.session, s.name, s.mode, s.may_approve, s.once, s.used, s.created_ms, s.expires_ms";
const SHARE_COLUMNS: usize = 9;
const DEVICE: &str = "id, name, created_ms, used_ms, origin";

/// Makes the tables where there are none, and brings older ones up to date.
pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(SCHEMA)?;
    super::add_column(connection, "devices", "origin", "TEXT NOT NULL DEFAULT ''")
}

impl Catalog {
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
        let now = millis(device.created_ms);
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
            Some((expires, None)) if expires <= now => return Err(RedeemError::Expired),
            Some(_) => {}
        }
        transaction.execute(
            "UPDATE owner_links SET used_ms = ?2 WHERE hash = ?1",
            params![link, now],
        )?;
        transaction.execute(
            "INSERT INTO devices (id, hash, name, created_ms, used_ms, origin) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![device.id.as_str(), cookie, device.name, now, millis(device.used_ms), device.from],
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
            .prepare_cached(&format!("SELECT {DEVICE} FROM devices WHERE hash = ?1"))?
            .query_row([cookie], device)
            .optional()
    }

    /// Notes that a device connected, and from where; returns whether there is one.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn touch_device(&self, id: &AccessId, from: &str, now_ms: u64) -> rusqlite::Result<bool> {
        let touched = self.0.execute(
            "UPDATE devices SET used_ms = ?2, origin = ?3 WHERE id = ?1",
            params![id.as_str(), millis(now_ms), from],
        )?;
        Ok(touched > 0)
    }

    /// Returns every device, the newest first.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn devices(&self) -> rusqlite::Result<Vec<Device>> {
        let mut rows = self.0.prepare(&format!(
            "SELECT {DEVICE} FROM devices ORDER BY created_ms DESC, id"
        ))?;
        rows.query_map([], device)?.collect()
    }

    /// Forgets a device; returns whether there was one.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn remove_device(&self, id: &AccessId) -> rusqlite::Result<bool> {
        let removed = self
            .0
            .execute("DELETE FROM devices WHERE id = ?1", [id.as_str()])?;
        Ok(removed > 0)
    }

    /// Keeps a share link under its request, and forgets those that have ended. The same request again replaces a link
    /// that nobody has used: its secret was shown once and may have been lost on the way.
    ///
    /// # Errors
    /// [`ShareError`]
    pub fn add_share(
        &mut self,
        link: &ShareLink,
        request: &RequestId,
        hash: &TokenHash,
    ) -> Result<(), ShareError> {
        let now = millis(link.created_ms);
        let transaction = self
            .0
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute(
            "DELETE FROM grants WHERE share IN (SELECT id FROM shares WHERE expires_ms <= ?1)",
            [now],
        )?;
        transaction.execute("DELETE FROM shares WHERE expires_ms <= ?1", [now])?;
        let used: Option<bool> = transaction
            .query_row(
                "DELETE FROM shares WHERE request = ?1 RETURNING used",
                [request.as_str()],
                |row| row.get(0),
            )
            .optional()?;
        if used == Some(true) {
            return Err(ShareError::Used);
        }
        let count: i64 = transaction.query_row("SELECT count(*) FROM shares", [], |r| r.get(0))?;
        if count >= SHARES {
            return Err(ShareError::TooMany);
        }
        transaction.execute(
            "INSERT INTO shares (id, hash, request, session, name, mode, may_approve, once, used, created_ms, expires_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9, ?10)",
            params![
                link.id.as_str(), hash, request.as_str(), link.session.as_str(), link.name, mode_text(link.mode),
                link.may_approve, link.once, now, millis(link.expires_ms),
            ],
        )?;
        transaction.commit()?;
        Ok(())
    }

    /// Returns the share link of that hash, where a guest could still come in by it; it uses nothing up.
    ///
    /// # Errors
    /// [`RedeemError`]
    pub fn look(&self, link: &TokenHash, now_ms: u64) -> Result<ShareLink, RedeemError> {
        let sql = format!("SELECT {SHARE} FROM shares s WHERE hash = ?1");
        let share = self
            .0
            .query_row(&sql, [link], share)
            .optional()?
            .ok_or(RedeemError::Unknown)?;
        match share {
            share if share.expires_ms <= now_ms => Err(RedeemError::Expired),
            share if share.once && share.used => Err(RedeemError::Used),
            share => Ok(share),
        }
    }

    /// Lets a guest in by a share link: with what they had from it already, or with a new grant under `cookie`.
    /// Returns the grant, and whether it is new.
    ///
    /// # Errors
    /// [`RedeemError`]
    pub fn redeem_share(
        &mut self,
        link: &TokenHash,
        guest: &NewGuest<'_>,
    ) -> Result<(Grant, bool), RedeemError> {
        let transaction = self
            .0
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let sql = format!("SELECT {SHARE} FROM shares s WHERE hash = ?1");
        let share = transaction
            .query_row(&sql, [link], share)
            .optional()?
            .ok_or(RedeemError::Unknown)?;
        if share.expires_ms <= guest.now_ms {
            return Err(RedeemError::Expired);
        }
        let had = match guest.had {
            Some(hash) => transaction
                .query_row(
                    "UPDATE grants SET name = ?3, used_ms = ?4 WHERE hash = ?1 AND share = ?2
                     RETURNING id, created_ms",
                    params![hash, share.id.as_str(), guest.name, millis(guest.now_ms)],
                    |row| Ok((parsed(row, 0, AccessId::parse)?, get_millis(row, 1)?)),
                )
                .optional()?,
            None => None,
        };
        let is_new = had.is_none();
        if is_new {
            if share.once && share.used {
                return Err(RedeemError::Used);
            }
            let sql = "SELECT count(*) FROM grants WHERE share = ?1";
            let count: i64 = transaction.query_row(sql, [share.id.as_str()], |r| r.get(0))?;
            if count >= GUESTS {
                return Err(RedeemError::Full);
            }
            transaction.execute(
                "UPDATE shares SET used = 1 WHERE id = ?1",
                [share.id.as_str()],
            )?;
            transaction.execute(
                "INSERT INTO grants (id, hash, share, name, created_ms, used_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
                params![guest.id.as_str(), guest.cookie, share.id.as_str(), guest.name, millis(guest.now_ms)],
            )?;
        }
        transaction.commit()?;
        let (id, created_ms) = had.unwrap_or((guest.id.clone(), guest.now_ms));
        let grant = Grant {
            id,
            name: guest.name.to_owned(),
            created_ms,
            used_ms: guest.now_ms,
            share: ShareLink {
                used: true,
                ..share
            },
        };
        Ok((grant, is_new))
    }

    /// Returns what a guest's cookie admits to, where its link has not ended.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn grant_of(&self, cookie: &TokenHash, now_ms: u64) -> rusqlite::Result<Option<Grant>> {
        let sql = format!(
            "SELECT {SHARE}, g.id, g.name, g.created_ms, g.used_ms
             FROM grants g JOIN shares s ON s.id = g.share WHERE g.hash = ?1 AND s.expires_ms > ?2"
        );
        self.0
            .prepare_cached(&sql)?
            .query_row(params![cookie, millis(now_ms)], grant)
            .optional()
    }

    /// Notes that a guest connected; returns whether they still may.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn touch_grant(&self, id: &AccessId, now_ms: u64) -> rusqlite::Result<bool> {
        let touched = self.0.execute(
            "UPDATE grants SET used_ms = ?2 WHERE id = ?1
             AND share IN (SELECT id FROM shares WHERE expires_ms > ?2)",
            params![id.as_str(), millis(now_ms)],
        )?;
        Ok(touched > 0)
    }

    /// Returns whether someone still may.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn admits(&self, pass: &Pass, now_ms: u64) -> rusqlite::Result<bool> {
        match pass {
            Pass::Command => Ok(true),
            Pass::Device(device) => self
                .0
                .prepare_cached("SELECT 1 FROM devices WHERE id = ?1")?
                .exists([device.as_str()]),
            Pass::Guest { grant, .. } => self
                .0
                .prepare_cached("SELECT 1 FROM grants g JOIN shares s ON s.id = g.share WHERE g.id = ?1 AND s.expires_ms > ?2")?
                .exists(params![grant.as_str(), millis(now_ms)]),
        }
    }

    /// Returns every share link that has not ended, the newest first.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn shares(&self, now_ms: u64) -> rusqlite::Result<Vec<ShareLink>> {
        let mut rows = self.0.prepare(&format!(
            "SELECT {SHARE} FROM shares s WHERE expires_ms > ?1 ORDER BY created_ms DESC, id"
        ))?;
        rows.query_map([millis(now_ms)], share)?.collect()
    }

    /// Returns everyone who came by a link that has not ended, the oldest first.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn grants(&self, now_ms: u64) -> rusqlite::Result<Vec<Grant>> {
        let mut rows = self.0.prepare(&format!(
            "SELECT {SHARE}, g.id, g.name, g.created_ms, g.used_ms
             FROM grants g JOIN shares s ON s.id = g.share WHERE s.expires_ms > ?1 ORDER BY g.created_ms, g.id"
        ))?;
        rows.query_map([millis(now_ms)], grant)?.collect()
    }

    /// Forgets a share link and everyone who came by it; returns whether there was one.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn remove_share(&mut self, id: &AccessId) -> rusqlite::Result<bool> {
        self.remove_shares("id", id.as_str())
    }

    /// Forgets every share link of a session and everyone who came by them; returns whether there was one.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn remove_shares_of(&mut self, session: &SessionId) -> rusqlite::Result<bool> {
        self.remove_shares("session", session.as_str())
    }

    /// Forgets one guest; returns whether there was one.
    ///
    /// # Errors
    /// Where the file fails.
    pub fn remove_grant(&self, id: &AccessId) -> rusqlite::Result<bool> {
        let removed = self
            .0
            .execute("DELETE FROM grants WHERE id = ?1", [id.as_str()])?;
        Ok(removed > 0)
    }

    fn remove_shares(&mut self, column: &'static str, value: &str) -> rusqlite::Result<bool> {
        let transaction = self
            .0
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let of = format!(
            "DELETE FROM grants WHERE share IN (SELECT id FROM shares WHERE {column} = ?1)"
        );
        transaction.execute(&of, [value])?;
        let sql = format!("DELETE FROM shares WHERE {column} = ?1");
        let removed = transaction.execute(&sql, [value])?;
        transaction.commit()?;
        Ok(removed > 0)
    }
}

/// Someone who asks to be let in by a share link.
pub struct NewGuest<'a> {
    /// The id of a new grant.
    pub id: AccessId,
    /// What they call themselves.
    pub name: &'a str,
    /// The hash of a new cookie.
    pub cookie: &'a TokenHash,
    /// The hash of the guest's cookie that they sent.
    pub had: Option<&'a TokenHash>,
    /// Milliseconds since the Unix epoch.
    pub now_ms: u64,
}

fn mode_text(mode: GuestMode) -> &'static str {
    match mode {
        GuestMode::View => "view",
        GuestMode::Full => "full",
    }
}

/// A mode that is not known allows the least.
fn mode_of(text: &str) -> GuestMode {
    match text {
        "full" => GuestMode::Full,
        _ => GuestMode::View,
    }
}

fn share(row: &Row<'_>) -> rusqlite::Result<ShareLink> {
    Ok(ShareLink {
        id: parsed(row, 0, AccessId::parse)?,
        session: parsed(row, 1, SessionId::parse)?,
        name: row.get(2)?,
        mode: mode_of(&row.get::<_, String>(3)?),
        may_approve: row.get(4)?,
        once: row.get(5)?,
        used: row.get(6)?,
        created_ms: get_millis(row, 7)?,
        expires_ms: get_millis(row, 8)?,
    })
}

fn grant(row: &Row<'_>) -> rusqlite::Result<Grant> {
    Ok(Grant {
        share: share(row)?,
        id: parsed(row, SHARE_COLUMNS, AccessId::parse)?,
        name: row.get(SHARE_COLUMNS + 1)?,
        created_ms: get_millis(row, SHARE_COLUMNS + 2)?,
        used_ms: get_millis(row, SHARE_COLUMNS + 3)?,
    })
}

fn device(row: &Row<'_>) -> rusqlite::Result<Device> {
    Ok(Device {
        id: parsed(row, 0, AccessId::parse)?,
        name: row.get(1)?,
        created_ms: get_millis(row, 2)?,
        used_ms: get_millis(row, 3)?,
        from: row.get(4)?,
    })
}

#[cfg(test)]
mod tests;
