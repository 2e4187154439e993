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

/// Returns JSON text with such characters as `\u` escapes: the same JSON, harmless on a terminal.
pub(super) fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_safe(c) {
            true => out.push(c),
            false => {
                let units = c.encode_utf16(&mut [0; 2]).to_vec();
                units
                    .iter()
                    .for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
            }
        }
    }
    out
}

fn is_safe(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        '\u{061c}'
        | '\u{200b}'..='\u{200f}'
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
    fn json_stays_the_same_json_and_nothing_in_it_steers() {
        let value = serde_json::json!({"a\u{9b}2J": "in\u{202e}gpj \u{e0041}\u{7f}\n“ok”"});
        let text = json(&serde_json::to_string_pretty(&value).expect("prints"));
        assert_eq!(plain(&text), text);
        let back: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(back, value);
    }

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
