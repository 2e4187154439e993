//! Streams of OpenAI-compatible chat completions, decoded. The many dialects of compatible servers are understood here.

use std::collections::HashMap;

use porthole_protocol::Usage;
use serde::Deserialize;
use serde_json::Value;

use super::{
    ModelError, Piece, Response,
    answer::{Answer, Call, Part},
    decoder::{End, Step, malformed},
    failure::{Complaint, from_complaint},
    sse, think,
};

/// A stream that is being decoded.
#[derive(Debug)]
pub(crate) struct Decoder {
    answer: Answer,
    think: think::Splitter,
    calls: Calls,
    end: End,
    salt: String,
}

impl Decoder {
    /// Returns a decoder at the start of a stream.
    pub(crate) fn new(salt: &str) -> Self {
        Self {
            answer: Answer::default(),
            think: think::Splitter::default(),
            calls: Calls::default(),
            end: End::Open,
            salt: salt.to_owned(),
        }
    }

    /// Takes the next event.
    pub(crate) fn event(&mut self, event: &sse::Event, out: &mut Vec<Piece>) -> Step {
        let data = event.data.trim();
        if data == "[DONE]" {
            if matches!(self.end, End::Open) {
                self.end = End::Whole;
            }
            return Step::Ended;
        }
        if data.is_empty() {
            return Step::Ignored;
        }
        match serde_json::from_str::<Chunk>(data) {
            Ok(chunk) => self.chunk(chunk, out),
            // A named event that is no JSON is some server's own: a ping.
            Err(_) if !matches!(event.name.as_str(), "" | "message" | "error") => Step::Ignored,
            Err(_) => self.fail(malformed(data)),
        }
    }

    /// Returns whether the answer is known to be over, so that only usage may follow.
    pub(crate) fn may_end(&self) -> bool {
        matches!(self.end, End::Whole)
    }

    /// Returns the answer at the end of the stream.
    ///
    /// # Errors
    /// Where the provider told of a failure or nothing told of the answer's end.
    pub(crate) fn finish(mut self, out: &mut Vec<Piece>) -> Result<Response, ModelError> {
        self.flush_held(out);
        self.end.result(self.answer.into_response(&self.salt))
    }

    fn fail(&mut self, error: ModelError) -> Step {
        self.end = End::Failed(error);
        Step::Ended
    }

    fn chunk(&mut self, chunk: Chunk, out: &mut Vec<Piece>) -> Step {
        let mut step = Step::Ignored;
        if let Some(usage) = chunk.usage {
            self.answer.usage = Some(usage.into());
            step = Step::Took;
        }
        let choices = chunk.choices.unwrap_or_default();
        let first = choices.into_iter().find(|c| c.index.unwrap_or(0) == 0);
        let failed = first.as_ref().and_then(|choice| choice.error.clone());
        if let Some(choice) = first {
            self.choice(choice, out);
            step = Step::Took;
        }
        match chunk.error.or(failed) {
            Some(error) => self.fail(from_complaint(Complaint::from_json(&error), 200)),
            None => step,
        }
    }

    fn choice(&mut self, choice: Choice, out: &mut Vec<Piece>) {
        if let Some(delta) = choice.delta {
            self.delta(delta, out);
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.answer.stop = Some(reason);
            self.end = End::Whole;
        }
    }

    fn delta(&mut self, delta: Delta, out: &mut Vec<Piece>) {
        let thoughts =
            [delta.reasoning_content, delta.reasoning].map(|value| words(value.as_ref()));
        // Some servers say the same under both names.
        let thought = thoughts.into_iter().find(|text| !text.is_empty());
        self.answer.thought(&thought.unwrap_or_default(), out);
        for part in self.think.feed(&words(delta.content.as_ref())) {
            self.part(part, out);
        }
        let refusal = words(delta.refusal.as_ref());
        self.answer.text(&refusal, out);
        let calls = delta.tool_calls.unwrap_or_default();
        if !calls.is_empty() {
            self.flush_held(out);
        }
        for fragment in calls {
            self.calls.take(fragment, &mut self.answer);
        }
    }

    fn part(&mut self, part: think::Part, out: &mut Vec<Piece>) {
        match part {
            think::Part::Text(text) => self.answer.text(&text, out),
            think::Part::Thought(text) => self.answer.thought(&text, out),
        }
    }

    fn flush_held(&mut self, out: &mut Vec<Piece>) {
        if let Some(part) = self.think.finish() {
            self.part(part, out);
        }
    }
}

/// Which call a fragment belongs to.
#[derive(Debug, Default)]
struct Calls {
    /// Where the newest call of each index is.
    by_index: HashMap<u64, usize>,
    last: Option<usize>,
}

impl Calls {
    fn take(&mut self, fragment: Fragment, answer: &mut Answer) {
        let function = fragment.function.unwrap_or_default();
        let id = fragment.id.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let known = match fragment.index {
            Some(index) => self.by_index.get(&index).copied(),
            None => self.last,
        };
        let known = known.filter(|&at| {
            answer
                .call(at)
                .is_some_and(|call| !starts_another(call, &id, &name))
        });
        let at = known.unwrap_or_else(|| {
            answer.push(Part::Call(Call {
                id,
                ..Call::default()
            }))
        });
        self.last = Some(at);
        if let Some(index) = fragment.index {
            self.by_index.insert(index, at);
        }
        if let Some(call) = answer.call(at) {
            add(call, &name, function.arguments);
        }
    }
}

/// Returns whether a fragment with this id and name is the start of another call than `call`.
/// Servers leave out or repeat the index, the id and the name.
fn starts_another(call: &Call, id: &str, name: &str) -> bool {
    let other_id = !id.is_empty() && id != call.id;
    other_id || (!name.is_empty() && call.is_whole())
}

fn add(call: &mut Call, name: &str, arguments: Option<Value>) {
    if call.tool.is_empty() {
        name.clone_into(&mut call.tool);
    }
    match arguments {
        Some(Value::String(text)) => call.arguments.push_str(&text),
        Some(Value::Null) | None => {}
        Some(whole) => call.whole = Some(whole),
    }
}

/// Returns the text of a field that is a text or a list of parts with texts.
fn words(field: Option<&Value>) -> String {
    match field {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().map(|part| words(part.get("text"))).collect(),
        _ => String::new(),
    }
}

#[derive(Deserialize)]
struct Chunk {
    choices: Option<Vec<Choice>>,
    usage: Option<Counts>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    index: Option<u64>,
    delta: Option<Delta>,
    finish_reason: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<Value>,
    reasoning_content: Option<Value>,
    reasoning: Option<Value>,
    refusal: Option<Value>,
    tool_calls: Option<Vec<Fragment>>,
}

#[derive(Deserialize)]
struct Fragment {
    index: Option<u64>,
    id: Option<String>,
    function: Option<Function>,
}

#[derive(Default, Deserialize)]
struct Function {
    name: Option<String>,
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct Counts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl From<Counts> for Usage {
    fn from(counts: Counts) -> Self {
        let details = counts.prompt_tokens_details.as_ref();
        Self {
            input: counts.prompt_tokens,
            output: counts.completion_tokens,
            cache_read: details
                .and_then(|d| d.cached_tokens)
                .or(counts.prompt_cache_hit_tokens),
            cache_write: details.and_then(|d| d.cache_write_tokens),
            cost_nanos: None,
        }
    }
}
