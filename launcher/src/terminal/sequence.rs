//! What a complete control sequence of a keyboard or mouse means: which key, with what held, or where the mouse is.
//! Where a sequence ends is the decoder's to say; a sequence that means nothing here is no event.

use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

pub(super) fn sequence(parameters: &[u8], last: u8) -> Option<Event> {
    let text = std::str::from_utf8(parameters).ok()?;
    if let Some(report) = text.strip_prefix('<') {
        return sgr_mouse(report, last);
    }
    if !text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':'))
    {
        return None;
    }
    match (last, text) {
        (b'I', "") => return Some(Event::FocusGained),
        (b'O', "") => return Some(Event::FocusLost),
        _ => {}
    }
    let mut fields = text.split(';');
    let first = fields.next().unwrap_or_default();
    let number: u32 = first
        .split(':')
        .next()
        .unwrap_or_default()
        .parse()
        .unwrap_or(1);
    let (mut modifiers, kind) = modified(fields.next().unwrap_or_default());
    let code = match last {
        b'~' => numbered(number)?,
        b'u' => {
            let shifted = first.split(':').nth(1).and_then(|text| text.parse().ok());
            let number = shifted
                .filter(|_| modifiers.contains(KeyModifiers::SHIFT))
                .unwrap_or(number);
            unicode(number)?
        }
        // Also the answer to a question for the cursor, which is not asked: only what a key can be is one.
        b'R' if number != 1 || modifiers.is_empty() => return None,
        _ => lettered(last)?,
    };
    let code = match code {
        KeyCode::Tab if modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
        code => code,
    };
    if code == KeyCode::BackTab || matches!(code, KeyCode::Char(char) if char.is_uppercase()) {
        modifiers |= KeyModifiers::SHIFT;
    }
    Some(Event::Key(KeyEvent::new_with_kind(code, modifiers, kind)))
}

/// Modifiers, one more than their bits; after a colon, whether pressed, repeated or released.
fn modified(field: &str) -> (KeyModifiers, KeyEventKind) {
    let mut parts = field.split(':');
    let mask: u32 = parts.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let mask = mask.saturating_sub(1);
    let modifiers = [
        (1, KeyModifiers::SHIFT),
        (2, KeyModifiers::ALT),
        (4, KeyModifiers::CONTROL),
        (8, KeyModifiers::SUPER),
        (16, KeyModifiers::HYPER),
        (32, KeyModifiers::META),
    ];
    let modifiers = modifiers
        .into_iter()
        .filter(|(bit, _)| mask & bit != 0)
        .fold(KeyModifiers::NONE, |all, (_, one)| all | one);
    let kind = match parts.next() {
        Some("2") => KeyEventKind::Repeat,
        Some("3") => KeyEventKind::Release,
        _ => KeyEventKind::Press,
    };
    (modifiers, kind)
}

pub(super) fn lettered(last: u8) -> Option<KeyCode> {
    Some(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'Z' => KeyCode::BackTab,
        b'P'..=b'S' => KeyCode::F(last - b'P' + 1),
        _ => return None,
    })
}

fn numbered(number: u32) -> Option<KeyCode> {
    let f = |first: u32, at: u32| u8::try_from(number - at + first).ok().map(KeyCode::F);
    match number {
        1 | 7 => Some(KeyCode::Home),
        2 => Some(KeyCode::Insert),
        3 => Some(KeyCode::Delete),
        4 | 8 => Some(KeyCode::End),
        5 => Some(KeyCode::PageUp),
        6 => Some(KeyCode::PageDown),
        11..=15 => f(1, 11),
        17..=21 => f(6, 17),
        23..=26 => f(11, 23),
        28..=29 => f(15, 28),
        31..=34 => f(17, 31),
        _ => None,
    }
}

fn unicode(number: u32) -> Option<KeyCode> {
    Some(match number {
        9 => KeyCode::Tab,
        13 | 57_414 => KeyCode::Enter,
        27 => KeyCode::Esc,
        127 => KeyCode::Backspace,
        57_376..=57_398 => KeyCode::F(u8::try_from(number - 57_376 + 13).ok()?),
        57_399..=57_408 => KeyCode::Char(char::from_digit(number - 57_399, 10)?),
        57_409 => KeyCode::Char('.'),
        57_410 => KeyCode::Char('/'),
        57_411 => KeyCode::Char('*'),
        57_412 => KeyCode::Char('-'),
        57_413 => KeyCode::Char('+'),
        57_415 => KeyCode::Char('='),
        57_416 => KeyCode::Char(','),
        57_417 => KeyCode::Left,
        57_418 => KeyCode::Right,
        57_419 => KeyCode::Up,
        57_420 => KeyCode::Down,
        57_421 => KeyCode::PageUp,
        57_422 => KeyCode::PageDown,
        57_423 => KeyCode::Home,
        57_424 => KeyCode::End,
        57_425 => KeyCode::Insert,
        57_426 => KeyCode::Delete,
        // Other keys of the private area: lone modifiers, media and the like.
        57_344..=63_743 => return None,
        _ => KeyCode::Char(char::from_u32(number).filter(|char| !char.is_control())?),
    })
}

fn sgr_mouse(report: &str, last: u8) -> Option<Event> {
    let mut numbers = report.split(';').map(|text| text.parse::<u16>().ok());
    let (what, column, row) = (numbers.next()??, numbers.next()??, numbers.next()??);
    if numbers.next().is_some() || !matches!(last, b'M' | b'm') {
        return None;
    }
    let (column, row) = (column.saturating_sub(1), row.saturating_sub(1));
    mouse(what, column, row, last == b'm')
}

pub(super) fn mouse(what: u16, column: u16, row: u16, released: bool) -> Option<Event> {
    let moved = what & 32 != 0;
    let wheel = what & 64 != 0;
    let button = match what & 3 {
        0 => Some(MouseButton::Left),
        1 => Some(MouseButton::Middle),
        2 => Some(MouseButton::Right),
        _ => None,
    };
    let kind = match (wheel, what & 3, button) {
        _ if what & 128 != 0 => return None,
        (true, 0, _) => MouseEventKind::ScrollUp,
        (true, 1, _) => MouseEventKind::ScrollDown,
        (true, 2, _) => MouseEventKind::ScrollLeft,
        (true, ..) => MouseEventKind::ScrollRight,
        (false, _, Some(button)) if moved => MouseEventKind::Drag(button),
        (false, ..) if moved => MouseEventKind::Moved,
        (false, _, button) if released => MouseEventKind::Up(button.unwrap_or(MouseButton::Left)),
        (false, _, button) => MouseEventKind::Down(button?),
    };
    let bits = [
        (4, KeyModifiers::SHIFT),
        (8, KeyModifiers::ALT),
        (16, KeyModifiers::CONTROL),
    ];
    let modifiers = bits
        .into_iter()
        .filter(|(bit, _)| what & bit != 0)
        .fold(KeyModifiers::NONE, |all, (_, one)| all | one);
    Some(Event::Mouse(MouseEvent {
        kind,
        column,
        row,
        modifiers,
    }))
}
