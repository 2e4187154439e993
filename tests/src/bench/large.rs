//! Large conversations, made once: written as an export and imported by the server, so that their stores are as it makes them.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
};

use porthole_protocol::{
    Author, AuthorKind, Block, ConversationId, Entry, EntryBody, EntryId, ModelRef, SendMode, Usage,
};
use serde_json::json;

use crate::World;

/// How many different words there are.
const VOCABULARY: u64 = 6_000;
/// Words of an entry.
const WORDS: usize = 24;
/// After so many entries what came before is summed up, as it is wherever a model's context ends.
const SUMMED_UP: u64 = 2_000;
/// 2026-01-01, in milliseconds since the Unix epoch.
const BEGIN_MS: u64 = 1_767_225_600_000;

/// Makes a session of so many entries, questions and answers in turn with a summary now and then, and returns its id.
/// `seed` varies the words.
///
/// # Errors
/// Where the server takes no import.
pub fn session(world: &World, entries: u64, seed: u64) -> anyhow::Result<String> {
    let file = world.home().join(format!("large-{seed}.json"));
    write(&file, &world.project(), entries, seed)?;
    let id = world.ask(&["import", &file.display().to_string()])?;
    std::fs::remove_file(&file)?;
    Ok(id)
}

/// Returns the word of a number; small numbers are frequent in what [`session`] makes.
pub fn word(number: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "do", "ke", "li", "mo", "nu", "pa", "ri", "sa", "te", "vo", "wi", "xe", "yu", "za",
        "ch",
    ];
    let mut rest = number + 16;
    let mut word = String::new();
    while rest > 0 {
        word.push_str(SYLLABLES[(rest % 16) as usize]);
        rest /= 16;
    }
    word
}

fn write(file: &Path, dir: &Path, entries: u64, seed: u64) -> anyhow::Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    let about = json!({"title": format!("large {seed}"), "dir": dir, "created_ms": BEGIN_MS});
    writeln!(
        out,
        r#"{{"format":"porthole-session","version":1,"session":{about},"entries":["#
    )?;
    let mut words = Words(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for id in 1..=entries {
        let kept = json!({"conversation": ConversationId::ROOT, "entry": entry(id, &mut words)});
        let end = if id < entries { "," } else { "" };
        writeln!(out, "{kept}{end}")?;
    }
    writeln!(out, "]}}")?;
    Ok(out.flush()?)
}

fn entry(id: u64, words: &mut Words) -> Entry {
    let text = words.text();
    let (kind, author, body) = if id.is_multiple_of(SUMMED_UP) {
        let body = EntryBody::Compaction {
            summary: text,
            automatic: true,
            kept: Vec::new(),
        };
        (AuthorKind::System, "porthole", body)
    } else if id % 2 == 1 {
        let body = EntryBody::Message {
            text,
            mode: SendMode::FollowUp,
            attachments: Vec::new(),
        };
        (AuthorKind::Owner, "owner", body)
    } else {
        let body = EntryBody::Answer {
            model: ModelRef {
                provider: "mock".to_owned(),
                model: "mock".to_owned(),
            },
            blocks: vec![Block::Text { text }],
            stop: Some("stop".to_owned()),
            usage: None::<Usage>,
            incomplete: false,
        };
        (AuthorKind::Model, "mock/mock", body)
    };
    Entry {
        id: EntryId(id),
        at_ms: BEGIN_MS + id * 1_000,
        author: Author {
            kind,
            id: author.to_owned(),
            name: author.to_owned(),
        },
        turn: None,
        body,
    }
}

/// Words by chance: the same for the same seed.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A paragraph in which some words are frequent and most are rare, as in what people write.
    fn text(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..WORDS {
            let part = self.next() % VOCABULARY;
            let rank = part * part / VOCABULARY * part / VOCABULARY;
            text.push_str(&word(rank));
            text.push(' ');
        }
        text.push_str("end.");
        text
    }
}
