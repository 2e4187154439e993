//! Numbers with their nouns, as people and models read them.

/// Returns a number with its noun: "1 line", "2 lines".
pub(super) fn count(number: u64, one: &str, more: &str) -> String {
    let noun = if number == 1 { one } else { more };
    format!("{} {noun}", grouped(number))
}

/// Returns a number with commas between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped_and_one_is_singular() {
        let shown = [0, 1, 999, 1_000, 1_234_567].map(|number| count(number, "line", "lines"));
        assert_eq!(
            shown,
            [
                "0 lines",
                "1 line",
                "999 lines",
                "1,000 lines",
                "1,234,567 lines"
            ]
        );
    }
}
