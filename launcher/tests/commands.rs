//! The launcher's commands that look at foreign bytes or at this computer, as a script runs them: into a pipe.

#[expect(dead_code, reason = "the tests of hostile bundles use more of it")]
#[path = "guest/text.rs"]
mod text;

use std::process::{Command, Output};

use text::Text;

fn porthole(arguments: &[&str], home: &std::path::Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_porthole"))
        .args(arguments)
        .env_clear()
        .env("HOME", home)
        .env("TERM", "xterm-256color")
        .output()
        .expect("starts")
}

#[test]
fn debug_bundle_says_whether_why_not_and_what_is_in_it() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("ui.wasm");
    let path = file.to_str().expect("text");
    let import = Text::importing(r#"(import "host" "\1b[2J" (func))"#).build();
    let vectors = Text::first("(drop (v128.const i64x2 0 0))").build();
    let starts = Text::sound().with("(func $s unreachable) (start $s)");
    for (bytes, status, out, err) in [
        (Text::sound().build(), 0, "accepted", ""),
        (
            import,
            1,
            "porthole.post, host.␛[2J",
            "does not offer. (host.␛[2J)",
        ),
        (vectors, 1, "refused", "not a module this launcher can run"),
        (starts.build(), 1, "refused", "The interface crashed."),
    ] {
        let size = format!("{} bytes", bytes.len());
        std::fs::write(&file, bytes).expect("written");
        let answer = porthole(&["debug", "bundle", path], home.path());
        let said = String::from_utf8(answer.stdout).expect("text");
        let failed = String::from_utf8(answer.stderr).expect("text");
        assert_eq!(answer.status.code(), Some(status), "{said}{failed}");
        assert!(said.contains(out) && said.contains(&size), "{said}");
        assert!(failed.contains(err), "{failed}");
        assert!(!said.contains('\x1b') && !failed.contains('\x1b'));
    }
    let answer = porthole(&["debug", "bundle", "/nowhere"], home.path());
    assert_eq!(answer.status.code(), Some(1));
}

#[test]
fn doctor_says_into_a_pipe_which_walls_stand_and_how_often_each_was_tried() {
    let home = tempfile::tempdir().expect("a folder");
    let said = String::from_utf8(porthole(&["doctor"], home.path()).stdout).expect("text");
    for wall in ["limits", "privileges", "files", "calls"] {
        let line = said
            .lines()
            .find(|line| line.contains(&format!("wall: {wall}")));
        let line = line.unwrap_or_else(|| panic!("{said}"));
        assert!(
            line.starts_with("  ok ") && line.contains("ways tried"),
            "{line}"
        );
    }
    let json = porthole(&["doctor", "--json"], home.path()).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).expect("one value");
    assert_eq!(json["sandbox"]["walls"]["calls"], true, "{json}");
    let tried = json["sandbox"]["tried"].as_array().expect("a list");
    assert!(
        tried
            .iter()
            .any(|tried| tried["what"] == "make a process" && tried["held"] == true)
    );
}
