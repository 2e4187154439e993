//! Hostile frames in a real multiplexer: the last row is byte for byte the same before and after, and a copy goes
//! through the multiplexer's own buffer.

use std::process::{Command, Output};

use porthole_bridge::{Action, Request};

use crate::{
    script::Script,
    server::{Honest, Server},
};

/// A tmux server of a test, with the launcher in its only window. It ends with the test.
struct Tmux {
    folder: tempfile::TempDir,
}

impl Tmux {
    fn start(link: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let tmux = Self { folder };
        let home = tmux.folder.path().display();
        let launcher = env!("CARGO_BIN_EXE_porthole");
        let inside = format!("exec env HOME={home} PORTHOLE_LINK='{link}' {launcher}");
        // The size is the last one from the start: a resize would blank the screen of a bundle that draws only once.
        let settings = tmux.folder.path().join("settings");
        std::fs::write(&settings, "set -g status off\n").expect("written");
        tmux.run(&[
            "-f",
            settings.to_str().expect("a path"),
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
            &inside,
        ]);
        tmux
    }

    fn run(&self, arguments: &[&str]) -> String {
        let Output {
            status,
            stdout,
            stderr,
        } = Command::new("tmux")
            .arg("-S")
            .arg(self.folder.path().join("socket"))
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .output()
            .expect("this test needs the program `tmux`; install it with `apt-get install tmux`");
        let said = String::from_utf8_lossy(&stderr);
        assert!(status.success(), "{arguments:?}: {said}");
        String::from_utf8(stdout).expect("text")
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    fn wait_for(&self, text: &str) -> String {
        let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
        loop {
            let screen = self.screen();
            if screen.contains(text) {
                return screen;
            }
            assert!(std::time::Instant::now() < until, "{text}:\n{screen}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux")
            .arg("-S")
            .arg(self.folder.path().join("socket"))
            .arg("kill-server")
            .output();
    }
}

/// Frames that move terminals to disagree about widths, at the edges next to the last row.
fn frames() -> Vec<Vec<u8>> {
    [
        "\x1b[23;80H中",
        "\x1b[23;79H中中中",
        "\x1b[23;80H\u{26a0}\u{fe0f}",
        "\x1b[23;78H👨\u{200d}👩\u{200d}👧👨\u{200d}👩\u{200d}👧",
        "\x1b[23;79H🇩🇪🇫🇷",
        "\x1b[23;70H①②③④⑤⑥⑦⑧⑨⑩⑪⑫",
        "\x1b[23;80H⸻",
        "\x1b[23;75Hｶﾞｶﾞｶﾞｶﾞ",
        "\x1b[24;1HSPOOF\x1b[99;1HSPOOF",
        "\x1b[?7l\x1b[23;80H中\x1b[?7h中",
        "\x1b[23;1H\u{1100}\u{1161}\u{11a8}क्षि\u{0e33}",
        "\x1b[1;1H\x1b[23M\x1b[23T\x1b[2;5r\x1b[?6h\x1bD\x1bD\x1bM",
    ]
    .map(|frame| frame.as_bytes().to_vec())
    .to_vec()
}

#[test]
fn the_last_row_is_the_same_before_and_after_hostile_frames() {
    let wake = Request::WakeIn(Some(60));
    let mut steps = vec![vec![
        Request::Frame(b"the first".to_vec()),
        Request::WakeIn(Some(1_500)),
    ]];
    for frame in frames() {
        steps.push(vec![Request::Frame(frame), wake.clone()]);
    }
    let mut last = frames().concat();
    last.extend(b"\x1b[1;1Hthe end of the show");
    steps.push(vec![Request::Frame(last)]);
    let script = Script {
        steps,
        ..Script::default()
    };
    let server = Server::start(script.build(), Honest::Yes);
    let tmux = Tmux::start(&server.link);
    let row = |screen: &str| {
        let last = screen.lines().last().unwrap_or_default().to_owned();
        // How often the link was tried is told there, and only that changes.
        last.split(" │ ").take(3).collect::<Vec<_>>().join(" │ ")
    };
    let before = row(&tmux.wait_for("the first"));
    assert!(before.contains("porthole │ 127.0.0.1:"), "{before}");
    let after = row(&tmux.wait_for("the end of the show"));
    assert_eq!(before, after);
}

#[test]
fn inside_tmux_a_copy_goes_to_its_buffer() {
    let action = Action::Copy("for the buffer".into());
    let script = Script {
        steps: vec![vec![Request::Frame(b"a bundle of text".to_vec())]],
        keys: vec![('c', vec![Request::Action { request: 1, action }])],
        ..Script::default()
    };
    let server = Server::start(script.build(), Honest::Yes);
    let tmux = Tmux::start(&server.link);
    // Not a word of the page before it, which takes no key for the UI.
    tmux.wait_for("a bundle of text");
    tmux.run(&["send-keys", "c"]);
    tmux.wait_for("sent 14 characters to tmux");
    assert_eq!(tmux.run(&["show-buffer"]), "for the buffer");
}
