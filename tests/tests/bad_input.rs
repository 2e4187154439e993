//! What people and scripts get wrong: each ends in a sentence that says what to do, and nothing is lost.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::Output,
};

use porthole_examples::model_server::Step;
use porthole_tests::World;
use serde_json::json;

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Checks the form of every failure: exit code, `error:` first, a hint, no escape bytes.
fn assert_failure(output: &Output, words: &[&str]) {
    let text = said(output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("error: "), "{text}");
    assert!(text.contains("hint: "), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[test]
fn a_port_in_use_is_named_with_what_to_do() {
    let world = World::new().expect("a world");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let bundle = world.bundle().display().to_string();
    let output = world
        .portholed(&["serve", "--listen", &address, "--bundle", &bundle])
        .expect("it runs");
    let port = address.rsplit(':').next().expect("a port");
    assert_failure(&output, &[port, "in use"]);
}

#[test]
fn a_data_folder_in_use_names_who_has_it() {
    let world = World::new().expect("a world");
    let server = world.serve().expect("a server");
    let bundle = world.bundle().display().to_string();
    let output = world
        .portholed(&["serve", "--listen", "127.0.0.1:0", "--bundle", &bundle])
        .expect("it runs");
    assert_failure(&output, &[&server.pid().to_string()]);
}

#[test]
fn commands_without_a_server_say_how_to_start_one() {
    let world = World::new().expect("a world");
    for command in ["status", "sessions", "devices"] {
        let output = world.portholed(&[command]).expect("it runs");
        assert_failure(&output, &["portholed start"]);
    }
}

#[test]
fn a_server_does_not_listen_beyond_this_machine() {
    let world = World::new().expect("a world");
    let bundle = world.bundle().display().to_string();
    let output = world
        .portholed(&["serve", "--listen", "0.0.0.0:0", "--bundle", &bundle])
        .expect("it runs");
    assert_failure(&output, &["0.0.0.0"]);
}

#[test]
fn an_unknown_model_is_refused_and_no_session_is_left_behind() {
    let world = World::new().expect("a world");
    let _server = world.serve().expect("a server");
    let dir = world.project().display().to_string();
    let output = world
        .portholed(&["new", &dir, "--model", "nobody/nothing"])
        .expect("it runs");
    assert_failure(&output, &["nobody/nothing"]);
    assert_eq!(world.ask(&["sessions", "--json"]).expect("a listing"), "[]");
}

#[test]
fn a_folder_that_is_not_there_is_refused() {
    let world = World::new().expect("a world");
    let _server = world.serve().expect("a server");
    let output = world
        .portholed(&["new", "/no/such/folder"])
        .expect("it runs");
    assert_failure(&output, &["/no/such/folder"]);
}

#[test]
fn a_folder_that_went_away_is_told_and_the_session_stays() {
    let world = World::new().expect("a world");
    let _model = world
        .model(vec![Step::text("still here")])
        .expect("a model");
    let server = world.serve().expect("a server");
    let gone = world.project().join("gone");
    fs::create_dir(&gone).expect("a folder");
    let session = world
        .ask(&["new", &gone.display().to_string()])
        .expect("a session");
    assert_eq!(
        world
            .ask(&["send", &session, "hello", "--wait"])
            .expect("an answer"),
        "still here"
    );
    let address = server.address.clone();
    server.stop();
    fs::remove_dir_all(&gone).expect("the folder goes");
    let _server = world.serve_on(&address).expect("a server");
    let output = world
        .portholed(&["send", &session, "again", "--wait"])
        .expect("it runs");
    assert_failure(&output, &["gone"]);
    assert!(
        world
            .ask(&["transcript", &session])
            .expect("a transcript")
            .contains("still here")
    );
}

#[test]
fn a_refused_key_fails_the_turn_with_one_error_that_does_not_repeat_it() {
    let world = World::new().expect("a world");
    let body = json!({ "error": { "message": "Incorrect API key provided: sk-canary0123456789abcdefghijklmn" } });
    let step = Step::Raw {
        status: 401,
        content_type: "application/json".into(),
        headers: Vec::new(),
        body: body.to_string(),
    };
    let _model = world
        .model(vec![step, Step::text("the key works now")])
        .expect("a model");
    let _server = world.serve().expect("a server");
    let session = world.session().expect("a session");
    let output = world
        .portholed(&["send", &session, "hello", "--wait"])
        .expect("it runs");
    assert_failure(&output, &["key"]);
    let transcript = world
        .ask(&["transcript", &session, "--json"])
        .expect("a transcript");
    assert_eq!(transcript.matches("\"error\"").count(), 1);
    assert!(
        !transcript.contains("canary0123456789") && !said(&output).contains("canary0123456789")
    );
    let answer = world
        .ask(&["send", &session, "and now?", "--wait"])
        .expect("an answer");
    assert_eq!(answer, "the key works now");
}

#[test]
fn links_that_are_none_are_refused_without_being_repeated() {
    let world = World::new().expect("a world");
    let cut = "http://127.0.0.1:9/#owner=pho_secretsecret";
    let foreign = "http://example.com/#owner=pho_x&key=y";
    for (link, status) in [("not a link", 2), (cut, 1), (foreign, 1)] {
        let mut terminal = world.launch(&[], Some(link), 80, 24).expect("the launcher");
        terminal.wait_until("the refusal", |state| state.closed);
        assert!(
            !terminal.text().contains("secretsecret"),
            "{}",
            terminal.text()
        );
        assert!(terminal.text().contains("hint: "), "{}", terminal.text());
        assert_eq!(terminal.wait_exit(), status);
    }
}

#[test]
fn a_server_that_is_none_is_told_apart() {
    let world = World::new().expect("a world");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let origin = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let asked = lines.take_while(|line| !line.is_empty()).count();
            assert!(asked > 0);
            stream
                .write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello",
                )
                .ok();
        }
    });
    let link = format!(
        "{origin}/#owner=pho_{}&key={}",
        "a".repeat(43),
        "b".repeat(43)
    );
    let mut terminal = world
        .launch(&[], Some(&link), 80, 24)
        .expect("the launcher");
    terminal.wait_until("the refusal", |state| state.closed);
    assert!(
        terminal
            .text()
            .to_lowercase()
            .contains("not a porthole server"),
        "{}",
        terminal.text()
    );
    assert_eq!(terminal.wait_exit(), 1);
}

#[test]
fn without_a_terminal_there_is_one_plain_line() {
    let world = World::new().expect("a world");
    let server = world.serve().expect("a server");
    let link = world.owner_link().expect("a link");
    let output = world
        .command("porthole")
        .env("PORTHOLE_LINK", &link)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b));
    assert!(said(&output).contains("terminal"), "{}", said(&output));
    drop(server);
}

#[test]
fn a_config_that_does_not_parse_names_file_and_line() {
    let world = World::new().expect("a world");
    fs::write(
        world.data().join("models.toml"),
        "default = \"a/b\"\n[provider.a]\napi = nonsense\n",
    )
    .expect("a file");
    let _server = world.serve().expect("a server");
    let output = world.portholed(&["models"]).expect("it runs");
    assert_failure(&output, &["models.toml", "3"]);
}
