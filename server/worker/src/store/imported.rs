//! A store that is made of entries that are there already: all of them in one transaction, or none. No worker runs for it.

use std::{collections::BTreeMap, path::Path, time::Duration};

use porthole_protocol::{ConversationId, EntryBody, ModelRef};

use super::{ShelfError, lock::Lock, schema, write};
use crate::{
    record::{ConversationRow, ForkPoint, Record},
    wire::KeptEntry,
};

/// Makes the store of a new session in its folder, which is there. Blocks.
///
/// # Errors
/// [`ShelfError`]; what is in the folder then is of no use.
pub fn import(folder: &Path, model: &ModelRef, entries: Vec<KeptEntry>) -> Result<(), ShelfError> {
    let _lock = Lock::take(folder, Duration::ZERO)?;
    let mut connection = schema::open(&folder.join("session.db"), true)?;
    let mut rows = BTreeMap::from([(ConversationId::ROOT, row(ConversationId::ROOT, model, None))]);
    for kept in &entries {
        let fork = match &kept.entry.body {
            EntryBody::Forked {
                conversation,
                entry,
            } => Some(ForkPoint {
                conversation: *conversation,
                entry: *entry,
            }),
            _ => None,
        };
        let id = kept.conversation;
        rows.entry(id).or_insert_with(|| row(id, model, fork));
    }
    let rows = rows.into_values().map(Record::Conversation);
    let entries = entries.into_iter().map(|kept| Record::Entry {
        conversation: kept.conversation,
        entry: Box::new(kept.entry),
        blocks: None,
    });
    let records: Vec<Record> = rows.chain(entries).collect();
    write::commit(&mut connection, &records)?;
    schema::checkpoint(&connection)?;
    Ok(())
}

fn row(id: ConversationId, model: &ModelRef, fork: Option<ForkPoint>) -> ConversationRow {
    let is_root = id == ConversationId::ROOT;
    ConversationRow {
        id,
        model: model.clone(),
        thinking: Default::default(),
        policy: Default::default(),
        title: None,
        paused: false,
        usage: Default::default(),
        parent: (!is_root).then_some(ConversationId::ROOT),
        call: None,
        fork: fork.filter(|_| !is_root),
        archived: false,
        dir: None,
        depth: u32::from(!is_root),
        for_guests: Default::default(),
        unpriced: Default::default(),
    }
}
