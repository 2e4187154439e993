//! An answer while it is put together: its parts in order, text as it came, arguments as they came. It knows no API.

use std::collections::HashSet;

use porthole_protocol::Usage;
use serde_json::{Map, Value};

use super::{AnswerBlock, Piece, Response};

/// Most parts that an answer may have; more are dropped.
const MOST_PARTS: usize = 4096;

/// An answer that is not finished.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) parts: Vec<Part>,
    pub(crate) stop: Option<String>,
    pub(crate) usage: Option<Usage>,
}

/// A part of it.
#[derive(Debug)]
pub(crate) enum Part {
    Text(String),
    Thought { text: String, opaque: Option<Value> },
    Call(Call),
}

/// A tool call as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Call {
    /// The provider's id; may be empty.
    pub(crate) id: String,
    pub(crate) tool: String,
    /// The arguments as text; parsed once, at the end.
    pub(crate) arguments: String,
    /// Arguments that came as JSON, not as text.
    pub(crate) whole: Option<Value>,
}

impl Answer {
    /// Adds a part and returns where it is; past [`MOST_PARTS`] it is nowhere, and what is appended there is dropped.
    pub(crate) fn push(&mut self, part: Part) -> usize {
        if self.parts.len() == MOST_PARTS {
            return usize::MAX;
        }
        self.parts.push(part);
        self.parts.len() - 1
    }

    /// Appends text to the last part, or starts one.
    pub(crate) fn text(&mut self, text: &str, out: &mut Vec<Piece>) {
        if !text.is_empty() {
            let at = match self.parts.last() {
                Some(Part::Text(_)) => self.parts.len() - 1,
                _ => self.push(Part::Text(String::new())),
            };
            self.append(at, text, out);
        }
    }

    /// Appends a thought to the last part, or starts one.
    pub(crate) fn thought(&mut self, text: &str, out: &mut Vec<Piece>) {
        if !text.is_empty() {
            let at = match self.parts.last() {
                Some(Part::Thought { .. }) => self.parts.len() - 1,
                _ => self.push(Part::thought()),
            };
            self.append(at, text, out);
        }
    }

    /// Appends to the part at `at` what belongs to its kind.
    pub(crate) fn append(&mut self, at: usize, more: &str, out: &mut Vec<Piece>) {
        if more.is_empty() {
            return;
        }
        match self.parts.get_mut(at) {
            Some(Part::Text(text)) => {
                text.push_str(more);
                out.push(Piece::Text(more.to_owned()));
            }
            Some(Part::Thought { text, .. }) => {
                text.push_str(more);
                out.push(Piece::Thinking(more.to_owned()));
            }
            Some(Part::Call(call)) => call.arguments.push_str(more),
            None => {}
        }
    }

    /// Returns the call at `at`.
    pub(crate) fn call(&mut self, at: usize) -> Option<&mut Call> {
        match self.parts.get_mut(at) {
            Some(Part::Call(call)) => Some(call),
            _ => None,
        }
    }

    /// Returns the response. Calls without an id, or with one that was used, get one made from `salt`.
    pub(crate) fn into_response(self, salt: &str) -> Response {
        let mut ids = Ids::new(salt);
        let blocks = self.parts.into_iter();
        Response {
            blocks: blocks
                .filter_map(|part| part.into_block(&mut ids))
                .collect(),
            stop: self.stop,
            usage: self.usage,
        }
    }
}

impl Part {
    /// Returns an empty thought.
    pub(crate) fn thought() -> Self {
        Self::Thought {
            text: String::new(),
            opaque: None,
        }
    }

    fn into_block(self, ids: &mut Ids) -> Option<AnswerBlock> {
        match self {
            Self::Text(text) => (!text.is_empty()).then_some(AnswerBlock::Text { text }),
            Self::Thought { text, opaque } => (!text.is_empty() || opaque.is_some())
                .then_some(AnswerBlock::Thinking { text, opaque }),
            Self::Call(call) => Some(AnswerBlock::ToolCall {
                provider_id: ids.unique(&call.id),
                arguments: call.arguments(),
                tool: call.tool,
            }),
        }
    }
}

impl Call {
    /// Returns the arguments; `None` where they are no valid JSON. Nothing is repaired.
    pub(crate) fn arguments(&self) -> Option<Value> {
        if self.arguments.trim().is_empty() {
            let whole = self.whole.clone();
            return Some(whole.unwrap_or_else(|| Value::Object(Map::new())));
        }
        serde_json::from_str(&self.arguments).ok()
    }

    /// Returns whether its arguments are a whole object, so that more can only belong to another call.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole.is_some()
            || (self.arguments.trim_end().ends_with('}')
                && serde_json::from_str::<Map<String, Value>>(&self.arguments).is_ok())
    }
}

/// The call ids of one response.
struct Ids<'a> {
    salt: &'a str,
    used: HashSet<String>,
}

impl<'a> Ids<'a> {
    fn new(salt: &'a str) -> Self {
        let used = HashSet::new();
        Self { salt, used }
    }

    fn unique(&mut self, id: &str) -> String {
        let mut id = id.to_owned();
        let mut number = self.used.len();
        while id.is_empty() || !self.used.insert(id.clone()) {
            id = format!("call_{}_{number}", self.salt);
            number += 1;
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_with_equal_or_no_ids_get_distinct_ones() {
        let call = |id: &str| {
            Part::Call(Call {
                id: id.to_owned(),
                ..Call::default()
            })
        };
        let answer = Answer {
            parts: vec![call("a"), call("a"), call(""), call("call_s_2"), call("")],
            ..Answer::default()
        };
        let mut seen = HashSet::new();
        for block in answer.into_response("s").blocks {
            let AnswerBlock::ToolCall { provider_id, .. } = block else {
                panic!("only calls went in");
            };
            assert!(!provider_id.is_empty() && seen.insert(provider_id));
        }
        assert!(seen.contains("a") && seen.len() == 5);
    }

    #[test]
    fn arguments_are_parsed_once_and_never_repaired() {
        let table = [
            ("", Some(serde_json::json!({}))),
            ("  ", Some(serde_json::json!({}))),
            ("{\"a\":1}", Some(serde_json::json!({"a": 1}))),
            ("{\"a\":1", None),
            ("{}{}", None),
            ("{'a':1}", None),
        ];
        for (text, expected) in table {
            let call = Call {
                arguments: text.to_owned(),
                ..Call::default()
            };
            assert_eq!(call.arguments(), expected, "{text}");
        }
    }
}
