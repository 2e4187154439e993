//! Finding words in the conversation that is open: what is looked for, which entries hold it, and which of them is shown.
//! It draws one row and scrolls nothing by itself.

use porthole_protocol::{ConversationState, EntryId};

use crate::{
    editor::Editor,
    transcript::{Seek, Transcript, Way, holds},
};

/// What is looked for in a conversation.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    /// The words.
    pub(crate) field: Editor,
    hits: Vec<EntryId>,
    at: Option<EntryId>,
    looked: Option<(String, Option<EntryId>, Option<EntryId>)>,
}

impl Finder {
    /// Looks again where words or entries changed; new words show their newest hit.
    pub(crate) fn look(&mut self, state: &ConversationState, transcript: &mut Transcript) {
        let words = self.field.text().to_lowercase();
        let ends = (
            state.entries.first().map(|e| e.id),
            state.entries.last().map(|e| e.id),
        );
        let now = (words.clone(), ends.0, ends.1);
        if self.looked.as_ref() == Some(&now) {
            return;
        }
        let same_words = self
            .looked
            .as_ref()
            .is_some_and(|(before, ..)| *before == words);
        self.looked = Some(now);
        self.hits.clear();
        if !words.trim().is_empty() {
            let found = state.entries.iter().filter(|entry| holds(entry, &words));
            self.hits.extend(found.map(|entry| entry.id));
        }
        transcript.mark(&words);
        if !same_words {
            self.at = None;
            self.go(Way::Back, transcript);
        }
    }

    /// Goes to the next hit; returns whether there is one that way.
    pub(crate) fn go(&mut self, way: Way, transcript: &mut Transcript) -> bool {
        let place = |id: EntryId| self.hits.partition_point(|hit| *hit < id);
        let next = match (self.at, way) {
            (None, _) => self.hits.last(),
            (Some(at), Way::Back) => place(at).checked_sub(1).and_then(|at| self.hits.get(at)),
            (Some(at), Way::On) => self.hits.iter().find(|hit| **hit > at),
        };
        let Some(next) = next.copied() else {
            return false;
        };
        self.at = Some(next);
        transcript.seek(Seek::Words(next, self.field.text().to_lowercase()));
        true
    }

    /// Returns where one is among the hits, in words.
    pub(crate) fn words(&self, has_older: bool) -> String {
        let more = if has_older { " loaded" } else { "" };
        let at = self
            .at
            .and_then(|at| self.hits.iter().position(|hit| *hit == at));
        match (self.field.text().trim().is_empty(), self.hits.len(), at) {
            (true, ..) => String::new(),
            (_, 0, _) => format!(
                "nothing found{}",
                if has_older { " in what is loaded" } else { "" }
            ),
            (_, all, Some(at)) => format!("{} of {all}{more}", all - at),
            (_, all, None) => format!("{all}{more}"),
        }
    }
}
