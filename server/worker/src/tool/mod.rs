//! Tools: what a model may call, what a call would do, and doing it. It asks no person and stores nothing.

mod types;
mod variables;

use std::path::Path;

use porthole_protocol::ToolDetail;
use serde_json::Value;

use crate::model::ToolDefinition;
pub use types::{Plan, PlanError, ToolContext, ToolEffect, ToolResult};
pub use variables::tool_environment;

/// The parsed arguments of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {}

/// What a conversation has read of files.
#[derive(Debug, Default)]
pub struct Seen {}

/// Returns every tool as a model sees it.
pub fn definitions() -> Vec<ToolDefinition> {
    unreachable!("placeholder")
}

/// Returns what a call would do. Touches nothing.
///
/// # Errors
/// Where there is no such tool or the arguments make no sense, in words for the model.
pub fn plan(_tool: &str, _arguments: &Value, _cwd: &Path) -> Result<Plan, PlanError> {
    unreachable!("placeholder")
}

/// Returns the one line that tells people what a call is about, also where it cannot be planned.
pub fn subject(_tool: &str, _arguments: &Value) -> String {
    unreachable!("placeholder")
}

/// Returns the plan with another command, for a command; `None` for other tools.
pub fn with_command(_plan: &Plan, _command: &str) -> Option<Plan> {
    unreachable!("placeholder")
}

/// Returns what a person looks at before a yes: the diff of an edit, the command.
pub async fn preview(_plan: &Plan, _context: &ToolContext) -> ToolDetail {
    unreachable!("placeholder")
}

/// Does it. Ends early when `context.stop` becomes true.
pub async fn run(_plan: &Plan, _context: ToolContext) -> ToolResult {
    unreachable!("placeholder")
}

/// Runs a person's own command.
pub async fn run_shell(_command: &str, _context: ToolContext) -> ToolResult {
    unreachable!("placeholder")
}
