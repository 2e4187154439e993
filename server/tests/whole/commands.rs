//! The program's commands against a running server, as a shell would use them.

use std::{
    path::Path,
    process::{Output, Stdio},
};

use crate::world::{self, World};
use tokio::process::Command;

async fn run(data: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_portholed"))
        .args(arguments)
        .arg("--data")
        .arg(data)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", data.parent().unwrap_or(data))
        .stdin(Stdio::null())
        .output()
        .await
        .expect("runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns what a command printed that succeeded.
async fn ok(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments).await;
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Returns what a command said that failed.
async fn fails(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments).await;
    assert_eq!(
        output.status.code(),
        Some(1),
        "{arguments:?}: {}",
        text(&output.stdout)
    );
    let told = text(&output.stderr);
    assert!(told.starts_with("error: "), "{told}");
    told
}

#[tokio::test]
async fn without_a_server_every_command_says_how_to_start_one() {
    let home = tempfile::tempdir().expect("a folder");
    for arguments in [
        &["status"][..],
        &["stop"],
        &["link", "owner"],
        &["devices"],
        &["sessions"],
        &["new"],
        &["send", "abc", "hi"],
        &["models"],
    ] {
        let told = fails(home.path(), arguments).await;
        assert!(
            told.contains("\n\nhint: start one with `portholed start`"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn wrong_usage_is_another_status() {
    let home = tempfile::tempdir().expect("a folder");
    for arguments in [
        &["nonsense"][..],
        &["send"],
        &["send", "a", "b", "--answer", "yes"],
        &["serve", "--listen", "x"],
    ] {
        assert_eq!(
            run(home.path(), arguments).await.status.code(),
            Some(2),
            "{arguments:?}"
        );
    }
}

#[tokio::test]
async fn status_counts_what_there_is() {
    let world = World::new().await;
    let data = world.data();
    let session = ok(&data, &["new", "/", "--title", "A \u{1b}[2Jtitle"]).await;
    let status: serde_json::Value =
        serde_json::from_str(&ok(&data, &["status", "--json"]).await).expect("JSON");
    assert_eq!(status["sessions"], 1);
    assert_eq!(status["pid"], std::process::id());
    assert_eq!(status["address"], format!("http://{}", world.address));
    let listed = ok(&data, &["sessions"]).await;
    assert!(
        listed.contains(session.trim()) && !listed.contains('\u{1b}'),
        "{listed:?}"
    );
    let listed: serde_json::Value =
        serde_json::from_str(&ok(&data, &["sessions", "--json"]).await).expect("JSON");
    assert_eq!(listed[0]["id"], session.trim());
}

#[tokio::test]
async fn an_owner_link_admits_a_device_that_can_be_signed_out() {
    let world = World::new().await;
    let data = world.data();
    let output = run(&data, &["link", "owner"]).await;
    let link = porthole_door::Link::parse(&text(&output.stdout)).expect("a link");
    let told = text(&output.stderr);
    assert!(
        told.contains("only this machine") && !told.contains(&link.token),
        "{told}"
    );
    let body = format!(r#"{{"token":"{}","name":"my laptop"}}"#, link.token);
    assert_eq!(world.post("/door/redeem", "", &body).await.status, 200);
    let devices = ok(&data, &["devices"]).await;
    let (device, name) = devices.trim().split_once("  ").expect("a line");
    assert_eq!(name, "my laptop");
    ok(&data, &["sign-out", device]).await;
    assert!(
        fails(&data, &["sign-out", device])
            .await
            .contains("no such device")
    );
}

#[tokio::test]
async fn a_session_is_sent_to_and_an_unknown_one_is_named() {
    let world = World::new().await;
    let data = world.data();
    let session = ok(&data, &["new", "/"]).await;
    ok(&data, &["send", session.trim(), "hello"]).await;
    assert!(
        fails(&data, &["send", "nope", "hello"])
            .await
            .contains("no such session")
    );
    assert!(
        fails(&data, &["send", "../x", "hello"])
            .await
            .contains("no session id")
    );
    assert!(
        fails(&data, &["new", "/no/such"])
            .await
            .contains("`/no/such`")
    );
}

#[tokio::test]
async fn start_and_stop_leave_nothing_behind() {
    let home = tempfile::tempdir().expect("a folder");
    let bundle = home.path().join("bundle");
    world::bundle(&bundle, b"x");
    let bundle = bundle.to_string_lossy().into_owned();
    // Deep enough that the socket's path alone would not fit.
    let data = home.path().join("d".repeat(60)).join("e".repeat(60));
    let start = ["start", "--listen", "127.0.0.1:0", "--bundle", &bundle];
    let told = ok(&data, &start).await;
    assert!(told.starts_with("Running at http://127.0.0.1:"), "{told}");
    assert!(told.contains("`portholed stop`"), "{told}");
    assert!(
        ok(&data, &start).await.starts_with("Already running"),
        "once is enough"
    );
    let serve = ["serve", "--listen", "127.0.0.1:0", "--bundle", &bundle];
    let told = fails(&data, &serve).await;
    assert!(told.contains("in use by process"), "{told}");
    ok(&data, &["stop"]).await;
    assert!(
        fails(&data, &["status"])
            .await
            .contains("no server is running")
    );
    let log = ok(&data, &["logs", "--source", "serve"]).await;
    assert!(log.contains("ended"), "{log}");
}

#[tokio::test]
async fn a_conversation_is_held_from_the_shell_alone() {
    let home = tempfile::tempdir().expect("a folder");
    let (bundle, work) = (home.path().join("bundle"), home.path().join("work"));
    world::bundle(&bundle, b"x");
    std::fs::create_dir(&work).expect("made");
    std::fs::write(work.join("one-file"), "hello").expect("written");
    let data = home.path().join("data");
    let bundle = bundle.to_string_lossy().into_owned();
    let work = work.to_string_lossy().into_owned();
    ok(
        &data,
        &["start", "--listen", "127.0.0.1:0", "--bundle", &bundle],
    )
    .await;
    let told = fails(&data, &["new", &work, "--model", "no/such"]).await;
    assert!(told.contains("`no/such` is not configured"), "{told}");
    let session = ok(&data, &["new", &work, "--model", "practice/practice"]).await;
    let session = session.trim();
    let answer = ok(&data, &["send", session, "list the files", "--wait"]).await;
    assert!(answer.contains("one-file"), "{answer}");
    let ran = [
        "send",
        session,
        "run echo it-ran > proof",
        "--wait",
        "--answer",
    ];
    ok(&data, &[&ran[..], &["no"]].concat()).await;
    assert!(!home.path().join("work/proof").exists(), "it was told no");
    ok(&data, &[&ran[..], &["yes"]].concat()).await;
    assert!(home.path().join("work/proof").exists(), "it was told yes");
    let entries: serde_json::Value =
        serde_json::from_str(&ok(&data, &["transcript", session, "--json"]).await).expect("JSON");
    assert_eq!(entries[0]["body"]["text"], "list the files");
    ok(&data, &["stop"]).await;
}

#[tokio::test]
async fn sending_gives_a_failed_session_another_chance() {
    let world = World::new().await;
    let data = world.data();
    let session = ok(&data, &["new", "/"]).await;
    let trap = data
        .join("sessions")
        .join(session.trim())
        .join("open-fails");
    std::fs::write(&trap, "").expect("written");
    let told = fails(&data, &["send", session.trim(), "hello"]).await;
    assert!(told.contains("no such model"), "{told}");
    std::fs::remove_file(&trap).expect("removed");
    ok(&data, &["send", session.trim(), "hello"]).await;
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why_through_start() {
    let home = tempfile::tempdir().expect("a folder");
    let bundle = home.path().to_string_lossy().into_owned();
    let told = fails(
        &home.path().join("data"),
        &["start", "--listen", "127.0.0.1:0", "--bundle", &bundle],
    )
    .await;
    assert!(told.contains("porthole-ui.wasm"), "{told}");
    assert!(told.contains("hint: `cargo xtask bundle`"), "{told}");
}

#[tokio::test]
async fn every_command_shows_an_example() {
    let home = tempfile::tempdir().expect("a folder");
    for command in [
        &["serve"][..],
        &["start"],
        &["stop"],
        &["service", "install"],
        &["status"],
        &["link", "owner"],
        &["devices"],
        &["sign-out"],
        &["sessions"],
        &["new"],
        &["send"],
        &["transcript"],
        &["models"],
        &["logs"],
        &["env"],
        &["debug", "model-stream"],
    ] {
        let arguments = [command, &["--help"]].concat();
        let output = Command::new(env!("CARGO_BIN_EXE_portholed"))
            .args(&arguments)
            .current_dir(home.path())
            .output()
            .await
            .expect("runs");
        assert!(text(&output.stdout).contains("Example:"), "{command:?}");
    }
}
