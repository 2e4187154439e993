//! A turn: model requests, tool calls and results until the model has nothing more to call. Each step is committed
//! as it ends. How questions are asked, and how a turn is taken up after a crash, is next door.

use porthole_protocol::{
    Author, AuthorKind, Block, CallId, EntryBody, OpenAnswer, QuestionState, RunOutput, ToolDetail,
    ToolOutcome, TurnId,
};

use crate::{
    conversation::{Conversation, Effect, Out, Planned, ToolStart, porthole},
    model::{AnswerBlock, ModelError, ModelErrorKind, Response, ToolDefinition},
    policy::{self, Verdict},
    record::{CallRow, CallStage, QuestionRow, Record, SubmissionRow, TurnRow, TurnStage},
    tool::{ToolEffect, ToolResult},
};

/// Calls that only read, at most so many at a time.
const READS_AT_ONCE: usize = 4;
/// Told to the model where its arguments were no JSON.
const NOT_JSON: &str =
    "The arguments of this call were not valid JSON, so it did not run. Make the call again.";
/// Told to the model of a call that had not begun when the turn was stopped.
const CANCELLED: &str = "Cancelled: a person stopped the turn before this call ran.";

/// A turn that goes on.
#[derive(Debug)]
pub(crate) struct LiveTurn {
    pub(crate) row: TurnRow,
    pub(crate) stage: Stage,
    /// Counts the model requests of the turn; also the attempt number of the open answer.
    pub(crate) request: u32,
    /// Which try of the present request this is, from 1.
    pub(crate) tries: u32,
    pub(crate) answer: Option<OpenAnswer>,
    /// The calls of the newest answer, in order.
    pub(crate) calls: Vec<LiveCall>,
    /// The tools as they were when the turn began.
    pub(crate) definitions: Vec<ToolDefinition>,
}

/// What a turn waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The model.
    Model,
    /// The time of the next try.
    Retry { at_ms: u64, reason: String },
    /// Tools, and people.
    Tools,
}

/// A call of the newest answer.
#[derive(Debug)]
pub(crate) struct LiveCall {
    pub(crate) row: CallRow,
    pub(crate) phase: Phase,
    pub(crate) planned: Result<Planned, String>,
    pub(crate) output: Option<RunOutput>,
}

/// Where a call is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    /// It waits for its turn.
    Queued,
    /// What its question is to show is being found out.
    Previewing,
    /// It waits for a person.
    Asking(Box<QuestionRow>),
    /// It runs.
    Running,
    /// It has its result.
    Done,
}

impl LiveTurn {
    pub(crate) fn new(row: TurnRow, definitions: Vec<ToolDefinition>) -> Self {
        Self {
            row,
            stage: Stage::Model,
            request: 0,
            tries: 0,
            answer: None,
            calls: Vec::new(),
            definitions,
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.row.stage == TurnStage::Stopping
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.calls.iter().all(|call| call.phase == Phase::Done)
    }

    /// Returns the first call that may begin now: reads beside reads, everything else alone and in order.
    fn startable(&self) -> Option<usize> {
        let mut running = 0;
        for (at, call) in self.calls.iter().enumerate() {
            match call.phase {
                Phase::Done => {}
                Phase::Running if call.reads() => running += 1,
                Phase::Queued if running == 0 || (call.reads() && running < READS_AT_ONCE) => {
                    return Some(at);
                }
                Phase::Queued | Phase::Running | Phase::Previewing | Phase::Asking(_) => {
                    return None;
                }
            }
        }
        None
    }
}

impl LiveCall {
    fn reads(&self) -> bool {
        // A call that cannot be planned touches nothing.
        self.planned
            .as_ref()
            .map_or(true, |planned| planned.effect == ToolEffect::Reads)
    }

    pub(crate) fn start(&self) -> ToolStart {
        ToolStart {
            call: self.row.call.clone(),
            tool: self.row.tool.clone(),
            arguments: self.row.arguments.clone().unwrap_or_default(),
            command: self.row.command.clone(),
        }
    }
}

impl Conversation {
    /// Begins a turn that answers these submissions.
    pub(crate) fn begin_turn(&mut self, taken: Vec<SubmissionRow>, out: &mut Out) {
        let row = TurnRow {
            id: self.counters.turn(),
            started_ms: out.now_ms,
            stage: TurnStage::Running,
        };
        let id = row.id;
        out.record(Record::Turn(row.clone()));
        self.turn = Some(LiveTurn::new(row, (self.rules.definitions)()));
        for submission in taken {
            self.take(submission, id, out);
        }
        self.request_model(out);
    }

    /// Asks the model, after the steers that came in.
    pub(crate) fn request_model(&mut self, out: &mut Out) {
        let steers = self.steers();
        let Some(id) = self.turn.as_ref().map(|turn| turn.row.id) else {
            return;
        };
        for steer in steers {
            self.take(steer, id, out);
        }
        let Some(turn) = &mut self.turn else { return };
        turn.request += 1;
        turn.tries += 1;
        turn.stage = Stage::Model;
        turn.calls.clear();
        turn.answer = Some(OpenAnswer {
            attempt: turn.request,
            ..OpenAnswer::default()
        });
        out.then(Effect::RequestModel {
            request: turn.request,
        });
    }

    pub(crate) fn retry_due(&mut self, out: &mut Out) {
        let waits = |turn: &LiveTurn| matches!(turn.stage, Stage::Retry { .. });
        if self.turn.as_ref().is_some_and(waits) {
            self.request_model(out);
        }
    }

    /// Returns the turn, where this is the request it waits for.
    fn waiting_for(&mut self, request: u32) -> Option<&mut LiveTurn> {
        self.turn
            .as_mut()
            .filter(|turn| turn.stage == Stage::Model && turn.request == request)
    }

    pub(crate) fn model_done(&mut self, request: u32, response: Response, out: &mut Out) {
        let Some(turn) = self.waiting_for(request) else {
            return;
        };
        turn.tries = 0;
        turn.answer = None;
        turn.stage = Stage::Tools;
        let id = turn.row.id;
        let calls = self.add_answer(response, false, id, out);
        for row in &calls {
            out.record(Record::Call(row.clone()));
        }
        let calls = calls.into_iter().map(|row| self.live(row)).collect();
        if let Some(turn) = &mut self.turn {
            turn.calls = calls;
        }
        self.advance(out);
    }

    /// Adds an answer and returns its calls.
    fn add_answer(
        &mut self,
        response: Response,
        incomplete: bool,
        turn: TurnId,
        out: &mut Out,
    ) -> Vec<CallRow> {
        let Response {
            blocks,
            stop,
            usage,
        } = response;
        let mut calls = Vec::new();
        let shown = blocks
            .iter()
            .map(|block| self.shown(block, turn, &mut calls))
            .collect();
        if let Some(usage) = &usage {
            self.add_usage(usage);
            self.record_row(out);
        }
        let model = self.row.model.clone();
        let author = Author {
            kind: AuthorKind::Model,
            id: model.to_string(),
            name: self
                .model
                .as_ref()
                .map_or_else(|| model.model.clone(), |m| m.name.clone()),
        };
        let body = EntryBody::Answer {
            model,
            blocks: shown,
            stop,
            usage,
            incomplete,
        };
        let kept = blocks
            .into_iter()
            .filter(|block| !incomplete || matches!(block, AnswerBlock::Text { .. }));
        self.add(author, Some(turn), body, Some(kept.collect()), out);
        calls
    }

    fn shown(&self, block: &AnswerBlock, turn: TurnId, calls: &mut Vec<CallRow>) -> Block {
        match block {
            AnswerBlock::Text { text } => Block::Text { text: text.clone() },
            AnswerBlock::Thinking { text, .. } => Block::Thinking { text: text.clone() },
            AnswerBlock::ToolCall {
                tool, arguments, ..
            } => {
                let row = CallRow {
                    call: self.counters.call(calls.len()),
                    turn,
                    tool: tool.clone(),
                    subject: arguments
                        .as_ref()
                        .map(|arguments| (self.rules.subject)(tool, arguments))
                        .unwrap_or_default(),
                    arguments: arguments.clone(),
                    stage: CallStage::Queued,
                    command: None,
                    started_ms: None,
                };
                calls.push(row.clone());
                Block::ToolCall {
                    call: row.call,
                    tool: row.tool,
                    subject: row.subject,
                    arguments: arguments.clone().unwrap_or_default(),
                }
            }
        }
    }

    /// Returns a call with what it would do.
    pub(crate) fn live(&self, row: CallRow) -> LiveCall {
        let planned = match &row.arguments {
            None => Err(NOT_JSON.to_owned()),
            Some(arguments) => {
                (self.rules.plan)(&row.tool, arguments, &self.cwd).map_err(|e| e.to_string())
            }
        };
        LiveCall {
            row,
            phase: Phase::Queued,
            planned,
            output: None,
        }
    }

    /// Begins what may begin; with all calls settled, goes on to what comes after them.
    pub(crate) fn advance(&mut self, out: &mut Out) {
        while let Some(turn) = self.turn.as_ref().filter(|turn| !turn.is_stopping()) {
            let Some(at) = turn.startable() else { break };
            self.begin_call(at, out);
        }
        if self.turn.as_ref().is_some_and(LiveTurn::is_settled) {
            self.after_calls(out);
        }
    }

    fn after_calls(&mut self, out: &mut Out) {
        let Some(turn) = &self.turn else { return };
        if turn.is_stopping() {
            self.end_turn(out);
        } else if turn.calls.is_empty() && !self.queue.iter().any(SubmissionRow::is_steer) {
            self.answered = true;
            self.end_turn(out);
        } else {
            self.request_model(out);
        }
    }

    /// Ends the turn and begins the next, where input waits and may go on.
    pub(crate) fn end_turn(&mut self, out: &mut Out) {
        let Some(mut turn) = self.turn.take() else {
            return;
        };
        let stopped = turn.is_stopping();
        turn.row.stage = TurnStage::Ended;
        out.record(Record::Turn(turn.row));
        if stopped {
            self.take_all(out);
        } else {
            self.next_turn(out);
        }
    }

    fn begin_call(&mut self, at: usize, out: &mut Out) {
        let Some(call) = self.turn.as_mut().and_then(|turn| turn.calls.get_mut(at)) else {
            return;
        };
        let planned = match &call.planned {
            Ok(planned) => planned,
            Err(why) => {
                let result = told(ToolOutcome::Failed, "not run", why.clone());
                return self.settle(at, result, out);
            }
        };
        let key = policy::key(&call.row.tool, &planned.subject, &planned.effect);
        match policy::decide(self.row.policy, &planned.effect, &self.allowed, &key) {
            Verdict::Run => self.start_call(at, out),
            Verdict::Refuse(why) => {
                let result = told(ToolOutcome::Denied, "refused: read-only", why.to_owned());
                self.settle(at, result, out);
            }
            Verdict::Ask => {
                call.phase = Phase::Previewing;
                out.then(Effect::Preview(call.start()));
            }
        }
    }

    /// Marks a call as started, before it starts: after a crash it may have run, so it is not run again.
    pub(crate) fn start_call(&mut self, at: usize, out: &mut Out) {
        let Some(call) = self.turn.as_mut().and_then(|turn| turn.calls.get_mut(at)) else {
            return;
        };
        call.phase = Phase::Running;
        call.row.stage = CallStage::Started;
        call.row.started_ms = Some(out.now_ms);
        out.record(Record::Call(call.row.clone()));
        out.then(Effect::StartTool(call.start()));
    }

    /// Gives a call its result.
    pub(crate) fn settle(&mut self, at: usize, result: ToolResult, out: &mut Out) {
        let Some(turn) = &mut self.turn else { return };
        let id = turn.row.id;
        let Some(call) = turn.calls.get_mut(at) else {
            return;
        };
        call.phase = Phase::Done;
        call.row.stage = CallStage::Done;
        out.record(Record::Call(call.row.clone()));
        let author = Author {
            kind: AuthorKind::Tool,
            id: call.row.tool.clone(),
            name: call.row.tool.clone(),
        };
        let started = call.row.started_ms.unwrap_or(out.now_ms);
        let body = EntryBody::ToolResult {
            call: call.row.call.clone(),
            tool: call.row.tool.clone(),
            subject: call
                .row
                .command
                .clone()
                .unwrap_or_else(|| call.row.subject.clone()),
            outcome: result.outcome,
            summary: result.summary,
            text: result.text,
            detail: result.detail,
            duration_ms: out.now_ms.saturating_sub(started),
        };
        self.add(author, Some(id), body, None, out);
    }

    pub(crate) fn position(&self, call: &CallId) -> Option<usize> {
        let turn = self.turn.as_ref()?;
        turn.calls.iter().position(|c| c.row.call == *call)
    }

    pub(crate) fn tool_done(&mut self, call: &CallId, mut result: ToolResult, out: &mut Out) {
        let Some(at) = self.position(call) else {
            return;
        };
        let running = self.turn.as_ref().and_then(|turn| turn.calls.get(at));
        let Some(running) = running.filter(|call| call.phase == Phase::Running) else {
            return;
        };
        if let Some(command) = &running.row.command {
            result.text = format!(
                "A person changed the command before it ran. This ran instead:\n{command}\n\n{}",
                result.text
            );
        }
        self.settle(at, result, out);
        self.advance(out);
    }

    pub(crate) fn model_failed(
        &mut self,
        request: u32,
        error: ModelError,
        jitter: f64,
        out: &mut Out,
    ) {
        let retry_delay = self.rules.retry_delay;
        let Some(turn) = self.waiting_for(request) else {
            return;
        };
        if let Some(delay) = retry_delay(&error, turn.tries + 1, jitter) {
            let wait = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            let at_ms = out.now_ms.saturating_add(wait);
            turn.stage = Stage::Retry {
                at_ms,
                reason: error.message,
            };
            // What had arrived stays to be looked at until the next try replaces it.
            return out.then(Effect::SetRetry { at_ms });
        }
        let id = turn.row.id;
        self.keep_partial(error.partial.as_ref(), out);
        let (text, hint) = self.failure(error);
        self.add(
            porthole(),
            Some(id),
            EntryBody::Error { text, hint },
            None,
            out,
        );
        self.answered = true;
        self.pause(out);
        self.end_turn(out);
    }

    /// Returns a failure in words for a person: what failed, and what to do.
    fn failure(&self, error: ModelError) -> (String, String) {
        if error.kind != ModelErrorKind::ContextOverflow {
            return (error.message, error.hint);
        }
        let model = &self.row.model;
        let tokens = self.context.tokens(0);
        let window = match self.model.as_ref().and_then(|m| m.context) {
            Some(window) => format!("its window holds {window} tokens"),
            None => "its window is smaller".to_owned(),
        };
        (
            format!(
                "this conversation no longer fits into `{model}`: about {tokens} tokens, and {window} ({})",
                error.message
            ),
            "choose a model with a larger window (`/model`), or go on in a new session".to_owned(),
        )
    }

    /// Keeps what had arrived of an answer that will not be finished. Only its text is ever sent to a model again.
    fn keep_partial(&mut self, partial: &Response, out: &mut Out) {
        let Some(turn) = &mut self.turn else { return };
        let (id, open) = (turn.row.id, turn.answer.take().unwrap_or_default());
        let readable = |b: &AnswerBlock| match b {
            AnswerBlock::Text { text } | AnswerBlock::Thinking { text, .. } => {
                !text.trim().is_empty()
            }
            AnswerBlock::ToolCall { .. } => false,
        };
        let mut blocks: Vec<_> = partial
            .blocks
            .iter()
            .filter(|b| readable(b))
            .cloned()
            .collect();
        if blocks.is_empty() {
            blocks.push(AnswerBlock::Thinking {
                text: open.thinking,
                opaque: None,
            });
            blocks.push(AnswerBlock::Text { text: open.text });
            blocks.retain(readable);
        }
        if blocks.is_empty() {
            return;
        }
        let response = Response {
            blocks,
            stop: None,
            usage: partial.usage,
        };
        self.add_answer(response, true, id, out);
    }

    /// Stops what goes on. What waits in the queue goes on waiting.
    pub(crate) fn stop(&mut self, by: &Author, out: &mut Out) {
        if !self.shells.is_empty() {
            out.then(Effect::StopTools);
        }
        let Some(turn) = self.turn.as_mut().filter(|turn| !turn.is_stopping()) else {
            return;
        };
        turn.row.stage = TurnStage::Stopping;
        let (id, stage) = (turn.row.id, turn.stage.clone());
        self.pause(out);
        match stage {
            Stage::Model | Stage::Retry { .. } => {
                self.keep_partial(&Response::default(), out);
                out.then(Effect::CancelModel);
            }
            Stage::Tools => self.stop_calls(by, out),
        }
        let text = format!("Stopped by {}.", by.name);
        self.add(porthole(), Some(id), EntryBody::Notice { text }, None, out);
        match &self.turn {
            Some(turn) if !turn.is_settled() => out.record(Record::Turn(turn.row.clone())),
            _ => self.end_turn(out),
        }
    }

    /// Withdraws questions and cancels what has not begun; what runs is told to stop and gives its own result.
    fn stop_calls(&mut self, by: &Author, out: &mut Out) {
        let count = self.turn.as_ref().map_or(0, |turn| turn.calls.len());
        for at in 0..count {
            let Some(call) = self.turn.as_ref().and_then(|turn| turn.calls.get(at)) else {
                return;
            };
            match call.phase.clone() {
                Phase::Done => continue,
                Phase::Running => {
                    out.then(Effect::StopTools);
                    continue;
                }
                Phase::Asking(row) => {
                    self.close_question(*row, QuestionState::Withdrawn, &by.name, out);
                }
                Phase::Queued | Phase::Previewing => {}
            }
            let result = told(ToolOutcome::Stopped, "cancelled", CANCELLED.to_owned());
            self.settle(at, result, out);
        }
    }

    fn pause(&mut self, out: &mut Out) {
        let paused = !self.queue.is_empty();
        if self.row.paused != paused {
            self.row.paused = paused;
            self.record_row(out);
        }
    }

    pub(crate) fn progress(&mut self, run: &porthole_protocol::RunId, output: RunOutput) {
        if let Some(shell) = self.shells.iter_mut().find(|shell| shell.row.run == *run) {
            shell.output = Some(output);
            return;
        }
        let calls = self.turn.iter_mut().flat_map(|turn| &mut turn.calls);
        if let Some(call) = calls
            .into_iter()
            .find(|c| c.row.call.as_str() == run.as_str())
        {
            call.output = Some(output);
        }
    }
}

/// Returns a result that no tool made.
pub(crate) fn told(outcome: ToolOutcome, summary: &str, text: String) -> ToolResult {
    ToolResult {
        outcome,
        summary: summary.to_owned(),
        text,
        detail: ToolDetail::Text,
    }
}

#[cfg(test)]
mod tests;
