//! Entries as rows: what each kind looks like. It knows no scrolling and keeps nothing.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use porthole_protocol::{
    Block, CallId, ConversationState, Entry, EntryBody, RunId, ToolDetail, ToolRun,
};

use super::ViewContext;
use super::answer::{cut_short, limit};
use super::card;
use super::index::Index;
use super::laid::{Laid, Row, Segment, Target};
use super::output::LiveOutput;
use crate::highlight::Highlighter;

/// Everything that rows are made from.
pub(crate) struct Builder<'a> {
    pub(crate) state: &'a ConversationState,
    pub(crate) cx: &'a ViewContext<'a>,
    pub(crate) index: &'a Index,
    pub(crate) folds: &'a HashMap<Target, bool>,
    pub(crate) show_thinking: bool,
    pub(crate) outputs: &'a HashMap<RunId, LiveOutput>,
    pub(crate) highlighter: &'a mut Highlighter,
    /// Columns for words, beside margin and gutter.
    pub(crate) cols: usize,
}

impl Builder<'_> {
    /// Returns a number that changes when the entry has to be built again.
    pub(crate) fn stamp(&self, entry: &Entry, after_tool: bool) -> u64 {
        let mut hasher = DefaultHasher::new();
        (
            self.cols,
            after_tool,
            self.show_thinking,
            self.cx.utc_offset_minutes,
        )
            .hash(&mut hasher);
        self.folds.get(&Target::Entry(entry.id)).hash(&mut hasher);
        (self.state.info.failed == Some(entry.id)).hash(&mut hasher);
        match &entry.body {
            EntryBody::Answer { blocks, .. } => {
                for (at, block) in blocks.iter().enumerate() {
                    self.stamp_block(entry, at, block, &mut hasher);
                }
            }
            EntryBody::ToolResult { call, .. } => self.stamp_call(call, &mut hasher),
            EntryBody::Shell {
                detail:
                    ToolDetail::Command {
                        tail,
                        exit,
                        signal,
                        output,
                        ..
                    },
                ..
            } => {
                let known = output
                    .as_ref()
                    .and_then(|output| self.outputs.get(&output.run));
                (
                    tail.len(),
                    exit,
                    signal,
                    output.as_ref().map(|o| (o.bytes, o.complete)),
                )
                    .hash(&mut hasher);
                known.map(LiveOutput::end).hash(&mut hasher);
            }
            _ => {}
        }
        hasher.finish()
    }

    fn stamp_block(&self, entry: &Entry, at: usize, block: &Block, hasher: &mut DefaultHasher) {
        match block {
            Block::ToolCall { call, .. } => self.stamp_call(call, hasher),
            Block::Thinking { .. } => self.folds.get(&thinking_target(entry, at)).hash(hasher),
            Block::Text { .. } => {}
        }
    }

    fn stamp_call(&self, call: &CallId, hasher: &mut DefaultHasher) {
        self.folds.get(&Target::Call(call.clone())).hash(hasher);
        let result = self.index.result(call, self.state);
        result.map(|entry| entry.id).hash(hasher);
        if result.is_none() {
            // What runs shows a clock, and its output grows.
            self.state.turn.is_some().hash(hasher);
            if let Some(run) = self.run(call) {
                (self.cx.now_ms / 250).hash(hasher);
                let output = run.output.as_ref();
                let known = output.and_then(|output| self.outputs.get(&output.run));
                (
                    output.map(|output| output.bytes),
                    known.map(LiveOutput::end),
                )
                    .hash(hasher);
            }
        }
    }

    /// Returns a call that has no result yet.
    pub(crate) fn run(&self, call: &CallId) -> Option<&ToolRun> {
        self.state
            .turn
            .as_ref()?
            .tools
            .iter()
            .find(|run| run.call == *call)
    }

    pub(crate) fn is_open(&self, target: &Target) -> bool {
        let by_itself = match target {
            Target::Call(call) => self
                .index
                .result(call, self.state)
                .is_some_and(card::opens_by_itself),
            Target::Entry(id) => self.entry_opens(*id),
            Target::Thinking(..) | Target::OpenThinking(_) => self.show_thinking,
        };
        self.folds.get(target).copied().unwrap_or(by_itself)
    }

    fn entry_opens(&self, id: porthole_protocol::EntryId) -> bool {
        let entry = self
            .state
            .position(id)
            .and_then(|at| self.state.entries.get(at));
        entry.is_some_and(|entry| matches!(entry.body, EntryBody::Shell { .. }))
    }

    /// Whether an entry ends in a closed card, so that another card may follow without a blank line.
    pub(crate) fn ends_in_card(&self, entry: &Entry) -> bool {
        match &entry.body {
            EntryBody::Answer {
                blocks, incomplete, ..
            } => match blocks.last() {
                Some(Block::ToolCall { call, .. }) => {
                    !incomplete && !self.is_open(&Target::Call(call.clone()))
                }
                _ => false,
            },
            EntryBody::ToolResult { call, .. } => !self.is_open(&Target::Call(call.clone())),
            _ => false,
        }
    }

    /// Returns an entry as rows. `old` is what it was before; its words are laid out again only where they changed.
    pub(crate) fn entry(&mut self, entry: &Entry, old: Option<Laid>, after_tool: bool) -> Laid {
        match &entry.body {
            EntryBody::Answer {
                blocks,
                stop,
                incomplete,
                ..
            } => {
                let ending = incomplete
                    .then(|| cut_short(stop.as_deref()))
                    .or_else(|| limit(stop.as_deref()));
                let name = |at: usize| thinking_target(entry, at);
                self.answer(blocks, &name, ending, old, after_tool)
            }
            EntryBody::Compaction { summary, .. } => self.compaction(entry, summary, old),
            body => {
                let mut rows = Vec::new();
                match body {
                    EntryBody::Message {
                        text,
                        mode,
                        attachments,
                    } => rows = self.message(entry, text, *mode, attachments),
                    EntryBody::ToolResult { call, .. } => {
                        rows = self.call_rows(call, "", "", after_tool)
                    }
                    EntryBody::Shell {
                        command,
                        included,
                        detail,
                    } => {
                        rows = self.shell(entry, command, *included, detail);
                    }
                    EntryBody::Notice { text } => rows = self.notice(text),
                    EntryBody::Error { text, hint } => {
                        rows = self.error(text, hint);
                        if self.state.info.failed == Some(entry.id) {
                            rows.push(self.again());
                        }
                    }
                    EntryBody::Reset => {
                        let words = "new start: the model sees nothing from above";
                        rows = vec![Row::default(), self.mark(words, None)];
                    }
                    EntryBody::Excluded { excluded, .. } => {
                        let words = match excluded {
                            true => "an entry is left out of what the model sees",
                            false => "an entry is back in what the model sees",
                        };
                        rows = vec![Row::default(), self.mark(words, None)];
                    }
                    EntryBody::Retried { .. } => rows = self.notice("tried again"),
                    EntryBody::Forked { .. } => {
                        let words = "continued here from another conversation";
                        rows = vec![Row::default(), self.mark(words, None)];
                    }
                    EntryBody::Moved { dir } => rows = self.notice(&format!("moved to {dir}")),
                    EntryBody::Answer { .. } | EntryBody::Compaction { .. } => {}
                }
                self.laid(vec![Segment::Rows(rows)])
            }
        }
    }

    pub(crate) fn laid(&self, segments: Vec<Segment>) -> Laid {
        let words_behind =
            |segment: &Segment| matches!(segment, Segment::Words(words) if words.is_behind());
        let behind = self.highlighter.is_behind() || segments.iter().any(words_behind);
        Laid { segments, behind }
    }
}

fn thinking_target(entry: &Entry, at: usize) -> Target {
    Target::Thinking(entry.id, u32::try_from(at).unwrap_or(u32::MAX))
}
