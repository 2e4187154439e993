//! Performing effects, one after the other: nothing that follows a commit happens before it is on disk.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use porthole_protocol::{CallError, Entry, RunId, ServerFrame, ToolDetail, ToolOutcome};
use serde_json::value::RawValue;
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::{ModelTask, RunTask, Session, events::Event, now_ms};
use crate::{
    call::told,
    conversation::{Effect, Ticket, ToolStart},
    hands::{Line, Work},
    model::{ModelError, ModelErrorKind, Prompt},
    place,
    prompt::{self, Surroundings},
    record::Record,
    store::StoreError,
    tool::ToolResult,
    wire::FromWorker,
};

impl Session {
    /// Performs the effects in order.
    ///
    /// # Errors
    /// Where a commit failed: then nothing after it was done, and callers were told.
    pub(super) async fn perform(&mut self, effects: Vec<Effect>) -> Result<(), StoreError> {
        let mut effects = effects.into_iter();
        while let Some(effect) = effects.next() {
            match effect {
                Effect::Commit(records) => {
                    if let Err(error) = self.commit(records).await {
                        self.refuse_all(effects, &error).await;
                        return Err(error);
                    }
                }
                Effect::Reply(ticket, result) => self.reply(ticket, result).await,
                Effect::RequestModel { request } => self.start_model(request).await,
                Effect::CancelModel => self.cancel_model(),
                Effect::SetRetry { at_ms } => self.timers.retry = Some(instant(at_ms)),
                Effect::Preview(start) => self.start_preview(start),
                Effect::StartTool(start) => self.start_tool(start),
                Effect::StartShell { run, command } => self.start_shell(run, command),
                Effect::StopTools => self.stop_tools(),
                Effect::EndLeft => drop(tokio::spawn(self.hands.left())),
            }
        }
        Ok(())
    }

    async fn commit(&mut self, records: Vec<Record>) -> Result<(), StoreError> {
        let entries: Vec<Entry> = match self.watched {
            true => records.iter().filter_map(entry).cloned().collect(),
            false => Vec::new(),
        };
        self.store.commit(records).await?;
        for entry in entries {
            self.show_entry(entry).await;
        }
        Ok(())
    }

    async fn refuse_all(&mut self, left: impl Iterator<Item = Effect>, error: &StoreError) {
        for effect in left {
            if let Effect::Reply(ticket, _) = effect {
                self.reply(ticket, Err(error.to_call_error())).await;
            }
        }
    }

    /// Sends a reply, which is JSON already, or an error.
    pub(super) async fn reply(
        &mut self,
        (connection, id): Ticket,
        result: Result<String, CallError>,
    ) {
        let frame = match result.map(RawValue::from_string) {
            Ok(Ok(result)) => ServerFrame::Reply { id, result },
            Ok(Err(_)) => error_frame(id, "a reply is damaged"),
            Err(error) => ServerFrame::Error {
                id: Some(id),
                error,
            },
        };
        let head = FromWorker::Reply { connection, id };
        if self.writer.frame(&head, &frame).await.is_err() {
            let frame = error_frame(id, "the reply is too large");
            // An error of one sentence is under the limit.
            let _ = self.writer.frame(&head, &frame).await;
        }
    }

    async fn start_model(&mut self, request: u32) {
        let surroundings = Surroundings {
            cwd: self.open.dir.display().to_string(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            date: place::date(now_ms()),
            agents_md: self.hands.agents_md().await,
        };
        let Ok(conversation) = &mut self.live else {
            return;
        };
        if self.hands.info(&conversation.row.model).is_none() {
            self.hands.reload().await;
        }
        conversation.model = self.hands.info(&conversation.row.model);
        let Some(turn) = &conversation.turn else {
            return;
        };
        let prompt = Prompt {
            system: prompt::system(&surroundings),
            items: conversation.context.items(),
            tools: turn.definitions.clone(),
            thinking: conversation.row.thinking,
        };
        self.overhead = overhead(&prompt);
        let (send, pieces) = mpsc::unbounded_channel();
        let work = self.hands.request(&conversation.row.model, prompt, send);
        let events = self.events.clone();
        let task = tokio::spawn(async move {
            let result = unbroken(work, || Err(broken_model())).await;
            // Nobody listens only where the session is closing.
            let _ = events.send(Event::Model(request, result));
        });
        self.model = Some(ModelTask {
            request,
            task: task.abort_handle(),
            pieces,
        });
    }

    /// Ends the model request that goes on, and the wait for the next.
    pub(super) fn cancel_model(&mut self) {
        self.timers.retry = None;
        if let Some(model) = self.model.take() {
            model.task.abort();
        }
    }

    fn start_preview(&mut self, start: ToolStart) {
        let call = start.call.clone();
        let Some(name) = run_name(&start) else { return };
        let (line, stop) = self.line(name);
        let work = self.hands.preview(start, line);
        let done = move |detail| Event::Previewed(call, detail);
        self.spawn(stop, work, || ToolDetail::Text, done);
    }

    fn start_tool(&mut self, start: ToolStart) {
        let call = start.call.clone();
        let Some(name) = run_name(&start) else { return };
        let (line, stop) = self.line(name);
        let work = self.hands.run(start, line);
        let done = move |result| Event::Tool(call, result);
        self.spawn(stop, work, broken_tool, done);
    }

    fn start_shell(&mut self, run: RunId, command: String) {
        let (line, stop) = self.line(run.clone());
        let work = self.hands.shell(command, line);
        let done = move |result| Event::Shell(run, result);
        self.spawn(stop, work, broken_tool, done);
    }

    fn line(&self, run: RunId) -> (Line, (String, watch::Sender<bool>)) {
        let (stop, stopped) = watch::channel(false);
        let name = run.as_str().to_owned();
        let line = Line {
            run,
            stop: stopped,
            progress: self.progress.clone(),
        };
        (line, (name, stop))
    }

    fn spawn<T: Send + 'static>(
        &mut self,
        (name, stop): (String, watch::Sender<bool>),
        work: Work<T>,
        broken: fn() -> T,
        done: impl FnOnce(T) -> Event + Send + 'static,
    ) {
        let events = self.events.clone();
        let task = tokio::spawn(async move {
            let result = unbroken(work, broken).await;
            // Nobody listens only where the session is closing.
            let _ = events.send(done(result));
        });
        self.runs.insert(name, RunTask { stop, task });
    }

    fn stop_tools(&mut self) {
        for run in self.runs.values() {
            run.stop.send_replace(true);
        }
    }
}

/// Does the work; a fault in it ends that work alone, and the turn is told.
async fn unbroken<T>(work: Work<T>, broken: fn() -> T) -> T {
    let result = AssertUnwindSafe(work).catch_unwind().await;
    result.unwrap_or_else(|_| {
        tracing::error!("work beside the engine panicked");
        broken()
    })
}

fn broken_tool() -> ToolResult {
    let text = "Porthole itself failed while this ran. It may have had its effect in part; look before you go on.";
    told(ToolOutcome::Failed, "a fault of Porthole", text.to_owned())
}

fn broken_model() -> ModelError {
    ModelError {
        kind: ModelErrorKind::UnexpectedResponse,
        message: "Porthole itself failed while it read the answer".to_owned(),
        hint: "send again; `portholed logs` tells more".to_owned(),
        retryable: false,
        retry_after: None,
        partial: Box::default(),
    }
}

fn entry(record: &Record) -> Option<&Entry> {
    match record {
        Record::Entry { entry, .. } => Some(entry),
        _ => None,
    }
}

/// Returns the name of a call's run: calls are named by us, shortly.
fn run_name(start: &ToolStart) -> Option<RunId> {
    RunId::parse(start.call.as_str()).ok()
}

fn overhead(prompt: &Prompt) -> u64 {
    let tools = prompt
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.schema.to_string().len());
    (prompt.system.len() + tools.sum::<usize>()) as u64
}

fn instant(at_ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(at_ms.saturating_sub(now_ms()))
}

fn error_frame(id: u64, message: &str) -> ServerFrame {
    ServerFrame::Error {
        id: Some(id),
        error: CallError::new(porthole_protocol::ErrorCode::Internal, message),
    }
}
