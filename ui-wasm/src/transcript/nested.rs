//! The calls that a script made, one quiet line each below the script's own, and the files that came with a result.
//! None of them can be opened: only the script saw their results.

use porthole_protocol::{Attachment, NestedCall, ToolOutcome};
use ratatui_core::{
    style::Style,
    text::{Line, Span},
};

use super::{detail::size, laid::Row};
use crate::{text, theme::Theme};

/// Calls that are shown; of more, the newest.
const SHOWN: usize = 40;
/// Calls that are shown of a script that still runs.
const LIVE: usize = 6;
/// Columns of a tool's name.
const NAME: usize = 8;

/// Returns the lines of a script's calls; of one that runs only the newest few.
pub(crate) fn rows(calls: &[NestedCall], runs: bool, cols: usize, theme: &Theme) -> Vec<Row> {
    let most = if runs { LIVE } else { SHOWN };
    let before = calls.len().saturating_sub(most);
    let mut rows = Vec::new();
    if before > 0 {
        let words = format!("  … {before} calls before");
        rows.push(Row::of(Line::styled(text::cut(&words, cols), theme.dim)));
    }
    rows.extend(calls[before..].iter().map(|call| row(call, cols, theme)));
    rows
}

fn row(call: &NestedCall, cols: usize, theme: &Theme) -> Row {
    let (glyph, style, word) = sign(call.outcome, theme);
    let name = text::cut(&text::clean(&call.tool), NAME - 1);
    let name = format!(
        "{name}{}",
        " ".repeat(NAME.saturating_sub(text::width(&name)))
    );
    let summary = match (word, call.summary.as_str()) {
        (word, "") => word.to_owned(),
        ("", summary) => text::clean(summary).into_owned(),
        (word, summary) => format!("{word}: {}", text::clean(summary)),
    };
    let subject = text::clean(call.subject.lines().next().unwrap_or_default());
    let room = cols.saturating_sub(4 + NAME);
    let told = text::width(&summary).min(room / 2);
    let subject = text::cut(&subject, room.saturating_sub(told + 2));
    let line = Line::from(vec![
        Span::raw("  "),
        Span::styled(glyph, style),
        Span::raw(" "),
        Span::styled(name, theme.dim),
        Span::styled(format!("{subject}  "), theme.text),
        Span::styled(text::cut(&summary, told), theme.dim),
    ]);
    Row::of(text::cut_line(line, cols))
}

fn sign(outcome: Option<ToolOutcome>, theme: &Theme) -> (&'static str, Style, &'static str) {
    match outcome {
        None => ("◐", theme.accent, "running"),
        Some(ToolOutcome::Ok) => ("✓", theme.ok, ""),
        Some(ToolOutcome::Failed) => ("✗", theme.error, "failed"),
        Some(ToolOutcome::Denied) => ("✗", theme.warn, "denied"),
        Some(ToolOutcome::Stopped) => ("○", theme.warn, "stopped"),
        Some(ToolOutcome::Interrupted) => ("○", theme.warn, "interrupted"),
    }
}

/// Returns a line for each file that came with a result.
pub(crate) fn files(files: &[Attachment], cols: usize, theme: &Theme) -> Vec<Row> {
    let words = |file: &Attachment| {
        format!(
            "  + {} · {} · {} · /save keeps it",
            text::clean(&file.name),
            text::clean(&file.media_type),
            size(file.bytes)
        )
    };
    let row = |file| Row::of(Line::styled(text::cut(&words(file), cols), theme.dim));
    files.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use porthole_bridge::{Background, ColorDepth};
    use porthole_protocol::CallId;

    use super::*;

    fn call(at: usize, outcome: Option<ToolOutcome>) -> NestedCall {
        NestedCall {
            call: CallId::parse(&format!("c{at}")).expect("an id"),
            tool: "read".to_owned(),
            subject: format!("src/日本語{at}.rs\nmore"),
            outcome,
            summary: if outcome.is_some() {
                "lines 1–88".to_owned()
            } else {
                String::new()
            },
        }
    }

    #[test]
    fn each_call_has_its_line_and_none_is_wider_than_the_room() {
        let theme = Theme::choose("dark", Background::Dark, ColorDepth::True);
        let calls: Vec<_> = (0..60)
            .map(|at| call(at, (at < 59).then_some(ToolOutcome::Ok)))
            .collect();
        for cols in 0..90 {
            let all = rows(&calls, false, cols, &theme);
            assert_eq!(all.len(), SHOWN + 1);
            assert!(
                all.iter().all(|row| text::line_width(&row.line) <= cols),
                "{cols}"
            );
        }
        let live = rows(&calls, true, 60, &theme);
        assert_eq!(live.len(), LIVE + 1);
        let last: String = live[LIVE]
            .line
            .spans
            .iter()
            .map(|s| s.content.as_ref())
            .collect();
        assert_eq!(last, "  ◐ read    src/日本語59.rs  running");
    }
}
