//! Requests to OpenAI-compatible chat completions. Thoughts are never sent back.

use porthole_protocol::{ModelInfo, Thinking};
use serde_json::{Map, Value, json};

use super::history::{Block, Call, Part, Turn, turns};
use crate::model::Prompt;

/// Returns the body of a streamed request.
pub(super) fn body(prompt: &Prompt, model: &ModelInfo, max_output: Option<u64>) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model.model.model));
    body.insert("stream".to_owned(), json!(true));
    body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    body.insert("messages".to_owned(), messages(prompt, model));
    if !prompt.tools.is_empty() {
        body.insert("tools".to_owned(), tools(prompt));
    }
    if model.thinking.contains(&prompt.thinking) && prompt.thinking != Thinking::Off {
        body.insert("reasoning_effort".to_owned(), json!(prompt.thinking));
    }
    if let Some(most) = max_output {
        body.insert("max_tokens".to_owned(), json!(most));
    }
    Value::Object(body)
}

fn tools(prompt: &Prompt) -> Value {
    let tools = prompt.tools.iter().map(|tool| {
        json!({"type": "function", "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.schema,
        }})
    });
    tools.collect()
}

fn messages(prompt: &Prompt, model: &ModelInfo) -> Value {
    let mut messages = Vec::new();
    if !prompt.system.is_empty() {
        messages.push(json!({"role": "system", "content": prompt.system}));
    }
    for turn in turns(&prompt.items, &model.model) {
        match turn {
            Turn::User(parts) => {
                messages.push(json!({"role": "user", "content": content(&parts)}));
            }
            Turn::Assistant(blocks) => assistant(&blocks, &mut messages),
        }
    }
    Value::Array(messages)
}

/// Returns one text where there is nothing but text: not every server takes a list.
fn content(parts: &[Part<'_>]) -> Value {
    let texts: Option<Vec<_>> = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => Some(text.as_ref()),
            Part::Image { .. } => None,
        })
        .collect();
    match texts {
        Some(texts) => json!(texts.join("\n\n")),
        None => parts.iter().map(part).collect(),
    }
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Image { media_type, base64 } => {
            let url = format!("data:{media_type};base64,{base64}");
            json!({"type": "image_url", "image_url": {"url": url}})
        }
    }
}

fn assistant(blocks: &[Block<'_>], messages: &mut Vec<Value>) {
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for block in blocks {
        match block {
            Block::Text(text) => texts.push(*text),
            Block::Call(call) => calls.push(call),
            Block::Opaque(_) => {}
        }
    }
    let content = (!texts.is_empty()).then(|| texts.join("\n\n"));
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        message["tool_calls"] = calls.iter().map(|call| tool_call(call)).collect();
    }
    messages.push(message);
    let result =
        |call: &&Call<'_>| json!({"role": "tool", "tool_call_id": call.id, "content": call.result});
    messages.extend(calls.iter().map(result));
}

fn tool_call(call: &Call<'_>) -> Value {
    json!({"id": call.id, "type": "function", "function": {
        "name": call.tool, "arguments": arguments_text(call),
    }})
}

/// Returns the arguments as text; where they were no valid JSON, an empty object, as servers refuse what is none.
pub(super) fn arguments_text(call: &Call<'_>) -> String {
    call.arguments
        .map_or_else(|| "{}".to_owned(), Value::to_string)
}
