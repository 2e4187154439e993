//! A tool call of an answer: when it may begin, what the policy makes of it, and how it gets its one result.

use porthole_protocol::{
    Author, AuthorKind, CallId, EntryBody, RunId, RunOutput, ToolDetail, ToolOutcome,
};

use crate::{
    branch::MOST_DEPTH,
    conversation::{Conversation, Effect, Out, Planned, ToolStart},
    fit, mcp,
    policy::{self, Verdict},
    record::{CallRow, CallStage, QuestionRow, Record},
    tool::{ToolEffect, ToolResult},
    turn::LiveTurn,
};

/// Told to the model where its arguments were no JSON.
const NOT_JSON: &str =
    "The arguments of this call were not valid JSON, so it did not run. Make the call again.";

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

impl LiveCall {
    fn reads(&self) -> bool {
        // A call that cannot be planned touches nothing.
        self.planned
            .as_ref()
            .map_or(true, |planned| match planned.effect {
                // The work of a delegated task goes on beside; its own calls keep the order among themselves.
                ToolEffect::Reads | ToolEffect::Delegates { .. } => true,
                // A script's calls run in its place, so nothing else may.
                ToolEffect::Scripts
                | ToolEffect::Calls { .. }
                | ToolEffect::ReadsOutside
                | ToolEffect::Closed
                | ToolEffect::Edits { .. }
                | ToolEffect::Executes { .. } => false,
            })
    }

    pub(crate) fn start(&self) -> ToolStart {
        ToolStart {
            call: self.row.call.clone(),
            tool: self.row.tool.clone(),
            arguments: self.row.arguments.clone().unwrap_or_default(),
            command: self.row.command.clone(),
            agreed: self.planned.as_ref().ok().cloned(),
        }
    }
}

impl LiveTurn {
    /// Returns the first call that may begin now: reads beside reads, everything else alone and in order.
    pub(crate) fn startable(&self) -> Option<usize> {
        let most = usize::try_from(self.settings.tools_at_once).unwrap_or(1);
        let mut running = 0;
        // What a script calls begins at once: its script is all that runs.
        let own = |(_, call): &(usize, &LiveCall)| call.row.parent.is_none();
        for (at, call) in self.calls.iter().enumerate().filter(own) {
            match call.phase {
                Phase::Done => {}
                Phase::Running if call.reads() => running += 1,
                Phase::Queued if running == 0 || (call.reads() && running < most) => {
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

impl Conversation {
    /// Returns a call of a new answer: the turn has to have that tool.
    pub(crate) fn known(&self, row: CallRow) -> LiveCall {
        let has = |turn: &LiveTurn| turn.definitions.iter().any(|tool| tool.name == row.tool);
        let lacks = mcp::is_tool(&row.tool) && !self.turn.as_ref().is_some_and(has);
        let mut call = self.live(row);
        if lacks {
            call.planned = Err(format!("There is no tool `{}`.", call.row.tool));
        }
        call
    }

    /// Returns a call with what it would do.
    pub(crate) fn live(&self, row: CallRow) -> LiveCall {
        let planned = match &row.arguments {
            None => Err(NOT_JSON.to_owned()),
            Some(arguments) => {
                (self.rules.plan)(&row.tool, arguments, &self.place).map_err(|e| e.to_string())
            }
        };
        LiveCall {
            row,
            phase: Phase::Queued,
            planned,
            output: None,
        }
    }

    pub(crate) fn begin_call(&mut self, at: usize, out: &mut Out) {
        let bound = self.bound_to();
        let Some(turn) = self.turn.as_mut() else {
            return;
        };
        let turn_settings = std::sync::Arc::clone(&turn.settings);
        let Some(call) = turn.calls.get_mut(at) else {
            return;
        };
        // Made anew: calls before this one may have changed where paths lead.
        if let (Ok(_), Some(arguments)) = (&call.planned, &call.row.arguments) {
            let planned = (self.rules.plan)(&call.row.tool, arguments, &self.place);
            call.planned = planned.map_err(|error| error.to_string());
        }
        let planned = match &call.planned {
            Ok(planned) => planned,
            Err(why) => {
                let result = told(ToolOutcome::Failed, "not run", why.clone());
                return self.settle(at, result, out);
            }
        };
        let key = policy::key(&call.row.tool, &planned.subject, &planned.effect);
        let stand = policy::Stand::new(&turn_settings, self.row.policy, &bound, &call.row.tool);
        match policy::decide(stand, &planned.effect, &self.allowed, &key) {
            Verdict::Run => self.start_call(at, out),
            Verdict::Refuse(why) => {
                let result = told(ToolOutcome::Denied, "refused", why.to_owned());
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
        let task = match &call.planned {
            Ok(Planned {
                effect: ToolEffect::Delegates { task, title },
                ..
            }) => Some((task.clone(), title.clone())),
            _ => None,
        };
        let too_deep = task.is_some() && self.row.depth >= MOST_DEPTH;
        if too_deep {
            let text = format!(
                "Not done: tasks are handed on at most {MOST_DEPTH} times. Do it yourself."
            );
            return self.settle(at, told(ToolOutcome::Failed, "too deep", text), out);
        }
        call.phase = Phase::Running;
        call.row.stage = CallStage::Started;
        call.row.started_ms = Some(out.now_ms);
        let (mut row, start) = (call.row.clone(), call.start());
        match task {
            Some((task, title)) => {
                row.child = Some(self.delegate(&row, &task, title.as_deref(), out));
                let call = self.turn.as_mut().and_then(|turn| turn.calls.get_mut(at));
                if let Some(call) = call {
                    call.row.child = row.child;
                }
            }
            None => out.then(Effect::StartTool(start)),
        }
        // What a script calls stands in the script's row already.
        if row.parent.is_none() {
            out.record(Record::Call(row));
        }
    }

    /// Gives a call its result.
    pub(crate) fn settle(&mut self, at: usize, result: ToolResult, out: &mut Out) {
        let Some(turn) = &mut self.turn else { return };
        let id = turn.row.id;
        let Some(call) = turn.calls.get_mut(at) else {
            return;
        };
        if let Some(parent) = call.row.parent.clone() {
            return self.settle_nested(at, &parent, result, out);
        }
        self.end_nested(at, out);
        let Some(call) = self.turn.as_mut().and_then(|turn| turn.calls.get_mut(at)) else {
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
                .as_ref()
                .map_or_else(|| call.row.subject.clone(), |command| subject(command)),
            outcome: result.outcome,
            summary: result.summary,
            text: result.text,
            detail: result.detail,
            duration_ms: out.now_ms.saturating_sub(started),
            nested: call.row.nested.clone(),
            attachments: result.attachments,
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

    pub(crate) fn progress(&mut self, run: &RunId, output: RunOutput) {
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

/// Returns a command as what a call is about.
pub(crate) fn subject(command: &str) -> String {
    fit::start(command, fit::SUBJECT_BYTES)
}

/// Returns a result that no tool made.
pub(crate) fn told(outcome: ToolOutcome, summary: &str, text: String) -> ToolResult {
    ToolResult {
        attachments: Vec::new(),
        outcome,
        summary: summary.to_owned(),
        text,
        detail: ToolDetail::Text,
    }
}
