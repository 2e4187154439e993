//! Templates: `/name arguments` becomes the text of a file with the arguments in their places. Pure.

/// Returns the name and the rest of a text that begins with `/name`.
pub(super) fn command(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start().strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (name, arguments) = rest.split_at(end);
    (!name.is_empty()).then_some((name, arguments.trim()))
}

/// Returns the arguments: divided by blanks, with `"…"` and `'…'` keeping blanks together.
pub(super) fn arguments(text: &str) -> Vec<String> {
    let (mut arguments, mut open, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                open.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => arguments.extend(open.take()),
            (_, c) => open.get_or_insert_default().push(c),
        }
    }
    arguments.extend(open);
    arguments
}

/// Returns the text with the arguments in place of `$1`, `$@`, `$ARGUMENTS`, `${1}`, `${1:-other}`, `${@:2}` and
/// `${@:2:1}`. What an argument says is not looked at again; everything else stays as it is.
pub(super) fn fill(text: &str, arguments: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (value, taken) = place(rest, arguments).unwrap_or_else(|| ("$".to_owned(), 1));
        out.push_str(&value);
        rest = &rest[taken..];
    }
    out.push_str(rest);
    out
}

/// Returns what stands in for the place that `text` begins with, and how long that is.
fn place(text: &str, arguments: &[String]) -> Option<(String, usize)> {
    let after = text.strip_prefix('$')?;
    if let Some(inner) = after.strip_prefix('{') {
        let end = inner.find('}')?;
        return Some((braced(&inner[..end], arguments)?, end + 3));
    }
    if after.starts_with('@') {
        return Some((arguments.join(" "), 2));
    }
    if let Some(rest) = after.strip_prefix("ARGUMENTS")
        && !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
    {
        return Some((arguments.join(" "), "$ARGUMENTS".len()));
    }
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    let number = after[..digits].parse().ok()?;
    Some((nth(arguments, number)?.to_owned(), digits + 1))
}

fn braced(inner: &str, arguments: &[String]) -> Option<String> {
    if let Some((number, other)) = inner.split_once(":-") {
        let given = match number {
            "@" | "ARGUMENTS" => arguments.join(" "),
            number => nth(arguments, number.parse().ok()?)?.to_owned(),
        };
        return Some(if given.is_empty() {
            other.to_owned()
        } else {
            given
        });
    }
    if let Some(range) = inner.strip_prefix("@:") {
        let (from, many) = match range.split_once(':') {
            Some((from, many)) => (from, many.parse().ok()?),
            None => (range, usize::MAX),
        };
        let skipped = from.parse::<usize>().ok()?.checked_sub(1)?;
        let some: Vec<_> = arguments.iter().skip(skipped).take(many).cloned().collect();
        return Some(some.join(" "));
    }
    match inner {
        "@" | "ARGUMENTS" => Some(arguments.join(" ")),
        number => Some(nth(arguments, number.parse().ok()?)?.to_owned()),
    }
}

/// Returns an argument, counted from 1; one that is not there is empty. There is none of number 0.
fn nth(arguments: &[String], number: usize) -> Option<&str> {
    let at = number.checked_sub(1)?;
    Some(arguments.get(at).map_or("", String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_once_and_the_rest_stays() {
        let given: Vec<_> = ["a b", "$1", "c"].map(str::to_owned).into();
        for (text, filled) in [
            ("x $1 y", "x a b y"),
            ("$2", "$1"),
            ("$9|$10", "|"),
            ("$@", "a b $1 c"),
            ("$ARGUMENTS!", "a b $1 c!"),
            ("$ARGUMENTSX", "$ARGUMENTSX"),
            ("${1}s", "a bs"),
            ("${4:-none} ${3:-none}", "none c"),
            ("${@:2}", "$1 c"),
            ("${@:2:1}", "$1"),
            (
                "${@:0} ${@:x} ${HOME} $HOME $0 $ ${1",
                "${@:0} ${@:x} ${HOME} $HOME $0 $ ${1",
            ),
            ("5 $ and €$1", "5 $ and €a b"),
        ] {
            assert_eq!(fill(text, &given), filled, "{text}");
        }
        assert_eq!(fill("${1:-x} ${@:-all}", &[]), "x all");
    }

    #[test]
    fn arguments_are_divided_as_in_a_shell() {
        for (text, parts) in [
            ("", &[][..]),
            (" a  b ", &["a", "b"]),
            ("'a b' \"c 'd'\" e''f", &["a b", "c 'd'", "ef"]),
            ("\"open end", &["open end"]),
            ("''", &[""]),
        ] {
            assert_eq!(arguments(text), parts, "{text}");
        }
        assert_eq!(command("/fix  me now"), Some(("fix", "me now")));
        assert_eq!(command(" /fix\nall"), Some(("fix", "all")));
        assert_eq!(command("/ fix"), None);
        assert_eq!(command("fix /me"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_filled(text in "[$@{}:0-9a\\-ARGUMENTSä ]{0,60}", given in ".{0,40}") {
            let _ = fill(&text, &arguments(&given));
        }
    }
}
