//! Frames: a finished buffer as the terminal bytes that a launcher reads. Whole screens from blank, never over the limit.
//! It decides nothing of what is on the screen.

use std::fmt::Write as _;

use porthole_bridge::{ColorDepth, limits};
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Position;
use ratatui_core::style::{Color, Modifier};
use unicode_segmentation::UnicodeSegmentation;

use crate::text;

/// Blanks in a row that are worth a cursor move.
const WORTH_A_MOVE: usize = 5;
/// Attributes that a frame carries; blinking and hidden text are for nobody.
const CARRIED: Modifier = Modifier::BOLD
    .union(Modifier::DIM)
    .union(Modifier::ITALIC)
    .union(Modifier::UNDERLINED)
    .union(Modifier::REVERSED)
    .union(Modifier::CROSSED_OUT);

/// Returns the screen as one frame of at most [`limits::FRAME_BYTES`]. Where it would be longer it gives up colour depth
/// step by step, then styles, then the ends of the longest rows.
pub fn encode(buffer: &Buffer, cursor: Option<Position>, depth: ColorDepth) -> Vec<u8> {
    let coarser = [
        ColorDepth::True,
        ColorDepth::Indexed,
        ColorDepth::Sixteen,
        ColorDepth::None,
    ];
    let looks = coarser
        .into_iter()
        .filter(|d| rank(*d) <= rank(depth))
        .map(Look::Styled)
        .chain([Look::Plain]);
    for look in looks {
        let rows: Vec<Row> = rows(buffer, look);
        if total(&rows) <= ROWS_BUDGET {
            return join(&rows, buffer, cursor);
        }
    }
    join(&shortened(rows(buffer, Look::Plain)), buffer, cursor)
}

/// Bytes for the rows; the rest is for the cursor's move and visibility.
const ROWS_BUDGET: usize = limits::FRAME_BYTES - 64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// With attributes, and colours of this depth.
    Styled(ColorDepth),
    /// Text alone.
    Plain,
}

fn rank(depth: ColorDepth) -> u8 {
    match depth {
        ColorDepth::None => 0,
        ColorDepth::Sixteen => 1,
        ColorDepth::Indexed => 2,
        ColorDepth::True => 3,
    }
}

/// One encoded row, and after which of its bytes it may end.
struct Row {
    bytes: String,
    ends: Vec<usize>,
}

fn total(rows: &[Row]) -> usize {
    rows.iter().map(|row| row.bytes.len()).sum()
}

/// Cuts the longest rows to one common length, so that all rows together fit.
fn shortened(mut rows: Vec<Row>) -> Vec<Row> {
    let mut lengths: Vec<usize> = rows.iter().map(|row| row.bytes.len()).collect();
    lengths.sort_unstable();
    let mut left = ROWS_BUDGET;
    let mut most = 0;
    for (at, len) in lengths.iter().enumerate() {
        most = left / (lengths.len() - at);
        if *len > most {
            break;
        }
        left -= len;
    }
    for row in &mut rows {
        if row.bytes.len() > most {
            let end = row
                .ends
                .iter()
                .rev()
                .find(|end| **end <= most)
                .copied()
                .unwrap_or(0);
            row.bytes.truncate(end);
        }
    }
    rows
}

fn join(rows: &[Row], buffer: &Buffer, cursor: Option<Position>) -> Vec<u8> {
    let mut out = Vec::with_capacity(total(rows) + 32);
    for row in rows {
        out.extend_from_slice(row.bytes.as_bytes());
    }
    let tail = match cursor {
        Some(at) => format!(
            "\x1b[{};{}H\x1b[?25h",
            at.y.saturating_sub(buffer.area.y).saturating_add(1),
            at.x.saturating_sub(buffer.area.x).saturating_add(1)
        ),
        None => "\x1b[?25l".to_owned(),
    };
    out.extend_from_slice(tail.as_bytes());
    out
}

fn rows(buffer: &Buffer, look: Look) -> Vec<Row> {
    let cols = usize::from(buffer.area.width);
    if cols == 0 {
        return Vec::new();
    }
    let rows = buffer.content.chunks(cols).enumerate();
    rows.map(|(y, cells)| Pen::new(y, look).row(cells))
        .collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Ink {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

const BARE: Ink = Ink {
    fg: Color::Reset,
    bg: Color::Reset,
    modifier: Modifier::empty(),
};

/// Writes one row. Each row begins and ends in the default style, so that any row can be cut.
struct Pen {
    out: String,
    ends: Vec<usize>,
    look: Look,
    y: usize,
    /// The column the cursor is in; `None`: not in this row yet.
    at: Option<usize>,
    ink: Ink,
    last: String,
}

impl Pen {
    fn new(y: usize, look: Look) -> Self {
        Self {
            out: String::new(),
            ends: Vec::new(),
            look,
            y,
            at: None,
            ink: BARE,
            last: String::new(),
        }
    }

    fn row(mut self, cells: &[Cell]) -> Row {
        let mut x = 0;
        while let Some(cell) = cells.get(x) {
            // Most of any screen: nothing to write and nothing to measure.
            if is_blank(cell) {
                x += 1;
                continue;
            }
            let (symbol, wide) = measured(cell);
            if wide == 2 && x + 1 == cells.len() {
                break;
            }
            let ink = self.ink_of(cell);
            if symbol != " " || ink.shows_on_blank() {
                self.go(x);
                self.set_ink(ink);
                self.write(symbol);
                self.at = Some(x + wide);
            }
            x += wide;
        }
        self.set_ink(BARE);
        Row {
            bytes: self.out,
            ends: self.ends,
        }
    }

    fn ink_of(&self, cell: &Cell) -> Ink {
        match self.look {
            Look::Plain => BARE,
            Look::Styled(depth) => Ink {
                fg: reduce(cell.fg, depth),
                bg: reduce(cell.bg, depth),
                modifier: cell.modifier & CARRIED,
            },
        }
    }

    /// Brings the cursor to column `x`, over blanks that need no writing.
    fn go(&mut self, x: usize) {
        match self.at {
            None => self.command(format_args!("{};{}H", self.y + 1, x + 1)),
            Some(at) if at == x => {}
            Some(at) if x - at < WORTH_A_MOVE => {
                self.set_ink(BARE);
                self.out.extend(std::iter::repeat_n(' ', x - at));
                self.last = " ".to_owned();
            }
            Some(at) => self.command(format_args!("{}C", x - at)),
        }
    }

    fn command(&mut self, what: std::fmt::Arguments<'_>) {
        // Writing to a string never fails.
        let _ = write!(self.out, "\x1b[{what}");
        self.last.clear();
    }

    fn write(&mut self, symbol: &str) {
        if joins(&self.last, symbol) {
            let column = self.at.unwrap_or(0) + 1;
            self.command(format_args!("{column}G"));
        }
        self.out.push_str(symbol);
        symbol.clone_into(&mut self.last);
        if self.ink == BARE {
            self.ends.push(self.out.len());
        }
    }

    fn set_ink(&mut self, ink: Ink) {
        if self.ink == ink {
            return;
        }
        let mut codes: Vec<String> = Vec::new();
        let added = if self.ink.modifier.difference(ink.modifier).is_empty() {
            ink.modifier.difference(self.ink.modifier)
        } else {
            codes.push("0".into());
            self.ink = BARE;
            ink.modifier
        };
        codes.extend(
            MODIFIERS
                .iter()
                .filter(|(m, _)| added.contains(*m))
                .map(|(_, c)| (*c).into()),
        );
        if self.ink.fg != ink.fg {
            codes.push(color_code(ink.fg, 30));
        }
        if self.ink.bg != ink.bg {
            codes.push(color_code(ink.bg, 40));
        }
        if ink == BARE {
            self.command(format_args!("m"));
        } else {
            self.command(format_args!("{}m", codes.join(";")));
        }
        self.ink = ink;
    }
}

impl Ink {
    fn shows_on_blank(self) -> bool {
        self.bg != Color::Reset || self.modifier.intersects(ON_BLANK)
    }
}

/// Attributes that show where there is no letter.
const ON_BLANK: Modifier = Modifier::REVERSED
    .union(Modifier::UNDERLINED)
    .union(Modifier::CROSSED_OUT);

const MODIFIERS: &[(Modifier, &str)] = &[
    (Modifier::BOLD, "1"),
    (Modifier::DIM, "2"),
    (Modifier::ITALIC, "3"),
    (Modifier::UNDERLINED, "4"),
    (Modifier::REVERSED, "7"),
    (Modifier::CROSSED_OUT, "9"),
];

/// Says whether a cell looks like none.
fn is_blank(cell: &Cell) -> bool {
    cell.symbol().as_bytes() == b" "
        && cell.bg == Color::Reset
        && !cell.modifier.intersects(ON_BLANK)
}

/// Returns what to print for a cell and how wide it is: its text, or a blank where that could act or has no width.
fn measured(cell: &Cell) -> (&str, usize) {
    let symbol = cell.symbol();
    if let [b' '..=b'~'] = symbol.as_bytes() {
        return (symbol, 1);
    }
    let wide = text::cluster_width(symbol);
    let fits = symbol.len() <= text::CLUSTER_BYTES && wide > 0 && !symbol.chars().any(text::acts);
    if fits { (symbol, wide) } else { (" ", 1) }
}

/// Whether two neighbours would melt into one cluster when printed side by side.
fn joins(before: &str, after: &str) -> bool {
    if after.is_ascii() || before.is_empty() {
        return false;
    }
    let mut both = String::with_capacity(before.len() + after.len());
    both.push_str(before);
    both.push_str(after);
    both.graphemes(true)
        .next()
        .is_some_and(|first| first.len() != before.len())
}

fn color_code(color: Color, base: u16) -> String {
    match color {
        Color::Reset => (base + 9).to_string(),
        Color::Rgb(r, g, b) => format!("{};2;{r};{g};{b}", base + 8),
        Color::Indexed(i) => format!("{};5;{i}", base + 8),
        named => match named_index(named) {
            dark @ 0..=7 => (base + dark).to_string(),
            bright => (base + 52 + bright).to_string(),
        },
    }
}

/// Returns the number of a named colour, 0 to 15.
fn named_index(color: Color) -> u16 {
    match color {
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White | Color::Reset | Color::Rgb(..) | Color::Indexed(_) => 15,
    }
}

/// Returns the nearest colour that a terminal of this depth shows.
pub fn reduce(color: Color, depth: ColorDepth) -> Color {
    match (depth, color) {
        (ColorDepth::None, _) => Color::Reset,
        (ColorDepth::Indexed, Color::Rgb(r, g, b)) => Color::Indexed(nearest_256(r, g, b)),
        (ColorDepth::Sixteen, Color::Rgb(r, g, b)) => nearest_16(r, g, b),
        (ColorDepth::Sixteen, Color::Indexed(i)) => {
            let (r, g, b) = of_256(i);
            nearest_16(r, g, b)
        }
        _ => color,
    }
}

const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

fn nearest_256(r: u8, g: u8, b: u8) -> u8 {
    let step = |v: u8| {
        (0u8..6)
            .min_by_key(|i| STEPS[usize::from(*i)].abs_diff(v))
            .unwrap_or(0)
    };
    let cube = 16 + 36 * step(r) + 6 * step(g) + step(b);
    let mean = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
    // The ramp runs from 8 to 238 in steps of 10.
    let ramp = 232 + u8::try_from((mean.saturating_sub(3) / 10).min(23)).unwrap_or(23);
    if distance(of_256(ramp), (r, g, b)) < distance(of_256(cube), (r, g, b)) {
        ramp
    } else {
        cube
    }
}

fn of_256(index: u8) -> (u8, u8, u8) {
    match index {
        0..=15 => NAMED[usize::from(index)].1,
        16..=231 => {
            let i = usize::from(index - 16);
            (STEPS[i / 36], STEPS[i / 6 % 6], STEPS[i % 6])
        }
        _ => {
            let v = 8 + 10 * (index - 232);
            (v, v, v)
        }
    }
}

fn nearest_16(r: u8, g: u8, b: u8) -> Color {
    NAMED
        .iter()
        .min_by_key(|(_, rgb)| distance(*rgb, (r, g, b)))
        .map_or(Color::Reset, |(color, _)| *color)
}

fn distance(a: (u8, u8, u8), b: (u8, u8, u8)) -> u32 {
    let part = |x: u8, y: u8| u32::from(x.abs_diff(y)).pow(2);
    // Eyes weigh green most.
    2 * part(a.0, b.0) + 4 * part(a.1, b.1) + 3 * part(a.2, b.2)
}

/// The sixteen as xterm draws them.
const NAMED: [(Color, (u8, u8, u8)); 16] = [
    (Color::Black, (0, 0, 0)),
    (Color::Red, (205, 0, 0)),
    (Color::Green, (0, 205, 0)),
    (Color::Yellow, (205, 205, 0)),
    (Color::Blue, (0, 0, 238)),
    (Color::Magenta, (205, 0, 205)),
    (Color::Cyan, (0, 205, 205)),
    (Color::Gray, (229, 229, 229)),
    (Color::DarkGray, (127, 127, 127)),
    (Color::LightRed, (255, 0, 0)),
    (Color::LightGreen, (0, 255, 0)),
    (Color::LightYellow, (255, 255, 0)),
    (Color::LightBlue, (92, 92, 255)),
    (Color::LightMagenta, (255, 0, 255)),
    (Color::LightCyan, (0, 255, 255)),
    (Color::White, (255, 255, 255)),
];

#[cfg(test)]
mod tests;
