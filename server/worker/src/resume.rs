//! A conversation from its rows, and taking up what a crash interrupted. A call that had started is not run again.

use std::{collections::BTreeSet, sync::Arc};

use porthole_protocol::{
    Block, CallId, EntryBody, ModelInfo, QuestionState, RunId, RunOutput, Settings, ToolDetail,
    ToolOutcome,
};
use serde_json::Value;

use crate::{
    branch,
    call::{Phase, told},
    conversation::{Conversation, Effect, Out, Rules, porthole},
    location::Place,
    nested,
    prompt::Context,
    record::{CallRow, CallStage, Loaded, QuestionRow},
    shell::{LiveShell, ended},
    tool::ToolResult,
    turn::{LiveTurn, Stage},
};

/// Told to the model of a call that had started.
const INTERRUPTED: &str = "Interrupted: the worker ended while this call ran, and it was not run again. \
     It may have had its effect, in whole or in part; look before you make it again.";
/// Shown of a command that had started.
const SHELL_INTERRUPTED: &str = "interrupted: the worker ended while this ran";

impl Conversation {
    /// Returns the conversation as it was when the worker ended. Nothing runs before [`crate::conversation::Input::Resume`].
    pub(crate) fn from_loaded(
        loaded: Loaded,
        model: Option<ModelInfo>,
        place: Place,
        rules: Rules,
        settings: Arc<Settings>,
    ) -> Self {
        let mut conversation = Self {
            row: loaded.row,
            counters: loaded.counters,
            context: Context::default(),
            queue: loaded.queue,
            turn: None,
            settled: Default::default(),
            shells: Vec::new(),
            orphans: Vec::new(),
            allowed: BTreeSet::from_iter(loaded.allowed),
            model,
            place,
            overhead: 0,
            failed: None,
            report: branch::nothing_said(),
            updated_ms: loaded.updated_ms,
            answered: false,
            rules,
            settings,
            guests: BTreeSet::new(),
            last: None,
        };
        for (entry, blocks) in &loaded.active {
            conversation.note(entry);
            conversation.context.push(entry, blocks.as_deref());
        }
        for row in &loaded.questions {
            if let QuestionState::Answered { by, .. } = &row.question.state {
                conversation.remember(&row.question, &by.name);
            } else {
                conversation.remember(&row.question, "");
            }
        }
        let shells = loaded.shells.into_iter();
        conversation.shells = shells.map(|row| LiveShell { row, output: None }).collect();
        if let Some(row) = loaded.turn {
            let mut turn = LiveTurn::new(
                row,
                conversation.definitions(),
                Arc::clone(&conversation.settings),
            );
            let of_turn = |entry: &porthole_protocol::Entry| {
                entry.turn == Some(turn.row.id)
                    && matches!(entry.body, EntryBody::Compaction { .. })
            };
            turn.compacted = loaded.active.iter().any(|(entry, _)| of_turn(entry));
            turn.calls = loaded
                .calls
                .into_iter()
                .filter(|call| call.turn == turn.row.id)
                .map(|mut row| {
                    row.arguments = arguments(&loaded.active, &row.call);
                    conversation.interrupted_call(row, &loaded.questions)
                })
                .collect();
            let orphan = |row: &&QuestionRow| {
                let asked = |call: &crate::call::LiveCall| call.row.call == row.question.call;
                row.turn == turn.row.id
                    && row.question.state == QuestionState::Open
                    && !turn.calls.iter().any(asked)
            };
            let orphans = loaded.questions.iter().filter(orphan);
            conversation.orphans = orphans.cloned().collect();
            conversation.turn = Some(turn);
        }
        conversation
    }

    fn interrupted_call(&self, row: CallRow, questions: &[QuestionRow]) -> crate::call::LiveCall {
        let open = questions
            .iter()
            .rfind(|q| q.question.call == row.call && q.question.state == QuestionState::Open);
        let mut call = self.live(row);
        call.phase = match (call.row.stage, open) {
            (CallStage::Queued, Some(question)) => Phase::Asking(Box::new(question.clone())),
            (CallStage::Queued, None) => Phase::Queued,
            (CallStage::Started, _) => Phase::Running,
            (CallStage::Done, _) => Phase::Done,
        };
        call
    }

    pub(crate) fn resume(&mut self, out: &mut Out) {
        let runs = self.shells.iter();
        let runs = runs.map(|s| (s.row.run.clone(), s.row.command.clone(), s.output.clone()));
        let runs: Vec<(RunId, String, Option<RunOutput>)> = runs.collect();
        for (run, command, output) in runs {
            let text = SHELL_INTERRUPTED.to_owned();
            let mut result = told(ToolOutcome::Interrupted, "interrupted", text.clone());
            result.detail = cut_off(&command, text, output);
            self.shell_done(&run, result, out);
        }
        if self.turn.is_some() {
            self.resume_turn(out);
        } else {
            self.next_turn(out);
        }
    }

    fn resume_turn(&mut self, out: &mut Out) {
        for question in std::mem::take(&mut self.orphans) {
            self.close_question(question, QuestionState::Withdrawn, "", out);
        }
        let Some(turn) = &mut self.turn else { return };
        if turn.row.compaction.is_some() && !turn.is_stopping() {
            turn.compacted = true;
            return self.summarize(out);
        }
        if turn.calls.is_empty() && !turn.is_stopping() {
            return self.request_model(out);
        }
        turn.stage = Stage::Tools;
        if turn.is_stopping() {
            let running = turn
                .calls
                .iter()
                .filter(|call| call.phase == Phase::Running);
            // The work of these goes on in conversations of their own.
            for child in running.filter_map(|call| call.row.child) {
                out.then(Effect::StopChild(child, porthole()));
            }
        }
        let Some(turn) = &self.turn else { return };
        // In a turn that was told to stop only these are left: the stop settled all others in its own commit.
        for at in 0..turn.calls.len() {
            let call = self.turn.as_ref().map(|turn| &turn.calls[at]);
            let call = call.filter(|call| call.phase == Phase::Running);
            if let Some(call) = call.filter(|call| call.row.child.is_none()) {
                let mut result = interrupted(
                    call.row.command.as_deref().unwrap_or(&call.row.subject),
                    call.output.clone(),
                );
                result.text.push_str(&nested::told(&call.row.nested));
                self.settle(at, result, out);
            }
        }
        self.advance(out);
    }
}

fn interrupted(command: &str, output: Option<RunOutput>) -> ToolResult {
    let text = INTERRUPTED.to_owned();
    let mut result = told(ToolOutcome::Interrupted, "interrupted", text);
    if output.is_some() {
        result.detail = cut_off(command, String::new(), output);
    }
    result
}

/// Returns how a command went that the worker did not outlive: what was kept of its output is there to be read.
fn cut_off(command: &str, tail: String, output: Option<RunOutput>) -> ToolDetail {
    let mut detail = ended(command, tail);
    if let ToolDetail::Command { output: kept, .. } = &mut detail {
        *kept = output;
    }
    detail
}

/// Returns the arguments of a call: they are in its answer.
fn arguments(
    active: &[(
        porthole_protocol::Entry,
        Option<Vec<crate::model::AnswerBlock>>,
    )],
    id: &CallId,
) -> Option<Value> {
    let answers = active
        .iter()
        .rev()
        .filter_map(|(entry, _)| match &entry.body {
            EntryBody::Answer { blocks, .. } => Some(blocks),
            _ => None,
        });
    let arguments = answers.flatten().find_map(|block| match block {
        Block::ToolCall {
            call, arguments, ..
        } if call == id => Some(arguments.clone()),
        _ => None,
    });
    arguments.filter(|arguments| !arguments.is_null())
}
