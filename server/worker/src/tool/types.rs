//! What the engine and a tool say to each other.

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use porthole_env::Environment;
use porthole_protocol::{Attachment, RunId, RunOutput, ToolDetail, ToolOutcome};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

/// A tool call whose arguments make sense: what it would do, known before it does anything.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The tool.
    pub tool: String,
    /// What it is about, one line, exactly: the command, the path, the pattern.
    pub subject: String,
    /// What it would touch.
    pub effect: ToolEffect,
    /// The file that it would change, without links.
    pub target: Option<PathBuf>,
    /// The tool's own, parsed arguments.
    pub(crate) action: super::Action,
}

/// What a call would touch: what the policy looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolEffect {
    /// It reads inside the working directory, or what belongs to the session.
    Reads,
    /// It reads elsewhere.
    ReadsOutside,
    /// It would touch what belongs to the server alone.
    Closed,
    /// It hands a task on to a conversation of its own.
    Delegates {
        /// What is to be done.
        task: String,
        /// A few words for it.
        title: Option<String>,
    },
    /// It changes a file.
    Edits {
        /// Whether the file lies inside the working directory.
        inside: bool,
    },
    /// It runs a script; the calls that the script makes are looked at one by one.
    Scripts,
    /// It calls a tool of an MCP server: nobody here knows what that does.
    Calls {
        /// Exactly these arguments, as JSON.
        arguments: String,
    },
    /// It runs a command.
    Executes {
        /// Exactly this one.
        command: String,
    },
}

/// Why a call cannot be planned: told to the model, which may try again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

/// What a tool works with.
#[derive(Clone)]
pub struct ToolContext {
    /// Where files and processes are.
    pub environment: Arc<dyn Environment>,
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// The server's data folder, which searches leave out.
    pub closed: Option<PathBuf>,
    /// The session's folder for command output.
    pub runs: PathBuf,
    /// The name of this run, for a command.
    pub run: RunId,
    /// Becomes `true` when a person stops the turn.
    pub stop: watch::Receiver<bool>,
    /// Where a command tells how much output there is, at most every 100 ms.
    pub progress: mpsc::UnboundedSender<RunOutput>,
    /// The variables of a command: what [`super::tool_environment`] makes of the worker's own.
    pub variables: Arc<Vec<(OsString, OsString)>>,
    /// Where a script asks for calls of other tools.
    pub nest: mpsc::UnboundedSender<NestedAsk>,
    /// What the conversation has read of files, so that stale edits are noticed.
    pub seen: Arc<std::sync::Mutex<super::Seen>>,
}

/// A call that a script asks for.
#[derive(Debug)]
pub struct NestedAsk {
    /// The script's run.
    pub parent: RunId,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// Takes what the call came to.
    pub answer: oneshot::Sender<ToolResult>,
}

/// What a tool did.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// How it ended.
    pub outcome: ToolOutcome,
    /// One short line for people.
    pub summary: String,
    /// What the model is told.
    pub text: String,
    /// What people can look at.
    pub detail: ToolDetail,
    /// The images that came with it.
    pub attachments: Vec<Attachment>,
}
