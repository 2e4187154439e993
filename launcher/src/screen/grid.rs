//! The model of a screen: cursor, pen and cells. The one place that writes cells; it knows no bytes of a frame.

use porthole_bridge::limits::FRAME_BYTES;
use ratatui::{
    buffer::{Buffer, Cell},
    layout::{Position, Rect},
    style::Color,
};

use super::{
    Dropped,
    allowed::{self, Move, Text},
    cluster,
    numbers::Numbers,
    style::Pen,
    sweep,
};

/// Erasing may write this many whole screens a frame; so a flood of erasures costs no more than honest work.
const ERASED_SCREENS: usize = 16;
/// In `spans`: this cell is covered by a wide cell so many columns to the left.
const COVERED: u8 = 0x80;

pub(super) struct Grid {
    pub(super) buffer: Buffer,
    pub(super) dropped: Dropped,
    pub(super) pen: Pen,
    pub(super) autowrap: bool,
    pub(super) cursor_visible: bool,
    cols: u16,
    rows: u16,
    x: u16,
    y: u16,
    /// The last column was written: the next text starts the next row.
    wrap: bool,
    /// The cell of the last cluster, while the next character may still join it.
    open: Option<usize>,
    /// A joiner waits for something to join to the open cluster.
    joiner: bool,
    /// The open cluster takes no more marks.
    full: bool,
    /// Per cell: 0 narrow, n wide, or [`COVERED`].
    spans: Vec<u8>,
    /// Rows that this frame made differ from blank.
    touched: Vec<bool>,
    /// Rows that hold more than ASCII.
    mixed: Vec<bool>,
    /// Per row: so many leading cells are of this frame. The others are of an earlier one and count as blank; most are
    /// overwritten before anyone asks, so blanking them all first would be work for nothing.
    fresh: Vec<u16>,
    /// Rows that hold a wide cell.
    wide: Vec<bool>,
    /// Cells that erasing may still write in this frame.
    budget: usize,
    scratch: String,
}

impl Grid {
    pub(super) fn new(cols: u16, rows: u16) -> Self {
        let cells = usize::from(cols) * usize::from(rows);
        Grid {
            buffer: Buffer::empty(Rect::new(0, 0, cols, rows)),
            dropped: Dropped::default(),
            pen: Pen::default(),
            autowrap: true,
            cursor_visible: true,
            cols,
            rows,
            x: 0,
            y: 0,
            wrap: false,
            open: None,
            joiner: false,
            full: false,
            spans: vec![0; cells],
            touched: vec![false; usize::from(rows)],
            mixed: vec![false; usize::from(rows)],
            fresh: vec![cols; usize::from(rows)],
            wide: vec![false; usize::from(rows)],
            budget: 0,
            scratch: String::with_capacity(2 * cluster::CELL_BYTES),
        }
    }

    /// Makes everything blank and fresh for a frame.
    pub(super) fn start(&mut self) {
        for y in 0..self.rows {
            self.forget_row(y);
        }
        self.pen = Pen::default();
        self.dropped = Dropped::default();
        self.autowrap = true;
        self.cursor_visible = true;
        self.budget = ERASED_SCREENS * self.spans.len() + FRAME_BYTES;
        self.go(0, 0);
    }

    /// Ends a frame: what is in the buffer now may be drawn.
    pub(super) fn finish(&mut self) {
        self.close();
        for y in 0..self.rows {
            self.freshen(y, self.cols);
            if self.mixed[usize::from(y)] {
                let start = self.index(0, y);
                sweep::sweep_row(&mut self.buffer.content[start..start + usize::from(self.cols)]);
            }
        }
    }

    pub(super) fn cursor(&self) -> Option<Position> {
        let inside = self.cols > 0 && self.rows > 0;
        (self.cursor_visible && inside).then_some(Position::new(self.x, self.y))
    }

    /// Writes a run of printable ASCII.
    #[inline]
    pub(super) fn print_ascii(&mut self, mut run: &[u8]) {
        self.close();
        while !run.is_empty() {
            if !self.make_room(1) {
                self.open = None;
                self.dropped.clipped += u32::try_from(run.len()).unwrap_or(u32::MAX);
                return;
            }
            let taken = run.len().min(usize::from(self.cols - self.x));
            self.write_ascii(&run[..taken]);
            run = &run[taken..];
        }
    }

    #[inline]
    fn write_ascii(&mut self, run: &[u8]) {
        let start = self.index(self.x, self.y);
        self.claim(run.len());
        let pen = self.pen;
        let cells = &mut self.buffer.content[start..start + run.len()];
        for (cell, byte) in cells.iter_mut().zip(run) {
            cell.set_char(char::from(*byte));
            cell.fg = pen.fg;
            cell.bg = pen.bg;
            cell.modifier = pen.modifier;
        }
        self.open = Some(start + run.len() - 1);
        self.step(u16::try_from(run.len()).unwrap_or(self.cols));
    }

    /// Takes one character of text: writes it, joins it to the open cluster, or drops it.
    #[inline]
    pub(super) fn put(&mut self, c: char) {
        let byte = c as u32;
        match c {
            ' '..='~' => self.print_ascii(&[byte as u8]),
            '\0'..='\u{9F}' => self.control(byte as u8),
            _ => match cluster::simple_width(c) {
                Some(width) => {
                    self.close();
                    self.write(c.encode_utf8(&mut [0; 4]), width);
                }
                None => self.put_special(c),
            },
        }
    }

    /// Acts on a control character.
    pub(super) fn control(&mut self, byte: u8) {
        match byte {
            0x08 => self.go(self.x.saturating_sub(1), self.y),
            b'\t' => self.go((self.x / 8 + 1).saturating_mul(8), self.y),
            b'\n' | 0x0B | 0x0C => self.go(self.x, self.y.saturating_add(1)),
            b'\r' => self.go(0, self.y),
            _ => self.dropped.controls += 1,
        }
    }

    fn put_special(&mut self, c: char) {
        match allowed::text(c) {
            Text::Shown => self.put_joining(c),
            Text::Joiner => self.hold_joiner(),
            Text::Dropped => self.dropped.characters += 1,
        }
    }

    fn hold_joiner(&mut self) {
        let joins = self
            .open
            .is_some_and(|at| !self.buffer.content[at].symbol().is_ascii());
        if joins && !self.joiner {
            self.joiner = true;
        } else {
            self.dropped.characters += 1;
        }
    }

    fn put_joining(&mut self, c: char) {
        let mut bytes = [0; 4];
        let alone = c.encode_utf8(&mut bytes);
        let width = cluster::width(alone);
        if let Some(at) = self.open
            && self.join(at, c, width)
        {
            return;
        }
        self.close();
        match width {
            0 => self.dropped.marks += 1,
            width => self.write(alone, width),
        }
    }

    /// Joins `c` to the open cluster. Returns false where it starts a cluster of its own.
    fn join(&mut self, at: usize, c: char, own: u16) -> bool {
        if self.full && own == 0 {
            self.dropped.marks += 1;
            return true;
        }
        let mut joined = std::mem::take(&mut self.scratch);
        joined.clear();
        joined.push_str(self.buffer.content[at].symbol());
        if self.joiner {
            joined.push('\u{200D}');
        }
        joined.push(c);
        let took = self.join_as(at, &joined, own);
        self.scratch = joined;
        took
    }

    fn join_as(&mut self, at: usize, joined: &str, own: u16) -> bool {
        // What has no width of its own belongs to the cell before it, whatever else it is.
        if own > 0 && !cluster::is_one(joined) {
            return false;
        }
        let old = u16::from(self.spans[at].max(1));
        let new = cluster::width(joined);
        let room = self.cols - u16::try_from(at % usize::from(self.cols)).unwrap_or(0);
        let fits = cluster::fits(joined);
        let taken = fits && (new == old || (new > old && new <= cluster::JOINED_WIDTH.min(room)));
        if taken {
            self.joiner = false;
            self.widen(at, joined, old, new);
        } else if own == 0 {
            self.full |= !fits;
            self.dropped.marks += 1;
        }
        taken || own == 0
    }

    fn widen(&mut self, at: usize, joined: &str, old: u16, new: u16) {
        if new > old {
            // The cursor stands right behind the cluster: joining ends with every move.
            self.wrap = false;
            self.claim(usize::from(new - old));
            self.cover(at, new);
            self.step(new - old);
        }
        self.mixed[at / usize::from(self.cols)] = true;
        self.buffer.content[at].set_symbol(joined);
    }

    /// Writes a cluster of a known width at the cursor.
    #[inline]
    fn write(&mut self, cluster: &str, width: u16) {
        if !self.make_room(width) {
            self.dropped.clipped += 1;
            return;
        }
        let at = self.index(self.x, self.y);
        self.claim(usize::from(width));
        self.mixed[usize::from(self.y)] = true;
        let pen = self.pen;
        let cell = &mut self.buffer.content[at];
        cell.fg = pen.fg;
        cell.bg = pen.bg;
        cell.modifier = pen.modifier;
        cell.set_symbol(cluster);
        if width > 1 {
            self.cover(at, width);
        }
        self.open = Some(at);
        self.step(width);
    }

    /// Makes sure that `width` columns are free at the cursor; goes to the next row if it must. False: no room.
    #[inline]
    fn make_room(&mut self, width: u16) -> bool {
        let fits = self.x.saturating_add(width) <= self.cols;
        if fits && !(self.wrap && self.autowrap) {
            return self.rows > 0;
        }
        if !self.autowrap || width > self.cols || self.y + 1 >= self.rows {
            return false;
        }
        self.x = 0;
        self.y += 1;
        self.wrap = false;
        true
    }

    #[inline]
    fn step(&mut self, width: u16) {
        self.x += width;
        self.wrap = self.x >= self.cols;
        if self.wrap {
            self.x = self.cols - 1;
        }
    }

    /// Gets so many cells at the cursor ready to be written, every one of them.
    #[inline]
    fn claim(&mut self, count: usize) {
        let row = usize::from(self.y);
        if self.wide[row] {
            self.uncover(self.index(self.x, self.y), count);
        }
        self.touched[row] = true;
        self.freshen(self.y, self.x);
        let end = self.x + u16::try_from(count).unwrap_or(self.cols);
        self.fresh[row] = self.fresh[row].max(end);
    }

    /// Makes the first `to` cells of a row this frame's.
    #[inline]
    fn freshen(&mut self, y: u16, to: u16) {
        let from = self.fresh[usize::from(y)];
        if from < to {
            let cells = self.index(from, y)..self.index(to, y);
            self.buffer.content[cells].iter_mut().for_each(Cell::reset);
            self.fresh[usize::from(y)] = to;
        }
    }

    /// Notes a wide cell and what it covers.
    fn cover(&mut self, at: usize, width: u16) {
        let width = u8::try_from(width).unwrap_or(1);
        self.spans[at] = width;
        let style = self.buffer.content[at].style();
        for offset in 1..width {
            let covered = at + usize::from(offset);
            self.spans[covered] = COVERED | offset;
            self.buffer.content[covered].reset();
            self.buffer.content[covered].set_style(style);
        }
        self.wide[at / usize::from(self.cols)] = true;
    }

    /// Blanks every wide cell that reaches into these cells, so that no half of one is left.
    fn uncover(&mut self, at: usize, count: usize) {
        for cell in at..at + count {
            let span = self.spans[cell];
            if span == 0 {
                continue;
            }
            let back = if span & COVERED == 0 {
                0
            } else {
                span & !COVERED
            };
            let lead = cell - usize::from(back);
            for part in lead..lead + usize::from(self.spans[lead]) {
                self.spans[part] = 0;
                self.buffer.content[part].set_symbol(" ");
            }
        }
    }

    /// Moves the cursor, clamped to the screen.
    #[inline]
    fn go(&mut self, x: u16, y: u16) {
        self.close();
        self.open = None;
        self.wrap = false;
        self.x = x.min(self.cols.saturating_sub(1));
        self.y = y.min(self.rows.saturating_sub(1));
    }

    /// Ends the joining of characters to the last cluster.
    #[inline]
    fn close(&mut self) {
        if self.joiner {
            self.joiner = false;
            self.dropped.characters += 1;
        }
        self.open = None;
        self.full = false;
    }

    pub(super) fn travel(&mut self, way: Move, numbers: &Numbers) {
        let count = numbers.count(0);
        let (x, y) = (self.x, self.y);
        match way {
            Move::Up => self.go(x, y.saturating_sub(count)),
            Move::Down => self.go(x, y.saturating_add(count)),
            Move::Right => self.go(x.saturating_add(count), y),
            Move::Left => self.go(x.saturating_sub(count), y),
            Move::LineDown => self.go(0, y.saturating_add(count)),
            Move::LineUp => self.go(0, y.saturating_sub(count)),
            Move::Column => self.go(count - 1, y),
            Move::Row => self.go(x, count - 1),
            Move::Place => self.go(numbers.count(1) - 1, count - 1),
        }
    }

    pub(super) fn erase_screen(&mut self, what: u16) {
        let (above, below) = match what {
            0 => (self.y, self.y.saturating_add(1)),
            1 => (self.y, self.rows),
            2 => (self.rows, self.rows),
            _ => return self.dropped.sequences += 1,
        };
        if what != 2 {
            self.erase_line(what);
        }
        let first = if what == 0 { self.rows } else { 0 };
        for y in (first..above).chain(below..self.rows) {
            self.erase(y, 0, self.cols);
        }
    }

    pub(super) fn erase_line(&mut self, what: u16) {
        match what {
            0 => self.erase(self.y, self.x, self.cols),
            1 => self.erase(self.y, 0, self.x.saturating_add(1)),
            2 => self.erase(self.y, 0, self.cols),
            _ => self.dropped.sequences += 1,
        }
    }

    pub(super) fn erase_cells(&mut self, count: u16) {
        self.erase(self.y, self.x, self.x.saturating_add(count));
    }

    /// Blanks columns `from..to` of a row in the pen's background.
    fn erase(&mut self, y: u16, from: u16, to: u16) {
        self.close();
        let to = to.min(self.cols);
        let row = usize::from(y);
        let plain = self.pen.bg == Color::Reset;
        if y >= self.rows || from >= to || (plain && !self.touched[row]) {
            return;
        }
        let count = usize::from(to - from);
        let Some(left) = self.budget.checked_sub(count) else {
            return self.dropped.clipped += 1;
        };
        self.budget = left;
        if plain && count == usize::from(self.cols) {
            return self.forget_row(y);
        }
        let at = self.index(from, y);
        if self.wide[row] {
            self.uncover(at, count);
        }
        self.touched[row] = true;
        self.freshen(y, to);
        for cell in &mut self.buffer.content[at..at + count] {
            cell.reset();
            cell.bg = self.pen.bg;
        }
    }

    /// Makes a row blank again, at no cost where it is.
    fn forget_row(&mut self, y: u16) {
        let row = usize::from(y);
        if std::mem::take(&mut self.touched[row]) {
            self.fresh[row] = 0;
            self.mixed[row] = false;
        }
        if std::mem::take(&mut self.wide[row]) {
            let start = self.index(0, y);
            self.spans[start..start + usize::from(self.cols)].fill(0);
        }
    }

    #[inline]
    fn index(&self, x: u16, y: u16) -> usize {
        usize::from(y) * usize::from(self.cols) + usize::from(x)
    }
}
