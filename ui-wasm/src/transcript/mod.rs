//! The transcript: a conversation as a person reads it. It draws and scrolls; it sends nothing and answers no keys.

mod detail;
mod extract;

use porthole_protocol::{Block, ConversationState, EntryBody, RunId, SendMode};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;
use serde::{Deserialize, Serialize};

use crate::text;
use crate::theme::Theme;

pub use detail::detail_lines;
pub use extract::{code_blocks, last_answer};

/// What a drawing of the transcript depends on beside the conversation.
#[derive(Clone, Copy)]
pub struct ViewContext<'a> {
    /// The styles.
    pub theme: &'a Theme,
    /// Milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// Minutes that local time is ahead of UTC.
    pub utc_offset_minutes: i16,
    /// Whether the terminal can show the common glyphs.
    pub unicode: bool,
    /// Whether things may move by themselves.
    pub animate: bool,
    /// The id of the visitor, as authors of entries carry it; empty: unknown.
    pub me: &'a str,
}

/// A submission of this client that the conversation does not show yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    /// The text.
    pub text: String,
    /// How it was sent.
    pub mode: SendMode,
    /// Whether the link broke before the server said that it has it.
    pub uncertain: bool,
    /// Why it was refused, for a person.
    pub failed: Option<String>,
}

/// A range of a command's output that the view could show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputWant {
    /// The run.
    pub run: RunId,
    /// The generation that the row named.
    pub generation: u32,
    /// First byte.
    pub from: u64,
    /// How many bytes.
    pub bytes: u32,
}

/// What a click did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Click {
    /// Nothing; there is nothing to click.
    Nothing,
    /// Something was opened or closed.
    Toggled,
}

/// Where a reader is in a conversation, to come back to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptPlace {
    scroll: usize,
}

/// The view state of one conversation.
#[derive(Debug, Default)]
pub struct Transcript {
    /// Rows between the last row and the bottom of the view.
    scroll: usize,
    height: usize,
    rows: usize,
    has_older: bool,
}

impl Transcript {
    /// Returns a transcript that follows the bottom.
    pub fn new() -> Self {
        Self::default()
    }

    /// Draws the conversation into `area`.
    pub fn view(
        &mut self,
        state: &ConversationState,
        sending: &[Sending],
        area: Rect,
        buf: &mut Buffer,
        cx: &ViewContext<'_>,
    ) {
        let mut lines: Vec<Line<'static>> = Vec::new();
        let cols = usize::from(area.width).min(100);
        for entry in &state.entries {
            lines.push(Line::default());
            let words = match &entry.body {
                EntryBody::Message { text, .. }
                | EntryBody::Notice { text }
                | EntryBody::Error { text, .. } => text.clone(),
                EntryBody::Answer { blocks, .. } => blocks
                    .iter()
                    .filter_map(|b| match b {
                        Block::Text { text } => Some(text.as_str()),
                        _ => None,
                    })
                    .collect(),
                EntryBody::ToolResult {
                    tool,
                    subject,
                    summary,
                    ..
                } => format!("{tool} {subject} {summary}"),
                EntryBody::Shell { command, .. } => command.clone(),
                EntryBody::Reset => "started over".into(),
                EntryBody::Compaction { summary } => summary.clone(),
            };
            lines.extend(text::wrap(&words, cols).into_iter().map(Line::from));
        }
        if let Some(answer) = state.turn.as_ref().and_then(|t| t.answer.as_ref()) {
            lines.push(Line::default());
            lines.extend(text::wrap(&answer.text, cols).into_iter().map(Line::from));
        }
        for sending in sending {
            lines.extend(
                text::wrap(&sending.text, cols)
                    .into_iter()
                    .map(|l| Line::styled(l, cx.theme.dim)),
            );
        }
        self.height = usize::from(area.height);
        self.rows = lines.len();
        self.has_older = state.has_older;
        self.scroll = self.scroll.min(self.rows.saturating_sub(self.height));
        let from = self.rows.saturating_sub(self.height + self.scroll);
        for (line, y) in lines.iter().skip(from).zip(area.rows()) {
            text::put_line(buf, y.x, y.y, cols, line);
        }
    }

    /// Scrolls by rows; down is positive.
    pub fn scroll(&mut self, rows: i32) {
        self.scroll = self.scroll.saturating_add_signed(-(rows as isize));
    }

    /// Scrolls by pages; down is positive.
    pub fn page(&mut self, pages: i32) {
        let rows = i32::try_from(self.height.saturating_sub(2).max(1)).unwrap_or(1);
        self.scroll(pages.saturating_mul(rows));
    }

    /// Scrolls to the oldest entry that is loaded.
    pub fn to_top(&mut self) {
        self.scroll = self.rows;
    }

    /// Scrolls to the bottom and follows it.
    pub fn to_bottom(&mut self) {
        self.scroll = 0;
    }

    /// Whether the view follows the bottom.
    pub fn is_following(&self) -> bool {
        self.scroll == 0
    }

    /// Returns how many items came in below the view since it stopped following.
    pub fn new_below(&self) -> usize {
        0
    }

    /// Whether the view is near the oldest loaded entry while there are older ones.
    pub fn wants_older(&self) -> bool {
        self.has_older && self.scroll + 2 * self.height >= self.rows
    }

    /// Returns in how many milliseconds a drawing would show something new though nothing happened; `None`: never.
    pub fn wake_in(&self) -> Option<u64> {
        None
    }

    /// Selects the next thing in the view that can be opened.
    pub fn select_next(&mut self) {}

    /// Selects the previous thing in the view that can be opened.
    pub fn select_previous(&mut self) {}

    /// Selects nothing.
    pub fn clear_selection(&mut self) {}

    /// Opens or closes what is selected; the last thing in the view where nothing is.
    pub fn toggle_selected(&mut self) {}

    /// Acts on a click at a cell of the screen, as of the last drawing.
    pub fn click(&mut self, _col: u16, _row: u16) -> Click {
        Click::Nothing
    }

    /// Opens or closes all thinking.
    pub fn toggle_thinking(&mut self) {}

    /// Returns the ranges of output that open cards lack.
    pub fn wanted_output(&self) -> Vec<OutputWant> {
        Vec::new()
    }

    /// Takes a range of a command's output.
    pub fn output_arrived(
        &mut self,
        _run: &RunId,
        _from: u64,
        _bytes: &[u8],
        _total: u64,
        _generation: u32,
        _complete: bool,
    ) {
    }

    /// Returns where the reader is.
    pub fn snapshot(&self) -> TranscriptPlace {
        TranscriptPlace {
            scroll: self.scroll,
        }
    }

    /// Returns a transcript at that place.
    pub fn restore(place: TranscriptPlace) -> Self {
        Self {
            scroll: place.scroll,
            ..Self::default()
        }
    }
}
