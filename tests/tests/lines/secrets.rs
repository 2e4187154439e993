//! Where a link's token and the cookie are: in the credential record, and nowhere else that can be looked at.

use std::{fs, path::Path};

use porthole_tests::{World, process};

use super::{COLS, ROWS, leave};

/// Every file below a folder with its bytes.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&path, found),
            Ok(kind) if kind.is_file() => {
                let bytes = fs::read(&path).unwrap_or_default();
                found.push((path.display().to_string(), bytes));
            }
            _ => {}
        }
    }
}

fn holds(bytes: &[u8], secret: &str) -> bool {
    bytes
        .windows(secret.len())
        .any(|part| part == secret.as_bytes())
}

/// Asserts that no process of these shows the secret among its arguments or variables.
fn assert_not_listed(root: u32, secret: &str) {
    for pid in process::tree(root) {
        for list in ["cmdline", "environ"] {
            let shown = fs::read(format!("/proc/{pid}/{list}")).unwrap_or_default();
            assert!(
                !holds(&shown, secret),
                "`{list}` of {:?}",
                process::command_line(pid)
            );
        }
    }
}

/// Returns the value of the one cookie that is kept.
fn cookie(world: &World) -> String {
    let mut found = Vec::new();
    files(&world.home().join(".state"), &mut found);
    let record = found.iter().find(|(name, _)| name.ends_with(".json"));
    let record: serde_json::Value =
        serde_json::from_slice(&record.expect("a record").1).expect("JSON");
    record["cookie_value"]
        .as_str()
        .expect("a cookie")
        .to_owned()
}

#[test]
fn a_link_and_a_cookie_are_seen_nowhere_but_in_the_private_record() {
    for by_argument in [false, true] {
        let world = World::new().expect("a world");
        let server = world.serve().expect("a server");
        let link = world.owner_link().expect("a link");
        let token = link
            .split_once("owner=")
            .expect("a token")
            .1
            .split('&')
            .next()
            .expect("whole");
        let terminal = match by_argument {
            true => world.launch(&[&link], None, COLS, ROWS),
            false => world.launch(&[], Some(&link), COLS, ROWS),
        };
        let terminal = terminal.expect("the launcher");
        terminal.wait_for("No sessions yet");
        let cookie = cookie(&world);
        assert!(cookie.starts_with("phd_"));
        for secret in [token, &cookie] {
            assert_not_listed(terminal.pid(), secret);
            assert_not_listed(server.pid(), secret);
            assert!(
                !terminal.look(|state| holds(&state.bytes, secret)),
                "on the terminal"
            );
        }
        leave(terminal);
        let mut found = Vec::new();
        files(&world.home(), &mut found);
        for (name, bytes) in found {
            assert!(!holds(&bytes, token), "the link's token is in {name}");
            let is_record = name.contains("/.state/porthole/credentials/");
            assert!(
                is_record || !holds(&bytes, &cookie),
                "the cookie is in {name}"
            );
        }
    }
}
