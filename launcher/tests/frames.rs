//! The handed frames, each through the real filter and the real painter: what is visible, in which style,
//! and that nothing but the drawing alphabet comes out.

#[path = "terminal/alphabet.rs"]
mod alphabet;

use porthole_bridge::ColorDepth;
use porthole_launcher::{draw::Painter, screen::Screen};
use ratatui::{
    buffer::{Buffer, CellWidth},
    style::{Color, Modifier},
};
use serde::Deserialize;

const COLS: u16 = 80;
const ROWS: u16 = 24;

#[derive(Deserialize)]
struct Case {
    id: String,
    hex: String,
    hex_next: Option<String>,
    expect: Expect,
}

#[derive(Deserialize)]
struct Expect {
    #[serde(default)]
    text_visible: String,
    #[serde(default)]
    alt_text_visible: Vec<String>,
    compare: Option<String>,
    accept: Option<bool>,
    style: Option<serde_json::Map<String, serde_json::Value>>,
    limits: Option<Limits>,
}

#[derive(Deserialize)]
struct Limits {
    max_cell_bytes: Option<usize>,
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits"))
        .collect()
}

fn text(buffer: &Buffer) -> String {
    let rows = buffer.content.chunks(usize::from(COLS)).map(|row| {
        let mut line = String::new();
        let mut covered = 0;
        for cell in row {
            if covered == 0 {
                line.push_str(cell.symbol());
                covered = cell.cell_width();
            }
            covered -= 1;
        }
        line.trim_end_matches(' ').to_owned()
    });
    let rows: Vec<String> = rows.collect();
    rows.join("\n").trim_end_matches('\n').to_owned()
}

fn without_marks(text: &str) -> String {
    text.chars()
        .filter(|c| c.encode_utf8(&mut [0; 4]).cell_width() > 0 || *c == '\n')
        .collect()
}

fn color(color: Color) -> String {
    match color {
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        Color::Indexed(index) => format!("idx:{index}"),
        named => format!("{named:?}").to_lowercase(),
    }
}

fn style_fault(
    buffer: &Buffer,
    style: &serde_json::Map<String, serde_json::Value>,
) -> Option<String> {
    let at = |name: &str| style[name].as_u64().expect("a number") as u16;
    let cell = &buffer[(at("col"), at("row"))];
    let shown = |name: &str| -> serde_json::Value {
        let has = |modifier| cell.modifier.contains(modifier).into();
        match name {
            "row" | "col" => style[name].clone(),
            "fg" => color(cell.fg).into(),
            "bg" => color(cell.bg).into(),
            "italic" => has(Modifier::ITALIC),
            "underlined" => has(Modifier::UNDERLINED),
            "slow_blink" => has(Modifier::SLOW_BLINK),
            "reversed" => has(Modifier::REVERSED),
            "hidden" => has(Modifier::HIDDEN),
            "crossed_out" => has(Modifier::CROSSED_OUT),
            other => panic!("unknown style {other}"),
        }
    };
    style
        .iter()
        .find(|(name, wanted)| shown(name) != **wanted)
        .map(|(name, wanted)| format!("{name} is {}, not {wanted}", shown(name)))
}

/// Returns the bytes that the terminal gets for a screen: the whole of it, and its difference to blank.
fn terminal_bytes(buffer: &Buffer) -> Vec<u8> {
    let rows = buffer.area.height;
    let mut painter = Painter::new(ColorDepth::True);
    let mut bytes = painter.frame(&mut buffer.clone(), None, rows);
    painter.frame(&mut Buffer::empty(buffer.area), None, rows);
    bytes.extend(painter.frame(&mut buffer.clone(), None, rows));
    bytes
}

fn fault(case: &Case) -> Option<String> {
    let mut screen = Screen::new(COLS, ROWS);
    let accepted = screen.paint(&bytes(&case.hex)).is_ok();
    if accepted != case.expect.accept.unwrap_or(true) {
        return Some(format!("accepted: {accepted}"));
    }
    if let Some(next) = &case.hex_next {
        screen
            .paint(&bytes(next))
            .expect("the second frame is small");
    }
    let buffer = screen.buffer();
    assert_eq!(buffer.area.as_size(), (COLS, ROWS).into());
    let compare = case.expect.compare.as_deref().unwrap_or("exact");
    let view = |text: &str| match compare {
        "no_marks" => without_marks(text),
        _ => text.to_owned(),
    };
    let got = text(buffer);
    let mut wanted =
        std::iter::once(&case.expect.text_visible).chain(&case.expect.alt_text_visible);
    if compare != "any" && !wanted.any(|wanted| view(wanted) == view(&got)) {
        return Some(format!("{got:?}, not {:?}", case.expect.text_visible));
    }
    let limit = case
        .expect
        .limits
        .as_ref()
        .and_then(|limits| limits.max_cell_bytes);
    if buffer
        .content
        .iter()
        .any(|cell| cell.symbol().len() > limit.unwrap_or(64))
    {
        return Some("an oversized cell".into());
    }
    if let Some(fault) = case
        .expect
        .style
        .as_ref()
        .and_then(|style| style_fault(buffer, style))
    {
        return Some(fault);
    }
    alphabet::outside(&terminal_bytes(buffer)).map(|what| format!("the terminal gets {what:?}"))
}

#[test]
fn every_handed_frame_shows_what_it_should_and_lets_nothing_out() {
    let cases: Vec<Case> = include_str!("cases/filter.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a case"))
        .collect();
    assert_eq!(cases.len(), 769);
    let faults: Vec<String> = cases
        .iter()
        .filter_map(|case| fault(case).map(|fault| format!("{}: {fault}", case.id)))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_scanner_of_the_alphabet_finds_what_it_should() {
    for bad in [
        "\x07",
        "\x1b]0;t",
        "\x1b[6n",
        "\x1b[?47h",
        "\u{9b}",
        "\u{202e}",
        "\x1b",
    ] {
        assert!(alphabet::outside(bad.as_bytes()).is_some(), "{bad:?}");
    }
    assert_eq!(
        alphabet::outside("a\x1b[1;2Hb\x1b[38;5;1m中".as_bytes()),
        None
    );
    assert!(alphabet::outside(b"\xff").is_some());
}

#[test]
fn what_was_dropped_is_counted_by_kind() {
    let mut screen = Screen::new(COLS, ROWS);
    let frame = "\x07\x1b]0;t\x07\x1b_G\x1b\\\x1bc\x1b[6n\x1b[?1049h\x1b[10m\u{202e}\u{301}\x1b[99;1Hx\x1b[24;80Hab";
    screen.paint(frame.as_bytes()).expect("small");
    let counts = serde_json::to_value(screen.dropped()).expect("plain data");
    let wanted = serde_json::json!({
        "controls": 1, "escapes": 1, "strings": 2, "sequences": 1, "modes": 1, "styles": 1,
        "characters": 1, "marks": 1, "clipped": 1,
    });
    assert_eq!(counts, wanted);
}
