//! A connection to one server, through the official SDK: started, its tools listed, calls made, each once. A server is
//! not trusted: what it says is bounded in size and time before it is looked at.

use std::{
    ffi::OsString,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use porthole_env::{Beside, Pipes};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::{
    ClientHandler, RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam,
        ClientCapabilities, ClientConfig, ClientRequest, Implementation, JsonObject,
        PaginatedRequestParams, ServerResult,
    },
    service::{NotificationContext, PeerRequestOptions, RunningService, serve_client},
    transport::{
        StreamableHttpClientTransport, async_rw::AsyncRwTransport,
        streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream},
    process::{ChildStderr, ChildStdout},
    sync::watch,
    time::timeout,
};

use super::{
    config::{Reach, ServerConfig},
    offer::{self, MOST_TOOLS, Offered, plain},
};
use crate::{
    fit,
    model::{Clients, Key, mask},
};

/// How long a server may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// To start and to list its tools.
    pub(super) start: Duration,
    /// For a call, without a sign of progress.
    pub(super) silence: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(10),
            silence: Duration::from_secs(60),
        }
    }
}

/// How long a call may take whatever it says of its progress.
const CALL: Duration = Duration::from_secs(600);
/// How long telling a server that a call is stopped may take.
const CANCEL: Duration = Duration::from_secs(1);
/// Largest message of a server.
const MESSAGE_BYTES: usize = 8 << 20;
/// Lines that are no messages, until a program is taken for none that speaks MCP.
const MOST_OTHER_LINES: usize = 100;
/// Most pages of a list of tools.
const MOST_PAGES: usize = 16;
/// What is kept of what a program says on the side.
const STDERR_BYTES: usize = 2 << 10;
/// Most of what a server says of an error.
const ERROR_BYTES: usize = 4 << 10;

/// A server that is up.
pub(super) struct Connection {
    service: RunningService<RoleClient, Client>,
    tools: Mutex<Vec<Offered>>,
    changed: Arc<AtomicBool>,
    side: Arc<Side>,
    secrets: Vec<Key>,
    patience: Patience,
    _program: Option<Beside>,
}

/// What a call came to.
pub(super) enum Called {
    Result(Box<CallToolResult>),
    Stopped,
    /// In words for the model.
    Failed(String),
}

/// Our end, as the server sees it: it is asked for nothing and can do nothing.
struct Client {
    changed: Arc<AtomicBool>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("porthole", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}

/// What a program said beside its messages.
#[derive(Default)]
struct Side {
    /// The end of its stderr.
    stderr: Mutex<Vec<u8>>,
    /// Why it was given up.
    fault: Mutex<Option<String>>,
}

impl Side {
    fn give_up(&self, why: &str) {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.get_or_insert_with(|| why.to_owned());
    }

    fn told(&self) -> String {
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fault) = &*fault {
            return format!(": {fault}");
        }
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        match plain(&String::from_utf8_lossy(&stderr)).trim() {
            "" => String::new(),
            said => format!("; it said: {said}"),
        }
    }
}

impl Connection {
    /// Starts a server, or connects to it, and lists its tools.
    ///
    /// # Errors
    /// In words for a person, without any secret.
    pub(super) async fn start(
        config: &ServerConfig,
        cwd: &Path,
        variables: &[(OsString, OsString)],
        variable: fn(&str) -> Option<String>,
        patience: Patience,
    ) -> Result<Self, String> {
        let mut secrets = Vec::new();
        for name in config.secrets() {
            let value =
                variable(name).ok_or_else(|| format!("the variable `{name}` is not set"))?;
            secrets.push((name.clone(), Key::parse(&value, name)?));
        }
        let side = Arc::new(Side::default());
        let keys: Vec<Key> = secrets.iter().map(|(_, key)| key.clone()).collect();
        let started = async {
            let (service, program, changed) = match &config.reach {
                Reach::Program {
                    command, args, env, ..
                } => {
                    let mut all = variables.to_vec();
                    all.extend(env.iter().map(|(name, value)| (name.into(), value.into())));
                    let secret = |(name, key): &(String, Key)| (name.into(), key.expose().into());
                    all.extend(secrets.iter().map(secret));
                    program(command, args, cwd, &all, &side).await?
                }
                Reach::Http {
                    url,
                    key_env,
                    headers,
                } => {
                    let of = |name: &String| {
                        let found = secrets.iter().find(|(secret, _)| secret == name);
                        found.map(|(_, key)| key.expose())
                    };
                    let mut config = http(url.as_str());
                    if let Some(key) = key_env.as_ref().and_then(of) {
                        config = config.auth_header(key);
                    }
                    for (header, name) in headers {
                        let (header, value) = header_of(header, of(name).unwrap_or_default())?;
                        config.custom_headers.insert(header, value);
                    }
                    address(url, config).await?
                }
            };
            let connection = Self {
                service,
                tools: Mutex::default(),
                changed,
                side: Arc::clone(&side),
                secrets: keys.clone(),
                patience,
                _program: program,
            };
            let server = config.name.as_str();
            connection.list(server).await.map(|()| connection)
        };
        let started = timeout(patience.start, started).await.unwrap_or_else(|_| {
            let seconds = patience.start.as_secs_f64();
            Err(format!("it was not ready within {seconds} s"))
        });
        started.map_err(|why| masked(format!("{why}{}", side.told()), &keys))
    }

    /// Says whether calls can be made.
    pub(super) fn is_up(&self) -> bool {
        !self.service.is_closed() && !self.service.peer().is_transport_closed()
    }

    /// Lists the tools again where the server said that they changed.
    pub(super) async fn refresh(&self, server: &str) {
        if self.changed.swap(false, Ordering::Relaxed)
            && !matches!(
                timeout(self.patience.start, self.list(server)).await,
                Ok(Ok(()))
            )
        {
            // It is tried again before the next turn; what was listed before stays.
            self.changed.store(true, Ordering::Relaxed);
        }
    }

    /// Returns the tools as they were last listed.
    pub(super) fn tools(&self) -> Vec<Offered> {
        let tools = self.tools.lock();
        tools.unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn list(&self, server: &str) -> Result<(), String> {
        let mut tools = Vec::new();
        let mut params = PaginatedRequestParams::default();
        for _ in 0..MOST_PAGES {
            let page = self.service.list_tools(Some(params.clone())).await;
            let page = page.map_err(|error| self.words(&error))?;
            tools.extend(page.tools);
            match page.next_cursor {
                Some(cursor) if tools.len() < MOST_TOOLS => params.cursor = Some(cursor),
                _ => break,
            }
        }
        let offered = offer::offered(server, &tools);
        *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = offered;
        Ok(())
    }

    /// Makes a call, once. It ends early when `stop` becomes true; then the server is told.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        mut stop: watch::Receiver<bool>,
    ) -> Called {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::with_timeout(self.patience.silence)
            .reset_timeout_on_progress()
            .with_max_total_timeout(CALL);
        let peer = self.service.peer();
        let sent = timeout(
            self.patience.silence,
            peer.send_request_with_option(request, options),
        )
        .await;
        let handle = match sent {
            Ok(Ok(handle)) => handle,
            Ok(Err(error)) => return Called::Failed(self.words(&error)),
            Err(_) => return Called::Failed("it does not read what it is sent".to_owned()),
        };
        let id = handle.id.clone();
        let stopped = async {
            if stop.wait_for(|stop| *stop).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            () = stopped => {
                let why = Some("a person stopped it".to_owned());
                let cancel = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), why));
                // A server that cannot even be told is left to itself.
                let _ = timeout(CANCEL, cancel).await;
                Called::Stopped
            }
            answer = handle.await_response() => match answer {
                Ok(ServerResult::CallToolResult(result)) => Called::Result(Box::new(result)),
                Ok(_) => Called::Failed("its answer was none to a call".to_owned()),
                Err(error) => Called::Failed(self.words(&error)),
            },
        }
    }

    /// Returns an error in words; the server's own are cut, and hold no secret.
    fn words(&self, error: &ServiceError) -> String {
        let words = match error {
            ServiceError::McpError(error) => format!("it says: {}", error.message),
            ServiceError::Timeout { timeout } => {
                format!("it gave no sign for {} s", timeout.as_secs_f64())
            }
            ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
                format!("it ended{}", self.side.told())
            }
            ServiceError::TransportSend(error) => {
                format!("it cannot be reached: {}{}", error.error, self.side.told())
            }
            _ => "its answer makes no sense".to_owned(),
        };
        masked(words, &self.secrets)
    }
}

fn masked(words: String, secrets: &[Key]) -> String {
    let cut = fit::start(&plain(&words), ERROR_BYTES);
    secrets
        .iter()
        .fold(mask(&cut, None), |words, key| mask(&words, Some(key)))
}

type Started = (
    RunningService<RoleClient, Client>,
    Option<Beside>,
    Arc<AtomicBool>,
);

/// Starts a program and speaks with it over its pipes.
async fn program(
    command: &str,
    args: &[String],
    cwd: &Path,
    variables: &[(OsString, OsString)],
    side: &Arc<Side>,
) -> Result<Started, String> {
    let mut program = Beside::start(command, args, cwd, variables)
        .map_err(|error| format!("`{}` could not be started: {error}", plain(command)))?;
    let pipes = program.pipes().ok_or("it has no pipes")?;
    let Pipes {
        stdin,
        stdout,
        stderr,
    } = pipes;
    let (messages, theirs) = tokio::io::duplex(64 << 10);
    // Both end with the program.
    drop(tokio::spawn(pump(stdout, theirs, Arc::clone(side))));
    drop(tokio::spawn(overhear(stderr, Arc::clone(side))));
    let (client, changed) = client();
    let transport = AsyncRwTransport::new_client(messages, stdin);
    let service = serve_client(client, transport).await;
    let service = service.map_err(|_| "it does not speak MCP")?;
    Ok((service, Some(program), changed))
}

/// Connects to an address.
async fn address(
    url: &url::Url,
    config: StreamableHttpClientTransportConfig,
) -> Result<Started, String> {
    let http = Clients::default()
        .for_url(url)
        .map_err(|error| error.message)?;
    let (client, changed) = client();
    let transport = StreamableHttpClientTransport::with_client(http, config);
    let service = serve_client(client, transport).await;
    let service = service.map_err(|error| match error {
        rmcp::service::ClientInitializeError::TransportError { error, .. } => {
            format!("it cannot be reached: {}", error.error)
        }
        _ => "it does not speak MCP".to_owned(),
    })?;
    Ok((service, None, changed))
}

fn http(url: &str) -> StreamableHttpClientTransportConfig {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .max_sse_event_size(MESSAGE_BYTES)
        .max_json_response_size(MESSAGE_BYTES)
        .max_error_response_size(ERROR_BYTES);
    // A call is never sent a second time, whatever the server says of its session.
    config.reinit_on_expired_session = false;
    config
}

fn header_of(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let header = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("`{}` is no name of a header", plain(name)))?;
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| format!("the value of `{name}` is no header's"))?;
    value.set_sensitive(true);
    Ok((header, value))
}

fn client() -> (Client, Arc<AtomicBool>) {
    let changed = Arc::<AtomicBool>::default();
    let ours = Arc::clone(&changed);
    (Client { changed: ours }, changed)
}

/// Passes messages on, line by line and each bounded; ends where it is clear that these are none.
async fn pump(stdout: ChildStdout, mut into: DuplexStream, side: Arc<Side>) {
    let mut stdout = BufReader::new(stdout);
    let mut others = 0;
    loop {
        let mut line = Vec::new();
        let most = MESSAGE_BYTES as u64 + 1;
        match (&mut stdout).take(most).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) if line.len() > MESSAGE_BYTES => {
                let mib = MESSAGE_BYTES >> 20;
                return side.give_up(&format!("it sent a message over {mib} MiB"));
            }
            Ok(_) => {}
        }
        if line.trim_ascii_start().starts_with(b"{") {
            if into.write_all(&line).await.is_err() {
                return;
            }
        } else {
            others += 1;
            if others > MOST_OTHER_LINES {
                return side.give_up("it writes what is no message");
            }
        }
    }
}

/// Keeps the end of what a program says on the side.
async fn overhear(mut stderr: ChildStderr, side: Arc<Side>) {
    let mut piece = [0; STDERR_BYTES];
    while let Ok(len @ 1..) = stderr.read(&mut piece).await {
        let mut kept = side.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&piece[..len]);
        let over = kept.len().saturating_sub(STDERR_BYTES);
        kept.drain(..over);
    }
}
