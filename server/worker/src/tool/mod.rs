//! Tools: what a model may call, what a call would do, and doing it. It asks no person and stores nothing but the
//! output of commands.

mod action;
mod definition;
mod diff;
mod edit;
mod failure;
mod listing;
mod location;
mod quantity;
mod read;
mod replace;
mod script;
mod search;
mod seen;
mod shell;
mod tail;
mod types;
mod variables;
mod write;

use porthole_protocol::{ToolDetail, ToolOutcome};
use serde_json::Value;

pub use crate::location::Place;
use crate::model::ToolDefinition;
pub(crate) use action::Action;
use failure::{Failure, failed};
pub use seen::Seen;
pub(crate) use shell::{MOST_GENERATIONS, run_file};
pub use types::{NestedAsk, Plan, PlanError, ToolContext, ToolEffect, ToolResult};
pub use variables::{is_secret_name, tool_environment};

/// Returns every tool as a model sees it.
pub fn definitions() -> Vec<ToolDefinition> {
    definition::all()
}

/// Returns what a call would do. Changes nothing; it looks at where links lead, to tell inside from outside.
///
/// # Errors
/// Where there is no such tool or the arguments make no sense, in words for the model.
pub fn plan(tool: &str, arguments: &Value, place: &Place) -> Result<Plan, PlanError> {
    let action = Action::parse(tool, arguments)?;
    Ok(Plan {
        tool: tool.to_owned(),
        subject: subject(tool, arguments),
        effect: action.effect(place),
        target: action.target(place),
        action,
    })
}

/// Returns the one line that tells people what a call is about, also where it cannot be planned.
pub fn subject(tool: &str, arguments: &Value) -> String {
    match (tool, arguments) {
        // What these do is not known here: all of the arguments are shown.
        (_, Value::Object(_)) if crate::mcp::is_tool(tool) => {
            return one_line(&arguments.to_string());
        }
        ("script", _) => {
            let code = arguments["code"].as_str().unwrap_or_default();
            let first = code.lines().find(|line| !line.trim().is_empty());
            return first.unwrap_or_default().trim().to_owned();
        }
        _ => {}
    }
    let text = ["command", "pattern", "path", "file_path", "title", "task"]
        .iter()
        .find_map(|name| texts(arguments.get(name)?));
    match (text, tool) {
        (Some(text), _) => one_line(&text),
        (None, "ls") => ".".to_owned(),
        (None, _) => String::new(),
    }
}

/// Returns a text, or several with blanks between them.
fn texts(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(texts) => {
            let texts: Vec<_> = texts.iter().filter_map(Value::as_str).collect();
            Some(texts.join(" "))
        }
        _ => None,
    }
}

/// Returns the result of a call whose path leads elsewhere than when it was decided about.
pub(crate) fn leads_elsewhere(name: &str) -> ToolResult {
    write::leads_elsewhere(name).into()
}

/// Returns the plan with another command, for a command; `None` for other tools.
pub fn with_command(plan: &Plan, command: &str) -> Option<Plan> {
    let Action::Shell(shell) = &plan.action else {
        return None;
    };
    let action = Action::Shell(action::Shell {
        command: command.to_owned(),
        ..shell.clone()
    });
    Some(Plan {
        tool: plan.tool.clone(),
        subject: one_line(command),
        effect: ToolEffect::Executes {
            command: command.to_owned(),
        },
        target: None,
        action,
    })
}

/// Returns what a person looks at before a yes: the diff of an edit, the command.
pub async fn preview(plan: &Plan, context: &ToolContext) -> ToolDetail {
    match &plan.action {
        Action::Write(write) => write::preview(write, context).await,
        Action::Edit(edit) => edit::preview(edit, context).await,
        Action::Shell(shell) => shell::preview(&shell.command),
        Action::Read(_)
        | Action::Grep(_)
        | Action::Find(_)
        | Action::Ls(_)
        | Action::Delegate(_)
        | Action::Script(_)
        | Action::Outside(_) => ToolDetail::Text,
    }
}

/// Does it. Ends early when `context.stop` becomes true.
pub async fn run(plan: &Plan, context: ToolContext) -> ToolResult {
    match &plan.action {
        // A file is written whole or not at all; stopping in between would only hide which.
        Action::Write(write) => write::run(write, plan.target.as_deref(), &context).await,
        Action::Edit(edit) => edit::run(edit, plan.target.as_deref(), &context).await,
        Action::Shell(shell) => shell::run(shell, context).await,
        Action::Read(read) => or_stopped(read::run(read, &context), &context).await,
        Action::Grep(grep) => or_stopped(search::grep(grep, &context), &context).await,
        Action::Find(find) => or_stopped(search::find(find, &context), &context).await,
        Action::Ls(ls) => or_stopped(listing::run(ls, &context), &context).await,
        Action::Script(script) => script::run(script, context).await,
        Action::Outside(_) => failed("not done", "There is no such server here.".to_owned()).into(),
        // The engine opens the conversation that does it; by itself a tool has none.
        Action::Delegate(_) => failed(
            "not done",
            "There is nobody to hand a task to here.".to_owned(),
        )
        .into(),
    }
}

/// Runs a person's own command.
pub async fn run_shell(command: &str, context: ToolContext) -> ToolResult {
    let shell = action::Shell {
        command: command.to_owned(),
        timeout: shell::PERSON_TIMEOUT,
    };
    shell::run(&shell, context).await
}

async fn or_stopped(
    work: impl Future<Output = Result<ToolResult, Failure>>,
    context: &ToolContext,
) -> ToolResult {
    let mut stop = context.stop.clone();
    let stopped = async {
        if stop.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        () = stopped => ToolResult { attachments: Vec::new(),
            outcome: ToolOutcome::Stopped,
            summary: "stopped".to_owned(),
            text: "A person stopped this call before it was done.".to_owned(),
            detail: ToolDetail::Text,
        },
        result = work => result.unwrap_or_else(ToolResult::from),
    }
}

fn one_line(text: &str) -> String {
    text.trim_end().replace('\n', " ⏎ ")
}
