//! What a terminal is sent while much goes on: it is wiped only where it has to be, each drawing is one, the cursor stays where
//! one types, and colours are those that the terminal has.

use porthole_examples::model_server::Step;
use porthole_tests::{Server, Terminal, World};

const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// A server whose model says so much that the screen scrolls, and a session there.
fn talkative() -> (World, Server, String, impl Sized) {
    let world = World::new().expect("a world");
    let pieces = (0..400).map(|n| match n % 40 {
        39 => format!("**word{n}** 你好 `code`\n\n"),
        _ => format!("word{n} "),
    });
    let pieces = pieces.chain(["the very end".to_owned()]).collect();
    let model = world
        .model(vec![Step::Text {
            pieces,
            pause_ms: 1,
        }])
        .expect("a model");
    let server = world.serve().expect("a server");
    let session = world.session().expect("a session");
    (world, server, session, model)
}

fn open(world: &World, session: &str, variables: &[(&str, &str)]) -> Terminal {
    let link = world.owner_link().expect("a link");
    let arguments = ["--session", session];
    let terminal = world
        .launch_with(&arguments, Some(&link), 80, 24, variables)
        .expect("a launcher");
    terminal.wait_for("Enter send");
    terminal
}

/// Returns the parameters of every sequence that sets colours and looks.
fn looks(bytes: &[u8]) -> Vec<Vec<u32>> {
    let text = String::from_utf8_lossy(bytes);
    let mut all = Vec::new();
    for part in text.split("\x1b[").skip(1) {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':');
        let Some(end) = end.filter(|end| part[*end..].starts_with('m')) else {
            continue;
        };
        let numbers = part[..end].split([';', ':']);
        all.push(numbers.map(|n| n.parse().unwrap_or(0)).collect());
    }
    all
}

#[test]
fn much_text_wipes_nothing_each_drawing_is_one_and_the_cursor_stays_with_the_draft() {
    let (world, _server, session, _model) = talkative();
    let mut terminal = open(&world, &session, &[]);
    let from = terminal.look(|state| state.bytes.len());
    terminal.send("go\r");
    terminal.wait_for("word3 ");
    terminal.send("你好ab");
    terminal.wait_for("你好ab");
    terminal.wait_for("the very end");
    terminal.wait_until("the cursor behind the draft", |state| {
        let screen = state.parser.screen();
        let (row, col) = screen.cursor_position();
        let before = state.row(row).find("你好ab").is_some();
        // Two columns of margin, the mark and a blank, then six of text.
        before && col == 4 + 6 && !screen.hide_cursor()
    });
    let text = terminal.look(|state| String::from_utf8_lossy(&state.bytes[from..]).into_owned());
    for wipe in ["\x1b[2J", "\x1b[3J", "\x1bc", "\x1b[J"] {
        assert!(!text.contains(wipe), "the screen was wiped by {wipe:?}");
    }
    let (mut depth, mut drawings) = (0, 0);
    for part in text.split("\x1b[?2026").skip(1) {
        match part.as_bytes().first() {
            Some(b'h') => {
                depth += 1;
                drawings += 1;
            }
            _ => depth -= 1,
        }
        assert!((0..=1).contains(&depth), "drawings within drawings");
    }
    assert!(drawings > 5, "only {drawings} drawings");
    terminal.resize(100, 30);
    terminal.wait_until("the last row where it is now", |state| {
        state.row(29).contains("porthole") && state.row(29).contains("Ctrl-]")
    });
    terminal.wait_until("the cursor behind the draft again", |state| {
        let (row, col) = state.parser.screen().cursor_position();
        state.row(row).contains("你好ab") && col == 4 + 6
    });
    let whole = terminal.look(|state| String::from_utf8_lossy(&state.bytes).into_owned());
    assert!(
        whole.rfind(END) > whole.rfind(BEGIN),
        "every drawing was ended"
    );
}

#[test]
fn no_colour_is_sent_where_none_is_wanted_and_looks_remain() {
    let (world, _server, session, _model) = talkative();
    let mut terminal = open(&world, &session, &[("NO_COLOR", "1")]);
    terminal.send("go\r");
    terminal.wait_for("the very end");
    let sent = looks(&terminal.look(|state| state.bytes.clone()));
    let is_colour = |n: &u32| matches!(n, 30..=38 | 40..=48 | 90..=97 | 100..=107);
    for parameters in &sent {
        assert!(!parameters.iter().any(is_colour), "{parameters:?}");
    }
    assert!(
        sent.iter().flatten().any(|n| matches!(n, 1 | 4 | 7)),
        "bold, underline or reverse remain: {sent:?}"
    );
}

#[test]
fn an_empty_wish_for_no_colour_is_none_and_sixteen_colours_are_no_more() {
    let (world, _server, session, _model) = talkative();
    let few = [("NO_COLOR", ""), ("COLORTERM", ""), ("TERM", "xterm")];
    let mut terminal = open(&world, &session, &few);
    terminal.send("go\r");
    terminal.wait_for("the very end");
    let sent = looks(&terminal.look(|state| state.bytes.clone()));
    assert!(
        sent.iter()
            .any(|parameters| matches!(parameters[..], [.., 30..=37 | 90..=97])),
        "colours are sent: {sent:?}"
    );
    for parameters in &sent {
        assert!(
            !parameters.contains(&38) && !parameters.contains(&48),
            "{parameters:?}"
        );
    }
}
