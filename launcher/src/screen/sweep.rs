//! The last line of defence before any draw: what must not reach a terminal is taken out of finished cells.
//! It knows nothing of frames; it looks at cells only, whoever wrote them.

use ratatui::buffer::{Buffer, Cell, CellDiffOption};

use super::{
    allowed::{self, Text},
    cluster,
};

/// Takes out of every cell what must not reach a terminal: controls, bidi and invisible characters, oversized
/// clusters, and wide symbols without room in their row.
pub fn sweep(buffer: &mut Buffer) {
    let width = usize::from(buffer.area.width).max(1);
    buffer.content.chunks_mut(width).for_each(sweep_row);
}

/// Sweeps one row of cells.
pub(super) fn sweep_row(row: &mut [Cell]) {
    let cols = row.len();
    for (x, cell) in row.iter_mut().enumerate() {
        let symbol = cell.symbol();
        if let [b' '..=b'~'] = symbol.as_bytes() {
            continue;
        }
        if !clean(symbol, cols - x) {
            cell.set_symbol(" ");
            cell.diff_option = CellDiffOption::None;
        }
    }
}

fn clean(symbol: &str, room: usize) -> bool {
    let mut chars = symbol.chars();
    if let (Some(c), None) = (chars.next(), chars.next())
        && let Some(width) = cluster::simple_width(c)
    {
        return usize::from(width) <= room;
    }
    let allowed = |c: char| matches!(allowed::text(c), Text::Shown | Text::Joiner);
    cluster::fits(symbol)
        && symbol.chars().all(allowed)
        && (1..=room).contains(&usize::from(cluster::width(symbol)))
}

/// Says whether terminals disagree on the width of a symbol, so that the cursor must be placed anew after it.
pub fn width_is_disputed(symbol: &str) -> bool {
    !symbol
        .chars()
        .all(|c| c.is_ascii() || matches!(c as u32, 0xC0..=0x2AF | 0x2500..=0x259F))
}
