//! The entries of a conversation, also those that a fork has from the one it continues: pages for people, and what a
//! model goes on from. It reads only.

use porthole_protocol::{ConversationId, Entry, EntryBody, limits};
use rusqlite::{Connection, OptionalExtension, params};

use super::{StoreError, read::parse};
use crate::model::AnswerBlock;

/// Whose entries a conversation has: its own, then those of the one it continues, up to one, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lineage {
    own: ConversationId,
    /// Conversations, and the last entry of each, newest first.
    before: Vec<(ConversationId, u64)>,
}

impl Lineage {
    /// Returns the lineage of a conversation that continues no other.
    pub(crate) fn of(own: ConversationId) -> Self {
        Self {
            own,
            before: Vec::new(),
        }
    }

    /// Adds the conversation that the last one so far continues, up to an entry.
    pub(crate) fn after(mut self, conversation: ConversationId, entry: u64) -> Self {
        // What a fork of a fork has of the first is at most what the fork had of it.
        let most = self
            .before
            .last()
            .map_or(entry, |(_, most)| entry.min(*most));
        self.before.push((conversation, most));
        self
    }

    /// Returns the conversation itself.
    pub(crate) fn own(&self) -> ConversationId {
        self.own
    }

    /// Returns the parts, newest first, each with the first entry that it does not have.
    fn parts(&self) -> impl DoubleEndedIterator<Item = (ConversationId, i64)> + '_ {
        let end = |last: u64| i64::try_from(last.saturating_add(1)).unwrap_or(i64::MAX);
        let before = self.before.iter().map(move |(id, last)| (*id, end(*last)));
        std::iter::once((self.own, i64::MAX)).chain(before)
    }
}

/// A page of entries, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Page {
    /// The entries.
    pub(crate) entries: Vec<Entry>,
    /// Whether there are older ones.
    pub(crate) has_older: bool,
}

/// Returns the newest entries before one: at most `limit`, a page's entries and a page's bytes, but one at least.
pub(super) fn page(
    from: &Connection,
    lineage: &Lineage,
    before: Option<u64>,
    limit: usize,
) -> Result<Page, StoreError> {
    let mut room = Room {
        limit: limit.clamp(1, limits::PAGE_ENTRIES),
        entries: Vec::new(),
        bytes: 0,
        has_older: false,
    };
    let before = before
        .and_then(|id| i64::try_from(id).ok())
        .unwrap_or(i64::MAX);
    let mut statement = from.prepare_cached(
        "SELECT body FROM entries WHERE conversation = ?1 AND id < ?2 ORDER BY id DESC",
    )?;
    for (conversation, end) in lineage.parts() {
        let mut rows = statement.query(params![conversation.0, before.min(end)])?;
        while !room.has_older
            && let Some(row) = rows.next()?
        {
            room.take(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?;
        }
    }
    room.entries.reverse();
    Ok(Page {
        entries: room.entries,
        has_older: room.has_older,
    })
}

/// What a page still takes.
struct Room {
    limit: usize,
    entries: Vec<Entry>,
    bytes: usize,
    has_older: bool,
}

impl Room {
    fn take(&mut self, body: &str) -> Result<(), StoreError> {
        self.bytes += body.len();
        let is_full = self.bytes > limits::PAGE_BYTES && !self.entries.is_empty();
        if self.entries.len() == self.limit || is_full {
            self.has_older = true;
        } else {
            self.entries.push(parse(body)?);
        }
        Ok(())
    }
}

/// Returns the newest answers before an entry, newest first, and whether there are older ones.
pub(super) fn answers(
    from: &Connection,
    lineage: &Lineage,
    before: Option<u64>,
    limit: usize,
) -> Result<(Vec<Entry>, bool), StoreError> {
    let before = before
        .and_then(|id| i64::try_from(id).ok())
        .unwrap_or(i64::MAX);
    let mut statement = from.prepare_cached(
        "SELECT body FROM entries WHERE conversation = ?1 AND id < ?2
         AND json_type(body, '$.body.answer') = 'object' ORDER BY id DESC",
    )?;
    let mut answers = Vec::new();
    for (conversation, end) in lineage.parts() {
        let mut rows = statement.query(params![conversation.0, before.min(end)])?;
        while let Some(row) = rows.next()? {
            if answers.len() == limit {
                return Ok((answers, true));
            }
            answers.push(parse(
                row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?,
            )?);
        }
    }
    Ok((answers, false))
}

type Active = Vec<(Entry, Option<Vec<AnswerBlock>>)>;

/// Returns what the model sees: from the last mark on that cuts, and before it what that mark keeps.
pub(super) fn active(from: &Connection, lineage: &Lineage) -> Result<Active, StoreError> {
    let mut cut = from.prepare_cached(
        "SELECT max(id) FROM entries WHERE conversation = ?1 AND cut AND id < ?2",
    )?;
    let mut statement = from.prepare_cached(
        "SELECT body, provider FROM entries WHERE conversation = ?1 AND id >= ?2 AND id < ?3 ORDER BY id",
    )?;
    let mut parts = Vec::new();
    for (conversation, end) in lineage.parts() {
        let first: Option<i64> = cut.query_row(params![conversation.0, end], |row| row.get(0))?;
        parts.push((conversation, first.unwrap_or(0), end));
        if first.is_some() {
            break;
        }
    }
    let mut active = Vec::new();
    for (conversation, first, end) in parts.into_iter().rev() {
        let mut rows = statement.query(params![conversation.0, first, end])?;
        while let Some(row) = rows.next()? {
            let provider: Option<String> = row.get(1)?;
            active.push((
                parse(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?,
                provider.as_deref().map(parse).transpose()?,
            ));
        }
    }
    let kept = kept(from, &active)?;
    Ok(kept.into_iter().chain(active).collect())
}

/// Returns the messages that a compaction keeps.
fn kept(from: &Connection, active: &Active) -> Result<Active, StoreError> {
    let Some(EntryBody::Compaction { kept, .. }) = active.first().map(|(entry, _)| &entry.body)
    else {
        return Ok(Vec::new());
    };
    let mut statement = from.prepare_cached("SELECT body FROM entries WHERE id = ?1")?;
    let mut entries = Vec::new();
    for id in kept {
        let body: Option<String> = statement
            .query_row(params![id.0], |row| row.get(0))
            .optional()?;
        if let Some(body) = body {
            entries.push((parse(&body)?, None));
        }
    }
    Ok(entries)
}

/// Says whether a conversation has an entry.
pub(super) fn has(from: &Connection, lineage: &Lineage, entry: u64) -> Result<bool, StoreError> {
    let Ok(entry) = i64::try_from(entry) else {
        return Ok(false);
    };
    let mut statement =
        from.prepare_cached("SELECT 1 FROM entries WHERE id = ?1 AND conversation = ?2")?;
    for (conversation, end) in lineage.parts() {
        if entry < end && statement.exists(params![entry, conversation.0])? {
            return Ok(true);
        }
    }
    Ok(false)
}
