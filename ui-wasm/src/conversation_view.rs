//! Draws the screen of a conversation: header, transcript, what goes on, question, message, hints.

use porthole_protocol::{
    ConversationInfo, Policy, SessionRow, SessionState, Thinking, Turn, TurnPhase,
};
use ratatui_core::{
    buffer::Buffer,
    layout::{Position, Rect},
    style::Style,
};

use crate::{
    around::{self, Around},
    conversation::{Conversation, Focus},
    effects::Effects,
    hints::{
        Notices, composer_hints, gauge, hint_line, hint_row, notice_rows, notice_view, reader_hints,
    },
    keymap::{self, Command, Context},
    look::{self, Glyph, Look, sides},
    question::Stance,
    server::Link,
    text,
    transcript::ViewContext,
    welcome,
};

/// Draws a conversation; returns where the cursor is.
pub(crate) fn view(
    conversation: &mut Conversation,
    around: &Around,
    screen: Rect,
    buf: &mut Buffer,
    look: &Look,
    fx: &Effects,
) -> Option<Position> {
    let page = look::page(screen);
    if page.width < 12 || page.height < 6 {
        return None;
    }
    conversation.go_to_sought();
    let me = fx.server.who().map(|w| w.id.clone()).unwrap_or_default();
    let cx = ViewContext {
        theme: &look.theme,
        now_ms: fx.now_ms,
        utc_offset_minutes: look.utc_offset_minutes,
        unicode: look.unicode,
        animate: look.animates(),
        me: &me,
    };
    if let Some(state) = conversation
        .state
        .as_ref()
        .filter(|_| conversation.focus == Focus::Finding)
    {
        conversation
            .finder
            .look(state, &mut conversation.transcript);
    }
    let notice = match conversation.focus {
        Focus::Finding => Vec::new(),
        _ => notice(conversation, page, look, fx),
    };
    let hint_rows = notice.len().max(1);
    let rows = rows(conversation, page, &cx, hint_rows as u16);
    header(conversation, around, rows.header, buf, look, fx);
    transcript(conversation, rows.transcript, buf, look, fx, &cx);
    let asked = question(conversation, rows.question, buf, look, fx, &cx);
    let typed = composer(conversation, rows.composer, buf, look, fx);
    let finding = match conversation.focus {
        Focus::Finding => finder(conversation, rows.hints, buf, look),
        _ => {
            let is_closed = closed(conversation, fx).is_some();
            hints(conversation, (notice, is_closed), rows.hints, buf, look);
            None
        }
    };
    conversation.composer.view_list(buf, look);
    match conversation.focus {
        Focus::Composer => typed,
        Focus::Question => asked,
        Focus::Finding => finding,
        Focus::Reading => None,
    }
}

/// Draws what is looked for and where one is among what was found; returns where the cursor is.
fn finder(
    conversation: &Conversation,
    row: Rect,
    buf: &mut Buffer,
    look: &Look,
) -> Option<Position> {
    let theme = &look.theme;
    let finder = &conversation.finder;
    let has_older = conversation.state.as_ref().is_some_and(|s| s.has_older);
    let words = finder.words(has_older);
    let label = " find  ";
    let arrows = if look.unicode { "↑↓" } else { "Up/Down" };
    let keys = format!("  {arrows} next {} Esc ends ", look.glyph(Glyph::Dot));
    let keys = if row.width < 60 { "" } else { keys.as_str() };
    sides(
        buf,
        row,
        &[(label, theme.accent), (finder.field.text(), theme.text)],
        &[(&words, theme.text), (keys, theme.dim)],
    );
    let before = crate::editor::cells(&finder.field.text()[..finder.field.cursor()]);
    let x = row.x + (label.len() + before) as u16;
    Some(Position::new(x.min(row.right().saturating_sub(1)), row.y))
}

/// Where each part stands.
struct Rows {
    header: Rect,
    transcript: Rect,
    question: Rect,
    composer: Rect,
    hints: Rect,
}

fn rows(conversation: &Conversation, page: Rect, cx: &ViewContext<'_>, hints: u16) -> Rows {
    let small = page.height < 16;
    let inside = Rect {
        x: page.x + 1,
        width: page.width - 2,
        ..page
    };
    let part = |y: u16, height: u16| Rect {
        y,
        height,
        ..inside
    };
    let header = if small { 1 } else { 2 };
    let composer = conversation.composer.height(inside.width, page.height / 3);
    let gap = u16::from(!small);
    let taken = header + hints + composer + gap;
    let left = page.height.saturating_sub(taken + 2);
    let asked = conversation.state.as_ref().map_or(0, |s| {
        conversation
            .question
            .height(&s.questions, cx, inside.width, left.max(5))
    });
    let bottom = page.bottom();
    let hints_y = bottom - hints;
    let composer_y = hints_y.saturating_sub(composer);
    let below = if asked == 0 || page.height >= 24 {
        gap
    } else {
        0
    };
    let question_y = composer_y.saturating_sub(asked + below);
    let top = page.y + header + gap;
    Rows {
        header: part(page.y, header),
        transcript: part(
            top,
            question_y.saturating_sub(top + if asked > 0 { gap } else { 0 }),
        ),
        question: part(question_y, asked),
        composer: part(composer_y, composer),
        hints: part(hints_y, hints),
    }
}

fn header(
    conversation: &Conversation,
    around: &Around,
    area: Rect,
    buf: &mut Buffer,
    look: &Look,
    fx: &Effects,
) {
    let theme = &look.theme;
    let row = around.row.as_ref();
    let info = conversation.state.as_ref().map(|s| &s.info);
    let title = title_words(row, info, look);
    let title = title.as_str();
    let first = Rect { height: 1, ..area };
    let model = info.map(|i| model_words(i, look));
    let state = state_words(conversation, row, fx);
    let right = match (&state, area.height) {
        (Some(state), 1) => (state.as_str(), theme.warn),
        (None, 1) if area.width < 60 => ("", theme.dim),
        _ => (model.as_deref().unwrap_or(""), theme.dim),
    };
    sides(
        buf,
        first,
        &[(" ", theme.text), (title, theme.heading)],
        &[right],
    );
    if area.height > 1 {
        let second = Rect {
            y: area.y + 1,
            height: 1,
            ..area
        };
        let place = info.map(|i| place_words(i, look));
        let place = place
            .or_else(|| row.map(|r| r.dir.clone()))
            .unwrap_or_default();
        let (words, style) = match state {
            // What is wrong counts for more than the place: it gets the room it needs, up to all but a few cells.
            Some(state) => (
                format!(
                    "{} ",
                    text::cut(&state, usize::from(area.width).saturating_sub(6))
                ),
                theme.warn,
            ),
            None => {
                let guest = match fx.is_owner() {
                    true => String::new(),
                    false => format!("you are a guest {} ", look.glyph(Glyph::Dot)),
                };
                let policy = guest + &policy_words(info.map(|i| i.policy));
                let me = fx.server.who().map_or("", |w| w.id.as_str());
                let others = row
                    .map(|r| around::others_words(&r.presence, me))
                    .unwrap_or_default();
                let others = match others.as_str() {
                    "" => others,
                    _ => format!("with {others}"),
                };
                let parts = [
                    around.words(),
                    around::background_words(conversation),
                    others,
                    policy,
                ];
                let parts: Vec<String> = parts.into_iter().filter(|p| !p.is_empty()).collect();
                let words = parts.join(&format!(" {} ", look.glyph(Glyph::Dot)));
                (
                    text::cut(&words, usize::from(area.width) * 2 / 3),
                    theme.dim,
                )
            }
        };
        let room = usize::from(area.width).saturating_sub(text::width(&words) + 3);
        let place = text::cut(&place, room);
        sides(
            buf,
            second,
            &[(" ", theme.text), (&place, theme.dim)],
            &[(&words, style)],
        );
    }
}

fn title_words(row: Option<&SessionRow>, info: Option<&ConversationInfo>, look: &Look) -> String {
    let session = row.map_or("", |r| r.title.as_str());
    match info.and_then(|i| i.title.as_deref()) {
        Some(own) => format!("{own} {} in {session}", look.glyph(Glyph::Dot)),
        None => session.to_owned(),
    }
}

fn model_words(info: &ConversationInfo, look: &Look) -> String {
    let name = if info.practice {
        "practice"
    } else {
        &info.model.model
    };
    match info.thinking {
        Thinking::Off => format!("{name} "),
        level => format!(
            "{name} {} thinking {} ",
            look.glyph(Glyph::Dot),
            thinking_word(level)
        ),
    }
}

fn place_words(info: &ConversationInfo, look: &Look) -> String {
    match &info.branch {
        Some(branch) => format!("{} {} {branch}", info.cwd, look.glyph(Glyph::Dot)),
        None => info.cwd.clone(),
    }
}

fn state_words(
    conversation: &Conversation,
    row: Option<&SessionRow>,
    fx: &Effects,
) -> Option<String> {
    match fx.server.link() {
        Link::Connecting => return Some("connecting …".into()),
        Link::Down => return Some("connection lost, trying again …".into()),
        Link::Ended(reason) => return Some(reason.clone()),
        Link::Up => {}
    }
    if !fx.may_send() {
        return Some("you are viewing".into());
    }
    if let Some(SessionState::Failed { reason }) = row.map(|r| &r.state) {
        return Some(format!("failed: {reason} · /retry tries again"));
    }
    if let Some(why) = conversation
        .state
        .as_ref()
        .and_then(|s| s.info.read_only.as_ref())
    {
        return Some(why.clone());
    }
    let ended = conversation.ended.as_ref();
    ended
        .filter(|_| !conversation.is_missing())
        .map(|e| e.message.clone())
}

/// Returns a policy in words for the header.
pub(crate) fn policy_words(policy: Option<Policy>) -> String {
    match policy {
        None => String::new(),
        Some(Policy::Ask) => "asks first ".into(),
        Some(Policy::Auto) => "runs everything ".into(),
        Some(Policy::ReadOnly) => "read only ".into(),
    }
}

/// Returns a thinking level in a word.
pub(crate) fn thinking_word(level: Thinking) -> &'static str {
    match level {
        Thinking::Off => "off",
        Thinking::Low => "low",
        Thinking::Medium => "medium",
        Thinking::High => "high",
    }
}

fn transcript(
    conversation: &mut Conversation,
    area: Rect,
    buf: &mut Buffer,
    look: &Look,
    fx: &Effects,
    cx: &ViewContext<'_>,
) {
    if area.height == 0 {
        return;
    }
    let sending = conversation.sending(*fx.server.link() != Link::Up);
    let Some(state) = &conversation.state else {
        let words = match &conversation.ended {
            Some(error) if error.hint.is_empty() => error.message.clone(),
            Some(error) => format!("{}; {}", error.message, error.hint),
            None => "opening the session …".into(),
        };
        look::pieces(
            buf,
            Rect { height: 1, ..area },
            &[(" ", look.theme.dim), (&words, look.theme.dim)],
        );
        return;
    };
    if state.entries.is_empty()
        && !state.has_older
        && state.submissions.is_empty()
        && state.turn.is_none()
        && sending.is_empty()
    {
        welcome::view(state, area, buf, look, fx);
        return;
    }
    conversation.transcript.view(state, &sending, area, buf, cx);
    way_down(conversation, area, buf, look, fx.now_ms);
}

/// Says what goes on and what is new below while the bottom is not followed; a click there goes down.
fn way_down(
    conversation: &mut Conversation,
    area: Rect,
    buf: &mut Buffer,
    look: &Look,
    now_ms: u64,
) {
    conversation.below = Rect::default();
    if conversation.transcript.is_following() {
        return;
    }
    let arrow = look.glyph(Glyph::Down);
    let below = match conversation.transcript.new_below() {
        0 => format!(" {arrow} more below "),
        new => format!(" {arrow} {new} new "),
    };
    let turn = conversation.state.as_ref().and_then(|s| s.turn.as_ref());
    let (glyph, style, words) = turn.map_or(("", look.theme.dim, String::new()), |t| {
        phase(t, look, now_ms)
    });
    let words = if words.is_empty() {
        words
    } else {
        format!(" {words} {}", look.glyph(Glyph::Dot))
    };
    // What is below is the way there: it stays whole, and what goes on gives way.
    let room = usize::from(area.width).saturating_sub(text::width(glyph) + text::width(&below) + 1);
    let words = text::cut(&words, room);
    let wide = text::width(glyph) + text::width(&words) + text::width(&below) + 1;
    let wide = (wide as u16).min(area.width);
    let spot = Rect {
        x: area.right() - wide,
        y: area.bottom() - 1,
        width: wide,
        height: 1,
    };
    for x in spot.left()..spot.right() {
        buf[(x, spot.y)].reset();
    }
    let theme = &look.theme;
    look::pieces(
        buf,
        spot,
        &[
            (" ", theme.dim),
            (glyph, style),
            (&words, theme.dim),
            (&below, theme.accent),
        ],
    );
    conversation.below = spot;
}

fn phase<'l>(turn: &Turn, look: &'l Look, now_ms: u64) -> (&'l str, Style, String) {
    let theme = &look.theme;
    let spin = (look.spinner(now_ms), theme.accent);
    let (glyph, style) = match turn.phase {
        TurnPhase::Question => (look.glyph(Glyph::Waiting), theme.warn),
        TurnPhase::Retry { .. } => (look.glyph(Glyph::Failed), theme.error),
        TurnPhase::Model | TurnPhase::Tools | TurnPhase::Stopping | TurnPhase::Compacting => spin,
    };
    let words = match &turn.phase {
        TurnPhase::Model => answer_words(turn).to_owned(),
        TurnPhase::Tools => match turn.tools.iter().find(|t| t.started_ms.is_some()) {
            Some(tool) => format!("running {}", tool.tool),
            None => "running tools".into(),
        },
        TurnPhase::Question => "waiting for you".into(),
        TurnPhase::Retry {
            at_ms,
            attempt,
            reason,
        } => {
            let seconds = at_ms.saturating_sub(now_ms).div_ceil(1000);
            match seconds {
                0 => format!("trying again; {reason}"),
                _ => format!("try {attempt} in {seconds} s; {reason}"),
            }
        }
        TurnPhase::Stopping => "stopping".into(),
        TurnPhase::Compacting => "compacting".into(),
    };
    (glyph, style, words)
}

fn answer_words(turn: &Turn) -> &'static str {
    match &turn.answer {
        Some(answer) if !answer.text.is_empty() => "answering",
        Some(answer) if !answer.thinking.is_empty() => "thinking",
        _ => "waiting for the model",
    }
}

fn question(
    conversation: &mut Conversation,
    area: Rect,
    buf: &mut Buffer,
    look: &Look,
    fx: &Effects,
    cx: &ViewContext<'_>,
) -> Option<Position> {
    let state = conversation.state.as_ref()?;
    if area.height == 0 {
        return None;
    }
    let stance = match conversation.focus {
        _ if !fx.may_answer() => Stance::Forbidden,
        Focus::Question => Stance::Focused,
        Focus::Composer | Focus::Reading | Focus::Finding => Stance::Elsewhere,
    };
    conversation
        .question
        .view(&state.questions, area, buf, cx, look, stance)
}

/// Returns why nothing can be written here, where it cannot.
fn closed<'a>(conversation: &'a Conversation, fx: &Effects) -> Option<&'a str> {
    if !fx.may_send() {
        return Some("you are viewing; only others can write here");
    }
    let info = conversation.state.as_ref().map(|state| &state.info)?;
    info.read_only.as_deref()
}

fn composer(
    conversation: &mut Conversation,
    area: Rect,
    buf: &mut Buffer,
    look: &Look,
    fx: &Effects,
) -> Option<Position> {
    if let Some(why) = closed(conversation, fx) {
        look::pieces(buf, area, &[("   ", look.theme.dim), (why, look.theme.dim)]);
        return None;
    }
    if conversation.is_missing() {
        return None;
    }
    let placeholder = if conversation.is_working() {
        "say what comes next"
    } else {
        "say what should be done"
    };
    let active = conversation.focus == Focus::Composer;
    let area = Rect {
        x: area.x + 1,
        width: area.width.saturating_sub(1),
        ..area
    };
    Some(
        conversation
            .composer
            .view(area, buf, look, placeholder, active),
    )
}

/// Returns what is told now in the rows that it takes beside the gauge.
fn notice(conversation: &Conversation, page: Rect, look: &Look, fx: &Effects) -> Notices {
    let cols = page.width - 2;
    let gauge = gauge(conversation.state.as_ref(), look, cols < 60);
    let room = usize::from(cols).saturating_sub(text::width(&gauge) + 4);
    notice_rows(&fx.notice, room, page.height < 20)
}

fn hints(
    conversation: &Conversation,
    (notice, is_closed): (Notices, bool),
    row: Rect,
    buf: &mut Buffer,
    look: &Look,
) {
    let theme = &look.theme;
    let gauge = gauge(conversation.state.as_ref(), look, row.width < 60);
    let wide = text::width(&gauge) as u16;
    let right = Rect {
        x: row.right().saturating_sub(wide),
        y: row.bottom().saturating_sub(1),
        width: wide.min(row.width),
        height: 1,
    };
    let left = Rect {
        x: row.x + 2,
        width: row.width.saturating_sub(wide + 3),
        ..row
    };
    if !notice.is_empty() {
        let left = Rect {
            x: left.x + 1,
            width: left.width.saturating_sub(1),
            ..left
        };
        notice_view(&notice, left, buf, look);
        look::pieces(buf, right, &[(&gauge, theme.dim)]);
        return;
    }
    if conversation.is_missing() {
        let ways = keymap::binding(Command::Sessions, Context::Everywhere)
            .map(|b| (look.keys.key(b), "sessions".to_owned()));
        let ways: Vec<_> = ways.into_iter().collect();
        hint_row(&ways, left, buf, look);
        return;
    }
    match conversation.focus {
        Focus::Question => {
            let questions = conversation.state.as_ref().map(|s| s.questions.as_slice());
            let hints = conversation.question.hints(questions.unwrap_or_default());
            hint_row(&hints, left, buf, look);
        }
        _ if conversation.is_going() => {
            let words = "  going back to what was found … ";
            look::pieces(buf, left, &[(words, theme.dim)]);
        }
        Focus::Reading => {
            hint_line(Context::Reading, &[], left, buf, look);
        }
        Focus::Composer | Focus::Finding if is_closed => reader_hints(left, buf, look),
        Focus::Composer | Focus::Finding => composer_hints(conversation, left, buf, look),
    }
    look::pieces(buf, right, &[(&gauge, theme.dim)]);
}
