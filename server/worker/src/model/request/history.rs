//! A conversation as every API wants it: no empty parts, neighbours of one role joined, one result right after each call.

use std::collections::{HashMap, HashSet};

use porthole_protocol::ModelRef;
use serde_json::Value;

use crate::model::{AnswerBlock, PromptItem};

/// What a call is answered with that has no result.
const NO_RESULT: &str = "interrupted: this call has no result";

/// A stretch of one side.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    /// What people said.
    User(Vec<&'a str>),
    /// What a model said, with the results of its calls.
    Assistant(Vec<Block<'a>>),
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
            PromptItem::User { text } => builder.user(text),
            PromptItem::Assistant { model: by, blocks } => {
                builder.assistant(blocks, by == model, &results(&items[index + 1..]));
            }
            // Taken with the call that it answers; one without a call would be refused by every API.
            PromptItem::ToolResult { .. } => {}
        }
    }
    builder.turns
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
    fn user(&mut self, text: &'a str) {
        if text.trim().is_empty() {
            return;
        }
        match self.turns.last_mut() {
            Some(Turn::User(texts)) => texts.push(text),
            _ => self.turns.push(Turn::User(vec![text])),
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
