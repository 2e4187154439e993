//! What a model request says: the instructions, and the conversation as the model is to see it.
//! It decides what is in and what is out; it reads no file and no clock.

use std::collections::HashMap;

use porthole_protocol::{
    Author, AuthorKind, Block, CallId, Entry, EntryBody, ModelRef, ToolDetail, ToolOutcome,
};

use crate::model::{AnswerBlock, PromptItem};

/// Told to the model where a call has no result.
pub(crate) const NO_RESULT: &str = "Interrupted: this call has no result.";
/// Bytes a token takes, roughly, times two.
const BYTES_PER_TWO_TOKENS: u64 = 7;

/// The part of a conversation that the model sees.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Context {
    items: Vec<Item>,
    results: HashMap<CallId, Outcome>,
    bytes: u64,
    /// What the provider counted for everything up to `counted_bytes`.
    counted_tokens: u64,
    counted_bytes: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum Item {
    User(String),
    Assistant {
        model: ModelRef,
        blocks: Vec<AnswerBlock>,
        /// Our ids, in the order of the calls among the blocks.
        calls: Vec<CallId>,
    },
}

#[derive(Clone, Debug, PartialEq)]
struct Outcome {
    text: String,
    failed: bool,
}

impl Context {
    /// Takes a committed entry in, with the provider's own form of an answer.
    pub(crate) fn push(&mut self, entry: &Entry, blocks: Option<&[AnswerBlock]>) {
        match &entry.body {
            EntryBody::Message { text, .. } => self.user(spoken(&entry.author, text)),
            EntryBody::Answer {
                model,
                blocks: shown,
                usage,
                ..
            } => {
                self.answer(model, shown, blocks.unwrap_or_default());
                if let Some(input) = usage.and_then(|u| u.input) {
                    self.counted_tokens = input + usage.and_then(|u| u.output).unwrap_or(0);
                    self.counted_bytes = self.bytes;
                }
            }
            EntryBody::ToolResult {
                call,
                text,
                outcome,
                ..
            } => self.result(call, text, *outcome != ToolOutcome::Ok),
            EntryBody::Shell {
                command,
                included: true,
                detail,
            } => self.user(spoken(&entry.author, &shell_text(command, detail))),
            EntryBody::Reset => *self = Self::default(),
            EntryBody::Compaction { summary, .. } => {
                *self = Self::default();
                self.user(format!("Summary of the conversation so far:\n\n{summary}"));
            }
            EntryBody::Shell {
                included: false, ..
            }
            | EntryBody::Notice { .. }
            | EntryBody::Error { .. }
            | EntryBody::Excluded { .. }
            | EntryBody::Retried { .. }
            | EntryBody::Forked { .. }
            | EntryBody::Moved { .. } => {}
        }
    }

    /// Returns the conversation, oldest first. Every call has exactly one result, right after its answer.
    pub(crate) fn items(&self) -> Vec<PromptItem> {
        let mut items = Vec::with_capacity(self.items.len());
        for item in &self.items {
            match item {
                Item::User(text) => items.push(PromptItem::User { text: text.clone() }),
                Item::Assistant {
                    model,
                    blocks,
                    calls,
                } => {
                    items.push(PromptItem::Assistant {
                        model: model.clone(),
                        blocks: blocks.clone(),
                    });
                    items.extend(self.results_of(blocks, calls));
                }
            }
        }
        items
    }

    /// Returns how many tokens the next request would hold, about; `extra`: bytes of instructions and tools.
    pub(crate) fn tokens(&self, extra: u64) -> u64 {
        let estimate = |bytes: u64| bytes * 2 / BYTES_PER_TWO_TOKENS;
        match self.counted_tokens {
            0 => estimate(self.bytes + extra),
            counted => counted + estimate(self.bytes - self.counted_bytes),
        }
    }

    fn user(&mut self, text: String) {
        self.bytes += text.len() as u64;
        self.items.push(Item::User(text));
    }

    fn answer(&mut self, model: &ModelRef, shown: &[Block], blocks: &[AnswerBlock]) {
        if blocks.is_empty() {
            return;
        }
        self.bytes += blocks.iter().map(block_bytes).sum::<u64>();
        let calls = shown.iter().filter_map(|block| match block {
            Block::ToolCall { call, .. } => Some(call.clone()),
            Block::Text { .. } | Block::Thinking { .. } => None,
        });
        self.items.push(Item::Assistant {
            model: model.clone(),
            blocks: blocks.to_vec(),
            calls: calls.collect(),
        });
    }

    fn result(&mut self, call: &CallId, text: &str, failed: bool) {
        self.bytes += text.len() as u64;
        let text = text.to_owned();
        // The first result of a call is the one that stands.
        self.results
            .entry(call.clone())
            .or_insert(Outcome { text, failed });
    }

    fn results_of(&self, blocks: &[AnswerBlock], calls: &[CallId]) -> Vec<PromptItem> {
        let named = blocks.iter().filter_map(|block| match block {
            AnswerBlock::ToolCall {
                provider_id, tool, ..
            } => Some((provider_id, tool)),
            AnswerBlock::Text { .. } | AnswerBlock::Thinking { .. } => None,
        });
        named
            .zip(calls)
            .map(|((provider_id, tool), call)| {
                let outcome = self.results.get(call);
                PromptItem::ToolResult {
                    call: call.clone(),
                    provider_id: provider_id.clone(),
                    tool: tool.clone(),
                    text: outcome.map_or(NO_RESULT, |o| &o.text).to_owned(),
                    failed: outcome.is_none_or(|o| o.failed),
                }
            })
            .collect()
    }
}

fn block_bytes(block: &AnswerBlock) -> u64 {
    let bytes = match block {
        AnswerBlock::Text { text } => text.len(),
        // What is opaque is not counted: providers drop or charge it in their own way.
        AnswerBlock::Thinking { text, .. } => text.len(),
        AnswerBlock::ToolCall {
            tool, arguments, ..
        } => tool.len() + arguments.as_ref().map_or(0, |a| a.to_string().len()),
    };
    bytes as u64
}

/// Returns a person's text as the model sees it: a guest's begins with who speaks.
fn spoken(author: &Author, text: &str) -> String {
    if author.kind != AuthorKind::Guest {
        return text.to_owned();
    }
    let name: String = author
        .name
        .chars()
        .filter(|c| !c.is_control() && !matches!(c, '"' | '<' | '>' | '&'))
        .take(60)
        .collect();
    format!("<speaker kind=\"guest\" name=\"{name}\"/>\n{text}")
}

fn shell_text(command: &str, detail: &ToolDetail) -> String {
    let ToolDetail::Command {
        exit,
        signal,
        tail,
        left_out,
        ..
    } = detail
    else {
        return format!("I ran `{command}`.");
    };
    let end = match (exit, signal) {
        (Some(exit), _) => format!("exit status {exit}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "it did not end by itself".to_owned(),
    };
    let cut = match left_out {
        0 => String::new(),
        bytes => format!(" (the first {bytes} bytes are left out)"),
    };
    format!(
        "I ran this command in the working directory:\n{command}\n\nIts output{cut}, {end}:\n{tail}"
    )
}

/// What the instructions tell of where the agent works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Surroundings {
    /// The working directory.
    pub(crate) cwd: String,
    /// Operating system and processor.
    pub(crate) platform: String,
    /// `YYYY-MM-DD`.
    pub(crate) date: String,
    /// What `AGENTS.md` in the working directory says.
    pub(crate) agents_md: Option<String>,
}

/// Returns the instructions that come before everything.
pub(crate) fn system(at: &Surroundings) -> String {
    let Surroundings {
        cwd,
        platform,
        date,
        agents_md,
    } = at;
    let mut text = format!(
        "You are a coding agent in Porthole. You work on a person's machine with tools, and they watch what you do.\n\
         \n\
         Working directory: {cwd}\n\
         Platform: {platform}\n\
         Date: {date}\n\
         \n\
         How to work:\n\
         - Look before you change: find with `grep`, `find` and `ls`, read with `read`. Calls that only read may be made together.\n\
         - Change files with `edit` (exact text that occurs once) or, for new files, `write`. Use `shell` for builds, tests and git.\n\
         - Do what was asked, no more. Keep to the style of the code around it. Check your work where you can.\n\
         - A call may be refused, stopped or edited by a person; its result says so. Respect that and do not try a way around.\n\
         - A call whose result says it was interrupted may have had its effect; look before you make it again.\n\
         - Answer in short, plain Markdown: what you found or did, and what is left. Do not repeat file contents.\n\
         - A message that begins with a `<speaker …/>` line is from that guest; all others are from the owner.\n"
    );
    if let Some(rules) = agents_md {
        text.push_str("\nRules of this project, from its AGENTS.md:\n\n");
        text.push_str(rules);
    }
    text
}

#[cfg(test)]
mod tests;
