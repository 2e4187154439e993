//! The pen: what `SGR` sets. It knows no cell and no cursor.

use ratatui::style::{Color, Modifier};

use super::numbers::Numbers;

/// The style that text is written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pen {
    pub(super) fg: Color,
    pub(super) bg: Color,
    pub(super) modifier: Modifier,
}

impl Default for Pen {
    fn default() -> Self {
        Pen {
            fg: Color::Reset,
            bg: Color::Reset,
            modifier: Modifier::empty(),
        }
    }
}

const NAMED: [Color; 8] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::Gray,
];

const BRIGHT: [Color; 8] = [
    Color::DarkGray,
    Color::LightRed,
    Color::LightGreen,
    Color::LightYellow,
    Color::LightBlue,
    Color::LightMagenta,
    Color::LightCyan,
    Color::White,
];

impl Pen {
    /// Applies one `SGR` sequence and returns how many of its codes were dropped.
    #[inline]
    pub(super) fn apply(&mut self, numbers: &Numbers) -> u32 {
        let mut dropped = 0;
        let mut at = 0;
        while at < numbers.len() {
            let code = numbers.get(at);
            let end = numbers.group_end(at);
            match code {
                38 | 48 | 58 => {
                    let (color, next) = color(numbers, at, end);
                    match (code, color) {
                        (38, Some(color)) => self.fg = color,
                        (48, Some(color)) => self.bg = color,
                        _ => dropped += 1,
                    }
                    at = next;
                    continue;
                }
                4 if end - at > 1 => self.set(Modifier::UNDERLINED, numbers.get(at + 1) != 0),
                _ if end - at > 1 => dropped += 1,
                _ => dropped += u32::from(!self.code(code)),
            }
            at = end;
        }
        dropped
    }

    fn code(&mut self, code: u16) -> bool {
        match code {
            0 => *self = Pen::default(),
            1 => self.set(Modifier::BOLD, true),
            2 => self.set(Modifier::DIM, true),
            3 => self.set(Modifier::ITALIC, true),
            4 => self.set(Modifier::UNDERLINED, true),
            5 => self.set(Modifier::SLOW_BLINK, true),
            7 => self.set(Modifier::REVERSED, true),
            8 => self.set(Modifier::HIDDEN, true),
            9 => self.set(Modifier::CROSSED_OUT, true),
            22 => self.set(Modifier::BOLD | Modifier::DIM, false),
            23 => self.set(Modifier::ITALIC, false),
            24 => self.set(Modifier::UNDERLINED, false),
            25 => self.set(Modifier::SLOW_BLINK, false),
            27 => self.set(Modifier::REVERSED, false),
            28 => self.set(Modifier::HIDDEN, false),
            29 => self.set(Modifier::CROSSED_OUT, false),
            30..=37 => self.fg = NAMED[usize::from(code - 30)],
            39 => self.fg = Color::Reset,
            40..=47 => self.bg = NAMED[usize::from(code - 40)],
            49 => self.bg = Color::Reset,
            90..=97 => self.fg = BRIGHT[usize::from(code - 90)],
            100..=107 => self.bg = BRIGHT[usize::from(code - 100)],
            _ => return false,
        }
        true
    }

    fn set(&mut self, modifier: Modifier, on: bool) {
        self.modifier.set(modifier, on);
    }
}

/// Returns the colour of an extended colour code at `at` and where the next code starts.
/// A form that is cut short takes the rest of the sequence with it, so that no colour part is read as a style.
#[inline]
fn color(numbers: &Numbers, at: usize, end: usize) -> (Option<Color>, usize) {
    let grouped = end - at > 1;
    let parts = if grouped { end } else { numbers.len() };
    let part = |offset: usize| (at + offset < parts).then(|| numbers.get(at + offset));
    let byte = |offset: usize| part(offset).and_then(|value| u8::try_from(value).ok());
    match part(1) {
        Some(5) => {
            let next = if grouped { end } else { (at + 3).min(parts) };
            (byte(2).map(Color::Indexed), next)
        }
        Some(2) => {
            // `38:2::r:g:b` carries a colour space before the parts, `38:2:r:g:b` does not.
            let first = if grouped && end - at > 5 { 3 } else { 2 };
            let next = if grouped { end } else { (at + 5).min(parts) };
            let rgb = match (byte(first), byte(first + 1), byte(first + 2)) {
                (Some(r), Some(g), Some(b)) => Some(Color::Rgb(r, g, b)),
                _ => None,
            };
            (rgb, next)
        }
        _ => (None, parts),
    }
}
