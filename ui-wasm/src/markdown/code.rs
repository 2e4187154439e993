//! Lines of code as styled lines: cleaned, coloured, and broken where they do not fit.

use std::borrow::Cow;

use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use super::Pens;
use crate::highlight::Progress;
use crate::text;

/// Returns a line of code with its colours, tabs expanded and controls made visible.
pub(crate) fn code_line(source: &str, at: &mut Progress, pens: &mut Pens<'_>) -> Line<'static> {
    let clean = text::clean(source.strip_suffix('\r').unwrap_or(source));
    let parts = pens.highlighter.line(at, &clean);
    let Some(parts) = parts else {
        return Line::from(Span::styled(clean.into_owned(), pens.theme.code_block));
    };
    let mut from = 0;
    let mut spans = Vec::with_capacity(parts.len());
    for (end, role) in parts.iter() {
        if let Some(part) = clean.get(from..*end) {
            spans.push(Span::styled(part.to_owned(), role.style(pens.theme)));
            from = *end;
        }
    }
    Line::from(spans)
}

/// Returns a line broken into lines of at most `cols` columns between any two clusters, as code must be.
pub(crate) fn chop(line: Line<'static>, cols: usize) -> Vec<Line<'static>> {
    let cols = cols.max(2);
    if text::line_width(&line) <= cols {
        return vec![line];
    }
    let mut lines = vec![Line::default()];
    let mut used = 0;
    for span in line.spans {
        let mut part = String::new();
        for cluster in span.content.graphemes(true) {
            let wide = text::cluster_width(cluster);
            if used + wide > cols {
                push(&mut lines, &mut part, span.style);
                lines.push(Line::default());
                used = 0;
            }
            part.push_str(cluster);
            used += wide;
        }
        push(&mut lines, &mut part, span.style);
    }
    lines
}

fn push(lines: &mut [Line<'static>], part: &mut String, style: ratatui_core::style::Style) {
    if let Some(line) = lines.last_mut().filter(|_| !part.is_empty()) {
        line.spans.push(Span {
            content: Cow::Owned(std::mem::take(part)),
            style,
        });
    }
}
