//! A guest's name as they give it: made plain, and short enough for a server to take. What a server shows is escaped elsewhere.

use unicode_segmentation::UnicodeSegmentation;

use crate::escape;

/// Longest name, in characters.
pub const CHARS: usize = 40;

/// Returns `text` as a name: one line, nothing in it that acts or hides, at most [`CHARS`] characters; `None` where nothing is left.
pub fn clean(text: &str) -> Option<String> {
    let spaced: Vec<&str> = text.split_whitespace().collect();
    let mut name = String::new();
    let mut chars = 0;
    for one in spaced.join(" ").graphemes(true) {
        chars += one.chars().count();
        if chars > CHARS {
            break;
        }
        match escape::visible(one) == one {
            true => name.push_str(one),
            false => chars -= one.chars().count(),
        }
    }
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns the name to suggest: the one that this computer knows its user by.
pub fn suggested(var: impl Fn(&str) -> Option<String>) -> String {
    let known = var("USER").or_else(|| var("LOGNAME"));
    known
        .and_then(|name| clean(&name))
        .unwrap_or_else(|| "guest".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_plain_short_line() {
        for (given, expected) in [
            ("  Mira \t Novak\n", Some("Mira Novak")),
            ("\u{1b}[31mred", Some("[31mred")),
            ("a\u{202e}b\u{200b}c", Some("abc")),
            ("e\u{301}tude", Some("e\u{301}tude")),
            ("\u{1b}\u{7}", None),
            (" ", None),
        ] {
            assert_eq!(clean(given).as_deref(), expected, "{given:?}");
        }
        assert_eq!(clean(&"x".repeat(99)).expect("a name").len(), CHARS);
    }

    #[test]
    fn the_computers_user_is_suggested() {
        assert_eq!(
            suggested(|name| (name == "USER").then(|| "ada".into())),
            "ada"
        );
        assert_eq!(suggested(|_| None), "guest");
    }
}
