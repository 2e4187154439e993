//! Details of a tool's work as lines.

use porthole_protocol::{DiffMark, ToolDetail};
use ratatui_core::text::Line;

use super::ViewContext;
use crate::text;

/// Returns what people can look at of a tool's work, in lines of at most `width` columns.
pub fn detail_lines(detail: &ToolDetail, width: u16, cx: &ViewContext<'_>) -> Vec<Line<'static>> {
    let cols = usize::from(width);
    let line = |text: &str, style| Line::styled(text::cut(&text::clean(text), cols), style);
    match detail {
        ToolDetail::Text => Vec::new(),
        ToolDetail::Command { tail, .. } => tail.lines().map(|l| line(l, cx.theme.dim)).collect(),
        ToolDetail::Diff { lines, .. } => lines
            .iter()
            .map(|l| match l.mark {
                DiffMark::Added => line(&format!("+ {}", l.text), cx.theme.added),
                DiffMark::Removed => line(&format!("- {}", l.text), cx.theme.removed),
                DiffMark::Same | DiffMark::Gap => line(&format!("  {}", l.text), cx.theme.dim),
            })
            .collect(),
        ToolDetail::File { text, .. } => {
            text.lines().map(|l| line(l, cx.theme.code_block)).collect()
        }
        ToolDetail::Hits { files, .. } => {
            files.iter().map(|f| line(&f.path, cx.theme.text)).collect()
        }
        ToolDetail::Names { names, .. } => names.iter().map(|n| line(n, cx.theme.text)).collect(),
    }
}
