//! Draws the list of sessions. It changes nothing but where it is scrolled to.

use porthole_protocol::{ChildRow, Hit, SessionRow, SessionState};
use ratatui_core::{
    buffer::Buffer,
    layout::{Position, Rect},
    style::Style,
};

use crate::{
    around::others_words,
    clock,
    conversation_view::thinking_word,
    editor::{self, Editor},
    effects::Effects,
    hints::{Kept, hint_row_with, notice_rows, notice_view, table_hints},
    home::{Home, Line, Prompt},
    keymap::{self, Command, Context},
    look::{self, Glyph, Look, sides},
    search,
    server::Link,
    text,
};

/// Draws the list; returns where the cursor is while a field is open.
pub(crate) fn view(
    home: &mut Home,
    screen: Rect,
    buf: &mut Buffer,
    look: &Look,
    fx: &Effects,
) -> Option<Position> {
    let page = look::page(screen);
    if page.width < 12 || page.height < 4 {
        return None;
    }
    let area = Rect {
        x: page.x + 1,
        width: page.width - 2,
        ..page
    };
    let compact = area.height < 16;
    header(
        Rect {
            height: 1,
            y: area.y + u16::from(!compact),
            ..area
        },
        buf,
        look,
        fx,
    );
    let field = field_row(home, area, compact);
    let cursor = field.and_then(|row| prompt(home, row, buf, look));
    let asks_where = matches!(home.prompt, Some(Prompt::New(_)));
    if let Some(row) = field.filter(|_| asks_where) {
        wishes(
            home,
            Rect {
                y: row.y + 1,
                ..row
            },
            buf,
            look,
        );
    }
    let below = if field.is_some() { 2 } else { 0 } + u16::from(asks_where);
    let top = if compact { 2 } else { 3 } + below;
    let cols = usize::from(area.width).saturating_sub(2);
    let notices = notice_rows(&fx.notice, cols, compact);
    let bottom = (notices.len() as u16).max(1);
    let undo = home.deleted(fx.now_ms).map(|title| {
        format!(
            " deleted “{}”  ",
            text::cut(&text::visible(title), cols / 2)
        )
    });
    let undo_rows = u16::from(undo.is_some());
    let list = Rect {
        y: area.y + top,
        height: area.height.saturating_sub(top + 1 + bottom + undo_rows),
        ..area
    };
    if let Some(words) = &undo {
        let row = Rect {
            y: area.bottom().saturating_sub(bottom + 1),
            height: 1,
            ..area
        };
        undo_view(words, row, buf, look);
    }
    list_view(home, list, buf, look, fx);
    let row = Rect {
        y: area.bottom() - bottom,
        height: bottom,
        ..area
    };
    if notices.is_empty() {
        hints(home, row, buf, look);
    } else {
        let row = Rect {
            x: row.x + 1,
            width: row.width - 1,
            ..row
        };
        notice_view(&notices, row, buf, look);
    }
    cursor
}

fn header(row: Rect, buf: &mut Buffer, look: &Look, fx: &Effects) {
    let theme = &look.theme;
    let machine = if row.width < 60 {
        ""
    } else {
        fx.server.machine()
    };
    let left = [
        (" Porthole", theme.heading),
        ("  ", theme.dim),
        (machine, theme.dim),
    ];
    let state = match fx.server.link() {
        Link::Up => None,
        Link::Connecting => Some("connecting …".to_owned()),
        Link::Down => Some("connection lost, trying again …".to_owned()),
        Link::Ended(reason) => Some(reason.clone()),
    };
    match state {
        Some(state) => sides(buf, row, &left, &[(&state, theme.warn)]),
        None => sides(
            buf,
            row,
            &left,
            &[
                ("/", theme.key),
                (" search   ", theme.dim),
                ("n", theme.key),
                (" new   ", theme.dim),
                ("?", theme.key),
                (" help ", theme.dim),
            ],
        ),
    }
}

fn field_row(home: &Home, area: Rect, compact: bool) -> Option<Rect> {
    let open = home.prompt.is_some() || !home.filter.is_empty();
    open.then(|| Rect {
        y: area.y + if compact { 2 } else { 3 },
        height: 1,
        ..area
    })
}

fn prompt(home: &Home, row: Rect, buf: &mut Buffer, look: &Look) -> Option<Position> {
    let (label, editor): (&str, &Editor) = match &home.prompt {
        None | Some(Prompt::Filter) => (" search  ", &home.filter),
        Some(Prompt::Rename(_, editor)) => (" title  ", editor),
        Some(Prompt::New(editor)) => (" new session in  ", editor),
    };
    let before = editor::cells(&editor.text()[..editor.cursor()]);
    let room = usize::from(row.width).saturating_sub(label.len() + 2);
    let skip = before.saturating_sub(room);
    let shown = text::visible(editor.text()).into_owned();
    let skipped = text::head(&shown, skip).len();
    // Where the cursor stands comes first, then what could be there.
    let example = match &home.prompt {
        Some(Prompt::New(_)) if shown.is_empty() => "  a directory there, such as ~ or ~/src/shop",
        _ => "",
    };
    look::pieces(
        buf,
        row,
        &[
            (label, look.theme.accent),
            (&shown[skipped..], look.theme.text),
            (example, look.theme.dim),
        ],
    );
    home.prompt
        .as_ref()
        .map(|_| Position::new(row.x + (label.len() + before - skip) as u16, row.y))
}

/// Draws what was deleted, and which key brings it back.
fn undo_view(words: &str, row: Rect, buf: &mut Buffer, look: &Look) {
    let theme = &look.theme;
    let key = keymap::binding(Command::Undelete, Context::Home)
        .map(|b| look.keys.key(b))
        .unwrap_or_default();
    let pieces = [
        (words, theme.warn),
        (&key, theme.key),
        (" brings it back, for ten minutes", theme.dim),
    ];
    look::pieces(buf, row, &pieces);
}

/// Draws what the new session gets, and which keys change it.
fn wishes(home: &Home, row: Rect, buf: &mut Buffer, look: &Look) {
    let theme = &look.theme;
    let model = home.next.model.as_ref().map(ToString::to_string);
    let model = model.unwrap_or_else(|| "the default model".to_owned());
    let thinking = home.next.thinking.map_or("as usual", thinking_word);
    let words = format!(" with {model}, thinking {thinking}   ");
    let key = |command| {
        keymap::binding(command, Context::Conversation)
            .map(|b| look.keys.key(b))
            .unwrap_or_default()
    };
    let (models, levels) = (key(Command::Models), key(Command::Thinking));
    let arrows = if look.unicode { "↑↓" } else { "Up/Down" };
    let pieces = [
        (words.as_str(), theme.dim),
        (arrows, theme.key),
        (" directory  ", theme.dim),
        (models.as_str(), theme.key),
        (" model  ", theme.dim),
        (levels.as_str(), theme.key),
        (" thinking", theme.dim),
    ];
    look::pieces(buf, row, &pieces);
}

fn list_view(home: &mut Home, area: Rect, buf: &mut Buffer, look: &Look, fx: &Effects) {
    home.spots.clear();
    if home.lines().is_empty() {
        empty(home, area, buf, look);
        return;
    }
    let selected = home.spot();
    let is_selected = |line: &Line<'_>| line.spot().is_some_and(|s| Some(s) == selected);
    let lines = home.lines();
    let at = lines.iter().position(is_selected).unwrap_or(0);
    let height = usize::from(area.height).max(1);
    // One line above the selected one stays visible, so that its group's name does.
    let first = home
        .first
        .min(at.saturating_sub(1))
        .max((at + 2).min(lines.len()).saturating_sub(height));
    let mut spots = Vec::new();
    for (y, line) in lines.iter().skip(first).take(height).enumerate() {
        let row = Rect {
            y: area.y + y as u16,
            height: 1,
            ..area
        };
        match line {
            Line::Blank => {}
            Line::Group { machine, dir } => {
                let dir = from_home(dir, fx.server.home_dir());
                let words = format!(" {machine} {} {dir}", look.glyph(Glyph::Dot));
                look::pieces(buf, row, &[(&words, look.theme.dim)]);
            }
            Line::Row(session) => row_view(session, row, buf, look, fx, is_selected(line)),
            Line::Child(_, child) => child_view(child, row, buf, look, is_selected(line)),
            Line::Childless => {
                let words = "       no other conversation within it";
                look::pieces(buf, row, &[(words, look.theme.dim)]);
            }
            Line::Said => {
                let words = " where it was said";
                look::pieces(buf, row, &[(words, look.theme.dim)]);
            }
            Line::Hit(hit) => hit_view(hit, row, buf, look, fx.now_ms, is_selected(line)),
            Line::Archived(count) if !home.filter.is_empty() => {
                let words = format!(" archived {count}");
                look::pieces(buf, row, &[(&words, look.theme.dim)]);
            }
            Line::Archived(count) => {
                let glyph = look.glyph(if home.archived_shown {
                    Glyph::Unfolded
                } else {
                    Glyph::Folded
                });
                let words = format!(" archived {count} {glyph}  ");
                let key = keymap::binding(Command::ShowArchived, Context::Home)
                    .map(|b| look.keys.key(b))
                    .unwrap_or_default();
                let does = if home.archived_shown {
                    " hides them"
                } else {
                    " shows them"
                };
                let theme = &look.theme;
                look::pieces(
                    buf,
                    row,
                    &[(&words, theme.dim), (&key, theme.key), (does, theme.dim)],
                );
            }
        }
        spots.extend(line.spot().map(|spot| (row.y, spot)));
    }
    home.first = first;
    home.spots = spots;
}

/// Draws a place where the words that are looked for were said.
fn hit_view(hit: &Hit, row: Rect, buf: &mut Buffer, look: &Look, now_ms: u64, selected: bool) {
    let theme = &look.theme;
    let pointer = if selected {
        look.glyph(Glyph::Pointer)
    } else {
        " "
    };
    let cols = usize::from(row.width);
    let at = clock::when(hit.at_ms, now_ms, look.utc_offset_minutes);
    let archived = if hit.archived { "archived · " } else { "" };
    let title = text::visible(&hit.title).into_owned();
    let title = text::cut(&title, cols / 3).to_string();
    let note = format!("  {archived}{title} {} {at} ", look.glyph(Glyph::Dot));
    let pieces = search::pieces(hit, cols.saturating_sub(text::width(&note) + 3));
    let mut left = vec![
        (" ", theme.text),
        (pointer, theme.accent),
        (" ", theme.text),
    ];
    left.extend(pieces.iter().map(|(piece, found)| {
        let style = if *found { theme.strong } else { theme.text };
        (piece.as_str(), style)
    }));
    sides(buf, row, &left, &[(&note, theme.dim)]);
}

/// Draws a conversation within a session.
fn child_view(child: &ChildRow, row: Rect, buf: &mut Buffer, look: &Look, selected: bool) {
    let theme = &look.theme;
    let (glyph, mark, words, style) = state_words(&child.state, false, look, row.width < 60);
    let words = if child.archived {
        "archived".to_owned()
    } else {
        words
    };
    let pointer = if selected {
        look.glyph(Glyph::Pointer)
    } else {
        " "
    };
    let cols = usize::from(row.width);
    let note = text::cut(&text::visible(&words), cols * 2 / 5).to_string();
    let room = cols.saturating_sub(text::width(&note) + 11);
    let title = text::cut(&text::visible(&child.title), room).to_string();
    let title_style = if selected { theme.strong } else { theme.text };
    let left = [
        (" ", theme.text),
        (pointer, theme.accent),
        ("    ", theme.text),
        (glyph, mark),
        (" ", theme.text),
        (title.as_str(), title_style),
    ];
    let note = format!("{note} ");
    sides(buf, row, &left, &[(&note, style)]);
}

fn empty(home: &Home, area: Rect, buf: &mut Buffer, look: &Look) {
    let theme = &look.theme;
    let lines: &[&[(&str, Style)]] = if !home.is_loaded() {
        &[&[(" loading sessions …", theme.dim)]]
    } else if !home.filter.is_empty() {
        &[&[
            (" nothing found; ", theme.dim),
            ("Esc", theme.key),
            (" clears the search", theme.dim),
        ]]
    } else {
        &[
            &[(" No sessions yet.", theme.text)],
            &[],
            &[(
                " A session is one conversation with an agent that works in one directory.",
                theme.dim,
            )],
            &[
                (" ", theme.dim),
                ("n", theme.key),
                (" makes the first one.", theme.dim),
            ],
        ]
    };
    for (y, pieces) in lines.iter().enumerate().take(usize::from(area.height)) {
        look::pieces(
            buf,
            Rect {
                y: area.y + y as u16,
                height: 1,
                ..area
            },
            pieces,
        );
    }
}

fn row_view(
    session: &SessionRow,
    row: Rect,
    buf: &mut Buffer,
    look: &Look,
    fx: &Effects,
    selected: bool,
) {
    let theme = &look.theme;
    let cols = usize::from(row.width);
    let (glyph, mark, words, words_style) = words(session, look, cols < 60);
    let time = clock::when(session.updated_ms, fx.now_ms, look.utc_offset_minutes);
    // In a narrow list the columns give way: a title gets all that the words beside it do not need.
    let (note_cols, time_cols) = if cols < 60 {
        (text::width(&words).min(10), text::width(&time) + 1)
    } else {
        (cols * 2 / 5, 7)
    };
    let title_cols = cols.saturating_sub(note_cols + time_cols + 10);
    let pointer = if selected {
        look.glyph(Glyph::Pointer)
    } else {
        " "
    };
    let title_style = if selected { theme.strong } else { theme.text };
    let pin = if session.pinned { "* " } else { "" };
    let title = text::cut(
        &format!("{pin}{}", text::visible(&session.title)),
        title_cols,
    );
    let pad = " ".repeat(title_cols.saturating_sub(text::width(&title)) + 2);
    let note = text::cut(&text::visible(&words), note_cols);
    let left = [
        (" ", theme.text),
        (pointer, theme.accent),
        (" ", theme.text),
        (glyph, mark),
        (" ", theme.text),
        (title.as_str(), title_style),
        (&pad, theme.text),
        (&note, words_style),
    ];
    let unread = if session.unread {
        look.glyph(Glyph::Unread)
    } else {
        " "
    };
    let time = format!("{time:>time_cols$} ");
    let me = fx.server.who().map_or("", |w| w.id.as_str());
    let others = others_words(&session.presence, me);
    let others = match cols {
        ..80 => String::new(),
        _ if others.is_empty() => others,
        _ => format!("{} ", text::cut(&others, 24)),
    };
    sides(
        buf,
        row,
        &left,
        &[
            (&others, theme.text),
            (unread, theme.accent),
            (&time, theme.dim),
        ],
    );
}

/// Returns a directory as it is shown: from the server's home where it is below it.
fn from_home(dir: &str, home: Option<&str>) -> String {
    let rest = home.and_then(|home| dir.strip_prefix(home));
    match rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        Some(rest) => format!("~{rest}"),
        None => dir.to_owned(),
    }
}

/// Returns sign and words of what a session is doing; in a narrow list the words are short.
fn words<'l>(session: &SessionRow, look: &'l Look, short: bool) -> (&'l str, Style, String, Style) {
    state_words(&session.state, session.unread, look, short)
}

fn state_words<'l>(
    state: &SessionState,
    unread: bool,
    look: &'l Look,
    short: bool,
) -> (&'l str, Style, String, Style) {
    let theme = &look.theme;
    let (glyph, mark, words, style) = match state {
        SessionState::Idle if unread => (Glyph::Idle, theme.dim, "answered", theme.text),
        SessionState::Idle => (Glyph::Idle, theme.dim, "", theme.dim),
        SessionState::Working { .. } => (Glyph::Working, theme.accent, "working", theme.dim),
        SessionState::Waiting { .. } => (Glyph::Waiting, theme.warn, "needs you", theme.warn),
        SessionState::Failed { .. } => (Glyph::Failed, theme.error, "failed", theme.error),
    };
    let words = match state {
        SessionState::Working { activity } if !short && !activity.is_empty() => activity.clone(),
        SessionState::Waiting { question } if !short => format!("{words}: {question}"),
        SessionState::Failed { reason } if !short => format!("{words}: {reason}"),
        _ => words.to_owned(),
    };
    (look.glyph(glyph), mark, words, style)
}

fn hints(home: &Home, row: Rect, buf: &mut Buffer, look: &Look) {
    let theme = &look.theme;
    if home.prompt.is_some() {
        look::pieces(
            buf,
            row,
            &[
                (" ", theme.dim),
                ("Enter", theme.key),
                (" goes on · ", theme.dim),
                ("Esc", theme.key),
                (" back", theme.dim),
            ],
        );
        return;
    }
    let failed = home
        .current()
        .is_some_and(|r| matches!(r.state, SessionState::Failed { .. }));
    let retry = crate::keymap::binding(Command::Retry, Context::Home).filter(|_| failed);
    let before = retry.map(|b| (look.keys.key(b), "try again".to_owned()));
    let mut hints: Vec<_> = before
        .into_iter()
        .chain(table_hints(Context::Home, look))
        .collect();
    if home.current().is_some_and(|r| r.archived) {
        let archive = hints.iter_mut().find(|(_, words)| words == "archive");
        if let Some((_, words)) = archive {
            "restore".clone_into(words);
        }
    }
    hint_row_with(&hints, Kept::Last, row, buf, look);
}
