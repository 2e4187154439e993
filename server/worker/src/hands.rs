//! What the engine does outside: it asks models and runs tools, and brings back what they say. It decides nothing.

use std::{
    ffi::OsString,
    future::Future,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use porthole_env::Environment;
use porthole_protocol::{
    CallError, ModelInfo, ModelRef, RunId, RunOutput, ToolDetail, ToolOutcome, replies,
};
use tokio::sync::{mpsc, watch};

use crate::{
    attachment,
    call::told,
    conversation::{Planned, Rules, ToolStart},
    files, mcp,
    mcp::Servers,
    model::{
        self, Inventory, InventoryError, ModelError, ModelErrorKind, Piece, Prompt, Response,
        ToolDefinition,
    },
    resources::{self, Resources},
    tool::{self, NestedAsk, Place, PlanError, Seen, ToolContext, ToolEffect, ToolResult},
};

/// Work that goes on beside the engine.
pub(crate) type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// How long a turn waits for rules, templates and skills.
const RESOURCES_WAIT: Duration = Duration::from_millis(500);

/// Models and tools.
pub(crate) enum Hands {
    /// Of this machine.
    Real(Box<Real>),
    /// As a test tells them.
    #[cfg(test)]
    Scripted(Arc<crate::session::tests::Script>),
}

/// Models and tools of this machine.
pub(crate) struct Real {
    inventory: Result<Inventory, InventoryError>,
    /// What `models.toml` was when the inventory was made.
    stamp: Option<Stamp>,
    data: PathBuf,
    environment: Arc<dyn Environment>,
    /// The session's folder.
    folder: PathBuf,
    variables: Arc<Vec<(OsString, OsString)>>,
    seen: Arc<Mutex<Seen>>,
    servers: Arc<Servers>,
}

/// How a run is told to stop, and where it tells its progress.
pub(crate) struct Line {
    pub(crate) run: RunId,
    pub(crate) place: Place,
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) progress: mpsc::UnboundedSender<RunOutput>,
    pub(crate) nest: mpsc::UnboundedSender<NestedAsk>,
}

impl Real {
    /// Returns the models and tools for a session that is kept in `folder` and works in `dir`.
    pub(crate) async fn new(data: PathBuf, folder: PathBuf, dir: PathBuf) -> Self {
        let stamp = stamp(&data);
        let inventory = Inventory::load(&data, variable).await;
        if let Err(error) = &inventory {
            tracing::warn!(%error, "no models");
        }
        let servers = Servers::new(data.clone(), dir, variable);
        let variables = variables(inventory.as_ref().ok(), &servers);
        Self {
            inventory,
            stamp,
            data,
            environment: porthole_env::local(),
            folder,
            variables: Arc::new(variables),
            seen: Arc::default(),
            servers: Arc::new(servers),
        }
    }

    fn context(&self, line: Line) -> ToolContext {
        ToolContext {
            environment: Arc::clone(&self.environment),
            cwd: line.place.cwd,
            closed: line.place.closed,
            runs: self.folder.join("runs"),
            run: line.run,
            stop: line.stop,
            progress: line.progress,
            nest: line.nest,
            variables: Arc::clone(&self.variables),
            seen: Arc::clone(&self.seen),
        }
    }

    /// Returns the plan of a call, made anew: a link may lead elsewhere by now, and what is closed stays closed.
    fn plan(&self, start: &ToolStart, place: &Place) -> Result<tool::Plan, Box<ToolResult>> {
        let failed = |text| Box::new(told(ToolOutcome::Failed, "not run", text));
        let plan = tool::plan(&start.tool, &start.arguments, place)
            .map_err(|error| failed(error.to_string()))?;
        if plan.effect == ToolEffect::Closed {
            return Err(failed("Refused: that is closed to tools.".to_owned()));
        }
        let same = |agreed: &Planned| agreed.effect == plan.effect && agreed.target == plan.target;
        if !start.agreed.as_ref().is_none_or(same) {
            return Err(Box::new(tool::leads_elsewhere(&plan.subject)));
        }
        match &start.command {
            None => Ok(plan),
            Some(command) => tool::with_command(&plan, command)
                .ok_or_else(|| failed("This call has no command to change.".to_owned())),
        }
    }
}

impl Hands {
    /// Returns the pure rules of models and tools.
    pub(crate) fn rules(&self) -> Rules {
        match self {
            Self::Real(_) => Rules {
                definitions: tool::definitions,
                plan,
                subject: tool::subject,
                retry_delay: model::retry_delay,
                servers: true,
            },
            #[cfg(test)]
            Self::Scripted(script) => script.rules(),
        }
    }

    /// Reads again which models are configured: a person may have written `models.toml` just now.
    pub(crate) async fn reload(&mut self) {
        match self {
            Self::Real(real) => {
                real.stamp = stamp(&real.data);
                real.inventory = Inventory::load(&real.data, variable).await;
                real.variables = Arc::new(variables(real.inventory.as_ref().ok(), &real.servers));
            }
            #[cfg(test)]
            Self::Scripted(_) => {}
        }
    }

    /// Reads again which models are configured, where `models.toml` is another than before. With a fault in it, what was
    /// good before stays.
    pub(crate) async fn refresh(&mut self) {
        match self {
            Self::Real(real) => {
                let now = stamp(&real.data);
                if now == real.stamp {
                    return;
                }
                real.stamp = now;
                match Inventory::load(&real.data, variable).await {
                    Ok(inventory) => {
                        real.variables = Arc::new(variables(Some(&inventory), &real.servers));
                        real.inventory = Ok(inventory);
                    }
                    Err(error) => tracing::warn!(%error, "the models stay as they were"),
                }
            }
            #[cfg(test)]
            Self::Scripted(_) => {}
        }
    }

    /// Returns what is known of a model; `None`: it is not configured.
    pub(crate) fn info(&self, model: &ModelRef) -> Option<ModelInfo> {
        match self {
            Self::Real(real) => {
                let inventory = real.inventory.as_ref().ok()?;
                inventory.resolve(model).map(|m| m.info().clone())
            }
            #[cfg(test)]
            Self::Scripted(script) => script.info(model),
        }
    }

    /// Returns why no model can be had, where that is so, and what to do.
    pub(crate) fn complaint(&self) -> Option<(String, String)> {
        match self {
            Self::Real(real) => real.inventory.as_ref().err().map(with_hint),
            #[cfg(test)]
            Self::Scripted(_) => None,
        }
    }

    /// Returns the model that new sessions get, where the owner chose this one; `None`: see [`Self::complaint`].
    pub(crate) fn default_model(&self, chosen: Option<&ModelRef>) -> Option<ModelRef> {
        match self {
            Self::Real(real) => {
                let inventory = real.inventory.as_ref().ok()?;
                Some(inventory.default_with(chosen))
            }
            #[cfg(test)]
            Self::Scripted(script) => Some(script.model()),
        }
    }

    /// Makes a model request. None is made where the directory to work in is gone: every tool would fail.
    pub(crate) fn request(
        &self,
        model: &ModelRef,
        mut prompt: Prompt,
        cwd: &Path,
        pieces: mpsc::UnboundedSender<Piece>,
    ) -> Work<Result<Response, ModelError>> {
        match self {
            Self::Real(real) => {
                let inventory = real.inventory.as_ref().ok();
                match inventory.and_then(|inventory| inventory.resolve(model)) {
                    _ if !cwd.is_dir() => {
                        let error = no_directory(cwd);
                        Box::pin(async move { Err(error) })
                    }
                    Some(model) => {
                        let (blobs, images) = (real.folder.join("blobs"), model.takes_images());
                        Box::pin(async move {
                            attachment::fill(&mut prompt.items, &blobs, images).await?;
                            model.request(&prompt, &pieces).await
                        })
                    }
                    None => {
                        let error = missing(model, self.complaint());
                        Box::pin(async move { Err(error) })
                    }
                }
            }
            #[cfg(test)]
            Self::Scripted(script) => script.request(model, prompt, cwd, pieces),
        }
    }

    /// Finds out what a question about a call is to show.
    pub(crate) fn preview(&self, start: ToolStart, line: Line) -> Work<ToolDetail> {
        match self {
            Self::Real(real) => match real.plan(&start, &line.place) {
                Ok(plan) => {
                    let context = real.context(line);
                    Box::pin(async move { tool::preview(&plan, &context).await })
                }
                Err(_) => Box::pin(async { ToolDetail::Text }),
            },
            #[cfg(test)]
            Self::Scripted(script) => script.preview(start),
        }
    }

    /// Returns what servers offer now; those that are not up are started.
    pub(crate) fn offer(&self) -> Work<Vec<ToolDefinition>> {
        match self {
            Self::Real(real) => {
                let servers = Arc::clone(&real.servers);
                Box::pin(async move { servers.offer().await })
            }
            #[cfg(test)]
            Self::Scripted(_) => Box::pin(async { Vec::new() }),
        }
    }

    /// Runs a tool call.
    pub(crate) fn run(&self, start: ToolStart, line: Line) -> Work<ToolResult> {
        match self {
            Self::Real(real) if mcp::is_tool(&start.tool) => {
                let (servers, blobs) = (Arc::clone(&real.servers), real.folder.join("blobs"));
                Box::pin(async move {
                    let ToolStart {
                        tool, arguments, ..
                    } = start;
                    servers
                        .call(&tool, arguments, line.stop, &blobs, &line.run)
                        .await
                })
            }
            Self::Real(real) => match real.plan(&start, &line.place) {
                Ok(plan) => {
                    let context = real.context(line);
                    Box::pin(async move { tool::run(&plan, context).await })
                }
                Err(result) => Box::pin(async move { *result }),
            },
            #[cfg(test)]
            Self::Scripted(script) => script.run(start, line),
        }
    }

    /// Runs a person's command.
    pub(crate) fn shell(&self, command: String, line: Line) -> Work<ToolResult> {
        match self {
            Self::Real(real) => {
                let context = real.context(line);
                Box::pin(async move { tool::run_shell(&command, context).await })
            }
            #[cfg(test)]
            Self::Scripted(script) => script.shell(command, line),
        }
    }

    /// Returns the rules, templates and skills for a directory; `None`: they could not be read in time.
    pub(crate) async fn resources(&self, cwd: &Path, home: Option<&Path>) -> Option<Resources> {
        match self {
            Self::Real(_) => {
                let (cwd, home) = (cwd.to_owned(), home.map(Path::to_owned));
                let load = move || resources::load(&cwd, home.as_deref());
                let read = tokio::task::spawn_blocking(load);
                tokio::time::timeout(RESOURCES_WAIT, read).await.ok()?.ok()
            }
            #[cfg(test)]
            Self::Scripted(_) => Some(resources::load(cwd, home)),
        }
    }

    /// Finds names below the working directory.
    pub(crate) fn files(
        &self,
        cwd: PathBuf,
        query: String,
        limit: usize,
    ) -> Work<Result<replies::Files, CallError>> {
        match self {
            Self::Real(real) => {
                let environment = Arc::clone(&real.environment);
                Box::pin(async move { files::find(&*environment, cwd, &query, limit).await })
            }
            #[cfg(test)]
            Self::Scripted(_) => Box::pin(async { Ok(replies::Files::default()) }),
        }
    }

    /// Ends what finished commands left running.
    pub(crate) fn left(&self) -> Work<()> {
        match self {
            Self::Real(real) => {
                let environment = Arc::clone(&real.environment);
                Box::pin(async move {
                    if let Err(error) = environment.end_left().await {
                        tracing::warn!(%error, "processes may be left");
                    }
                })
            }
            #[cfg(test)]
            Self::Scripted(_) => Box::pin(async {}),
        }
    }
}

/// Returns the failure of a request in a directory that is not there.
fn no_directory(cwd: &Path) -> ModelError {
    ModelError {
        kind: ModelErrorKind::Provider,
        message: format!("the directory `{}` is not there any more", cwd.display()),
        hint: "bring it back and send again, or make a session in another directory".to_owned(),
        retryable: false,
        retry_after: None,
        partial: Box::default(),
    }
}

/// Returns the failure of a request to a model that is not configured.
fn missing(model: &ModelRef, complaint: Option<(String, String)>) -> ModelError {
    let (message, hint) = complaint.unwrap_or_else(|| {
        let hint = "choose another with `/model`, or put it back into `models.toml` and send again";
        let message = format!("the model `{model}` is not configured any more");
        (message, hint.to_owned())
    });
    ModelError {
        kind: ModelErrorKind::Key,
        message,
        hint,
        retryable: false,
        retry_after: None,
        partial: Box::default(),
    }
}

fn plan(name: &str, arguments: &serde_json::Value, place: &Place) -> Result<Planned, PlanError> {
    let plan = tool::plan(name, arguments, place)?;
    Ok(Planned {
        subject: plan.subject,
        effect: plan.effect,
        target: plan.target,
    })
}

/// Returns an error of the inventory as a sentence and a hint.
fn with_hint(error: &InventoryError) -> (String, String) {
    let (message, hint) = error.0.split_once("\n\nhint: ").unwrap_or((&error.0, ""));
    (message.to_owned(), hint.to_owned())
}

/// Returns the variables of commands: the worker's own without any key.
fn variables(inventory: Option<&Inventory>, servers: &Servers) -> Vec<(OsString, OsString)> {
    let mut keys = servers.secret_names();
    keys.extend_from_slice(inventory.map_or(&[][..], Inventory::key_variables));
    tool::tool_environment(std::env::vars_os(), &keys)
}

/// What tells one state of a file from another.
type Stamp = (std::time::SystemTime, u64, u64);

fn stamp(data: &Path) -> Option<Stamp> {
    use std::os::unix::fs::MetadataExt as _;
    let there = std::fs::metadata(data.join("models.toml")).ok()?;
    Some((there.modified().ok()?, there.len(), there.ino()))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
