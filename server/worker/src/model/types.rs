//! What the engine hands to a model and what comes back, the same for every provider.

use std::time::Duration;

use porthole_protocol::{Attachment, CallId, ModelRef, PromptCache, Thinking, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything one model request says.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// Instructions that come before everything.
    pub system: String,
    /// The conversation, oldest first.
    pub items: Vec<PromptItem>,
    /// The tools that may be called.
    pub tools: Vec<ToolDefinition>,
    /// How much to think.
    pub thinking: Thinking,
    /// How long the provider is asked to keep what it read.
    pub cache: PromptCache,
}

/// One item of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PromptItem {
    /// From a person.
    User {
        /// The line that says who speaks; empty where it is Porthole itself.
        #[serde(default)]
        speaker: String,
        /// The text.
        text: String,
        /// Files that came with it.
        #[serde(default)]
        files: Vec<PromptFile>,
    },
    /// From a model.
    Assistant {
        /// Which model; what is opaque goes back only to the same one.
        model: ModelRef,
        /// Its parts.
        blocks: Vec<AnswerBlock>,
    },
    /// The result of one tool call of the assistant item before it.
    ToolResult {
        /// The call.
        call: CallId,
        /// The id by which the provider knows the call.
        provider_id: String,
        /// The tool.
        tool: String,
        /// What the model is told.
        text: String,
        /// Whether it failed.
        failed: bool,
    },
}

/// A file that came with a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PromptFile {
    /// What is known of it.
    pub attachment: Attachment,
    /// How the model gets it.
    pub content: FileContent,
}

/// How a model gets a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileContent {
    /// By its path: tools can read it there. Empty: not looked for yet.
    Path(String),
    /// As text.
    Text(String),
    /// As an image, its bytes in base64.
    Image(String),
}

impl From<Attachment> for PromptFile {
    fn from(attachment: Attachment) -> Self {
        Self {
            attachment,
            content: FileContent::Path(String::new()),
        }
    }
}

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON schema of its arguments.
    pub schema: Value,
}

/// A part of a model's answer, with what only its provider can read. Stored; never sent to a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AnswerBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A thought.
    Thinking {
        /// What may be shown of it; may be empty.
        text: String,
        /// The provider's own block, to be sent back unchanged: signature, redacted data, encrypted content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Value>,
    },
    /// A tool call.
    ToolCall {
        /// The provider's id, made unique in the response (made by us where it gave none).
        provider_id: String,
        /// The tool.
        tool: String,
        /// The arguments; `None`: they were no valid JSON, so the call must not run.
        arguments: Option<Value>,
    },
}

/// A whole answer, or what had arrived of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// Its parts, in order.
    pub blocks: Vec<AnswerBlock>,
    /// Why it ended, in the provider's word.
    pub stop: Option<String>,
    /// What it used; `None`: the provider did not say.
    pub usage: Option<Usage>,
}

/// Something to show while the answer comes in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text.
    Text(String),
    /// A thought.
    Thinking(String),
}

/// Why a model request failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What kind of failure.
    pub kind: ModelErrorKind,
    /// For a person; never holds a key.
    pub message: String,
    /// What to do next, for a person; may be empty.
    pub hint: String,
    /// Whether trying again can help.
    pub retryable: bool,
    /// The soonest next try, where the provider said so.
    pub retry_after: Option<Duration>,
    /// What had arrived; its tool calls never run.
    pub partial: Box<Response>,
}

/// What kind of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// The stream ended before the answer did.
    StreamTruncated,
    /// The provider said that something failed.
    Provider,
    /// Too many requests.
    RateLimit,
    /// The provider has no room now.
    Overloaded,
    /// The prompt does not fit.
    ContextOverflow,
    /// The key is missing or was refused.
    Key,
    /// The answer is not one of this kind of server.
    UnexpectedResponse,
    /// The server cannot be reached, or fell silent.
    Network,
}
