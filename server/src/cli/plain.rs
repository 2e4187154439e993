//! Text of others, made safe for a terminal: no control characters but line feed and tab, nothing that turns text around.

/// Returns the text with what could steer a terminal, or its reader, shown as `?`.
pub(super) fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if is_safe(c) { c } else { '?' })
        .collect()
}

/// Returns the text on one line.
pub(super) fn one_line(text: &str) -> String {
    plain(text).replace(['\n', '\t'], " ")
}

fn is_safe(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => false,
        '\u{e0000}'..='\u{e007f}' => false,
        c => !c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        assert_eq!(
            plain("a\u{1b}[2J\u{9b}1m\u{202e}b\rc\nd\te"),
            "a?[2J?1m?b?c\nd\te"
        );
        assert_eq!(one_line("a\nb"), "a b");
        assert_eq!(plain("Grüße 世界 👍"), "Grüße 世界 👍");
    }
}
