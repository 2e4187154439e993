//! How things look on this terminal: theme, glyphs, motion, and the few shapes that every screen shares.
//! It draws no screen of its own.

use porthole_bridge::{Background, ColorDepth, Start};
use ratatui_core::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use crate::{bindings::Keys, keymap::Preset, text, theme::Theme};

/// Text is never wider than this many columns.
pub(crate) const TEXT_COLS: u16 = 100;
/// Columns left free on each side.
pub(crate) const GUTTER: u16 = 2;

/// How things look on this terminal.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    /// The styles.
    pub(crate) theme: Theme,
    /// The theme's name; empty: the one that fits the background.
    pub(crate) theme_name: String,
    /// How many colours there are.
    pub(crate) depth: ColorDepth,
    /// Whether the common glyphs can be shown.
    pub(crate) unicode: bool,
    /// Whether things that work may move, as the visitor wishes.
    pub(crate) motion: bool,
    /// Whether the terminal has the focus.
    pub(crate) awake: bool,
    /// Minutes that local time is ahead of UTC.
    pub(crate) utc_offset_minutes: i16,
    /// The keys.
    pub(crate) keys: Keys,
    /// The key that is the launcher's, as it is written.
    pub(crate) launcher_key: String,
    background: Background,
}

impl Look {
    /// Returns the look that the start message asks for.
    pub(crate) fn new(start: &Start) -> Self {
        Self {
            theme: Theme::choose(&start.theme, start.background, start.colors),
            theme_name: start.theme.clone(),
            depth: start.colors,
            unicode: start.unicode,
            motion: !start.reduced_motion,
            awake: true,
            utc_offset_minutes: start.utc_offset_minutes,
            keys: Keys::with(preset(&start.preferences), bindings(&start.preferences)),
            launcher_key: preference(&start.preferences, "launcher_key")
                .unwrap_or("Ctrl-]")
                .to_owned(),
            background: start.background,
        }
    }

    /// Changes the theme.
    pub(crate) fn choose_theme(&mut self, name: &str) {
        self.theme = Theme::choose(name, self.background, self.depth);
        name.clone_into(&mut self.theme_name);
    }

    /// Returns a glyph, or its stand-in on a terminal without it.
    pub(crate) fn glyph(&self, glyph: Glyph) -> &'static str {
        let (unicode, ascii) = glyph.forms();
        if self.unicode { unicode } else { ascii }
    }

    /// Returns whether things that work move now.
    pub(crate) fn animates(&self) -> bool {
        self.motion && self.awake
    }

    /// Returns the sign of something at work; it turns where things may move.
    pub(crate) fn spinner(&self, now_ms: u64) -> &'static str {
        const UNICODE: [&str; 4] = ["◐", "◓", "◑", "◒"];
        const ASCII: [&str; 4] = ["|", "/", "-", "\\"];
        let step = if self.animates() {
            (now_ms / 200 % 4) as usize
        } else {
            0
        };
        if self.unicode {
            UNICODE[step]
        } else if self.animates() {
            ASCII[step]
        } else {
            "*"
        }
    }
}

impl Default for Look {
    fn default() -> Self {
        Self {
            theme: Theme::choose("", Background::Unknown, ColorDepth::None),
            theme_name: String::new(),
            depth: ColorDepth::None,
            unicode: false,
            motion: false,
            awake: true,
            utc_offset_minutes: 0,
            keys: Keys::default(),
            launcher_key: "Ctrl-]".to_owned(),
            background: Background::Unknown,
        }
    }
}

/// A sign with a stand-in in ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glyph {
    Idle,
    Working,
    Waiting,
    Failed,
    Unread,
    Pointer,
    Bar,
    Dot,
    Full,
    Empty,
    Down,
    Folded,
    Unfolded,
}

impl Glyph {
    fn forms(self) -> (&'static str, &'static str) {
        match self {
            Self::Idle => ("○", "o"),
            Self::Working => ("◐", "~"),
            Self::Waiting => ("●", "!"),
            Self::Failed => ("✗", "x"),
            Self::Unread => ("•", "*"),
            Self::Pointer => ("▸", ">"),
            Self::Bar => ("▌", "|"),
            Self::Dot => ("·", "-"),
            Self::Full => ("▰", "#"),
            Self::Empty => ("▱", "."),
            Self::Down => ("↓", "v"),
            Self::Folded => ("▸", ">"),
            Self::Unfolded => ("▾", "v"),
        }
    }
}

/// Returns the part of the screen that is used: not wider than text may be, in the middle.
pub(crate) fn page(screen: Rect) -> Rect {
    let width = screen.width.min(TEXT_COLS + 2 * GUTTER);
    Rect {
        x: screen.x + (screen.width - width) / 2,
        width,
        ..screen
    }
}

/// Draws pieces from the left and others from the right; the left ones give way.
pub(crate) fn sides(buf: &mut Buffer, row: Rect, left: &[(&str, Style)], right: &[(&str, Style)]) {
    if row.height == 0 || row.width == 0 {
        return;
    }
    let cols = usize::from(row.width);
    let wanted: usize = right
        .iter()
        .map(|(t, _)| text::width(&text::visible(t)))
        .sum();
    let room = if wanted + 8 > cols {
        cols
    } else {
        cols - wanted
    };
    if room < cols {
        pieces(
            buf,
            Rect {
                x: row.x + room as u16,
                width: wanted as u16,
                ..row
            },
            right,
        );
        pieces(
            buf,
            Rect {
                width: (room.saturating_sub(1)) as u16,
                ..row
            },
            left,
        );
    } else {
        pieces(buf, row, left);
    }
}

/// Draws pieces one after the other in a row; what does not fit ends in `…`.
pub(crate) fn pieces(buf: &mut Buffer, row: Rect, pieces: &[(&str, Style)]) {
    if row.height == 0 {
        return;
    }
    let spans: Vec<Span<'static>> = pieces
        .iter()
        .map(|(t, style)| Span::styled(text::visible(t).into_owned(), *style))
        .collect();
    let cols = usize::from(row.width);
    let line = text::cut_line(Line::from(spans), cols);
    text::put_line(buf, row.x, row.y, cols, &line);
}

/// Says on the lower edge of what floats how many rows there are below.
pub(crate) fn more_below(buf: &mut Buffer, area: Rect, left: usize, look: &Look) {
    let words = format!(" {} {left} more ", look.glyph(Glyph::Down));
    let wide = text::width(&words);
    let area = area.intersection(buf.area);
    if left > 0 && area.height > 2 && usize::from(area.width) > wide + 4 {
        let x = area.right() - wide as u16 - 2;
        text::put(buf, x, area.bottom() - 1, wide, &words, look.theme.accent);
    }
}

/// Clears a part of the screen and draws the border of something that floats there; returns its inside.
pub(crate) fn float(buf: &mut Buffer, area: Rect, title: &str, look: &Look) -> Rect {
    let area = area.intersection(buf.area);
    if area.width < 4 || area.height < 3 {
        return Rect {
            width: 0,
            height: 0,
            ..area
        };
    }
    // A column on each side stays free, so that no word behind seems to belong to what floats.
    let right = (area.right() + 1).min(buf.area.right());
    for y in area.top()..area.bottom() {
        for x in area.left().saturating_sub(1).max(buf.area.left())..right {
            buf[(x, y)].reset();
        }
    }
    let [tl, tr, bl, br, h, v] = if look.unicode {
        ["┌", "┐", "└", "┘", "─", "│"]
    } else {
        ["+", "+", "+", "+", "-", "|"]
    };
    let style = look.theme.border;
    let cols = usize::from(area.width);
    let edge = |l: &str, r: &str| format!("{l}{}{r}", h.repeat(cols - 2));
    text::put(buf, area.x, area.y, cols, &edge(tl, tr), style);
    text::put(buf, area.x, area.bottom() - 1, cols, &edge(bl, br), style);
    for y in area.y + 1..area.bottom() - 1 {
        text::put(buf, area.x, y, 1, v, style);
        text::put(buf, area.right() - 1, y, 1, v, style);
    }
    if !title.is_empty() {
        let title = format!(" {} ", text::cut(title, cols.saturating_sub(6)));
        text::put(
            buf,
            area.x + 2,
            area.y,
            cols.saturating_sub(4),
            &title,
            look.theme.accent,
        );
    }
    Rect {
        x: area.x + 2,
        y: area.y + 1,
        width: area.width - 4,
        height: area.height - 2,
    }
}

fn preset(preferences: &str) -> Preset {
    match preference(preferences, "keys") {
        Some("emacs") => Preset::Emacs,
        _ => Preset::Standard,
    }
}

/// Returns the names and keys of the preferences' table `[bindings]`.
fn bindings(preferences: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = preferences.lines().map(str::trim);
    let inside = lines.skip_while(|line| *line != "[bindings]").skip(1);
    inside
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| {
            let (name, value) = line.split_once('=')?;
            Some((name.trim().trim_matches('"'), text_of(value)?))
        })
}

/// Returns a text of the preferences' top table. They come as TOML, written by the launcher: one key a line. What needs
/// more than a line is no preference of this UI, and a TOML reader is large.
fn preference<'a>(preferences: &'a str, key: &str) -> Option<&'a str> {
    let top = preferences
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with('['));
    let (_, value) = top
        .filter_map(|line| line.split_once('='))
        .find(|(name, _)| name.trim() == key)?;
    text_of(value)
}

/// Returns the text between quotes at the start of a value.
fn text_of(value: &str) -> Option<&str> {
    let value = value.trim();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value[1..].split_once(quote).map(|(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_keys_stand_in_a_table_of_their_own() {
        let written =
            "keys = \"emacs\"\n\n[bindings]\nfind = \"ctrl-g, f5\"\n\n[other]\nfind = \"x\"\n";
        assert_eq!(
            bindings(written).collect::<Vec<_>>(),
            [("find", "ctrl-g, f5")]
        );
        assert_eq!(bindings("find = \"ctrl-g\"\n").count(), 0);
    }

    #[test]
    fn a_preference_is_found_in_what_the_launcher_writes() {
        let written = "a = 1\nkeys = \"emacs\"\n\n[inner]\nkeys = \"other\"\n";
        assert_eq!(preset(written), Preset::Emacs);
        assert_eq!(preset("# none\nkeys='emacs' # mine\n"), Preset::Emacs);
        let inner = "a = 1\n\n[inner]\nkeys = \"emacs\"\n";
        for other in [inner, "", "keys = emacs", "keys = \"vi\"", "keys"] {
            assert_eq!(preset(other), Preset::Standard, "{other}");
        }
    }
}
