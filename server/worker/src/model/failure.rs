//! Failures in a provider's words: which kind they are, whether another try can help, and when. It decides no retry.

use std::time::Duration;

use serde_json::Value;

use super::{ModelError, ModelErrorKind, Response};

/// What a provider said about a failure, as far as it said it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// Its code: a word, or a number that is an HTTP status.
    pub(crate) code: String,
    /// Its type.
    pub(crate) kind: String,
    /// Its sentence; may be empty.
    pub(crate) message: String,
}

impl Complaint {
    /// Returns what `error` says: an object with `message`, `type`, `code`, or only a text.
    pub(crate) fn from_json(error: &Value) -> Self {
        let word = |name: &str| match error.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let message = match error {
            Value::String(text) => text.clone(),
            _ => word("message"),
        };
        Self {
            code: word("code"),
            kind: word("type"),
            message,
        }
    }

    /// Returns whether it says that the prompt does not fit.
    fn is_overflow(&self) -> bool {
        let code = format!("{} {}", self.code, self.kind);
        let by_code = [
            "context_length_exceeded",
            "exceed_context_size",
            "request_too_large",
        ];
        by_code.iter().any(|word| code.contains(word)) || says_overflow(&self.message)
    }

    fn has(&self, word: &str) -> bool {
        self.code.contains(word) || self.kind.contains(word)
    }
}

/// Ways to say that a prompt does not fit. Each row: all of its words, in lower case.
const OVERFLOW: [&[&str]; 14] = [
    &["maximum context length"],
    &["exceeds the available context size"],
    &["exceed", "context window"],
    &["exceed", "context length"],
    &["exceed context limit"],
    &["exceed", "context size"],
    &["prompt is too long"],
    &["prompt too long"],
    &["input is too long"],
    &["too many input tokens"],
    &["input token count", "exceeds the maximum"],
    &["reduce the length of the messages"],
    &["larger than", "context"],
    &["maximum prompt length"],
];

fn says_overflow(message: &str) -> bool {
    let message = message.to_lowercase();
    let said = |words: &&[&str]| words.iter().all(|word| message.contains(word));
    OVERFLOW.iter().any(said)
}

/// Returns the failure that the provider told of, within a stream (`status` 200) or by an HTTP status.
pub(crate) fn from_complaint(complaint: Complaint, status: u16) -> ModelError {
    let status = complaint.code.parse().unwrap_or(status);
    let (kind, retryable) = judge(&complaint, status);
    let said_wait = wait_in_words(&complaint.message).filter(|_| retryable);
    ModelError {
        hint: hint(kind, &complaint).to_owned(),
        message: sentence(complaint, status),
        kind,
        retryable,
        retry_after: said_wait,
        partial: Box::default(),
    }
}

fn sentence(complaint: Complaint, status: u16) -> String {
    let words = [complaint.message, complaint.kind, complaint.code];
    let said = words.into_iter().find(|word| !word.is_empty());
    said.unwrap_or_else(|| format!("the provider answered with status {status}"))
}

fn judge(complaint: &Complaint, status: u16) -> (ModelErrorKind, bool) {
    use ModelErrorKind as Kind;
    let no_money = ["insufficient_quota", "billing", "credit"];
    let key = ["authentication", "invalid_api_key", "permission"];
    if no_money.iter().any(|word| complaint.has(word)) || status == 402 {
        (Kind::Provider, false)
    } else if complaint.has("rate_limit") {
        (Kind::RateLimit, true)
    } else if complaint.is_overflow() || status == 413 {
        (Kind::ContextOverflow, false)
    } else if status == 429 {
        (Kind::RateLimit, true)
    } else if status == 529 || complaint.has("overloaded") {
        (Kind::Overloaded, true)
    } else if matches!(status, 401 | 403) || key.iter().any(|word| complaint.has(word)) {
        (Kind::Key, false)
    } else {
        (Kind::Provider, is_passing(complaint, status))
    }
}

/// Returns whether the failure is one of the server's own, that may pass.
fn is_passing(complaint: &Complaint, status: u16) -> bool {
    let words = ["server_error", "api_error", "timeout", "unavailable"];
    matches!(status, 408 | 409 | 425 | 500..=599) || words.iter().any(|word| complaint.has(word))
}

fn hint(kind: ModelErrorKind, complaint: &Complaint) -> &'static str {
    match kind {
        ModelErrorKind::Key => "check the key; `portholed models` shows where it comes from",
        ModelErrorKind::ContextOverflow => "compact or reset the conversation",
        ModelErrorKind::Provider if complaint.has("insufficient_quota") => {
            "the account has no credit left; choose another model with `/models`"
        }
        _ => "",
    }
}

/// Returns the wait in "try again in 1.898s", "in 20ms", "in 1m2.5s".
pub(crate) fn wait_in_words(message: &str) -> Option<Duration> {
    let lower = message.to_lowercase();
    let (_, rest) = lower.split_once("try again in ")?;
    let mut seconds = 0.0;
    let mut rest = rest;
    let mut any = false;
    while let Some((number, unit, more)) = amount(rest) {
        seconds += number * unit;
        rest = more;
        any = true;
    }
    any.then(|| Duration::try_from_secs_f64(seconds).ok())?
}

/// Returns the number, its unit in seconds and what follows.
fn amount(text: &str) -> Option<(f64, f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number = text[..end].parse().ok()?;
    let rest = text[end..].trim_start();
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let (name, unit) = units.into_iter().find(|(name, _)| rest.starts_with(name))?;
    Some((number, unit, &rest[name.len()..]))
}

/// Returns the failure of a stream that ended before the answer did.
pub(crate) fn truncated() -> ModelError {
    plain(
        ModelErrorKind::StreamTruncated,
        "the stream ended before the answer did",
        true,
    )
}

/// Returns a failure with nothing but a sentence.
pub(crate) fn plain(
    kind: ModelErrorKind,
    message: impl Into<String>,
    retryable: bool,
) -> ModelError {
    ModelError {
        kind,
        message: message.into(),
        hint: String::new(),
        retryable,
        retry_after: None,
        partial: Box::default(),
    }
}

impl ModelError {
    /// Returns it with what had arrived.
    pub(crate) fn with_partial(mut self, partial: Response) -> Self {
        self.partial = Box::new(partial);
        self
    }

    /// Returns it with what to do next.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_is_known_by_its_words_and_only_by_them() {
        let yes = [
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
            "request (124071 tokens) exceeds the available context size (123904 tokens), try increasing it",
            "Your input exceeds the context window of this model.",
            "prompt is too long: 210001 tokens > 200000 maximum",
            "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ];
        let no = [
            "max_tokens is too large: 128000",
            "the context of this question is unclear",
            "tool context not found",
            "context deadline exceeded",
            "",
        ];
        assert!(yes.iter().all(|text| says_overflow(text)));
        assert!(no.iter().all(|text| !says_overflow(text)));
    }

    #[test]
    fn a_wait_in_words_is_understood() {
        let table = [
            ("Please try again in 1.898s.", Some(1_898)),
            ("try again in 20ms", Some(20)),
            ("Try again in 1m2.5s.", Some(62_500)),
            ("try again in 2 seconds", Some(2_000)),
            ("try again in a while", None),
            ("try again later", None),
            ("try again in 99999999999999999999999999999h.", None),
        ];
        for (text, expected) in table {
            assert_eq!(
                wait_in_words(text),
                expected.map(Duration::from_millis),
                "{text}"
            );
        }
    }

    #[test]
    fn codes_are_read_as_words_and_as_numbers() {
        use ModelErrorKind as Kind;
        let table = [
            (
                serde_json::json!({"message": "m", "code": 503}),
                Kind::Provider,
                true,
            ),
            (
                serde_json::json!({"message": "m", "code": "503"}),
                Kind::Provider,
                true,
            ),
            (
                serde_json::json!({"message": "m", "code": 429}),
                Kind::RateLimit,
                true,
            ),
            (
                serde_json::json!({"message": "m", "code": "rate_limit_exceeded"}),
                Kind::RateLimit,
                true,
            ),
            (
                serde_json::json!({"message": "m", "type": "insufficient_quota"}),
                Kind::Provider,
                false,
            ),
            (
                serde_json::json!({"message": "m", "type": "overloaded_error"}),
                Kind::Overloaded,
                true,
            ),
            (
                serde_json::json!({"message": "m", "type": "authentication_error"}),
                Kind::Key,
                false,
            ),
            (
                serde_json::json!({"message": "m", "code": "context_length_exceeded"}),
                Kind::ContextOverflow,
                false,
            ),
            (
                serde_json::json!({"message": "bad key"}),
                Kind::Provider,
                false,
            ),
            (serde_json::json!("only a text"), Kind::Provider, false),
        ];
        for (error, kind, retryable) in table {
            let failure = from_complaint(Complaint::from_json(&error), 200);
            assert_eq!(
                (failure.kind, failure.retryable),
                (kind, retryable),
                "{error}"
            );
        }
    }
}
