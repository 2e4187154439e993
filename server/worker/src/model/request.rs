//! What a request says, in the words of each API. It makes no request and knows no keys.

mod chat;
mod history;
mod messages;
mod responses;

use porthole_protocol::ModelInfo;
use serde_json::Value;

use super::{Api, Prompt};

/// Returns the body of a streamed request. `max_output` is the most tokens to answer with, where configured.
pub(crate) fn body(api: Api, prompt: &Prompt, model: &ModelInfo, max_output: Option<u64>) -> Value {
    match api {
        Api::Chat => chat::body(prompt, model, max_output),
        Api::Responses => responses::body(prompt, model, max_output),
        Api::Messages => messages::body(prompt, model, max_output),
    }
}

#[cfg(test)]
mod tests;
