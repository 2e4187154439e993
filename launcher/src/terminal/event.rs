//! What the visitor does, in the launcher's own words: releases dropped, pastes made plain, sizes left to the signal.
//! Pure.

use crossterm::event as ct;
use porthole_bridge::{Key, KeyCode, Modifiers, Mouse, MouseKind, limits};

/// One thing the visitor did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalEvent {
    /// A key was pressed, or repeats while held.
    Key {
        /// Which.
        key: Key,
        /// Whether it was pressed now.
        press: Press,
    },
    /// Text was pasted, already normalised.
    Paste(String),
    /// The mouse did something.
    Mouse(Mouse),
    /// The focus came or went.
    Focus(bool),
}

/// A first press, or one that the terminal made by holding the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    /// The visitor pressed it.
    First,
    /// It repeats.
    Repeat,
}

/// Returns the event, or nothing where it concerns nobody.
pub fn from_crossterm(event: ct::Event) -> Option<TerminalEvent> {
    match event {
        ct::Event::Key(key) => from_key(key),
        ct::Event::Paste(text) => Some(TerminalEvent::Paste(plain_paste(&text))),
        ct::Event::Mouse(mouse) => from_mouse(mouse),
        ct::Event::FocusGained => Some(TerminalEvent::Focus(true)),
        ct::Event::FocusLost => Some(TerminalEvent::Focus(false)),
        // The size is asked for when its signal comes.
        ct::Event::Resize(..) => None,
    }
}

fn from_key(event: ct::KeyEvent) -> Option<TerminalEvent> {
    let press = match event.kind {
        ct::KeyEventKind::Press => Press::First,
        ct::KeyEventKind::Repeat => Press::Repeat,
        ct::KeyEventKind::Release => return None,
    };
    let mut modifiers = modifiers(event.modifiers);
    let code = match event.code {
        ct::KeyCode::Char(char) => {
            // An upper-case letter already says it.
            modifiers.shift &= !char.is_uppercase();
            KeyCode::Char(char)
        }
        other => named(other)?,
    };
    Some(TerminalEvent::Key {
        key: Key { code, modifiers },
        press,
    })
}

fn named(code: ct::KeyCode) -> Option<KeyCode> {
    Some(match code {
        ct::KeyCode::F(number) => KeyCode::Function(number),
        ct::KeyCode::Enter => KeyCode::Enter,
        ct::KeyCode::Esc => KeyCode::Escape,
        ct::KeyCode::Tab => KeyCode::Tab,
        ct::KeyCode::BackTab => KeyCode::BackTab,
        ct::KeyCode::Backspace => KeyCode::Backspace,
        ct::KeyCode::Delete => KeyCode::Delete,
        ct::KeyCode::Insert => KeyCode::Insert,
        ct::KeyCode::Up => KeyCode::Up,
        ct::KeyCode::Down => KeyCode::Down,
        ct::KeyCode::Left => KeyCode::Left,
        ct::KeyCode::Right => KeyCode::Right,
        ct::KeyCode::Home => KeyCode::Home,
        ct::KeyCode::End => KeyCode::End,
        ct::KeyCode::PageUp => KeyCode::PageUp,
        ct::KeyCode::PageDown => KeyCode::PageDown,
        _ => return None,
    })
}

fn modifiers(held: ct::KeyModifiers) -> Modifiers {
    Modifiers {
        shift: held.contains(ct::KeyModifiers::SHIFT),
        control: held.contains(ct::KeyModifiers::CONTROL),
        alt: held.contains(ct::KeyModifiers::ALT),
    }
}

fn from_mouse(event: ct::MouseEvent) -> Option<TerminalEvent> {
    let kind = match event.kind {
        ct::MouseEventKind::Down(ct::MouseButton::Left) => MouseKind::Press,
        ct::MouseEventKind::Drag(ct::MouseButton::Left) => MouseKind::Drag,
        ct::MouseEventKind::Up(ct::MouseButton::Left) => MouseKind::Release,
        ct::MouseEventKind::ScrollUp => MouseKind::WheelUp,
        ct::MouseEventKind::ScrollDown => MouseKind::WheelDown,
        _ => return None,
    };
    Some(TerminalEvent::Mouse(Mouse {
        kind,
        col: event.column,
        row: event.row,
        modifiers: modifiers(event.modifiers),
    }))
}

/// Returns pasted text with every line end as `\n`, without other control characters but tab, cut at the bridge's limit.
pub fn plain_paste(text: &str) -> String {
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    // A nested marker would have ended the paste early; what is left of one is not text anybody meant.
    let unmarked = unified.replace("\x1b[200~", "").replace("\x1b[201~", "");
    let mut plain: String = unmarked
        .chars()
        .filter(|char| matches!(char, '\n' | '\t') || !char.is_control())
        .collect();
    plain.truncate(plain.floor_char_boundary(limits::PASTE_BYTES));
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn line_ends_of_a_paste_become_newlines() {
        assert_eq!(
            plain_paste("a\r\nb\rc\nd\r\n\r\ne\r\n"),
            "a\nb\nc\nd\n\ne\n"
        );
    }

    #[test]
    fn control_characters_and_nested_markers_leave_a_paste() {
        assert_eq!(plain_paste("a\x1b[201~y\x07\u{9b}2J\tb"), "ay2J\tb");
    }

    #[test]
    fn a_release_is_no_event_and_a_repeat_is_told_apart() {
        let key = |kind| {
            from_crossterm(ct::Event::Key(ct::KeyEvent::new_with_kind(
                ct::KeyCode::Enter,
                ct::KeyModifiers::NONE,
                kind,
            )))
        };
        assert_eq!(key(ct::KeyEventKind::Release), None);
        let press = |kind| match key(kind) {
            Some(TerminalEvent::Key { press, .. }) => press,
            other => panic!("{other:?}"),
        };
        assert_eq!(press(ct::KeyEventKind::Press), Press::First);
        assert_eq!(press(ct::KeyEventKind::Repeat), Press::Repeat);
    }

    proptest! {
        #[test]
        fn a_plain_paste_holds_no_control_but_newline_and_tab(text in any::<String>()) {
            let plain = plain_paste(&text);
            prop_assert!(plain.chars().all(|char| matches!(char, '\n' | '\t') || !char.is_control()));
            prop_assert_eq!(plain_paste(&plain), plain);
        }
    }
}
