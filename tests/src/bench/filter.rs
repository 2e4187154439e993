//! A 60 KB truecolor frame into the grid; the reference is `vte` feeding a ratatui buffer through a minimal performer.

use std::{hint::black_box, time::Instant};

use porthole_launcher::screen::Screen;
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Color, Style},
};

use super::{Row, quantile};

const COLS: u16 = 200;
const ROWS: u16 = 60;
const SAMPLES: usize = 41;
const FRAMES: usize = 20;

/// Measures both in turn.
pub fn measure() -> Vec<Row> {
    let frame = truecolor_frame();
    let mut screen = Screen::new(COLS, ROWS);
    let mut buffer = Buffer::empty(Rect::new(0, 0, COLS, ROWS));
    let (mut ours, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        ours.push(microseconds(|| {
            screen.paint(black_box(&frame)).ok();
        }));
        reference.push(microseconds(|| plain(&mut buffer, black_box(&frame))));
    }
    let (ours, reference) = (quantile(&mut ours, 0.5), quantile(&mut reference, 0.5));
    vec![Row::beside(
        "filter, 60 KB truecolor frame",
        ours,
        "us",
        reference,
    )]
}

fn microseconds(mut work: impl FnMut()) -> f64 {
    let started = Instant::now();
    for _ in 0..FRAMES {
        work();
    }
    started.elapsed().as_secs_f64() * 1e6 / FRAMES as f64
}

/// Returns a frame of 60 KB: rows of coloured words with some wide and box characters.
fn truecolor_frame() -> Vec<u8> {
    let mut frame = String::new();
    let words = [
        "fn ",
        "main() ",
        "漢字 ",
        "│ let ",
        "value = ",
        "42; ",
        "─── ",
        "🙂 ",
        "return ",
    ];
    let mut seed = 7u32;
    'rows: for row in 1..=ROWS {
        frame.push_str(&format!("\x1b[{row};1H"));
        let mut col = 0;
        while col < COLS - 12 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (r, g, b) = (seed >> 24, seed >> 16 & 255, seed >> 8 & 255);
            let word = words[seed as usize % words.len()];
            frame.push_str(&format!("\x1b[38;2;{r};{g};{b}m{word}"));
            col += u16::try_from(unicode_width::UnicodeWidthStr::width(word)).unwrap_or(1);
            if frame.len() > 60_000 {
                break 'rows;
            }
        }
    }
    frame.into_bytes()
}

fn plain(buffer: &mut Buffer, frame: &[u8]) {
    buffer.reset();
    let mut performer = Plain {
        buffer,
        col: 0,
        row: 0,
        style: Style::default(),
    };
    vte::Parser::new().advance(&mut performer, frame);
}

struct Plain<'a> {
    buffer: &'a mut Buffer,
    col: u16,
    row: u16,
    style: Style,
}

impl vte::Perform for Plain<'_> {
    fn print(&mut self, letter: char) {
        let width = unicode_width::UnicodeWidthChar::width(letter).unwrap_or(0);
        if let Some(cell) = self.buffer.cell_mut((self.col, self.row)) {
            cell.set_char(letter).set_style(self.style);
        }
        self.col = self.col.saturating_add(u16::try_from(width).unwrap_or(1));
    }

    fn csi_dispatch(&mut self, params: &vte::Params, _: &[u8], _: bool, action: char) {
        let mut numbers = params.iter().map(|p| p.first().copied().unwrap_or(0));
        match action {
            'H' => {
                self.row = numbers.next().unwrap_or(1).saturating_sub(1);
                self.col = numbers.next().unwrap_or(1).saturating_sub(1);
            }
            'm' if numbers.next() == Some(38) => {
                let mut rest = numbers.skip(1).map(|n| u8::try_from(n).unwrap_or(0));
                let mut next = || rest.next().unwrap_or(0);
                self.style = self.style.fg(Color::Rgb(next(), next(), next()));
            }
            _ => self.style = Style::default(),
        }
    }
}
