//! One stream body decoded, to look at. It is what `portholed debug model-stream` prints, and makes no request.

use std::io::Read;

use serde_json::{Value, json};

use super::{
    AnswerBlock, Api, ModelError, Response,
    decoder::{Decoder, Step},
    sse,
};

/// Returns what a stream body of `api` (`chat`, `responses` or `messages`) decodes to: `text`, `reasoning`, `tools`
/// (`id`, `name`, `arguments`), `stop`, `usage` (`in`, `out`), `outcome` and `error`.
///
/// # Errors
/// Where there is no such API, the body cannot be read, or an event is too large.
pub fn debug_stream(api: &str, body: impl Read) -> Result<Value, String> {
    let api = Api::parse(api).ok_or("the API is one of `chat`, `responses`, `messages`")?;
    let decoder = decode(api, body)?;
    Ok(decoded(decoder.finish(&mut Vec::new())))
}

/// Returns the decoder after the terminal event or at the end of the body.
fn decode(api: Api, mut body: impl Read) -> Result<Decoder, String> {
    let mut decoder = Decoder::new(api, "debug");
    let mut parser = sse::Parser::default();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let mut events = Vec::new();
        let count = body
            .read(&mut buffer)
            .map_err(|e| format!("cannot read the body: {e}"))?;
        let fed = parser.feed(&buffer[..count], &mut events);
        let ended = events
            .iter()
            .any(|event| decoder.event(event, &mut Vec::new()) == Step::Ended);
        if ended || count == 0 {
            return Ok(decoder);
        }
        fed.map_err(|e| e.to_string())?;
    }
}

fn decoded(result: Result<Response, ModelError>) -> Value {
    let (response, error) = match result {
        Ok(response) => (response, Value::Null),
        Err(error) => {
            let told = json!({"kind": error.kind, "message": error.message, "retryable": error.retryable,
                "retry_after": error.retry_after.map(|wait| wait.as_secs_f64())});
            (*error.partial, told)
        }
    };
    let outcome = if error.is_null() { "complete" } else { "error" };
    let (mut text, mut reasoning, mut tools) = (String::new(), String::new(), Vec::new());
    for block in response.blocks {
        match block {
            AnswerBlock::Text { text: more } => text += &more,
            AnswerBlock::Thinking { text: more, .. } => reasoning += &more,
            AnswerBlock::ToolCall {
                provider_id,
                tool,
                arguments,
            } => tools.push(json!({"id": provider_id, "name": tool, "arguments": arguments})),
        }
    }
    let usage = response
        .usage
        .map(|u| json!({"in": u.input, "out": u.output}));
    json!({"text": text, "reasoning": reasoning, "tools": tools, "stop": response.stop, "usage": usage,
        "outcome": outcome, "error": error})
}
