//! From a finished buffer to terminal bytes: only what changed, one write a frame, the launcher's rows always.
//! It is the only code that makes drawing sequences, and it writes nothing itself.

use std::fmt::Write as _;

use porthole_bridge::ColorDepth;
use ratatui::{
    buffer::{Buffer, Cell},
    layout::{Position, Rect},
    style::{Color, Modifier},
};

use crate::{
    screen::{cluster, width_is_disputed},
    terminal::colors::quantise,
};

/// What the terminal shows, as far as we know, and how to change it.
pub struct Painter {
    shown: Buffer,
    depth: ColorDepth,
    whole: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Look {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

const PLAIN: Look = Look {
    fg: Color::Reset,
    bg: Color::Reset,
    modifier: Modifier::empty(),
};

/// One frame being written.
struct Pen<'a> {
    out: String,
    depth: ColorDepth,
    look: Look,
    at: Option<(u16, u16)>,
    next: &'a Buffer,
}

impl Painter {
    /// Returns a painter for a terminal whose screen was just cleared.
    pub fn new(depth: ColorDepth) -> Self {
        Self {
            shown: Buffer::empty(Rect::ZERO),
            depth,
            whole: true,
        }
    }

    /// Has the next frame clear the screen and draw all of it.
    pub fn forget(&mut self) {
        self.whole = true;
    }

    /// Returns the bytes that turn what is shown into `next`, with the cursor at `cursor` or hidden.
    /// Rows from `own` on are written whether they changed or not.
    /// What was shown before is left in `next`, so that no cell is copied.
    pub fn frame(&mut self, next: &mut Buffer, cursor: Option<Position>, own: u16) -> Vec<u8> {
        let bytes = self.bytes(next, cursor, own);
        std::mem::swap(&mut self.shown, next);
        self.whole = false;
        bytes
    }

    fn bytes(&mut self, next: &Buffer, cursor: Option<Position>, own: u16) -> Vec<u8> {
        let whole = self.whole || self.shown.area != next.area;
        let mut pen = Pen::new(next, self.depth);
        if whole {
            pen.out.push_str("\x1b[0m\x1b[2J");
            self.shown = Buffer::empty(next.area);
        }
        for y in 0..next.area.height {
            match y >= own {
                true => pen.row(y, 0),
                false => pen.changed(y, &self.shown),
            }
        }
        pen.finish(cursor)
    }
}

impl<'a> Pen<'a> {
    /// Wrapping is off while drawing: a cell that is wider than thought must not reach the next row.
    fn new(next: &'a Buffer, depth: ColorDepth) -> Self {
        Self {
            out: String::from("\x1b[?2026h\x1b[?25l\x1b[?7l\x1b[0m"),
            depth,
            look: PLAIN,
            at: None,
            next,
        }
    }

    fn finish(mut self, cursor: Option<Position>) -> Vec<u8> {
        self.out.push_str("\x1b[0m\x1b[?7h");
        if let Some(position) = cursor {
            self.move_to(position.x, position.y);
            self.out.push_str("\x1b[?25h");
        }
        self.out.push_str("\x1b[?2026l");
        self.out.into_bytes()
    }

    /// Rows of single-width cells are compared cell by cell; in any other a change may shift or halve its neighbours,
    /// so everything from the first change on is written.
    fn changed(&mut self, y: u16, shown: &Buffer) {
        let (old, new) = (row(shown, y), row(self.next, y));
        let Some(first) = old.iter().zip(new).position(|(old, new)| !same(old, new)) else {
            return;
        };
        if is_simple(old) && is_simple(new) {
            for (x, (old, new)) in old.iter().zip(new).enumerate().skip(first) {
                if !same(old, new) {
                    self.cell(x as u16, y, new, 1);
                }
            }
            return;
        }
        let back =
            usize::from(first > 0 && (width(&old[first - 1]) > 1 || width(&new[first - 1]) > 1));
        self.row(y, (first - back) as u16);
    }

    fn row(&mut self, y: u16, from: u16) {
        let cells = row(self.next, y);
        let mut x = usize::from(from);
        while x < cells.len() {
            let wide = width(&cells[x]).min((cells.len() - x) as u16).max(1);
            self.cell(x as u16, y, &cells[x], wide);
            x += usize::from(wide);
        }
    }

    fn cell(&mut self, x: u16, y: u16, cell: &Cell, wide: u16) {
        self.move_to(x, y);
        self.style(Look {
            fg: quantise(cell.fg, self.depth),
            bg: quantise(cell.bg, self.depth),
            modifier: cell.modifier,
        });
        let symbol = cell.symbol();
        if symbol.is_ascii() || !width_is_disputed(symbol) {
            self.out.push_str(symbol);
            self.at = Some((x + wide, y));
            return;
        }
        // Terminals disagree on this one: blank what it may or may not cover, and place what follows anew.
        for _ in 0..wide {
            self.out.push(' ');
        }
        self.at = None;
        self.move_to(x, y);
        self.out.push_str(symbol);
        self.at = None;
    }

    fn move_to(&mut self, x: u16, y: u16) {
        if self.at != Some((x, y)) {
            // Writing to a string does not fail.
            let _ = write!(self.out, "\x1b[{};{}H", y + 1, x + 1);
            self.at = Some((x, y));
        }
    }

    fn style(&mut self, look: Look) {
        if look == self.look {
            return;
        }
        let removed = !(self.look.modifier - look.modifier).is_empty();
        let from = if removed { PLAIN } else { self.look };
        let mut codes = String::new();
        if removed {
            codes.push_str("0;");
        }
        for (modifier, code) in MODIFIERS {
            if (look.modifier - from.modifier).contains(modifier) {
                codes.push_str(code);
            }
        }
        if self.depth != ColorDepth::None {
            if look.fg != from.fg {
                push_color(&mut codes, look.fg, Ground::Fore);
            }
            if look.bg != from.bg {
                push_color(&mut codes, look.bg, Ground::Back);
            }
        }
        self.look = look;
        if let Some(codes) = codes.strip_suffix(';') {
            let _ = write!(self.out, "\x1b[{codes}m");
        }
    }
}

/// Says whether two cells look the same; what tells most cells apart, or is the quickest to look at, comes first.
#[inline]
fn same(old: &Cell, new: &Cell) -> bool {
    old.modifier == new.modifier
        && old.symbol() == new.symbol()
        && old.fg == new.fg
        && old.bg == new.bg
}

fn row(buffer: &Buffer, y: u16) -> &[Cell] {
    let width = usize::from(buffer.area.width);
    let start = usize::from(y) * width;
    buffer.content.get(start..start + width).unwrap_or_default()
}

fn is_simple(cells: &[Cell]) -> bool {
    cells.iter().all(|cell| {
        let symbol = cell.symbol();
        symbol.is_ascii() || (cluster::width(symbol) == 1 && !width_is_disputed(symbol))
    })
}

fn width(cell: &Cell) -> u16 {
    match cell.symbol() {
        symbol if symbol.is_ascii() => 1,
        symbol => cluster::width(symbol).max(1),
    }
}

const MODIFIERS: [(Modifier, &str); 7] = [
    (Modifier::BOLD, "1;"),
    (Modifier::DIM, "2;"),
    (Modifier::ITALIC, "3;"),
    (Modifier::UNDERLINED, "4;"),
    (Modifier::REVERSED, "7;"),
    (Modifier::HIDDEN, "8;"),
    (Modifier::CROSSED_OUT, "9;"),
];

#[derive(Clone, Copy)]
enum Ground {
    Fore,
    Back,
}

/// Writes one colour as SGR parameters, each followed by `;`.
fn push_color(codes: &mut String, color: Color, ground: Ground) {
    let base = match ground {
        Ground::Fore => 30,
        Ground::Back => 40,
    };
    let code = match color {
        Color::Reset => 9,
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 60,
        Color::LightRed => 61,
        Color::LightGreen => 62,
        Color::LightYellow => 63,
        Color::LightBlue => 64,
        Color::LightMagenta => 65,
        Color::LightCyan => 66,
        Color::White => 67,
        Color::Indexed(index) => {
            let _ = write!(codes, "{};5;{index};", base + 8);
            return;
        }
        Color::Rgb(r, g, b) => {
            let _ = write!(codes, "{};2;{r};{g};{b};", base + 8);
            return;
        }
    };
    let _ = write!(codes, "{};", base + code);
}

#[cfg(test)]
mod tests {
    use ratatui::style::Style;

    use super::*;

    fn lines(lines: &[&str], width: u16) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, lines.len() as u16));
        for (y, line) in lines.iter().enumerate() {
            buffer.set_string(0, y as u16, line, Style::new());
        }
        buffer
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).expect("drawing is text")
    }

    #[test]
    fn a_changed_letter_costs_one_move_and_one_letter() {
        let mut painter = Painter::new(ColorDepth::True);
        painter.frame(&mut lines(&["abc", "own"], 3), None, 2);
        let out = text(painter.frame(&mut lines(&["aXc", "own"], 3), None, 2));
        assert_eq!(
            out,
            "\x1b[?2026h\x1b[?25l\x1b[?7l\x1b[0m\x1b[1;2HX\x1b[0m\x1b[?7h\x1b[?2026l"
        );
    }

    #[test]
    fn only_the_first_frame_and_one_after_forgetting_clear_the_screen() {
        let mut painter = Painter::new(ColorDepth::True);
        let buffer = lines(&["abc"], 3);
        assert!(text(painter.frame(&mut buffer.clone(), None, 1)).contains("\x1b[2J"));
        assert!(!text(painter.frame(&mut buffer.clone(), None, 1)).contains("\x1b[2J"));
        painter.forget();
        assert!(text(painter.frame(&mut buffer.clone(), None, 1)).contains("\x1b[2J"));
    }

    #[test]
    fn the_launchers_row_is_written_with_every_frame() {
        let mut painter = Painter::new(ColorDepth::True);
        let buffer = lines(&["abc", "own"], 3);
        painter.frame(&mut buffer.clone(), None, 1);
        assert!(text(painter.frame(&mut buffer.clone(), None, 1)).contains("own"));
    }

    #[test]
    fn a_frame_ends_with_the_cursor_where_it_belongs() {
        let mut painter = Painter::new(ColorDepth::True);
        let out = text(painter.frame(&mut lines(&["abc"], 3), Some(Position::new(1, 0)), 1));
        assert!(out.ends_with("\x1b[1;2H\x1b[?25h\x1b[?2026l"), "{out:?}");
    }

    #[test]
    fn without_colours_no_colour_is_written_but_bold_and_reverse_are() {
        let mut painter = Painter::new(ColorDepth::None);
        let mut buffer = lines(&["abc"], 3);
        let style = Style::new()
            .fg(Color::Rgb(1, 2, 3))
            .bg(Color::Red)
            .add_modifier(Modifier::BOLD | Modifier::REVERSED);
        buffer.set_style(buffer.area, style);
        let out = text(painter.frame(&mut buffer.clone(), None, 1));
        assert!(out.contains("\x1b[1;7m"), "{out:?}");
        assert!(!out.contains("38") && !out.contains("\x1b[4"), "{out:?}");
    }

    #[test]
    fn a_disputed_cell_is_followed_by_an_absolute_move() {
        let mut painter = Painter::new(ColorDepth::True);
        let out = text(painter.frame(&mut lines(&["\u{26a0}\u{fe0f}x"], 4), None, 1));
        assert!(out.contains("\u{26a0}\u{fe0f}\x1b[1;3Hx"), "{out:?}");
    }

    fn parser() -> vt100::Parser {
        let size = |cells| std::num::NonZeroU16::new(cells).expect("not zero");
        vt100::Parser::new(size(1), size(24), 0)
    }

    #[test]
    fn partial_redraws_of_wide_text_leave_the_same_screen_as_whole_ones() {
        let steps = [
            "\u{26a0}\u{fe0f} build 漢字漢字",
            "x漢字漢字",
            "ok",
            "漢x",
            "",
        ];
        let mut painter = Painter::new(ColorDepth::True);
        let mut partial = parser();
        for step in steps {
            let buffer = lines(&[step], 24);
            partial.process(&painter.frame(&mut buffer.clone(), None, 1));
            let mut whole = parser();
            whole.process(&Painter::new(ColorDepth::True).frame(&mut buffer.clone(), None, 1));
            let cells = |screen: &vt100::Screen| screen.contents().trim_end().to_owned();
            assert_eq!(cells(partial.screen()), cells(whole.screen()), "{step}");
        }
    }
}
