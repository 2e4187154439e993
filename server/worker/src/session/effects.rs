//! Performing effects, one after the other: nothing that follows a commit happens before it is on disk.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use porthole_protocol::{CallError, ConversationId, RunId, ServerFrame, ToolDetail, ToolOutcome};
use serde_json::value::RawValue;
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::{ModelTask, RunTask, Session, events::Event, now_ms};
use crate::{
    call::told,
    conversation::{Conversation, Effect, Ticket, ToolStart},
    hands::{Line, Work},
    model::{ModelError, ModelErrorKind, Prompt, PromptItem},
    place,
    prompt::{self, Surroundings},
    record::Record,
    store::StoreError,
    tool::ToolResult,
    wire::FromWorker,
};

/// Bytes of a conversation that are summed up however small the window is said to be.
const SUMMED_AT_LEAST: u64 = 4 << 10;

impl Session {
    /// Performs the effects in order.
    ///
    /// # Errors
    /// Where a commit failed: then nothing after it was done, and callers were told.
    pub(super) async fn perform(
        &mut self,
        id: ConversationId,
        effects: Vec<Effect>,
    ) -> Result<(), StoreError> {
        let mut effects = effects.into_iter();
        while let Some(effect) = effects.next() {
            match effect {
                Effect::Commit(records) => {
                    if let Err(error) = self.commit(id, records).await {
                        self.refuse_all(effects, &error).await;
                        return Err(error);
                    }
                }
                Effect::Reply(ticket, result) => self.reply(ticket, result).await,
                Effect::RequestModel { request } => self.start_model(id, request, None).await,
                Effect::Summarize {
                    request,
                    instructions,
                } => self.start_model(id, request, Some(&instructions)).await,
                Effect::CancelModel => self.cancel_model(id),
                Effect::SetRetry { at_ms } => self.set_retry(id, instant(at_ms)),
                Effect::Preview(start) => self.start_preview(id, start),
                Effect::StartTool(start) => self.start_tool(id, start),
                Effect::StartShell { run, command } => self.start_shell(id, run, command),
                Effect::StopTools => self.stop_tools(id),
                // The driver itself listens.
                Effect::BeginChild(child) => drop(self.events.send(Event::Begin(child))),
                Effect::StopChild(child, by) => drop(self.events.send(Event::Stop(child, by))),
                Effect::AskServers => self.ask_servers(id),
                Effect::Nested(parent, result) => {
                    if let Some(script) = self.waiting.remove(parent.as_str()) {
                        // A script that ended meanwhile does not want it.
                        let _ = script.send(*result);
                    }
                }
                Effect::EndLeft => drop(tokio::spawn(self.hands.left())),
            }
        }
        Ok(())
    }

    async fn commit(&mut self, id: ConversationId, records: Vec<Record>) -> Result<(), StoreError> {
        let watched = self.seats.get(&id).is_some_and(|seat| seat.watched);
        let (mut entries, mut rows, mut allowed) = (Vec::new(), Vec::new(), Vec::new());
        for record in &records {
            match record {
                Record::Entry {
                    conversation,
                    entry,
                    ..
                } if watched && *conversation == id => entries.push((**entry).clone()),
                Record::Conversation(row) => rows.push(row.clone()),
                Record::Allowed(what) => allowed.push(what.clone()),
                _ => {}
            }
        }
        let newest = records.iter().filter_map(Record::entry).max();
        self.store.commit(records).await?;
        if let Some(entry) = newest {
            self.writer.send(&FromWorker::Committed { entry }).await;
        }
        for row in rows {
            self.note_row(row);
        }
        for what in allowed {
            let live = self
                .seats
                .values_mut()
                .filter_map(|seat| seat.live.as_mut().ok());
            live.for_each(|conversation| {
                conversation.allowed.insert(what.clone());
            });
        }
        for entry in entries {
            self.show_entry(id, entry).await;
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

    /// Asks the model to go on, or, with instructions, for a summary.
    async fn start_model(&mut self, id: ConversationId, request: u32, summary: Option<&str>) {
        let cwd = self.dir(id);
        self.hands.refresh().await;
        let resources = match summary {
            None => self.resources_of_turn(id).await,
            Some(_) => Arc::default(),
        };
        let surroundings = Surroundings {
            cwd: cwd.display().to_string(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            date: place::date(now_ms()),
            rules: resources.rules.clone(),
            skills: resources.skills(),
        };
        let Some(Ok(conversation)) = self.seats.get_mut(&id).map(|seat| &mut seat.live) else {
            return;
        };
        if self.hands.info(&conversation.row.model).is_none() {
            self.hands.reload().await;
        }
        conversation.model = self.hands.info(&conversation.row.model);
        let Some(turn) = &conversation.turn else {
            return;
        };
        let prompt = match summary {
            Some(instructions) => summary_prompt(conversation, instructions),
            None => Prompt {
                system: prompt::system(&surroundings),
                items: conversation.context.items(),
                tools: turn.definitions.clone(),
                thinking: conversation.row.thinking,
                cache: turn.settings.prompt_cache,
            },
        };
        if summary.is_none() {
            self.overhead = overhead(&prompt);
            conversation.overhead = self.overhead;
        }
        let (send, pieces) = mpsc::unbounded_channel();
        let work = self
            .hands
            .request(&conversation.row.model, prompt, &cwd, send);
        let events = self.events.clone();
        let task = tokio::spawn(async move {
            let result = unbroken(work, || Err(broken_model())).await;
            // Nobody listens only where the session is closing.
            let _ = events.send(Event::Model(id, request, result));
        });
        let model = ModelTask {
            request,
            task: task.abort_handle(),
            pieces,
        };
        if let Some(seat) = self.seats.get_mut(&id) {
            seat.model = Some(model);
        }
    }

    /// Ends the model request that goes on, and the wait for the next.
    fn cancel_model(&mut self, id: ConversationId) {
        if let Some(seat) = self.seats.get_mut(&id) {
            seat.cancel_model();
        }
    }

    fn set_retry(&mut self, id: ConversationId, at: Instant) {
        if let Some(seat) = self.seats.get_mut(&id) {
            seat.retry = Some(at);
        }
    }

    fn start_preview(&mut self, id: ConversationId, start: ToolStart) {
        let call = start.call.clone();
        let Some(name) = run_name(&start) else { return };
        let (line, stop) = self.line(id, name);
        let work = self.hands.preview(start, line);
        let done = move |detail| Event::Previewed(id, call, detail);
        self.spawn(id, stop, work, || ToolDetail::Text, done);
    }

    fn start_tool(&mut self, id: ConversationId, start: ToolStart) {
        let call = start.call.clone();
        let Some(name) = run_name(&start) else { return };
        let (line, stop) = self.line(id, name);
        let work = self.hands.run(start, line);
        let done = move |result| Event::Tool(id, call, result);
        self.spawn(id, stop, work, broken_tool, done);
    }

    fn ask_servers(&self, id: ConversationId) {
        let (work, events) = (self.hands.offer(), self.events.clone());
        tokio::spawn(async move {
            let tools = unbroken(work, Vec::new).await;
            // Nobody listens only where the session is closing.
            let _ = events.send(Event::Offered(id, tools));
        });
    }

    fn start_shell(&mut self, id: ConversationId, run: RunId, command: String) {
        let (line, stop) = self.line(id, run.clone());
        let work = self.hands.shell(command, line);
        let done = move |result| Event::Shell(id, run, result);
        self.spawn(id, stop, work, broken_tool, done);
    }

    fn line(&self, id: ConversationId, run: RunId) -> (Line, (String, watch::Sender<bool>)) {
        let (stop, stopped) = watch::channel(false);
        let name = run.as_str().to_owned();
        let line = Line {
            run,
            place: self.place(id),
            stop: stopped,
            progress: self.progress.clone(),
            nest: self.nest.clone(),
        };
        (line, (name, stop))
    }

    fn spawn<T: Send + 'static>(
        &mut self,
        conversation: ConversationId,
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
        let run = RunTask {
            conversation,
            stop,
            task,
        };
        self.runs.insert(name, run);
    }

    fn stop_tools(&mut self, id: ConversationId) {
        for run in self.runs.values().filter(|run| run.conversation == id) {
            run.stop.send_replace(true);
        }
    }
}

/// Returns a request for a summary. It leaves room for the summary itself, also where the conversation has none left.
fn summary_prompt(conversation: &Conversation, instructions: &str) -> Prompt {
    let whole = conversation.context.bytes();
    let limit = conversation.model.as_ref().and_then(|model| model.context);
    let most = match limit {
        // Three bytes and a half are a token, about.
        Some(tokens) => tokens.saturating_mul(35) / 10 * 6 / 10,
        None => whole.saturating_mul(6) / 10,
    };
    let mut items = conversation.context.newest(most.max(SUMMED_AT_LEAST));
    items.push(PromptItem::User {
        speaker: String::new(),
        text: prompt::summary_wish(instructions),
        files: Vec::new(),
    });
    Prompt {
        system: prompt::summary_system().to_owned(),
        items,
        tools: Vec::new(),
        thinking: porthole_protocol::Thinking::Off,
        cache: porthole_protocol::PromptCache::Off,
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
