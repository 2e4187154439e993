//! How things look on this terminal: theme, glyphs, motion, and the few shapes that every screen shares.
//! It draws no screen of its own.

use porthole_bridge::{Background, ColorDepth, Start};
use ratatui_core::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use crate::{
    bindings::Keys,
    text,
    theme::{Layer, Theme, Themes},
    wishes::Wishes,
};

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
    /// Whether a screen reader reads this: nothing is drawn that is no word.
    pub(crate) plain: bool,
    /// The themes that can be chosen.
    pub(crate) themes: Themes,
    /// What the server's owner wishes, below what the visitor does.
    server: Wishes,
    own: Wishes,
    /// The theme that was chosen here, before both.
    chosen: Option<String>,
    /// The key that is the launcher's, as it is written.
    pub(crate) launcher_key: String,
    background: Background,
}

impl Look {
    /// Returns the look that the start message asks for, and what of it means nothing.
    pub(crate) fn new(start: &Start) -> (Self, Vec<String>) {
        let mut look = Self {
            depth: start.colors,
            unicode: start.unicode,
            utc_offset_minutes: start.utc_offset_minutes,
            background: start.background,
            ..Self::default()
        };
        let told = look.take_own(&start.theme, start.reduced_motion, &start.preferences);
        (look, told)
    }

    /// Takes the visitor's own looks in place of what they were; returns what of them means nothing.
    pub(crate) fn visitor_looks(&mut self, looks: &porthole_bridge::Looks) -> Vec<String> {
        let files = looks.themes.iter();
        let files = files.map(|file| (file.name.as_str(), file.text.as_str()));
        let mut told = looks.complaints.clone();
        told.extend(self.themes.take(Layer::Visitor, files));
        told.extend(self.take_own(&looks.theme, looks.reduced_motion, &looks.preferences));
        told
    }

    /// Takes the looks that the server offers in place of what they were; returns what of them means nothing.
    pub(crate) fn server_looks(&mut self, looks: &porthole_protocol::Looks) -> Vec<String> {
        let files = looks.themes.iter();
        let files = files.map(|file| (file.name.as_str(), file.text.as_str()));
        let mut told = looks.complaints.clone();
        told.extend(self.themes.take(Layer::Server, files));
        let (wishes, wrong) = Wishes::read(&looks.defaults, Layer::Server);
        told.extend(
            wrong
                .iter()
                .map(|wrong| format!("the server's `ui.toml`, {wrong}")),
        );
        self.server = wishes;
        self.settle();
        told
    }

    fn take_own(&mut self, theme: &str, reduced_motion: bool, preferences: &str) -> Vec<String> {
        let (mut wishes, wrong) = Wishes::read(preferences, Layer::Visitor);
        if !theme.is_empty() {
            wishes.theme = Some(theme.to_owned());
        }
        if reduced_motion {
            wishes.reduced_motion = Some(true);
        }
        self.own = wishes;
        self.settle();
        // The launcher hands over the table alone: its lines are not those of the file.
        let place = |wrong: &String| {
            let words = wrong
                .split_once(": ")
                .map_or(wrong.as_str(), |(_, words)| words);
            format!("`[ui]` in your preferences: {words}")
        };
        wrong.iter().map(place).collect()
    }

    /// Makes everything as it is wished for now.
    fn settle(&mut self) {
        let wishes = self.own.above(&self.server);
        let name = self.chosen.clone().or(wishes.theme).unwrap_or_default();
        self.theme = self.themes.choose(&name, self.background, self.depth);
        self.theme_name = name;
        self.plain = wishes.plain.unwrap_or(false);
        self.motion = !self.plain && !wishes.reduced_motion.unwrap_or(false);
        let own = wishes.bindings.iter();
        let own = own.map(|(id, keys)| (id.as_str(), keys.as_str()));
        self.keys = Keys::with(wishes.keys.unwrap_or_default(), own);
        if let Some(key) = &self.own.launcher_key {
            self.launcher_key.clone_from(key);
        }
    }

    /// Changes the theme.
    pub(crate) fn choose_theme(&mut self, name: &str) {
        self.chosen = Some(name.to_owned());
        self.settle();
    }

    /// Returns the theme that was chosen here and is not what was wished for anyway.
    pub(crate) fn chosen_theme(&self) -> Option<&str> {
        let wished = self.own.above(&self.server).theme;
        let chosen = self.chosen.as_deref();
        chosen.filter(|chosen| wished.as_deref() != Some(chosen))
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
            plain: false,
            themes: Themes::default(),
            server: Wishes::default(),
            own: Wishes::default(),
            chosen: None,
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
    let [tl, tr, bl, br, h, v] = if look.plain {
        [" "; 6]
    } else if look.unicode {
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
