//! An output that takes nothing, is closed, or is no terminal: said in a sentence, and the terminal stays as it was.

use portable_pty::CommandBuilder;

use crate::{
    script::bundle,
    server::{Honest, Server},
    stage::Terminal,
};

/// A shell's line in a terminal, with the launcher's path as `$0`.
fn shell(line: &str, home: &std::path::Path) -> Terminal {
    let mut command = CommandBuilder::new("/bin/sh");
    let whole = format!("{line}; echo \"status $?\"; read end");
    command.args(["-c", &whole, env!("CARGO_BIN_EXE_porthole")]);
    command.env_clear();
    command.env("HOME", home);
    command.env("TERM", "xterm-256color");
    command.env("PATH", "/usr/bin:/bin");
    Terminal::spawn(command)
}

#[test]
fn what_cannot_be_drawn_on_is_told_and_the_terminal_stays_as_it_was() {
    let server = Server::start(bundle(), Honest::Yes);
    let home = tempfile::tempdir().expect("a home");
    for line in [
        "\"$0\" >/dev/full",
        "\"$0\" >&-",
        "\"$0\" >/dev/null",
        "\"$0\" join >/dev/full",
        "PORTHOLE_LINK='LINK' \"$0\" >/dev/full",
        "PORTHOLE_LINK='LINK' \"$0\" >&-",
    ] {
        let mut terminal = shell(&line.replace("LINK", &server.link), home.path());
        terminal.wait_for("status 1");
        terminal.wait_for("error: ");
        terminal.wait_for("its output is not one");
        assert!(!terminal.raw(), "{line}");
        terminal.press("\n");
        terminal.child.wait().expect("ends");
        let bytes = terminal.bytes_from(0);
        assert!(!bytes.contains(&0x1b), "{line}");
    }
    assert_eq!(*server.secrets.lock().expect("not poisoned"), 0);
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let home = tempfile::tempdir().expect("a home");
    for line in [
        "\"$0\" servers >/dev/full",
        "printf name | \"$0\" debug safe-name >/dev/full",
        "printf frame | \"$0\" debug screen --size 80x24 >/dev/full",
        "\"$0\" doctor >/dev/full",
        "\"$0\" --version >/dev/full",
    ] {
        let mut terminal = shell(line, home.path());
        terminal.wait_for("status 1");
        terminal.press("\n");
        terminal.child.wait().expect("ends");
    }
}
