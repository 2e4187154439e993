//! Requests to the Anthropic Messages API, with what may be cached marked.

use porthole_protocol::{ModelInfo, PromptCache, Thinking};
use serde_json::{Map, Value, json};

use super::history::{Block, Part, Turn, has_call, turns};
use crate::model::Prompt;

/// Most tokens to answer with, where nothing is configured.
const MAX_OUTPUT: u64 = 32_000;
/// Fewest tokens to think with that the API takes.
const LEAST_BUDGET: u64 = 1_024;

/// Returns the body of a streamed request.
pub(super) fn body(prompt: &Prompt, model: &ModelInfo, max_output: Option<u64>) -> Value {
    let turns = turns(&prompt.items, &model.model);
    let most = max_output.unwrap_or_else(|| room(model.context));
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model.model.model));
    body.insert("stream".to_owned(), json!(true));
    body.insert("max_tokens".to_owned(), json!(most));
    if !prompt.system.is_empty() {
        let mut text = json!({"type": "text", "text": prompt.system});
        mark(&mut text, prompt.cache);
        body.insert("system".to_owned(), json!([text]));
    }
    if !prompt.tools.is_empty() {
        body.insert("tools".to_owned(), tools(prompt));
    }
    let thinks = model.thinking.contains(&prompt.thinking) && may_think(&turns);
    if thinks && prompt.thinking != Thinking::Off {
        body.extend(thinking(&model.model.model, prompt.thinking, most));
    }
    body.insert("messages".to_owned(), messages(turns, prompt.cache));
    Value::Object(body)
}

/// Returns how much to answer with at most: a quarter of a small context.
fn room(context: Option<u64>) -> u64 {
    context.map_or(MAX_OUTPUT, |context| MAX_OUTPUT.min(context / 4).max(1))
}

/// Marks what ends here to be kept for so long.
fn mark(end: &mut Value, cache: PromptCache) {
    match cache {
        PromptCache::Off => {}
        PromptCache::Short => end["cache_control"] = json!({"type": "ephemeral"}),
        PromptCache::Long => end["cache_control"] = json!({"type": "ephemeral", "ttl": "1h"}),
    }
}

fn tools(prompt: &Prompt) -> Value {
    let tool = |tool: &crate::model::ToolDefinition| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema});
    let mut tools: Vec<Value> = prompt.tools.iter().map(tool).collect();
    if let Some(last) = tools.last_mut() {
        mark(last, prompt.cache);
    }
    Value::Array(tools)
}

/// Returns whether thinking can be asked for: while calls are being answered, the API wants the thoughts that led to them.
fn may_think(turns: &[Turn<'_>]) -> bool {
    let last = turns.iter().rev().find_map(|turn| match turn {
        Turn::Assistant(blocks) => Some(blocks),
        Turn::User(_) => None,
    });
    last.is_none_or(|blocks| !has_call(blocks) || matches!(blocks.first(), Some(Block::Opaque(_))))
}

/// Returns the fields that ask for thinking at this level.
fn thinking(model: &str, level: Thinking, most: u64) -> Map<String, Value> {
    let mut fields = Map::new();
    if decides_itself(model) {
        let kind = if model.contains("-4-6") {
            json!({"type": "adaptive"})
        } else {
            json!({"type": "adaptive", "display": "summarized"})
        };
        fields.insert("thinking".to_owned(), kind);
        fields.insert("output_config".to_owned(), json!({"effort": level}));
    } else if let Some(budget) = budget(level, most) {
        let kind = json!({"type": "enabled", "budget_tokens": budget});
        fields.insert("thinking".to_owned(), kind);
    }
    fields
}

/// Returns the tokens to think with; `None` where there is no room to think.
fn budget(level: Thinking, most: u64) -> Option<u64> {
    let wanted = match level {
        Thinking::Off => return None,
        Thinking::Low => 4_096,
        Thinking::Medium => 10_240,
        Thinking::High => 24_576,
    };
    let budget = wanted.min(most / 4 * 3);
    (budget >= LEAST_BUDGET).then_some(budget)
}

/// Returns whether the model takes a level instead of a number of tokens: all of the family since 4.6.
fn decides_itself(model: &str) -> bool {
    let older = [
        "claude-2",
        "claude-3",
        "opus-4-0",
        "opus-4-1",
        "opus-4-2",
        "opus-4-5",
        "sonnet-4-0",
        "sonnet-4-2",
        "sonnet-4-5",
        "haiku-4-5",
    ];
    model.contains("claude") && !older.iter().any(|old| model.contains(old))
}

fn messages(turns: Vec<Turn<'_>>, cache: PromptCache) -> Value {
    let mut messages = Messages::default();
    for turn in turns {
        match turn {
            Turn::User(parts) => {
                parts
                    .iter()
                    .for_each(|part| messages.add("user", self::part(part)));
            }
            Turn::Assistant(blocks) => messages.assistant(&blocks),
        }
    }
    messages.finish(cache)
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Image { media_type, base64 } => {
            let source = json!({"type": "base64", "media_type": media_type, "data": base64});
            json!({"type": "image", "source": source})
        }
    }
}

#[derive(Default)]
struct Messages(Vec<(&'static str, Vec<Value>)>);

impl Messages {
    fn add(&mut self, role: &'static str, block: Value) {
        match self.0.last_mut() {
            Some((last, blocks)) if *last == role => blocks.push(block),
            _ => self.0.push((role, vec![block])),
        }
    }

    fn assistant(&mut self, blocks: &[Block<'_>]) {
        let mut results = Vec::new();
        for block in blocks {
            match block {
                Block::Opaque(thought) => self.add("assistant", (*thought).clone()),
                Block::Text(text) => self.add("assistant", json!({"type": "text", "text": text})),
                Block::Call(call) => {
                    let input = call.arguments.filter(|value| value.is_object());
                    let input = input.cloned().unwrap_or_else(|| json!({}));
                    let call_block = json!({"type": "tool_use", "id": call.id, "name": call.tool, "input": input});
                    self.add("assistant", call_block);
                    results.push(json!({
                        "type": "tool_result", "tool_use_id": call.id, "content": call.result,
                        "is_error": call.failed,
                    }));
                }
            }
        }
        for result in results {
            self.add("user", result);
        }
    }

    /// Returns the messages, the newest of the user's blocks marked as the end of what may be cached.
    fn finish(mut self, cache: PromptCache) -> Value {
        let last_user = self.0.iter_mut().rfind(|(role, _)| *role == "user");
        if let Some(block) = last_user.and_then(|(_, blocks)| blocks.last_mut()) {
            mark(block, cache);
        }
        let message = |(role, content)| json!({"role": role, "content": Value::Array(content)});
        self.0.into_iter().map(message).collect()
    }
}
