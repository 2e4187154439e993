//! Looking through what was said in all sessions while words are typed: what is wanted, what came for it, and where it is
//! shown. The server searches; nothing here does.

use porthole_protocol::{Call, Hit, limits, replies::Found};

use crate::{
    App, clock,
    home::{Prompt, Spot},
    look::Look,
    picker::{Choice, Item},
    text,
};

/// Characters from which on it is worth a search.
const FROM_CHARS: usize = 2;
/// Places asked for at once.
const HITS: u32 = 30;

/// What is looked for.
#[derive(Debug, Default)]
pub(crate) struct Search {
    wanted: String,
    found_for: Option<String>,
}

/// Returns the conversation and the entry of a hit; `None`: it is a title, which the list finds itself.
pub(crate) fn spot(hit: &Hit) -> Option<Spot> {
    Some(Spot {
        session: hit.session.clone(),
        conversation: hit.conversation,
        entry: Some(hit.entry?),
    })
}

/// Returns the first words of the snippet that were found, in small letters.
pub(crate) fn words(hit: &Hit) -> String {
    let (from, to) = hit.matches.first().copied().unwrap_or_default();
    let words = hit.snippet.get(from as usize..to as usize);
    words.unwrap_or_default().to_lowercase()
}

/// Returns the snippet in pieces, each with whether it was looked for; so long that the first words found are in it.
pub(crate) fn pieces(hit: &Hit, cols: usize) -> Vec<(String, bool)> {
    let mut pieces = Vec::new();
    let mut at = 0;
    for (from, to) in &hit.matches {
        let (from, to) = (*from as usize, *to as usize);
        let (Some(before), Some(found)) = (hit.snippet.get(at..from), hit.snippet.get(from..to))
        else {
            break;
        };
        pieces.push((text::visible(before).into_owned(), false));
        pieces.push((text::visible(found).into_owned(), true));
        at = to;
    }
    let rest = hit.snippet.get(at..).unwrap_or_default();
    pieces.push((text::visible(rest).into_owned(), false));
    // What stands far before the first words gives way.
    if let Some((before, _)) = pieces.first_mut()
        && text::width(before) > cols / 2
    {
        let skip = text::head(before, text::width(before).saturating_sub(cols / 3)).len();
        *before = format!("…{}", &before[skip..]);
    }
    pieces
}

fn item(hit: &Hit, look: &Look, now_ms: u64) -> Option<Item> {
    let label: String = pieces(hit, 40)
        .into_iter()
        .map(|(piece, _)| piece)
        .collect();
    let at = clock::when(hit.at_ms, now_ms, look.utc_offset_minutes);
    let archived = if hit.archived { "archived · " } else { "" };
    let note = format!("{archived}{} · {at}", hit.title);
    Some(Item::new(Choice::Hit(spot(hit)?, words(hit)), label, note))
}

impl App {
    /// Takes note that the open field of the list changed.
    pub(crate) fn field_changed(&mut self) {
        self.home.field_changed();
        if matches!(self.home.prompt, Some(Prompt::Filter)) {
            self.want(self.home.filter.text().to_owned());
        }
    }

    /// Looks on the server for what is typed in the open list, where that can find more.
    pub(crate) fn look_further(&mut self) {
        let Some(picker) = &self.picker else { return };
        let query = picker.query().trim().to_owned();
        if picker.offers(|c| matches!(c, Choice::Home)) {
            self.want(query);
        } else if picker.offers(|c| matches!(c, Choice::Model(_))) && self.fx.is_owner() {
            self.find_models(query);
        }
    }

    fn find_models(&mut self, query: String) {
        let pending = self
            .fx
            .server
            .is_pending(|c| matches!(c, Call::ModelsFind { .. }));
        let known = self.models_found_for.as_ref() == Some(&query);
        if query.chars().count() >= FROM_CHARS && !pending && !known {
            self.models_found_for = Some(query.clone());
            let query = query.chars().take(limits::MODELS_QUERY_CHARS).collect();
            let limit = limits::MODELS_FOUND as u32;
            self.fx.call(Call::ModelsFind { query, limit });
        }
    }

    fn want(&mut self, text: String) {
        let text = text.trim();
        self.search.wanted = text.chars().take(limits::SEARCH_CHARS).collect();
        if self.search.wanted.chars().count() < FROM_CHARS {
            self.search.found_for = None;
            self.home.take_hits(Vec::new());
            if let Some(picker) = &mut self.picker {
                picker.put_more(Vec::new());
            }
            return;
        }
        self.ask_search();
    }

    /// Asks for what is wanted now, one search at a time.
    pub(crate) fn ask_search(&mut self) {
        let text = self.search.wanted.clone();
        let pending = self
            .fx
            .server
            .is_pending(|c| matches!(c, Call::Search { .. }));
        if pending || text.is_empty() || self.search.found_for.as_ref() == Some(&text) {
            return;
        }
        self.fx.call(Call::Search {
            session: None,
            text,
            limit: HITS,
            before: None,
        });
    }

    /// Takes what a search found, and looks on where something else is wanted by now.
    pub(crate) fn took_found(&mut self, text: String, found: Found) {
        self.search.found_for = Some(text);
        if self.search.wanted.is_empty() {
            return;
        }
        let is_switcher = |c: &Choice| matches!(c, Choice::Home);
        if let Some(picker) = self.picker.as_mut().filter(|p| p.offers(is_switcher)) {
            let (look, now_ms) = (&self.look, self.fx.now_ms);
            let more = found.hits.iter().filter_map(|hit| item(hit, look, now_ms));
            picker.put_more(more.collect());
        } else if matches!(self.home.prompt, Some(Prompt::Filter)) || !self.home.filter.is_empty() {
            self.home.take_hits(found.hits);
        }
        self.ask_search();
    }
}

#[cfg(test)]
mod tests {
    use porthole_protocol::{ConversationId, EntryId, SessionId};

    use super::*;

    proptest::proptest! {
        #[test]
        fn any_ranges_of_any_snippet_are_shown(
            snippet in "[a-z é漢\u{1b}👩‍🚀]{0,60}", matches in proptest::collection::vec((0u32..80, 0u32..80), 0..5), cols in 0usize..90,
        ) {
            let hit = Hit {
                session: SessionId::parse("s1").expect("an id"),
                title: String::new(),
                archived: false,
                conversation: ConversationId::ROOT,
                entry: Some(EntryId(1)),
                at_ms: 0,
                author: String::new(),
                snippet,
                matches,
            };
            let _ = words(&hit);
            for (piece, _) in pieces(&hit, cols) {
                assert!(!piece.contains('\u{1b}'));
            }
        }
    }
}
