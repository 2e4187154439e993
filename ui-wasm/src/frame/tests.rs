//! Tests of the frames, read back by a terminal emulator.

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
