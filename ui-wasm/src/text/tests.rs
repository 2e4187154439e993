//! Tests of measuring, cutting and wrapping.

use proptest::prelude::*;

use super::*;

#[test]
fn widths_are_cells_of_the_screen() {
    for (text, cols) in [
        ("日本語ファイル名テスト.rs", 25),
        ("⚙\u{fe0f}.md", 5),
        ("한글.md", 7),
        ("e\u{301}tude.txt", 9),
        ("漢", 2),
        ("☕", 2),
        ("ab", 2),
        ("\u{301}", 0),
        ("👩‍👩‍👧", 2),
        ("🇩🇪", 2),
        ("", 0),
    ] {
        assert_eq!(width(text), cols, "{text}");
    }
}

#[test]
fn cutting_never_leaves_half_a_wide_character() {
    assert_eq!(cut("漢字漢字", 8), "漢字漢字");
    assert_eq!(cut("漢字漢字", 7), "漢字漢…");
    assert_eq!(cut("漢字漢字", 6), "漢字…");
    assert_eq!(cut("abc", 0), "");
    assert_eq!(
        cut_middle("src/deep/down/in/the/tree/retry.rs", 20),
        "src/de…tree/retry.rs"
    );
    assert_eq!(cut_middle("short", 20), "short");
}

#[test]
fn tabs_are_expanded_to_stops_counted_from_the_start() {
    for (text, shown) in [
        ("\tfoo", "        foo"),
        ("1\tbar", "1       bar"),
        ("12345678\tx", "12345678        x"),
        ("   780\t#[test]", "   780  #[test]"),
        ("漢\tx", "漢      x"),
    ] {
        assert_eq!(expand_tabs(text, TAB), shown);
    }
}

#[test]
fn nothing_that_acts_is_left_after_making_visible() {
    let evil = "\u{1b}]52;c;Y3VybA\u{7}\u{1b}[2J\u{9b}2J\r\u{8}\u{202e}\u{2066}\u{200b}\u{7f}\u{e0041}\u{e0042}\0";
    let shown = visible(evil);
    assert!(!shown.chars().any(acts), "{shown:?}");
    assert_eq!(
        shown,
        "␛]52;c;Y3VybA␇␛[2J\u{fffd}2J␍␈<202E><2066><200B>␡\u{fffd}␀"
    );
    assert_eq!(
        visible("Grüße 👩‍👩‍👧 می‌خواهم"),
        "Grüße 👩‍👩‍👧 می‌خواهم",
        "ordinary text stays as it is"
    );
}

#[test]
fn words_are_kept_whole_where_a_line_can_hold_them() {
    assert_eq!(wrap("the quick brown fox", 9), ["the quick", "brown fox"]);
    assert_eq!(wrap("  in deep\nnext", 20), ["  in deep", "next"]);
    assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    assert_eq!(wrap("漢字漢字漢", 5), ["漢字", "漢字", "漢"]);
    assert_eq!(wrap("", 5), [""]);
    let four = "👩\u{fe0f}\u{200d}👩";
    assert_eq!(width(four), 4, "it is one cluster and not one picture");
    assert_eq!(wrap(&format!("a{four}b"), 3), ["a…b"]);
    assert_eq!(wrap(&format!("a{four}b"), 4), ["a", four, "b"]);
}

#[test]
fn overwriting_half_a_wide_character_leaves_no_other_half() {
    let mut buf = Buffer::empty(Rect::new(0, 0, 16, 1));
    for step in ["⚠️ build 漢字漢字", "x漢字漢字", "ok", "漢x", ""] {
        buf.reset();
        put(&mut buf, 0, 0, 16, step, Style::new());
        let mut fresh = Buffer::empty(buf.area);
        put(&mut fresh, 0, 0, 16, step, Style::new());
        assert_eq!(buf, fresh);
    }
    assert_eq!(
        put(&mut buf, 15, 0, 5, "漢", Style::new()),
        0,
        "no wide character in the last column"
    );
}

proptest! {
    #[test]
    fn no_line_is_wider_than_asked(text in "\\PC{0,80}|[a-c \t\u{6f22}\u{301}\u{200d}\u{fe0f}\u{1f469}]{0,80}", cols in 2usize..40) {
        for line in wrap(&text, cols) {
            prop_assert!(width(&line) <= cols, "{line:?}");
        }
        prop_assert!(width(&cut(&text, cols)) <= cols);
        prop_assert!(width(&cut_middle(&text, cols)) <= cols);
        let line = cut_line(Line::from(vec![Span::raw(text.clone()), Span::raw("end")]), cols);
        prop_assert!(line_width(&line) <= cols);
    }

    #[test]
    fn wrapping_loses_nothing_but_blanks(text in "[a-e \u{6f22}\u{1f469}]{0,80}", cols in 2usize..40) {
        let squeeze = |s: &str| s.replace(' ', "");
        prop_assert_eq!(squeeze(&wrap(&text, cols).concat()), squeeze(&text));
    }
}
