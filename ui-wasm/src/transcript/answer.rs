//! Answers as rows: words, thoughts, and tool calls with what came of them.

use porthole_protocol::{Block, CallId, Entry, EntryBody, ToolDetail, ToolOutcome, ToolRun};
use ratatui_core::text::{Line, Span};

use super::build::Builder;
use super::card::Card;
use super::laid::{Fold, Laid, Row, Segment, Target};
use super::{detail, nested};
use crate::markdown::{Document, Pens};
use crate::text;

/// Rows of a running command's output.
pub(crate) const LIVE_ROWS: usize = 12;

impl Builder<'_> {
    /// Returns an answer as rows: for each block a segment before it and its own.
    pub(crate) fn answer(
        &mut self,
        blocks: &[Block],
        thinking: &dyn Fn(usize) -> Target,
        ending: Option<String>,
        old: Option<Laid>,
        after_tool: bool,
    ) -> Laid {
        let mut old = old.unwrap_or_default().segments.into_iter();
        let mut segments = Vec::with_capacity(2 * blocks.len() + 1);
        let mut after_card = after_tool;
        for (at, block) in blocks.iter().enumerate() {
            old.next();
            let document = match old.next() {
                Some(Segment::Words(document)) => document,
                _ => Document::default(),
            };
            let (gap, content) = match block {
                Block::Text { text } if text.trim().is_empty() => (0, Segment::Rows(Vec::new())),
                Block::Text { text } => (1, self.words(text, document)),
                Block::Thinking { text } => (1, Segment::Rows(self.thinking(text, thinking(at)))),
                Block::ToolCall {
                    call,
                    tool,
                    subject,
                    ..
                } => {
                    let rows = self.call_rows(call, tool, subject, true);
                    (usize::from(!after_card), Segment::Rows(rows))
                }
            };
            after_card = match (&content, block) {
                (Segment::Rows(rows), Block::ToolCall { .. }) => rows.len() == 1,
                (Segment::Rows(rows), _) if rows.is_empty() => after_card,
                _ => false,
            };
            segments.push(Segment::Rows(vec![Row::default(); gap]));
            segments.push(content);
        }
        if let Some(words) = ending {
            let line = Line::styled(text::cut(&words, self.cols), self.cx.theme.warn);
            let gutter = Span::styled("○ ", self.cx.theme.warn);
            segments.push(Segment::Rows(vec![
                Row::default(),
                Row::behind(gutter, line),
            ]));
        }
        self.laid(segments)
    }

    pub(crate) fn words(&mut self, text: &str, mut document: Document) -> Segment {
        document.lay_out(
            text,
            self.cols,
            &mut Pens {
                theme: self.cx.theme,
                highlighter: self.highlighter,
            },
        );
        Segment::Words(document)
    }

    pub(crate) fn thinking(&self, words: &str, target: Target) -> Vec<Row> {
        let theme = self.cx.theme;
        if words.trim().is_empty() {
            return vec![Row::of(Line::styled(
                "thought, not shown by the provider",
                theme.dim,
            ))];
        }
        let open = self.is_open(&target);
        let flat = words
            .split_whitespace()
            .take(40)
            .collect::<Vec<_>>()
            .join(" ");
        let head = if open {
            "thought".to_owned()
        } else {
            format!("thought: {}", text::clean(&flat))
        };
        let gutter = Span::styled(if open { "▾ " } else { "▸ " }, theme.dim);
        let line = Line::styled(text::cut(&head, self.cols), theme.dim.patch(theme.quote));
        let mut rows = vec![Row {
            gutter,
            line,
            fold: Some(Fold { target, open }),
        }];
        if open {
            let lines = text::wrap(words.trim(), self.cols.saturating_sub(2));
            rows.extend(
                lines
                    .into_iter()
                    .map(|line| indented(Line::styled(line, theme.quote))),
            );
        }
        rows
    }

    /// Returns the rows of a call: its card, and its details where it is open.
    pub(crate) fn call_rows(
        &mut self,
        call: &CallId,
        tool: &str,
        subject: &str,
        close: bool,
    ) -> Vec<Row> {
        let target = Target::Call(call.clone());
        let mut rows = if close {
            Vec::new()
        } else {
            vec![Row::default()]
        };
        if let Some(entry) = self.index.result(call, self.state) {
            self.ended(entry, target, &mut rows);
        } else if let Some(run) = self.run(call).cloned() {
            self.running(&run, target, &mut rows);
        } else {
            let waits = self.state.turn.is_some();
            rows.push(Card::unknown(tool, subject, waits, self.cx.theme).row(
                target,
                self.cols,
                self.cx.theme,
            ));
        }
        rows
    }

    fn ended(&mut self, entry: &Entry, target: Target, rows: &mut Vec<Row>) {
        let EntryBody::ToolResult {
            outcome,
            text,
            detail,
            nested,
            attachments,
            ..
        } = &entry.body
        else {
            return;
        };
        let has_more = !matches!(detail, ToolDetail::Text)
            || !text.trim().is_empty()
            || !nested.is_empty()
            || !attachments.is_empty();
        let open = has_more.then(|| self.is_open(&target));
        if let Some(card) = Card::ended(entry, open, self.cx.theme) {
            rows.push(card.row(target, self.cols, self.cx.theme));
        }
        if open == Some(true) {
            let theme = self.cx.theme;
            rows.extend(nested::rows(nested, false, self.cols, theme));
            rows.extend(nested::files(attachments, self.cols, theme));
            let told = matches!(detail, ToolDetail::Text)
                || *outcome != ToolOutcome::Ok && !is_command(detail);
            if told {
                self.push_output(text.trim_end().lines(), rows);
            }
            self.push_detail(detail, rows);
        }
    }

    fn running(&mut self, run: &ToolRun, target: Target, rows: &mut Vec<Row>) {
        let open = run.output.as_ref().map(|_| self.is_open(&target));
        let card = Card::running(run, self.cx.now_ms, self.cx.animate, open, self.cx.theme);
        rows.push(card.row(target, self.cols, self.cx.theme));
        rows.extend(nested::rows(&run.nested, true, self.cols, self.cx.theme));
        if let (Some(true), Some(output)) = (open, &run.output) {
            let known = self.outputs.get(&output.run);
            let lines = known
                .map(|known| known.last_lines(LIVE_ROWS))
                .unwrap_or_default();
            self.push_output(lines.iter().map(String::as_str), rows);
        }
    }

    pub(crate) fn push_output<'t>(
        &self,
        lines: impl Iterator<Item = &'t str>,
        rows: &mut Vec<Row>,
    ) {
        let lines = detail::output_lines(lines, self.cols.saturating_sub(2), self.cx.theme);
        rows.extend(lines.into_iter().map(indented));
    }

    pub(crate) fn push_detail(&mut self, detail: &ToolDetail, rows: &mut Vec<Row>) {
        let mut pens = Pens {
            theme: self.cx.theme,
            highlighter: self.highlighter,
        };
        let lines = detail::lines(detail, self.cols.saturating_sub(2), &mut pens);
        rows.extend(lines.into_iter().map(indented));
    }
}

fn is_command(detail: &ToolDetail) -> bool {
    matches!(detail, ToolDetail::Command { .. })
}

/// Returns the words under an answer that is only a part.
pub(crate) fn cut_short(stop: Option<&str>) -> String {
    match stop {
        Some(word)
            if word.contains("stop") || word.contains("cancel") || word.contains("abort") =>
        {
            "stopped".to_owned()
        }
        Some(word) => format!("cut short: {}", text::clean(word)),
        None => "cut short".to_owned(),
    }
}

/// Returns the words under an answer that reached its limit.
pub(crate) fn limit(stop: Option<&str>) -> Option<String> {
    let reached = matches!(stop, Some("max_tokens" | "length" | "max_output_tokens"));
    reached.then(|| "cut short: the answer reached its length limit".to_owned())
}

fn indented(mut line: Line<'static>) -> Row {
    line.spans.insert(0, Span::raw("  "));
    Row::of(line)
}
