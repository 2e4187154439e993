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
    bindings::Keys,
    editor,
    keymap::{Command, Context, binding},
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
        if let Some(pending) = self.pending {
            view_pending(pending.command, choices, buf, look);
            return None;
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
            (look.theme.dim, look.theme.dim)
        };
        let dot = format!(" {} ", look.glyph(look::Glyph::Dot));
        let lead = Rect {
            width: area.width.min(LEAD_COLS as u16),
            height: 1,
            ..area
        };
        if focused {
            let pieces = [
                ("Esc", key),
                (" back ", words),
                (dot.as_str(), look.theme.dim),
            ];
            look::pieces(buf, lead, &pieces);
            self.spots.push((lead, Command::Back));
        } else {
            look::pieces(
                buf,
                lead,
                &[("Alt-Q", look.theme.accent), (", then", look.theme.text)],
            );
        }
        let row_of = |(x, y): (usize, u16), wide: usize| Rect {
            x: area.x + x as u16,
            y: area.y + y,
            width: wide as u16,
            height: 1,
        };
        let mut last_y = u16::MAX;
        for (choice, at) in flow(question, usize::from(area.width)) {
            let spot = row_of(at, choice.wide());
            if spot.bottom() > area.bottom() {
                break;
            }
            if last_y == spot.y {
                text::put(buf, spot.x - 3, spot.y, 3, &dot, look.theme.dim);
            }
            last_y = spot.y;
            let pieces = [
                (choice.key.as_str(), key),
                (" ", words),
                (choice.hint, words),
            ];
            look::pieces(buf, spot, &pieces);
            self.spots.push((spot, choice.command));
        }
    }
}

/// Cells before the answers: how to get there, or the way back. The answers stand at the same place with and without
/// the focus, so that a second click never meets another one.
const LEAD_COLS: usize = 13;

/// An answer as it is offered.
struct Choice {
    command: Command,
    key: String,
    hint: &'static str,
}

impl Choice {
    fn wide(&self) -> usize {
        text::width(&self.key) + 1 + text::width(self.hint)
    }
}

/// Returns the answers and where each stands, in as many rows as they take.
fn flow(question: &Question, cols: usize) -> Vec<(Choice, (usize, u16))> {
    let (mut x, mut y, mut gap) = (LEAD_COLS, 0, 0);
    let place = |choice: Choice| {
        let wide = choice.wide();
        if x > 0 && x + gap + wide > cols {
            (x, y) = (0, y + 1);
        } else {
            x += gap;
        }
        let at = (x, y);
        (x, gap) = (x + wide, 3);
        (choice, at)
    };
    choices(question).into_iter().map(place).collect()
}

/// Says which answer is about to be given.
fn view_pending(command: Command, area: Rect, buf: &mut Buffer, look: &Look) {
    let words = match command {
        Command::Yes => "answering yes…",
        Command::Always => "answering always…",
        Command::No => "answering no…",
        Command::EditAnswer => "editing…",
        _ => "no, because…",
    };
    let pieces = [
        (words, look.theme.accent),
        ("  ", look.theme.dim),
        ("Enter", look.theme.key),
        (" now ", look.theme.dim),
        (look.glyph(look::Glyph::Dot), look.theme.dim),
        (" ", look.theme.dim),
        ("Esc", look.theme.key),
        (" not", look.theme.dim),
    ];
    look::pieces(
        buf,
        Rect {
            height: area.height.min(1),
            ..area
        },
        &pieces,
    );
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

fn choices(question: &Question) -> Vec<Choice> {
    let choice = |command| {
        let binding = binding(command, Context::Question)?;
        Some(Choice {
            command,
            key: Keys::default().key(binding),
            hint: binding.hint,
        })
    };
    offered(question).into_iter().filter_map(choice).collect()
}

fn choice_rows(question: &Question, cols: usize) -> usize {
    let flow = flow(question, cols);
    flow.last().map_or(1, |(_, (_, y))| usize::from(*y) + 1)
}

impl QuestionBox {
    /// Returns what the last row of the screen says while the box has the focus.
    pub(crate) fn hints(&self, questions: &[Question]) -> Vec<(String, String)> {
        let pair = |key: &str, words: &str| (key.to_owned(), words.to_owned());
        if self.field.is_some() {
            return vec![pair("Enter", "sends"), pair("Esc", "back")];
        }
        if self.pending.is_some() {
            return vec![pair("Enter", "now"), pair("Esc", "not")];
        }
        let offered = self.shown(questions).map(choices).unwrap_or_default();
        let offered = offered.iter().map(|c| pair(&c.key, c.hint));
        offered.chain([pair("Esc", "back")]).collect()
    }
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
