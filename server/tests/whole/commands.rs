//! The program's commands against a running server, as a shell would use them.

use std::{
    path::Path,
    process::{Output, Stdio},
};

use crate::world::{self, World};
use tokio::process::Command;

pub(crate) async fn run(data: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_portholed"))
        .args(arguments)
        .arg("--data")
        .arg(data)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", data.parent().unwrap_or(data))
        .env("PORTHOLE_LOG", "trace")
        .stdin(Stdio::null())
        .output()
        .await
        .expect("runs")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns what a command printed that succeeded.
pub(crate) async fn ok(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments).await;
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Returns what a command said that failed.
pub(crate) async fn fails(data: &Path, arguments: &[&str]) -> String {
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
        &["link", "share", "--session", "a", "--mode", "view"],
        &["links"],
        &["revoke", "s-a"],
        &["devices"],
        &["sign-out", "a"],
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
    let (device, rest) = devices.trim().split_once("  ").expect("a line");
    assert!(
        rest.starts_with("my laptop  made 0 seconds ago") && rest.ends_with("from 127.0.0.1"),
        "{rest}"
    );
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

/// Ends the server that a test started, also where the test failed.
struct Stop<'a>(&'a Path);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        let program = env!("CARGO_BIN_EXE_portholed");
        let stop = std::process::Command::new(program)
            .arg("stop")
            .arg("--data")
            .arg(self.0)
            .output();
        drop(stop);
    }
}

#[tokio::test]
async fn no_token_is_ever_in_the_log_whatever_is_asked_and_however() {
    let home = tempfile::tempdir().expect("a folder");
    let bundle = home.path().join("bundle");
    world::bundle(&bundle, b"x");
    let data = home.path().join("data");
    let bundle = bundle.to_string_lossy().into_owned();
    let started = ok(
        &data,
        &["start", "--listen", "127.0.0.1:0", "--bundle", &bundle],
    )
    .await;
    let _stop = Stop(&data);
    let address = started
        .lines()
        .next()
        .and_then(|line| line.rsplit('/').next())
        .expect("an address");
    let link = porthole_door::Link::parse(&ok(&data, &["link", "owner"]).await).expect("a link");
    let token = &link.token;
    let canary = &token[4..];
    let body = format!(r#"{{"token":"{token}","name":"{token}"}}"#);
    let good = format!(r#"{{"token":"{token}","name":"x"}}"#);
    let long = token.repeat(1000);
    let mut cookies = Vec::new();
    for (line, headers, body) in [
        (format!("GET /{token} HTTP/1.1"), String::new(), ""),
        (
            format!("GET /?x={token} HTTP/1.1"),
            format!("referer: http://x/{token}\r\n"),
            "",
        ),
        (format!("GET /%zz{token} HTTP/1.1"), String::new(), ""),
        (format!("GET /{long} HTTP/1.1"), String::new(), ""),
        (
            format!("{} /door/redeem HTTP/1.1", &token[..20].to_uppercase()),
            String::new(),
            "",
        ),
        (
            "GET /link HTTP/1.1".to_owned(),
            format!("cookie: porthole-device-1={token}\r\n"),
            "",
        ),
        (
            "GET /door/admitted HTTP/1.1".to_owned(),
            format!("cookie: {token}\r\n"),
            "",
        ),
        (
            "GET / HTTP/1.1".to_owned(),
            format!("x-forwarded-for: {token}\r\n"),
            "",
        ),
        (
            "GET / HTTP/1.1".to_owned(),
            format!("origin: http://{token}\r\n"),
            "",
        ),
        (
            "POST /door/redeem HTTP/1.1".to_owned(),
            String::new(),
            &body,
        ),
        (
            "POST /door/redeem HTTP/1.1".to_owned(),
            String::new(),
            &good,
        ),
        (
            "POST /door/redeem HTTP/1.1".to_owned(),
            String::new(),
            &good,
        ),
    ] {
        let text = format!(
            "{line}\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{headers}\r\n{body}",
            body.len()
        );
        let answer = world::http(address.parse().expect("an address"), &text).await;
        assert!(
            !answer.body.contains(canary),
            "nor told back: {}",
            answer.body
        );
        let cookie = answer
            .head
            .lines()
            .find_map(|line| line.split_once("=phd_"));
        cookies.extend(cookie.map(|(_, value)| value[..43].to_owned()));
    }
    assert_eq!(cookies.len(), 1, "redeemed once");
    let mut read = String::new();
    for entry in std::fs::read_dir(data.join("log")).expect("a folder") {
        read += &std::fs::read_to_string(entry.expect("an entry").path()).expect("text");
    }
    assert!(read.contains("was let in"), "the log is written: {read}");
    for secret in [canary, &cookies[0]] {
        assert!(!read.contains(secret), "{read}");
    }
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
    let _stop = Stop(&data);
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
    assert_eq!(entries[0]["body"]["message"]["text"], "list the files");
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
        &["service"],
        &["link"],
        &["link", "owner"],
        &["link", "share"],
        &["links"],
        &["revoke"],
        &["debug"],
        &["devices"],
        &["sign-out"],
        &["sessions"],
        &["new"],
        &["send"],
        &["transcript"],
        &["models"],
        &["mcp"],
        &["logs"],
        &["env"],
        &["debug", "model-stream"],
        &["debug", "redact"],
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

#[tokio::test]
async fn output_that_cannot_be_written_is_a_failure() {
    let world = World::new().await;
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("a device that is always full");
    let output = Command::new(env!("CARGO_BIN_EXE_portholed"))
        .args(["status", "--json", "--data"])
        .arg(world.data())
        .stdout(full)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("starts")
        .wait_with_output()
        .await
        .expect("runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot write the output"));
}

#[tokio::test]
async fn a_share_link_is_told_in_words_listed_with_its_guests_and_revoked() {
    let world = World::new().await;
    let data = world.data();
    let session = ok(&data, &["new", "/"]).await;
    let share = [
        "link",
        "share",
        "--session",
        session.trim(),
        "--mode",
        "full",
    ];
    let wishes = ["--name", "the team", "--expires", "2d", "--may-approve"];
    let output = run(&data, &[&share[..], &wishes[..]].concat()).await;
    let (link, told) = (text(&output.stdout), text(&output.stderr));
    let token = porthole_door::Link::parse(&link).expect("a link").token;
    for words in [
        "a shell on your machine",
        "answer in your place",
        "ends in 2 days",
        "only this machine",
    ] {
        assert!(told.contains(words), "{told}");
    }
    assert!(!told.contains(&token), "the secret is in the output alone");
    let body = serde_json::json!({ "token": token, "name": "Mi\u{1b}ra" });
    let answer = world.post("/door/redeem", "", &body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let listed = ok(&data, &["links"]).await;
    for part in [
        "\"the team\"",
        "full, may approve",
        "Mi<001B>ra (unverified)",
        "last here 0 seconds ago",
    ] {
        assert!(listed.contains(part), "{listed}");
    }
    assert!(!listed.contains(&token), "shown once");
    let rows: serde_json::Value =
        serde_json::from_str(&ok(&data, &["links", "--json"]).await).expect("JSON");
    let id = rows[0]["id"].as_str().expect("an id");
    assert_eq!(rows[0]["guests"][0]["here"], false);
    ok(&data, &["revoke", id]).await;
    assert_eq!(
        world.get("/door/admitted", &answer.cookie()).await.status,
        401
    );
    let again = fails(&data, &["revoke", id]).await;
    assert!(
        again.contains("hint: `portholed links` lists them"),
        "{again}"
    );
    let wrong = [&share[..], &["--expires", "soon"]].concat();
    assert!(
        fails(&data, &wrong)
            .await
            .contains("hint: write it as `30m`")
    );
    let missing = ["link", "share", "--session", "nope", "--mode", "view"];
    let output = run(&data, &missing).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("error: there is no such session"));
}
