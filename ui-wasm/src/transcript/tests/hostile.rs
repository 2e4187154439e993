//! Text that wants to be more than text, and widths that are hard.

use porthole_protocol::{AuthorKind, Block, EntryBody, ToolDetail, ToolOutcome};
use proptest::prelude::*;

use super::talk::*;
use crate::frame;
use crate::text;

const EVIL: &str = "a\u{1b}]52;c;Y3VybA\u{7}\u{1b}]0;pwn\u{7}\u{1b}[10A\u{1b}[2J\u{1b}c\u{9b}2J\u{9d}x\u{9c}\r over\u{8}\u{8}\u{202e}\u{2066}\u{200b}\u{1b}]";

fn everything(words_of_all: &str) -> porthole_protocol::ConversationState {
    let evil = words_of_all.to_owned();
    let mut talk = empty();
    talk.human(&evil);
    talk.add(
        author(AuthorKind::Guest, "g", &evil),
        EntryBody::Notice { text: evil.clone() },
    );
    talk.add(
        author(AuthorKind::System, "s", &evil),
        EntryBody::Error {
            text: evil.clone(),
            hint: evil.clone(),
        },
    );
    talk.add(
        author(AuthorKind::System, "s", &evil),
        EntryBody::Compaction {
            summary: evil.clone(),
            automatic: false,
            kept: Vec::new(),
        },
    );
    talk.add(
        author(AuthorKind::Guest, "g", &evil),
        EntryBody::Shell {
            command: evil.clone(),
            included: true,
            detail: command(&evil, Some(1)),
        },
    );
    talk.answer(vec![
        Block::Thinking { text: evil.clone() },
        words(&evil),
        uses("h1", &evil, &evil),
        uses("h2", "ls", &evil),
    ]);
    talk.result(
        "h1",
        &evil,
        &evil,
        ToolOutcome::Failed,
        &evil,
        ToolDetail::Text,
    );
    talk.result(
        "h2",
        "ls",
        &evil,
        ToolOutcome::Ok,
        &evil,
        ToolDetail::Names {
            names: vec![evil.clone(), "b".into()],
            total: 2,
        },
    );
    talk
}

#[test]
fn nothing_that_acts_reaches_a_cell_or_a_frame() {
    let talk = everything(EVIL);
    let mut screen = Screen::new(80, 60);
    for _ in 0..12 {
        screen.draw(&talk);
        screen.transcript.select_next();
        screen.transcript.toggle_selected();
    }
    screen.draw(&talk);
    for cell in &screen.buf.content {
        assert!(
            !cell.symbol().chars().any(text::acts),
            "{:?}",
            cell.symbol()
        );
    }
    let bytes = frame::encode(&screen.buf, None, porthole_bridge::ColorDepth::True);
    let frame = String::from_utf8(bytes).expect("text");
    assert!(!frame.contains("\u{1b}]") && !frame.contains('\u{7}') && !frame.contains("\u{1b}c"));
}

#[test]
fn columns_do_not_drift_over_wide_characters() {
    let mut talk = empty();
    let names = [
        "日本語ファイル名テスト.rs",
        "⚙\u{fe0f}.md",
        "한글.md",
        "e\u{301}tude.txt",
        "a.rs",
    ];
    let ids = ["n1", "n2", "n3", "n4", "n5"];
    talk.answer(
        ids.iter()
            .zip(names)
            .map(|(id, name)| uses(id, "read", name))
            .collect(),
    );
    for (id, name) in ids.iter().zip(names) {
        talk.result(
            id,
            "read",
            name,
            ToolOutcome::Ok,
            "lines 1–9",
            ToolDetail::Text,
        );
    }
    for cols in [100, 80, 60] {
        let rows = Screen::new(cols, 8).draw(&talk);
        let places: Vec<usize> = rows
            .iter()
            .filter_map(|row| row.find("lines 1").map(|at| text::width(&row[..at])))
            .collect();
        assert_eq!(places.len(), 5, "{rows:#?}");
        if cols == 100 {
            assert!(places.iter().all(|at| *at == places[0]), "{places:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_text_at_any_size_is_drawn(text in "[\\PC\u{1b}\r\n\t\u{6f22}\u{301}]{0,60}", cols in 1u16..130, rows in 1u16..30, wishes in prop::collection::vec(0u8..8, 0..10)) {
        let talk = everything(&text);
        let mut screen = Screen::new(cols, rows);
        for wish in wishes {
            screen.draw(&talk);
            match wish {
                0 => screen.transcript.scroll(-3),
                1 => screen.transcript.page(1),
                2 => screen.transcript.to_top(),
                3 => screen.transcript.select_next(),
                4 => screen.transcript.toggle_selected(),
                5 => screen.transcript.toggle_thinking(),
                6 => screen.resize(cols % 50 + 1, rows),
                _ => { screen.transcript.click(4, 3); }
            }
        }
        screen.draw(&talk);
    }
}
