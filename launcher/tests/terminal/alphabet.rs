//! The drawing alphabet: everything that the launcher may ever write to a terminal, and a scanner that finds anything else.

/// What the launcher writes of its own accord, besides text, styles and moves: modes at the start, at the end and around a
/// frame; the keyboard's and the title's stacks; clearing.
const FIXED: [&str; 27] = [
    "\x1b[22;2t",
    "\x1b[23;2t",
    "\x1b[2J",
    "\x1b[>1u",
    "\x1b[<1u",
    "\x1b[?1049h",
    "\x1b[?1049l",
    "\x1b[?25l",
    "\x1b[?25h",
    "\x1b[?7l",
    "\x1b[?7h",
    "\x1b[?2026h",
    "\x1b[?2026l",
    "\x1b[?2004h",
    "\x1b[?2004l",
    "\x1b[?1004h",
    "\x1b[?1004l",
    "\x1b[?1000h",
    "\x1b[?1000l",
    "\x1b[?1002h",
    "\x1b[?1002l",
    "\x1b[?1006h",
    "\x1b[?1006l",
    "\r\n",
    "\n",
    "\r",
    "\x1b[0m",
];

/// Returns the first part of `bytes` that is not of the alphabet.
pub(crate) fn outside(bytes: &[u8]) -> Option<String> {
    let Ok(text) = str::from_utf8(bytes) else {
        return Some("malformed UTF-8".into());
    };
    let mut rest = text;
    while !rest.is_empty() {
        match letter(rest) {
            Some(taken) => rest = &rest[taken..],
            None => return Some(format!("{:?}", rest.chars().take(24).collect::<String>())),
        }
    }
    None
}

/// Returns the length of the letter of the alphabet that `text` begins with.
fn letter(text: &str) -> Option<usize> {
    let fixed = FIXED.iter().find(|fixed| text.starts_with(**fixed));
    if let Some(fixed) = fixed {
        return Some(fixed.len());
    }
    if let Some(title) = text.strip_prefix("\x1b]2;porthole ") {
        let end = title.find("\x1b\\")?;
        return is_text(&title[..end]).then_some(13 + end + 2);
    }
    if let Some(sequence) = text.strip_prefix("\x1b[") {
        let last = sequence.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        return matches!(sequence.as_bytes()[last], b'm' | b'H').then_some(2 + last + 1);
    }
    let end = text.find(['\x1b', '\r', '\n']).unwrap_or(text.len());
    (end > 0 && is_text(&text[..end])).then_some(end)
}

/// Text in which nothing acts and nothing hides; joiners and selectors stay in pictographs.
fn is_text(text: &str) -> bool {
    let joins = |c: &char| !matches!(c, '\u{200D}' | '\u{FE0E}' | '\u{FE0F}');
    let plain: String = text.chars().filter(joins).collect();
    !plain.chars().any(|c| {
        c.is_control() || matches!(c, '\u{AD}' | '\u{61C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
    })
}
