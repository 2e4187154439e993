//! Everything but answers as rows: what people say and run, notices, failures, and marks across the conversation.

use porthole_protocol::{
    Attachment, Author, AuthorKind, Entry, EntryBody, RunOutput, SendMode, ToolDetail,
};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use super::answer::LIVE_ROWS;
use super::build::Builder;
use super::card::Card;
use super::clock;
use super::detail::size;
use super::laid::{Fold, Laid, Row, Segment, Target};
use crate::text;

/// Rows of a person's message that are shown before it is opened.
const MESSAGE_ROWS: usize = 24;

impl Builder<'_> {
    pub(crate) fn message(
        &self,
        entry: &Entry,
        words: &str,
        mode: SendMode,
        files: &[Attachment],
    ) -> Vec<Row> {
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
        let mut lines = match words.trim_end() {
            "" if !files.is_empty() => Vec::new(),
            words => text::wrap(words, self.cols),
        };
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
        rows.extend(self.attached(files, theme.text));
        rows
    }

    /// Returns a line for each file that came with a message.
    pub(crate) fn attached(&self, files: &[Attachment], style: Style) -> Vec<Row> {
        let line = |file: &Attachment| {
            let name = text::clean(&file.name).into_owned();
            let kind = text::clean(&file.media_type).into_owned();
            let words = format!("+ {name} ({kind}, {})", size(file.bytes));
            said(
                text::cut_middle(&words, self.cols),
                self.cx.theme.human_bar,
                style,
            )
        };
        files.iter().map(line).collect()
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

    pub(crate) fn shell(
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

    pub(crate) fn notice(&self, words: &str) -> Vec<Row> {
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

    /// Returns the line under a failure that can be tried again.
    pub(crate) fn again(&self) -> Row {
        let theme = self.cx.theme;
        Row::of(Line::from(vec![
            Span::styled("/retry", theme.key),
            Span::styled(" tries it again", theme.dim),
        ]))
    }

    pub(crate) fn compaction(&mut self, entry: &Entry, summary: &str, old: Option<Laid>) -> Laid {
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
    pub(crate) fn mark(&self, words: &str, fold: Option<Fold>) -> Row {
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

/// Returns a line of a person's words, with the bar beside it.
pub(crate) fn said(words: String, bar: Style, style: Style) -> Row {
    Row::behind(Span::styled("▌ ", bar), Line::styled(words, style))
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
