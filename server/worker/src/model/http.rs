//! Requests over HTTP: sends one, reads its stream, ends at the terminal event. It tries nothing twice.

use std::{
    error::Error as _,
    sync::OnceLock,
    time::{Duration, SystemTime},
};

use futures_util::StreamExt as _;
use reqwest::{
    Client,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::{sync::mpsc, time::Instant};
use url::Url;

use super::{
    Api, ModelError, ModelErrorKind, Piece, Prompt, Response,
    classify::classify,
    decoder::{Decoder, Step},
    failure::plain,
    key::{Key, mask},
    request, sse,
};
use crate::fit::encoded_len;

/// How long each part of a request may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// Without any byte, keep-alives included.
    pub(crate) silence: Duration,
    /// Without an event that means something.
    pub(crate) no_event: Duration,
    /// After the answer, for its usage.
    pub(crate) after_answer: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(120),
            no_event: Duration::from_secs(600),
            after_answer: Duration::from_secs(5),
        }
    }
}

const CONNECT: Duration = Duration::from_secs(10);
/// Most bytes of an answer that is no stream.
const ERROR_BODY_LIMIT: usize = 64 << 10;
/// Most bytes of a stream.
const STREAM_LIMIT: usize = 256 << 20;
/// Most of an answer's text and thinking, encoded: what is larger is no answer, and could not be shown.
const ANSWER_LIMIT: usize = 2 << 20;

/// Where requests go.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) api: Api,
    /// The full address of the API's one call.
    pub(crate) url: Url,
    /// The key, or why there is none.
    pub(crate) key: Result<Option<Key>, String>,
    pub(crate) max_output: Option<u64>,
    pub(crate) images: bool,
    pub(crate) timeouts: Timeouts,
}

/// The clients, built when first used: a worker that asks no provider pays nothing.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    tls: OnceLock<Client>,
    plain: OnceLock<Client>,
}

impl Clients {
    /// Returns the client for an address. Plain HTTP needs no root certificates, and loading them takes milliseconds.
    pub(crate) fn for_url(&self, url: &Url) -> Result<Client, ModelError> {
        let (slot, is_plain) = match url.scheme() {
            "http" => (&self.plain, true),
            _ => (&self.tls, false),
        };
        if let Some(client) = slot.get() {
            return Ok(client.clone());
        }
        let client = build(is_plain).map_err(|e| unreachable(url, &e.without_url()))?;
        Ok(slot.get_or_init(|| client).clone())
    }
}

fn build(is_plain: bool) -> reqwest::Result<Client> {
    // Without one, building a client panics; where the program installed one already, that one stays.
    let _already_there = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .http1_only()
        .referer(false)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        .user_agent(concat!("porthole/", env!("CARGO_PKG_VERSION")));
    if is_plain {
        builder.no_proxy().tls_certs_only([]).build()
    } else {
        builder.build()
    }
}

/// Makes one request.
///
/// # Errors
/// [`ModelError`], with what had arrived and without the key.
pub(crate) async fn request(
    endpoint: &Endpoint,
    client: &Client,
    body: String,
    pieces: &mpsc::UnboundedSender<Piece>,
) -> Result<Response, ModelError> {
    let key = match &endpoint.key {
        Ok(key) => key.as_ref(),
        Err(why) => return Err(no_key(why)),
    };
    let result = exchange(endpoint, client, key, body, pieces).await;
    result.map_err(|mut error| {
        error.message = mask(&error.message, key);
        error
    })
}

fn no_key(why: &str) -> ModelError {
    plain(ModelErrorKind::Key, why, false)
        .with_hint("set it where the server is started, and restart the server")
}

/// Returns the body of the request for `prompt`.
pub(crate) fn body(
    endpoint: &Endpoint,
    prompt: &Prompt,
    info: &porthole_protocol::ModelInfo,
) -> String {
    request::body(endpoint.api, prompt, info, endpoint.max_output).to_string()
}

async fn exchange(
    endpoint: &Endpoint,
    client: &Client,
    key: Option<&Key>,
    body: String,
    pieces: &mpsc::UnboundedSender<Piece>,
) -> Result<Response, ModelError> {
    let request = client
        .post(endpoint.url.clone())
        .headers(headers(endpoint.api, key)?)
        .body(body);
    // A local server may load its model before it says anything.
    let limits = endpoint.timeouts;
    let first = if is_loopback(&endpoint.url) {
        limits.no_event
    } else {
        limits.silence
    };
    let response = tokio::time::timeout(first, request.send())
        .await
        .map_err(|_| silent(first))?
        .map_err(|e| unreachable(&endpoint.url, &e.without_url()))?;
    if is_stream(&response) {
        read_stream(endpoint, response, pieces).await
    } else {
        Err(refusal(response, limits.silence).await)
    }
}

fn headers(api: Api, key: Option<&Key>) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let (name, value) = match (api, key) {
        (Api::Messages, key) => {
            let version = HeaderName::from_static("anthropic-version");
            headers.insert(version, HeaderValue::from_static("2023-06-01"));
            (
                HeaderName::from_static("x-api-key"),
                key.map(|key| key.expose().to_owned()),
            )
        }
        (_, key) => (
            AUTHORIZATION,
            key.map(|key| format!("Bearer {}", key.expose())),
        ),
    };
    if let Some(value) = value {
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| no_key("the key has characters that no header can hold"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Returns whether the address is one of this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// Returns whether the answer is to be read as events: also one of a server that does not say what it is.
fn is_stream(response: &reqwest::Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or("");
    response.status().as_u16() == 200 && (kind.is_empty() || kind.starts_with("text/event-stream"))
}

async fn refusal(response: reqwest::Response, silence: Duration) -> ModelError {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let mut stream = response.bytes_stream();
    let mut body = Vec::new();
    // What cannot be read of the body is not missed: status and headers tell the most.
    while let Ok(Some(Ok(bytes))) = tokio::time::timeout(silence, stream.next()).await {
        body.extend_from_slice(&bytes);
        if body.len() >= ERROR_BODY_LIMIT {
            break;
        }
    }
    classify(status, &headers, &body, SystemTime::now())
}

/// Reads the stream to its terminal event, its end, or the end of patience.
async fn read_stream(
    endpoint: &Endpoint,
    response: reqwest::Response,
    pieces: &mpsc::UnboundedSender<Piece>,
) -> Result<Response, ModelError> {
    let mut reader = Reader {
        decoder: Decoder::new(endpoint.api, &salt()),
        parser: sse::Parser::default(),
        pieces,
        last_event: Instant::now(),
        left: STREAM_LIMIT,
        answer_left: ANSWER_LIMIT,
    };
    let mut stream = response.bytes_stream();
    loop {
        let (wait, why) = reader.patience(&endpoint.timeouts);
        match tokio::time::timeout(wait, stream.next()).await {
            Ok(Some(Ok(bytes))) => match reader.take(&bytes) {
                Ok(Step::Ended) => return reader.finish(),
                Ok(Step::Ignored | Step::Took) => {}
                Err(error) => return Err(reader.decoder.fail(error)),
            },
            // A socket that was cut off is an end like any other: what had arrived decides.
            Ok(None | Some(Err(_))) => return reader.finish(),
            Err(_) if reader.decoder.may_end() => return reader.finish(),
            Err(_) => return Err(reader.decoder.fail(why)),
        }
    }
}

struct Reader<'a> {
    decoder: Decoder,
    parser: sse::Parser,
    pieces: &'a mpsc::UnboundedSender<Piece>,
    last_event: Instant,
    left: usize,
    answer_left: usize,
}

impl Reader<'_> {
    /// Returns how long to wait for more, and the failure when nothing comes.
    fn patience(&self, timeouts: &Timeouts) -> (Duration, ModelError) {
        if self.decoder.may_end() {
            return (timeouts.after_answer, silent(timeouts.after_answer));
        }
        let left = timeouts.no_event.saturating_sub(self.last_event.elapsed());
        if left < timeouts.silence {
            (left, no_event(timeouts.no_event))
        } else {
            (timeouts.silence, silent(timeouts.silence))
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<Step, ModelError> {
        self.left = self.left.checked_sub(bytes.len()).ok_or_else(too_long)?;
        let mut events = Vec::new();
        let fed = self.parser.feed(bytes, &mut events);
        let mut out = Vec::new();
        let mut ended = Step::Ignored;
        for event in &events {
            let step = self.decoder.event(event, &mut out);
            if step != Step::Ignored {
                self.last_event = Instant::now();
            }
            if step == Step::Ended {
                ended = Step::Ended;
                break;
            }
        }
        self.show(out)?;
        match fed {
            Err(error) if ended != Step::Ended => Err(plain(
                ModelErrorKind::UnexpectedResponse,
                error.to_string(),
                false,
            )),
            _ => Ok(ended),
        }
    }

    /// Sends the pieces on; one who is gone does not want them.
    fn show(&mut self, out: Vec<Piece>) -> Result<(), ModelError> {
        for piece in out {
            let (Piece::Text(text) | Piece::Thinking(text)) = &piece;
            self.answer_left = self
                .answer_left
                .checked_sub(encoded_len(text))
                .ok_or_else(endless)?;
            let _gone = self.pieces.send(piece);
        }
        Ok(())
    }

    fn finish(self) -> Result<Response, ModelError> {
        let mut out = Vec::new();
        let result = self.decoder.finish(&mut out);
        for piece in out {
            let _gone = self.pieces.send(piece);
        }
        result
    }
}

/// Returns what makes the ids of one response differ from those of all others.
fn salt() -> String {
    let mut bytes = [0; 6];
    // Without randomness ids are unique only within their response, which the request history mends.
    let _unfilled = SystemRandom::new().fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn silent(wait: Duration) -> ModelError {
    let message = format!("no data for {} s", wait.as_secs_f64());
    plain(ModelErrorKind::Network, message, true)
}

fn no_event(wait: Duration) -> ModelError {
    let message = format!(
        "the connection was kept alive, but no part of an answer came for {} s",
        wait.as_secs_f64()
    );
    plain(ModelErrorKind::Network, message, true)
}

fn too_long() -> ModelError {
    let message = format!("the answer is over {} MiB", STREAM_LIMIT >> 20);
    plain(ModelErrorKind::UnexpectedResponse, message, false)
}

fn endless() -> ModelError {
    let message = format!(
        "the answer was longer than {} MiB, so it was ended",
        ANSWER_LIMIT >> 20
    );
    plain(ModelErrorKind::UnexpectedResponse, message, false)
        .with_hint("ask for less at a time, or for the text in files")
}

/// Returns the failure to reach a server: its host, and the innermost reason.
fn unreachable(url: &Url, error: &reqwest::Error) -> ModelError {
    let mut reason = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        reason = inner.to_string();
        source = inner.source();
    }
    let host = host(url);
    let message = format!("cannot reach {host}: {reason}");
    plain(ModelErrorKind::Network, message, true)
        .with_hint(format!("is the server at {host} running?"))
}

/// Returns host and port, without anything of the address that could be secret.
pub(crate) fn host(url: &Url) -> String {
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => "the server".to_owned(),
    }
}

#[cfg(test)]
mod tests;
