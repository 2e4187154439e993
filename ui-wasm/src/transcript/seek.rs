//! Going to a place in a conversation: words that were looked for, a person's message, a change. It says where; the
//! transcript goes there.

use porthole_protocol::{Block, Entry, EntryBody, EntryId, ToolDetail};

use super::{index::Index, scene::Scene, scroll::RowAt};

/// What to go to with the next drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seek {
    /// The words, in small letters, in an entry.
    Words(EntryId, String),
    /// The next thing of a kind, from the top of the view.
    Next(Kind, Way),
}

/// What people go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What a person said or ran.
    Person,
    /// A change to a file.
    Change,
    /// A message that asks something.
    Question,
}

/// Which way to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// To what is older.
    Back,
    /// To what is newer.
    On,
}

/// Returns the row to go to, seen from the row at the top.
pub(crate) fn find(scene: &mut Scene<'_>, top: RowAt, seek: &Seek) -> Option<RowAt> {
    match seek {
        Seek::Words(id, words) => {
            let item = scene.item_of(*id)?;
            let row = scene.row_with(item, words).unwrap_or(0);
            Some(RowAt { item, row })
        }
        Seek::Next(kind, way) => {
            let entries = &scene.builder.state.entries;
            let index = scene.builder.index;
            let state = scene.builder.state;
            let fits = |entry: &Entry| match kind {
                Kind::Person => is_persons(entry),
                Kind::Question => asks(entry),
                Kind::Change => index.is_shown(entry) && has_change(entry, index, state),
            };
            let from = top.item.min(entries.len());
            let item = match way {
                Way::Back => entries[..from + usize::from(top.row > 0 && from < entries.len())]
                    .iter()
                    .rposition(fits),
                Way::On => {
                    let after = (from + 1).min(entries.len());
                    entries[after..].iter().position(fits).map(|at| after + at)
                }
            }?;
            Some(RowAt { item, row: 0 })
        }
    }
}

fn is_persons(entry: &Entry) -> bool {
    matches!(
        entry.body,
        EntryBody::Message { .. } | EntryBody::Shell { .. }
    )
}

/// Whether a person's message, or what an answer ends in, is a question.
fn asks(entry: &Entry) -> bool {
    let ends = |text: &str| text.trim_end().ends_with(['?', '？', '؟']);
    match &entry.body {
        EntryBody::Message { text, .. } => ends(text),
        EntryBody::Answer { blocks, .. } => {
            matches!(blocks.last(), Some(Block::Text { text }) if ends(text))
        }
        _ => false,
    }
}

fn has_change(entry: &Entry, index: &Index, state: &porthole_protocol::ConversationState) -> bool {
    let is_change = |entry: &Entry| {
        matches!(
            entry.body,
            EntryBody::ToolResult {
                detail: ToolDetail::Diff { .. },
                ..
            }
        )
    };
    let EntryBody::Answer { blocks, .. } = &entry.body else {
        return is_change(entry);
    };
    blocks.iter().any(|block| match block {
        Block::ToolCall { call, .. } => index.result(call, state).is_some_and(is_change),
        Block::Text { .. } | Block::Thinking { .. } => false,
    })
}

/// Returns whether an entry holds the words, which are in small letters.
pub(crate) fn holds(entry: &Entry, words: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(words);
    match &entry.body {
        EntryBody::Message { text, .. } | EntryBody::Notice { text } => has(text),
        EntryBody::Answer { blocks, .. } => blocks.iter().any(|block| match block {
            Block::Text { text } => has(text),
            Block::ToolCall { subject, .. } => has(subject),
            Block::Thinking { .. } => false,
        }),
        EntryBody::ToolResult {
            subject, summary, ..
        } => has(subject) || has(summary),
        EntryBody::Shell {
            command, detail, ..
        } => has(command) || matches!(detail, ToolDetail::Command { tail, .. } if has(tail)),
        EntryBody::Error { text, hint } => has(text) || has(hint),
        EntryBody::Compaction { summary, .. } => has(summary),
        EntryBody::Reset
        | EntryBody::Excluded { .. }
        | EntryBody::Retried { .. }
        | EntryBody::Forked { .. }
        | EntryBody::Moved { .. } => false,
    }
}
