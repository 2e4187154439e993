//! Reading rows back: what a conversation continues from, and replies. Every read is short. Entries are the history's.

use porthole_protocol::ConversationId;
use rusqlite::{Connection, OptionalExtension, Params, params};
use serde::de::DeserializeOwned;

use super::{
    StoreError,
    history::{self, Lineage},
};
use crate::record::{ConversationRow, Counters, Loaded};

/// Settled questions that are remembered, so that a late answer is told what became of its question.
const QUESTIONS_KEPT: u32 = 64;

/// Returns the settings of every conversation, the root first.
pub(super) fn conversations(from: &Connection) -> Result<Vec<ConversationRow>, StoreError> {
    all(from, "SELECT body FROM conversations ORDER BY id", [])
}

/// Returns the conversations in which something was going on.
pub(super) fn busy(from: &Connection) -> Result<Vec<ConversationId>, StoreError> {
    let mut statement = from.prepare_cached(
        "SELECT conversation FROM submissions WHERE queued
         UNION SELECT conversation FROM turns WHERE open
         UNION SELECT conversation FROM shells WHERE open",
    )?;
    let rows = statement.query_map([], |row| row.get(0).map(ConversationId))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns what a conversation continues from.
pub(super) fn load(from: &Connection, lineage: &Lineage) -> Result<Option<Loaded>, StoreError> {
    let own = lineage.own().0;
    let Some(row) = first(
        from,
        "SELECT body FROM conversations WHERE id = ?1",
        params![own],
    )?
    else {
        return Ok(None);
    };
    let mut questions = all(
        from,
        "SELECT body FROM questions ORDER BY id DESC LIMIT ?1",
        params![QUESTIONS_KEPT],
    )?;
    questions.reverse();
    Ok(Some(Loaded {
        row,
        counters: counters(from)?,
        active: history::active(from, lineage)?,
        queue: all(
            from,
            "SELECT body FROM submissions WHERE queued AND conversation = ?1 ORDER BY id",
            params![own],
        )?,
        turn: first(
            from,
            "SELECT body FROM turns WHERE open AND conversation = ?1 ORDER BY id LIMIT 1",
            params![own],
        )?,
        calls: all(from, "SELECT body FROM calls WHERE open ORDER BY rowid", [])?,
        questions,
        shells: all(
            from,
            "SELECT body FROM shells WHERE open AND conversation = ?1 ORDER BY id",
            params![own],
        )?,
        allowed: texts(from, "SELECT what FROM allowed", [])?,
        updated_ms: from.query_row(
            "SELECT coalesce(max(at_ms), 0) FROM entries WHERE id = (SELECT max(id) FROM entries)",
            [],
            |row| row.get(0),
        )?,
    }))
}

fn counters(from: &Connection) -> Result<Counters, StoreError> {
    let max = |sql: &str| from.query_row(sql, [], |row| row.get::<_, Option<u64>>(0));
    let (submission, shell) = (
        max("SELECT max(id) FROM submissions")?,
        max("SELECT max(id) FROM shells")?,
    );
    let (turn, shell_turn) = (
        max("SELECT max(id) FROM turns")?,
        max("SELECT max(turn) FROM shells")?,
    );
    Ok(Counters::after(
        max("SELECT max(id) FROM entries")?.unwrap_or(0),
        submission.max(shell).unwrap_or(0),
        turn.max(shell_turn).unwrap_or(0),
        max("SELECT max(id) FROM questions")?.unwrap_or(0),
        max("SELECT max(id) FROM conversations")?.unwrap_or(0),
    ))
}

/// Returns the reply that a request got.
pub(super) fn reply(from: &Connection, key: &str) -> Result<Option<String>, StoreError> {
    let mut statement = from.prepare_cached("SELECT reply FROM requests WHERE key = ?1")?;
    Ok(statement.query_row([key], |row| row.get(0)).optional()?)
}

fn first<T: DeserializeOwned>(
    from: &Connection,
    sql: &str,
    values: impl Params,
) -> Result<Option<T>, StoreError> {
    Ok(all(from, sql, values)?.into_iter().next())
}

fn all<T: DeserializeOwned>(
    from: &Connection,
    sql: &str,
    values: impl Params,
) -> Result<Vec<T>, StoreError> {
    texts(from, sql, values)?
        .iter()
        .map(|text| parse(text))
        .collect()
}

fn texts(from: &Connection, sql: &str, values: impl Params) -> Result<Vec<String>, StoreError> {
    let mut statement = from.prepare_cached(sql)?;
    let rows = statement.query_map(values, |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    Ok(serde_json::from_str(text)?)
}
