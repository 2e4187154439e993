//! Bytes of a keyboard in, events out. Any bytes are taken: what is no key is dropped, nothing is ever refused.
//! It reads nothing and knows no time; whoever reads says when nothing more came.

use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use porthole_bridge::limits;

use super::sequence::{lettered, mouse, sequence};

/// Longest control sequence; a longer one is no key.
const SEQUENCE_BYTES: usize = 128;
/// Longest answer of the terminal (title, colour) that is waited for and thrown away.
const STRING_BYTES: usize = 4096;
/// What is kept of a paste: its plain form is shorter, and cut again.
const PASTE_BYTES: usize = 2 * limits::PASTE_BYTES;
const PASTE_END: &[u8] = b"\x1b[201~";
/// After this silence an escape byte is the key, not the start of a sequence.
const ESCAPE: Duration = Duration::from_millis(25);
/// After this silence the rest of a sequence does not come.
const SEQUENCE: Duration = Duration::from_millis(200);

/// What was read of something that is not complete.
#[derive(Default)]
pub struct Decoder {
    held: Vec<u8>,
    paste: Option<Paste>,
}

#[derive(Default)]
struct Paste {
    text: Vec<u8>,
    /// The last bytes, where the end is looked for; of a paste over its bound only they are kept.
    tail: Vec<u8>,
}

enum Step {
    /// It may go on.
    More,
    /// It is complete; it may be nothing.
    Done(Option<Event>),
    /// It is complete without its last byte, which begins the next.
    Before(Option<Event>),
    /// A paste begins.
    Paste,
}

impl Decoder {
    /// Takes bytes and gives what they are to `found`, in order.
    pub fn feed(&mut self, bytes: &[u8], found: &mut Vec<Event>) {
        for &byte in bytes {
            match &mut self.paste {
                Some(paste) => {
                    if paste.take(byte) {
                        let text = self.paste.take().unwrap_or_default().text;
                        found.push(Event::Paste(String::from_utf8_lossy(&text).into_owned()));
                    }
                }
                None => self.byte(byte, found),
            }
        }
    }

    /// Returns how long to wait for the rest; `None`: nothing is due.
    pub fn patience(&self) -> Option<Duration> {
        match self.held.as_slice() {
            [] => None,
            [0x1b] => Some(ESCAPE),
            _ => Some(SEQUENCE),
        }
    }

    /// Takes that nothing more came in time.
    pub fn silence(&mut self, found: &mut Vec<Event>) {
        match std::mem::take(&mut self.held).as_slice() {
            [0x1b] => found.push(key(KeyCode::Esc, KeyModifiers::NONE)),
            [0x1b, byte] => found.extend(plain(&[*byte], KeyModifiers::ALT)),
            _ => {}
        }
    }

    fn byte(&mut self, byte: u8, found: &mut Vec<Event>) {
        self.held.push(byte);
        match step(&self.held) {
            Step::More => {}
            Step::Done(event) => {
                self.held.clear();
                found.extend(event);
            }
            Step::Before(event) => {
                self.held.clear();
                found.extend(event);
                // One byte begins something or is something: this goes no deeper.
                self.byte(byte, found);
            }
            Step::Paste => {
                self.held.clear();
                self.paste = Some(Paste::default());
            }
        }
    }
}

impl Paste {
    /// Takes a byte; returns whether it was the last one of the end.
    fn take(&mut self, byte: u8) -> bool {
        if self.tail.len() == PASTE_END.len() {
            let oldest = self.tail.remove(0);
            if self.text.len() < PASTE_BYTES {
                self.text.push(oldest);
            }
        }
        self.tail.push(byte);
        self.tail == PASTE_END
    }
}

fn step(held: &[u8]) -> Step {
    match held {
        [0x1b] => Step::More,
        [0x1b, 0x1b] => Step::Before(Some(key(KeyCode::Esc, KeyModifiers::NONE))),
        [0x1b, b'[' | b'O' | b']' | b'P' | b'_' | b'^'] => Step::More,
        [0x1b, b'[', rest @ ..] => control(rest),
        [0x1b, b'O', rest @ ..] => Step::Done(third(rest)),
        [0x1b, b']' | b'P' | b'_' | b'^', rest @ ..] => string(rest),
        [0x1b, rest @ ..] => character(rest, KeyModifiers::ALT),
        rest => character(rest, KeyModifiers::NONE),
    }
}

/// A character, or a control character that stands for a key.
fn character(bytes: &[u8], modifiers: KeyModifiers) -> Step {
    let wanted = match bytes.first() {
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        Some(0x80..) => return Step::Done(None),
        _ => 1,
    };
    let goes_on = bytes.iter().skip(1).all(|byte| byte & 0xc0 == 0x80);
    match bytes.len() {
        _ if !goes_on => Step::Before(None),
        have if have < wanted => Step::More,
        _ => Step::Done(plain(bytes, modifiers)),
    }
}

fn plain(bytes: &[u8], modifiers: KeyModifiers) -> Option<Event> {
    let char = std::str::from_utf8(bytes).ok()?.chars().next()?;
    let control = |char| key(KeyCode::Char(char), modifiers | KeyModifiers::CONTROL);
    Some(match char {
        '\r' => key(KeyCode::Enter, modifiers),
        '\t' => key(KeyCode::Tab, modifiers),
        '\x7f' => key(KeyCode::Backspace, modifiers),
        '\0' => control(' '),
        '\x01'..='\x1a' => control(char::from(char as u8 - 1 + b'a')),
        '\x1b' => key(KeyCode::Esc, modifiers),
        '\x1c'..='\x1f' => control(char::from(char as u8 - 0x1c + b'4')),
        '\u{80}'..='\u{9f}' => return None,
        char if char.is_uppercase() => key(KeyCode::Char(char), modifiers | KeyModifiers::SHIFT),
        char => key(KeyCode::Char(char), modifiers),
    })
}

/// What follows `ESC O`.
fn third(rest: &[u8]) -> Option<Event> {
    let code = match rest.first()? {
        b'M' => KeyCode::Enter,
        last => lettered(*last)?,
    };
    Some(key(code, KeyModifiers::NONE))
}

/// What follows `ESC [`.
fn control(rest: &[u8]) -> Step {
    match rest {
        // The old mouse report: three bytes of any value.
        [b'M', report @ ..] => match report {
            [what, column, row] => {
                let at = |byte: u8| u16::from(byte.saturating_sub(33));
                let what = u16::from(what.saturating_sub(32));
                Step::Done(mouse(what, at(*column), at(*row), what & 3 == 3))
            }
            _ => Step::More,
        },
        // The console's function keys.
        [b'['] => Step::More,
        [b'[', last] => Step::Done(
            matches!(last, b'A'..=b'E')
                .then(|| key(KeyCode::F(last - b'A' + 1), KeyModifiers::NONE)),
        ),
        _ if rest.len() > SEQUENCE_BYTES => Step::Done(None),
        [.., 0x20..=0x3f] => Step::More,
        [b'2', b'0', b'0', b'~'] => Step::Paste,
        [parameters @ .., last @ 0x40..=0x7e] => Step::Done(sequence(parameters, *last)),
        _ => Step::Before(None),
    }
}

/// Answers of the terminal end with BEL or ST, and are no keys.
fn string(rest: &[u8]) -> Step {
    match rest {
        [.., 0x07] | [.., 0x1b, b'\\'] => Step::Done(None),
        _ if rest.len() > STRING_BYTES => Step::Done(None),
        _ => Step::More,
    }
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Event {
    Event::Key(KeyEvent::new(code, modifiers))
}

#[cfg(test)]
mod tests {
    use crossterm::event::{MouseButton, MouseEventKind};
    use proptest::prelude::*;

    use super::*;

    fn decode(bytes: &[u8]) -> Vec<Event> {
        let (mut decoder, mut found) = (Decoder::default(), Vec::new());
        decoder.feed(bytes, &mut found);
        decoder.silence(&mut found);
        found
    }

    fn with(code: KeyCode, modifiers: KeyModifiers) -> Vec<Event> {
        vec![key(code, modifiers)]
    }

    #[test]
    fn keys_of_all_keyboards_are_known() {
        const NONE: KeyModifiers = KeyModifiers::NONE;
        const CONTROL: KeyModifiers = KeyModifiers::CONTROL;
        for (bytes, code, modifiers) in [
            ("a", KeyCode::Char('a'), NONE),
            ("A", KeyCode::Char('A'), KeyModifiers::SHIFT),
            ("é", KeyCode::Char('é'), NONE),
            ("🦀", KeyCode::Char('🦀'), NONE),
            ("\r", KeyCode::Enter, NONE),
            ("\n", KeyCode::Char('j'), CONTROL),
            ("\x03", KeyCode::Char('c'), CONTROL),
            ("\x1d", KeyCode::Char('5'), CONTROL),
            ("\x7f", KeyCode::Backspace, NONE),
            ("\x1b", KeyCode::Esc, NONE),
            ("\x1bx", KeyCode::Char('x'), KeyModifiers::ALT),
            ("\x1b[", KeyCode::Char('['), KeyModifiers::ALT),
            ("\x1b]", KeyCode::Char(']'), KeyModifiers::ALT),
            ("\x1b\r", KeyCode::Enter, KeyModifiers::ALT),
            ("\x1b[A", KeyCode::Up, NONE),
            ("\x1bOB", KeyCode::Down, NONE),
            ("\x1b[1;5C", KeyCode::Right, CONTROL),
            ("\x1b[3~", KeyCode::Delete, NONE),
            ("\x1b[6;3~", KeyCode::PageDown, KeyModifiers::ALT),
            ("\x1b[24~", KeyCode::F(12), NONE),
            ("\x1bOP", KeyCode::F(1), NONE),
            ("\x1b[[C", KeyCode::F(3), NONE),
            ("\x1b[Z", KeyCode::BackTab, KeyModifiers::SHIFT),
            ("\x1b[9;2u", KeyCode::BackTab, KeyModifiers::SHIFT),
            ("\x1b[93;5u", KeyCode::Char(']'), CONTROL),
            ("\x1b[13;2u", KeyCode::Enter, KeyModifiers::SHIFT),
            ("\x1b[27u", KeyCode::Esc, NONE),
            ("\x1b[57400u", KeyCode::Char('1'), NONE),
        ] {
            assert_eq!(decode(bytes.as_bytes()), with(code, modifiers), "{bytes:?}");
        }
    }

    #[test]
    fn two_escapes_are_two_keys() {
        let escape = with(KeyCode::Esc, KeyModifiers::NONE);
        assert_eq!(decode(b"\x1b\x1b"), [escape.clone(), escape].concat());
    }

    #[test]
    fn a_paste_arrives_whole_and_a_huge_one_cut() {
        let text = "a\r\n\x1b[A ü".to_owned();
        let bytes = format!("\x1b[200~{text}\x1b[201~z");
        let mut expected = vec![Event::Paste(text)];
        expected.extend(with(KeyCode::Char('z'), KeyModifiers::NONE));
        assert_eq!(decode(bytes.as_bytes()), expected);
        let huge = [
            b"\x1b[200~",
            "x".repeat(PASTE_BYTES + 99).as_bytes(),
            PASTE_END,
        ]
        .concat();
        assert_eq!(decode(&huge), [Event::Paste("x".repeat(PASTE_BYTES))]);
    }

    #[test]
    fn mouse_reports_outside_the_screen_are_at_its_edge() {
        let at = |bytes: &[u8]| match decode(bytes).as_slice() {
            [Event::Mouse(mouse)] => (mouse.kind, mouse.column, mouse.row),
            other => panic!("{other:?}"),
        };
        assert_eq!(at(b"\x1b[<64;0;0M"), (MouseEventKind::ScrollUp, 0, 0));
        assert_eq!(
            at(b"\x1b[<0;5;7m"),
            (MouseEventKind::Up(MouseButton::Left), 4, 6)
        );
        assert_eq!(
            at(b"\x1b[M !\x10"),
            (MouseEventKind::Down(MouseButton::Left), 0, 0)
        );
    }

    #[test]
    fn answers_of_the_terminal_and_broken_bytes_are_no_keys() {
        for bytes in [
            &b"\x1b[0;0R"[..],
            b"\x1b[1;1R",
            b"\x1b[24;80R",
            b"\x1b[?62;4c",
            b"\x1b]11;rgb:0000/0000/0000\x1b\\",
            b"\x1b]11;rgb:0000/0000/0000\x07",
            b"\x1bP1$r0m\x1b\\",
            b"\x1b[<99999999;1;1M",
            b"\x1b[57441u",
            b"\xff\xfe\x80",
            b"\x1b[12",
        ] {
            assert_eq!(decode(bytes), [], "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_are_taken_and_the_next_key_is_heard(
            bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0_usize..200,
        ) {
            let (mut decoder, mut found, mut whole) = (Decoder::default(), Vec::new(), Vec::new());
            let (left, right) = bytes.split_at(cut.min(bytes.len()));
            decoder.feed(left, &mut found);
            decoder.feed(right, &mut found);
            Decoder::default().feed(&bytes, &mut whole);
            prop_assert_eq!(&found, &whole);
            decoder.silence(&mut found);
            decoder.feed(PASTE_END, &mut found);
            found.clear();
            decoder.feed(b"q", &mut found);
            prop_assert_eq!(found, with(KeyCode::Char('q'), KeyModifiers::NONE));
        }

        #[test]
        fn sequences_of_any_numbers_are_taken(text in "(\x1b\\[[<?>]?[0-9:;]{0,24}[@-~]){1,9}") {
            decode(text.as_bytes());
        }
    }
}
