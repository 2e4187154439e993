//! The one function through which foreign text goes that the launcher itself shows: server names, errors, file names.
//! What would act on a terminal or hide becomes visible; frames of a UI go through `screen` instead.

use std::borrow::Cow;

use unicode_script::{Script, UnicodeScript};
use unicode_security::confusable_detection::skeleton;
use unicode_segmentation::UnicodeSegmentation;

use crate::screen::{
    allowed::{self, Text},
    cluster, width,
};

/// Returns `text` as one line in which nothing acts and nothing hides: controls as their pictures (`␛`), everything
/// else without a shape by its number (`⟨U+202E⟩`).
pub fn visible(text: &str) -> String {
    pieces(text).collect()
}

/// Returns [`visible`] text of at most `max_cols` columns; what is cut ends in `…`.
pub fn visible_cut(text: &str, max_cols: usize) -> String {
    let mut line = String::new();
    let mut cols = 0;
    let mut cut = 0;
    for piece in pieces(text) {
        let wide = width(&piece);
        if cols + wide > max_cols {
            line.truncate(cut);
            if max_cols > 0 {
                line.push('…');
            }
            return line;
        }
        line.push_str(&piece);
        cols += wide;
        // Where a cut still leaves a column for the mark of it.
        if cols < max_cols {
            cut = line.len();
        }
    }
    line
}

/// Returns visible text of at most `max_cols` columns; what is left out is its middle, and `…` stands there.
pub fn cut_middle(shown: &str, max_cols: usize) -> String {
    if width(shown) <= max_cols {
        return shown.to_owned();
    }
    let room = max_cols.saturating_sub(1);
    let (mut head, mut tail) = (String::new(), Vec::new());
    let mut clusters = shown.graphemes(true);
    let mut left = room - room / 2;
    while let Some(one) = clusters.clone().next().filter(|one| width(one) <= left) {
        left -= width(one);
        head.push_str(one);
        clusters.next();
    }
    left += room / 2;
    while let Some(one) = clusters.next_back().filter(|one| width(one) <= left) {
        left -= width(one);
        tail.push(one);
    }
    if max_cols > 0 {
        head.push('…');
    }
    head.extend(tail.into_iter().rev());
    head
}

/// Returns a name as [`visible`] text in which look-alikes are spelled out too: letters of another alphabet that pass for
/// Latin ones in a word with Latin letters, and signs that pass for those which end a name or begin a folder.
pub fn name(text: &str) -> String {
    let shown = visible(text);
    let mut out = String::with_capacity(shown.len());
    let mut rest = shown.as_str();
    while let Some(first) = rest.chars().next() {
        let is_word = first.is_alphanumeric();
        let end = rest
            .find(|c: char| c.is_alphanumeric() != is_word)
            .unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        let latin = run.chars().any(|c| c.script() == Script::Latin);
        for c in run.chars() {
            match pretends(c, latin) {
                true => out.push_str(&number(c)),
                false => out.push(c),
            }
        }
        rest = after;
    }
    out
}

/// Says whether a character passes for an ASCII one that matters: in a word with Latin letters, or as a sign.
fn pretends(c: char, among_latin: bool) -> bool {
    const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const SIGNS: &str = "/\\.:@?#%";
    let own = match c.script() {
        _ if c.is_ascii() => return false,
        // People do write these beside Latin letters.
        Script::Latin | Script::Han | Script::Hiragana | Script::Katakana | Script::Hangul => {
            return false;
        }
        Script::Common | Script::Inherited => true,
        _ => false,
    };
    let passes_for = match c.is_alphanumeric() {
        true if among_latin || own => LETTERS,
        true => return false,
        false => SIGNS,
    };
    let look = |c: char| skeleton(c.encode_utf8(&mut [0; 4])).collect::<String>();
    let looks = look(c);
    passes_for.chars().any(|ascii| look(ascii) == looks)
}

/// Returns JSON text with every character that acts or hides as a `\u` escape: the same JSON, harmless on a terminal.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c == '\n' || allowed::text(c) == Text::Shown {
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

fn pieces(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    text.graphemes(true).map(|one| {
        let plain = |c: char| allowed::text(c) == Text::Shown;
        if one.chars().all(plain) && cluster::fits(one) && cluster::width(one) > 0 {
            return Cow::Borrowed(one);
        }
        if !cluster::fits(one) {
            return Cow::Borrowed("\u{FFFD}");
        }
        Cow::Owned(one.chars().map(picture).collect())
    })
}

fn picture(c: char) -> String {
    let code = c as u32;
    match (allowed::text(c), code) {
        (_, 0..=0x1F) => char::from_u32(0x2400 + code).map_or_else(String::new, String::from),
        (_, 0x7F) => "␡".to_owned(),
        (Text::Shown, _) if cluster::width(c.encode_utf8(&mut [0; 4])) > 0 => c.to_string(),
        _ => number(c),
    }
}

fn number(c: char) -> String {
    format!("⟨U+{:04X}⟩", c as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_acts_or_hides_becomes_visible() {
        assert_eq!(visible("a\x1b]0;t\x07\r\n"), "a␛]0;t␇␍␊");
        assert_eq!(visible("in\u{202E}gpj.exe"), "in⟨U+202E⟩gpj.exe");
        assert_eq!(visible("\u{9b}2J\u{7f}"), "⟨U+009B⟩2J␡");
        assert_eq!(visible("中文 e\u{301}"), "中文 e\u{301}");
        assert_eq!(visible("\u{301}x"), "⟨U+0301⟩x");
    }

    #[test]
    fn a_cut_says_so_and_keeps_to_its_columns() {
        assert_eq!(visible_cut("interface", 9), "interface");
        assert_eq!(visible_cut("interface", 5), "inte…");
        assert_eq!(visible_cut("中文字", 4), "中…");
        assert_eq!(visible_cut("abc", 0), "");
    }

    #[test]
    fn look_alikes_in_names_are_spelled_out_and_honest_names_are_left_alone() {
        // Cyrillic а among Latin letters; a slash, a dot and a letter that are none.
        assert_eq!(name("p\u{430}yment.pdf"), "p⟨U+0430⟩yment.pdf");
        assert_eq!(name("etc\u{2044}passwd"), "etc⟨U+2044⟩passwd");
        assert_eq!(name("evil\u{ff0e}exe"), "evil⟨U+FF0E⟩exe");
        assert_eq!(name("\u{1d41a}dmin"), "⟨U+1D41A⟩dmin");
        assert_eq!(name("in\u{202e}gpj.exe"), "in⟨U+202E⟩gpj.exe");
        for honest in [
            "отчёт.pdf",
            "Ελλάδα.txt",
            "日本語テノte.rs",
            "naïve – Anna’s résumé.md",
            "한글.md",
            "e\u{301}tude",
        ] {
            assert_eq!(name(honest), honest);
        }
    }

    #[test]
    fn a_middle_cut_keeps_both_ends() {
        assert_eq!(cut_middle("interface", 9), "interface");
        assert_eq!(cut_middle("interface", 5), "in…ce");
        assert_eq!(cut_middle("中文字中文", 5), "中…文");
        assert_eq!(cut_middle("abc", 1), "…");
        assert_eq!(cut_middle("abc", 0), "");
    }

    #[test]
    fn json_stays_the_same_json_and_nothing_in_it_acts() {
        let value = serde_json::json!({"a\u{9b}2J": "in\u{202e}gpj \u{e0041}\u{7f}\n“ok”"});
        let text = json(&serde_json::to_string_pretty(&value).expect("prints"));
        assert!(
            !text.contains(['\u{9b}', '\u{202e}', '\u{e0041}', '\u{7f}']),
            "{text}"
        );
        let back: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(back, value);
    }

    proptest! {
        #[test]
        fn a_middle_cut_fits(text in any::<String>(), cols in 0_usize..30) {
            prop_assert!(width(&cut_middle(&visible(&text), cols)) <= cols);
        }

        #[test]
        fn no_text_leaves_anything_that_acts_or_hides(text in any::<String>(), cols in 0_usize..30) {
            for shown in [visible(&text), visible_cut(&text, cols), name(&text)] {
                prop_assert!(shown.chars().all(|c| allowed::text(c) == Text::Shown), "{shown:?}");
            }
            let cut = visible_cut(&text, cols);
            prop_assert!(width(&cut) <= cols);
        }
    }
}
