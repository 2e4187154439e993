//! Streams of the Anthropic Messages API, decoded. Events and blocks of unknown kinds are skipped.

use std::collections::HashMap;

use porthole_protocol::Usage;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    ModelError, Piece, Response,
    answer::{Answer, Call, Part},
    decoder::{End, Step, malformed},
    failure::{Complaint, from_complaint},
    sse,
};

/// A stream that is being decoded.
#[derive(Debug)]
pub(crate) struct Decoder {
    answer: Answer,
    /// Where the part of each block is, by the block's index.
    blocks: HashMap<u64, usize>,
    /// The signature of each thinking block as far as it came.
    signatures: HashMap<usize, String>,
    counts: Counts,
    end: End,
    salt: String,
}

impl Decoder {
    /// Returns a decoder at the start of a stream.
    pub(crate) fn new(salt: &str) -> Self {
        Self {
            answer: Answer::default(),
            blocks: HashMap::new(),
            signatures: HashMap::new(),
            counts: Counts::default(),
            end: End::Open,
            salt: salt.to_owned(),
        }
    }

    /// Takes the next event.
    pub(crate) fn event(&mut self, event: &sse::Event, out: &mut Vec<Piece>) -> Step {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Step::Ignored;
        }
        match serde_json::from_str::<Incoming>(data) {
            Ok(incoming) => self.incoming(incoming, &event.name, out),
            Err(_) if event.name.is_empty() || is_known(&event.name) => self.fail(malformed(data)),
            Err(_) => Step::Ignored,
        }
    }

    /// Returns whether the answer is known to be over.
    pub(crate) fn may_end(&self) -> bool {
        matches!(self.end, End::Whole)
    }

    /// Returns the answer at the end of the stream.
    ///
    /// # Errors
    /// Where the provider told of a failure or nothing told of the answer's end.
    pub(crate) fn finish(mut self) -> Result<Response, ModelError> {
        for (at, signature) in std::mem::take(&mut self.signatures) {
            if let Some(Part::Thought { text, opaque }) = self.answer.parts.get_mut(at) {
                let block = json!({"type": "thinking", "thinking": text, "signature": signature});
                *opaque = (!signature.is_empty()).then_some(block);
            }
        }
        self.answer.usage = self.counts.usage();
        self.end.result(self.answer.into_response(&self.salt))
    }

    fn fail(&mut self, error: ModelError) -> Step {
        self.end = End::Failed(error);
        Step::Ended
    }

    fn incoming(&mut self, incoming: Incoming, name: &str, out: &mut Vec<Piece>) -> Step {
        let kind = incoming.kind.as_deref().unwrap_or(name).to_owned();
        match kind.as_str() {
            "message_start" => self.started(incoming),
            "content_block_start" => self.block_started(incoming, out),
            "content_block_delta" => self.block_grew(incoming, out),
            "message_delta" => self.message_changed(incoming),
            "message_stop" => self.stopped(),
            "error" => {
                let error = incoming.error.unwrap_or_default();
                self.fail(from_complaint(Complaint::from_json(&error), 200))
            }
            _ => Step::Ignored,
        }
    }

    fn started(&mut self, incoming: Incoming) -> Step {
        let usage = incoming.message.and_then(|message| message.usage);
        self.counts.update(usage);
        Step::Took
    }

    fn stopped(&mut self) -> Step {
        self.end = End::Whole;
        Step::Ended
    }

    fn message_changed(&mut self, incoming: Incoming) -> Step {
        self.counts.update(incoming.usage);
        if let Some(reason) = incoming.delta.and_then(|delta| delta.stop_reason) {
            self.answer.stop = Some(reason);
            self.end = End::Whole;
        }
        Step::Took
    }

    fn block_started(&mut self, incoming: Incoming, out: &mut Vec<Piece>) -> Step {
        let Some(block) = incoming.content_block else {
            return Step::Ignored;
        };
        let Some(part) = block.part() else {
            return Step::Ignored;
        };
        let at = self.answer.push(part);
        self.blocks.insert(incoming.index.unwrap_or(0), at);
        if let Some(signature) = block.signature {
            self.signatures.insert(at, signature);
        }
        let said = block.text.or(block.thinking).unwrap_or_default();
        self.answer.append(at, &said, out);
        Step::Took
    }

    fn block_grew(&mut self, incoming: Incoming, out: &mut Vec<Piece>) -> Step {
        let at = self.blocks.get(&incoming.index.unwrap_or(0)).copied();
        let (Some(at), Some(delta)) = (at, incoming.delta) else {
            return Step::Ignored;
        };
        let more = match delta.kind.as_deref() {
            Some("text_delta") => delta.text,
            Some("thinking_delta") => delta.thinking,
            Some("input_json_delta") => delta.partial_json,
            Some("signature_delta") => {
                let signature = self.signatures.entry(at).or_default();
                signature.push_str(&delta.signature.unwrap_or_default());
                None
            }
            _ => return Step::Ignored,
        };
        self.answer.append(at, &more.unwrap_or_default(), out);
        Step::Took
    }
}

/// Returns whether an event of this name is one that is read.
fn is_known(name: &str) -> bool {
    name.starts_with("message_") || name.starts_with("content_block_") || name == "error"
}

#[derive(Deserialize)]
struct Incoming {
    #[serde(rename = "type")]
    kind: Option<String>,
    index: Option<u64>,
    message: Option<Message>,
    content_block: Option<Block>,
    delta: Option<Delta>,
    usage: Option<Counts>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Message {
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    data: Option<String>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Value>,
}

impl Block {
    /// Returns the part that it starts; `None` for kinds that are not known.
    fn part(&self) -> Option<Part> {
        match self.kind.as_str() {
            "text" => Some(Part::Text(String::new())),
            "thinking" => Some(Part::thought()),
            "redacted_thinking" => Some(Part::Thought {
                text: String::new(),
                opaque: Some(json!({"type": "redacted_thinking", "data": self.data})),
            }),
            "tool_use" => Some(Part::Call(Call {
                id: self.id.clone().unwrap_or_default(),
                tool: self.name.clone().unwrap_or_default(),
                arguments: String::new(),
                // The input of the start event counts only where no fragment follows.
                whole: self.input.clone().filter(Value::is_object),
            })),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct Delta {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
}

/// Token counts; each event tells the total so far, not what was added.
#[derive(Debug, Default, Deserialize)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl Counts {
    fn update(&mut self, newer: Option<Self>) {
        let Some(newer) = newer else { return };
        self.input_tokens = newer.input_tokens.or(self.input_tokens);
        self.output_tokens = newer.output_tokens.or(self.output_tokens);
        self.cache_read_input_tokens = newer
            .cache_read_input_tokens
            .or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens = newer
            .cache_creation_input_tokens
            .or(self.cache_creation_input_tokens);
    }

    /// Returns the usage, input counted with its cached parts; `None` where nothing was told.
    fn usage(&self) -> Option<Usage> {
        let read = self.cache_read_input_tokens;
        let write = self.cache_creation_input_tokens;
        let cached = read.unwrap_or(0).saturating_add(write.unwrap_or(0));
        let told = self.input_tokens.is_some() || self.output_tokens.is_some();
        told.then(|| Usage {
            input: self.input_tokens.map(|input| input.saturating_add(cached)),
            output: self.output_tokens,
            cache_read: read,
            cache_write: write,
            cost_nanos: None,
        })
    }
}
