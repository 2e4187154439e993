//! MCP servers: their tools beside our own. They are started when a turn needs them, and again with a growing pause where
//! they end. It decides nothing about what may run, and never makes a call twice.

mod answer;
mod config;
mod connection;
mod offer;

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;
use porthole_protocol::{RunId, ToolOutcome};
use serde::Serialize;
use serde_json::Value;
use tokio::{sync::watch, time::Instant};

use crate::{
    call::told,
    model::ToolDefinition,
    tool::{ToolResult, is_secret_name},
};
use config::{Reach, ServerConfig};
use connection::{Called, Connection, Patience};

/// Largest `mcp.toml`.
const FILE_BYTES: u64 = 256 << 10;
/// Most tools of all servers together.
const MOST_TOOLS: usize = 128;
/// The pause after a server that ended or did not start; it doubles, up to a bound.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Of the worker's own variables only these reach a server: it is somebody else's program.
const PASSED: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];

/// Says whether a tool is one of a server.
pub(crate) fn is_tool(name: &str) -> bool {
    name.starts_with(offer::START)
}

/// What `portholed mcp` tells of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// The command line or the address.
    pub reach: String,
    /// Whether it is reached over HTTP.
    pub http: bool,
    /// The variables that it needs and that are not set where this is asked.
    pub missing: Vec<String>,
}

/// Returns the servers that `mcp.toml` in a data folder configures.
///
/// # Errors
/// Where the file makes no sense, in words for a person.
pub fn mcp_servers(
    data: &Path,
    variable: fn(&str) -> Option<String>,
) -> Result<Vec<McpServer>, String> {
    let text = read(data)?.unwrap_or_default();
    let servers = config::parse(&text).map_err(|fault| of_file(data, &fault))?;
    let listed = servers.iter().map(|server| McpServer {
        name: server.name.clone(),
        reach: server.shown(),
        http: matches!(server.reach, Reach::Http { .. }),
        missing: server
            .secrets()
            .filter(|name| variable(name).is_none())
            .cloned()
            .collect(),
    });
    Ok(listed.collect())
}

fn of_file(data: &Path, fault: &str) -> String {
    format!("`{}`: {fault}", data.join("mcp.toml").display())
}

/// Returns the text of the file; `None`: there is none.
fn read(data: &Path) -> Result<Option<String>, String> {
    use std::io::Read as _;
    let file = match std::fs::File::open(data.join("mcp.toml")) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(of_file(data, &error.to_string())),
    };
    let mut text = String::new();
    let read = file.take(FILE_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| of_file(data, &error.to_string()))?;
    if text.len() as u64 > FILE_BYTES {
        return Err(of_file(data, "it is too large"));
    }
    Ok(Some(text))
}

/// The servers of a session.
pub(crate) struct Servers {
    data: PathBuf,
    cwd: PathBuf,
    variable: fn(&str) -> Option<String>,
    patience: Patience,
    first_pause: Duration,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The file as it was last read.
    text: Option<String>,
    servers: BTreeMap<String, Arc<Server>>,
    /// Who has a tool, and what they call it.
    tools: HashMap<String, (Arc<Server>, String)>,
}

/// A server, up or not.
struct Server {
    config: ServerConfig,
    state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    up: Option<Arc<Connection>>,
    since: Option<Instant>,
    /// When it may be started again, and the pause after that.
    again: Option<(Instant, Duration)>,
    why: String,
}

impl Servers {
    /// Returns the servers that `mcp.toml` in `data` names, none of them started.
    pub(crate) fn new(data: PathBuf, cwd: PathBuf, variable: fn(&str) -> Option<String>) -> Self {
        Self {
            data,
            cwd,
            variable,
            patience: Patience::default(),
            first_pause: FIRST_PAUSE,
            known: Mutex::default(),
        }
    }

    /// Returns the names of variables that hold secrets of servers.
    pub(crate) fn secret_names(&self) -> Vec<String> {
        self.read_again();
        let servers = self.servers();
        let names = servers.iter().flat_map(|server| server.config.secrets());
        names.cloned().collect()
    }

    /// Returns the tools that there are now: servers that are not up are started first, those that changed are asked
    /// again. Takes as long as the slowest, within the time for a start.
    pub(crate) async fn offer(&self) -> Vec<ToolDefinition> {
        self.read_again();
        let servers = self.servers();
        let ready = servers.iter().map(|server| self.ready(server));
        let offered = join_all(ready).await;
        let mut tools = HashMap::new();
        let mut definitions = Vec::new();
        for (server, offered) in servers.iter().zip(offered) {
            for tool in offered.into_iter().take(MOST_TOOLS - definitions.len()) {
                let name = tool.definition.name.clone();
                tools.insert(name, (Arc::clone(server), tool.original));
                definitions.push(tool.definition);
            }
        }
        self.lock().tools = tools;
        definitions
    }

    async fn ready(&self, server: &Server) -> Vec<offer::Offered> {
        match self.up(server).await {
            Ok(connection) => {
                connection.refresh(&server.config.name).await;
                connection.tools()
            }
            Err(_) => Vec::new(),
        }
    }

    /// Returns the connection to a server, made anew where it ended and may be started again.
    async fn up(&self, server: &Server) -> Result<Arc<Connection>, String> {
        let mut state = server.state.lock().await;
        if let Some(up) = state.up.take_if(|up| up.is_up()) {
            state.up = Some(Arc::clone(&up));
            return Ok(up);
        }
        let now = Instant::now();
        if state.up.take().is_some() {
            // One that ended has its pause too: a server that dies at every call shall not be started at every call.
            let lasted = state.since.is_some_and(|since| now > since + LONGEST_PAUSE);
            let before = state.again.filter(|_| !lasted);
            let pause = before.map_or(self.first_pause, |(_, pause)| pause);
            state.again = Some((now + pause, next(pause)));
            "it ended".clone_into(&mut state.why);
        }
        if state.again.is_some_and(|(at, _)| now < at) {
            return Err(state.why.clone());
        }
        let variables = self.variables();
        let started = Connection::start(
            &server.config,
            &self.cwd,
            &variables,
            self.variable,
            self.patience,
        )
        .await;
        match started {
            Ok(connection) => {
                let connection = Arc::new(connection);
                state.up = Some(Arc::clone(&connection));
                state.since = Some(Instant::now());
                Ok(connection)
            }
            Err(why) => {
                tracing::warn!(
                    server = server.config.name,
                    "an MCP server is not up: {why}"
                );
                let pause = state.again.map_or(self.first_pause, |(_, pause)| pause);
                state.again = Some((Instant::now() + pause, next(pause)));
                state.why.clone_from(&why);
                Err(why)
            }
        }
    }

    /// Makes a call.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Value,
        stop: watch::Receiver<bool>,
        blobs: &Path,
        run: &RunId,
    ) -> ToolResult {
        let found = self.lock().tools.get(tool).cloned();
        let Some((server, original)) = found else {
            let text = format!("There is no tool `{tool}` (any more).");
            return told(ToolOutcome::Failed, "no such tool", text);
        };
        let name = &server.config.name;
        let connection = match self.up(&server).await {
            Ok(connection) => connection,
            Err(why) => {
                let text = format!("Not run: the MCP server `{name}` is not up: {why}");
                return told(ToolOutcome::Failed, "server not up", text);
            }
        };
        if !connection
            .tools()
            .iter()
            .any(|tool| tool.original == original)
        {
            let text = format!("Not run: the MCP server `{name}` has no such tool any more.");
            return told(ToolOutcome::Failed, "no such tool", text);
        }
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => serde_json::Map::new(),
        };
        match connection.call(&original, arguments, stop).await {
            Called::Result(result) => answer::result(*result, blobs, run),
            Called::Stopped => {
                let text = "A person stopped this call before its result came. It may have had its effect.";
                told(ToolOutcome::Stopped, "stopped", text.to_owned())
            }
            Called::Failed(why) => {
                let text = format!(
                    "The call to the MCP server `{name}` failed: {why}. It may have had its effect, in whole or in part; \
                     look before you make it again."
                );
                told(ToolOutcome::Failed, "failed", text)
            }
        }
    }

    /// Reads the file again, where it changed. One that makes no sense changes nothing.
    fn read_again(&self) {
        let text = match read(&self.data) {
            Ok(text) => text,
            Err(fault) => return tracing::warn!("{fault}"),
        };
        let mut known = self.lock();
        if known.text == text {
            return;
        }
        match config::parse(text.as_deref().unwrap_or_default()) {
            Err(fault) => tracing::warn!("{}", of_file(&self.data, &fault)),
            Ok(configs) => {
                let mut old = std::mem::take(&mut known.servers);
                for config in configs {
                    let same = old
                        .remove(&config.name)
                        .filter(|server| server.config == config);
                    let name = config.name.clone();
                    let fresh = || {
                        Arc::new(Server {
                            config,
                            state: tokio::sync::Mutex::default(),
                        })
                    };
                    known.servers.insert(name, same.unwrap_or_else(fresh));
                }
            }
        }
        known.text = text;
    }

    fn servers(&self) -> Vec<Arc<Server>> {
        self.lock().servers.values().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let passed = PASSED.iter().filter(|name| !is_secret_name(name.as_ref()));
        let set = passed.filter_map(|name| Some((name.into(), (self.variable)(name)?.into())));
        set.collect()
    }
}

fn next(pause: Duration) -> Duration {
    (pause * 2).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests;
