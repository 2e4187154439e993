//! The one key that always belongs to the launcher: `Ctrl-]`, or what the visitor's own preferences say.
//! Neither a server nor a UI has a say in it.

use std::{fmt, str::FromStr};

use porthole_bridge::{Key, KeyCode};

/// A control key. Every terminal tells it from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chord(char);

/// Why a key cannot be the launcher's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChordError {
    /// It is not a control key.
    #[error("is not a control key like `ctrl-]` or `ctrl-g`")]
    NotControl,
    /// It means something else already; the word says what.
    #[error("means something else already: {0}")]
    Taken(&'static str),
}

/// Keys with a meaning that terminals, dialogs or every UI need.
const TAKEN: [(char, &str); 10] = [
    ('c', "stop"),
    ('d', "the end of what is typed"),
    ('h', "Backspace"),
    ('i', "Tab"),
    ('j', "a new line"),
    ('m', "Enter"),
    ('q', "going on with output"),
    ('s', "stopping output"),
    ('y', "Yes in the launcher's dialogs"),
    ('z', "suspend"),
];

impl Default for Chord {
    fn default() -> Self {
        Self(']')
    }
}

impl Chord {
    /// Returns whether `key` is this one. Terminals without extended keys send the same byte for `Ctrl-]` and `Ctrl-5`
    /// and the like, and it is read as the latter.
    pub fn is(self, key: &Key) -> bool {
        let plain = match self.0 {
            '\\' => '4',
            ']' => '5',
            '^' => '6',
            '_' => '7',
            other => other,
        };
        let ours = |char: char| char.to_ascii_lowercase() == self.0 || char == plain;
        key.modifiers.control
            && !key.modifiers.alt
            && matches!(key.code, KeyCode::Char(char) if ours(char))
    }
}

impl FromStr for Chord {
    type Err = ChordError;

    fn from_str(text: &str) -> Result<Self, ChordError> {
        let lower = text.trim().to_ascii_lowercase();
        let rest = ["ctrl-", "ctrl+", "control-", "c-", "^"]
            .iter()
            .find_map(|start| lower.strip_prefix(start))
            .ok_or(ChordError::NotControl)?;
        let mut chars = rest.chars();
        let (Some(char), None) = (chars.next(), chars.next()) else {
            return Err(ChordError::NotControl);
        };
        if char == '[' {
            return Err(ChordError::Taken("Escape"));
        }
        if let Some((_, meaning)) = TAKEN.iter().find(|(taken, _)| *taken == char) {
            return Err(ChordError::Taken(meaning));
        }
        match char {
            'a'..='z' | '\\' | ']' | '^' | '_' => Ok(Self(char)),
            _ => Err(ChordError::NotControl),
        }
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Ctrl-{}", self.0.to_ascii_uppercase())
    }
}

#[cfg(test)]
mod tests {
    use porthole_bridge::Modifiers;

    use super::*;

    fn held(char: char, control: bool, alt: bool) -> Key {
        Key {
            code: KeyCode::Char(char),
            modifiers: Modifiers {
                control,
                alt,
                ..Modifiers::default()
            },
        }
    }

    #[test]
    fn the_key_is_known_in_both_keyboards_and_only_with_control() {
        let default = Chord::default();
        assert!(default.is(&held(']', true, false)));
        assert!(default.is(&held('5', true, false)));
        assert!(!default.is(&held(']', false, false)));
        assert!(!default.is(&held(']', true, true)));
        let letter: Chord = "Ctrl-G".parse().expect("a control key");
        assert!(letter.is(&held('g', true, false)));
        assert!(letter.is(&held('G', true, false)));
        assert!(!letter.is(&held(']', true, false)));
        assert_eq!(letter.to_string(), "Ctrl-G");
    }

    #[test]
    fn a_key_that_is_no_control_key_or_means_something_is_refused() {
        for text in [
            "", "g", "ctrl-", "ctrl-é", "ctrl-gg", "alt-g", "f1", "ctrl-1",
        ] {
            assert_eq!(text.parse::<Chord>(), Err(ChordError::NotControl), "{text}");
        }
        for text in ["ctrl-c", "Ctrl-M", "ctrl-i", "ctrl-[", "^y", "ctrl+z"] {
            let refused = text.parse::<Chord>();
            assert!(matches!(refused, Err(ChordError::Taken(_))), "{text}");
        }
        for text in ["ctrl-\\", "ctrl-]", "^^", "C-_", "ctrl-o"] {
            assert!(text.parse::<Chord>().is_ok(), "{text}");
        }
    }
}
