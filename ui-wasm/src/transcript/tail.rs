//! What stands below the committed entries: the answer that comes in, tools, what the turn waits for, and what is on its way in.

use porthole_protocol::{Block, EntryBody, OpenAnswer, SendMode, Submission, Turn, TurnPhase};
use ratatui_core::text::{Line, Span};

use super::build::Builder;
use super::card::spinner;
use super::laid::{ItemKey, Laid, Row, Segment, Target};
use super::remark::{said, ticked};
use super::{Sending, clock};
use crate::text;

/// Rows of an input that waits.
const WAITING_ROWS: usize = 6;
/// Bytes of an input that waits that are looked at.
const WAITING_BYTES: usize = 2 << 10;

/// An item below the entries; the answer that comes in is kept elsewhere, since it is long.
pub(crate) struct TailItem {
    pub(crate) key: ItemKey,
    pub(crate) laid: Laid,
}

impl Builder<'_> {
    /// Returns the items below the entries, top first. `old` is the open answer as it was.
    pub(crate) fn tail(
        &mut self,
        sending: &[Sending],
        old: Option<Laid>,
        after_tool: bool,
    ) -> Vec<TailItem> {
        let state = self.state;
        let mut items = Vec::new();
        let mut after_tool = after_tool;
        if let Some(turn) = &state.turn {
            if let Some(answer) = self.open_answer(turn) {
                items.push(TailItem {
                    key: ItemKey::Open(turn.id),
                    laid: self.open(turn, answer, old, after_tool),
                });
                after_tool = false;
            }
            for run in turn
                .tools
                .iter()
                .filter(|run| !self.index.has_call(&run.call))
            {
                let rows = self.call_rows(&run.call, &run.tool, &run.subject, after_tool);
                after_tool = true;
                items.push(item(ItemKey::Tool(run.call.clone()), rows));
            }
            items.extend(self.phase(turn).map(|rows| item(ItemKey::Phase, rows)));
        }
        for submission in &state.submissions {
            items.push(item(
                ItemKey::Submission(submission.id),
                self.submission(submission),
            ));
        }
        for (at, sending) in (0..).zip(sending) {
            items.push(item(ItemKey::Sending(at), self.sending(sending)));
        }
        items
    }

    /// Returns the answer that comes in, unless the newest entry is that answer already.
    fn open_answer<'t>(&self, turn: &'t Turn) -> Option<&'t OpenAnswer> {
        let answer = turn.answer.as_ref()?;
        if answer.text.is_empty() && answer.thinking.is_empty() {
            return None;
        }
        let committed = self
            .state
            .entries
            .last()
            .is_some_and(|entry| match &entry.body {
                EntryBody::Answer { blocks, .. } if entry.turn == Some(turn.id) => {
                    is_whole(blocks, answer)
                }
                _ => false,
            });
        (!committed).then_some(answer)
    }

    fn open(
        &mut self,
        turn: &Turn,
        answer: &OpenAnswer,
        old: Option<Laid>,
        after_tool: bool,
    ) -> Laid {
        let mut blocks = Vec::with_capacity(2);
        if !answer.thinking.is_empty() {
            blocks.push(Block::Thinking {
                text: answer.thinking.clone(),
            });
        }
        blocks.push(Block::Text {
            text: answer.text.clone(),
        });
        self.answer(
            &blocks,
            &|_| Target::OpenThinking(turn.id),
            None,
            old,
            after_tool,
        )
    }

    fn phase(&self, turn: &Turn) -> Option<Vec<Row>> {
        let theme = self.cx.theme;
        let now = self.cx.now_ms;
        let since = clock::elapsed(now.saturating_sub(turn.started_ms));
        let busy = spinner(now, self.cx.animate);
        let (glyph, style, words) = match &turn.phase {
            TurnPhase::Model => (
                busy,
                theme.accent,
                format!("{} {since} · Esc stops", self.doing(turn)),
            ),
            TurnPhase::Tools | TurnPhase::Question => return None,
            TurnPhase::Retry {
                at_ms,
                attempt,
                reason,
            } => {
                let left = at_ms.saturating_sub(now).div_ceil(1000);
                let next = match left {
                    0 => "trying again".to_owned(),
                    left => format!("try {attempt} in {left} s"),
                };
                let words = format!("{next} · Esc stops · {reason}");
                ("○", theme.warn, words)
            }
            TurnPhase::Stopping => (busy, theme.accent, "stopping".to_owned()),
            TurnPhase::Compacting => (busy, theme.accent, "compacting".to_owned()),
        };
        let mut rows = vec![Row::default()];
        let lines = text::wrap_line(&ticked(&words, theme.dim, theme.code), self.cols);
        rows.extend(lines.into_iter().map(Row::of));
        if let Some(first) = rows.get_mut(1) {
            first.gutter = Span::styled(format!("{glyph} "), style);
        }
        Some(rows)
    }

    fn doing(&self, turn: &Turn) -> String {
        match &turn.answer {
            Some(answer) if !answer.text.is_empty() => "writing".to_owned(),
            Some(answer) if !answer.thinking.is_empty() => "thinking".to_owned(),
            _ => format!("waiting for {}", text::clean(&self.state.info.model.model)),
        }
    }

    fn submission(&self, submission: &Submission) -> Vec<Row> {
        let who = self.name(&submission.author);
        let mine = submission.author.id == self.cx.me;
        let head = match (&self.state.turn, mine) {
            (Some(_), _) => format!("{who} · queued, {}", when(submission.mode)),
            (None, true) => {
                format!("{who} · kept; goes with your next message · Alt-↑ takes it back")
            }
            (None, false) => format!("{who} · kept; goes with the next message"),
        };
        let mut rows = self.waiting(&head, &submission.text);
        rows.extend(self.attached(&submission.attachments, self.cx.theme.dim));
        rows
    }

    fn sending(&self, sending: &Sending) -> Vec<Row> {
        if let Some(why) = &sending.failed {
            let mut rows = self.waiting("not sent", &sending.text);
            rows.extend(self.error(why, "").into_iter().skip(1));
            return rows;
        }
        let head = if sending.uncertain {
            "not sure it arrived · asking again"
        } else {
            "sending"
        };
        self.waiting(head, &sending.text)
    }

    fn waiting(&self, head: &str, words: &str) -> Vec<Row> {
        let theme = self.cx.theme;
        let mut rows = vec![
            Row::default(),
            Row::of(Line::styled(text::cut(head, self.cols), theme.dim)),
        ];
        let start = &words[..words.floor_char_boundary(WAITING_BYTES)];
        let mut lines = text::wrap(start.trim_end(), self.cols);
        if lines.len() > WAITING_ROWS || start.len() < words.len() {
            lines.truncate(WAITING_ROWS - 1);
            lines.push("…".to_owned());
        }
        rows.extend(
            lines
                .into_iter()
                .map(|line| said(line, theme.dim, theme.dim)),
        );
        rows
    }
}

fn item(key: ItemKey, rows: Vec<Row>) -> TailItem {
    TailItem {
        key,
        laid: Laid {
            segments: vec![Segment::Rows(rows)],
            behind: false,
        },
    }
}

fn when(mode: SendMode) -> &'static str {
    match mode {
        SendMode::FollowUp => "follows this turn",
        SendMode::Steer => "steers this turn",
    }
}

fn is_whole(blocks: &[Block], answer: &OpenAnswer) -> bool {
    let (mut words, mut thought) = (answer.text.as_str(), answer.thinking.as_str());
    for block in blocks {
        match block {
            Block::Text { text } => words = words.strip_prefix(text.as_str()).unwrap_or(words),
            Block::Thinking { text } => {
                thought = thought.strip_prefix(text.as_str()).unwrap_or(thought)
            }
            Block::ToolCall { .. } => {}
        }
    }
    words.is_empty() && thought.is_empty()
}
