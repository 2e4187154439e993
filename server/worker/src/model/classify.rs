//! Answers that are no stream, by status, headers and body: which failure they are. It reads no socket and no clock.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

use super::{
    ModelError, ModelErrorKind,
    failure::{self, Complaint, from_complaint},
};

/// Most characters of an unknown body to show.
const SHOWN: usize = 200;

/// Returns the failure that an answer means which is no stream of events.
pub(crate) fn classify(
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
    now: SystemTime,
) -> ModelError {
    let json = serde_json::from_slice::<Value>(body).ok();
    let complaint = json.as_ref().and_then(complaint);
    let mut error = match complaint {
        Some(complaint) => from_complaint(complaint, status),
        None if (200..300).contains(&status) => unexpected(status, body),
        None => from_complaint(bare(status, body), status),
    };
    if error.retryable {
        error.retry_after = retry_after(headers, now).or(error.retry_after);
    }
    error
}

/// Returns what a JSON body complains about: `error` as an object or a text, or a `message` or `detail` alone.
fn complaint(body: &Value) -> Option<Complaint> {
    // Some servers put the object into a list of one.
    let body = body.get(0).unwrap_or(body);
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        return Some(Complaint::from_json(error));
    }
    let message = body.get("message").or_else(|| body.get("detail"))?;
    Some(Complaint {
        message: message
            .as_str()
            .map_or_else(|| message.to_string(), str::to_owned),
        ..Complaint::default()
    })
}

/// Returns a complaint for a status without words that are known.
fn bare(status: u16, body: &[u8]) -> Complaint {
    let shown = start_of(body);
    let name = reqwest::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("no name");
    let message = match (status, shown.is_empty()) {
        (413, true) => "the request is too large for the provider (status 413)".to_owned(),
        (_, true) => format!("the provider answered with status {status} ({name})"),
        (_, false) => format!("the provider answered with status {status} ({name}): {shown}"),
    };
    Complaint {
        message,
        ..Complaint::default()
    }
}

fn unexpected(status: u16, body: &[u8]) -> ModelError {
    let shown = start_of(body);
    let message = format!("unexpected response: status {status}, no stream of events: {shown}");
    failure::plain(ModelErrorKind::UnexpectedResponse, message, false)
        .with_hint("check `base_url` in `models.toml`: it should be the address of an API")
}

fn start_of(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let shown: String = text.trim().chars().take(SHOWN).collect();
    shown
}

/// Returns the wait that the headers ask for: `retry-after-ms`, or `retry-after` in seconds or as a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let millis = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok());
    if let Some(millis) = millis {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;
    use crate::model::retry_delay;

    /// 21 October 2026, one hour after the date in the table.
    const NOW: u64 = 1_792_571_280;

    fn answer(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> ModelError {
        let header = |(name, value): &(&'static str, &'static str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        let headers = headers.iter().map(header).collect();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        classify(status, &headers, body.as_bytes(), now)
    }

    type Row = (&'static [(&'static str, &'static str)], Option<Duration>);

    const LIMITED: &str = r#"{"error":{"message":"Rate limit reached","type":"rate_limit_error"}}"#;

    #[test]
    fn a_wait_in_the_headers_is_kept_in_each_form() {
        let exactly = |millis: u64| Some(Duration::from_millis(millis));
        let table: [Row; 8] = [
            (&[("retry-after", "3")], exactly(3_000)),
            (
                &[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")],
                exactly(0),
            ),
            (
                &[("retry-after", "Wed, 21 Oct 2026 08:28:05 GMT")],
                exactly(5_000),
            ),
            (&[("retry-after", "999999")], exactly(999_999_000)),
            (&[("retry-after-ms", "1500")], exactly(1_500)),
            (&[("retry-after", "2abc")], None),
            (&[("retry-after", "-1")], None),
            (&[], None),
        ];
        for (headers, expected) in table {
            let error = answer(429, headers, LIMITED);
            assert_eq!(error.kind, ModelErrorKind::RateLimit);
            assert_eq!(error.retry_after, expected, "{headers:?}");
            match expected {
                Some(wait) => {
                    assert_eq!(retry_delay(&Default::default(), &error, 2, 0.5), Some(wait))
                }
                None => assert!(retry_delay(&Default::default(), &error, 2, 0.5) < exactly(1_000)),
            }
        }
    }

    #[test]
    fn statuses_and_bodies_mean_what_their_providers_mean() {
        use ModelErrorKind as Kind;
        let vllm = r#"{"error":{"message":"This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens.","type":"BadRequestError","param":"input_tokens","code":400}}"#;
        let llama = r#"{"error":{"code":400,"message":"request (124071 tokens) exceeds the available context size (123904 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":124071,"n_ctx":123904}}"#;
        let table = [
            (
                429,
                r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}"#,
                Kind::Provider,
                false,
            ),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Kind::Overloaded,
                true,
            ),
            (400, vllm, Kind::ContextOverflow, false),
            (400, llama, Kind::ContextOverflow, false),
            (
                400,
                r#"{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}"#,
                Kind::ContextOverflow,
                false,
            ),
            (
                400,
                r#"{"error":{"message":"max_tokens is too large: 128000","type":"invalid_request_error","code":"invalid_value"}}"#,
                Kind::Provider,
                false,
            ),
            (413, "", Kind::ContextOverflow, false),
            (
                429,
                r#"{"error":{"message":"Request too large for gpt-x on tokens per min (TPM)","code":"rate_limit_exceeded"}}"#,
                Kind::RateLimit,
                true,
            ),
            (
                401,
                r#"{"error":{"message":"Incorrect API key provided"}}"#,
                Kind::Key,
                false,
            ),
            (403, "<html>no</html>", Kind::Key, false),
            (404, r#"{"detail":"Not Found"}"#, Kind::Provider, false),
            (500, "", Kind::Provider, true),
            (502, "<html>bad gateway</html>", Kind::Provider, true),
            (
                200,
                r#"{"error":{"message":"bad key"}}"#,
                Kind::Provider,
                false,
            ),
            (200, "<html>login</html>", Kind::UnexpectedResponse, false),
            (302, "", Kind::Provider, false),
        ];
        for (status, body, kind, retryable) in table {
            let error = answer(status, &[], body);
            assert_eq!(
                (error.kind, error.retryable),
                (kind, retryable),
                "{status} {body}"
            );
            assert!(!error.message.is_empty());
        }
    }

    #[test]
    fn the_providers_words_are_shown_as_they_are_and_of_a_page_only_the_start() {
        let error = answer(
            400,
            &[],
            r#"{"error":{"message":"max_tokens is too large: 128000"}}"#,
        );
        assert_eq!(error.message, "max_tokens is too large: 128000");
        let error = answer(200, &[], &format!("<html>{}", "x".repeat(1000)));
        assert!(error.message.starts_with("unexpected response"));
        assert!(error.message.contains(&"x".repeat(SHOWN - 6)));
        assert!(!error.message.contains(&"x".repeat(SHOWN - 5)));
    }
}
