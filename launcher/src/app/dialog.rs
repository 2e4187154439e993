//! A launcher dialog: one question about one exact value, with No as the default.
//! Keys that were already on their way do not answer it; pastes, the mouse and repeats never do.

use std::time::{Duration, Instant};

use porthole_bridge::{Action, Key, KeyCode, Size};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{App, Asked, view::wrap};
use crate::escape;

/// Silence on the keyboard before the dialog listens.
const HUSH: Duration = Duration::from_millis(500);
const SMALLEST: Size = Size { cols: 30, rows: 9 };
const WIDEST: u16 = 76;

/// An open question.
pub(super) struct Dialog {
    /// Who asked.
    pub(super) asked: Asked,
    /// What a yes does: exactly what is shown.
    pub(super) action: Action,
    /// The question.
    pub(super) question: String,
    /// The value, escaped.
    value: String,
    /// The word on the yes button.
    pub(super) yes: &'static str,
    /// First line of the value that is shown.
    pub(super) top: usize,
    deaf_until: Instant,
}

/// How a key answered.
enum Answer {
    Yes,
    No,
    Scroll(isize),
    Nothing,
}

impl Dialog {
    /// Returns the dialog for `action`, or nothing where the window is too small to show it.
    pub(super) fn new(
        asked: Asked,
        action: Action,
        origin: &str,
        size: Size,
        now: Instant,
    ) -> Option<Self> {
        let host = escape::visible(origin);
        let (question, value, yes) = match &action {
            Action::Copy(text) => (
                format!(
                    "Copy this from {host}? {} characters, {} lines; what cannot be seen is spelled out.",
                    text.chars().count(),
                    text.lines().count().max(1)
                ),
                spelled(text),
                "Copy",
            ),
            Action::OpenUrl(url) => (
                format!("Open this address for {host}? {} characters.", url.len()),
                escape::visible(url),
                "Open",
            ),
            Action::SignOut => (
                format!("Sign out of {host}? This computer needs a fresh link to come back."),
                String::new(),
                "Sign out",
            ),
            Action::Quit => (
                "The UI wants to leave. Leave?".to_owned(),
                String::new(),
                "Leave",
            ),
            Action::Edit(text) => (
                format!("Open this text of {host} in your editor?"),
                spelled(text),
                "Edit",
            ),
            Action::Upload(_) => (format!("Upload files to {host}?"), String::new(), "Upload"),
            Action::Download { name, .. } => (
                format!("Save this file of {host} on this computer?"),
                escape::visible(name),
                "Save",
            ),
            Action::Suspend => ("Suspend the launcher?".to_owned(), String::new(), "Suspend"),
        };
        let dialog = Self {
            asked,
            action,
            question,
            value,
            yes,
            top: 0,
            deaf_until: now + HUSH,
        };
        dialog.fits(size).then_some(dialog)
    }

    /// Returns whether a window is large enough to show the question, a line of its value and both answers.
    pub(super) fn fits(&self, size: Size) -> bool {
        let width = Self::width(size.cols);
        let question = wrap(&self.question, width.saturating_sub(6)).len();
        // The frame and the buttons' row and the gap above it; a gap and a line of the value; the trust line.
        let rows = question + 4 + if self.value.is_empty() { 0 } else { 2 } + 1;
        size.cols >= SMALLEST.cols
            && usize::from(size.rows) >= rows.max(usize::from(SMALLEST.rows))
            && self.buttons().width() <= usize::from(width.saturating_sub(4))
    }

    /// Returns the row of answers.
    pub(super) fn buttons(&self) -> String {
        format!("[ No ]    {} (Ctrl-Y)", self.yes)
    }

    /// Starts the silence anew.
    pub(super) fn hush(&mut self, now: Instant) {
        self.deaf_until = now + HUSH;
    }

    /// Returns the width of the box in a window of `cols`.
    pub(super) fn width(cols: u16) -> u16 {
        cols.saturating_sub(4).min(WIDEST)
    }

    /// Returns the value as lines of at most `cols` columns.
    pub(super) fn value_lines(&self, cols: u16) -> Vec<String> {
        match self.value.is_empty() {
            true => Vec::new(),
            false => self
                .value
                .split('\n')
                .flat_map(|line| fold(line, cols))
                .collect(),
        }
    }

    fn answer(&mut self, key: Key, now: Instant) -> Answer {
        if now < self.deaf_until {
            // Type-ahead: every key that comes too early asks for silence again.
            self.hush(now);
            return Answer::Nothing;
        }
        let held = key.modifiers;
        match key.code {
            KeyCode::Char('y') if held.control && !held.alt => Answer::Yes,
            KeyCode::Enter | KeyCode::Escape | KeyCode::Char(' ' | 'n' | 'N') => Answer::No,
            KeyCode::Char('c') if held.control => Answer::No,
            KeyCode::Up => Answer::Scroll(-1),
            KeyCode::Down => Answer::Scroll(1),
            KeyCode::PageUp => Answer::Scroll(-5),
            KeyCode::PageDown => Answer::Scroll(5),
            _ => Answer::Nothing,
        }
    }
}

impl App {
    pub(super) fn dialog_key(&mut self, key: Key, now: Instant) {
        let Some(mut dialog) = self.dialog.take() else {
            return;
        };
        self.dirty = true;
        match dialog.answer(key, now) {
            Answer::Yes => self.perform(dialog.asked, dialog.action),
            Answer::No => self.refused_by_visitor(&dialog),
            Answer::Scroll(lines) => {
                let width = Dialog::width(self.size.cols).saturating_sub(6);
                let last = dialog.value_lines(width).len().saturating_sub(1);
                dialog.top = dialog.top.saturating_add_signed(lines).min(last);
                self.dialog = Some(dialog);
            }
            Answer::Nothing => self.dialog = Some(dialog),
        }
    }
}

/// The text with everything invisible spelled out, line by line.
fn spelled(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(escape::visible).collect();
    lines.join("\n")
}

/// Cuts one line into pieces of at most `cols` columns.
pub(super) fn fold(line: &str, cols: u16) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for char in line.chars() {
        let wide = char.width().unwrap_or(0);
        if used + wide > usize::from(cols.max(2)) {
            pieces.push(String::new());
            used = 0;
        }
        used += wide;
        if let Some(piece) = pieces.last_mut() {
            piece.push(char);
        }
    }
    pieces
}
