//! Entries as rows: what each kind looks like. It knows no scrolling and keeps nothing.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use porthole_protocol::{
    Author, AuthorKind, Block, CallId, ConversationState, Entry, EntryBody, RunId, RunOutput,
    SendMode, ToolDetail, ToolOutcome, ToolRun,
};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use super::card::{self, Card};
use super::index::Index;
use super::laid::{Fold, Laid, Row, Segment, Target};
use super::output::LiveOutput;
use super::{ViewContext, clock, detail};
use crate::highlight::Highlighter;
use crate::markdown::{Document, Pens};
use crate::text;

/// Rows of a person's message that are shown before it is opened.
const MESSAGE_ROWS: usize = 24;
/// Rows of a running command's output.
const LIVE_ROWS: usize = 12;

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

    fn run(&self, call: &CallId) -> Option<&ToolRun> {
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
            EntryBody::Compaction { summary } => self.compaction(entry, summary, old),
            body => {
                let mut rows = Vec::new();
                match body {
                    EntryBody::Message { text, mode } => rows = self.message(entry, text, *mode),
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
                    EntryBody::Error { text, hint } => rows = self.error(text, hint),
                    EntryBody::Reset => {
                        let words = "new start: the model sees nothing from above";
                        rows = vec![Row::default(), self.mark(words, None)];
                    }
                    EntryBody::Answer { .. } | EntryBody::Compaction { .. } => {}
                }
                self.laid(vec![Segment::Rows(rows)])
            }
        }
    }

    fn laid(&self, segments: Vec<Segment>) -> Laid {
        let words_behind =
            |segment: &Segment| matches!(segment, Segment::Words(words) if words.is_behind());
        let behind = self.highlighter.is_behind() || segments.iter().any(words_behind);
        Laid { segments, behind }
    }

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

    fn words(&mut self, text: &str, mut document: Document) -> Segment {
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

    fn thinking(&self, words: &str, target: Target) -> Vec<Row> {
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
            ..
        } = &entry.body
        else {
            return;
        };
        let has_more = !matches!(detail, ToolDetail::Text) || !text.trim().is_empty();
        let open = has_more.then(|| self.is_open(&target));
        if let Some(card) = Card::ended(entry, open, self.cx.theme) {
            rows.push(card.row(target, self.cols, self.cx.theme));
        }
        if open == Some(true) {
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
        if let (Some(true), Some(output)) = (open, &run.output) {
            let known = self.outputs.get(&output.run);
            let lines = known
                .map(|known| known.last_lines(LIVE_ROWS))
                .unwrap_or_default();
            self.push_output(lines.iter().map(String::as_str), rows);
        }
    }

    fn push_output<'t>(&self, lines: impl Iterator<Item = &'t str>, rows: &mut Vec<Row>) {
        let lines = detail::output_lines(lines, self.cols.saturating_sub(2), self.cx.theme);
        rows.extend(lines.into_iter().map(indented));
    }

    fn push_detail(&mut self, detail: &ToolDetail, rows: &mut Vec<Row>) {
        let mut pens = Pens {
            theme: self.cx.theme,
            highlighter: self.highlighter,
        };
        let lines = detail::lines(detail, self.cols.saturating_sub(2), &mut pens);
        rows.extend(lines.into_iter().map(indented));
    }

    fn message(&self, entry: &Entry, words: &str, mode: SendMode) -> Vec<Row> {
        let theme = self.cx.theme;
        let time = clock::time_of_day(entry.at_ms, self.cx.utc_offset_minutes);
        let steered = if mode == SendMode::Steer {
            " · steered"
        } else {
            ""
        };
        let head = format!("{} · {time}{steered}", self.name(&entry.author));
        let mut rows = vec![
            Row::default(),
            Row::of(Line::styled(text::cut(&head, self.cols), theme.dim)),
        ];
        let target = Target::Entry(entry.id);
        let mut lines = text::wrap(words.trim_end(), self.cols);
        let hidden = lines.len().saturating_sub(MESSAGE_ROWS);
        let folded = hidden > 4 && !self.is_open(&target);
        if folded {
            lines.truncate(MESSAGE_ROWS);
        }
        rows.extend(
            lines
                .into_iter()
                .map(|line| said(line, theme.human_bar, theme.text)),
        );
        if hidden > 4 {
            let words = if folded {
                format!("… {hidden} more lines")
            } else {
                "show less".to_owned()
            };
            let mut row = said(words, theme.human_bar, theme.dim);
            row.fold = Some(Fold {
                target,
                open: !folded,
            });
            rows.push(row);
        }
        rows
    }

    /// Returns how the visitor knows an author.
    pub(crate) fn name(&self, author: &Author) -> String {
        if !self.cx.me.is_empty() && author.id == self.cx.me {
            return "you".to_owned();
        }
        let name = text::clean(&author.name).trim().to_owned();
        match author.kind {
            AuthorKind::Guest if name.is_empty() => "a guest".to_owned(),
            _ if name.is_empty() => author.id.clone(),
            _ => name,
        }
    }

    fn shell(
        &mut self,
        entry: &Entry,
        command: &str,
        included: bool,
        detail: &ToolDetail,
    ) -> Vec<Row> {
        let theme = self.cx.theme;
        let target = Target::Entry(entry.id);
        let open = self.is_open(&target);
        let (glyph, glyph_style, word) = shell_state(detail, theme);
        let sees = if included {
            ""
        } else {
            "not shown to the model"
        };
        let summary = [word.as_str(), sees]
            .iter()
            .filter(|w| !w.is_empty())
            .copied()
            .collect::<Vec<_>>()
            .join(" · ");
        let time = clock::time_of_day(entry.at_ms, self.cx.utc_offset_minutes);
        let head = format!("{} ran · {time}", self.name(&entry.author));
        let card = Card {
            glyph,
            glyph_style,
            name: "!",
            subject: command,
            summary,
            summary_style: theme.dim,
            right: String::new(),
            open: Some(open),
        };
        let mut rows = vec![
            Row::default(),
            Row::of(Line::styled(text::cut(&head, self.cols), theme.dim)),
        ];
        rows.push(card.row(target, self.cols, theme));
        match running_shell(entry).and_then(|output| self.outputs.get(&output.run)) {
            Some(known) if open => self.push_output(
                known.last_lines(LIVE_ROWS).iter().map(String::as_str),
                &mut rows,
            ),
            None if open => self.push_detail(detail, &mut rows),
            _ => {}
        }
        rows
    }

    fn notice(&self, words: &str) -> Vec<Row> {
        let theme = self.cx.theme;
        let mut rows = vec![Row::default()];
        let lines = words
            .split('\n')
            .flat_map(|line| text::wrap_line(&ticked(line, theme.dim, theme.code), self.cols));
        rows.extend(lines.map(Row::of));
        rows
    }

    /// Returns a failure and what to do next.
    pub(crate) fn error(&self, words: &str, hint: &str) -> Vec<Row> {
        let theme = self.cx.theme;
        let mut rows = vec![Row::default()];
        let lines = words
            .split('\n')
            .flat_map(|line| text::wrap_line(&ticked(line, theme.error, theme.code), self.cols));
        rows.extend(lines.map(Row::of));
        if let Some(first) = rows.get_mut(1) {
            first.gutter = Span::styled("✗ ", theme.error);
        }
        if !hint.trim().is_empty() {
            let hint = ticked(&format!("hint: {hint}"), theme.text, theme.code);
            rows.extend(text::wrap_line(&hint, self.cols).into_iter().map(Row::of));
        }
        rows
    }

    fn compaction(&mut self, entry: &Entry, summary: &str, old: Option<Laid>) -> Laid {
        let target = Target::Entry(entry.id);
        let open = self.is_open(&target);
        let mark = self.mark(
            "the model sees a summary of what is above",
            Some(Fold { target, open }),
        );
        let mut segments = vec![Segment::Rows(vec![Row::default(), mark])];
        if open {
            let document = old.and_then(|old| {
                old.segments.into_iter().find_map(|segment| match segment {
                    Segment::Words(document) => Some(document),
                    Segment::Rows(_) => None,
                })
            });
            segments.push(Segment::Rows(vec![Row::default()]));
            segments.push(self.words(summary, document.unwrap_or_default()));
        }
        self.laid(segments)
    }

    /// Returns a line across the transcript with words in it.
    fn mark(&self, words: &str, fold: Option<Fold>) -> Row {
        let theme = self.cx.theme;
        let words = text::cut(words, self.cols.saturating_sub(6));
        let rest = self.cols.saturating_sub(text::width(&words) + 4);
        let line = Line::from(vec![
            Span::styled("── ", theme.border),
            Span::styled(words, theme.dim),
            Span::styled(format!(" {}", "─".repeat(rest)), theme.border),
        ]);
        let gutter = match &fold {
            Some(Fold { open: true, .. }) => "▾ ",
            Some(Fold { open: false, .. }) => "▸ ",
            None => "  ",
        };
        Row {
            gutter: Span::styled(gutter, theme.dim),
            line,
            fold,
        }
    }
}

/// Returns the output of a person's command that still runs.
pub(crate) fn running_shell(entry: &Entry) -> Option<&RunOutput> {
    match &entry.body {
        EntryBody::Shell {
            detail:
                ToolDetail::Command {
                    exit: None,
                    signal: None,
                    output,
                    ..
                },
            ..
        } => output.as_ref().filter(|output| !output.complete),
        _ => None,
    }
}

fn thinking_target(entry: &Entry, at: usize) -> Target {
    Target::Thinking(entry.id, u32::try_from(at).unwrap_or(u32::MAX))
}

fn is_command(detail: &ToolDetail) -> bool {
    matches!(detail, ToolDetail::Command { .. })
}

fn shell_state(detail: &ToolDetail, theme: &crate::theme::Theme) -> (&'static str, Style, String) {
    match detail {
        ToolDetail::Command {
            timed_out: true, ..
        } => ("✗", theme.error, "timed out".into()),
        ToolDetail::Command {
            signal: Some(signal),
            ..
        } => ("○", theme.warn, format!("stopped by signal {signal}")),
        ToolDetail::Command { exit: Some(0), .. } => ("✓", theme.ok, String::new()),
        ToolDetail::Command {
            exit: Some(exit), ..
        } => ("✗", theme.error, format!("failed: exit {exit}")),
        ToolDetail::Command {
            output: Some(output),
            ..
        } if !output.complete => ("◐", theme.accent, "running".into()),
        _ => ("○", theme.dim, "ended".into()),
    }
}

/// Returns the words under an answer that is only a part.
fn cut_short(stop: Option<&str>) -> String {
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
fn limit(stop: Option<&str>) -> Option<String> {
    let reached = matches!(stop, Some("max_tokens" | "length" | "max_output_tokens"));
    reached.then(|| "cut short: the answer reached its length limit".to_owned())
}

/// Returns a line of a person's words, with the bar beside it.
pub(crate) fn said(words: String, bar: Style, style: Style) -> Row {
    Row::behind(Span::styled("▌ ", bar), Line::styled(words, style))
}

fn indented(mut line: Line<'static>) -> Row {
    line.spans.insert(0, Span::raw("  "));
    Row::of(line)
}

/// Returns a sentence in which what stands between backticks looks like code.
pub(crate) fn ticked(words: &str, style: Style, code: Style) -> Line<'static> {
    let clean = text::clean(words);
    let ticks = clean.matches('`').count();
    if ticks == 0 || ticks % 2 == 1 || code == Style::default() {
        return Line::from(Span::styled(clean.into_owned(), style));
    }
    let parts = clean.split('`').enumerate();
    Line::from(
        parts
            .map(|(at, part)| {
                Span::styled(
                    part.to_owned(),
                    if at % 2 == 1 {
                        style.patch(code)
                    } else {
                        style
                    },
                )
            })
            .collect::<Vec<_>>(),
    )
}
