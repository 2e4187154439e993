//! Stopping: what had arrived is kept, questions are withdrawn, what runs is told to end, and the queue waits.

use porthole_protocol::{Author, EntryBody, QuestionState, ToolOutcome};

use crate::{
    call::{Phase, told},
    conversation::{Conversation, Effect, Out, porthole},
    model::Response,
    record::{Record, TurnStage},
    turn::Stage,
};

/// Told to the model of a call that had not begun when the turn was stopped.
pub(crate) const CANCELLED: &str = "Cancelled: a person stopped the turn before this call ran.";

impl Conversation {
    /// Stops what goes on; where nothing does, what finished commands left running. What waits in the queue goes on waiting.
    pub(crate) fn stop(&mut self, by: &Author, out: &mut Out) {
        if !self.shells.is_empty() {
            out.then(Effect::StopTools);
        }
        if self.is_idle() {
            out.then(Effect::EndLeft);
        }
        let Some(turn) = &mut self.turn else { return };
        if turn.is_stopping() {
            // What came in since the first stop waits too.
            return self.pause(out);
        }
        turn.row.stage = TurnStage::Stopping;
        let (id, stage) = (turn.row.id, turn.stage.clone());
        self.pause(out);
        match stage {
            Stage::Model | Stage::Retry { .. } => {
                self.keep_partial(&Response::default(), out);
                out.then(Effect::CancelModel);
            }
            Stage::Compacting => out.then(Effect::CancelModel),
            Stage::Tools => self.stop_calls(by, out),
        }
        let text = format!("{} stopped the task before it was done.", by.name);
        self.report = told(ToolOutcome::Stopped, "stopped", text);
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
                    out.then(match call.row.child {
                        Some(child) => Effect::StopChild(child, by.clone()),
                        None => Effect::StopTools,
                    });
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

    pub(crate) fn pause(&mut self, out: &mut Out) {
        let paused = !self.queue.is_empty();
        if self.row.paused != paused {
            self.row.paused = paused;
            self.record_row(out);
        }
    }
}

#[cfg(test)]
mod tests;
