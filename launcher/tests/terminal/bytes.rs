//! Every byte that the launcher writes is recorded: nothing that a UI or a server does makes it write anything but its
//! own drawing.

use portable_pty::CommandBuilder;
use porthole_bridge::{Action, Request, limits};

use crate::{
    alphabet,
    script::Script,
    server::{Honest, Server},
    stage::{Terminal, open},
};

const CLIPBOARD: &str = "\x1b]52;c;aGFybQ==\x07";
const TRICKS: &str = "a\x1b]0;owned\x07b\x1b[2J\u{9b}6nc\u{202e}d\r\ne\x1bPq\x1b\\\x0e\x05";

/// Returns the frames of the handed cases that a frame may hold.
fn frames() -> Vec<Vec<u8>> {
    let bytes = |hex: &str| {
        let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits");
        (0..hex.len()).step_by(2).map(digits).collect::<Vec<u8>>()
    };
    include_str!("../cases/filter.jsonl")
        .lines()
        .flat_map(|line| {
            let case: serde_json::Value = serde_json::from_str(line).expect("a case");
            [case["hex"].as_str(), case["hex_next"].as_str()]
                .into_iter()
                .flatten()
                .map(bytes)
                .collect::<Vec<_>>()
        })
        // The long ones try the filter's patience, not the terminal's; they are tried elsewhere.
        .filter(|frame| frame.len() < 4_096 && frame.len() <= limits::FRAME_BYTES)
        .collect()
}

/// A bundle that shows every hostile frame there is, one each time it wakes, and asks for everything beside.
fn hostile() -> Script {
    let wake = Request::WakeIn(Some(16));
    let mut steps: Vec<Vec<Request>> = frames()
        .into_iter()
        .enumerate()
        .map(|(index, frame)| {
            let asked = |action| Request::Action {
                request: index as u64,
                action,
            };
            let beside = match index % 4 {
                0 => Request::Title(format!("{CLIPBOARD}{TRICKS}")),
                1 => asked(Action::Copy(format!("{CLIPBOARD}{TRICKS}"))),
                2 => asked(Action::OpenUrl(format!("https://example.com/{TRICKS}"))),
                _ => asked(Action::Edit(TRICKS.to_owned())),
            };
            vec![Request::Frame(frame), beside, wake.clone()]
        })
        .collect();
    steps.push(vec![Request::Frame(b"the end of the show".to_vec())]);
    Script {
        steps,
        ..Script::default()
    }
}

fn assert_own_drawing(terminal: &Terminal) {
    let bytes = terminal.bytes_from(0);
    assert_eq!(alphabet::outside(&bytes), None);
}

#[test]
fn no_hostile_frame_title_or_wish_leaves_the_drawing_alphabet_or_touches_the_last_row() {
    let (_home, mut terminal) = open(hostile().build());
    terminal.wait_for("the end of the show");
    let row = terminal.last_row();
    assert!(row.contains("127.0.0.1") && row.contains("Ctrl-]"), "{row}");
    terminal.press("\x1d");
    terminal.wait_for("reload the UI");
    terminal.press("q");
    terminal.wait_until("the shell's screen", |seen| {
        !seen.screen.screen().alternate_screen()
    });
    assert_own_drawing(&terminal);
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn what_a_terminal_answers_is_no_key_and_no_gesture() {
    let ask = Request::Action {
        request: 1,
        action: Action::Copy("stolen".into()),
    };
    let frame = Request::Frame(b"waiting".to_vec());
    let steps = (0..60)
        .map(|_| vec![frame.clone(), ask.clone(), Request::WakeIn(Some(16))])
        .chain([vec![Request::Frame(b"asked often enough".to_vec())]])
        .collect();
    let script = Script {
        steps,
        ..Script::default()
    };
    let (_home, mut terminal) = open(script.build());
    terminal.wait_for("waiting");
    for answer in [
        "\x1b[24;80R",
        "\x1b[1;1R",
        "\x1b[?62;4c",
        "\x1b[>0;276;0c",
        "\x1b[?0u",
        "\x1b[8;24;80t",
        "\x1b]11;rgb:0000/0000/0000\x1b\\",
        "\x1b]l y \x1b\\",
        "\x1bP1$r0m\x1b\\",
        "\x1b[I",
        "\x1b[O",
        "\x1b[<35;3;3M",
        "\x1b[200~y\r\x1b[201~",
    ] {
        terminal.press(answer);
    }
    terminal.wait_for("asked often enough");
    let bytes = terminal.bytes_from(0);
    let text = String::from_utf8_lossy(&bytes);
    assert!(!text.contains("\x1b]52;"), "something was copied");
    assert_own_drawing(&terminal);
}

#[test]
fn a_hostile_server_writes_nothing_of_its_own() {
    let bundle = crate::script::bundle();
    for honest in [Honest::Yes, Honest::No, Honest::Rude] {
        let server = Server::start(bundle.clone(), honest);
        let home = tempfile::tempdir().expect("a home");
        let mut terminal = Terminal::run(home.path(), &server.link);
        match honest {
            Honest::Yes => {
                terminal.wait_for("hello from the bundle");
                terminal.press("\x1d");
                terminal.wait_for("reload the UI");
                terminal.press("q");
            }
            Honest::No | Honest::Rude => {}
        }
        if honest == Honest::Rude {
            terminal.wait_for("q quits");
            terminal.press("q");
        }
        terminal.child.wait().expect("ends");
        terminal.wait_until("the shell's screen", |seen| {
            !seen.screen.screen().alternate_screen()
        });
        assert_own_drawing(&terminal);
    }
}

#[test]
fn errors_about_what_was_typed_write_nothing_of_it() {
    let odd = "http://127.0.0.1:1/\x1b]0;owned\x07\u{202e}\u{9b}2J";
    let link = format!("{odd}#owner={}&key={}", "x".repeat(47), "y".repeat(43));
    let home = tempfile::tempdir().expect("a home");
    for arguments in [
        vec![odd],
        vec![link.as_str()],
        vec!["--session", odd, "http://127.0.0.1:1"],
        vec!["sign-out", odd, "--yes"],
        vec!["debug", "screen", "--size", odd],
        vec!["debug", "bundle", odd],
        vec![odd, odd],
    ] {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_porthole"));
        command.args(&arguments);
        command.env_clear();
        command.env("HOME", home.path());
        command.env("TERM", "xterm-256color");
        let mut terminal = Terminal::spawn(command);
        let status = terminal.child.wait().expect("ends").exit_code();
        assert!(status == 1 || status == 2, "{arguments:?}");
        terminal.wait_until("an error", |seen| !seen.bytes.is_empty());
        let bytes = terminal.bytes_from(0);
        assert_eq!(alphabet::outside(&bytes), None, "{arguments:?}");
    }
}
