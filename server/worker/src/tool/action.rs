//! The arguments of a call, parsed and checked by themselves. They touch no file.

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{PlanError, ToolEffect, location, shell};
use crate::{fit::COMMAND_BYTES, location::Place, mcp};

/// The parsed arguments of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    Read(Read),
    Write(Write),
    Edit(Edit),
    Shell(Shell),
    Grep(Grep),
    Find(Find),
    Ls(Ls),
    Delegate(Delegate),
    Script(Script),
    /// A tool of an MCP server, and its arguments as JSON.
    Outside(String),
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Script {
    pub(super) code: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Delegate {
    pub(super) task: String,
    pub(super) title: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Read {
    #[serde(alias = "file_path")]
    pub(super) path: String,
    pub(super) offset: Option<u64>,
    pub(super) limit: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Write {
    #[serde(alias = "file_path")]
    pub(super) path: String,
    pub(super) content: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Edit {
    #[serde(alias = "file_path")]
    pub(super) path: String,
    #[serde(alias = "old_string", alias = "old_text")]
    pub(super) old: String,
    #[serde(alias = "new_string", alias = "new_text")]
    pub(super) new: String,
    #[serde(alias = "replace_all", default)]
    pub(super) all: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shell {
    pub(super) command: String,
    pub(super) timeout: Duration,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Grep {
    pub(super) pattern: String,
    pub(super) path: Option<String>,
    #[serde(alias = "glob")]
    pub(super) include: Option<OneOrMore>,
    #[serde(default)]
    pub(super) literal: bool,
    #[serde(default)]
    pub(super) ignore_case: bool,
    pub(super) limit: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Find {
    pub(super) pattern: OneOrMore,
    pub(super) path: Option<String>,
    pub(super) limit: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Ls {
    pub(super) path: Option<String>,
}

/// One glob or several.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    pub(super) fn to_vec(&self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one.clone()],
            Self::More(more) => more.clone(),
        }
    }
}

#[derive(Deserialize)]
struct ShellArguments {
    command: String,
    #[serde(alias = "timeout")]
    timeout_seconds: Option<f64>,
}

impl Action {
    /// Returns the parsed arguments, each checked by itself.
    pub(super) fn parse(tool: &str, arguments: &Value) -> Result<Self, PlanError> {
        let action = match tool {
            "read" => Self::Read(fields(tool, arguments)?),
            "write" => Self::Write(fields(tool, arguments)?),
            "edit" => Self::Edit(fields(tool, arguments)?),
            "shell" => Self::Shell(shell_call(fields(tool, arguments)?)?),
            "grep" => Self::Grep(fields(tool, arguments)?),
            "find" => Self::Find(fields(tool, arguments)?),
            "ls" => Self::Ls(fields(tool, arguments)?),
            "delegate" => Self::Delegate(fields(tool, arguments)?),
            "script" => Self::Script(fields(tool, arguments)?),
            _ if mcp::is_tool(tool) => Self::Outside(object(tool, arguments)?),
            _ => return Err(PlanError(unknown_tool(tool))),
        };
        action.check()?;
        Ok(action)
    }

    /// Returns what it would touch.
    pub(super) fn effect(&self, place: &Place) -> ToolEffect {
        match self {
            Self::Write(Write { path, .. }) | Self::Edit(Edit { path, .. }) => {
                match location::reach(place, path) {
                    // What belongs to the session is what people and commands put there.
                    location::Reach::Closed | location::Reach::Own => ToolEffect::Closed,
                    location::Reach::Inside => ToolEffect::Edits { inside: true },
                    location::Reach::Outside => ToolEffect::Edits { inside: false },
                }
            }
            Self::Shell(Shell { command, .. }) => ToolEffect::Executes {
                command: command.clone(),
            },
            Self::Read(Read { path, .. }) => reads(place, Some(path)),
            Self::Grep(Grep { path, .. })
            | Self::Find(Find { path, .. })
            | Self::Ls(Ls { path }) => reads(place, path.as_deref()),
            Self::Delegate(Delegate { task, title }) => ToolEffect::Delegates {
                task: task.clone(),
                title: title.clone(),
            },
            Self::Script(_) => ToolEffect::Scripts,
            Self::Outside(arguments) => ToolEffect::Calls {
                arguments: arguments.clone(),
            },
        }
    }

    /// Returns the file that it would change, without links; `None`: it changes none, or nobody can tell.
    pub(super) fn target(&self, place: &Place) -> Option<PathBuf> {
        match self {
            Self::Write(Write { path, .. }) | Self::Edit(Edit { path, .. }) => {
                location::target(&place.cwd, path)
            }
            Self::Read(_)
            | Self::Shell(_)
            | Self::Grep(_)
            | Self::Find(_)
            | Self::Ls(_)
            | Self::Delegate(_)
            | Self::Script(_)
            | Self::Outside(_) => None,
        }
    }

    fn check(&self) -> Result<(), PlanError> {
        match self {
            Self::Read(read) => check_path(&read.path).and_then(|()| check_limit(read.limit)),
            Self::Write(write) => check_path(&write.path),
            Self::Edit(edit) => check_path(&edit.path).and_then(|()| check_edit(edit)),
            Self::Shell(shell) => check_command(&shell.command),
            Self::Grep(grep) => {
                check_pattern(&grep.pattern)?;
                check_optional_path(grep.path.as_deref())?;
                check_limit(grep.limit)
            }
            Self::Find(find) => {
                find.pattern
                    .to_vec()
                    .iter()
                    .try_for_each(|glob| check_pattern(glob))?;
                check_optional_path(find.path.as_deref())?;
                check_limit(find.limit)
            }
            Self::Ls(ls) => check_optional_path(ls.path.as_deref()),
            Self::Delegate(delegate) => check_task(&delegate.task),
            Self::Script(script) => check_script(&script.code),
            Self::Outside(arguments) => check_arguments(arguments),
        }
    }
}

fn fields<T: DeserializeOwned>(tool: &str, arguments: &Value) -> Result<T, PlanError> {
    let nothing = Value::Object(serde_json::Map::new());
    let arguments = if arguments.is_null() && tool == "ls" {
        &nothing
    } else {
        arguments
    };
    T::deserialize(arguments)
        .map_err(|error| PlanError(format!("The arguments of `{tool}` make no sense: {error}.")))
}

/// Returns the arguments of a tool that is not ours, as JSON.
fn object(tool: &str, arguments: &Value) -> Result<String, PlanError> {
    match arguments {
        Value::Null => Ok("{}".to_owned()),
        Value::Object(_) => Ok(arguments.to_string()),
        _ => Err(PlanError(format!(
            "The arguments of `{tool}` have to be an object."
        ))),
    }
}

fn unknown_tool(tool: &str) -> String {
    let names: Vec<_> = super::definitions()
        .into_iter()
        .map(|definition| format!("`{}`", definition.name))
        .collect();
    format!("There is no tool `{tool}`. There are {}.", names.join(", "))
}

fn shell_call(arguments: ShellArguments) -> Result<Shell, PlanError> {
    let timeout = match arguments.timeout_seconds {
        None => shell::DEFAULT_TIMEOUT,
        Some(seconds) => Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|time| !time.is_zero() && *time <= shell::MOST_TIMEOUT)
            .ok_or_else(|| {
                let most = shell::MOST_TIMEOUT.as_secs();
                PlanError(format!(
                    "`timeout_seconds` is more than 0 and at most {most}; it was {seconds}."
                ))
            })?,
    };
    Ok(Shell {
        command: arguments.command,
        timeout,
    })
}

fn refuse(wrong: bool, why: &str) -> Result<(), PlanError> {
    if wrong {
        Err(PlanError(why.to_owned()))
    } else {
        Ok(())
    }
}

fn check_path(path: &str) -> Result<(), PlanError> {
    refuse(path.is_empty(), "`path` is empty.")?;
    refuse(path.contains('\0'), "`path` holds a NUL byte.")?;
    refuse(
        path == "~" || path.starts_with("~/"),
        "`~` is not expanded in `path`. Give the path from the working directory, or the whole path.",
    )
}

fn check_optional_path(path: Option<&str>) -> Result<(), PlanError> {
    path.filter(|path| !path.is_empty())
        .map_or(Ok(()), check_path)
}

fn check_limit(limit: Option<u64>) -> Result<(), PlanError> {
    refuse(
        limit == Some(0),
        "`limit` is 0; leave it out or ask for at least 1.",
    )
}

fn check_pattern(pattern: &str) -> Result<(), PlanError> {
    refuse(pattern.is_empty(), "`pattern` is empty.")
}

fn check_command(command: &str) -> Result<(), PlanError> {
    refuse(command.trim().is_empty(), "`command` is empty.")?;
    refuse(command.contains('\0'), "`command` holds a NUL byte.")?;
    let kib = COMMAND_BYTES >> 10;
    refuse(
        command.len() > COMMAND_BYTES,
        &format!("`command` is longer than {kib} KiB. Write it into a file and run that."),
    )
}

fn check_task(task: &str) -> Result<(), PlanError> {
    refuse(task.trim().is_empty(), "`task` is empty.")?;
    let kib = COMMAND_BYTES >> 10;
    refuse(
        task.len() > COMMAND_BYTES,
        &format!("`task` is longer than {kib} KiB. Write it into a file and name that."),
    )
}

fn check_script(code: &str) -> Result<(), PlanError> {
    refuse(code.trim().is_empty(), "`code` is empty.")?;
    let kib = COMMAND_BYTES >> 10;
    refuse(
        code.len() > COMMAND_BYTES,
        &format!("`code` is longer than {kib} KiB."),
    )
}

/// A person has to be able to look at all of it.
fn check_arguments(arguments: &str) -> Result<(), PlanError> {
    let kib = COMMAND_BYTES >> 10;
    refuse(
        arguments.len() > COMMAND_BYTES,
        &format!("The arguments are longer than {kib} KiB."),
    )
}

/// Returns what reading there is.
fn reads(place: &Place, path: Option<&str>) -> ToolEffect {
    match location::reach(place, path.unwrap_or_default()) {
        location::Reach::Inside | location::Reach::Own => ToolEffect::Reads,
        location::Reach::Outside => ToolEffect::ReadsOutside,
        location::Reach::Closed => ToolEffect::Closed,
    }
}

fn check_edit(edit: &Edit) -> Result<(), PlanError> {
    refuse(
        edit.old.is_empty(),
        "`old` is empty. Give the exact text to replace; use `write` for a new file.",
    )?;
    refuse(
        edit.old == edit.new,
        "`old` and `new` are the same; there is nothing to change.",
    )
}
