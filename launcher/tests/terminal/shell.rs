//! The launcher under a shell with job control: stopped by its key or from outside, and back.

use portable_pty::CommandBuilder;
use porthole_bridge::{Action, Request};

use crate::{
    script::hello,
    server::{Honest, Server},
    stage::Terminal,
};

/// A shell with the launcher in its foreground.
fn under_bash(home: &std::path::Path) -> Terminal {
    let mut script = hello();
    let action = Action::Suspend;
    script
        .keys
        .push(('z', vec![Request::Action { request: 1, action }]));
    let server = Server::start(script.build(), Honest::Yes);
    let mut command = CommandBuilder::new("bash");
    command.args(["--norc", "--noprofile", "-i"]);
    command.env_clear();
    command.env("HOME", home);
    command.env("TERM", "xterm-256color");
    command.env("PATH", "/usr/bin:/bin");
    command.env("PS1", "shell$ ");
    command.env("PORTHOLE_LINK", &server.link);
    let mut terminal = Terminal::spawn(command);
    terminal.wait_for("shell$");
    terminal.press(&format!("{}\r", env!("CARGO_BIN_EXE_porthole")));
    terminal.wait_for("hello from the bundle");
    terminal
}

#[test]
fn stopped_by_its_key_the_shell_has_its_terminal_and_fg_draws_at_the_new_size() {
    let home = tempfile::tempdir().expect("a home");
    let mut terminal = under_bash(home.path());
    terminal.press("z");
    terminal.wait_until("the shell's screen", |seen| {
        let screen = seen.screen.screen();
        !screen.alternate_screen() && screen.contents().contains("Stopped")
    });
    terminal.press("stty -a | grep -o ' icanon\\| echo '; printf 'o%s\\n' k\r");
    terminal.wait_until("the shell's own mode", |seen| {
        let text = seen.screen.screen().contents();
        text.contains("\nok") && text.contains("\n icanon") && text.contains("\n echo")
    });
    terminal.resize(100, 30);
    terminal.press("fg\r");
    terminal.wait_until("drawn whole at the new size without a key", |seen| {
        let screen = seen.screen.screen();
        screen.alternate_screen() && screen.contents_between(29, 0, 29, 100).contains("Ctrl-]")
    });
    terminal.press("\x1d");
    terminal.wait_for("reload the UI");
    let before = terminal.sent();
    terminal.press("q");
    // What is typed before the prompt is thrown away with what else was on its way.
    terminal.wait_until("the prompt", |seen| {
        String::from_utf8_lossy(&seen.bytes[before..]).contains("shell$ ")
    });
    terminal.press("exit 7\r");
    assert_eq!(terminal.child.wait().expect("ends").exit_code(), 7);
}

#[test]
fn in_the_background_it_waits_and_does_not_fight_for_the_terminal() {
    let home = tempfile::tempdir().expect("a home");
    let mut terminal = under_bash(home.path());
    terminal.press("z");
    terminal.wait_for("Stopped");
    terminal.press("bg\r");
    terminal.press("printf 'o%s\\n' k\r");
    terminal.wait_for("\nok");
    terminal.press("jobs; kill -TERM %1; wait %1; printf 'status %s\\n' $?\r");
    terminal.wait_until("ended by the signal", |seen| {
        let text = seen.screen.screen().contents();
        text.contains("Running") && text.contains("status 143")
    });
    terminal.press("exit 0\r");
    assert_eq!(terminal.child.wait().expect("ends").exit_code(), 0);
}
