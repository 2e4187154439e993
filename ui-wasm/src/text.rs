//! Text on a grid: how wide it is, where it is cut and wrapped, and what stands in for what must not be drawn.
//! The one place that measures text; it knows no colours and no screens.

use std::borrow::Cow;

use ratatui_core::buffer::{Buffer, CellWidth};
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

/// Longest grapheme cluster that one cell takes, in bytes; marks beyond are left out.
pub const CLUSTER_BYTES: usize = 32;

/// Returns how many columns `text` takes.
pub fn width(text: &str) -> usize {
    if is_plain(text) {
        return text.len();
    }
    text.graphemes(true).map(cluster_width).sum()
}

/// Returns how many columns one grapheme cluster takes, counted as the launcher does.
pub fn cluster_width(cluster: &str) -> usize {
    match cluster.as_bytes() {
        [0..=0x1F | 0x7F] => 0,
        _ => usize::from(cluster.cell_width()),
    }
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, 0x20..=0x7e))
}

/// Returns as much of the start of `text` as fits into `cols` columns, ending in `…` where something was left out.
pub fn cut(text: &str, cols: usize) -> String {
    if width(text) <= cols {
        return text.to_owned();
    }
    if cols == 0 {
        return String::new();
    }
    let mut out = String::from(head(text, cols - 1));
    out.push('…');
    out
}

/// Returns `text` with its middle left out where it is wider than `cols` columns; the end keeps the larger part.
pub fn cut_middle(text: &str, cols: usize) -> String {
    if width(text) <= cols {
        return text.to_owned();
    }
    if cols < 5 {
        return cut(text, cols);
    }
    let before = (cols - 1) / 3;
    let start = head(text, before);
    let end = tail(text, cols - 1 - width(start));
    format!("{start}…{end}")
}

/// Returns the longest start of `text` that fits into `cols` columns.
pub fn head(text: &str, cols: usize) -> &str {
    let mut used = 0;
    for (at, cluster) in text.grapheme_indices(true) {
        used += cluster_width(cluster);
        if used > cols {
            return &text[..at];
        }
    }
    text
}

/// Returns the longest end of `text` that fits into `cols` columns.
pub fn tail(text: &str, cols: usize) -> &str {
    let mut used = 0;
    let mut from = text.len();
    for (at, cluster) in text.grapheme_indices(true).rev() {
        used += cluster_width(cluster);
        if used > cols {
            break;
        }
        from = at;
    }
    &text[from..]
}

/// Returns one line of text with a visible stand-in for every character that would act instead of show:
/// controls (line ends and tabs too), directional marks, invisible spaces, tags.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut in_tags = false;
    for c in text.chars() {
        let tag = is_tag(c);
        if acts(c) {
            if !(tag && in_tags) {
                push_stand_in(&mut out, c);
            }
        } else {
            out.push(c);
        }
        in_tags = tag;
    }
    Cow::Owned(out)
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e007f}')
}

pub(crate) fn acts(c: char) -> bool {
    c.is_control()
        || is_tag(c)
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{1d173}'..='\u{1d17a}'
        )
}

fn push_stand_in(out: &mut String, c: char) {
    match u32::from(c) {
        code @ 0..=0x1f => out.push(char::from_u32(0x2400 + code).unwrap_or('\u{fffd}')),
        0x7f => out.push('␡'),
        0x80..=0x9f => out.push('\u{fffd}'),
        0xe0000..=0xe007f => out.push('\u{fffd}'),
        code => out.push_str(&format!("<{code:04X}>")),
    }
}

/// Returns one line of text with its tabs turned into spaces up to the next multiple of `stop` columns.
pub fn expand_tabs(text: &str, stop: usize) -> String {
    let stop = stop.max(1);
    let mut out = String::with_capacity(text.len());
    let mut col = 0;
    for part in text.split_inclusive('\t') {
        let (words, tab) = match part.strip_suffix('\t') {
            Some(words) => (words, true),
            None => (part, false),
        };
        out.push_str(words);
        col += width(words);
        if tab {
            let blanks = stop - col % stop;
            out.extend(std::iter::repeat_n(' ', blanks));
            col += blanks;
        }
    }
    out
}

/// Columns between tab stops.
pub const TAB: usize = 8;

/// Returns one line of foreign text as it may be drawn: tabs expanded, the rest made visible.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.contains('\t') {
        return Cow::Owned(visible(&expand_tabs(text, TAB)).into_owned());
    }
    visible(text)
}

/// Returns `text` broken into lines of at most `cols` columns: at spaces where there are some, else between clusters.
/// Line ends in `text` end lines; foreign text is made visible.
pub fn wrap(text: &str, cols: usize) -> Vec<String> {
    text.split('\n')
        .flat_map(|line| wrap_line(&Line::raw(clean(line).into_owned()), cols))
        .map(|line| line.spans.into_iter().map(|s| s.content).collect())
        .collect()
}

/// Returns a styled line broken into lines of at most `cols` columns (at least 2), at spaces where there are some.
pub fn wrap_line(line: &Line<'_>, cols: usize) -> Vec<Line<'static>> {
    let mut wrapper = Wrapper::new(cols.max(2));
    for span in &line.spans {
        wrapper.push(&span.content, line.style.patch(span.style));
    }
    wrapper.finish()
}

/// Breaks styled text into lines. Words are kept whole where a line can hold them.
struct Wrapper {
    cols: usize,
    done: Vec<Line<'static>>,
    line: Vec<Span<'static>>,
    line_cols: usize,
    word: Vec<(String, usize, Style)>,
    word_cols: usize,
    gap: Vec<Span<'static>>,
    gap_cols: usize,
}

impl Wrapper {
    fn new(cols: usize) -> Self {
        Self {
            cols,
            done: Vec::new(),
            line: Vec::new(),
            line_cols: 0,
            word: Vec::new(),
            word_cols: 0,
            gap: Vec::new(),
            gap_cols: 0,
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        for cluster in text.graphemes(true) {
            // What no line can hold is left out, and that is shown.
            let (cluster, cols) = match cluster_width(cluster) {
                cols if cols > self.cols => ("…", 1),
                cols => (cluster, cols),
            };
            if cluster == " " {
                self.end_word();
                push_text(&mut self.gap, " ", style);
                self.gap_cols += 1;
                continue;
            }
            // Wide scripts break between any two characters.
            if cols >= 2 {
                self.end_word();
            }
            self.word.push((cluster.to_owned(), cols, style));
            self.word_cols += cols;
            if cols >= 2 {
                self.end_word();
            }
        }
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let fits = self.line_cols + self.gap_cols + self.word_cols <= self.cols;
        if fits || (self.line_cols == 0 && self.gap_cols + 1 < self.cols) {
            self.take_gap();
        } else {
            self.break_line();
        }
        for (cluster, cols, style) in std::mem::take(&mut self.word) {
            if self.line_cols + cols > self.cols {
                self.break_line();
            }
            push_text(&mut self.line, &cluster, style);
            self.line_cols += cols;
        }
        self.word_cols = 0;
    }

    fn take_gap(&mut self) {
        self.line_cols += self.gap_cols;
        self.gap_cols = 0;
        for span in std::mem::take(&mut self.gap) {
            push_text(&mut self.line, &span.content, span.style);
        }
    }

    fn break_line(&mut self) {
        self.gap.clear();
        self.gap_cols = 0;
        self.line_cols = 0;
        self.done.push(Line::from(std::mem::take(&mut self.line)));
    }

    fn finish(mut self) -> Vec<Line<'static>> {
        self.end_word();
        if self.line_cols + self.gap_cols <= self.cols {
            self.take_gap();
        }
        self.done.push(Line::from(self.line));
        self.done
    }
}

fn push_text(spans: &mut Vec<Span<'static>>, text: &str, style: Style) {
    match spans.last_mut() {
        Some(last) if last.style == style => last.content.to_mut().push_str(text),
        _ => spans.push(Span::styled(text.to_owned(), style)),
    }
}

/// Returns how many columns a styled line takes.
pub fn line_width(line: &Line<'_>) -> usize {
    line.spans.iter().map(|s| width(&s.content)).sum()
}

/// Returns a styled line cut to `cols` columns, ending in `…` where something was left out.
pub fn cut_line(line: Line<'static>, cols: usize) -> Line<'static> {
    if line_width(&line) <= cols {
        return line;
    }
    let style = line.style;
    let mut spans = Vec::new();
    let mut left = cols;
    for span in line.spans {
        let cols = width(&span.content);
        if cols < left || (cols == left && left == 0) {
            left -= cols;
            spans.push(span);
            continue;
        }
        // The line is wider than the room, so something is left out here or right after.
        let mut text = String::from(head(&span.content, left.saturating_sub(1)));
        if left > 0 {
            text.push('…');
        }
        spans.push(Span::styled(text, span.style));
        break;
    }
    Line {
        style,
        spans,
        alignment: None,
    }
}

/// Writes `text` into row `y` from column `x` on, at most `cols` columns; returns how many it took.
/// The style is laid over what the cells have. Never leaves half a wide character at the end.
pub fn put(buf: &mut Buffer, x: u16, y: u16, cols: usize, text: &str, style: Style) -> usize {
    let area = buf.area;
    if y < area.top() || y >= area.bottom() || x < area.left() {
        return 0;
    }
    let cols = cols.min(usize::from(area.right().saturating_sub(x)));
    let mut used = 0;
    for cluster in text.graphemes(true) {
        let wide = cluster_width(cluster);
        if wide == 0 {
            continue;
        }
        if used + wide > cols {
            break;
        }
        let Ok(offset) = u16::try_from(used) else {
            break;
        };
        put_cluster(buf, x + offset, y, cluster, wide, style);
        used += wide;
    }
    used
}

fn put_cluster(buf: &mut Buffer, x: u16, y: u16, cluster: &str, wide: usize, style: Style) {
    if let Some(cell) = buf.cell_mut((x, y)) {
        cell.set_symbol(short_cluster(cluster)).set_style(style);
    }
    for column in (x + 1..).take(wide.saturating_sub(1)) {
        if let Some(cell) = buf.cell_mut((column, y)) {
            let bg = cell.bg;
            cell.reset();
            cell.set_bg(bg).set_style(style);
        }
    }
}

fn short_cluster(cluster: &str) -> &str {
    let end = cluster.floor_char_boundary(CLUSTER_BYTES);
    &cluster[..end]
}

/// Writes a styled line into row `y` from column `x` on, at most `cols` columns; returns how many it took.
pub fn put_line(buf: &mut Buffer, x: u16, y: u16, cols: usize, line: &Line<'_>) -> usize {
    let mut used = 0;
    for span in &line.spans {
        let Ok(offset) = u16::try_from(used) else {
            break;
        };
        used += put(
            buf,
            x.saturating_add(offset),
            y,
            cols - used,
            &span.content,
            line.style.patch(span.style),
        );
    }
    used
}

/// Glyphs of ours and what stands in for them on terminals that lack them, cell for cell.
const STAND_INS: &[(&str, &str)] = &[
    ("●", "*"),
    ("○", "o"),
    ("◐", "*"),
    ("◓", "*"),
    ("◑", "*"),
    ("◒", "*"),
    ("▸", ">"),
    ("▾", "v"),
    ("✓", "+"),
    ("✗", "x"),
    ("↑", "^"),
    ("↓", "v"),
    ("…", "~"),
    ("·", "-"),
    ("•", "-"),
    ("−", "-"),
    ("–", "-"),
    ("—", "-"),
    ("→", ">"),
    ("←", "<"),
    ("“", "\""),
    ("”", "\""),
    ("‘", "'"),
    ("’", "'"),
    ("│", "|"),
    ("─", "-"),
    ("┼", "+"),
    ("┌", "+"),
    ("┐", "+"),
    ("└", "+"),
    ("┘", "+"),
    ("├", "+"),
    ("┤", "+"),
    ("┬", "+"),
    ("┴", "+"),
    ("▌", "|"),
    ("▰", "#"),
    ("▱", "."),
];

/// Puts an ASCII character in the place of every glyph of ours within `area`, for terminals that lack them.
pub fn put_stand_ins(buf: &mut Buffer, area: Rect) {
    for position in area.intersection(buf.area).positions() {
        if let Some(cell) = buf.cell_mut(position)
            && let Some(ascii) = ascii_for(cell.symbol())
        {
            cell.set_symbol(ascii);
        }
    }
}

fn ascii_for(symbol: &str) -> Option<&'static str> {
    if symbol.is_ascii() {
        return None;
    }
    // The pictures of control characters, by which `visible` shows them.
    if ("\u{2400}".."\u{2440}").contains(&symbol) {
        return Some("?");
    }
    STAND_INS
        .iter()
        .find(|(glyph, _)| *glyph == symbol)
        .map(|(_, ascii)| *ascii)
}

#[cfg(test)]
mod tests;
