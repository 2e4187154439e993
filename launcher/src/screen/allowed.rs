//! The allow-list of a frame, as data: what is here is acted on in the model, everything else is dropped.
//! `docs/bridge.md` prints these tables, and a test compares them. Nothing here writes a cell.

/// What an allowed sequence does to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Style,
    Move(Move),
    EraseScreen,
    EraseLine,
    EraseCells,
}

/// How the cursor moves. Counts are clamped to the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    Up,
    Down,
    Right,
    Left,
    LineDown,
    LineUp,
    Column,
    Row,
    Place,
}

/// One allowed `CSI` sequence: parameters, no marker and no intermediate, then this final byte.
pub(super) struct Sequence {
    pub(super) final_byte: u8,
    pub(super) op: Op,
}

const fn sequence(final_byte: u8, op: Op) -> Sequence {
    Sequence { final_byte, op }
}

/// Every allowed `CSI` sequence.
pub(super) const SEQUENCES: [Sequence; 15] = [
    sequence(b'm', Op::Style),                // SGR
    sequence(b'A', Op::Move(Move::Up)),       // CUU
    sequence(b'B', Op::Move(Move::Down)),     // CUD
    sequence(b'C', Op::Move(Move::Right)),    // CUF
    sequence(b'D', Op::Move(Move::Left)),     // CUB
    sequence(b'E', Op::Move(Move::LineDown)), // CNL
    sequence(b'F', Op::Move(Move::LineUp)),   // CPL
    sequence(b'G', Op::Move(Move::Column)),   // CHA
    sequence(b'`', Op::Move(Move::Column)),   // HPA
    sequence(b'd', Op::Move(Move::Row)),      // VPA
    sequence(b'H', Op::Move(Move::Place)),    // CUP
    sequence(b'f', Op::Move(Move::Place)),    // HVP
    sequence(b'J', Op::EraseScreen),          // ED
    sequence(b'K', Op::EraseLine),            // EL
    sequence(b'X', Op::EraseCells),           // ECH
];

/// A private mode that acts on the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Autowrap,
    CursorVisible,
    /// Accepted and without effect: a frame is drawn whole anyway.
    Synchronised,
}

/// Every allowed private mode (`CSI ? n h` and `CSI ? n l`).
pub(super) const MODES: [(u16, Mode); 3] = [
    (7, Mode::Autowrap),
    (25, Mode::CursorVisible),
    (2026, Mode::Synchronised),
];

/// The operations by final byte, from `@` to `~`.
static BY_FINAL: [Option<Op>; 63] = {
    let mut table = [None; 63];
    let mut at = 0;
    while at < SEQUENCES.len() {
        table[(SEQUENCES[at].final_byte - b'@') as usize] = Some(SEQUENCES[at].op);
        at += 1;
    }
    table
};

/// Returns what the sequence with this final byte does, if it is allowed.
#[inline]
pub(super) fn op(final_byte: u8) -> Option<Op> {
    *BY_FINAL.get(usize::from(final_byte.wrapping_sub(b'@')))?
}

/// Returns the private mode of this number, if it is allowed.
pub(super) fn mode(number: u16) -> Option<Mode> {
    MODES
        .iter()
        .find(|(allowed, _)| *allowed == number)
        .map(|(_, mode)| *mode)
}

/// What becomes of a character of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// Goes into a cell.
    Shown,
    /// Joins two pictographs; dropped where it joins nothing.
    Joiner,
    /// Dropped: it reorders, hides or controls, and has no shape of its own.
    Dropped,
}

/// Characters without a shape of their own, as inclusive ranges in order.
/// `docs/bridge.md` lists the same, and a test compares them.
const DROPPED: [(u32, u32); 25] = [
    (0x0000, 0x001F),   // C0
    (0x007F, 0x009F),   // DEL and C1
    (0x00AD, 0x00AD),   // soft hyphen
    (0x034F, 0x034F),   // grapheme joiner
    (0x061C, 0x061C),   // Arabic letter mark
    (0x115F, 0x1160),   // Hangul fillers
    (0x17B4, 0x17B5),   // Khmer inherent vowels
    (0x180B, 0x180F),   // Mongolian selectors
    (0x200B, 0x200C),   // zero-width space and non-joiner
    (0x200E, 0x200F),   // bidi marks
    (0x2028, 0x202E),   // line and paragraph separators, bidi embeddings and overrides
    (0x2060, 0x206F),   // word joiner, invisible operators, bidi isolates, deprecated
    (0x3164, 0x3164),   // Hangul filler
    (0xFE00, 0xFE0D),   // selectors that no terminal shows
    (0xFEFF, 0xFEFF),   // byte order mark
    (0xFFA0, 0xFFA0),   // half-width Hangul filler
    (0xFFF0, 0xFFFB),   // unassigned ignorables, interlinear annotation
    (0x110BD, 0x110BD), // Kaithi number sign
    (0x110CD, 0x110CD), // Kaithi number sign above
    (0x13430, 0x1343F), // hieroglyph joiners
    (0x1BCA0, 0x1BCA3), // shorthand format controls
    (0x1D173, 0x1D17A), // musical format controls
    (0xE0000, 0xE00FF), // tags
    (0xE0100, 0xE01EF), // selector supplement
    (0xE01F0, 0xE0FFF), // unassigned ignorables
];

/// Returns what becomes of a character of text.
pub(crate) fn text(c: char) -> Text {
    let code = c as u32;
    if c == '\u{200D}' {
        return Text::Joiner;
    }
    let after = DROPPED.partition_point(|(_, last)| *last < code);
    if DROPPED.get(after).is_some_and(|(first, _)| *first <= code) {
        return Text::Dropped;
    }
    let plane_end = code & 0xFFFE == 0xFFFE;
    if plane_end || (0xFDD0..=0xFDEF).contains(&code) {
        return Text::Dropped;
    }
    Text::Shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dropped_ranges_are_in_order_and_apart() {
        assert!(DROPPED.windows(2).all(|pair| pair[0].1 < pair[1].0));
        assert!(DROPPED.iter().all(|(first, last)| first <= last));
    }

    #[test]
    fn the_document_of_the_bridge_lists_every_allowed_sequence_and_mode() {
        let document = include_str!("../../../docs/bridge.md");
        for Sequence { final_byte, .. } in SEQUENCES {
            let row = format!("| `{}` |", char::from(final_byte)).replace("```", "`` ` ``");
            assert!(document.contains(&row), "docs/bridge.md lacks {row:?}");
        }
        for (number, _) in MODES {
            assert!(document.contains(&format!("| `? {number}` |")));
        }
    }

    #[test]
    fn the_document_of_the_bridge_lists_exactly_the_ranges_that_are_dropped() {
        let document = include_str!("../../../docs/bridge.md");
        let listed: Vec<&str> = document
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
            .map(|(range, _)| range)
            .filter(|range| range.starts_with("U+"))
            .collect();
        let dropped = DROPPED.map(|(first, last)| match first == last {
            true => format!("U+{first:04X}"),
            false => format!("U+{first:04X}–{last:04X}"),
        });
        assert_eq!(listed, dropped);
    }
}
