//! The one quiet line of a tool call, and how its columns share the width. It opens nothing itself.

use porthole_protocol::{Entry, EntryBody, ToolDetail, ToolOutcome, ToolRun, ToolRunState};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use super::clock;
use super::laid::{Fold, Row, Target};
use crate::text;
use crate::theme::Theme;

/// Columns of a tool's name, on wide and on narrow screens.
const NAME: usize = 8;
const SHORT_NAME: usize = 6;
/// Columns of what stands at the right end.
const RIGHT: usize = 10;
/// Room that shows everything in columns.
const ROOMY: usize = 64;

/// What a card's line says.
pub(crate) struct Card<'a> {
    pub(crate) glyph: &'static str,
    pub(crate) glyph_style: Style,
    pub(crate) name: &'a str,
    pub(crate) subject: &'a str,
    pub(crate) summary: String,
    pub(crate) summary_style: Style,
    pub(crate) right: String,
    /// Whether it is open; `None`: there is nothing to open.
    pub(crate) open: Option<bool>,
}

/// Returns the frame of the turning glyph.
pub(crate) fn spinner(now_ms: u64, animate: bool) -> &'static str {
    const TURN: [&str; 4] = ["◐", "◓", "◑", "◒"];
    let at = usize::try_from(now_ms / 250 % 4).unwrap_or(0);
    TURN[if animate { at } else { 0 }]
}

impl<'a> Card<'a> {
    /// Returns the card of a call that ended.
    pub(crate) fn ended(entry: &'a Entry, open: Option<bool>, theme: &Theme) -> Option<Self> {
        let EntryBody::ToolResult {
            tool,
            subject,
            outcome,
            summary,
            duration_ms,
            ..
        } = &entry.body
        else {
            return None;
        };
        let (glyph, glyph_style, word, style) = match outcome {
            ToolOutcome::Ok => ("✓", theme.ok, "", theme.dim),
            ToolOutcome::Failed => ("✗", theme.error, "failed", theme.error),
            ToolOutcome::Denied => ("✗", theme.warn, "denied", theme.warn),
            ToolOutcome::Stopped => ("○", theme.warn, "stopped", theme.warn),
            ToolOutcome::Interrupted => ("○", theme.warn, "interrupted", theme.warn),
        };
        let summary = match (word, summary.as_str()) {
            ("", summary) => summary.to_owned(),
            (word, "") => word.to_owned(),
            (word, summary) if summary.contains(word) => summary.to_owned(),
            (word, summary) => format!("{word}: {summary}"),
        };
        let right = if *duration_ms >= 100 {
            clock::duration(*duration_ms)
        } else {
            String::new()
        };
        Some(Self {
            glyph,
            glyph_style,
            name: tool,
            subject,
            summary,
            summary_style: style,
            right,
            open,
        })
    }

    /// Returns the card of a call that has no result yet.
    pub(crate) fn running(
        run: &'a ToolRun,
        now_ms: u64,
        animate: bool,
        open: Option<bool>,
        theme: &Theme,
    ) -> Self {
        let since = run
            .started_ms
            .map(|at| clock::elapsed(now_ms.saturating_sub(at)));
        let (glyph, glyph_style, summary, right) = match run.state {
            ToolRunState::Queued => ("○", theme.dim, "waiting".to_owned(), String::new()),
            ToolRunState::Asking => ("●", theme.warn, "needs you".to_owned(), String::new()),
            ToolRunState::Running => {
                let summary = format!("running {}", since.unwrap_or_default());
                (
                    spinner(now_ms, animate),
                    theme.accent,
                    summary,
                    "Esc stops".to_owned(),
                )
            }
        };
        let summary_style = if run.state == ToolRunState::Asking {
            theme.warn
        } else {
            theme.dim
        };
        Self {
            glyph,
            glyph_style,
            name: &run.tool,
            subject: &run.subject,
            summary,
            summary_style,
            right,
            open,
        }
    }

    /// Returns the card of a call of which nothing else is known.
    pub(crate) fn unknown(name: &'a str, subject: &'a str, waits: bool, theme: &Theme) -> Self {
        let summary = if waits { "waiting" } else { "no result" }.to_owned();
        Self {
            glyph: "○",
            glyph_style: theme.dim,
            name,
            subject,
            summary,
            summary_style: theme.dim,
            right: String::new(),
            open: None,
        }
    }

    /// Returns the card as one row of at most `cols` columns.
    pub(crate) fn row(&self, target: Target, cols: usize, theme: &Theme) -> Row {
        let gutter = match self.open {
            Some(true) => "▾ ",
            Some(false) => "▸ ",
            None => "  ",
        };
        let name_cols = if cols < ROOMY { SHORT_NAME } else { NAME };
        let mut spans = vec![
            Span::styled(self.glyph, self.glyph_style),
            Span::raw(" "),
            Span::styled(
                pad(
                    &text::cut(&text::clean(self.name), name_cols - 1),
                    name_cols,
                ),
                theme.dim,
            ),
        ];
        let room = cols.saturating_sub(2 + name_cols);
        let summary = text::clean(&self.summary);
        let right_cols = if room >= ROOMY { RIGHT } else { 0 };
        let (subject_cols, summary_cols) = shares(room - right_cols, text::width(&summary));
        let subject = one_line(
            self.subject,
            subject_cols.saturating_sub(usize::from(summary_cols > 0)),
        );
        spans.push(Span::styled(pad(&subject, subject_cols), theme.text));
        spans.push(Span::styled(
            text::cut(&summary, summary_cols),
            self.summary_style,
        ));
        if right_cols > 0 && !self.right.is_empty() {
            let blanks = summary_cols - text::width(&text::cut(&summary, summary_cols));
            let right = text::cut(&self.right, right_cols - 1);
            let before = blanks + right_cols - text::width(&right);
            spans.push(Span::raw(" ".repeat(before)));
            spans.push(Span::styled(right, theme.dim));
        }
        let fold = self.open.map(|open| Fold { target, open });
        Row {
            gutter: Span::styled(gutter, theme.dim),
            line: Line::from(spans),
            fold,
        }
    }
}

/// Returns how subject and summary share a room: in fixed columns where it is large, else by need.
fn shares(room: usize, summary: usize) -> (usize, usize) {
    if room + RIGHT >= ROOMY {
        let subject = room * 11 / 20;
        return (subject, room - subject);
    }
    let summary = summary.min(room / 2);
    (room - summary, summary)
}

/// Returns a subject on one line: paths keep their ends, commands their starts.
fn one_line(subject: &str, cols: usize) -> String {
    let mut lines = subject.lines();
    let first = text::clean(lines.next().unwrap_or_default()).into_owned();
    if lines.next().is_some() {
        return text::cut(&format!("{first} …"), cols);
    }
    if first.contains('/') && !first.contains(' ') {
        return text::cut_middle(&first, cols);
    }
    text::cut(&first, cols)
}

fn pad(words: &str, cols: usize) -> String {
    let blanks = cols.saturating_sub(text::width(words));
    format!("{words}{}", " ".repeat(blanks))
}

/// Whether a result opens by itself: a small change is what people want to see.
pub(crate) fn opens_by_itself(entry: &Entry) -> bool {
    match &entry.body {
        EntryBody::ToolResult {
            detail: ToolDetail::Diff { lines, .. },
            outcome: ToolOutcome::Ok,
            ..
        } => lines.len() <= 16,
        _ => false,
    }
}
