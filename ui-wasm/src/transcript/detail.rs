//! Details of a tool's work as lines: output, changes, files, hits, names. The same in a card and beside a question.

use std::cell::RefCell;

use porthole_protocol::{FileHits, ToolDetail};
use ratatui_core::text::{Line, Span};

use super::{ViewContext, diff, output};
use crate::highlight::Highlighter;
use crate::markdown::{Pens, chop, code_line};
use crate::text;
use crate::theme::Theme;

thread_local! {
    /// Previews outside the transcript share one store of colours; a UI has one thread.
    static PREVIEW: RefCell<Highlighter> = RefCell::default();
}

/// Returns what people can look at of a tool's work, in lines of at most `width` columns.
pub fn detail_lines(detail: &ToolDetail, width: u16, cx: &ViewContext<'_>) -> Vec<Line<'static>> {
    PREVIEW.with_borrow_mut(|highlighter| {
        highlighter.begin_frame();
        lines(
            detail,
            usize::from(width),
            &mut Pens {
                theme: cx.theme,
                highlighter,
            },
        )
    })
}

/// Returns the details in lines of at most `cols` columns.
pub(crate) fn lines(detail: &ToolDetail, cols: usize, pens: &mut Pens<'_>) -> Vec<Line<'static>> {
    let theme = pens.theme;
    match detail {
        ToolDetail::Text => Vec::new(),
        ToolDetail::Command { .. } => command(detail, cols, theme),
        ToolDetail::Diff {
            lines, truncated, ..
        } => {
            let mut shown = diff::lines(lines, cols, theme);
            if *truncated {
                shown.push(Line::styled(
                    text::cut("… more lines changed", cols),
                    theme.dim,
                ));
            }
            shown
        }
        ToolDetail::File {
            path,
            first_line,
            text,
            total_lines,
        } => file(path, *first_line, text, *total_lines, cols, pens),
        ToolDetail::Hits { files, total, .. } => hits(files, *total, cols, theme),
        ToolDetail::Child { title, .. } => {
            let words = format!("in the conversation \"{title}\"");
            output_lines(words.lines(), cols, theme)
        }
        ToolDetail::Names { names, total } => self::names(names, *total, cols, theme),
    }
}

/// Returns the lines of plain output, each broken where it does not fit.
pub(crate) fn output_lines<'a>(
    output: impl Iterator<Item = &'a str>,
    cols: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    output
        .flat_map(|line| {
            chop(
                Line::from(Span::styled(text::clean(line).into_owned(), theme.dim)),
                cols,
            )
        })
        .collect()
}

fn command(detail: &ToolDetail, cols: usize, theme: &Theme) -> Vec<Line<'static>> {
    let ToolDetail::Command {
        command,
        exit,
        signal,
        timed_out,
        tail,
        left_out,
        still_running,
        ..
    } = detail
    else {
        return Vec::new();
    };
    let mut shown = Vec::new();
    if command.contains('\n') || text::width(command) > cols / 2 {
        for line in command.lines() {
            shown.extend(chop(
                Line::from(Span::styled(text::clean(line).into_owned(), theme.code)),
                cols,
            ));
        }
    }
    if *left_out > 0 {
        let note = format!("… {} before this", size(*left_out));
        shown.push(Line::styled(text::cut(&note, cols), theme.dim));
    }
    let tail = output::plain(tail);
    let tail = tail.trim_end_matches('\n');
    if !tail.is_empty() {
        shown.extend(output_lines(tail.split('\n'), cols, theme));
    }
    let mut note = |words: String, style| shown.push(Line::styled(text::cut(&words, cols), style));
    match (timed_out, exit, signal) {
        (true, ..) => note("ended by its time-out".into(), theme.error),
        (_, _, Some(signal)) => note(format!("ended by signal {signal}"), theme.error),
        (_, Some(exit), _) if *exit != 0 => note(format!("exit {exit}"), theme.error),
        _ => {}
    }
    if !still_running.is_empty() {
        let ids: Vec<String> = still_running.iter().map(u32::to_string).collect();
        note(
            format!("still running: process {}", ids.join(", ")),
            theme.warn,
        );
    }
    if shown.is_empty() {
        shown.push(Line::styled(text::cut("no output", cols), theme.dim));
    }
    shown
}

fn file(
    path: &str,
    first: u64,
    source: &str,
    total: u64,
    cols: usize,
    pens: &mut Pens<'_>,
) -> Vec<Line<'static>> {
    let theme = pens.theme;
    let last = first + source.lines().count() as u64;
    let digits = last.max(total.min(last)).to_string().len().max(2);
    let mut progress = pens.highlighter.start(path, source.len());
    let mut shown = Vec::new();
    for (line, number) in source.lines().zip(first..) {
        let code = chop(
            code_line(line, &mut progress, pens),
            cols.saturating_sub(digits + 3),
        );
        let numbers = std::iter::once(number.to_string()).chain(std::iter::repeat(String::new()));
        for (code, number) in code.into_iter().zip(numbers) {
            let mut spans = vec![
                Span::styled(format!("{number:>digits$} "), theme.dim),
                Span::styled("│ ", theme.border),
            ];
            spans.extend(code.spans);
            shown.push(Line::from(spans));
        }
    }
    if total + 1 > last {
        let note = format!("… {} lines in all", total);
        shown.push(Line::styled(text::cut(&note, cols), theme.dim));
    }
    shown
}

fn hits(files: &[FileHits], total: u64, cols: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut shown = Vec::new();
    for file in files {
        shown.push(Line::styled(
            text::cut_middle(&text::clean(&file.path), cols),
            theme.text,
        ));
        for (number, line) in &file.lines {
            let spans = vec![
                Span::styled(format!("{number:>6} "), theme.dim),
                Span::styled("│ ", theme.border),
                Span::styled(text::clean(line).into_owned(), theme.code_block),
            ];
            shown.push(text::cut_line(Line::from(spans), cols));
        }
    }
    let listed: u64 = files.iter().map(|file| file.lines.len() as u64).sum();
    shown.extend(more(total.saturating_sub(listed), cols, theme));
    shown
}

/// Names in as many columns as fit, read downwards.
fn names(names: &[String], total: u64, cols: usize, theme: &Theme) -> Vec<Line<'static>> {
    let clean: Vec<String> = names
        .iter()
        .map(|name| text::cut_middle(&text::clean(name), cols))
        .collect();
    let widest = clean
        .iter()
        .map(|name| text::width(name))
        .max()
        .unwrap_or(0);
    let across = ((cols + 2) / (widest + 2)).clamp(1, 6);
    let down = clean.len().div_ceil(across);
    let mut shown: Vec<Line<'static>> = (0..down)
        .map(|row| {
            let mut spans = Vec::new();
            for name in clean.iter().skip(row).step_by(down.max(1)) {
                let blanks = (widest + 2).saturating_sub(text::width(name));
                let style = if name.ends_with('/') {
                    theme.accent
                } else {
                    theme.text
                };
                spans.push(Span::styled(name.clone(), style));
                spans.push(Span::raw(" ".repeat(blanks)));
            }
            spans.pop();
            Line::from(spans)
        })
        .collect();
    shown.extend(more(total.saturating_sub(names.len() as u64), cols, theme));
    shown
}

fn more(count: u64, cols: usize, theme: &Theme) -> Option<Line<'static>> {
    (count > 0).then(|| Line::styled(text::cut(&format!("… {count} more"), cols), theme.dim))
}

/// Returns a size as people read it.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{} KiB", bytes / 1_024),
        _ => format!("{}.{} MiB", bytes >> 20, (bytes >> 10) % 1_024 * 10 / 1_024),
    }
}
