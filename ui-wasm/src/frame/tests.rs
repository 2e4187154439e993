//! Tests of the frames, read back by a terminal emulator.

use proptest::prelude::*;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::*;

/// Returns the screen that a terminal shows after a frame.
fn shown(frame: &[u8], cols: u16, rows: u16) -> vt100::Parser {
    let size = |n| std::num::NonZero::new(n).expect("not empty");
    let mut parser = vt100::Parser::new(size(rows), size(cols), 0);
    parser.process(frame);
    parser
}

fn screen_text(parser: &vt100::Parser, cols: u16) -> Vec<String> {
    parser
        .screen()
        .rows(0, cols)
        .map(|row| row.trim_end().to_owned())
        .collect()
}

fn buffer_text(buffer: &Buffer) -> Vec<String> {
    buffer
        .content
        .chunks(usize::from(buffer.area.width))
        .map(|cells| {
            let mut row = String::new();
            let mut x = 0;
            while let Some(cell) = cells.get(x) {
                row.push_str(cell.symbol());
                x += text::cluster_width(cell.symbol()).max(1);
            }
            row.trim_end().to_owned()
        })
        .collect()
}

#[test]
fn a_screen_comes_back_as_it_was() {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 40, 4));
    text::put(
        &mut buffer,
        0,
        0,
        40,
        "漢字 and ☕ and e\u{301}tude",
        Style::new().fg(Color::Rgb(1, 2, 3)),
    );
    text::put(
        &mut buffer,
        20,
        2,
        20,
        "far right",
        Style::new().bg(Color::Indexed(200)),
    );
    text::put(&mut buffer, 38, 3, 2, "漢", Style::new());
    let frame = encode(&buffer, Some(Position::new(3, 2)), ColorDepth::True);
    let parser = shown(&frame, 40, 4);
    assert_eq!(screen_text(&parser, 40), buffer_text(&buffer));
    assert_eq!(parser.screen().cursor_position(), (2, 3));
    assert!(!parser.screen().hide_cursor());
    let cell = parser.screen().cell(0, 0).expect("on the screen");
    assert_eq!(cell.fgcolor(), vt100::Color::Rgb(1, 2, 3));
    let cell = parser.screen().cell(2, 22).expect("on the screen");
    assert_eq!(cell.bgcolor(), vt100::Color::Idx(200));
}

/// Returns a number that looks random, from where it is asked.
fn noise(x: u16, y: u16) -> u32 {
    let mut n = u32::from(x).wrapping_mul(0x9e37_79b9) ^ u32::from(y).wrapping_mul(0x85eb_ca6b);
    n ^= n >> 15;
    n = n.wrapping_mul(0x2c1b_3c6d);
    n ^ (n >> 13)
}

fn noisy(cols: u16, rows: u16, symbol: fn(u32) -> &'static str) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, cols, rows));
    for y in 0..rows {
        let mut x = 0;
        while x < cols {
            let n = noise(x, y);
            let style = Style::new()
                .fg(Color::from_u32(n & 0xff_ffff))
                .bg(Color::from_u32(n >> 8))
                .add_modifier(Modifier::from_bits_truncate((n >> 3) as u16 & 0x1ff));
            let used = text::put(&mut buffer, x, y, usize::from(cols - x), symbol(n), style);
            x += u16::try_from(used.max(1)).expect("small");
        }
    }
    buffer
}

#[test]
fn the_worst_screen_of_all_is_not_over_the_limit() {
    let symbols: [fn(u32) -> &'static str; 4] = [
        |n| ["漢", "👩‍👩‍👧", "e\u{301}", "x", "⚠\u{fe0f}"][n as usize % 5],
        |_| "漢",
        |_| "x",
        |_| "█",
    ];
    for symbol in symbols {
        let buffer = noisy(limits::COLS, limits::ROWS, symbol);
        let cursor = Some(Position::new(limits::COLS - 1, limits::ROWS - 1));
        let frame = encode(&buffer, cursor, ColorDepth::True);
        assert!(frame.len() <= limits::FRAME_BYTES, "{} bytes", frame.len());
        assert!(
            frame.len() > limits::FRAME_BYTES * 9 / 10,
            "the room is used: {} bytes",
            frame.len()
        );
        let parser = shown(&frame, limits::COLS, limits::ROWS);
        let rows = screen_text(&parser, limits::COLS);
        assert!(
            rows.iter().all(|row| !row.is_empty()),
            "every row has its start"
        );
        for (row, whole) in rows.iter().zip(buffer_text(&buffer)) {
            assert!(
                whole.starts_with(row.as_str()),
                "{row:?} is no start of {whole:?}"
            );
        }
    }
}

#[test]
fn text_always_fits_whole_on_screens_that_people_have() {
    for (cols, rows) in [(80, 24), (200, 60), (240, 80), (320, 90)] {
        let buffer = noisy(cols, rows, |n| ["a", "b", "漢", "é", " "][n as usize % 5]);
        let frame = encode(&buffer, None, ColorDepth::True);
        assert!(frame.len() <= limits::FRAME_BYTES);
        assert_eq!(
            screen_text(&shown(&frame, cols, rows), cols),
            buffer_text(&buffer),
            "{cols}x{rows}"
        );
    }
}

#[test]
fn plain_text_fits_whole_on_every_screen_a_ui_is_told_of() {
    let symbols: [fn(u32) -> &'static str; 3] = [
        |_| "x",
        |n| ["a", "b", " "][n as usize % 3],
        |n| if n.is_multiple_of(7) { "y" } else { " " },
    ];
    for cols in [limits::COLS, 400, 333, 300, 80] {
        let rows = (limits::CELLS / u32::from(cols)).min(u32::from(limits::ROWS));
        let rows = u16::try_from(rows).expect("small");
        for symbol in symbols {
            let buffer = noisy(cols, rows, symbol);
            let frame = encode(&buffer, None, ColorDepth::True);
            assert!(frame.len() <= limits::FRAME_BYTES);
            assert_eq!(
                screen_text(&shown(&frame, cols, rows), cols),
                buffer_text(&buffer),
                "{cols}x{rows}"
            );
        }
    }
}

#[test]
fn many_marks_upon_a_blank_stay_on_it() {
    let marks = " \u{301}\u{301}\u{fe0f}\u{301}\u{fe0f}\u{fe0f}\u{fe0f}\u{301}";
    let words = format!("a{marks}b");
    let mut buffer = Buffer::empty(Rect::new(0, 0, 10, 1));
    text::put(&mut buffer, 0, 0, 10, &words, Style::new());
    let frame = encode(&buffer, None, ColorDepth::True);
    assert_eq!(
        String::from_utf8(frame.clone()).as_deref(),
        Ok(format!("\x1b[1;1H{words}\x1b[?25l").as_str())
    );
    let parser = shown(&frame, 10, 1);
    let cell = |col| parser.screen().cell(0, col).expect("on the screen");
    assert_eq!((cell(0).contents(), cell(2).contents()), ("a", "b"));
    assert!(same_cell(cell(1).contents(), marks));
}

/// Bytes of a cell after which the emulator takes no more marks.
const EMULATOR_CELL: usize = 18;

/// Whether the emulator shows what was meant, as far as it keeps it.
fn same_cell(there: &str, meant: &str) -> bool {
    there == meant || there.len() >= EMULATOR_CELL && meant.starts_with(there)
}

#[test]
fn colours_are_given_up_before_text() {
    let buffer = noisy(200, 60, |n| ["a", "b", "c"][n as usize % 3]);
    let frame = String::from_utf8(encode(&buffer, None, ColorDepth::True)).expect("text");
    assert!(!frame.contains("38;2;"), "no true colours");
    let small = noisy(40, 12, |n| ["a", "b", "c"][n as usize % 3]);
    let frame = String::from_utf8(encode(&small, None, ColorDepth::True)).expect("text");
    assert!(frame.contains("38;2;"), "true colours where they fit");
    let frame = String::from_utf8(encode(&small, None, ColorDepth::None)).expect("text");
    assert!(!frame.contains("38;"), "none where the terminal has none");
}

#[test]
fn blanks_cost_a_move_at_most() {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 500, 200));
    text::put(&mut buffer, 0, 100, 10, "a", Style::new());
    text::put(&mut buffer, 499, 100, 1, "b", Style::new());
    let frame = encode(&buffer, None, ColorDepth::True);
    assert_eq!(frame, b"\x1b[101;1Ha\x1b[498Cb\x1b[?25l");
}

#[test]
fn neighbours_never_melt_into_one_cluster() {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
    for (x, symbol) in [(0, "🇩"), (2, "🇪"), (4, "ᄀ"), (6, "ᅡ"), (8, "👩"), (10, "a")] {
        buffer[(x, 0)].set_symbol(symbol);
    }
    let frame = String::from_utf8(encode(&buffer, None, ColorDepth::None)).expect("text");
    assert!(!frame.contains("🇩🇪"), "{frame:?}");
    assert!(!frame.contains("가"), "{frame:?}");
}

/// Returns the sequences of a frame that are not among those a launcher reads.
fn foreign(frame: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut parts = frame.split('\u{1b}');
    let first = parts.next().unwrap_or_default();
    found.extend(first.chars().filter(|c| c.is_control()).map(String::from));
    for part in parts {
        let end = part
            .find(|c: char| c.is_ascii_alphabetic())
            .map_or(part.len(), |at| at + 1);
        let (sequence, text) = part.split_at(end);
        let known = sequence.starts_with('[') && sequence.ends_with(['m', 'H', 'G', 'C']);
        if !known && !matches!(sequence, "[?25h" | "[?25l") {
            found.push(sequence.to_owned());
        }
        found.extend(text.chars().filter(|c| c.is_control()).map(String::from));
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn any_screen_comes_back_as_it_was(
        texts in prop::collection::vec(("[a-c \u{6f22}\u{e9}\u{301}\u{26a0}\u{fe0f}]{0,20}", 0u16..30, 0u16..6, any::<u32>(), 0u16..0x1ff), 0..12),
        depth in prop::sample::select(vec![ColorDepth::None, ColorDepth::Sixteen, ColorDepth::Indexed, ColorDepth::True]),
    ) {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 30, 6));
        for (words, x, y, color, bits) in texts {
            let style = Style::new().fg(Color::from_u32(color >> 8)).add_modifier(Modifier::from_bits_truncate(bits));
            text::put(&mut buffer, x, y, 30, &words, style);
        }
        let frame = encode(&buffer, Some(Position::new(1, 2)), depth);
        let parser = shown(&frame, 30, 6);
        prop_assert_eq!(foreign(std::str::from_utf8(&frame).expect("text")), Vec::<String>::new());
        for (at, cell) in buffer.content.iter().enumerate() {
            let (row, col) = (at as u16 / 30, at as u16 % 30);
            let there = parser.screen().cell(row, col).expect("on the screen");
            if there.is_wide_continuation() {
                continue;
            }
            let symbol = if there.contents().is_empty() { " " } else { there.contents() };
            prop_assert!(same_cell(symbol, cell.symbol()), "{:?} is not {:?}", symbol, cell.symbol());
            if symbol != " " {
                let expected = reduce(cell.fg, depth);
                prop_assert_eq!(there.fgcolor(), as_vt100(expected));
                // The emulator knows one strength only, bold or dim.
                if !cell.modifier.contains(Modifier::DIM) {
                    prop_assert_eq!(there.bold(), cell.modifier.contains(Modifier::BOLD));
                }
                prop_assert_eq!(there.inverse(), cell.modifier.contains(Modifier::REVERSED));
                prop_assert_eq!(there.underline(), cell.modifier.contains(Modifier::UNDERLINED));
            }
        }
    }

    #[test]
    fn any_cells_make_a_frame_of_known_sequences(symbols in prop::collection::vec("\\PC{0,3}|[\u{0}-\u{a0}\u{202e}]{1,3}", 0..60)) {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 10, 6));
        for (cell, symbol) in buffer.content.iter_mut().zip(&symbols) {
            cell.set_symbol(symbol);
        }
        let frame = encode(&buffer, None, ColorDepth::True);
        prop_assert_eq!(foreign(std::str::from_utf8(&frame).expect("text")), Vec::<String>::new());
    }
}

fn as_vt100(color: Color) -> vt100::Color {
    match color {
        Color::Reset => vt100::Color::Default,
        Color::Rgb(r, g, b) => vt100::Color::Rgb(r, g, b),
        Color::Indexed(i) => vt100::Color::Idx(i),
        named => vt100::Color::Idx(u8::try_from(named_index(named)).expect("small")),
    }
}
