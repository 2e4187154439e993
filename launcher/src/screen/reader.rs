//! Reads a frame: bytes in, calls on the grid out. It decides what is text and what is a sequence; it knows no cell.
//!
//! vte decides about every byte that is not plainly text or a complete `CSI` sequence of digits. Those two make up all
//! of an honest frame and are read here, because vte's walk over them costs more than the cells do. A test holds both
//! ways of reading against each other.

use super::{
    allowed::{self, Mode, Op},
    grid::Grid,
    numbers::Numbers,
};

const ESC: u8 = 0x1B;

/// Reads a whole frame.
pub(super) fn read(grid: &mut Grid, frame: &[u8]) {
    let mut rest = frame;
    while !rest.is_empty() {
        match plain(grid, rest) {
            0 => return read_by_vte(grid, rest),
            taken => rest = &rest[taken..],
        }
    }
}

/// Reads a whole frame, or the rest of one from between two sequences, with vte alone.
pub(super) fn read_by_vte(grid: &mut Grid, rest: &[u8]) {
    grid.dropped.strings += silent_strings(rest);
    vte::Parser::new().advance(&mut Performer { grid }, rest);
}

/// Reads one run of text or one complete sequence and returns its length; 0 where vte must look.
#[inline]
fn plain(grid: &mut Grid, rest: &[u8]) -> usize {
    if rest[0] == ESC {
        return complete_csi(grid, rest);
    }
    let ascii = rest
        .iter()
        .position(|byte| !matches!(byte, b' '..=b'~'))
        .unwrap_or(rest.len());
    if ascii > 0 {
        grid.print_ascii(&rest[..ascii]);
        return ascii;
    }
    let run = rest
        .iter()
        .position(|byte| *byte == ESC || matches!(byte, b' '..=b'~'))
        .unwrap_or(rest.len());
    match str::from_utf8(&rest[..run]) {
        Ok(text) => {
            text.chars().for_each(|c| grid.put(c));
            run
        }
        Err(_) => 0,
    }
}

#[inline]
fn complete_csi(grid: &mut Grid, rest: &[u8]) -> usize {
    if rest.get(1) != Some(&b'[') {
        return 0;
    }
    let Some(length) = rest[2..]
        .iter()
        .position(|byte| !matches!(byte, 0x20..=0x3F))
    else {
        return 0;
    };
    let (inside, last) = (&rest[2..2 + length], rest[2 + length]);
    if !matches!(last, 0x40..=0x7E) {
        return 0;
    }
    match Numbers::read(inside) {
        Some(numbers) => csi(grid, &numbers, last),
        // Complete, so vte ends where it began: between two sequences.
        None => read_by_vte(grid, &rest[..length + 3]),
    }
    length + 3
}

#[inline]
fn csi(grid: &mut Grid, numbers: &Numbers, last: u8) {
    match allowed::op(last) {
        Some(Op::Style) => grid.dropped.styles += grid.pen.apply(numbers),
        Some(Op::Move(way)) => grid.travel(way, numbers),
        Some(Op::EraseScreen) => grid.erase_screen(numbers.get(0)),
        Some(Op::EraseLine) => grid.erase_line(numbers.get(0)),
        Some(Op::EraseCells) => grid.erase_cells(numbers.count(0)),
        None => grid.dropped.sequences += 1,
    }
}

fn set_mode(grid: &mut Grid, number: u16, on: bool) {
    match allowed::mode(number) {
        Some(Mode::Autowrap) => grid.autowrap = on,
        Some(Mode::CursorVisible) => grid.cursor_visible = on,
        Some(Mode::Synchronised) => {}
        None => grid.dropped.modes += 1,
    }
}

/// Counts the strings that vte swallows without a word: APC, PM and SOS.
fn silent_strings(bytes: &[u8]) -> u32 {
    let mut escaped = false;
    let mut count = 0;
    for byte in bytes {
        match byte {
            0x1B => escaped = true,
            0x18 | 0x1A => escaped = false,
            0x00..=0x1F | 0x7F.. if escaped => {}
            b'X' | b'^' | b'_' if escaped => {
                count += 1;
                escaped = false;
            }
            _ => escaped = false,
        }
    }
    count
}

struct Performer<'a> {
    grid: &'a mut Grid,
}

impl vte::Perform for Performer<'_> {
    fn print(&mut self, c: char) {
        self.grid.put(c);
    }

    fn execute(&mut self, byte: u8) {
        self.grid.control(byte);
    }

    fn hook(&mut self, _: &vte::Params, _: &[u8], _: bool, _: char) {
        self.grid.dropped.strings += 1;
    }

    fn osc_dispatch(&mut self, _: &[&[u8]], _: bool) {
        self.grid.dropped.strings += 1;
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
        // The end of a string is no sequence of its own.
        self.grid.dropped.escapes += u32::from(byte != b'\\');
    }

    fn csi_dispatch(&mut self, params: &vte::Params, between: &[u8], ignore: bool, last: char) {
        let last = u8::try_from(last).unwrap_or(0);
        match (ignore, between, last) {
            (false, [], _) => csi(self.grid, &Numbers::from_vte(params), last),
            (false, b"?", b'h' | b'l') => params
                .iter()
                .flatten()
                .for_each(|number| set_mode(self.grid, *number, last == b'h')),
            _ => self.grid.dropped.sequences += 1,
        }
    }
}
