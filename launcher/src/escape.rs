//! The one function through which foreign text goes that the launcher itself shows: server names, errors, file names.
//! What would act on a terminal or hide becomes visible; frames of a UI go through `screen` instead.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;

use crate::screen::{
    allowed::{self, Text},
    cluster,
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
        let wide: usize = piece
            .graphemes(true)
            .map(|one| usize::from(cluster::width(one)))
            .sum();
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
        _ => format!("⟨U+{code:04X}⟩"),
    }
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

    proptest! {
        #[test]
        fn no_text_leaves_anything_that_acts_or_hides(text in any::<String>(), cols in 0_usize..30) {
            for shown in [visible(&text), visible_cut(&text, cols)] {
                prop_assert!(shown.chars().all(|c| allowed::text(c) == Text::Shown), "{shown:?}");
            }
            let cut = visible_cut(&text, cols);
            let wide: u16 = cut.graphemes(true).map(cluster::width).sum();
            prop_assert!(usize::from(wide) <= cols);
        }
    }
}
