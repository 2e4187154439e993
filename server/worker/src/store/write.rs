//! Writing rows: one transaction for all of a batch.

use porthole_protocol::EntryBody;
use rusqlite::{Connection, Transaction, params};

use super::StoreError;
use crate::record::{CallStage, Record, SubmissionStage, TurnStage};

/// Writes the records, all or none.
pub(super) fn commit(connection: &mut Connection, records: &[Record]) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    for record in records {
        write(&transaction, record)?;
    }
    transaction.commit()?;
    Ok(())
}

fn write(to: &Transaction<'_>, record: &Record) -> Result<(), StoreError> {
    match record {
        Record::Conversation(row) => put(
            to,
            "INSERT OR REPLACE INTO conversations (id, body) VALUES (?1, ?2)",
            params![row.id.0, json(row)?],
        ),
        // No `OR REPLACE`: an entry is never rewritten.
        Record::Entry {
            conversation,
            entry,
            blocks,
        } => put(
            to,
            "INSERT INTO entries (id, conversation, at_ms, cut, body, provider) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                entry.id.0,
                conversation.0,
                entry.at_ms,
                matches!(entry.body, EntryBody::Reset | EntryBody::Compaction { .. }),
                json(entry)?,
                blocks.as_ref().map(json).transpose()?
            ],
        ),
        Record::Submission(row) => put(
            to,
            "INSERT OR REPLACE INTO submissions (id, queued, body, conversation) VALUES (?1, ?2, ?3, ?4)",
            params![
                row.id.0,
                row.stage == SubmissionStage::Queued,
                json(row)?,
                row.conversation.0
            ],
        ),
        Record::Turn(row) => put(
            to,
            "INSERT OR REPLACE INTO turns (id, open, body, conversation) VALUES (?1, ?2, ?3, ?4)",
            params![
                row.id.0,
                row.stage != TurnStage::Ended,
                json(row)?,
                row.conversation.0
            ],
        ),
        // Updated in place, so that the calls of a turn keep their order.
        Record::Call(row) => put(
            to,
            "INSERT INTO calls (call, turn, open, body) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (call) DO UPDATE SET open = excluded.open, body = excluded.body",
            params![
                row.call.as_str(),
                row.turn.0,
                row.stage != CallStage::Done,
                json(row)?
            ],
        ),
        Record::Question(row) => put(
            to,
            "INSERT OR REPLACE INTO questions (id, body) VALUES (?1, ?2)",
            params![row.question.id.0, json(row)?],
        ),
        Record::Shell(row) => put(
            to,
            "INSERT OR REPLACE INTO shells (id, turn, open, body, conversation) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                row.id.0,
                row.turn.0,
                !row.done,
                json(row)?,
                row.conversation.0
            ],
        ),
        Record::Allowed(what) => put(
            to,
            "INSERT OR IGNORE INTO allowed (what) VALUES (?1)",
            params![what],
        ),
        Record::Request(row) => put(
            to,
            "INSERT OR REPLACE INTO requests (key, reply, at_ms) VALUES (?1, ?2, ?3)",
            params![row.key, row.reply, row.at_ms],
        ),
    }
}

fn put(to: &Transaction<'_>, sql: &str, values: impl rusqlite::Params) -> Result<(), StoreError> {
    to.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

fn json(row: &impl serde::Serialize) -> Result<String, StoreError> {
    Ok(serde_json::to_string(row)?)
}
