//! The local name that a file from elsewhere gets. Pure; it looks at no file system.

use unicode_normalization::UnicodeNormalization as _;

use crate::screen::allowed::{self, Text};

/// The name where none is left.
const DEFAULT: &str = "download";
/// Longest name, in bytes: what Linux and macOS take; Windows counts less for the same text.
pub(super) const NAME_BYTES: usize = 255;
/// Longest ending that is kept where a name is cut, in bytes.
const ENDING_BYTES: usize = 32;
/// What Windows takes for devices, whatever follows the first dot.
const DEVICES: [&str; 9] = [
    "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$", "COM", "LPT",
];

/// Why a file gets no local name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAName {
    /// The bytes are no text.
    #[error("the name is not UTF-8")]
    NotUtf8,
    /// The header does not parse.
    #[error("the header's name does not parse")]
    Malformed,
    /// The header's name is in another encoding.
    #[error("the header's name is not in UTF-8")]
    Charset,
}

/// Returns the local name for `name`: its last component, with nothing hidden, reordered, reserved or too long in it, the
/// same on Linux, macOS and Windows. A safe name stays as it is.
///
/// # Errors
/// Where the bytes are no UTF-8.
pub fn safe_name(name: &[u8]) -> Result<String, NotAName> {
    let text = std::str::from_utf8(name).map_err(|_| NotAName::NotUtf8)?;
    let last = text.rsplit(['/', '\\']).next().unwrap_or_default();
    // What hides goes first: it must not stand between a name and the checks.
    let shown: String = last.nfc().filter(|char| is_shown(*char)).nfc().collect();
    let plain: String = collapse(&shown).chars().map(replaced).collect();
    let visible = unhide(&plain);
    Ok(finish(visible))
}

/// Returns the name for the `count`-th file of this name, from 2 on: `name (2).ext`.
pub(super) fn numbered(name: &str, count: u32) -> String {
    let (stem, ending) = split(name);
    let mark = format!(" ({count})");
    let room = NAME_BYTES.saturating_sub(mark.len() + ending.len());
    let stem = stem[..stem.floor_char_boundary(room)].trim_end();
    format!("{stem}{mark}{ending}")
}

fn is_shown(char: char) -> bool {
    let selector = matches!(char, '\u{FE00}'..='\u{FE0F}');
    allowed::text(char) == Text::Shown && !selector && !is_private(char)
}

fn is_private(char: char) -> bool {
    matches!(char, '\u{E000}'..='\u{F8FF}' | '\u{F0000}'..)
}

/// Runs of blanks of any width become one blank: they would push the ending out of sight.
fn collapse(text: &str) -> String {
    text.split(char::is_whitespace)
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Characters that some system refuses, and those that some fold into a separator.
fn replaced(char: char) -> char {
    match char {
        '<' | '>' | ':' | '"' | '|' | '?' | '*' => '_',
        '\u{2044}' | '\u{2215}' | '\u{2216}' | '\u{29F5}' | '\u{29F8}' | '\u{29F9}'
        | '\u{FE68}' | '\u{FF0F}' | '\u{FF3C}' | '\u{2571}' | '\u{2572}' => '_',
        other => other,
    }
}

/// A name that begins like a hidden file, an option or a home folder begins with `_` in place of that.
fn unhide(text: &str) -> String {
    let text = text.trim_end_matches(['.', ' ']);
    match text.trim_start_matches(['.', '-', '~', ' ']) {
        rest if rest.len() == text.len() => text.to_owned(),
        rest => format!("_{rest}"),
    }
}

fn finish(name: String) -> String {
    if name.is_empty() {
        return DEFAULT.to_owned();
    }
    let name = if is_device(&name) {
        format!("_{name}")
    } else {
        name
    };
    cut(name)
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let upper = stem.to_uppercase();
    DEVICES.iter().any(|device| {
        upper.strip_prefix(device).is_some_and(|rest| {
            let port = matches!(*device, "COM" | "LPT");
            let digit = matches!(
                rest,
                "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³"
            );
            if port { digit } else { rest.is_empty() }
        })
    })
}

/// Cuts before the ending, which says what a file is.
fn cut(name: String) -> String {
    if name.len() <= NAME_BYTES {
        return name;
    }
    let (stem, ending) = split(&name);
    let room = NAME_BYTES - ending.len();
    let stem = stem[..stem.floor_char_boundary(room)].trim_end_matches(['.', ' ']);
    format!("{stem}{ending}")
}

/// Returns the name before its ending, and the ending with its dot; nothing where it is none or too long to be one.
fn split(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(at) if at > 0 && name.len() - at <= ENDING_BYTES => name.split_at(at),
        _ => (name, ""),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn safe(name: &str) -> String {
        safe_name(name.as_bytes()).expect("text")
    }

    #[test]
    fn a_name_that_is_cut_keeps_its_ending_and_its_number() {
        let long = safe(&format!("{}.tar", "ä".repeat(300)));
        assert!(long.len() <= NAME_BYTES && long.ends_with("ä.tar"));
        let second = numbered(&long, 2);
        assert!(second.len() <= NAME_BYTES && second.ends_with("ä (2).tar"));
        assert_eq!(numbered("a.txt", 2), "a (2).txt");
        assert_eq!(numbered("archive", 3), "archive (3)");
    }

    #[test]
    fn ports_with_raised_digits_are_devices_and_words_that_begin_alike_are_not() {
        assert_eq!(safe("com¹.txt"), "_com¹.txt");
        assert_eq!(safe("console.txt"), "console.txt");
        assert_eq!(safe("com.txt"), "com.txt");
    }

    proptest! {
        #[test]
        fn a_local_name_is_safe_on_every_system(name in any::<String>()) {
            let name = safe(&name);
            prop_assert!(!name.is_empty() && name.len() <= NAME_BYTES);
            prop_assert!(name.encode_utf16().count() <= NAME_BYTES);
            prop_assert!(!name.contains(['/', '\\', '<', '>', ':', '"', '|', '?', '*']));
            prop_assert!(!name.starts_with(['.', '-', '~', ' ']));
            prop_assert!(!name.ends_with(['.', ' ']));
            prop_assert!(name.chars().all(|char| !char.is_control() && is_shown(char)));
            prop_assert!(!is_device(&name));
            prop_assert_eq!(safe(&name), name.clone(), "a safe name stays");
            let second = numbered(&name, 7);
            prop_assert!(second.len() <= NAME_BYTES && !is_device(&second));
        }

        #[test]
        fn nasty_names_too(name in "[./\\\\:~\\- a-cCONULcom1\u{200b}\u{202e}\u{301}]{0,300}") {
            let name = safe(&name);
            prop_assert!(!is_device(&name) && !name.starts_with('.') && !name.ends_with('.'));
            prop_assert_eq!(safe(&name), name);
        }
    }
}
