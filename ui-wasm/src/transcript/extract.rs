//! What people take out of a conversation: the last answer, and the code in it. Text only, nothing drawn.

use porthole_bridge::Source;
use porthole_protocol::{Attachment, Block, ConversationState, EntryBody, RunOutput, ToolDetail};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// Returns the Markdown of the newest answer, the one that is coming in first.
pub fn last_answer(state: &ConversationState) -> Option<String> {
    let open = state.turn.as_ref().and_then(|turn| turn.answer.as_ref());
    if let Some(answer) = open.filter(|answer| !answer.text.trim().is_empty()) {
        return Some(answer.text.clone());
    }
    state
        .entries
        .iter()
        .rev()
        .find_map(|entry| match &entry.body {
            EntryBody::Answer { blocks, .. } => answer_text(blocks),
            _ => None,
        })
}

/// Returns the Markdown of an answer that has any.
pub(crate) fn answer_text(blocks: &[Block]) -> Option<String> {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Returns the code blocks of the newest answer, first one first, without their fences.
pub fn code_blocks(state: &ConversationState) -> Vec<String> {
    let Some(answer) = last_answer(state) else {
        return Vec::new();
    };
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for event in Parser::new(&answer) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented)) => {
                open = Some(String::new());
            }
            Event::Text(text) => {
                if let Some(code) = &mut open {
                    code.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
            _ => {}
        }
    }
    blocks
}

/// Most things that are offered to be saved.
const SAVABLE: usize = 60;

/// Returns what of a conversation can be saved elsewhere, newest first: what it is, its name, and words about it.
pub(crate) fn savable(state: &ConversationState) -> Vec<(Source, String, String)> {
    let mut found = Vec::new();
    for entry in state.entries.iter().rev() {
        match &entry.body {
            EntryBody::Message { attachments, .. } => {
                found.extend(attachments.iter().map(attached))
            }
            EntryBody::ToolResult { detail, .. } | EntryBody::Shell { detail, .. } => {
                found.extend(command_output(detail));
            }
            _ => {}
        }
        if found.len() >= SAVABLE {
            break;
        }
    }
    found.truncate(SAVABLE);
    found
}

fn attached(file: &Attachment) -> (Source, String, String) {
    let source = Source::Attachment(file.id.as_str().to_owned());
    (source, file.name.clone(), super::size(file.bytes))
}

fn command_output(detail: &ToolDetail) -> Option<(Source, String, String)> {
    let ToolDetail::Command {
        command,
        output: Some(RunOutput { run, bytes, .. }),
        ..
    } = detail
    else {
        return None;
    };
    let words: String = command
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .take(30)
        .collect();
    let name = format!("{}.txt", words.trim_matches('-'));
    let note = format!("output, {}", super::size(*bytes));
    Some((Source::Output(run.as_str().to_owned()), name, note))
}
