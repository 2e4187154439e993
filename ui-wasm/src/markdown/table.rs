//! Tables: columns measured in cells of the screen, narrowed until they fit, or one line a field where nothing fits.

use pulldown_cmark::Alignment;
use ratatui_core::text::{Line, Span};

use super::Pens;
use crate::text;

/// Narrowest column that is still read as one.
const NARROWEST: usize = 4;
const GAP: usize = 3;

/// A table as it was read.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) alignments: Vec<Alignment>,
    /// The first row is the head.
    pub(crate) rows: Vec<Vec<Line<'static>>>,
}

impl Table {
    /// Returns the table in lines of at most `cols` columns.
    pub(crate) fn lay_out(self, cols: usize, pens: &Pens<'_>) -> Vec<Line<'static>> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        if count == 0 {
            return Vec::new();
        }
        match cols
            .checked_sub(GAP * (count - 1))
            .filter(|room| *room >= count * NARROWEST)
        {
            Some(room) => {
                let widths = fit(self.natural(count), room);
                self.grid(&widths, pens)
            }
            None => self.list(cols, pens),
        }
    }

    fn natural(&self, count: usize) -> Vec<usize> {
        (0..count)
            .map(|at| {
                self.rows
                    .iter()
                    .filter_map(|row| row.get(at))
                    .map(text::line_width)
                    .max()
                    .unwrap_or(0)
                    .max(1)
            })
            .collect()
    }

    fn grid(&self, widths: &[usize], pens: &Pens<'_>) -> Vec<Line<'static>> {
        let bar = Span::styled(" │ ", pens.theme.border);
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let cells: Vec<Vec<Line<'static>>> = widths
                .iter()
                .enumerate()
                .map(|(at, cols)| {
                    row.get(at)
                        .map(|cell| text::wrap_line(cell, *cols))
                        .unwrap_or_default()
                })
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for y in 0..height {
                lines.push(self.grid_line(&cells, y, widths, bar.clone()));
            }
            if at == 0 {
                let rule: Vec<String> = widths.iter().map(|cols| "─".repeat(*cols)).collect();
                lines.push(Line::from(Span::styled(
                    rule.join("─┼─"),
                    pens.theme.border,
                )));
            }
        }
        lines
    }

    fn grid_line(
        &self,
        cells: &[Vec<Line<'static>>],
        y: usize,
        widths: &[usize],
        bar: Span<'static>,
    ) -> Line<'static> {
        let mut spans: Vec<Span<'static>> = Vec::new();
        for (at, cols) in widths.iter().enumerate() {
            if at > 0 {
                spans.push(bar.clone());
            }
            let cell = cells[at].get(y).cloned().unwrap_or_default();
            let blanks = cols.saturating_sub(text::line_width(&cell));
            let before = match self.alignments.get(at) {
                Some(Alignment::Right) => blanks,
                Some(Alignment::Center) => blanks / 2,
                _ => 0,
            };
            let last = at + 1 == widths.len();
            push_blanks(&mut spans, before);
            spans.extend(cell.spans);
            push_blanks(&mut spans, if last { 0 } else { blanks - before });
        }
        Line::from(spans)
    }

    /// One line a field: `head: cell`.
    fn list(self, cols: usize, pens: &Pens<'_>) -> Vec<Line<'static>> {
        let mut rows = self.rows.into_iter();
        let head = rows.next().unwrap_or_default();
        let mut lines: Vec<Line<'static>> = Vec::new();
        for row in rows {
            if !lines.is_empty() {
                lines.push(Line::default());
            }
            for (at, cell) in row.into_iter().enumerate() {
                let mut spans = head
                    .get(at)
                    .map(|name| name.spans.clone())
                    .unwrap_or_default();
                spans.push(Span::styled(": ", pens.theme.dim));
                spans.extend(cell.spans);
                lines.extend(text::wrap_line(&Line::from(spans), cols));
            }
        }
        lines
    }
}

fn push_blanks(spans: &mut Vec<Span<'static>>, count: usize) {
    if count > 0 {
        spans.push(Span::raw(" ".repeat(count)));
    }
}

/// Narrows the widest columns until all fit into `room`.
fn fit(mut widths: Vec<usize>, room: usize) -> Vec<usize> {
    let mut left = room;
    let mut most = usize::MAX;
    let mut sorted = widths.clone();
    sorted.sort_unstable();
    for (at, cols) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at);
        if *cols > share {
            most = share;
            break;
        }
        left -= cols;
    }
    for cols in &mut widths {
        *cols = (*cols).min(most).max(1);
    }
    widths
}
