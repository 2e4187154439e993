//! How large texts are once they are encoded, and cutting what is too large to be shown. It stores nothing and decides
//! nothing about what a model is sent.

use porthole_protocol::{ConversationState, Entry, EntryBody, ToolDetail, limits};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Most of what a call is about, on its one line.
pub(crate) const SUBJECT_BYTES: usize = 4 << 10;
/// Longest command, so that a person can look at all of it before a yes.
pub(crate) const COMMAND_BYTES: usize = 64 << 10;
/// Most of one entry.
const ENTRY_BYTES: usize = limits::SERVER_FRAME_BYTES / 4;
/// Most of what a question shows.
const DETAIL_BYTES: usize = 256 << 10;
/// Most of a whole state, with room for the frame around it.
const STATE_BYTES: usize = limits::SERVER_FRAME_BYTES - (64 << 10);
/// What each text of something too large may keep, until it fits.
const ROOMS: [usize; 4] = [256 << 10, 32 << 10, 4 << 10, 512];

/// Returns how many bytes a text takes in JSON.
pub(crate) fn encoded_len(text: &str) -> usize {
    text.bytes().map(encoded_byte).sum()
}

fn encoded_byte(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..=0x1f => 6,
        _ => 1,
    }
}

/// Returns the text, or its start and how much is left out.
pub(crate) fn start(text: &str, most: usize) -> String {
    let end = prefix(text.char_indices(), most).map_or(text.len(), |(at, _)| at);
    match text.len() - end {
        0 => text.to_owned(),
        left => format!("{}… ({left} bytes left out)", &text[..end]),
    }
}

/// Returns the text, or its start, how much is left out, and its end.
pub(crate) fn ends(text: &str, most: usize) -> String {
    if encoded_len(text) <= most {
        return text.to_owned();
    }
    let head = prefix(text.char_indices(), most / 2).map_or(text.len(), |(at, _)| at);
    let tail = prefix(text.char_indices().rev(), most / 2).map_or(0, |(at, c)| at + c.len_utf8());
    let left = tail.saturating_sub(head);
    format!(
        "{}\n… {left} bytes left out …\n{}",
        &text[..head],
        &text[tail.max(head)..]
    )
}

/// Returns the first letter that has no room any more.
fn prefix(
    mut letters: impl Iterator<Item = (usize, char)>,
    mut room: usize,
) -> Option<(usize, char)> {
    letters.find(|(_, letter)| {
        let mut bytes = [0; 4];
        let len = encoded_len(letter.encode_utf8(&mut bytes));
        match room.checked_sub(len) {
            Some(left) => {
                room = left;
                false
            }
            None => true,
        }
    })
}

/// Returns the entry as it can be shown: one that is too large keeps start and end of its texts.
pub(crate) fn entry(entry: Entry) -> Entry {
    match fitting(&entry, ENTRY_BYTES) {
        Fit::Whole => entry,
        Fit::Cut(cut) => cut,
        Fit::No(bytes) => {
            let text = format!("This entry is too large to show ({} KiB).", bytes >> 10);
            Entry {
                body: EntryBody::Notice { text },
                ..entry
            }
        }
    }
}

/// Returns what a question shows, cut where it is too large.
pub(crate) fn detail(detail: ToolDetail) -> ToolDetail {
    match fitting(&detail, DETAIL_BYTES) {
        Fit::Whole => detail,
        Fit::Cut(cut) => cut,
        Fit::No(_) => ToolDetail::Text,
    }
}

/// Leaves out the oldest entries of a state until it fits into a frame; they can be asked for.
pub(crate) fn state(state: &mut ConversationState) {
    let mut bytes = len(state);
    while bytes > STATE_BYTES && !state.entries.is_empty() {
        bytes -= len(&state.entries.remove(0));
        state.has_older = true;
    }
}

enum Fit<T> {
    Whole,
    Cut(T),
    No(usize),
}

fn fitting<T: Serialize + DeserializeOwned>(whole: &T, most: usize) -> Fit<T> {
    let bytes = len(whole);
    if bytes <= most {
        return Fit::Whole;
    }
    let cut = ROOMS.iter().find_map(|room| {
        let mut value = serde_json::to_value(whole).ok()?;
        cut_texts(&mut value, *room);
        if len(&value) > most {
            return None;
        }
        serde_json::from_value(value).ok()
    });
    cut.map_or(Fit::No(bytes), Fit::Cut)
}

fn cut_texts(value: &mut Value, room: usize) {
    match value {
        Value::String(text) => *text = ends(text, room),
        Value::Array(values) => values.iter_mut().for_each(|value| cut_texts(value, room)),
        Value::Object(fields) => fields.values_mut().for_each(|value| cut_texts(value, room)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn len(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.len())
}

#[cfg(test)]
mod tests {
    use porthole_protocol::{Author, AuthorKind, Block, EntryId, ModelRef};
    use proptest::prelude::*;

    use super::*;

    fn answer(texts: Vec<String>) -> Entry {
        Entry {
            id: EntryId(1),
            at_ms: 1,
            author: Author {
                kind: AuthorKind::Model,
                id: "m".into(),
                name: "m".into(),
            },
            turn: None,
            body: EntryBody::Answer {
                model: ModelRef::parse("a/b").expect("a model"),
                blocks: texts.into_iter().map(|text| Block::Text { text }).collect(),
                stop: None,
                usage: None,
                incomplete: false,
            },
        }
    }

    #[test]
    fn a_large_answer_stays_an_answer_with_its_start_and_its_end() {
        let small = answer(vec!["short".into()]);
        assert_eq!(entry(small.clone()), small);
        for text in ["z", "é\n", "\u{1}"] {
            let long = format!("HEAD{}TAIL", text.repeat(3 << 20));
            let shown = entry(answer(vec![long]));
            assert!(len(&shown) <= ENTRY_BYTES);
            let EntryBody::Answer { blocks, .. } = &shown.body else {
                panic!("no answer: {text:?}");
            };
            let [Block::Text { text }] = &blocks[..] else {
                panic!("one text");
            };
            assert!(text.starts_with("HEAD") && text.ends_with("TAIL"));
            assert!(text.contains("bytes left out"));
        }
        let many = entry(answer(vec!["x".repeat(2_000); 4_096]));
        assert!(len(&many) <= ENTRY_BYTES);
    }

    proptest! {
        #[test]
        fn a_cut_text_says_how_much_is_missing(text in any::<String>(), times in 1..50_usize, most in 0..200_usize) {
            let text = text.repeat(times);
            prop_assert_eq!(encoded_len(&text) + 2, serde_json::to_string(&text).expect("encodes").len());
            let cut = start(&text, most);
            prop_assert_eq!(cut == text, encoded_len(&text) <= most);
            let kept = cut.rsplit_once("… (").map_or(cut.as_str(), |(kept, _)| kept);
            prop_assert!(text.starts_with(kept) || cut == text);
            prop_assert!(encoded_len(&cut) <= encoded_len(&text).min(most) + 40);
            prop_assert!(encoded_len(&ends(&text, most)) <= most.max(encoded_len(&text).min(most)) + 40);
        }
    }
}
