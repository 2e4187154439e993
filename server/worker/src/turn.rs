//! A turn: model requests, tool calls and results until the model has nothing more to call. Each step is committed
//! as it ends. Single calls, questions, failures, stopping and taking up after a crash are files of their own.

use std::sync::Arc;

use porthole_protocol::{Block, EntryBody, OpenAnswer, Settings, TurnId};

use crate::{
    call::{LiveCall, Phase},
    conversation::{Conversation, Effect, Out},
    fit,
    model::{AnswerBlock, Response, ToolDefinition},
    record::{CallRow, CallStage, Record, SubmissionRow, TurnRow, TurnStage},
};

/// So many calls of an answer have their subject up to its full length.
const FULL_SUBJECTS: usize = 128;
/// Most of the subject of the others, and of a tool's name.
const SHORT_SUBJECT: usize = 128;

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
    /// The tools as they were when the turn began; with those of servers from the first request on.
    pub(crate) definitions: Vec<ToolDefinition>,
    /// The settings as they were when the turn began.
    pub(crate) settings: Arc<Settings>,
    /// Whether it is known what servers offer.
    pub(crate) offered: Offered,
    /// Whether what came before was summed up in this turn: once is enough.
    pub(crate) compacted: bool,
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
    /// The model, for a summary.
    Compacting,
}

/// Whether a turn knows what servers offer beside our own tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// Nobody was asked.
    Unknown,
    /// Its first request waits for them.
    Awaited,
    /// It stays so to the end of the turn.
    Known,
}

impl LiveTurn {
    pub(crate) fn new(
        row: TurnRow,
        definitions: Vec<ToolDefinition>,
        settings: Arc<Settings>,
    ) -> Self {
        Self {
            row,
            stage: Stage::Model,
            request: 0,
            tries: 0,
            answer: None,
            calls: Vec::new(),
            definitions,
            settings,
            offered: Offered::Unknown,
            compacted: false,
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.row.stage == TurnStage::Stopping
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.calls.iter().all(|call| call.phase == Phase::Done)
    }
}

impl Conversation {
    /// Begins a turn that answers these submissions.
    pub(crate) fn begin_turn(&mut self, taken: Vec<SubmissionRow>, out: &mut Out) {
        let row = TurnRow {
            id: self.counters.turn(),
            conversation: self.row.id,
            started_ms: out.now_ms,
            stage: TurnStage::Running,
            compaction: None,
        };
        let id = row.id;
        out.record(Record::Turn(row.clone()));
        self.turn = Some(LiveTurn::new(
            row,
            self.definitions(),
            Arc::clone(&self.settings),
        ));
        for submission in taken {
            self.take(submission, id, out);
        }
        self.request_model(out);
    }

    /// Asks the model, after the steers that came in.
    pub(crate) fn request_model(&mut self, out: &mut Out) {
        let Some((id, mode)) = self
            .turn
            .as_ref()
            .map(|turn| (turn.row.id, turn.settings.steering))
        else {
            return;
        };
        let steers = self.steers(mode);
        for steer in steers {
            self.take(steer, id, out);
        }
        if self.awaits_offer(out) {
            return;
        }
        if self.is_nearly_full() {
            return self.compact_first(out);
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

    /// Asks what servers offer, where the turn does not know it and there may be any; then its request waits.
    fn awaits_offer(&mut self, out: &mut Out) -> bool {
        let asks = self.rules.servers;
        let Some(turn) = self
            .turn
            .as_mut()
            .filter(|turn| asks && turn.offered != Offered::Known)
        else {
            return false;
        };
        turn.stage = Stage::Model;
        turn.calls.clear();
        if turn.offered == Offered::Unknown {
            turn.offered = Offered::Awaited;
            out.then(Effect::AskServers);
        }
        true
    }

    /// Takes what servers offer; for this turn it stays so.
    pub(crate) fn offered(&mut self, tools: Vec<ToolDefinition>, out: &mut Out) {
        let awaits = |turn: &&mut LiveTurn| turn.offered == Offered::Awaited && !turn.is_stopping();
        let Some(turn) = self.turn.as_mut().filter(awaits) else {
            return;
        };
        turn.offered = Offered::Known;
        let offered = tools
            .into_iter()
            .filter(|tool| turn.settings.offers(&tool.name));
        turn.definitions.extend(offered);
        self.request_model(out);
    }

    pub(crate) fn retry_due(&mut self, out: &mut Out) {
        let waits = |turn: &LiveTurn| matches!(turn.stage, Stage::Retry { .. });
        let Some(turn) = self.turn.as_ref().filter(|turn| waits(turn)) else {
            return;
        };
        match turn.row.compaction {
            Some(_) => self.summarize(out),
            None => self.request_model(out),
        }
    }

    /// Returns the turn, where this is the request it waits for.
    pub(crate) fn waiting_for(&mut self, request: u32) -> Option<&mut LiveTurn> {
        let waits = |turn: &&mut LiveTurn| matches!(turn.stage, Stage::Model | Stage::Compacting);
        self.turn
            .as_mut()
            .filter(|turn| turn.request == request)
            .filter(waits)
    }

    pub(crate) fn model_done(&mut self, request: u32, response: Response, out: &mut Out) {
        let Some(turn) = self.waiting_for(request) else {
            return;
        };
        if turn.stage == Stage::Compacting {
            return self.summed_up(response, out);
        }
        turn.tries = 0;
        turn.answer = None;
        turn.stage = Stage::Tools;
        let id = turn.row.id;
        let calls = self.add_answer(response, false, id, out);
        for row in &calls {
            out.record(Record::Call(row.clone()));
        }
        let calls = calls.into_iter().map(|row| self.known(row)).collect();
        if let Some(turn) = &mut self.turn {
            turn.calls = calls;
        }
        self.advance(out);
    }

    /// Adds an answer and returns its calls.
    pub(crate) fn add_answer(
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
        let usage = usage.map(|usage| self.priced(usage));
        let mut calls = Vec::new();
        let shown = blocks
            .iter()
            .map(|block| self.shown(block, turn, &mut calls))
            .collect();
        self.add_usage(usage.as_ref());
        self.record_row(out);
        let model = self.row.model.clone();
        let author = self.model_author();
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
                // An answer of very many calls has short lines, so that all of them can be shown together.
                let most = match calls.len() {
                    0..FULL_SUBJECTS => fit::SUBJECT_BYTES,
                    _ => SHORT_SUBJECT,
                };
                let row = CallRow {
                    call: self.counters.call(calls.len()),
                    turn,
                    tool: fit::start(tool, SHORT_SUBJECT),
                    subject: arguments
                        .as_ref()
                        .map(|arguments| fit::start(&(self.rules.subject)(tool, arguments), most))
                        .unwrap_or_default(),
                    arguments: arguments.clone(),
                    stage: CallStage::Queued,
                    command: None,
                    started_ms: None,
                    child: None,
                    nested: Vec::new(),
                    parent: None,
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
}

#[cfg(test)]
mod tests;
