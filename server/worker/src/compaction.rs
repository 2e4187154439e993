//! Compaction: a summary by the model takes the place of what came before. Nothing is deleted: people go on reading it.
//! A summary that fails changes nothing.

use std::sync::Arc;

use porthole_protocol::{CallError, EntryBody, EntryId, ErrorCode};

use crate::{
    conversation::{Conversation, Effect, Out, porthole},
    model::{AnswerBlock, ModelError, Response},
    record::{CompactionRow, Record, TurnRow, TurnStage},
    turn::{LiveTurn, Stage},
};

/// Fewer tokens than this are never summed up by themselves: instructions and tools alone may be more.
const WORTH_IT: u64 = 2_000;

impl Conversation {
    pub(crate) fn compact(&mut self, instructions: String, out: &mut Out) -> Result<(), CallError> {
        self.rests("sum it up")?;
        if self.context.is_empty() {
            let message = "there is nothing to sum up";
            return Err(CallError::new(ErrorCode::Conflict, message));
        }
        let row = TurnRow {
            id: self.counters.turn(),
            conversation: self.row.id,
            started_ms: out.now_ms,
            stage: TurnStage::Running,
            compaction: Some(CompactionRow {
                automatic: false,
                instructions,
            }),
        };
        out.record(Record::Turn(row.clone()));
        self.turn = Some(LiveTurn::new(row, Vec::new(), Arc::clone(&self.settings)));
        self.summarize(out);
        Ok(())
    }

    /// Says whether what the next request would hold has to be summed up first.
    pub(crate) fn is_nearly_full(&self) -> bool {
        let limit = self.model.as_ref().and_then(|model| model.context);
        let tokens = self.tokens();
        let Some(turn) = self.turn.as_ref().filter(|turn| !turn.compacted) else {
            return false;
        };
        let wish = &turn.settings.compaction;
        let full = |limit| tokens * 100 > limit * u64::from(wish.at_percent);
        wish.automatic
            && limit.is_some_and(|limit| tokens > WORTH_IT && full(limit))
            && self.is_more_than_asked()
    }

    /// Says whether there is more than the messages of the turn: they are kept, so a summary of them alone saves nothing.
    pub(crate) fn is_more_than_asked(&self) -> bool {
        self.context.len() > self.asked().len()
    }

    /// Sums up because there is no room, before the turn goes on.
    pub(crate) fn compact_first(&mut self, out: &mut Out) {
        let Some(turn) = &mut self.turn else { return };
        turn.row.compaction = Some(CompactionRow {
            automatic: true,
            instructions: String::new(),
        });
        turn.compacted = true;
        turn.answer = None;
        turn.tries = 0;
        out.record(Record::Turn(turn.row.clone()));
        self.summarize(out);
    }

    /// Asks for the summary.
    pub(crate) fn summarize(&mut self, out: &mut Out) {
        let Some(turn) = &mut self.turn else { return };
        turn.request += 1;
        turn.tries += 1;
        turn.stage = Stage::Compacting;
        turn.calls.clear();
        let instructions = turn.row.compaction.as_ref();
        out.then(Effect::Summarize {
            request: turn.request,
            instructions: instructions.map_or_else(String::new, |row| row.instructions.clone()),
        });
    }

    /// Takes the summary, and goes on where the turn has input to answer.
    pub(crate) fn summed_up(&mut self, response: Response, out: &mut Out) {
        let text = |block: &AnswerBlock| match block {
            AnswerBlock::Text { text } => Some(text.trim().to_owned()),
            _ => None,
        };
        let texts: Vec<_> = response.blocks.iter().filter_map(text).collect();
        let summary = texts.join("\n\n").trim().to_owned();
        let usage = response.usage.map(|usage| self.priced(usage));
        self.add_usage(usage.as_ref());
        self.record_row(out);
        if summary.is_empty() {
            return self.not_summed_up("the model wrote nothing", out);
        }
        let kept = self.asked();
        let Some(row) = self
            .turn
            .as_mut()
            .and_then(|turn| turn.row.compaction.take())
        else {
            return;
        };
        let id = self.turn.as_ref().map(|turn| turn.row.id);
        let body = EntryBody::Compaction {
            summary,
            automatic: row.automatic,
            kept,
        };
        self.add(self.model_author(), id, body, None, out);
        self.after_summary(row.automatic, out);
    }

    /// A summary failed for good: that is said, and nothing else is changed.
    pub(crate) fn compaction_failed(&mut self, error: &ModelError, out: &mut Out) {
        self.spent(error, out);
        self.not_summed_up(&error.message, out);
    }

    fn not_summed_up(&mut self, why: &str, out: &mut Out) {
        let Some(turn) = &mut self.turn else { return };
        let id = turn.row.id;
        let automatic = turn.row.compaction.take().is_some_and(|row| row.automatic);
        let text = format!("The conversation was not summed up: {why}. Nothing was changed.");
        self.add(porthole(), Some(id), EntryBody::Notice { text }, None, out);
        self.after_summary(automatic, out);
    }

    fn after_summary(&mut self, automatic: bool, out: &mut Out) {
        let Some(turn) = &mut self.turn else { return };
        turn.tries = 0;
        if automatic {
            out.record(Record::Turn(turn.row.clone()));
            self.request_model(out);
        } else {
            self.end_turn(out);
        }
    }

    /// Returns the messages that the turn answers: they go on word for word.
    fn asked(&self) -> Vec<EntryId> {
        let automatic = |turn: &LiveTurn| {
            let row = turn.row.compaction.as_ref();
            row.is_none_or(|row| row.automatic)
        };
        match self.turn.as_ref().filter(|turn| automatic(turn)) {
            Some(turn) => self.context.messages_of(turn.row.id),
            None => Vec::new(),
        }
    }
}
