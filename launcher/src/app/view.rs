//! Draws the launcher: the UI's filtered screen, what lies over it, and the trust line below.
//! Every text of others has been escaped before it gets here, and the whole buffer is swept at the end.

use porthole_bridge::{ColorDepth, Size};
use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
    style::{Color, Modifier, Style},
};
use unicode_segmentation::UnicodeSegmentation;

use super::{
    App,
    dialog::Dialog,
    keys::MENU,
    page::{AskLink, Fault, Page},
    picker,
    question::Question,
    trust,
};
use crate::screen::{sweep, width};

/// Widest text of a page.
const TEXT: u16 = 72;

/// Draws `app` into `buffer` and returns where the cursor belongs.
pub(super) fn draw(app: &App, buffer: &mut Buffer) -> Option<Position> {
    let area = buffer.area;
    buffer.reset();
    let inner = Rect {
        height: area.height.saturating_sub(1),
        ..area
    };
    let mut cursor = match &app.page {
        Some(page) => draw_page(page, inner, buffer),
        None => copy_ui(app, inner, buffer),
    };
    if app.menu.is_some() || app.dialog.is_some() || app.picker.is_some() {
        dim(inner, buffer);
        cursor = None;
    }
    if let Some(dialog) = &app.dialog {
        draw_dialog(dialog, app.size, app.fixed.colors, inner, buffer);
    } else if let Some(selected) = app.menu {
        draw_menu(selected, app.fixed.colors, inner, buffer);
    } else if let Some(open) = &app.picker {
        picker::draw(open, app.fixed.colors, inner, buffer);
    }
    draw_trust(app, buffer);
    sweep(buffer);
    cursor
}

fn copy_ui(app: &App, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let from = app.screen.buffer();
    let cols = usize::from(area.width.min(from.area.width));
    for y in 0..area.height.min(from.area.height) {
        let source = usize::from(y) * usize::from(from.area.width);
        let target = usize::from(y) * usize::from(buffer.area.width);
        buffer.content[target..target + cols]
            .clone_from_slice(&from.content[source..source + cols]);
    }
    app.screen.cursor().filter(|at| area.contains(*at))
}

fn dim(area: Rect, buffer: &mut Buffer) {
    let style = Style::new()
        .fg(Color::DarkGray)
        .bg(Color::Reset)
        .remove_modifier(Modifier::all())
        .add_modifier(Modifier::DIM);
    buffer.set_style(area, style);
}

/// The launcher's own look: every cell with both colours named, so that nothing below shines through.
pub(super) fn own_style(colors: ColorDepth) -> Style {
    match colors {
        ColorDepth::None => Style::new().add_modifier(Modifier::REVERSED),
        ColorDepth::Sixteen => Style::new().fg(Color::White).bg(Color::Blue),
        ColorDepth::Indexed | ColorDepth::True => {
            Style::new().fg(Color::Indexed(255)).bg(Color::Indexed(24))
        }
    }
}

fn draw_trust(app: &App, buffer: &mut Buffer) {
    let area = buffer.area;
    let Some(y) = area.height.checked_sub(1) else {
        return;
    };
    let style = own_style(app.fixed.colors);
    let row = Rect::new(0, y, area.width, 1);
    blank(row, style, buffer);
    let (left, right) = trust::line(app, area.width);
    buffer.set_stringn(0, y, &left, usize::from(area.width), style);
    let from = area.width.saturating_sub(width(&right) as u16);
    buffer.set_stringn(from, y, right, usize::from(area.width), style);
    if left.starts_with(" porthole") {
        buffer.set_style(Rect::new(1, y, 8, 1).intersection(row), Modifier::BOLD);
    }
}

fn blank(area: Rect, style: Style, buffer: &mut Buffer) {
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            buffer[(x, y)].reset();
            buffer[(x, y)].set_style(style);
        }
    }
}

fn draw_dialog(dialog: &Dialog, size: Size, colors: ColorDepth, area: Rect, buffer: &mut Buffer) {
    let Some(laid) = dialog.lay(size) else {
        return;
    };
    let style = own_style(colors);
    let gap = u16::from(!laid.value.is_empty());
    let height = laid.text.len() as u16 + gap + laid.value.len() as u16 + 4;
    let frame = centred(area, Question::width(area.width), height);
    let inner = draw_frame(" porthole asks ", frame, style, buffer);
    let mut y = inner.y;
    for line in &laid.text {
        y = put(inner.x, y, line, inner, style, buffer);
    }
    y += gap;
    for line in &laid.value {
        y = put(inner.x + 2, y, line, inner, style, buffer);
    }
    let last = inner.bottom().saturating_sub(1).max(y);
    // A yes that would not count yet is dim.
    let style = match dialog.lit {
        true => style.add_modifier(Modifier::BOLD),
        false => style.add_modifier(Modifier::DIM),
    };
    put(inner.x, last, &laid.buttons, inner, style, buffer);
}

fn draw_menu(selected: usize, colors: ColorDepth, area: Rect, buffer: &mut Buffer) {
    let style = own_style(colors);
    let frame = centred(area, 38, MENU.len() as u16 + 2);
    let inner = draw_frame(" porthole ", frame, style, buffer);
    for (index, (_, key, words)) in MENU.iter().enumerate() {
        let mark = if index == selected { '▸' } else { ' ' };
        let line = format!("{mark} {key}  {words}");
        let style = match index == selected {
            true => style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            false => style,
        };
        put(inner.x, inner.y + index as u16, &line, inner, style, buffer);
    }
}

fn draw_page(page: &Page, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    match page {
        Page::Progress(text) => {
            let lines = ["Getting the UI ready.", "", text, "", "q quits"];
            draw_lines(&lines.map(str::to_owned), area, buffer);
            None
        }
        Page::Fault(fault) => {
            draw_lines(&fault_lines(fault), area, buffer);
            None
        }
        Page::Trouble { message, hint } => {
            let said = [
                format!("{}.", message.trim_end_matches('.')),
                String::new(),
                hint.clone(),
                String::new(),
            ];
            let mut lines = said.to_vec();
            lines.push("r tries again · q quits".to_owned());
            draw_lines(&lines, area, buffer);
            None
        }
        Page::AskLink(ask) => draw_ask(ask, area, buffer),
    }
}

fn fault_lines(fault: &Fault) -> Vec<String> {
    let mut lines = vec![
        "The UI stopped.".to_owned(),
        String::new(),
        fault.why.clone(),
        "Your session goes on at the server; nothing there was stopped.".to_owned(),
    ];
    if fault.failures >= 3 {
        lines.push(String::new());
        lines.push(format!(
            "It has failed {} times in a row: reloading may not help until the server has another UI.",
            fault.failures
        ));
    }
    lines.push(String::new());
    lines.push("r reloads it · q quits".to_owned());
    lines
}

fn draw_ask(ask: &AskLink, area: Rect, buffer: &mut Buffer) -> Option<Position> {
    let prompt = match ask.busy {
        true => "redeeming…".to_owned(),
        false => format!("> {}", "•".repeat(ask.field.chars().count().min(40))),
    };
    let mut lines = vec![
        format!("{}.", ask.reason.trim_end_matches('.')),
        String::new(),
        ask.from.words().to_owned(),
        String::new(),
        ask.note.trim_end_matches('.').to_owned(),
        prompt.clone(),
    ];
    lines.push(String::new());
    lines.push("Enter redeems · Esc quits".to_owned());
    let rows = draw_lines(&lines, area, buffer);
    let row = rows.get(5).copied()?;
    let column = left_of(area) + width(&prompt) as u16;
    (!ask.busy && area.contains(Position::new(column, row))).then(|| Position::new(column, row))
}

fn left_of(area: Rect) -> u16 {
    area.x + if area.width >= 44 { 4 } else { 1 }
}

/// Draws lines of text, wrapped, and returns the row on which each begins.
fn draw_lines(lines: &[String], area: Rect, buffer: &mut Buffer) -> Vec<u16> {
    let left = left_of(area);
    let width = area.width.saturating_sub(left + 1).min(TEXT);
    let mut y = area.y + (area.height / 5).min(3);
    let mut rows = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        rows.push(y);
        let style = match index {
            0 => Style::new().add_modifier(Modifier::BOLD),
            _ => Style::new(),
        };
        let line = match index {
            0 => capital(line),
            _ => line.clone(),
        };
        for piece in wrap(&line, width) {
            y = put(left, y, &piece, area, style, buffer);
        }
    }
    rows
}

/// Begins a sentence with a capital.
fn capital(line: &str) -> String {
    let mut chars = line.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}

/// Puts one line where there is room and returns the next row.
pub(super) fn put(
    x: u16,
    y: u16,
    line: &str,
    area: Rect,
    style: Style,
    buffer: &mut Buffer,
) -> u16 {
    if y < area.bottom() && x < area.right() {
        buffer.set_stringn(x, y, line, usize::from(area.right() - x), style);
    }
    y + 1
}

pub(super) fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    }
}

/// Draws a double frame with a title and returns the room inside.
pub(super) fn draw_frame(title: &str, frame: Rect, style: Style, buffer: &mut Buffer) -> Rect {
    blank(frame, style, buffer);
    let bar = "═".repeat(usize::from(frame.width.saturating_sub(2)));
    put(frame.x, frame.y, &format!("╔{bar}╗"), frame, style, buffer);
    for y in frame.y + 1..frame.bottom().saturating_sub(1) {
        put(frame.x, y, "║", frame, style, buffer);
        put(
            frame.right().saturating_sub(1),
            y,
            "║",
            frame,
            style,
            buffer,
        );
    }
    let last = frame.bottom().saturating_sub(1);
    put(frame.x, last, &format!("╚{bar}╝"), frame, style, buffer);
    put(
        frame.x + 2,
        frame.y,
        title,
        frame,
        style.add_modifier(Modifier::BOLD),
        buffer,
    );
    Rect {
        x: frame.x + 2,
        y: frame.y + 1,
        width: frame.width.saturating_sub(4),
        height: frame.height.saturating_sub(2),
    }
}

/// Cuts one line into pieces of at most `cols` columns.
pub(super) fn fold(line: &str, cols: u16) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for cluster in line.graphemes(true) {
        let wide = width(cluster);
        if used + wide > usize::from(cols.max(2)) {
            pieces.push(String::new());
            used = 0;
        }
        used += wide;
        if let Some(piece) = pieces.last_mut() {
            piece.push_str(cluster);
        }
    }
    pieces
}

/// Wraps at blanks; what has none is cut.
pub(super) fn wrap(text: &str, cols: u16) -> Vec<String> {
    let room = usize::from(cols.max(2));
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let fits = lines
            .last()
            .is_some_and(|line| line.is_empty() || width(line) + 1 + width(word) <= room);
        if !fits {
            lines.push(String::new());
        }
        for (index, piece) in fold(word, cols).into_iter().enumerate() {
            if index > 0 {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(&piece);
            }
        }
    }
    lines
}
