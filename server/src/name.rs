//! Names that people give themselves: bounded, and with everything shown that could make one look like another. Nobody
//! checks whose name it is.

use porthole_protocol::limits::NAME_CHARS;
use unicode_script::{Script, UnicodeScript as _};

/// The name is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name is longer than {NAME_CHARS} characters")]
pub struct NameTooLong;

/// Returns a name to show for what someone calls themselves; empty where nothing is left.
///
/// # Errors
/// [`NameTooLong`]
pub fn visible(name: &str) -> Result<String, NameTooLong> {
    let name = name.trim();
    if name.chars().count() > NAME_CHARS {
        return Err(NameTooLong);
    }
    let mixed = is_mixed(name);
    let mut shown = String::new();
    let mut marks = 0;
    for c in name.chars() {
        marks = if is_mark(c) { marks + 1 } else { 0 };
        let spelled = is_hidden(c) || marks > MARKS || (mixed && looks_latin(c));
        match (c, spelled) {
            (' ', _) => shown.push(' '),
            (_, true) => shown.push_str(&format!("<{:04X}>", u32::from(c))),
            (c, false) => shown.push(c),
        }
    }
    Ok(shown)
}

/// Marks on one letter; more would paint over the lines around.
const MARKS: usize = 3;

fn is_mark(c: char) -> bool {
    c.script() == Script::Inherited
}

/// Letters of scripts that are written with the shapes of Latin ones, beside Latin ones: `аdmin`.
fn is_mixed(name: &str) -> bool {
    let latin = name.chars().any(|c| c.script() == Script::Latin);
    latin && name.chars().any(looks_latin)
}

fn looks_latin(c: char) -> bool {
    matches!(
        c.script(),
        Script::Cyrillic
            | Script::Greek
            | Script::Armenian
            | Script::Cherokee
            | Script::Coptic
            | Script::Lisu
    ) || is_styled(c)
}

/// Latin letters in other clothes: full width, enclosed, mathematical, modifier letters.
fn is_styled(c: char) -> bool {
    matches!(c, '\u{ff01}'..='\u{ff5e}' | '\u{2460}'..='\u{24ff}' | '\u{1d400}'..='\u{1d7ff}' | '\u{1f100}'..='\u{1f1ff}')
}

/// Characters that cannot be seen, turn text around, or are blanks of another kind.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || (c.is_whitespace() && c != ' ')
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{ffff}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_stay_as_they_are() {
        for name in [
            "Mira",
            "Jos\u{e9} O'Neil-Ruiz",
            "Саша",
            "Ἀλέξανδρος",
            "美咲",
            "Zoë 🙂",
            "نور",
        ] {
            assert_eq!(visible(name).as_deref(), Ok(name));
        }
        assert_eq!(visible("  Mira \n").as_deref(), Ok("Mira"));
    }

    #[test]
    fn what_hides_or_turns_or_looks_alike_is_spelled_out() {
        for (name, shown) in [
            ("ow\u{200b}ner", "ow<200B>ner"),
            ("a\u{202e}b", "a<202E>b"),
            ("a\u{1b}[2J", "a<001B>[2J"),
            ("\u{430}dmin", "<0430>dmin"),
            ("\u{ff4f}wner", "<FF4F>wner"),
            ("a\u{a0}b", "a<00A0>b"),
            ("\u{e0041}", "<E0041>"),
        ] {
            assert_eq!(visible(name).as_deref(), Ok(shown), "{name:?}");
        }
        let zalgo = format!("z{}", "\u{301}".repeat(30));
        assert!(visible(&zalgo).expect("short").contains("<0301>"));
    }

    #[test]
    fn a_name_is_at_most_forty_characters() {
        assert!(visible(&"ä".repeat(40)).is_ok());
        assert_eq!(visible(&"ä".repeat(41)), Err(NameTooLong));
    }

    proptest::proptest! {
        #[test]
        fn no_name_shows_what_cannot_be_seen(name in "\\PC{0,40}|.{0,40}") {
            if let Ok(shown) = visible(&name) {
                assert!(!shown.chars().any(is_hidden), "{shown:?}");
            }
        }
    }
}
