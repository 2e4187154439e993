//! Whatever frames came and however the window changed: a terminal that was sent only the changes shows what one shows
//! that is sent the last frame whole. The terminal is another project's model, which counts widths in its own way.

use std::num::NonZeroU16;

use porthole_bridge::ColorDepth;
use porthole_launcher::{draw::Painter, screen::Screen};
use proptest::{collection::vec, prelude::*, sample::select};
use ratatui::{layout::Rect, style::Style};

/// Parts of frames: places, styles, erasure, and text whose width terminals disagree on. Clusters that a terminal may draw
/// wider than they are would run over the row's end here, because this model always wraps; those are tried in tmux.
const PARTS: [&str; 36] = [
    "\x1b[1;1H",
    "\x1b[2;3H",
    "\x1b[99;99H",
    "\x1b[1;99H",
    "\x1b[3D",
    "\x1b[C",
    "\x1b[2J",
    "\x1b[K",
    "\x1b[1K",
    "\x1b[4X",
    "\x1b[0m",
    "\x1b[1;31m",
    "\x1b[48;5;24m",
    "\x1b[38;2;9;8;7m",
    "\x1b[7m",
    "\x1b[?7l",
    "\x1b[?25l",
    "\r\n",
    "\t",
    "中",
    "中中中",
    "ｶﾞ",
    "\u{26a0}\u{fe0f}",
    "\u{26a0}",
    "🇩🇪",
    "🇩",
    "⸻",
    "①",
    "\u{1100}\u{1161}\u{11a8}",
    "क्षि",
    "\u{e33}",
    "e\u{301}\u{301}",
    "\u{301}",
    "\u{600}",
    "\u{202e}",
    "\u{1160}",
];

#[derive(Clone)]
enum Step {
    Frame(Vec<u8>),
    Resize(u16, u16),
}

impl std::fmt::Debug for Step {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Step::Frame(frame) => write!(out, "{:?}", String::from_utf8_lossy(frame)),
            Step::Resize(cols, rows) => write!(out, "{cols}x{rows}"),
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let part = prop_oneof![
        4 => select(PARTS.as_slice()).prop_map(str::to_owned),
        2 => "[ -~é漢]{1,5}",
    ];
    let frame = vec(part, 0..16).prop_map(|parts| Step::Frame(parts.concat().into_bytes()));
    let resize = (1_u16..24, 2_u16..7).prop_map(|(cols, rows)| Step::Resize(cols, rows));
    prop_oneof![5 => frame, 1 => resize]
}

/// A terminal with a launcher in it.
struct World {
    screen: Screen,
    size: (u16, u16),
    painter: Painter,
    terminal: vt100::Parser,
}

impl World {
    fn new(cols: u16, rows: u16) -> Self {
        Self {
            screen: Screen::new(cols, rows - 1),
            size: (cols, rows),
            painter: Painter::new(ColorDepth::True),
            terminal: terminal(cols, rows),
        }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Frame(frame) => self.screen.paint(frame).expect("small enough"),
            Step::Resize(cols, rows) => {
                self.size = (*cols, *rows);
                self.screen.resize(*cols, rows - 1);
                self.painter.forget();
                let (rows, cols) = (cells(*rows), cells(*cols));
                self.terminal.screen_mut().set_size(rows, cols);
            }
        }
    }

    /// Draws the screen and a row of the launcher's own with `painter`.
    fn drawn(&self, painter: &mut Painter) -> Vec<u8> {
        let (cols, rows) = self.size;
        let mut buffer = self.screen.buffer().clone();
        buffer.resize(Rect::new(0, 0, cols, rows));
        buffer.set_stringn(0, rows - 1, "porthole", usize::from(cols), Style::new());
        painter.frame(&mut buffer, self.screen.cursor(), rows - 1)
    }

    fn draw(&mut self) {
        let mut painter = std::mem::replace(&mut self.painter, Painter::new(ColorDepth::True));
        let bytes = self.drawn(&mut painter);
        self.painter = painter;
        self.terminal.process(&bytes);
    }
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).expect("not zero")
}

fn terminal(cols: u16, rows: u16) -> vt100::Parser {
    vt100::Parser::new(cells(rows), cells(cols), 0)
}

/// Returns everything that is seen, cell by cell.
fn seen(terminal: &vt100::Parser) -> Vec<String> {
    let screen = terminal.screen();
    let (rows, cols) = screen.size();
    let cell = |row, col| {
        let cell = screen.cell(row, col).expect("inside");
        let symbol = match cell.contents() {
            "" if !cell.is_wide_continuation() => " ",
            symbol => symbol,
        };
        let (fg, bg) = (cell.fgcolor(), cell.bgcolor());
        format!(
            "{row},{col} {symbol:?} {fg:?} {bg:?} {} {}",
            cell.bold(),
            cell.inverse()
        )
    };
    let all = (0..rows.get()).flat_map(|row| (0..cols.get()).map(move |col| (row, col)));
    let mut seen: Vec<String> = all.map(|(row, col)| cell(row, col)).collect();
    if !screen.hide_cursor() {
        seen.push(format!("cursor {:?}", screen.cursor_position()));
    }
    seen
}

proptest! {
    #[test]
    fn changes_alone_leave_the_screen_that_the_whole_frame_leaves(
        cols in 1_u16..24,
        rows in 2_u16..7,
        steps in vec(step(), 1..9),
    ) {
        let mut world = World::new(cols, rows);
        for step in &steps {
            world.take(step);
            world.draw();
            let (cols, rows) = world.size;
            let mut whole = terminal(cols, rows);
            whole.process(&world.drawn(&mut Painter::new(ColorDepth::True)));
            let (changes, whole) = (seen(&world.terminal), seen(&whole));
            let differ = changes.iter().zip(&whole).find(|(one, two)| one != two);
            prop_assert_eq!(differ, None, "of {}x{}", cols, rows);
        }
    }

    #[test]
    fn the_launchers_own_row_is_the_same_whatever_is_above_it(
        cols in 9_u16..24,
        rows in 2_u16..7,
        steps in vec(step(), 1..9),
    ) {
        let mut world = World::new(cols, rows);
        for step in &steps {
            match step {
                Step::Resize(cols, rows) => world.take(&Step::Resize(cols + 8, *rows)),
                Step::Frame(_) => world.take(step),
            }
            world.draw();
            let (cols, rows) = world.size;
            let row = world.terminal.screen().contents_between(rows - 1, 0, rows - 1, cols);
            prop_assert_eq!(row.trim_end(), "porthole");
        }
    }
}
