//! On every way out the terminal is as it was, and on every way back everything is drawn and heard again.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::{
    script::{bundle, hanging, trapping},
    server::{Honest, Server, TOKEN},
    stage::{Terminal, open},
};

#[test]
fn the_terminal_is_given_back_on_quitting() {
    let (_home, mut terminal) = open(bundle());
    terminal.wait_for("hello from the bundle");
    assert!(terminal.raw());
    terminal.press("\x1d");
    terminal.wait_for("reload the UI");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_ui_that_hangs_does_not_keep_the_launchers_menu_nor_the_way_out() {
    let (_home, mut terminal) = open(hanging());
    terminal.wait_for("hello from the bundle");
    // This key hangs the UI; the next ones are the launcher's and come long before its deadline.
    terminal.press("x");
    let pressed = Instant::now();
    terminal.press("\x1d");
    terminal.wait_for("reload the UI");
    assert!(
        pressed.elapsed() < porthole_bridge::limits::CALL_WALL,
        "{:?}",
        pressed.elapsed()
    );
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_ui_that_hangs_is_ended_and_its_page_says_so() {
    let (_home, mut terminal) = open(hanging());
    terminal.wait_for("hello from the bundle");
    terminal.press("x");
    terminal.wait_for("The interface stopped responding.");
    terminal.press("r");
    terminal.wait_for("hello from the bundle");
    terminal.press("\x1dq");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_link_in_the_environment_is_not_seen_by_other_programs_and_no_image_of_the_memory_is_left() {
    let (_home, mut terminal) = open(bundle());
    terminal.wait_for("hello from the bundle");
    let own = format!("/proc/{}", terminal.child.process_id().expect("runs"));
    let shown = std::fs::read(format!("{own}/environ")).expect("root may look");
    let shown = String::from_utf8_lossy(&shown).into_owned();
    assert!(shown.contains("TERM=xterm-256color"), "{shown}");
    assert!(!shown.contains(TOKEN), "{shown}");
    let limits = std::fs::read_to_string(format!("{own}/limits")).expect("readable");
    let core = limits.lines().find(|line| line.starts_with("Max core"));
    assert!(
        core.is_some_and(|line| line.split_whitespace().nth(4) == Some("0")),
        "{limits}"
    );
    terminal.press("\x1dq");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn the_terminal_is_given_back_on_signals() {
    for (signal, status) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let (_home, terminal) = open(bundle());
        terminal.wait_for("hello from the bundle");
        terminal.signal(signal);
        assert_eq!(terminal.ended(), status);
    }
}

#[test]
fn a_ui_that_traps_leaves_a_page_and_the_terminal_whole() {
    let (_home, mut terminal) = open(trapping());
    terminal.wait_for("The UI stopped.");
    terminal.press("q");
    assert_eq!(terminal.ended(), 1);
}

#[test]
fn a_launcher_that_was_stopped_and_continued_draws_itself_anew() {
    let (_home, mut terminal) = open(bundle());
    terminal.wait_for("hello from the bundle");
    terminal.signal(Signal::TSTP);
    terminal.wait_stopped();
    terminal.wait_until("the shell's screen", |seen| {
        !seen.screen.screen().alternate_screen()
    });
    assert!(!terminal.raw(), "the shell has its own mode");
    terminal.signal(Signal::CONT);
    terminal.wait_for("hello from the bundle");
    terminal.press("\x1d");
    terminal.wait_for("reload the UI");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_server_with_another_key_gets_no_secret() {
    let server = Server::start(bundle(), Honest::No);
    let home = tempfile::tempdir().expect("a home");
    let mut terminal = Terminal::run(home.path(), &server.link);
    let status = terminal.child.wait().expect("ends").exit_code();
    assert_eq!(status, 1);
    terminal.wait_for("its key is another");
    assert_eq!(*server.secrets.lock().expect("not poisoned"), 0);
}

#[test]
fn keys_are_heard_after_a_resize() {
    let (_home, mut terminal) = open(bundle());
    terminal.wait_for("hello from the bundle");
    for (cols, rows) in [(70, 20), (80, 24), (60, 12)] {
        terminal.resize(cols, rows);
        terminal.press("\x1d");
        terminal.wait_for("reload the UI");
        terminal.resize(cols + 1, rows);
        terminal.press("\x1d");
        terminal.wait_until("the menu is gone", |seen| {
            !seen.screen.screen().contents().contains("reload the UI")
        });
    }
    terminal.press("\x1d");
    terminal.wait_for("reload the UI");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_burst_of_keys_is_heard_to_its_last_and_odd_bytes_end_nothing() {
    let (_home, mut terminal) = open(bundle());
    terminal.wait_for("hello from the bundle");
    // Each pair opens and closes the menu; the odd one at the end leaves it open.
    terminal.press(&"\x1d".repeat(3_001));
    terminal.wait_for("reload the UI");
    terminal.press("\x1b[<64;0;0M\x1b[0;0R\x1b[M !\x10");
    // The thread that reads sleeps while nothing is typed.
    let before = terminal.keys_ticks();
    std::thread::park_timeout(Duration::from_millis(600));
    assert!(terminal.keys_ticks() - before < 20, "the reader spins");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_mode_that_somebody_left_behind_meanwhile_is_not_given_back() {
    let (_home, mut terminal) = open(bundle());
    terminal.wait_for("hello from the bundle");
    terminal.signal(Signal::TSTP);
    terminal.wait_stopped();
    terminal.make_raw();
    terminal.signal(Signal::CONT);
    terminal.press("\x1d");
    terminal.wait_for("reload the UI");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_signal_while_a_link_is_asked_for_leaves_the_terminal_whole() {
    for (signal, status) in [
        (Signal::TERM, 143),
        (Signal::HUP, 129),
        (Signal::INT, 130),
        (Signal::QUIT, 131),
    ] {
        let home = tempfile::tempdir().expect("a home");
        let mut terminal = Terminal::run(home.path(), "");
        terminal.wait_for("Paste a link");
        while !terminal.raw() {
            std::thread::yield_now();
        }
        terminal.signal(signal);
        assert_eq!(terminal.child.wait().expect("ends").exit_code(), status);
        assert!(!terminal.raw());
    }
}
