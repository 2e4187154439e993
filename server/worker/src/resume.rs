//! A conversation from its rows, and taking up what a crash interrupted. A call that had started is not run again.

use std::{collections::BTreeSet, path::PathBuf};

use porthole_protocol::{Block, CallId, EntryBody, ModelInfo, QuestionState, RunId, ToolOutcome};
use serde_json::Value;

use crate::{
    call::{Phase, told},
    conversation::{Conversation, Out, Rules},
    prompt::Context,
    record::{CallRow, CallStage, Loaded, QuestionRow},
    shell::LiveShell,
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
        cwd: PathBuf,
        rules: Rules,
    ) -> Self {
        let mut context = Context::default();
        for (entry, blocks) in &loaded.active {
            context.push(entry, blocks.as_deref());
        }
        let mut conversation = Self {
            row: loaded.row,
            counters: loaded.counters,
            context,
            queue: loaded.queue,
            turn: None,
            settled: Default::default(),
            shells: Vec::new(),
            allowed: BTreeSet::from_iter(loaded.allowed),
            model,
            cwd,
            updated_ms: loaded.updated_ms,
            answered: false,
            rules,
        };
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
            let mut turn = LiveTurn::new(row, (rules.definitions)());
            turn.calls = loaded
                .calls
                .into_iter()
                .filter(|call| call.turn == turn.row.id)
                .map(|mut row| {
                    row.arguments = arguments(&loaded.active, &row.call);
                    conversation.interrupted_call(row, &loaded.questions)
                })
                .collect();
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
        let runs: Vec<RunId> = self.shells.iter().map(|s| s.row.run.clone()).collect();
        for run in runs {
            let text = SHELL_INTERRUPTED.to_owned();
            let result = told(ToolOutcome::Interrupted, "interrupted", text);
            self.shell_done(&run, result, out);
        }
        if self.turn.is_some() {
            self.resume_turn(out);
        } else {
            self.next_turn(out);
        }
    }

    fn resume_turn(&mut self, out: &mut Out) {
        let Some(turn) = &mut self.turn else { return };
        if turn.calls.is_empty() && !turn.is_stopping() {
            return self.request_model(out);
        }
        turn.stage = Stage::Tools;
        // In a turn that was told to stop only these are left: the stop settled all others in its own commit.
        for at in 0..turn.calls.len() {
            if self
                .turn
                .as_ref()
                .is_some_and(|turn| turn.calls[at].phase == Phase::Running)
            {
                self.settle(at, interrupted(), out);
            }
        }
        self.advance(out);
    }
}

fn interrupted() -> ToolResult {
    told(
        ToolOutcome::Interrupted,
        "interrupted",
        INTERRUPTED.to_owned(),
    )
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
