//! A model request that failed: another try, or one error entry for the input it failed and what had arrived.

use std::sync::Arc;

use porthole_protocol::EntryBody;

use crate::{
    conversation::{Conversation, Effect, Out, porthole},
    model::{AnswerBlock, ModelError, ModelErrorKind, Response},
    turn::Stage,
};

/// An estimate below this cannot have been too much for any model.
const KNOWN_TOKENS: u64 = 1_000;

impl Conversation {
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
        let summing_up = turn.stage == Stage::Compacting;
        let settings = Arc::clone(&turn.settings);
        let delay = retry_delay(&settings.retry, &error, turn.tries + 1, jitter);
        let overflow = error.kind == ModelErrorKind::ContextOverflow;
        let may_sum_up = settings.compaction.automatic && !summing_up && !turn.compacted;
        if overflow && may_sum_up && self.is_more_than_asked() {
            self.spent(&error, out);
            return self.compact_first(out);
        }
        if delay.is_some() {
            // What a try used is paid for, whatever the next one brings.
            self.spent(&error, out);
        }
        let Some(turn) = self.waiting_for(request) else {
            return;
        };
        if let Some(delay) = delay {
            let wait = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            let at_ms = out.now_ms.saturating_add(wait);
            turn.stage = Stage::Retry {
                at_ms,
                reason: error.message,
            };
            // What had arrived stays to be looked at until the next try replaces it.
            return out.then(Effect::SetRetry { at_ms });
        }
        if summing_up {
            return self.compaction_failed(&error, out);
        }
        let id = turn.row.id;
        self.keep_partial(error.partial.as_ref(), out);
        let asked = error.retry_after.filter(|_| error.retryable);
        let (text, mut hint) = self.failure(error);
        if let (Some(asked), Some(most)) = (asked, settings.retry.longest_asked_s)
            && asked.as_secs() > most
        {
            let seconds = asked.as_secs();
            hint = format!(
                "the provider asks for a wait of {seconds} s, and `retry.longest_asked_s` allows {most}; `/retry` then"
            );
        }
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

    /// Counts what a try used that leads to no answer.
    pub(crate) fn spent(&mut self, error: &ModelError, out: &mut Out) {
        if let Some(usage) = error.partial.usage {
            let usage = self.priced(usage);
            self.add_usage(Some(&usage));
            self.record_row(out);
        }
    }

    /// Returns a failure in words for a person: what failed, and what to do.
    fn failure(&self, error: ModelError) -> (String, String) {
        if error.kind != ModelErrorKind::ContextOverflow {
            return (error.message, error.hint);
        }
        let model = &self.row.model;
        let tokens = self.tokens();
        let window = self.model.as_ref().and_then(|m| m.context);
        // An estimate that would fit is wrong, and says nothing.
        let sizes = match window {
            Some(window) if tokens >= window => {
                format!(": about {tokens} tokens, and its window holds {window} tokens")
            }
            Some(window) => format!(": its window holds {window} tokens"),
            None if tokens >= KNOWN_TOKENS => format!(": about {tokens} tokens"),
            None => String::new(),
        };
        (
            format!(
                "this conversation no longer fits into `{model}`{sizes} ({})",
                error.message
            ),
            "choose a model with a larger window (`/model`), or go on in a new session".to_owned(),
        )
    }

    /// Keeps what had arrived of an answer that will not be finished. Only its text is ever sent to a model again.
    pub(crate) fn keep_partial(&mut self, partial: &Response, out: &mut Out) {
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
}
