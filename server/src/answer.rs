//! Answers over HTTP: JSON, refusals in words, and the headers that every answer has.

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};
use porthole_door::Failure;
use serde::Serialize;

/// A refusal with its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    status: StatusCode,
    failure: Failure,
    retry_after: Option<u64>,
}

impl Failed {
    /// Returns a refusal.
    pub fn new(status: StatusCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let failure = Failure {
            message: message.into(),
            hint: hint.into(),
        };
        Self {
            status,
            failure,
            retry_after: None,
        }
    }

    /// Returns its status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the refusal with the seconds after which another try makes sense.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Returns the refusal of someone without a valid cookie.
    pub fn not_admitted() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "you are not signed in to this server",
            "make a link on its machine with `portholed link owner`",
        )
    }

    /// Returns the answer to a fault of the server.
    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the server failed",
            "look at `portholed logs` on its machine",
        )
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response<Body> {
        let mut response = json(self.status, &self.failure);
        if let Some(seconds) = self.retry_after {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Returns an answer in JSON.
pub fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    let (status, text) = match serde_json::to_string(value) {
        Ok(text) => (status, text),
        Err(_) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "{\"message\":\"the server failed\"}".to_owned(),
        ),
    };
    (status, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// Puts on what every answer has: nothing is cached, sniffed, framed, or told to others. A page may bring a policy of its own.
pub fn secure(mut response: Response<Body>) -> Response<Body> {
    const POLICY: &str =
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";
    const EVERY: [(HeaderName, &str); 5] = [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    for (name, value) in EVERY {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
        .headers_mut()
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(POLICY));
    response
}
