//! A terminal screen as a picture: SVG, drawn cell by cell. It knows nothing of what the screen means.

use unicode_width::UnicodeWidthStr;

const CELL_WIDTH: f32 = 8.4;
const CELL_HEIGHT: f32 = 18.0;
const BASELINE: f32 = 13.5;
const PADDING: f32 = 12.0;

/// What the terminal's own colours look like in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// Light text on dark.
    Dark,
    /// Dark text on light.
    Light,
}

impl Ground {
    fn background(self) -> &'static str {
        match self {
            Self::Dark => "#16181d",
            Self::Light => "#fdfcf9",
        }
    }

    fn foreground(self) -> &'static str {
        match self {
            Self::Dark => "#d7dae0",
            Self::Light => "#24292f",
        }
    }
}

/// Returns the screen as an SVG document.
pub fn svg(screen: &vt100::Screen, ground: Ground) -> String {
    let (rows, cols) = screen.size();
    let (rows, cols) = (rows.get(), cols.get());
    let width = f32::from(cols) * CELL_WIDTH + 2.0 * PADDING;
    let height = f32::from(rows) * CELL_HEIGHT + 2.0 * PADDING;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"14\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n",
        ground.background()
    );
    for row in 0..rows {
        draw_row(&mut out, screen, row, cols, ground);
    }
    if !screen.hide_cursor() {
        let (row, col) = screen.cursor_position();
        let (x, y) = corner(row, col);
        let color = ground.foreground();
        out.push_str(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"2\" height=\"{CELL_HEIGHT}\" fill=\"{color}\"/>\n"
        ));
    }
    out.push_str("</svg>\n");
    out
}

fn corner(row: u16, col: u16) -> (f32, f32) {
    (
        PADDING + f32::from(col) * CELL_WIDTH,
        PADDING + f32::from(row) * CELL_HEIGHT,
    )
}

/// Cells beside each other that look alike.
struct Run {
    col: u16,
    cells: u16,
    text: String,
    look: Look,
}

#[derive(Clone, PartialEq, Eq)]
struct Look {
    fg: String,
    bg: Option<String>,
    attributes: String,
}

impl Look {
    fn of(cell: &vt100::Cell, ground: Ground) -> Self {
        let mut fg = color(cell.fgcolor()).unwrap_or_else(|| ground.foreground().to_owned());
        let mut bg = color(cell.bgcolor());
        if cell.inverse() {
            let swapped = bg.unwrap_or_else(|| ground.background().to_owned());
            bg = Some(std::mem::replace(&mut fg, swapped));
        }
        let attributes = [
            (cell.bold(), " font-weight=\"bold\""),
            (cell.italic(), " font-style=\"italic\""),
            (cell.underline(), " text-decoration=\"underline\""),
            (cell.dim(), " opacity=\"0.6\""),
        ];
        let attributes = attributes
            .into_iter()
            .filter(|(on, _)| *on)
            .map(|(_, a)| a)
            .collect();
        Self { fg, bg, attributes }
    }
}

fn draw_row(out: &mut String, screen: &vt100::Screen, row: u16, cols: u16, ground: Ground) {
    let mut run: Option<Run> = None;
    for col in 0..cols {
        let Some(cell) = screen
            .cell(row, col)
            .filter(|cell| !cell.is_wide_continuation())
        else {
            continue;
        };
        let look = Look::of(cell, ground);
        let text = if cell.has_contents() {
            cell.contents()
        } else {
            " "
        };
        let cells = u16::try_from(text.width().max(1)).unwrap_or(1);
        match &mut run {
            // Only plain letters are sure to be as wide in a picture as on a screen.
            Some(open) if open.look == look && text.is_ascii() && open.text.is_ascii() => {
                open.text.push_str(text);
                open.cells += cells;
            }
            _ => {
                let next = Run {
                    col,
                    cells,
                    text: text.to_owned(),
                    look,
                };
                if let Some(done) = run.replace(next) {
                    draw(out, &done, row);
                }
            }
        }
    }
    if let Some(done) = run {
        draw(out, &done, row);
    }
}

fn draw(out: &mut String, run: &Run, row: u16) {
    let (x, y) = corner(row, run.col);
    let width = f32::from(run.cells) * CELL_WIDTH;
    if let Some(bg) = &run.look.bg {
        let (wide, high) = (width + 0.4, CELL_HEIGHT + 0.4);
        out.push_str(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" fill=\"{bg}\"/>\n"
        ));
    }
    if run.text.trim().is_empty() {
        return;
    }
    let escaped = run.text.replace('&', "&amp;").replace('<', "&lt;");
    let (y, fg, attributes) = (y + BASELINE, &run.look.fg, &run.look.attributes);
    out.push_str(&format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{width:.1}\" xml:space=\"preserve\" fill=\"{fg}\"{attributes}>{escaped}</text>\n"
    ));
}

fn color(color: vt100::Color) -> Option<String> {
    match color {
        vt100::Color::Default => None,
        vt100::Color::Rgb(r, g, b) => Some(format!("#{r:02x}{g:02x}{b:02x}")),
        vt100::Color::Idx(index) => Some(indexed(index)),
    }
}

/// Returns xterm's colour of that index.
fn indexed(index: u8) -> String {
    const NAMED: [&str; 16] = [
        "#1d1f24", "#d0605e", "#7fb069", "#d9a94e", "#5f97d8", "#a97fd0", "#4fb3b3", "#c9ccd2",
        "#6b7079", "#e5807e", "#9ccf86", "#edc676", "#85b4ea", "#c4a0e6", "#74cfcf", "#ffffff",
    ];
    match index {
        0..=15 => NAMED[usize::from(index)].to_owned(),
        16..=231 => {
            let step = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let cube = index - 16;
            format!(
                "#{:02x}{:02x}{:02x}",
                step(cube / 36),
                step(cube / 6 % 6),
                step(cube % 6)
            )
        }
        232..=255 => {
            let level = 8 + 10 * (index - 232);
            format!("#{level:02x}{level:02x}{level:02x}")
        }
    }
}
