//! What of an entry can be found: what people and models said and what tools told, as text that may be kept. Pure.

use porthole_protocol::{AuthorKind, Block, Entry, EntryBody, ToolDetail};

use crate::redact::{Known, Lines};

/// Bytes of a person's or a model's words that are looked through.
const SAID_BYTES: usize = 512 << 10;
/// Bytes of a tool's words that are looked through.
const TOLD_BYTES: usize = 48 << 10;
/// Longer lines are broken at blanks, because none is kept whole that is longer than a log's.
const LINE_BYTES: usize = 8 << 10;

/// What of an entry can be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Who said it, as shown.
    pub author: String,
    /// How much it weighs among others: people's words the most.
    pub weight: Weight,
    /// The text.
    pub text: String,
}

/// How much words weigh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// A tool's, or Porthole's.
    Tool = 0,
    /// A model's.
    Model = 1,
    /// A person's.
    Person = 2,
}

/// Returns what of an entry can be found; `None`: nothing.
pub fn words(entry: &Entry, known: &Known) -> Option<Words> {
    let (author, text, most) = match &entry.body {
        EntryBody::Message {
            text, attachments, ..
        } => {
            let names = attachments.iter().map(|file| file.name.as_str());
            (
                entry.author.name.clone(),
                lines([text.as_str()].into_iter().chain(names)),
                SAID_BYTES,
            )
        }
        EntryBody::Answer { blocks, .. } => {
            let said = blocks.iter().filter_map(|block| match block {
                Block::Text { text } => Some(text.as_str()),
                Block::Thinking { .. } | Block::ToolCall { .. } => None,
            });
            (entry.author.name.clone(), lines(said), SAID_BYTES)
        }
        EntryBody::ToolResult {
            tool,
            subject,
            summary,
            text,
            ..
        } => (
            tool.clone(),
            lines([subject.as_str(), summary, text].into_iter()),
            TOLD_BYTES,
        ),
        EntryBody::Shell {
            command, detail, ..
        } => (
            entry.author.name.clone(),
            lines([command.as_str(), tail(detail)].into_iter()),
            TOLD_BYTES,
        ),
        EntryBody::Notice { text } | EntryBody::Error { text, .. } => {
            (entry.author.name.clone(), text.clone(), TOLD_BYTES)
        }
        EntryBody::Compaction { summary, .. } => {
            (entry.author.name.clone(), summary.clone(), SAID_BYTES)
        }
        EntryBody::Reset
        | EntryBody::Excluded { .. }
        | EntryBody::Retried { .. }
        | EntryBody::Forked { .. }
        | EntryBody::Moved { .. } => return None,
    };
    let text = may_be_kept(cut(&text, most), known);
    (!text.trim().is_empty()).then_some(Words {
        author,
        weight: weight(entry),
        text,
    })
}

fn weight(entry: &Entry) -> Weight {
    match (&entry.body, entry.author.kind) {
        (EntryBody::ToolResult { .. }, _) => Weight::Tool,
        (_, AuthorKind::Owner | AuthorKind::Guest) => Weight::Person,
        (_, AuthorKind::Model) => Weight::Model,
        (_, AuthorKind::Tool | AuthorKind::System) => Weight::Tool,
    }
}

fn tail(detail: &ToolDetail) -> &str {
    match detail {
        ToolDetail::Command { tail, .. } => tail,
        _ => "",
    }
}

fn lines<'a>(parts: impl Iterator<Item = &'a str>) -> String {
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Returns the text without secrets that are known or look like one.
pub fn may_be_kept(text: &str, known: &Known) -> String {
    let (mut state, mut out) = (Lines::default(), String::with_capacity(text.len()));
    let mut keep = |kept: Vec<String>| {
        for line in kept {
            out.push_str(&line);
            out.push('\n');
        }
    };
    for line in text.split_inclusive('\n').flat_map(pieces) {
        keep(state.feed(known, line.as_bytes()));
        if !line.ends_with('\n') {
            keep(state.feed(known, b"\n"));
        }
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}

/// Returns a line in pieces that end with a blank, where it is too long.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let most = rest.floor_char_boundary(LINE_BYTES);
        let at = match most < rest.len() {
            true => rest[..most].rfind(' ').map_or(rest.len(), |at| at + 1),
            false => rest.len(),
        };
        let (piece, left) = rest.split_at(at);
        rest = left;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_left_out_and_all_else_stays() {
        let mut known = Known::default();
        known.add("MY_KEY", "Canary-9f3k2-Value").expect("strong");
        known.settle();
        let kept = may_be_kept("one\n\ntwo Canary-9f3k2-Value three\n", &known);
        assert_eq!(kept, "one\n\ntwo [redacted: MY_KEY] three");
        let long = "word ".repeat(10_000);
        let kept = may_be_kept(&long, &known);
        assert_eq!(kept.split_whitespace().count(), 10_000, "a long line stays");
        let unbroken = "x".repeat(100_000);
        assert!(
            may_be_kept(&unbroken, &known).len() < 100,
            "nobody wrote that"
        );
    }
}
