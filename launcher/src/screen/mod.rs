//! The only path from a UI's frame to cells: allow-list in, a ratatui buffer out.
//! It never forwards a byte, and it draws nothing itself.

pub(crate) mod allowed;
pub(crate) mod cluster;
mod grid;
mod numbers;
mod reader;
mod style;
mod sweep;

use porthole_bridge::limits::FRAME_BYTES;
use ratatui::{buffer::Buffer, layout::Position};

pub use cluster::text_width as width;
use grid::Grid;
pub use sweep::{sweep, width_is_disputed};

/// A frame over [`FRAME_BYTES`] is refused whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {0} bytes is over the limit")]
pub struct FrameTooLarge(pub usize);

/// What a frame held that the allow-list has no place for, counted by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Dropped {
    /// C0 and C1 control characters that do nothing in the model.
    pub controls: u32,
    /// `ESC` sequences that are neither `CSI` nor a string.
    pub escapes: u32,
    /// Strings: OSC, DCS, APC, PM and SOS.
    pub strings: u32,
    /// `CSI` sequences that are not allowed.
    pub sequences: u32,
    /// Mode changes that are not allowed.
    pub modes: u32,
    /// Style codes that are not allowed.
    pub styles: u32,
    /// Characters without a shape of their own: bidi controls, invisible ones, tags.
    pub characters: u32,
    /// Marks without a base, or more of them than a cell holds.
    pub marks: u32,
    /// Text and erasures that found no room: below the last row, or over the frame's budget of cell writes.
    pub clipped: u32,
}

/// A screen of cells that frames are painted on.
pub struct Screen {
    grid: Grid,
}

impl Screen {
    /// Returns a blank screen.
    pub fn new(cols: u16, rows: u16) -> Self {
        Screen {
            grid: Grid::new(cols, rows),
        }
    }

    /// Gives the screen a new size. It is blank until the next frame.
    pub fn resize(&mut self, cols: u16, rows: u16) {
        self.grid = Grid::new(cols, rows);
    }

    /// Paints a whole frame from blank, with a fresh parser: nothing of an earlier frame is left.
    ///
    /// # Errors
    /// A frame over 64 KiB is refused whole; the screen stays as it was.
    pub fn paint(&mut self, frame: &[u8]) -> Result<(), FrameTooLarge> {
        if frame.len() > FRAME_BYTES {
            return Err(FrameTooLarge(frame.len()));
        }
        self.grid.start();
        reader::read(&mut self.grid, frame);
        self.grid.finish();
        Ok(())
    }

    /// Returns the cells: `cols` × `rows`, swept.
    pub fn buffer(&self) -> &Buffer {
        &self.grid.buffer
    }

    /// Returns where the cursor is to be; `None`: hidden.
    pub fn cursor(&self) -> Option<Position> {
        self.grid.cursor()
    }

    /// Returns what was dropped from the last frame.
    pub fn dropped(&self) -> &Dropped {
        &self.grid.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bits(screen: &Screen) -> (Buffer, Option<Position>, Dropped) {
        (screen.buffer().clone(), screen.cursor(), *screen.dropped())
    }

    fn painted(cols: u16, rows: u16, frame: &[u8]) -> (Buffer, Option<Position>, Dropped) {
        let mut screen = Screen::new(cols, rows);
        screen.paint(frame).expect("small enough");
        bits(&screen)
    }

    /// Pieces that hostile and honest frames are made of, so that random frames reach the deep places.
    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let texts = prop::sample::select(vec![
            "plain text",
            "中文字",
            "👨‍👩‍👧",
            "❤️",
            "1️⃣",
            "🇩🇪🇫",
            "a\u{301}\u{301}",
            "\u{202E}",
            "ｶﾞﾟ",
            "\u{1100}\u{1161}\u{11A8}",
            "⸻",
            "क्षि",
            "\u{200D}",
            "\u{FE0F}",
            "\r\n",
            "\t",
            "\u{8}",
            "\u{9B}2J",
            "\x1b[2J",
            "\x1b[K",
            "\x1b[1J",
            "\x1b[44m",
            "\x1b[0m",
            "\x1b[38;2;1;2;3m",
            "\x1b[4:3m",
            "\x1b[48:2::9:8:7m",
            "\x1b[?7l",
            "\x1b[?7h",
            "\x1b[?25l",
            "\x1b[5;9H",
            "\x1b[999C",
            "\x1b[3X",
            "\x1b]0;t\x07",
            "\x1bPq",
            "\x1b_G",
            "\x1b\\",
            "\x1b",
            "\x1b[",
            "\x1b[1;1;1",
        ]);
        prop_oneof![
            4 => texts.prop_map(|text| text.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..6),
            1 => (0_u16..40, 0_u16..40, 0x40_u8..0x7F)
                .prop_map(|(a, b, last)| format!("\x1b[{a};{b}{}", char::from(last)).into_bytes()),
        ]
    }

    fn frame() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn both_ways_of_reading_make_the_same_screen(frame in frame(), cols in 1_u16..20, rows in 1_u16..6) {
            let mut slow = Grid::new(cols, rows);
            slow.start();
            reader::read_by_vte(&mut slow, &frame);
            slow.finish();
            prop_assert_eq!(painted(cols, rows, &frame), bits(&Screen { grid: slow }));
        }

        #[test]
        fn nothing_of_an_earlier_frame_is_left(first in frame(), second in frame(), cols in 1_u16..20, rows in 1_u16..6) {
            let mut screen = Screen::new(cols, rows);
            screen.paint(&first).expect("small enough");
            screen.paint(&second).expect("small enough");
            prop_assert_eq!(bits(&screen), painted(cols, rows, &second));
        }

        #[test]
        fn the_sweep_finds_nothing_to_do_after_a_frame(frame in frame(), cols in 1_u16..20, rows in 1_u16..6) {
            let (before, ..) = painted(cols, rows, &frame);
            let mut after = before.clone();
            sweep(&mut after);
            prop_assert_eq!(before, after);
        }
    }
}
