//! Replacing a text in a file's bytes: where it is, and what stands there afterwards. Pure; every byte outside of a
//! match stays as it was.
//!
//! A line end in the old text matches LF and CRLF alike, and a line end of the new text becomes what the match had at
//! its place. An old text that itself names a CR is matched and replaced byte by byte.

use std::ops::Range;

use memchr::memmem;

/// The file after a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replaced {
    /// All its bytes.
    pub(super) bytes: Vec<u8>,
    /// How many matches were replaced.
    pub(super) count: usize,
}

/// Why nothing was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Miss {
    /// It is not there. Where something like it is, its first line and its text.
    Absent(Option<(usize, String)>),
    /// It is there more than once: the lines on which the matches start.
    Several(Vec<usize>),
}

/// Returns the file with `new` in place of `old`.
pub(super) fn replace(content: &[u8], old: &str, new: &str, all: bool) -> Result<Replaced, Miss> {
    let matches = find(content, old);
    match matches.len() {
        0 => return Err(Miss::Absent(similar(content, old))),
        1 => {}
        _ if all => {}
        _ => {
            let lines = matches.iter().map(|at| line_of(content, at.start));
            return Err(Miss::Several(lines.collect()));
        }
    }
    let literal = old.contains('\r');
    let mut bytes = Vec::with_capacity(content.len() + new.len());
    let mut done = 0;
    for found in &matches {
        bytes.extend_from_slice(&content[done..found.start]);
        if literal {
            bytes.extend_from_slice(new.as_bytes());
        } else {
            insert(&mut bytes, new, &line_ends(content, found));
        }
        done = found.end;
    }
    bytes.extend_from_slice(&content[done..]);
    Ok(Replaced {
        bytes,
        count: matches.len(),
    })
}

/// Returns where `old` is, from left to right, none overlapping.
fn find(content: &[u8], old: &str) -> Vec<Range<usize>> {
    let literal = old.contains('\r');
    if literal || !old.contains('\n') || memmem::find(content, b"\r\n").is_none() {
        let len = old.len();
        return memmem::find_iter(content, old.as_bytes())
            .map(|start| start..start + len)
            .collect();
    }
    let (flat, origin) = flatten(content);
    memmem::find_iter(&flat, old.as_bytes())
        .map(|start| origin[start]..origin[start + old.len()])
        .collect()
}

/// Returns the content with LF for CRLF, and for each of its bytes, and its end, where that was.
fn flatten(content: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let (mut flat, mut origin) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < content.len() {
        origin.push(at);
        if content[at..].starts_with(b"\r\n") {
            at += 1;
        }
        flat.push(content[at]);
        at += 1;
    }
    origin.push(content.len());
    (flat, origin)
}

/// Returns the line ends in a match, or where it has none, the one nearest to it.
fn line_ends(content: &[u8], found: &Range<usize>) -> Vec<&'static str> {
    let inside: Vec<_> = memchr::memchr_iter(b'\n', &content[found.clone()])
        .map(|at| line_end(content, found.start + at))
        .collect();
    if !inside.is_empty() {
        return inside;
    }
    let after = memchr::memchr(b'\n', &content[found.end..]).map(|at| found.end + at);
    let nearest = after.or_else(|| memchr::memrchr(b'\n', &content[..found.start]));
    nearest.map_or_else(Vec::new, |at| vec![line_end(content, at)])
}

fn line_end(content: &[u8], newline: usize) -> &'static str {
    if newline > 0 && content[newline - 1] == b'\r' {
        "\r\n"
    } else {
        "\n"
    }
}

fn insert(bytes: &mut Vec<u8>, new: &str, ends: &[&str]) {
    for (number, line) in new.split('\n').enumerate() {
        if number > 0 {
            let end = ends.get(number - 1).or(ends.last());
            let own = bytes.last() == Some(&b'\r');
            let end = end.copied().unwrap_or("\n");
            bytes.extend_from_slice(if own { b"\n" } else { end.as_bytes() });
        }
        bytes.extend_from_slice(line.as_bytes());
    }
}

fn line_of(content: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &content[..at]).count() + 1
}

/// Returns the first place that differs from `old` in blanks, quotes and dashes only.
fn similar(content: &[u8], old: &str) -> Option<(usize, String)> {
    let content = std::str::from_utf8(content).ok()?;
    let wanted: Vec<_> = old.trim_matches('\n').lines().map(plain).collect();
    if wanted.iter().all(String::is_empty) {
        return None;
    }
    let lines: Vec<_> = content.lines().collect();
    let plain_lines: Vec<_> = lines.iter().map(|line| plain(line)).collect();
    let fits = |window: &[String]| match wanted.as_slice() {
        [only] => window[0].contains(only.as_str()),
        several => window == several,
    };
    let at = plain_lines.windows(wanted.len()).position(fits)?;
    Some((at + 1, lines[at..at + wanted.len()].join("\n")))
}

/// Returns a line with one blank for many, none at its ends, and plain quotes and dashes.
fn plain(line: &str) -> String {
    let line: String = line.chars().map(plain_letter).collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn plain_letter(letter: char) -> char {
    match letter {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{feff}' => ' ',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_match_keeps_its_own_line_ends() {
        for (content, old, new, expected) in [
            ("a\r\nb\nc", "a\nb\nc", "1\n2\n3", "1\r\n2\n3"),
            ("a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n"),
            ("a\nb\r\n", "a\n", "x\ny\n", "x\ny\nb\r\n"),
            ("a\r\nb", "b", "x\ny", "a\r\nx\r\ny"),
            ("a\r\nb\r\n", "\nb", "", "a\r\n"),
            ("a\r\nb", "a\r\n", "a\n", "a\nb"),
            ("a", "a", "x\ny", "x\ny"),
            ("a\r\nb\r\n", "b\n", "x\r\ny\n", "a\r\nx\r\ny\r\n"),
        ] {
            let done = replace(content.as_bytes(), old, new, false).expect("a match");
            assert_eq!(
                String::from_utf8_lossy(&done.bytes),
                expected,
                "{content:?} {old:?} {new:?}"
            );
        }
    }

    #[test]
    fn matches_are_named_by_line() {
        let miss = replace(b"x\r\ny\r\nx\r\ny\r\n", "x\ny", "z", false);
        assert_eq!(miss, Err(Miss::Several(vec![1, 3])));
    }

    proptest! {
        #[test]
        fn bytes_outside_of_a_match_stay(
            before in prop::collection::vec(any::<u8>(), 0..200),
            after in prop::collection::vec(any::<u8>(), 0..200),
            new in "[a-z$&\\\\\n]{0,20}",
        ) {
            let old = "⟦only here⟧";
            let content = [before.as_slice(), old.as_bytes(), after.as_slice()].concat();
            let done = replace(&content, old, &new, false).expect("a match");
            prop_assert!(done.bytes.starts_with(&before));
            prop_assert!(done.bytes.ends_with(&after));
            let middle = &done.bytes[before.len()..done.bytes.len() - after.len()];
            prop_assert_eq!(String::from_utf8_lossy(middle).replace("\r\n", "\n"), new);
        }

        #[test]
        fn with_plain_line_ends_it_is_what_the_standard_library_does(
            content in "[ab\n]{0,60}",
            old in "[ab\n]{1,4}",
            new in "[abc\n]{0,4}",
        ) {
            let expected = content.matches(&old).count();
            match replace(content.as_bytes(), &old, &new, true) {
                Ok(done) => {
                    prop_assert_eq!(done.count, expected);
                    prop_assert_eq!(String::from_utf8_lossy(&done.bytes), content.replace(&old, &new));
                }
                Err(_) => prop_assert_eq!(expected, 0),
            }
        }
    }
}
