//! A session as Markdown: who said what, tools and their results in fences that nothing in them ends.

use std::io::{self, Write};

use porthole_protocol::{Attachment, Block, ConversationId, EntryBody, ToolDetail};
use porthole_worker::wire::KeptEntry;

use super::shown_time;
use crate::catalog::Session;

pub(super) fn begin(out: &mut impl Write, session: &Session) -> io::Result<()> {
    writeln!(out, "# {}\n", one_line(&session.title))?;
    writeln!(
        out,
        "{} · {}",
        code(&session.dir),
        shown_time(session.created_ms)
    )
}

pub(super) fn entry(out: &mut impl Write, kept: &KeptEntry) -> io::Result<()> {
    let entry = &kept.entry;
    let aside = match kept.conversation {
        ConversationId::ROOT => String::new(),
        other => format!(" · conversation {other}"),
    };
    let head = |who: &str| {
        format!(
            "\n## {} · {}{aside}\n",
            one_line(who),
            shown_time(entry.at_ms)
        )
    };
    let who = &entry.author.name;
    match &entry.body {
        EntryBody::Message {
            text, attachments, ..
        } => {
            writeln!(out, "{}\n{text}", head(who))?;
            files(out, attachments)
        }
        EntryBody::Answer {
            blocks, incomplete, ..
        } => {
            writeln!(out, "{}", head(who))?;
            for block in blocks {
                self::block(out, block)?;
            }
            match incomplete {
                true => writeln!(out, "*(cut short)*\n"),
                false => Ok(()),
            }
        }
        EntryBody::ToolResult {
            tool,
            subject,
            summary,
            text,
            ..
        } => {
            writeln!(out, "{}", head(tool))?;
            writeln!(out, "{} {}\n", code(subject), one_line(summary))?;
            fence(out, text)
        }
        EntryBody::Shell {
            command, detail, ..
        } => {
            writeln!(out, "{}", head(who))?;
            fence(out, &format!("$ {command}\n{}", tail(detail)))
        }
        EntryBody::Compaction { summary, .. } => {
            writeln!(out, "{}\n{summary}", head("What came before, summed up"))
        }
        EntryBody::Error { text, .. } => writeln!(out, "\n*Failed: {}*", one_line(text)),
        EntryBody::Notice { text } => writeln!(out, "\n*{}*", one_line(text)),
        EntryBody::Moved { dir } => writeln!(out, "\n*Moved to {}*", code(dir)),
        EntryBody::Reset => writeln!(out, "\n---\n*The context was reset.*"),
        EntryBody::Forked { conversation, .. } => {
            writeln!(out, "\n*Continued from conversation {conversation}*{aside}")
        }
        EntryBody::Excluded { .. } | EntryBody::Retried { .. } => Ok(()),
    }
}

fn block(out: &mut impl Write, block: &Block) -> io::Result<()> {
    match block {
        Block::Text { text } => writeln!(out, "{text}\n"),
        Block::Thinking { text } if text.is_empty() => Ok(()),
        Block::Thinking { text } => {
            for line in text.lines() {
                writeln!(out, "> {line}")?;
            }
            writeln!(out)
        }
        Block::ToolCall { tool, subject, .. } => {
            writeln!(out, "*calls {}* {}\n", one_line(tool), code(subject))
        }
    }
}

fn files(out: &mut impl Write, files: &[Attachment]) -> io::Result<()> {
    for file in files {
        writeln!(out, "\n- {} ({} bytes)", code(&file.name), file.bytes)?;
    }
    Ok(())
}

pub(super) fn tail(detail: &ToolDetail) -> &str {
    match detail {
        ToolDetail::Command { tail, .. } => tail,
        _ => "",
    }
}

/// Writes a fence that is longer than any in the text.
fn fence(out: &mut impl Write, text: &str) -> io::Result<()> {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    writeln!(out, "{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Returns text as a code span in one line.
fn code(text: &str) -> String {
    let text = one_line(text);
    if text.is_empty() {
        return text;
    }
    let ticks = "`".repeat(longest_run(&text) + 1);
    let pad = if text.contains('`') { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

fn one_line(text: &str) -> String {
    let blank = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(blank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_fence_or_a_span_ends_it() {
        let mut out = Vec::new();
        fence(&mut out, "a\n````\nb\n").expect("written");
        assert_eq!(out, b"`````\na\n````\nb\n`````\n");
        assert_eq!(code("a`b\nc"), "`` a`b c ``");
        assert_eq!(code(""), "");
    }
}
