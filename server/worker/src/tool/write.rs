//! Writing a whole file. What may be overwritten is decided elsewhere.

use std::path::{Path, PathBuf};

use porthole_env::{Content, EnvError, ErrorKind, Expect, READ_BYTES};
use porthole_protocol::{ToolDetail, ToolOutcome};

use super::{
    ToolContext, ToolResult, action,
    diff::Diff,
    failure::{Failure, failed},
    location::{not_done, resolve, shown, target},
    quantity::count,
};

/// A file as it is before a change.
pub(super) struct Before {
    /// The path as shown.
    pub(super) name: String,
    /// Where it leads, without links.
    target: PathBuf,
    /// `None`: it is not there.
    pub(super) content: Option<Content>,
}

impl Before {
    /// Returns what a change would begin with.
    pub(super) async fn look(path: &str, context: &ToolContext) -> Result<Self, Failure> {
        let target = target(&context.cwd, path);
        let path = resolve(&context.cwd, path);
        let name = shown(&context.cwd, &path);
        let Some(target) = target else {
            return Err(failed("failed", format!("`{name}` leads nowhere.")));
        };
        let content = match context.environment.read(&path, 0, READ_BYTES).await {
            Ok(content) if content.stat.size > READ_BYTES => {
                let text =
                    format!("`{name}` is too large to be changed by this tool; use `shell`.");
                return Err(failed("too large", text));
            }
            Ok(content) => Some(content),
            Err(error) if error.kind == ErrorKind::NotFound => None,
            Err(error) => return Err(not_done(&name, &error)),
        };
        Ok(Self {
            name,
            target,
            content,
        })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.content.as_ref().map_or(&[], |content| &content.bytes)
    }

    /// Refuses where the conversation read something else than is there now.
    pub(super) fn refuse_stale(&self, context: &ToolContext) -> Result<(), Failure> {
        let Some(content) = &self.content else {
            return Ok(());
        };
        let stale = context
            .seen
            .lock()
            .is_ok_and(|seen| seen.is_stale(&content.stat.real, &content.bytes));
        if stale {
            Err(changed(&self.name))
        } else {
            Ok(())
        }
    }

    /// Refuses where the path leads to another file than the one that was agreed to.
    pub(super) fn refuse_other(&self, agreed: Option<&Path>) -> Result<(), Failure> {
        match agreed {
            Some(agreed) if agreed != self.target => Err(leads_elsewhere(&self.name)),
            _ => Ok(()),
        }
    }

    /// Writes, unless the file is another than was looked at, or a link was put into its path meanwhile.
    pub(super) async fn write(&self, bytes: Vec<u8>, context: &ToolContext) -> Result<(), Failure> {
        let expect = match &self.content {
            Some(content) => Expect::Version(content.stat.version),
            None => Expect::Nothing,
        };
        let written = context
            .environment
            .write_exactly(&self.target, bytes.clone(), expect);
        let stat = written.await.map_err(|error| self.not_written(&error))?;
        self.remember(&stat.real, &bytes, context);
        Ok(())
    }

    fn remember(&self, real: &Path, bytes: &[u8], context: &ToolContext) {
        if let Ok(mut seen) = context.seen.lock() {
            seen.remember(real, bytes);
        }
    }

    fn not_written(&self, error: &EnvError) -> Failure {
        match error.kind {
            ErrorKind::Changed => changed(&self.name),
            _ => not_done(&self.name, error),
        }
    }
}

/// Returns the failure of a path that leads to something else than when the call was looked at.
pub(super) fn leads_elsewhere(name: &str) -> Failure {
    failed(
        "leads elsewhere by now",
        format!(
            "`{name}` leads elsewhere than when this call was decided about: a link was changed meanwhile. Nothing was \
             done. Make the call again if it is still meant."
        ),
    )
}

fn changed(name: &str) -> Failure {
    failed(
        "changed since it was read",
        format!(
            "`{name}` changed on disk since you read it. Nothing was written; read it again first."
        ),
    )
}

pub(super) async fn preview(write: &action::Write, context: &ToolContext) -> ToolDetail {
    match Before::look(&write.path, context).await {
        Ok(before) => Diff::of(before.bytes(), write.content.as_bytes()).detail(before.name),
        Err(_) => ToolDetail::Text,
    }
}

pub(super) async fn run(
    write: &action::Write,
    agreed: Option<&Path>,
    context: &ToolContext,
) -> ToolResult {
    try_run(write, agreed, context)
        .await
        .unwrap_or_else(ToolResult::from)
}

async fn try_run(
    write: &action::Write,
    agreed: Option<&Path>,
    context: &ToolContext,
) -> Result<ToolResult, Failure> {
    let before = Before::look(&write.path, context).await?;
    before.refuse_other(agreed)?;
    before.refuse_stale(context)?;
    let diff = Diff::of(before.bytes(), write.content.as_bytes());
    before
        .write(write.content.clone().into_bytes(), context)
        .await?;
    let size = count(write.content.len() as u64, "byte", "bytes");
    let verb = if before.content.is_some() {
        "Replaced"
    } else {
        "Made"
    };
    Ok(ToolResult {
        attachments: Vec::new(),
        outcome: ToolOutcome::Ok,
        summary: diff.summary(),
        text: format!("{verb} `{}`: {size}, {}.", before.name, diff.summary()),
        detail: diff.detail(before.name),
    })
}
