//! A session as one HTML page: every word escaped, no script, nothing that is fetched. Images that came with messages are in
//! it as far as there is room.

use std::{
    io::{self, Read as _, Write},
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use porthole_protocol::{Attachment, Block, ConversationId, EntryBody};
use porthole_worker::wire::KeptEntry;

use super::{markdown::tail, shown_time};
use crate::catalog::Session;

/// Bytes of images in one page, at most.
const PICTURES_BYTES: u64 = 20 << 20;
/// Formats that are shown.
const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// What images have taken of the room.
#[derive(Default)]
pub(super) struct Pictures {
    bytes: u64,
}

pub(super) fn begin(out: &mut impl Write, session: &Session) -> io::Result<()> {
    let (title, dir) = (escaped(&session.title), escaped(&session.dir));
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\n<style>\n\
         body {{ font: 16px/1.5 sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em; color-scheme: light dark }}\n\
         h2 {{ font-size: 1em; margin: 2em 0 0.3em }} time {{ font-weight: normal; opacity: 0.6 }}\n\
         pre {{ white-space: pre-wrap; overflow-wrap: anywhere }} .said {{ font: inherit; margin: 0 }}\n\
         .told {{ border-left: 3px solid; padding-left: 0.7em; opacity: 0.8; font-size: 0.85em }} img {{ max-width: 100% }}\n\
         </style></head><body>\n<h1>{title}</h1>\n<p>{dir} · {}</p>",
        escaped(&shown_time(session.created_ms))
    )
}

pub(super) fn end(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "</body></html>")
}

pub(super) fn entry(
    out: &mut impl Write,
    kept: &KeptEntry,
    blobs: &Path,
    pictures: &mut Pictures,
) -> io::Result<()> {
    let who = &kept.entry.author.name;
    match &kept.entry.body {
        EntryBody::Message {
            text, attachments, ..
        } => {
            head(out, kept, who)?;
            said(out, text)?;
            files(out, attachments, blobs, pictures)
        }
        EntryBody::Answer {
            blocks, incomplete, ..
        } => {
            head(out, kept, who)?;
            for block in blocks {
                self::block(out, block)?;
            }
            match incomplete {
                true => note(out, "cut short"),
                false => Ok(()),
            }
        }
        EntryBody::ToolResult {
            tool,
            subject,
            summary,
            text,
            attachments,
            ..
        } => {
            head(out, kept, tool)?;
            told(out, &format!("{subject} {summary}\n{text}"))?;
            files(out, attachments, blobs, pictures)
        }
        EntryBody::Shell {
            command, detail, ..
        } => {
            head(out, kept, who)?;
            told(out, &format!("$ {command}\n{}", tail(detail)))
        }
        EntryBody::Compaction { summary, .. } => {
            head(out, kept, "What came before, summed up")?;
            said(out, summary)
        }
        EntryBody::Error { text, .. } => note(out, &format!("Failed: {text}")),
        EntryBody::Notice { text } => note(out, text),
        EntryBody::Moved { dir } => note(out, &format!("Moved to {dir}")),
        EntryBody::Reset => note(out, "The context was reset."),
        EntryBody::Forked { conversation, .. } => {
            note(out, &format!("Continued from conversation {conversation}"))
        }
        EntryBody::Excluded { .. } | EntryBody::Retried { .. } => Ok(()),
    }
}

fn head(out: &mut impl Write, kept: &KeptEntry, who: &str) -> io::Result<()> {
    let aside = match kept.conversation {
        ConversationId::ROOT => String::new(),
        other => format!(" · conversation {other}"),
    };
    let (who, time) = (escaped(who), escaped(&shown_time(kept.entry.at_ms)));
    writeln!(out, "<h2>{who} <time>{time}{aside}</time></h2>")
}

fn block(out: &mut impl Write, block: &Block) -> io::Result<()> {
    match block {
        Block::Text { text } => said(out, text),
        Block::Thinking { text } if text.is_empty() => Ok(()),
        Block::Thinking { text } => told(out, text),
        Block::ToolCall { tool, subject, .. } => note(out, &format!("calls {tool}: {subject}")),
    }
}

fn said(out: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(out, "<pre class=\"said\">\n{}</pre>", escaped(text))
}

fn told(out: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(out, "<pre class=\"told\">\n{}</pre>", escaped(text))
}

fn note(out: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(out, "<p><em>{}</em></p>", escaped(text))
}

fn files(
    out: &mut impl Write,
    files: &[Attachment],
    blobs: &Path,
    pictures: &mut Pictures,
) -> io::Result<()> {
    for file in files {
        let name = escaped(&file.name);
        match picture(file, blobs, pictures) {
            Some(data) => writeln!(
                out,
                "<p><img alt=\"{name}\" src=\"data:{};base64,{data}\"></p>",
                escaped(&file.media_type)
            )?,
            None => writeln!(out, "<p>{name} ({} bytes)</p>", file.bytes)?,
        }
    }
    Ok(())
}

/// Returns an image's bytes in base64, where it is one, is there, and fits.
fn picture(file: &Attachment, blobs: &Path, pictures: &mut Pictures) -> Option<String> {
    let room = PICTURES_BYTES - pictures.bytes;
    if !SHOWN.contains(&file.media_type.as_str()) || file.bytes > room {
        return None;
    }
    let mut bytes = Vec::new();
    let blob = std::fs::File::open(blobs.join(file.id.as_str())).ok()?;
    let read = blob.take(room + 1).read_to_end(&mut bytes).ok()? as u64;
    if read > room {
        return None;
    }
    pictures.bytes += read;
    Some(STANDARD.encode(bytes))
}

/// Returns text that is only text, in an element as in a quoted attribute; controls are blanks.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use porthole_protocol::{Author, AuthorKind, Entry, EntryId, SendMode};
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> String {
        let kept = KeptEntry {
            conversation: ConversationId::ROOT,
            entry: Entry {
                id: EntryId(1),
                at_ms: 1,
                author: Author {
                    kind: AuthorKind::Guest,
                    id: "g".into(),
                    name: text.into(),
                },
                turn: None,
                body: EntryBody::Message {
                    text: text.into(),
                    mode: SendMode::FollowUp,
                    attachments: vec![Attachment {
                        id: porthole_protocol::AttachmentId::parse("a1").expect("an id"),
                        name: text.into(),
                        bytes: 1,
                        media_type: "image/png".into(),
                    }],
                },
            },
        };
        let mut out = Vec::new();
        entry(
            &mut out,
            &kept,
            Path::new("/nowhere"),
            &mut Pictures::default(),
        )
        .expect("written");
        String::from_utf8(out).expect("text")
    }

    proptest! {
        #[test]
        fn no_word_becomes_an_element(text in "[<>&\"'a-z/!= \u{1b}]{0,40}") {
            let page = shown(&text);
            let tags = page.matches('<').count();
            prop_assert_eq!(tags, shown("").matches('<').count(), "{}", page);
            prop_assert!(!page.chars().any(|c| c.is_control() && c != '\n'));
        }
    }
}
