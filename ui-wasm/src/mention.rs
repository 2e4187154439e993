//! The `@` word under the cursor: a file that a message names. It finds the word, and writes a path so that the word ends
//! where the path does. It knows no files.

/// An `@` word that is being written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    /// Where its `@` stands, in bytes.
    pub(crate) start: usize,
    /// What was written of the path.
    pub(crate) query: String,
}

/// Characters of a word that a path may still grow from.
const QUERY_CHARS: usize = 200;

/// Returns the `@` word that ends at the cursor.
pub(crate) fn at(text: &str, cursor: usize) -> Option<Mention> {
    let before = text.get(..cursor)?;
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let (start, query) = before[line..]
        .match_indices('@')
        .filter(|(at, _)| begins_word(&before[..line + at]))
        .find_map(|(at, _)| Some((line + at, open_path(&before[line + at + 1..])?)))?;
    (query.chars().count() <= QUERY_CHARS).then_some(Mention { start, query })
}

fn begins_word(before: &str) -> bool {
    before
        .chars()
        .next_back()
        .is_none_or(|c| c.is_whitespace() || "([{\"'`,;".contains(c))
}

/// Returns the path that is written so far, where it is not finished.
fn open_path(written: &str) -> Option<String> {
    let Some(quoted) = written.strip_prefix('"') else {
        return (!written.contains(char::is_whitespace)).then(|| written.to_owned());
    };
    let (mut path, mut escaped) = (String::new(), false);
    for c in quoted.chars() {
        match c {
            '"' if !escaped => return None,
            '\\' if !escaped => escaped = true,
            c => {
                path.push(c);
                escaped = false;
            }
        }
    }
    Some(path)
}

/// Returns a path as an `@` word. A folder stays open, so that one can go on below it; a file ends with a space.
pub(crate) fn written(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "./_-+=:~#%".contains(c);
    let folder = path.ends_with('/');
    if path.chars().all(plain) && !path.is_empty() {
        return format!("@{path}{}", if folder { "" } else { " " });
    }
    let inside = path.replace('\\', "\\\\").replace('"', "\\\"");
    format!("@\"{inside}{}", if folder { "" } else { "\" " })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_word_is_found_only_where_it_begins_and_does_not_end_before_the_cursor() {
        for (text, query) in [
            ("look at @src/re", Some("src/re")),
            ("@", Some("")),
            ("(@a", Some("a")),
            ("mail a@b", None),
            ("@done next", None),
            ("@\"my fi", Some("my fi")),
            ("@\"my file\" and", None),
            ("one @a\ntwo", None),
        ] {
            let found = at(text, text.len()).map(|m| m.query);
            assert_eq!(found.as_deref(), query, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_path_can_be_read_back_from_how_it_is_written(path in "[a-zA-Z0-9 \"'\\\\@$é漢&;]{1,12}/?") {
            let word = written(&path);
            let open = word.strip_suffix("\" ").or(word.strip_suffix(' ').filter(|_| !word.starts_with("@\""))).unwrap_or(&word);
            prop_assert_eq!(at(open, open.len()).map(|m| (m.start, m.query)), Some((0, path)));
        }
    }
}
