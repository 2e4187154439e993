//! Reading rows back: what a conversation continues from, pages of entries, replies. Every read is short.

use porthole_protocol::{ConversationId, Entry, limits};
use rusqlite::{Connection, OptionalExtension, Params, params};
use serde::de::DeserializeOwned;

use super::StoreError;
use crate::{
    model::AnswerBlock,
    record::{Counters, Loaded},
};

/// Settled questions that are remembered, so that a late answer is told what became of its question.
const QUESTIONS_KEPT: u32 = 64;

/// A page of entries, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Page {
    /// The entries.
    pub(crate) entries: Vec<Entry>,
    /// Whether there are older ones.
    pub(crate) has_older: bool,
}

/// Returns what the root conversation continues from.
pub(super) fn load(from: &Connection) -> Result<Option<Loaded>, StoreError> {
    let root = ConversationId::ROOT.0;
    let Some(row) = first(
        from,
        "SELECT body FROM conversations WHERE id = ?1",
        params![root],
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
        active: active(from, root)?,
        queue: all(
            from,
            "SELECT body FROM submissions WHERE queued ORDER BY id",
            [],
        )?,
        turn: first(
            from,
            "SELECT body FROM turns WHERE open ORDER BY id LIMIT 1",
            [],
        )?,
        calls: all(from, "SELECT body FROM calls WHERE open ORDER BY rowid", [])?,
        questions,
        shells: all(from, "SELECT body FROM shells WHERE open ORDER BY id", [])?,
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
    ))
}

type Active = Vec<(Entry, Option<Vec<AnswerBlock>>)>;

fn active(from: &Connection, conversation: u64) -> Result<Active, StoreError> {
    let mut statement = from.prepare_cached(
        "SELECT body, provider FROM entries WHERE conversation = ?1 AND id >= coalesce(
             (SELECT max(id) FROM entries WHERE conversation = ?1 AND cut), 0) ORDER BY id",
    )?;
    let mut rows = statement.query(params![conversation])?;
    let mut active = Vec::new();
    while let Some(row) = rows.next()? {
        let provider: Option<String> = row.get(1)?;
        active.push((
            parse(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?,
            provider.as_deref().map(parse).transpose()?,
        ));
    }
    Ok(active)
}

/// Returns the newest entries before one: at most `limit`, a page's entries and a page's bytes, but one at least.
pub(super) fn page(
    from: &Connection,
    before: Option<u64>,
    limit: usize,
) -> Result<Page, StoreError> {
    let limit = limit.clamp(1, limits::PAGE_ENTRIES);
    let before = before
        .and_then(|id| i64::try_from(id).ok())
        .unwrap_or(i64::MAX);
    let mut statement = from.prepare_cached(
        "SELECT body FROM entries WHERE conversation = ?1 AND id < ?2 ORDER BY id DESC",
    )?;
    let mut rows = statement.query(params![ConversationId::ROOT.0, before])?;
    let (mut entries, mut bytes, mut has_older) = (Vec::<Entry>::new(), 0, false);
    while let Some(row) = rows.next()? {
        let body = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        bytes += body.len();
        if entries.len() == limit || (bytes > limits::PAGE_BYTES && !entries.is_empty()) {
            has_older = true;
            break;
        }
        entries.push(parse(body)?);
    }
    entries.reverse();
    Ok(Page { entries, has_older })
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

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    Ok(serde_json::from_str(text)?)
}
