//! Which entries a conversation has loaded, and which result belongs to which tool call. Kept up to date in small steps.

use std::collections::HashMap;

use porthole_protocol::{Block, CallId, ConversationState, Entry, EntryBody, EntryId};

/// Calls and results of the loaded entries.
#[derive(Debug, Default)]
pub(crate) struct Index {
    first: Option<EntryId>,
    last: Option<EntryId>,
    len: usize,
    calls: HashMap<CallId, EntryId>,
    results: HashMap<CallId, EntryId>,
}

impl Index {
    /// Takes in what changed. Entries come at the ends; anything else is read anew.
    pub(crate) fn sync(&mut self, entries: &[Entry]) {
        let ends = (entries.first().map(|e| e.id), entries.last().map(|e| e.id));
        if self.len == entries.len() && ends == (self.first, self.last) {
            return;
        }
        let place = |id: Option<EntryId>| {
            id.and_then(|id| entries.binary_search_by_key(&id, |e| e.id).ok())
        };
        match (place(self.first), place(self.last)) {
            (Some(first), Some(last)) if last + 1 - first == self.len => {
                entries[..first].iter().for_each(|entry| self.take(entry));
                entries[last + 1..]
                    .iter()
                    .for_each(|entry| self.take(entry));
            }
            _ => {
                self.calls.clear();
                self.results.clear();
                entries.iter().for_each(|entry| self.take(entry));
            }
        }
        (self.first, self.last) = ends;
        self.len = entries.len();
    }

    fn take(&mut self, entry: &Entry) {
        match &entry.body {
            EntryBody::Answer { blocks, .. } => {
                for block in blocks {
                    if let Block::ToolCall { call, .. } = block {
                        self.calls.insert(call.clone(), entry.id);
                    }
                }
            }
            EntryBody::ToolResult { call, .. } => {
                self.results.insert(call.clone(), entry.id);
            }
            _ => {}
        }
    }

    /// Returns the result of a call, where it is loaded.
    pub(crate) fn result<'a>(
        &self,
        call: &CallId,
        state: &'a ConversationState,
    ) -> Option<&'a Entry> {
        let at = state.position(*self.results.get(call)?)?;
        state.entries.get(at)
    }

    /// Returns the answer that made a call, where it is loaded.
    pub(crate) fn call(&self, call: &CallId) -> Option<EntryId> {
        self.calls.get(call).copied()
    }

    /// Whether the answer that made this call is loaded.
    pub(crate) fn has_call(&self, call: &CallId) -> bool {
        self.calls.contains_key(call)
    }

    /// Whether an entry takes rows of its own: a result is shown with its call.
    pub(crate) fn is_shown(&self, entry: &Entry) -> bool {
        match &entry.body {
            EntryBody::ToolResult { call, .. } => !self.has_call(call),
            _ => true,
        }
    }
}
