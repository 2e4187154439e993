//! Streams of the OpenAI Responses API, decoded. Events of unknown kinds are skipped.

use std::collections::HashMap;

use porthole_protocol::Usage;
use serde::Deserialize;
use serde_json::Value;

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
    /// Where the part of each item is, by its id and by its place in the output: servers leave out or mix up either.
    items: HashMap<String, usize>,
    /// Which part of its summary came last, by where the thought is.
    summaries: HashMap<usize, u64>,
    end: End,
    salt: String,
}

impl Decoder {
    /// Returns a decoder at the start of a stream.
    pub(crate) fn new(salt: &str) -> Self {
        Self {
            answer: Answer::default(),
            items: HashMap::new(),
            summaries: HashMap::new(),
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

    /// Returns the answer at the end of the stream.
    ///
    /// # Errors
    /// Where the provider told of a failure or nothing told of the answer's end.
    pub(crate) fn finish(self) -> Result<Response, ModelError> {
        self.end.result(self.answer.into_response(&self.salt))
    }

    fn fail(&mut self, error: ModelError) -> Step {
        self.end = End::Failed(error);
        Step::Ended
    }

    fn incoming(&mut self, incoming: Incoming, name: &str, out: &mut Vec<Piece>) -> Step {
        let kind = incoming.kind.as_deref().unwrap_or(name).to_owned();
        match kind.as_str() {
            "response.output_item.added" => self.item_added(incoming, out),
            "response.output_item.done" => self.item_done(incoming, out),
            "response.output_text.delta" | "response.refusal.delta" => self.text(incoming, out),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.thought(incoming, out)
            }
            "response.function_call_arguments.delta" => self.arguments(incoming, out),
            "response.function_call_arguments.done" => self.arguments_done(&incoming),
            "response.completed" | "response.incomplete" => self.ended(incoming, out),
            "response.failed" => self.failed(incoming),
            "error" => self.error(incoming),
            _ => Step::Ignored,
        }
    }

    /// Returns where the part of the item is; one that was not announced is started as `part`.
    fn place(&mut self, incoming: &Incoming, part: Part) -> usize {
        let known = incoming
            .keys()
            .find_map(|key| self.items.get(&key).copied());
        known.unwrap_or_else(|| self.start(incoming, part))
    }

    fn start(&mut self, incoming: &Incoming, part: Part) -> usize {
        let at = self.answer.push(part);
        self.items.extend(incoming.keys().map(|key| (key, at)));
        at
    }

    fn item_added(&mut self, incoming: Incoming, out: &mut Vec<Piece>) -> Step {
        let Some(item) = &incoming.item else {
            return Step::Ignored;
        };
        let Some(part) = item.start() else {
            return Step::Ignored;
        };
        let at = self.start(&incoming, part);
        let arguments = item.arguments.as_deref();
        self.answer.append(at, arguments.unwrap_or_default(), out);
        Step::Took
    }

    fn text(&mut self, incoming: Incoming, out: &mut Vec<Piece>) -> Step {
        let at = self.place(&incoming, Part::Text(String::new()));
        self.answer
            .append(at, &incoming.delta.unwrap_or_default(), out);
        Step::Took
    }

    fn thought(&mut self, incoming: Incoming, out: &mut Vec<Piece>) -> Step {
        let at = self.place(&incoming, Part::thought());
        let part = incoming.summary_index.unwrap_or(0);
        let before = self.summaries.insert(at, part).unwrap_or(0);
        if part > before {
            self.answer.append(at, "\n\n", out);
        }
        self.answer
            .append(at, &incoming.delta.unwrap_or_default(), out);
        Step::Took
    }

    fn arguments(&mut self, incoming: Incoming, out: &mut Vec<Piece>) -> Step {
        let at = self.place(&incoming, Part::Call(Call::default()));
        self.answer
            .append(at, &incoming.delta.unwrap_or_default(), out);
        Step::Took
    }

    fn arguments_done(&mut self, incoming: &Incoming) -> Step {
        let at = self.place(incoming, Part::Call(Call::default()));
        if let (Some(call), Some(text)) = (self.answer.call(at), &incoming.arguments) {
            call.arguments.clone_from(text);
        }
        Step::Took
    }

    /// An item repeats at its end what its deltas said; only what they did not say is taken from it.
    fn item_done(&mut self, mut incoming: Incoming, out: &mut Vec<Piece>) -> Step {
        let Some(part) = incoming.item.as_ref().and_then(OutputItem::start) else {
            return Step::Ignored;
        };
        let at = self.place(&incoming, part);
        let Some(item) = incoming.item.take() else {
            return Step::Ignored;
        };
        let said = match self.answer.parts.get_mut(at) {
            Some(Part::Call(call)) => {
                item.complete_call(call);
                return Step::Took;
            }
            Some(Part::Thought { text, opaque }) => {
                *opaque = item.opaque();
                if text.is_empty() {
                    item.summary()
                } else {
                    String::new()
                }
            }
            Some(Part::Text(text)) if text.is_empty() => item.text(),
            _ => String::new(),
        };
        self.answer.append(at, &said, out);
        Step::Took
    }

    fn ended(&mut self, incoming: Incoming, out: &mut Vec<Piece>) -> Step {
        let response = incoming.response.unwrap_or_default();
        if self.items.is_empty() {
            for (index, item) in (0..).zip(response.output.unwrap_or_default()) {
                self.item_done(Incoming::of_item(index, item), out);
            }
        }
        let reason = response.incomplete_details.and_then(|d| d.reason);
        let whole = || "completed".to_owned();
        self.answer.stop = Some(reason.or(response.status).unwrap_or_else(whole));
        self.answer.usage = response.usage.map(Usage::from);
        self.end = End::Whole;
        Step::Ended
    }

    fn failed(&mut self, incoming: Incoming) -> Step {
        let response = incoming.response.unwrap_or_default();
        self.answer.usage = response.usage.map(Usage::from);
        let error = response.error.unwrap_or_default();
        self.fail(from_complaint(Complaint::from_json(&error), 200))
    }

    /// The error event has its words in itself, or in an object within.
    fn error(&mut self, incoming: Incoming) -> Step {
        let complaint = match incoming.error {
            Some(error) if !error.is_null() => Complaint::from_json(&error),
            _ => Complaint {
                code: incoming.code.map(|code| plain(&code)).unwrap_or_default(),
                kind: String::new(),
                message: incoming.message.unwrap_or_default(),
            },
        };
        self.fail(from_complaint(complaint, 200))
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns whether an event of this name is one that is read.
fn is_known(name: &str) -> bool {
    let known = [
        "response.output_",
        "response.function_call_",
        "response.reasoning_",
    ];
    let ends = [
        "response.completed",
        "response.incomplete",
        "response.failed",
        "error",
    ];
    known.iter().any(|start| name.starts_with(start)) || ends.contains(&name)
}

#[derive(Default, Deserialize)]
struct Incoming {
    #[serde(rename = "type")]
    kind: Option<String>,
    item_id: Option<String>,
    output_index: Option<u64>,
    summary_index: Option<u64>,
    delta: Option<String>,
    arguments: Option<String>,
    item: Option<OutputItem>,
    response: Option<Whole>,
    error: Option<Value>,
    code: Option<Value>,
    message: Option<String>,
}

impl Incoming {
    fn of_item(index: u64, item: OutputItem) -> Self {
        Self {
            output_index: Some(index),
            item: Some(item),
            ..Self::default()
        }
    }

    /// Returns what names the item: its id, and its place in the output.
    fn keys(&self) -> impl Iterator<Item = String> {
        let of_item = || self.item.as_ref()?.text_of("id");
        let id = self.item_id.clone().or_else(of_item);
        let id = id.filter(|id| !id.is_empty()).map(|id| format!("id {id}"));
        let place = self.output_index.map(|index| format!("place {index}"));
        id.into_iter().chain(place)
    }
}

/// An output item; kept whole, as a reasoning item goes back unchanged.
#[derive(Deserialize)]
#[serde(from = "Value")]
struct OutputItem {
    arguments: Option<String>,
    raw: Value,
}

impl From<Value> for OutputItem {
    fn from(raw: Value) -> Self {
        let arguments = raw.get("arguments").and_then(Value::as_str);
        Self {
            arguments: arguments.map(str::to_owned),
            raw,
        }
    }
}

impl OutputItem {
    fn text_of(&self, name: &str) -> Option<String> {
        Some(self.raw.get(name)?.as_str()?.to_owned())
    }

    /// Returns the part that it starts; `None` for kinds that are not known.
    fn start(&self) -> Option<Part> {
        match self.raw.get("type")?.as_str()? {
            "message" => Some(Part::Text(String::new())),
            "reasoning" => Some(Part::thought()),
            "function_call" => Some(Part::Call(Call {
                id: self.text_of("call_id").unwrap_or_default(),
                tool: self.text_of("name").unwrap_or_default(),
                ..Call::default()
            })),
            _ => None,
        }
    }

    fn complete_call(&self, call: &mut Call) {
        if let Some(id) = self.text_of("call_id") {
            call.id = id;
        }
        if let Some(tool) = self.text_of("name") {
            call.tool = tool;
        }
        if let Some(text) = self.arguments.as_ref().filter(|text| !text.is_empty()) {
            call.arguments.clone_from(text);
        }
    }

    /// Returns the item itself where the provider can read it again without having stored it.
    fn opaque(&self) -> Option<Value> {
        let sealed = self.text_of("encrypted_content")?;
        (!sealed.is_empty()).then(|| self.raw.clone())
    }

    fn summary(&self) -> String {
        join(self.raw.get("summary"), "\n\n")
    }

    fn text(&self) -> String {
        join(self.raw.get("content"), "")
    }
}

/// Returns the texts of a list of parts.
fn join(parts: Option<&Value>, between: &str) -> String {
    let parts = parts.and_then(Value::as_array).into_iter().flatten();
    let text = |part: &Value| {
        let said = part.get("text").or_else(|| part.get("refusal"))?;
        Some(said.as_str()?.to_owned())
    };
    parts.filter_map(text).collect::<Vec<_>>().join(between)
}

#[derive(Default, Deserialize)]
struct Whole {
    status: Option<String>,
    output: Option<Vec<OutputItem>>,
    usage: Option<Counts>,
    error: Option<Value>,
    incomplete_details: Option<Incomplete>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

impl From<Counts> for Usage {
    fn from(counts: Counts) -> Self {
        Self {
            input: counts.input_tokens,
            output: counts.output_tokens,
            cache_read: counts.input_tokens_details.and_then(|d| d.cached_tokens),
            cache_write: None,
            cost_nanos: None,
        }
    }
}
