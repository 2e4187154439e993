//! Draws the question box: what would be done, exactly, and the answers there are.

use porthole_protocol::{Question, QuestionState};
use ratatui_core::{
    buffer::Buffer,
    layout::{Position, Rect},
    style::Style,
    text::Line,
};

use super::{Field, QuestionBox, Stance, offered};
use crate::{
    editor,
    keymap::{Command, Context, Preset, binding},
    look::{self, Look},
    text,
    transcript::{ViewContext, detail_lines},
};

/// Rows of a command or a preview, at most.
const PREVIEW_ROWS: usize = 10;

impl QuestionBox {
    /// Returns how many rows the box wants, at most `most`; 0 where there is no question.
    pub(crate) fn height(
        &self,
        questions: &[Question],
        cx: &ViewContext<'_>,
        cols: u16,
        most: u16,
    ) -> u16 {
        let Some(question) = self.shown(questions) else {
            return 0;
        };
        let inside = usize::from(cols).saturating_sub(4);
        let preview = preview(question, cx, inside).len();
        let rows =
            2 + subject(question, inside).len() + preview + self.choice_rows(question, inside);
        u16::try_from(rows).unwrap_or(u16::MAX).min(most.max(4))
    }

    /// Draws the box; returns where the cursor is while something is written in it.
    pub(crate) fn view(
        &mut self,
        questions: &[Question],
        area: Rect,
        buf: &mut Buffer,
        cx: &ViewContext<'_>,
        look: &Look,
        stance: Stance,
    ) -> Option<Position> {
        self.area = area;
        self.spots.clear();
        let question = self.shown(questions)?.clone();
        let inside = look::float(buf, area, "", look);
        self.view_title(questions, area, buf, look);
        let cols = usize::from(inside.width);
        let bottom = (self.choice_rows(&question, cols) as u16).min(inside.height);
        let choices = Rect {
            y: inside.bottom() - bottom,
            height: bottom,
            ..inside
        };
        let above = Rect {
            height: inside.height - bottom,
            ..inside
        };
        view_lines(lines(&question, cx, cols), above, buf, look);
        if stance == Stance::Forbidden {
            look::pieces(buf, choices, &[("waits for the owner", look.theme.dim)]);
            return None;
        }
        if self.field.is_some() {
            return Some(self.view_field(choices, buf, look));
        }
        self.view_choices(&question, choices, buf, look, stance == Stance::Focused);
        None
    }

    fn view_title(&self, questions: &[Question], area: Rect, buf: &mut Buffer, look: &Look) {
        let open = questions
            .iter()
            .filter(|q| q.state == QuestionState::Open)
            .count();
        let title = match open.saturating_sub(self.answered.len() + 1) {
            0 => " needs you ".to_owned(),
            more => format!(" needs you {} {more} more ", look.glyph(look::Glyph::Dot)),
        };
        let cols = usize::from(area.width).saturating_sub(4);
        text::put(buf, area.x + 2, area.y, cols, &title, look.theme.warn);
    }

    fn choice_rows(&self, question: &Question, cols: usize) -> usize {
        let rows = choice_rows(question, cols);
        if self.field.is_some() {
            rows.max(2)
        } else {
            rows
        }
    }

    fn view_field(&self, area: Rect, buf: &mut Buffer, look: &Look) -> Position {
        let Some((field, editor)) = &self.field else {
            return Position::new(area.x, area.y);
        };
        let label = match field {
            Field::Edit => "run instead: ",
            Field::Why => "no, because: ",
        };
        let cols = usize::from(area.width).saturating_sub(label.len() + 1);
        let before = editor::cells(&editor.text()[..editor.cursor()]);
        let skip = before.saturating_sub(cols);
        let shown = text::visible(editor.text()).into_owned();
        let skipped = text::head(&shown, skip).len();
        look::pieces(
            buf,
            Rect { height: 1, ..area },
            &[
                (label, look.theme.accent),
                (&shown[skipped..], look.theme.text),
            ],
        );
        if area.height > 1 {
            let row = Rect {
                y: area.y + 1,
                height: 1,
                ..area
            };
            look::pieces(
                buf,
                row,
                &[
                    ("Enter", look.theme.key),
                    (" sends · ", look.theme.dim),
                    ("Esc", look.theme.key),
                    (" back", look.theme.dim),
                ],
            );
        }
        Position::new(area.x + (label.len() + before - skip) as u16, area.y)
    }

    fn view_choices(
        &mut self,
        question: &Question,
        area: Rect,
        buf: &mut Buffer,
        look: &Look,
        focused: bool,
    ) {
        let (key, words): (Style, Style) = if focused {
            (look.theme.accent, look.theme.text)
        } else {
            (look.theme.key, look.theme.dim)
        };
        let (mut x, mut y) = (0usize, 0u16);
        let cols = usize::from(area.width);
        for (command, name, hint) in choices(question) {
            let wide = name.len() + 1 + text::width(hint);
            if x > 0 && x + wide > cols {
                (x, y) = (0, y + 1);
            }
            let spot = Rect {
                x: area.x + x as u16,
                y: area.y + y,
                width: wide.min(cols) as u16,
                height: 1,
            };
            if spot.y < area.bottom() {
                look::pieces(buf, spot, &[(&name, key), (" ", words), (hint, words)]);
                self.spots.push((spot, command));
            }
            x += wide + 3;
        }
        let note = if focused { "(Esc back)" } else { "(Alt-Q)" };
        if x + note.len() <= cols && area.y + y < area.bottom() {
            text::put(
                buf,
                area.x + x as u16,
                area.y + y,
                note.len(),
                note,
                look.theme.dim,
            );
        }
    }
}

/// The rows above the answers: what would be done, then what to look at.
fn lines(question: &Question, cx: &ViewContext<'_>, cols: usize) -> Vec<Line<'static>> {
    let words = subject(question, cols).into_iter();
    let mut lines: Vec<Line<'static>> = words
        .map(|row| Line::styled(row, cx.theme.strong))
        .collect();
    lines.extend(preview(question, cx, cols));
    lines
}

/// Draws rows, and says so where some have no room: nobody should answer without knowing that.
fn view_lines(mut lines: Vec<Line<'static>>, area: Rect, buf: &mut Buffer, look: &Look) {
    let height = usize::from(area.height);
    if lines.len() > height && height > 0 {
        let left = lines.len() - height + 1;
        lines.truncate(height - 1);
        lines.push(Line::styled(
            format!("… {left} more lines; a larger window shows them"),
            look.theme.warn,
        ));
    }
    for (y, line) in lines.iter().enumerate().take(height) {
        text::put_line(
            buf,
            area.x,
            area.y + y as u16,
            usize::from(area.width),
            line,
        );
    }
}

fn choices(question: &Question) -> Vec<(Command, String, &'static str)> {
    let row = |command| {
        let binding = binding(command, Context::Question)?;
        Some((command, binding.key(Preset::Standard), binding.hint))
    };
    offered(question).into_iter().filter_map(row).collect()
}

fn choice_rows(question: &Question, cols: usize) -> usize {
    let (mut x, mut rows) = (0, 1);
    for (_, name, hint) in choices(question) {
        let wide = name.len() + 1 + text::width(hint);
        if x > 0 && x + wide > cols {
            (x, rows) = (0, rows + 1);
        }
        x += wide + 3;
    }
    rows
}

/// What would be done, exactly, in as many rows as it takes up to a bound.
fn subject(question: &Question, cols: usize) -> Vec<String> {
    let verb = match question.tool.as_str() {
        "shell" => "Run",
        "edit" => "Edit",
        "write" => "Write",
        other => other,
    };
    let words = format!("{verb}  {} ?", question.subject);
    let mut rows = text::wrap(&words, cols.max(8));
    if rows.len() > PREVIEW_ROWS {
        let left = rows.len() - PREVIEW_ROWS + 1;
        rows.truncate(PREVIEW_ROWS - 1);
        rows.push(format!("… {left} more lines; e shows all"));
    }
    rows
}

fn preview(question: &Question, cx: &ViewContext<'_>, cols: usize) -> Vec<Line<'static>> {
    if question.tool == "shell" {
        return Vec::new();
    }
    let mut lines = detail_lines(&question.detail, cols as u16, cx);
    if lines.len() > PREVIEW_ROWS {
        let left = lines.len() - PREVIEW_ROWS + 1;
        lines.truncate(PREVIEW_ROWS - 1);
        lines.push(Line::styled(format!("… {left} more lines"), cx.theme.dim));
    }
    lines
}
