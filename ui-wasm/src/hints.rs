//! The last row of a screen: what can be done here, read from the table of commands, and how full the context is.

use porthole_protocol::{ConversationState, SendMode};
use ratatui_core::{buffer::Buffer, layout::Rect, style::Style};

use crate::{
    conversation::Conversation,
    keymap::{self, Command, Context, TABLE},
    look::{self, Glyph, Look},
    notice::{Notice, Tone},
    text, usage,
};

/// Returns the style of a notice.
pub(crate) fn tone_style(tone: Tone, look: &Look) -> Style {
    match tone {
        Tone::Done => look.theme.ok,
        Tone::Info => look.theme.text,
        Tone::Error => look.theme.error,
    }
}

/// Rows that one notice may take.
const NOTICE_ROWS: usize = 2;

/// Rows of what is told now, each with its tone.
pub(crate) type Notices = Vec<(Tone, String)>;

/// Returns what is told now in rows of at most `cols` cells. The newest one has two of them, so that its end, where the hint
/// stands, is not lost; those before it have one, and none where room is `scarce`.
pub(crate) fn notice_rows(notice: &Notice, cols: usize, scarce: bool) -> Notices {
    let told: Vec<_> = notice.shown().collect();
    let Some((newest, before)) = told.split_last() else {
        return Vec::new();
    };
    let before = if scarce { &[] } else { before };
    let mut rows: Notices = before
        .iter()
        .map(|told| (told.tone, text::cut(&told.words(), cols).to_string()))
        .collect();
    let newest_rows = notice_lines(&newest.words(), cols);
    rows.extend(newest_rows.into_iter().map(|line| (newest.tone, line)));
    rows
}

fn notice_lines(words: &str, cols: usize) -> Vec<String> {
    let mut lines = text::wrap(words, cols.max(8));
    if lines.len() > NOTICE_ROWS {
        let rest = lines[NOTICE_ROWS - 1..].join(" ");
        lines.truncate(NOTICE_ROWS - 1);
        lines.push(text::cut(&rest, cols).to_string());
    }
    lines
}

/// Draws the rows of what is told.
pub(crate) fn notice_view(rows: &Notices, area: Rect, buf: &mut Buffer, look: &Look) {
    for ((tone, line), y) in rows.iter().zip(area.top()..area.bottom()) {
        let row = Rect {
            y,
            height: 1,
            ..area
        };
        look::pieces(buf, row, &[(line, tone_style(*tone, look))]);
    }
}

/// Draws what can be done in a context, from the table of commands, as far as it fits.
pub(crate) fn hint_line(
    context: Context,
    before: &[(String, String)],
    row: Rect,
    buf: &mut Buffer,
    look: &Look,
) -> u16 {
    let mut hints = before.to_vec();
    hints.extend(table_hints(context, look));
    hint_row(&hints, row, buf, look)
}

/// Returns what the table of commands offers in a context.
pub(crate) fn table_hints(context: Context, look: &Look) -> Vec<(String, String)> {
    let of_table = TABLE
        .iter()
        .filter(|b| b.context == context && !b.hint.is_empty());
    let mut hints: Vec<(String, String)> = Vec::new();
    hints.extend(of_table.map(|b| {
        let key = if b.hint == "move" {
            if look.unicode { "↑↓" } else { "Up/Down" }.to_owned()
        } else {
            look.keys.key(b)
        };
        (key, b.hint.to_owned())
    }));
    if let Some(palette) = keymap::binding(Command::Palette, Context::Everywhere) {
        hints.push((look.keys.key(palette), "commands".to_owned()));
    }
    hints
}

/// Which hints stay where there is no room for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Those that come first.
    First,
    /// Those that come first, and the last.
    Last,
}

/// Draws keys and what they do, as far as they fit; returns how many cells they take.
pub(crate) fn hint_row(
    hints: &[(String, String)],
    row: Rect,
    buf: &mut Buffer,
    look: &Look,
) -> u16 {
    hint_row_with(hints, Kept::First, row, buf, look)
}

/// Draws keys and what they do, of which some stay; returns how many cells they take.
pub(crate) fn hint_row_with(
    hints: &[(String, String)],
    kept: Kept,
    row: Rect,
    buf: &mut Buffer,
    look: &Look,
) -> u16 {
    let theme = &look.theme;
    let wide = |(key, words): &(String, String)| text::width(key) + 1 + text::width(words);
    let cols = usize::from(row.width);
    // In the list the last one leads to everything else: what stands before it gives way to it.
    let last = match kept {
        Kept::First => 0,
        Kept::Last => hints.last().map_or(0, wide) + 3,
    };
    let (mut x, mut full) = (1, false);
    for (at, hint) in hints.iter().enumerate() {
        let gap = if x > 1 { 3 } else { 0 };
        let end = x + gap + wide(hint);
        let is_last = at + 1 == hints.len();
        full |= end > cols || (!is_last && end + last > cols && last < cols / 3);
        if full && !(is_last && end <= cols && last > 0) {
            continue;
        }
        if gap > 0 {
            let dot = format!(" {} ", look.glyph(Glyph::Dot));
            text::put(buf, row.x + x as u16, row.y, 3, &dot, theme.dim);
        }
        x += gap;
        let (key, words) = hint;
        x += text::put(buf, row.x + x as u16, row.y, cols, key, theme.key) + 1;
        x += text::put(buf, row.x + x as u16, row.y, cols, words, theme.dim);
    }
    x as u16
}

/// Draws what can be done where nothing can be written.
pub(crate) fn reader_hints(row: Rect, buf: &mut Buffer, look: &Look) {
    const WAYS: [(Command, &str); 4] = [
        (Command::PageUp, "scrolls"),
        (Command::Find, "finds words"),
        (Command::Read, "reads"),
        (Command::Palette, "commands"),
    ];
    let key = |(command, words): (Command, &str)| {
        let contexts = [Context::Conversation, Context::Everywhere];
        let binding = contexts
            .into_iter()
            .find_map(|c| keymap::binding(command, c));
        binding.map(|b| (look.keys.key(b), words.to_owned()))
    };
    let hints: Vec<_> = WAYS.into_iter().filter_map(key).collect();
    hint_row(&hints, row, buf, look);
}

/// Draws what can be done while a message is written.
pub(crate) fn composer_hints(
    conversation: &Conversation,
    row: Rect,
    buf: &mut Buffer,
    look: &Look,
) {
    let pair = |key: &str, words: &str| (key.to_owned(), words.to_owned());
    let mut hints = Vec::new();
    let state = conversation.state.as_ref();
    if state.is_some_and(|s| conversation.question.shown(&s.questions).is_some()) {
        hints.push(pair("Alt-Q", "answers"));
    }
    if conversation.is_working() {
        let (now, other) = match conversation.mode {
            SendMode::FollowUp => ("sends as follow-up", "steer now"),
            SendMode::Steer => ("steers the turn", "follow-up"),
        };
        hints.push(pair("Enter", now));
        hints.push(pair("Tab", other));
        hints.push(pair("Esc", "stops"));
    } else {
        hints.push(pair("Enter", "sends"));
    }
    hints.extend([pair("/", "command"), pair("!", "shell")]);
    // The table's own hint for Enter would say the same again.
    hint_line(Context::Editing, &hints, row, buf, look);
}

/// Returns how full the context is and what the session cost: "38 % ▰▰▱▱▱ $0.42", or the tokens where the window is not known.
pub(crate) fn gauge(state: Option<&ConversationState>, look: &Look, short: bool) -> String {
    let Some(info) = state.map(|s| &s.info) else {
        return String::new();
    };
    let cost = info.usage.cost_nanos.filter(|nanos| *nanos > 0);
    let cost = cost.map_or(String::new(), |nanos| format!("{} ", usage::money(nanos)));
    match info.context_limit.filter(|l| *l > 0) {
        Some(limit) => {
            let percent = (info.context_tokens.saturating_mul(100) / limit).min(100);
            if short {
                return format!("{percent} % ");
            }
            let full = percent.div_ceil(20) as usize;
            let bar =
                look.glyph(Glyph::Full).repeat(full) + &look.glyph(Glyph::Empty).repeat(5 - full);
            format!("{percent} % {bar} {cost}")
        }
        None if info.context_tokens >= 1_000 => {
            format!("{}k tokens {cost}", info.context_tokens / 1_000)
        }
        None if info.context_tokens > 0 => format!("{} tokens {cost}", info.context_tokens),
        None => cost,
    }
}
