//! What one cell may hold: one grapheme cluster, bounded, and how wide it is. It knows no screen.

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

/// Most bytes in one cell.
pub(super) const CELL_BYTES: usize = 64;
/// Most code points in one cell.
pub(super) const CELL_CHARS: usize = 16;
/// Widest that joining may make a cluster; single characters keep their own width.
pub(super) const JOINED_WIDTH: u16 = 2;

/// Returns how many columns a cluster takes. The one width function: ratatui's diff uses the same.
pub(crate) fn width(cluster: &str) -> u16 {
    match cluster.as_bytes() {
        // A control character takes no cell: it is never put into one.
        [0..=0x1F | 0x7F] => 0,
        _ => cluster.cell_width(),
    }
}

/// Returns how many columns a text takes, cluster by cluster.
pub fn text_width(text: &str) -> usize {
    let wide = |one: &str| usize::from(width(one));
    match text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        true => text.len(),
        false => text.graphemes(true).map(wide).sum(),
    }
}

/// Returns the width of a character that stands alone whatever follows or precedes it, without looking at its
/// neighbours. `None`: it may join one.
#[inline]
pub(super) fn simple_width(c: char) -> Option<u16> {
    match c as u32 {
        0x20..=0x7E
        | 0xA0..=0xAC
        | 0xAE..=0x2FF
        | 0x391..=0x3A1
        | 0x3A3..=0x482
        | 0x48A..=0x52F
        | 0x2010..=0x2027
        | 0x2030..=0x203B
        | 0x2190..=0x21FF
        | 0x2500..=0x25FC
        | 0x2800..=0x28FF => Some(1),
        0x3041..=0x3096 | 0x30A1..=0x30FA | 0x4E00..=0x9FFF | 0xAC00..=0xD7A3 => Some(2),
        _ => None,
    }
}

/// Says whether `text` is one grapheme cluster.
pub(super) fn is_one(text: &str) -> bool {
    text.graphemes(true).nth(1).is_none()
}

/// Says whether a cluster is within what a cell holds.
pub(crate) fn fits(cluster: &str) -> bool {
    cluster.len() <= CELL_BYTES && cluster.chars().count() <= CELL_CHARS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::allowed::{self, Text};

    #[test]
    fn a_simple_width_is_the_width() {
        for c in (0..=0x2_FFFF).filter_map(char::from_u32) {
            if let Some(simple) = simple_width(c) {
                assert_eq!(allowed::text(c), Text::Shown, "{:x}", c as u32);
                assert_eq!(simple, width(c.encode_utf8(&mut [0; 4])), "{:x}", c as u32);
            }
        }
    }

    #[test]
    fn a_simple_character_joins_neither_letter_nor_pictograph_before_it() {
        for c in (0x80..=0xFFFF).filter_map(char::from_u32) {
            if simple_width(c).is_some() {
                assert!(!is_one(&format!("a{c}")), "{:x}", c as u32);
                assert!(!is_one(&format!("👨{c}")), "{:x}", c as u32);
            }
        }
    }
}
