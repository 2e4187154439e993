//! Requests to the OpenAI Responses API. Nothing is stored there: reasoning goes back as encrypted items.

use porthole_protocol::{ModelInfo, Thinking};
use serde_json::{Map, Value, json};

use super::{
    chat::arguments_text,
    history::{Block, Part, Turn, turns},
};
use crate::model::Prompt;

/// Returns the body of a streamed request.
pub(super) fn body(prompt: &Prompt, model: &ModelInfo, max_output: Option<u64>) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model.model.model));
    body.insert("stream".to_owned(), json!(true));
    body.insert("store".to_owned(), json!(false));
    if !prompt.system.is_empty() {
        body.insert("instructions".to_owned(), json!(prompt.system));
    }
    body.insert("input".to_owned(), input(prompt, model));
    if !prompt.tools.is_empty() {
        body.insert("tools".to_owned(), tools(prompt));
    }
    // A model that does not reason refuses to be asked for its reasoning.
    if !model.thinking.is_empty() {
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    if model.thinking.contains(&prompt.thinking) && prompt.thinking != Thinking::Off {
        let reasoning = json!({"effort": prompt.thinking, "summary": "auto"});
        body.insert("reasoning".to_owned(), reasoning);
    }
    if let Some(most) = max_output {
        body.insert("max_output_tokens".to_owned(), json!(most));
    }
    Value::Object(body)
}

fn tools(prompt: &Prompt) -> Value {
    let tools = prompt.tools.iter().map(|tool| {
        json!({
            "type": "function", "name": tool.name, "description": tool.description,
            "parameters": tool.schema, "strict": false,
        })
    });
    tools.collect()
}

fn input(prompt: &Prompt, model: &ModelInfo) -> Value {
    let mut items = Vec::new();
    for turn in turns(&prompt.items, &model.model) {
        match turn {
            Turn::User(parts) => {
                let content: Value = parts.iter().map(part).collect();
                items.push(json!({"type": "message", "role": "user", "content": content}));
            }
            Turn::Assistant(blocks) => assistant(&blocks, &mut items),
        }
    }
    Value::Array(items)
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({"type": "input_text", "text": text}),
        Part::Image { media_type, base64 } => {
            let url = format!("data:{media_type};base64,{base64}");
            json!({"type": "input_image", "image_url": url})
        }
    }
}

fn assistant(blocks: &[Block<'_>], items: &mut Vec<Value>) {
    // A reasoning item without the item that it led to is refused.
    let last = blocks
        .iter()
        .rposition(|block| !matches!(block, Block::Opaque(_)));
    let mut results = Vec::new();
    for block in &blocks[..last.map_or(0, |at| at + 1)] {
        match block {
            Block::Opaque(item) => items.push((*item).clone()),
            Block::Text(text) => {
                let content = json!([{"type": "output_text", "text": text}]);
                items.push(json!({"type": "message", "role": "assistant", "content": content}));
            }
            Block::Call(call) => {
                items.push(json!({
                    "type": "function_call", "call_id": call.id, "name": call.tool,
                    "arguments": arguments_text(call),
                }));
                results.push(json!({
                    "type": "function_call_output", "call_id": call.id, "output": call.result,
                }));
            }
        }
    }
    items.extend(results);
}
