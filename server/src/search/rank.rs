//! What comes first of what was found: the better texts, then the newer; titles before all. And where the next page goes on.
//! Pure.

use porthole_protocol::{ConversationId, EntryId, Hit, SessionId};

use super::{
    excerpt::excerpt,
    index::{Candidate, Candidates},
    question::Question,
    words::Weight,
};

/// Bits of a page's mark that say how many of the candidates were shown.
const SHOWN_BITS: u32 = 11;
/// Titles on a first page, at most.
const TITLES: usize = 20;

/// A session as far as a hit shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// Which.
    pub session: SessionId,
    /// Its title.
    pub title: String,
    /// Whether it is put away.
    pub archived: bool,
    /// When something last happened in it.
    pub updated_ms: u64,
}

/// Where a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Only texts with lower numbers are looked at.
    pub below: i64,
    /// How many of the best were shown before.
    pub shown: usize,
}

impl Page {
    /// Returns the page that a mark names; the first one without.
    pub fn from_mark(mark: Option<u64>) -> Self {
        let Some(mark) = mark else {
            return Self {
                below: i64::MAX,
                shown: 0,
            };
        };
        Self {
            below: (mark >> SHOWN_BITS).cast_signed(),
            shown: (mark & ((1 << SHOWN_BITS) - 1)) as usize,
        }
    }

    fn to_mark(self) -> u64 {
        (self.below.cast_unsigned() << SHOWN_BITS) | self.shown as u64
    }
}

/// Returns the hits of a page and the mark of the next.
pub fn page(
    question: &Question,
    candidates: Candidates,
    at: Page,
    limit: usize,
    title: impl Fn(&SessionId) -> Option<Title>,
) -> (Vec<Hit>, Option<u64>) {
    let (older, newest) = (candidates.older, candidates.newest);
    let mut scored: Vec<(f64, Candidate)> = candidates
        .found
        .into_iter()
        .map(|candidate| (score(question, &candidate), candidate))
        .collect();
    scored.sort_by(|(a, left), (b, right)| {
        let newer = right.doc.at_ms.cmp(&left.doc.at_ms);
        b.total_cmp(a).then(newer)
    });
    let all = scored.len();
    let shown = scored.into_iter().skip(at.shown).take(limit);
    let hits: Vec<Hit> = shown
        .filter_map(|(_, found)| Some(hit(question, &found, title(&found.session)?)))
        .collect();
    let next = match (at.shown + limit < all, older) {
        // Those that come in meanwhile have higher numbers, so that the order stays.
        (true, _) => Some(Page {
            below: newest + 1,
            shown: at.shown + limit,
        }),
        (false, Some(older)) => Some(Page {
            below: older,
            shown: 0,
        }),
        (false, None) => None,
    };
    (hits, next.map(Page::to_mark))
}

/// Returns the titles in which all of the words stand, the newest sessions first.
pub fn titles(question: &Question, mut all: Vec<Title>) -> Vec<Hit> {
    all.retain(|title| question.is_in(&title.title));
    all.sort_by_key(|title| std::cmp::Reverse(title.updated_ms));
    all.truncate(TITLES);
    all.into_iter()
        .map(|title| {
            let found = excerpt(question, &title.title);
            Hit {
                session: title.session,
                title: title.title,
                archived: title.archived,
                conversation: ConversationId::ROOT,
                entry: None,
                at_ms: title.updated_ms,
                author: String::new(),
                snippet: found.text,
                matches: found.matches,
            }
        })
        .collect()
}

fn hit(question: &Question, found: &Candidate, title: Title) -> Hit {
    let piece = excerpt(question, &found.doc.words.text);
    Hit {
        session: title.session,
        title: title.title,
        archived: title.archived,
        conversation: ConversationId(found.doc.conversation),
        entry: Some(EntryId(found.doc.entry)),
        at_ms: found.doc.at_ms,
        author: found.doc.words.author.clone(),
        snippet: piece.text,
        matches: piece.matches,
    }
}

/// Returns how well a text answers: how often each term stands in it for its length, whole words more than beginnings,
/// people's words more than tools'.
fn score(question: &Question, candidate: &Candidate) -> f64 {
    let text = &candidate.doc.words.text;
    let mut counts = vec![0.0; question.terms()];
    for place in question.places(text) {
        counts[place.term] += if place.whole { 1.0 } else { 0.5 };
    }
    let length = 0.3 + 0.7 * text.len() as f64 / 1_000.0;
    let often = |count: &f64| count / (count + 1.2 * length.min(20.0));
    let weight = match candidate.doc.words.weight {
        Weight::Person => 1.3,
        Weight::Model => 1.0,
        Weight::Tool => 0.6,
    };
    let score = counts.iter().map(often).sum::<f64>() * weight;
    // Texts that hardly differ are equal, so that the newer comes first.
    (score * 20.0).round()
}
