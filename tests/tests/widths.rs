//! The UI lays out in the columns that the launcher draws in: both count the same for every cluster.

use porthole_launcher::screen::{Screen, width as drawn};
use porthole_ui::text::width as laid;

/// Returns whether the launcher puts `c` into a cell of its own.
fn is_shown(c: char) -> bool {
    let mut screen = Screen::new(4, 1);
    let mut bytes = [0; 4];
    screen
        .paint(c.encode_utf8(&mut bytes).as_bytes())
        .expect("small");
    screen.buffer().content[0].symbol() != " "
}

#[test]
fn every_character_that_is_drawn_takes_the_columns_that_the_ui_laid_out() {
    let differ: Vec<String> = (0x20..=0x3_FFFF_u32)
        .chain(0xE_0000..=0xE_01FF)
        .filter_map(char::from_u32)
        .filter(|c| drawn(&c.to_string()) != laid(&c.to_string()) && is_shown(*c))
        .map(|c| {
            let text = c.to_string();
            format!(
                "U+{:04X}: drawn {} laid {}",
                c as u32,
                drawn(&text),
                laid(&text)
            )
        })
        .collect();
    assert!(
        differ.is_empty(),
        "{}: {:#?}",
        differ.len(),
        &differ[..differ.len().min(40)]
    );
}

#[test]
fn every_handed_case_takes_the_columns_that_the_ui_laid_out() {
    let mut cases = 0;
    for line in include_str!("../../launcher/tests/cases/filter.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).expect("a case");
        let text = case["expect"]["text_visible"].as_str().unwrap_or_default();
        for row in text.lines() {
            assert_eq!(drawn(row), laid(row), "{} {row:?}", case["id"]);
            cases += 1;
        }
    }
    assert!(cases > 500, "{cases}");
}

#[test]
fn clusters_that_join_take_the_columns_that_the_ui_laid_out() {
    for text in [
        "👨\u{200d}👩\u{200d}👧",
        "🇩🇪",
        "🇩",
        "⚠\u{fe0f}",
        "⚠\u{fe0e}",
        "⚠",
        "1\u{fe0f}\u{20e3}",
        "👍🏽",
        "e\u{301}",
        "क्षि",
        "\u{1100}\u{1161}\u{11a8}",
        "\u{e33}",
        "กำ",
        "ｶﾞ",
        "각",
        "①",
        "⸻",
        "﷽",
        "☎\u{fe0f}",
        "❤\u{fe0f}\u{200d}🔥",
        "a\u{200d}b",
        "\u{0600}1",
        "நி",
        "한국어",
        "漢字",
        "…",
        "─┼─",
        "🏴\u{e0067}\u{e0062}\u{e007f}",
        "🙂🙂",
        "x\u{20dd}",
    ] {
        assert_eq!(drawn(text), laid(text), "{text:?}");
    }
}
