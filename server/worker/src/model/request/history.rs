//! A conversation as every API wants it: no empty parts, neighbours of one role joined, one result right after each call.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use porthole_protocol::{Attachment, ModelRef};
use serde_json::Value;

use crate::model::{AnswerBlock, FileContent, PromptFile, PromptItem};

/// What a call is answered with that has no result.
const NO_RESULT: &str = "interrupted: this call has no result";

/// A stretch of one side.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    /// What people said.
    User(Vec<Part<'a>>),
    /// What a model said, with the results of its calls.
    Assistant(Vec<Block<'a>>),
}

/// A part of what people said.
#[derive(Debug, PartialEq)]
pub(crate) enum Part<'a> {
    Text(Cow<'a, str>),
    /// An image, its bytes in base64.
    Image {
        media_type: &'a str,
        base64: &'a str,
    },
}

/// A part of what a model said.
#[derive(Debug, PartialEq)]
pub(crate) enum Block<'a> {
    Text(&'a str),
    /// What only the model that is asked now can read.
    Opaque(&'a Value),
    Call(Call<'a>),
}

/// A call with its one result.
#[derive(Debug, PartialEq)]
pub(crate) struct Call<'a> {
    /// Unique in the conversation.
    pub(crate) id: String,
    pub(crate) tool: &'a str,
    /// `None`: they were no valid JSON.
    pub(crate) arguments: Option<&'a Value>,
    pub(crate) result: &'a str,
    pub(crate) failed: bool,
}

/// Returns the conversation for `model`.
pub(crate) fn turns<'a>(items: &'a [PromptItem], model: &ModelRef) -> Vec<Turn<'a>> {
    let mut builder = Builder::default();
    for (index, item) in items.iter().enumerate() {
        match item {
            PromptItem::User {
                speaker,
                text,
                files,
            } => {
                builder.user(spoken(speaker, text));
                files.iter().for_each(|file| builder.user(attached(file)));
            }
            PromptItem::Assistant { model: by, blocks } => {
                builder.assistant(blocks, by == model, &results(&items[index + 1..]));
            }
            // Taken with the call that it answers; one without a call would be refused by every API.
            PromptItem::ToolResult { .. } => {}
        }
    }
    builder.turns
}

/// Returns a text with the line that says who speaks before it.
fn spoken<'a>(speaker: &str, text: &'a str) -> Part<'a> {
    Part::Text(match speaker {
        "" => Cow::Borrowed(text),
        speaker => Cow::Owned(format!("{speaker}\n{text}")),
    })
}

fn attached(file: &PromptFile) -> Part<'_> {
    let Attachment {
        name,
        bytes,
        media_type,
        ..
    } = &file.attachment;
    match &file.content {
        FileContent::Image(base64) => Part::Image { media_type, base64 },
        FileContent::Text(text) => Part::Text(Cow::Owned(format!(
            "Attached file `{name}` ({bytes} bytes):\n{text}\n(end of `{name}`)"
        ))),
        FileContent::Path(path) => Part::Text(Cow::Owned(format!(
            "Attached file `{name}` ({media_type}, {bytes} bytes), to be found at `{path}`."
        ))),
    }
}

type Results<'a> = HashMap<&'a str, (&'a str, bool)>;

/// Returns the results before the next assistant item, by the provider's id.
fn results(items: &[PromptItem]) -> Results<'_> {
    let until_next = items
        .iter()
        .take_while(|item| !matches!(item, PromptItem::Assistant { .. }));
    let mut results = HashMap::new();
    for item in until_next {
        if let PromptItem::ToolResult {
            provider_id,
            text,
            failed,
            ..
        } = item
        {
            results
                .entry(provider_id.as_str())
                .or_insert((text.as_str(), *failed));
        }
    }
    results
}

#[derive(Default)]
struct Builder<'a> {
    turns: Vec<Turn<'a>>,
    used: HashSet<String>,
}

impl<'a> Builder<'a> {
    fn user(&mut self, part: Part<'a>) {
        if matches!(&part, Part::Text(text) if text.trim().is_empty()) {
            return;
        }
        match self.turns.last_mut() {
            Some(Turn::User(parts)) => parts.push(part),
            _ => self.turns.push(Turn::User(vec![part])),
        }
    }

    fn assistant(&mut self, blocks: &'a [AnswerBlock], own: bool, results: &Results<'a>) {
        let mut said: Vec<Block<'a>> = Vec::new();
        for block in blocks {
            match block {
                AnswerBlock::Text { text } if !text.trim().is_empty() => {
                    said.push(Block::Text(text));
                }
                AnswerBlock::Thinking {
                    opaque: Some(opaque),
                    ..
                } if own => said.push(Block::Opaque(opaque)),
                AnswerBlock::ToolCall {
                    provider_id,
                    tool,
                    arguments,
                } => said.push(Block::Call(Call {
                    id: self.id(provider_id, own),
                    tool,
                    arguments: arguments.as_ref(),
                    result: results.get(provider_id.as_str()).map_or(NO_RESULT, |r| r.0),
                    failed: results.get(provider_id.as_str()).is_none_or(|r| r.1),
                })),
                AnswerBlock::Text { .. } | AnswerBlock::Thinking { .. } => {}
            }
        }
        self.say(said);
    }

    /// Adds what a model said; to its last turn where no results come between.
    fn say(&mut self, said: Vec<Block<'a>>) {
        // Thoughts alone are refused: they belong to what they led to.
        if said.iter().all(|block| matches!(block, Block::Opaque(_))) {
            return;
        }
        match self.turns.last_mut() {
            Some(Turn::Assistant(before)) if !has_call(before) => before.extend(said),
            _ => self.turns.push(Turn::Assistant(said)),
        }
    }

    /// Returns the id to send: the provider's own, made fit for another provider, and used once.
    fn id(&mut self, provider_id: &str, own: bool) -> String {
        let base = if own {
            provider_id.to_owned()
        } else {
            plain(provider_id)
        };
        let mut id = base.clone();
        let mut number = 2;
        while !self.used.insert(id.clone()) {
            id = format!("{base}_{number}");
            number += 1;
        }
        id
    }
}

/// Returns whether one of the blocks is a call.
pub(crate) fn has_call(blocks: &[Block<'_>]) -> bool {
    blocks.iter().any(|block| matches!(block, Block::Call(_)))
}

/// Returns the id in the letters and the length that every provider takes.
fn plain(id: &str) -> String {
    let fit = |c: char| {
        if c.is_ascii_alphanumeric() || "_-".contains(c) {
            c
        } else {
            '_'
        }
    };
    let fitted: String = id.chars().take(56).map(fit).collect();
    if fitted.is_empty() {
        "call".to_owned()
    } else {
        fitted
    }
}
