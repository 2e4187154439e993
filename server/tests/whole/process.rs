//! The program as a process: signals, hanging, dying, being started twice; and what becomes of what it started.

use std::{path::Path, process::Stdio, time::Duration};

use porthole_protocol::{Call, replies};
use rustix::process::Signal;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
};

use crate::{
    commands::{fails, ok, run, text},
    real::{self, Real, signal, with_command},
    world::{self, SOON, eventually},
};

/// Starts a command in a session that goes on in every way a command can; returns a text that tells its processes.
async fn run_forever(server: &Real, mark: u32) -> (String, Command) {
    let data = server.data();
    let session = ok(&data, &["new", "/", "--model", "practice/practice"]).await;
    let time = format!("{}{mark}", std::process::id());
    let line =
        format!("run (sleep {time}) & setsid sh -c 'sleep {time}; true' & sleep {time}; true");
    let mut send = Command::new(env!("CARGO_BIN_EXE_portholed"));
    send.args([
        "send",
        session.trim(),
        &line,
        "--wait",
        "--answer",
        "yes",
        "--data",
    ])
    .arg(&data)
    .stdout(Stdio::null())
    .stderr(Stdio::null())
    .kill_on_drop(true);
    (format!("sleep\0{time}"), send)
}

#[tokio::test]
async fn no_command_outlives_a_worker_that_was_killed() {
    let server = Real::serve().await;
    let (mark, mut send) = run_forever(&server, 1).await;
    let _send = send.spawn().expect("sends");
    eventually("three commands run", || with_command(&mark).len() == 3).await;
    let worker = server.workers()[0];
    signal(worker, Signal::KILL);
    eventually("none is left", || with_command(&mark).is_empty()).await;
}

#[tokio::test]
async fn a_server_that_was_killed_takes_workers_and_commands_along() {
    let server = Real::serve().await;
    let (mark, mut send) = run_forever(&server, 2).await;
    let _send = send.spawn().expect("sends");
    eventually("three commands run", || with_command(&mark).len() == 3).await;
    let worker = server.workers()[0];
    signal(server.pid(), Signal::KILL);
    let gone = || with_command(&mark).is_empty() && !real::command_line(worker).contains("worker");
    eventually("nothing is left", gone).await;
}

#[tokio::test]
async fn term_and_interrupt_end_it_in_order_and_free_the_folder() {
    for by in [Signal::TERM, Signal::INT] {
        let mut server = Real::serve().await;
        let mut owner = server.owner().await;
        let session = owner.new_session("r").await;
        let topic = world::conversation(&session);
        owner.watch(topic.clone()).await;
        owner.snapshot(&topic).await;
        let worker = server.workers()[0];
        let begun = std::time::Instant::now();
        assert_eq!(server.end(by).await, Some(0), "{by:?}");
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert!(!real::command_line(worker).contains("worker"));
        let told = fails(&server.data(), &["status"]).await;
        assert!(told.contains("no server is running"), "{told}");
        let kept = server.data().join("sessions").join(session.as_str());
        // Whoever only reads, as the search does, leaves an empty one behind.
        let log = std::fs::metadata(kept.join("session.db-wal"));
        assert_eq!(log.map_or(0, |log| log.len()), 0, "the store was closed");
    }
}

#[tokio::test]
async fn a_second_server_is_told_who_has_the_folder_also_where_that_one_hangs() {
    let server = Real::serve().await;
    signal(server.pid(), Signal::STOP);
    let second = real::command(server.home.path(), &[])
        .output()
        .await
        .expect("runs");
    let told = text(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{told}");
    let holder = format!(
        "process {}, which listens on http://{}, since ",
        server.pid(),
        server.address
    );
    assert!(told.contains(&holder), "{told}");
    for arguments in [&["status"][..], &["stop"], &["start"]] {
        let told = fails(&server.data(), arguments).await;
        assert!(
            told.contains("the server does not answer: it is process"),
            "{told}"
        );
        assert!(
            told.contains(&format!("kill -9 {}", server.pid())),
            "{told}"
        );
    }
    signal(server.pid(), Signal::CONT);
    ok(&server.data(), &["status"]).await;
}

#[tokio::test]
async fn a_started_server_outlives_its_shell_and_reads_its_bundle_again_when_told_to() {
    let home = tempfile::tempdir().expect("a folder");
    let (data, bundle) = (home.path().join("data"), home.path().join("bundle"));
    world::bundle(&bundle, b"one");
    let line = format!(
        "{} start --listen 127.0.0.1:0 --data {} --bundle {} && kill -HUP 0",
        env!("CARGO_BIN_EXE_portholed"),
        data.display(),
        bundle.display()
    );
    let shell = Command::new("setsid")
        .args(["--wait", "sh", "-c", &line])
        .output();
    let shell = tokio::time::timeout(SOON, shell)
        .await
        .expect("in time")
        .expect("runs");
    assert!(
        text(&shell.stdout).starts_with("Running at"),
        "{}",
        text(&shell.stderr)
    );
    let status = status(&data).await;
    world::bundle(&bundle, b"two");
    signal(
        u32::try_from(status["pid"].as_u64().expect("a number")).expect("a process"),
        Signal::HUP,
    );
    let before = status["bundle"].clone();
    let begun = std::time::Instant::now();
    while self::status(&data).await["bundle"] == before {
        assert!(begun.elapsed() < SOON, "the bundle is read again");
    }
    ok(&data, &["stop"]).await;
}

async fn status(data: &Path) -> serde_json::Value {
    serde_json::from_str(&ok(data, &["status", "--json"]).await).expect("JSON")
}

#[tokio::test]
async fn start_says_why_there_is_no_server() {
    let server = Real::serve().await;
    let home = tempfile::tempdir().expect("a folder");
    let bundle = server.home.path().join("bundle").display().to_string();
    let listen = server.address.to_string();
    let start = ["start", "--listen", &listen, "--bundle", &bundle];
    let told = fails(&home.path().join("data"), &start).await;
    let port = format!("port {} is in use", server.address.port());
    assert!(
        told.contains(&port) && told.contains("hint: is a server running?"),
        "{told}"
    );
}

#[tokio::test]
async fn the_unit_is_one_that_systemd_takes() {
    let home = tempfile::tempdir().expect("a folder");
    let data = home.path().join("da ta");
    ok(
        &data,
        &["service", "install", "--public-url", "https://box.example"],
    )
    .await;
    let unit = home.path().join(".config/systemd/user/portholed.service");
    let verify = Command::new("systemd-analyze")
        .arg("verify")
        .arg("--user")
        .arg("--man=no")
        .arg(&unit)
        .output();
    match verify.await {
        Ok(told) => {
            let told = [text(&told.stderr), text(&told.stdout)].concat();
            assert!(!told.contains("portholed.service"), "{told}");
        }
        Err(_) => assert!(unit.is_file(), "`systemd-analyze` is not there to judge it"),
    }
}

#[tokio::test]
async fn what_a_worker_printed_is_kept_and_a_source_that_is_none_is_refused() {
    let server = Real::serve().await;
    let mut owner = server.owner().await;
    let session = owner.new_session("r").await;
    let topic = world::conversation(&session);
    owner.watch(topic.clone()).await;
    let (life, _) = owner.snapshot(&topic).await;
    signal(server.workers()[0], Signal::KILL);
    assert_eq!(owner.snapshot(&topic).await.0, life + 1, "it lives again");
    let data = server.data();
    for source in [session.as_str().to_owned(), format!("worker-{session}")] {
        let kept = ok(&data, &["logs", "--source", &source]).await;
        assert!(
            kept.contains(&format!(
                "life {life} is over: the worker ended (signal: 9 (SIGKILL))"
            )),
            "{kept}"
        );
    }
    let told = fails(&data, &["logs", "--source", "nonsense"]).await;
    assert!(
        told.contains("there is no source `nonsense`") && told.contains(session.as_str()),
        "{told}"
    );
    let retry = Call::SessionRetry { session };
    owner
        .call::<replies::Done>(retry)
        .await
        .expect("it is no failure");
}

#[tokio::test]
async fn what_a_log_would_keep_can_be_seen() {
    let home = tempfile::tempdir().expect("a folder");
    let data = home.path().join("data");
    let mut child = Command::new(env!("CARGO_BIN_EXE_portholed"))
        .args(["debug", "redact", "--data"])
        .arg(&data)
        .env("WORK_API_KEY", "known-Canary-1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut stdin = child.stdin.take().expect("an input");
    let input = b"a known-Canary-1 b\nauthorization: Bearer abcdefghijkl0123456\nplain";
    tokio::io::AsyncWriteExt::write_all(&mut stdin, input)
        .await
        .expect("writes");
    drop(stdin);
    let output = child.wait_with_output().await.expect("ends");
    assert_eq!(
        text(&output.stdout),
        "a [redacted: WORK_API_KEY] b\nauthorization: [redacted]\nplain\n"
    );
    assert!(!data.exists(), "nothing is made");
    assert_eq!(
        run(&data, &["debug", "redact"]).await.status.code(),
        Some(0)
    );
}

#[tokio::test]
async fn what_a_detached_server_prints_is_kept_redacted_and_there_when_it_is_gone() {
    let home = tempfile::tempdir().expect("a folder");
    let (data, bundle) = (home.path().join("data"), home.path().join("bundle"));
    world::bundle(&bundle, b"one");
    std::fs::create_dir_all(data.join("log")).expect("made");
    std::fs::write(data.join("log/start.log"), "known-Canary-1").expect("written");
    let started = Command::new(env!("CARGO_BIN_EXE_portholed"))
        .args(["start", "--listen", "127.0.0.1:0", "--data"])
        .arg(&data)
        .arg("--bundle")
        .arg(&bundle)
        .env("WORK_API_KEY", "known-Canary-1")
        .output()
        .await
        .expect("runs");
    assert!(started.status.success(), "{}", text(&started.stderr));
    let pid = status(&data).await["pid"].clone();
    std::fs::write(
        format!("/proc/{pid}/fd/2"),
        "a library says known-Canary-1\nand more\n",
    )
    .expect("printed");
    let kept = || portholed::diagnostics::read(&data, portholed::diagnostics::SERVER_SOURCE);
    world::eventually("it is kept", || kept().total() == 2).await;
    ok(&data, &["stop"]).await;
    let told = ok(&data, &["logs", "--source", "server-stderr"]).await;
    assert_eq!(told, "a library says [redacted: WORK_API_KEY]\nand more\n");
    let grep = Command::new("grep")
        .args(["-r", "known-Canary-1"])
        .arg(&data)
        .output()
        .await
        .expect("runs");
    assert_eq!(grep.status.code(), Some(1), "{}", text(&grep.stdout));
}

#[tokio::test]
async fn a_copied_session_goes_on_by_itself_and_what_was_allowed_does_not_go_along() {
    let server = Real::serve().await;
    let data = server.data();
    let new = ["new", "/", "--title", "One", "--model", "practice/practice"];
    let first = ok(&data, &new).await.trim().to_owned();
    ok(&data, &["send", &first, "hello there", "--wait"]).await;
    let copied = ok(&data, &["clone", &first]).await.trim().to_owned();
    let both = [&first, &copied];
    for session in both {
        let said = ok(&data, &["transcript", session]).await;
        assert!(said.contains("hello there"), "{said}");
    }
    ok(&data, &["send", &copied, "only here", "--wait"]).await;
    assert!(
        !ok(&data, &["transcript", &first])
            .await
            .contains("only here")
    );
    let listed = ok(&data, &["sessions"]).await;
    assert!(listed.contains("One (copy)"), "{listed}");
    ok(&data, &["delete", &first]).await;
    let listed = ok(&data, &["sessions"]).await;
    assert!(
        !listed.contains(&first) && listed.contains(&copied),
        "{listed}"
    );
    fails(&data, &["transcript", &first]).await;
    ok(&data, &["restore", &first]).await;
    assert!(
        ok(&data, &["transcript", &first])
            .await
            .contains("hello there")
    );
}

#[tokio::test]
async fn a_server_of_another_version_is_told_from_one_that_is_broken() {
    let home = tempfile::tempdir().expect("a folder");
    let data = home.path().join("data");
    std::fs::create_dir_all(data.join("run")).expect("made");
    let socket = tokio::net::UnixListener::bind(data.join("run/socket")).expect("listens");
    let hello = |protocol: u32| {
        format!(
            r#"{{"hello":{{"protocol":{protocol},"server":"9","machine":"box","who":{{"role":"owner","id":"owner","name":"o"}},"home":"","new":1}}}}"#
        )
    };
    for (first, expected) in [
        (hello(0), "speaks protocol 0, this command 1"),
        (hello(2), "speaks protocol 2, this command 1"),
        (
            r#"{"greetings":{}}"#.to_owned(),
            "the server's answer does not parse",
        ),
    ] {
        let answer = async {
            let (stream, _) = socket.accept().await.expect("comes");
            let mut stream = BufReader::new(stream);
            let mut asked = String::new();
            stream.read_line(&mut asked).await.expect("asks");
            let line = format!("{first}\n");
            stream.write_all(line.as_bytes()).await.expect("answers");
            stream
        };
        let (told, _stream) = tokio::join!(fails(&data, &["sessions"]), answer);
        assert!(told.contains(expected), "{told}");
        assert!(told.contains("hint: "), "{told}");
    }
}
