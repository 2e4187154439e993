//! What a launcher dialog says: a question, the exact value it is about, and the word for Yes; and how that is laid out.
//! Everything in it has been escaped. It knows no keys and no time.

use porthole_bridge::{Action, Size};
use url::{Position, Url};

use super::{
    Fixed, trust,
    view::{fold, wrap},
};
use crate::{escape, host, patch::Patch, screen::width};

const SMALLEST: Size = Size { cols: 30, rows: 9 };
const WIDEST: u16 = 76;
/// Frame and padding on both sides, and the value's own indent.
const SIDES: u16 = 6;

/// A question and what a person must see to answer it.
pub(super) struct Question {
    /// The question, shown whole.
    pub(super) text: String,
    /// What of the value must be seen whole, as the host of an address; may be empty.
    pub(super) head: String,
    /// The rest of the value; may be empty. Where it does not fit, one line is cut in its middle and several are scrolled.
    pub(super) value: String,
    /// The word on the yes button.
    pub(super) yes: &'static str,
}

/// A question as lines for a window.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Laid {
    /// The question.
    pub(super) text: Vec<String>,
    /// The lines of the value that are shown.
    pub(super) value: Vec<String>,
    /// The last row.
    pub(super) buttons: String,
}

impl Question {
    /// Returns the question whether `action` may be done.
    pub(super) fn about(action: &Action, fixed: &Fixed) -> Self {
        let server = escape::visible(&fixed.origin);
        let plain = |text: String, yes| Self {
            text,
            head: String::new(),
            value: String::new(),
            yes,
        };
        match action {
            Action::Copy(text) => Self {
                value: spelled(text),
                ..plain(copy_words(text, &server), "Copy")
            },
            Action::OpenUrl(url) => Self::about_url(url, &server, fixed.desktop),
            Action::Edit(text) => Self {
                value: spelled(text),
                ..plain(
                    format!(
                        "Open this text of {server} in your own editor? What you save goes back to {server}."
                    ),
                    "Edit",
                )
            },
            Action::SignOut => plain(
                format!("Sign out of {server}? This computer needs a fresh link to come back."),
                "Sign out",
            ),
            Action::Quit => plain("The UI wants to leave. Leave?".to_owned(), "Leave"),
            Action::Suspend => plain("Suspend the launcher?".to_owned(), "Suspend"),
            Action::Upload(_) => plain(format!("Upload files to {server}?"), "Upload"),
            Action::SavePreferences(wishes) => Self {
                value: Patch::new(&fixed.preferences.source, wishes)
                    .map(|patch| patch.difference())
                    .unwrap_or_default(),
                ..plain(
                    format!(
                        "Save this in your preferences, for {server} and every other server? It is written to {}.",
                        escape::visible(&fixed.preferences.path.to_string_lossy())
                    ),
                    "Save",
                )
            },
            Action::Download { name, .. } => Self {
                value: escape::name(name),
                ..plain(
                    format!("Save this file of {server} on this computer?"),
                    "Save",
                )
            },
        }
    }

    /// Returns the question whether the text of the clipboard is pasted into the UI of `server`.
    pub(super) fn about_clipboard(text: &str, server: &str) -> Self {
        Self {
            text: format!(
                "Give the text of your clipboard to {server}? {} characters, {} lines.",
                text.chars().count(),
                text.lines().count().max(1)
            ),
            head: String::new(),
            value: spelled(text),
            yes: "Paste",
        }
    }

    /// The host of an address is seen whole, whatever follows it.
    fn about_url(url: &str, server: &str, desktop: bool) -> Self {
        let parsed = Url::parse(url).ok();
        let (head, rest) = match &parsed {
            Some(parsed) => (
                &parsed[..Position::BeforePath],
                &parsed[Position::BeforePath..],
            ),
            None => ("", url),
        };
        let said = parsed.as_ref().and_then(|parsed| {
            let host = parsed.host_str()?;
            match trust::is_server(url, server) {
                true => Some("It is this server's own.".to_owned()),
                false => host::warning(host),
            }
        });
        let asked = match desktop {
            true => format!("Open this address for {server}?"),
            false => format!("There is no browser here. Copy this address of {server}?"),
        };
        let mut text = format!("{asked} It has {} characters.", url.chars().count());
        if let Some(said) = said {
            text.push(' ');
            text.push_str(&said);
        }
        Self {
            text,
            head: escape::visible(head),
            value: escape::visible(rest),
            yes: if desktop { "Open" } else { "Copy" },
        }
    }

    /// Returns the width of the box in a window of `cols`.
    pub(super) fn width(cols: u16) -> u16 {
        cols.saturating_sub(4).min(WIDEST)
    }

    /// Returns the question as lines for a window of `size` with the value scrolled to `top`, or nothing where what must
    /// be seen does not fit. `None` is a value nobody has scrolled.
    pub(super) fn lay(&self, size: Size, top: Option<usize>) -> Option<Laid> {
        let cols = Self::width(size.cols).saturating_sub(SIDES);
        let text = wrap(&self.text, cols);
        let (head, tail) = self.parts(cols);
        let gap = usize::from(!head.is_empty() || !tail.is_empty());
        // The frame, the gap above the buttons and their row; the trust line.
        let fixed = text.len() + gap + head.len() + 4 + 1;
        let room = usize::from(size.rows).checked_sub(fixed)?;
        let is_small = size.cols < SMALLEST.cols || size.rows < SMALLEST.rows;
        if is_small || (room == 0 && !tail.is_empty()) {
            return None;
        }
        let (shown, more) = self.shown(tail, room, cols, top);
        let buttons = format!("{}{more}", self.buttons());
        let seen = width(self.buttons().as_str()) <= usize::from(cols + 2);
        seen.then(|| Laid {
            text,
            value: [head, shown].concat(),
            buttons,
        })
    }

    /// Returns how many lines the value's end has in a window of `cols`.
    pub(super) fn lines(&self, cols: u16) -> usize {
        let cols = Self::width(cols).saturating_sub(SIDES);
        self.parts(cols).1.len()
    }

    /// The part that is always whole and the part that may be cut or scrolled, as lines.
    fn parts(&self, cols: u16) -> (Vec<String>, Vec<String>) {
        let folded = |text: &str| match text.is_empty() {
            true => Vec::new(),
            false => text.split('\n').flat_map(|line| fold(line, cols)).collect(),
        };
        match width(&self.head) + width(&self.value) <= usize::from(cols)
            && !self.value.contains('\n')
        {
            true => (folded(&format!("{}{}", self.head, self.value)), Vec::new()),
            false => (folded(&self.head), folded(&self.value)),
        }
    }

    fn shown(
        &self,
        tail: Vec<String>,
        room: usize,
        cols: u16,
        top: Option<usize>,
    ) -> (Vec<String>, String) {
        if tail.len() <= room {
            return (tail, String::new());
        }
        if top.is_none() && !self.value.contains('\n') {
            // A fold may leave a column of a line unused before a wide character.
            let most = room * usize::from(cols.saturating_sub(1).max(1));
            let cut = fold(&escape::cut_middle(&self.value, most), cols);
            return (cut, "  ↓ all".to_owned());
        }
        let top = top.unwrap_or_default();
        let below = tail.len().saturating_sub(top + room);
        let more = match below {
            0 => String::new(),
            lines => format!("  ↓ {lines}"),
        };
        (tail.into_iter().skip(top).take(room).collect(), more)
    }

    fn buttons(&self) -> String {
        format!("[ No ]    {} (Ctrl-Y)", self.yes)
    }
}

fn copy_words(text: &str, server: &str) -> String {
    format!(
        "Copy this from {server}? {} characters, {} lines; what cannot be seen is spelled out.",
        text.chars().count(),
        text.lines().count().max(1)
    )
}

/// The text with everything invisible spelled out, line by line.
fn spelled(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(escape::visible).collect();
    lines.join("\n")
}
