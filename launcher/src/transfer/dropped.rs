//! What a paste is besides text: files that were dropped into the terminal, or so much text that it is better attached.
//! Pure; whether such files exist is asked by whoever opens them.

use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;

/// Files of one paste, at most.
pub const FILES: usize = 10;
/// Characters from which on a paste is offered as an attachment.
const LARGE_CHARS: usize = 10_000;
/// Lines from which on a paste is offered as an attachment.
const LARGE_LINES: usize = 200;

/// Returns whether a paste is so large that it is offered as an attachment.
pub fn large(text: &str) -> bool {
    text.len() > LARGE_CHARS && text.chars().count() > LARGE_CHARS
        || text.bytes().filter(|byte| *byte == b'\n').count() > LARGE_LINES
}

/// Returns the paths in a paste that is nothing but one to ten absolute paths, as terminals write what is dropped on them:
/// plain, quoted, with backslashes before blanks, or as `file://` addresses; a paste of anything else has none.
pub fn paths_in(text: &str) -> Option<Vec<PathBuf>> {
    let text = text.trim();
    if text.is_empty() || text.len() > FILES * 4096 {
        return None;
    }
    let words = words(text)?;
    let paths: Option<Vec<PathBuf>> = words.iter().map(|word| path(word)).collect();
    paths.filter(|paths| !paths.is_empty() && paths.len() <= FILES)
}

/// Returns the paths in the clipboard's list of files; nothing where one of them is hidden or inside a hidden folder: such
/// a file is chosen in the picker, where it is seen.
pub fn dropped_files(list: &str) -> Option<Vec<PathBuf>> {
    let lines = list.lines().map(str::trim).filter(|line| !line.is_empty());
    let paths: Option<Vec<PathBuf>> = lines.map(path).collect();
    paths.filter(|paths| (1..=FILES).contains(&paths.len()) && !paths.iter().any(|p| is_hidden(p)))
}

/// Returns whether a part of the path begins with a dot.
pub fn is_hidden(path: &Path) -> bool {
    path.components()
        .any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."))
}

fn path(word: &str) -> Option<PathBuf> {
    let decoded = match word.strip_prefix("file://") {
        Some(rest) => {
            let rest = rest.strip_prefix("localhost").unwrap_or(rest);
            percent_decode_str(rest).decode_utf8().ok()?.into_owned()
        }
        None => word.to_owned(),
    };
    // One slash alone begins a command of the UI as often as a file of the root.
    let plain = decoded.starts_with('/')
        && decoded.trim_end_matches('/').matches('/').count() > 1
        && !decoded.contains(char::is_control);
    plain.then(|| PathBuf::from(decoded))
}

/// Splits as a shell would: quotes hold together, a backslash takes the next character as it is.
fn words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut open) = (Vec::new(), None::<String>, None);
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match (open, char) {
            (Some(quote), _) if char == quote => open = None,
            (None, '\'' | '"') => {
                open = Some(char);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().push(chars.next()?),
            (None, blank) if blank.is_whitespace() => words.extend(word.take()),
            (_, char) => word.get_or_insert_default().push(char),
        }
    }
    if open.is_some() {
        return None;
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(text: &str) -> Vec<String> {
        let paths = paths_in(text).unwrap_or_default();
        paths
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    }

    #[test]
    fn paths_are_found_as_terminals_write_them() {
        assert_eq!(found("/home/a/b.txt"), ["/home/a/b.txt"]);
        assert_eq!(found("'/home/a/my file.txt' "), ["/home/a/my file.txt"]);
        assert_eq!(found("/home/a/my\\ file.txt"), ["/home/a/my file.txt"]);
        assert_eq!(
            found("file:///a/%C3%A4%20b\nfile://localhost/c/d"),
            ["/a/ä b", "/c/d"]
        );
        assert_eq!(found("/a/b '/c/d'"), ["/a/b", "/c/d"]);
    }

    #[test]
    fn text_that_only_holds_a_path_is_text() {
        for text in [
            "",
            "look at /home/a/b.txt",
            "/help",
            "/",
            "'/a/b",
            "a/b",
            "~/a",
            "file://host/a/b",
            "https://a/b",
            "/a/b and /c/d",
        ] {
            assert_eq!(found(text), Vec::<String>::new(), "{text:?}");
        }
        assert_eq!(paths_in(&"/a/b ".repeat(11)), None);
    }

    #[test]
    fn a_paste_is_large_from_its_size_or_its_lines() {
        assert!(!large(&"x".repeat(10_000)) && large(&"x".repeat(10_001)));
        assert!(!large(&"ä".repeat(10_000)));
        assert!(!large(&"\n".repeat(200)) && large(&"\n".repeat(201)));
    }

    proptest! {
        #[test]
        fn what_is_found_is_absolute_and_without_controls(text in any::<String>()) {
            for path in paths_in(&text).unwrap_or_default() {
                prop_assert!(path.is_absolute());
                prop_assert!(!path.to_string_lossy().contains(char::is_control));
            }
        }
    }
}
