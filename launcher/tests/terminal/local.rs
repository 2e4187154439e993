//! Local actions with a real editor and a real clipboard sequence: what the terminal is sent, and what comes back.

use porthole_bridge::{Action, Request};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::{
    script::{Script, hello},
    server::{Honest, Server},
    stage::Terminal,
};

fn wishes() -> Script {
    let asked = |request, action| vec![Request::Action { request, action }];
    let url = "https://example.com/page".to_owned();
    let mut script = hello();
    script.keys.extend([
        ('e', asked(1, Action::Edit("the draft".into()))),
        ('c', asked(2, Action::Copy("one line".into()))),
        ('m', asked(3, Action::Copy("two\nlines".into()))),
        ('o', asked(4, Action::OpenUrl(url))),
        ('z', asked(5, Action::Suspend)),
    ]);
    script
}

fn open_with(more: &[(&str, &str)]) -> (tempfile::TempDir, Terminal) {
    let server = Server::start(wishes().build(), Honest::Yes);
    let home = tempfile::tempdir().expect("a home");
    let terminal = Terminal::run_with(home.path(), &server.link, more);
    terminal.wait_for("hello from the bundle");
    (home, terminal)
}

fn quit(mut terminal: Terminal) {
    terminal.press("\x1d");
    terminal.wait_for("reload the UI");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

/// An editor: a shell script with the file as `$0`.
fn editor(script: &str) -> String {
    format!("sh -c '{script}'")
}

#[test]
fn while_an_editor_has_the_terminal_it_has_all_of_it_and_its_text_comes_back() {
    let home = tempfile::tempdir().expect("a home");
    let go = home.path().join("go");
    let script = format!(
        "echo editing; while [ ! -e {} ]; do sleep 0.05; done; cat; stty size; printf X >>\"$0\"",
        go.display()
    );
    let (_home, mut terminal) =
        open_with(&[("EDITOR", &editor(&script)), ("PATH", "/usr/bin:/bin")]);
    terminal.press("e");
    terminal.yes();
    terminal.wait_for("editing");
    assert!(!terminal.raw(), "the editor has the shell's mode");
    let before = terminal.sent();
    terminal.resize(100, 30);
    terminal.press("typed for the editor\n");
    std::fs::write(&go, "").expect("written");
    terminal.wait_until("the editor has read it", |seen| {
        String::from_utf8_lossy(&seen.bytes[before..])
            .matches("typed for the editor")
            .count()
            == 2
    });
    terminal.press("\x04");
    terminal.wait_for("the draftX");
    let bytes = terminal.bytes_from(before);
    let text = String::from_utf8_lossy(&bytes);
    let handed_back = text.find("\x1b[22;2t").expect("the screen is taken again");
    assert!(
        !text[..handed_back].contains('\x1b'),
        "drawn over the editor"
    );
    assert!(
        text[..handed_back].contains("30 100"),
        "the editor sees the size"
    );
    quit(terminal);
}

#[test]
fn a_ui_that_draws_all_the_time_draws_nothing_while_an_editor_has_the_terminal() {
    let mut script = wishes();
    let frame = |at: usize| Request::Frame(format!("hello from the bundle {at}").into_bytes());
    script.steps = (0..400)
        .map(|at| vec![frame(at), Request::WakeIn(Some(16))])
        .collect();
    let server = Server::start(script.build(), Honest::Yes);
    let home = tempfile::tempdir().expect("a home");
    let editor = editor("echo editing; read line; echo \"read $line\"");
    let more = [("EDITOR", editor.as_str()), ("PATH", "/usr/bin:/bin")];
    let mut terminal = Terminal::run_with(home.path(), &server.link, &more);
    terminal.wait_for("hello from the bundle");
    terminal.press("e");
    terminal.yes();
    terminal.wait_for("editing");
    let before = terminal.sent();
    for word in ["one", "two", "three"] {
        terminal.press(word);
        terminal.wait_for(word);
    }
    terminal.press("\n");
    terminal.wait_until("the screen taken again", |seen| {
        let text = String::from_utf8_lossy(&seen.bytes[before..]);
        text.contains("read onetwothree") && text.contains("\x1b[?1049h")
    });
    let bytes = terminal.bytes_from(before);
    let text = String::from_utf8_lossy(&bytes);
    let back = text.find('\x1b').expect("the screen is taken again");
    assert!(!text[..back].contains("hello"), "{text}");
    assert!(text[..back].contains("read onetwothree"), "{text}");
    quit(terminal);
}

#[test]
fn an_editor_gets_neither_the_link_nor_what_else_the_environment_held() {
    let home = tempfile::tempdir().expect("a home");
    let seen = home.path().join("seen");
    let script = editor(&format!("env >{0}.new; mv {0}.new {0}", seen.display()));
    let (_home, mut terminal) = open_with(&[
        ("EDITOR", &script),
        ("PATH", "/usr/bin:/bin"),
        ("OPENAI_API_KEY", "sk-planted"),
        ("LD_PRELOAD", ""),
    ]);
    terminal.press("e");
    let before = terminal.sent();
    terminal.yes();
    terminal.wait_until("the screen taken again", |now| {
        seen.exists() && String::from_utf8_lossy(&now.bytes[before..]).contains("\x1b[?1049h")
    });
    let text = std::fs::read_to_string(&seen).expect("readable");
    assert!(text.contains("PATH=") && text.contains("TERM="), "{text}");
    for word in ["PORTHOLE", "pho_", "planted", "LD_PRELOAD"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    quit(terminal);
}

#[test]
fn a_key_alone_starts_no_editor_and_a_no_starts_none() {
    let home = tempfile::tempdir().expect("a home");
    let trace = home.path().join("started");
    let script = editor(&format!("touch {}", trace.display()));
    let (_home, mut terminal) = open_with(&[("EDITOR", &script), ("PATH", "/usr/bin:/bin")]);
    terminal.press("e");
    terminal.wait_for("in your own editor?");
    terminal.wait_listening();
    assert!(!trace.exists());
    terminal.press("\r");
    terminal.wait_until("no dialog", |seen| {
        !seen.screen.screen().contents().contains("porthole asks")
    });
    terminal.press("x");
    terminal.wait_for("hello from the bundle");
    assert!(!trace.exists());
    quit(terminal);
}

#[test]
fn an_interrupt_while_editing_is_the_editors_alone() {
    let script = editor("trap \"echo heard\" INT; echo editing; while :; do sleep 0.05; done");
    let (_home, mut terminal) = open_with(&[("EDITOR", &script), ("PATH", "/usr/bin:/bin")]);
    terminal.press("e");
    terminal.yes();
    terminal.wait_for("editing");
    terminal.press("\x03");
    terminal.wait_for("heard");
    // The editor is killed from elsewhere; the launcher and its UI are still there.
    let group = terminal.child.process_id().expect("runs") as i32;
    kill_children(group);
    terminal.wait_for("ended with an error");
    terminal.press("x");
    terminal.wait_for("hello from the bundle");
    quit(terminal);
}

/// Kills the shells that the launcher started.
fn kill_children(parent: i32) {
    let shells = std::fs::read_dir("/proc")
        .expect("processes")
        .flatten()
        .filter_map(|entry| {
            let id: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let after = stat.rsplit(')').next()?;
            let of: i32 = after.split(' ').nth(2)?.parse().ok()?;
            (of == parent && stat.contains("(sh)")).then_some(id)
        });
    for id in shells {
        let id = Pid::from_raw(id).expect("a process");
        rustix::process::kill_process(id, Signal::KILL).expect("killed");
    }
}

#[test]
fn an_editor_that_fails_is_told_of_and_the_text_is_kept() {
    for (script, told) in [
        ("exit 1", "ended with an error"),
        ("rm \"$0\"", "the file is gone"),
        ("head -c 1100000 /dev/zero >\"$0\"", "is over 1048576 bytes"),
        ("printf \"\\\\377\" >\"$0\"", "not UTF-8"),
    ] {
        let (_home, mut terminal) =
            open_with(&[("EDITOR", &editor(script)), ("PATH", "/usr/bin:/bin")]);
        terminal.press("e");
        terminal.yes();
        terminal.wait_for(told);
        quit(terminal);
    }
    let (_home, mut terminal) = open_with(&[("EDITOR", "/nonexistent/editor")]);
    terminal.press("e");
    terminal.yes();
    terminal.wait_for("could not be started");
    quit(terminal);
}

#[test]
fn a_copy_goes_to_the_terminal_once_and_is_reported() {
    let (_home, mut terminal) = open_with(&[]);
    let before = terminal.sent();
    terminal.press("c");
    terminal.wait_for("sent 8 characters to the terminal");
    let text = String::from_utf8(terminal.bytes_from(before)).expect("text");
    assert_eq!(text.matches("\x1b]52;c;b25lIGxpbmU=\x1b\\").count(), 1);
    quit(terminal);
}

#[test]
fn a_copy_of_lines_asks_and_a_burst_of_keys_does_not_answer() {
    let (_home, mut terminal) = open_with(&[]);
    let before = terminal.sent();
    terminal.press("m\x19\x19y\x19");
    terminal.wait_for("Copy (Ctrl-Y)");
    // In one read, after silence: a yes and what follows it is no yes.
    terminal.wait_listening();
    terminal.press("\x19\x19");
    terminal.wait_deaf();
    terminal.wait_listening();
    assert!(!String::from_utf8_lossy(&terminal.bytes_from(before)).contains("\x1b]52"));
    terminal.yes();
    terminal.wait_for("sent 9 characters to the terminal");
    quit(terminal);
}

#[test]
fn through_screen_a_copy_is_wrapped_in_pieces() {
    let (_home, mut terminal) = open_with(&[("STY", "1.tty.host"), ("TERM", "screen")]);
    let before = terminal.sent();
    terminal.press("c");
    terminal.wait_for("sent 8 characters through screen");
    let text = String::from_utf8(terminal.bytes_from(before)).expect("text");
    assert!(
        text.contains("\x1bP\x1b]52;c;b25lIGxpbmU=\x07\x1b\\"),
        "{text:?}"
    );
    quit(terminal);
}

#[test]
fn a_tmux_that_never_answers_is_ended_and_the_terminal_is_asked_instead() {
    let bin = tempfile::tempdir().expect("a folder");
    let program = bin.path().join("tmux");
    std::fs::write(
        &program,
        "#!/bin/sh\necho $$ >\"$0.pid\"\nexec sleep 1000\n",
    )
    .expect("written");
    std::fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .expect("set");
    let path = format!("{}:/usr/bin:/bin", bin.path().display());
    let (_home, mut terminal) = open_with(&[("TMUX", "/nowhere,1,0"), ("PATH", &path)]);
    terminal.press("c");
    terminal.wait_for("sent 8 characters to the terminal");
    let id = std::fs::read_to_string(bin.path().join("tmux.pid")).expect("it ran");
    let state = std::fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    let alive = state
        .rsplit(')')
        .next()
        .is_some_and(|rest| rest.trim_start().starts_with(['S', 'R', 'D']));
    assert!(!alive, "{state}");
    quit(terminal);
}

#[test]
fn an_address_is_shown_where_there_is_no_browser_and_yes_copies_it() {
    let (_home, mut terminal) = open_with(&[("SSH_CONNECTION", "1"), ("DISPLAY", ":0")]);
    terminal.press("o");
    terminal.wait_for("https://example.com/page");
    terminal.wait_for("There is no browser here.");
    terminal.yes();
    terminal.wait_for("sent 24 characters to the terminal");
    quit(terminal);
}

#[test]
fn without_a_shell_to_come_back_from_nothing_is_stopped() {
    let (_home, mut terminal) = open_with(&[]);
    terminal.press("z");
    terminal.wait_for("no shell");
    terminal.press("x");
    quit(terminal);
}

#[test]
fn a_storm_of_sizes_ends_at_the_last_one() {
    let (_home, terminal) = open_with(&[]);
    for step in 0..300_u16 {
        terminal.resize(20 + step % 90, 5 + step % 40);
    }
    terminal.resize(90, 20);
    terminal.wait_until("the trust line in the last row", |seen| {
        let screen = seen.screen.screen();
        screen
            .contents_between(19, 0, 19, 90)
            .contains("Ctrl-] launcher")
    });
    quit(terminal);
}

#[test]
fn a_terminal_of_absurd_size_is_drawn_up_to_the_bound() {
    let (_home, terminal) = open_with(&[]);
    terminal.resize(9_000, 9_000);
    let row = porthole_bridge::limits::ROWS + 1;
    let place = format!("\x1b[{row};1H");
    terminal.wait_until("the trust line in the last drawn row", |seen| {
        String::from_utf8_lossy(&seen.bytes).contains(&place)
    });
    terminal.resize(80, 24);
    quit(terminal);
}

#[test]
fn an_editor_stopped_by_its_user_takes_the_launcher_along_and_both_go_on() {
    let script = editor("echo editing; read line; echo \"read $line\"; printf Y >>\"$0\"");
    let (_home, mut terminal) = open_with(&[("EDITOR", &script), ("PATH", "/usr/bin:/bin")]);
    terminal.press("e");
    terminal.yes();
    terminal.wait_for("editing");
    let group = Pid::from_raw(terminal.child.process_id().expect("runs") as i32);
    let group = group.expect("a process");
    kill_process_group(group, Signal::STOP).expect("stopped");
    kill_process_group(group, Signal::CONT).expect("continued");
    terminal.press("on\n");
    terminal.wait_for("the draftY");
    quit(terminal);
}
