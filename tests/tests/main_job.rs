//! The main job, with the real programs in a real terminal: link, ask, stream, tool, approve, quit, return, crash, resume.

use std::{fs, time::Duration};

use porthole_examples::model_server::{ModelServer, Step};
use porthole_tests::{Server, Terminal, World, process};
use rustix::process::Signal;
use serde_json::{Value, json};

const COLS: u16 = 100;
const ROWS: u16 = 30;

/// A person in front of a new session, with a scripted model behind it.
struct Scene {
    world: World,
    model: ModelServer,
    server: Server,
    session: String,
    terminal: Terminal,
}

impl Scene {
    fn open(script: Vec<Step>) -> Self {
        let world = World::new().expect("a world");
        let model = world.model(script).expect("a model");
        let server = world.serve().expect("a server");
        let session = world.session().expect("a session");
        let link = world.owner_link().expect("a link");
        let terminal = world
            .launch(&["--session", &session], Some(&link), COLS, ROWS)
            .expect("the launcher");
        terminal.wait_for("Enter send");
        Self {
            world,
            model,
            server,
            session,
            terminal,
        }
    }
}

/// Focuses the question and answers it.
fn answer(terminal: &mut Terminal, key: &str) {
    terminal.wait_for("needs you");
    terminal.send("\x1bq");
    terminal.wait_for("Esc back");
    terminal.send(key);
    terminal.wait_gone("needs you");
}

fn leave(mut terminal: Terminal) {
    terminal.send("\x03");
    terminal.wait_for("again");
    terminal.send("\x03");
    assert_eq!(terminal.wait_exit(), 0);
}

/// Returns the roles and texts of the messages of a request.
fn contents(request: &Value) -> String {
    request["messages"].to_string()
}

#[test]
fn a_person_asks_approves_leaves_and_comes_back() {
    let mut scene = Scene::open(vec![
        Step::tool(
            "shell",
            json!({ "command": "echo from-the-tool > made.txt; cat made.txt" }),
        ),
        Step::text("The command said from-the-tool and that is all."),
    ]);
    scene.terminal.type_and_see("please run it");
    scene.terminal.send("\r");
    scene.terminal.wait_for("needs you");
    assert!(
        !scene.world.project().join("made.txt").exists(),
        "nothing runs before the yes"
    );
    assert!(
        scene.terminal.text().contains("echo from-the-tool"),
        "the question shows the command:\n{}",
        scene.terminal.text()
    );
    answer(&mut scene.terminal, "y");
    scene.terminal.wait_for("and that is all.");
    assert_eq!(
        fs::read_to_string(scene.world.project().join("made.txt")).expect("the file"),
        "from-the-tool\n"
    );

    let requests = scene.model.requests();
    assert_eq!(requests.len(), 2);
    assert!(contents(&requests[0]).contains("please run it"));
    let result = contents(&requests[1]);
    assert!(
        result.contains("\"role\":\"tool\"") && result.contains("from-the-tool"),
        "{result}"
    );

    leave(scene.terminal);
    let again = scene
        .world
        .launch(&["--session", &scene.session], None, COLS, ROWS)
        .expect("the launcher");
    again.wait_for("and that is all.");
    again.wait_for("please run it");
    leave(again);
    assert_eq!(scene.server.stop(), Some(0));
}

#[test]
fn a_used_link_is_told_and_nothing_opens() {
    let world = World::new().expect("a world");
    let _server = world.serve().expect("a server");
    let link = world.owner_link().expect("a link");
    let terminal = world
        .launch(&[], Some(&link), COLS, ROWS)
        .expect("the launcher");
    terminal.wait_for("No sessions yet");
    leave(terminal);
    fs::remove_dir_all(world.home().join(".state")).expect("the credential goes");
    let mut refused = world
        .launch(&[], Some(&link), COLS, ROWS)
        .expect("the launcher");
    refused.wait_until("the refusal", |state| state.text().contains("used"));
    assert_eq!(refused.wait_exit(), 1);
}

#[test]
fn an_answer_goes_on_after_the_worker_was_killed_in_the_middle() {
    let mut scene = Scene::open(vec![
        Step::Hold {
            before: vec!["half of it ".into()],
            after: vec!["never".into()],
        },
        Step::text("the whole of it, once."),
    ]);
    scene.terminal.type_and_see("tell me");
    scene.terminal.send("\r");
    scene.terminal.wait_for("half of it");
    process::signal(scene.server.worker(), Signal::KILL);
    scene.terminal.wait_for("the whole of it, once.");
    scene.terminal.wait_gone("half of it");
    assert_eq!(
        scene.terminal.text().matches("▌ tell me").count(),
        1,
        "{}",
        scene.terminal.text()
    );
    assert_eq!(scene.model.requests().len(), 2);
    assert_eq!(
        contents(&scene.model.requests()[1])
            .matches("tell me")
            .count(),
        1
    );
}

#[test]
fn a_turn_goes_on_after_the_server_was_killed_and_a_started_command_is_not_run_again() {
    let command = "echo run >> runs.txt; sleep 600";
    let mut scene = Scene::open(vec![
        Step::tool("shell", json!({ "command": command })),
        Step::text("I saw that it was interrupted."),
    ]);
    let address = scene.server.address.clone();
    scene.terminal.type_and_see("start it");
    scene.terminal.send("\r");
    answer(&mut scene.terminal, "y");
    let runs = scene.world.project().join("runs.txt");
    scene
        .terminal
        .wait_until("the command to run", |_| runs.exists());
    scene.server.crash();
    scene
        .terminal
        .wait_until("the launcher to notice", |state| {
            ["reconnect", "trying", "not connected", "offline"]
                .iter()
                .any(|word| state.text().contains(word))
        });
    let server = scene.world.serve_on(&address).expect("the server again");
    scene.terminal.wait_for("I saw that it was interrupted.");
    let ran = fs::read_to_string(&runs).expect("the runs");
    assert_eq!(ran, "run\n", "the command ran once");
    let told = contents(&scene.model.requests()[1]);
    assert!(told.contains("interrupted"), "{told}");
    leave(scene.terminal);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_question_waits_through_a_crash_and_is_answered_once() {
    let mut scene = Scene::open(vec![
        Step::tool("shell", json!({ "command": "echo once >> once.txt" })),
        Step::text("It ran."),
    ]);
    scene.terminal.send("do it\r");
    scene.terminal.wait_for("needs you");
    let worker = scene.server.worker();
    process::signal(worker, Signal::KILL);
    assert!(process::wait_gone(worker, Duration::from_secs(10)));
    answer(&mut scene.terminal, "y");
    scene.terminal.wait_for("It ran.");
    assert_eq!(
        fs::read_to_string(scene.world.project().join("once.txt")).expect("the file"),
        "once\n"
    );
}

#[test]
fn with_nothing_configured_practice_runs_the_real_tools() {
    let world = World::new().expect("a world");
    fs::write(world.project().join("a-file-to-see.txt"), "hello").expect("a file");
    let _server = world.serve().expect("a server");
    let session = world.session().expect("a session");
    let link = world.owner_link().expect("a link");
    let mut terminal = world
        .launch(&["--session", &session], Some(&link), COLS, ROWS)
        .expect("the launcher");
    terminal.wait_for("practice");
    terminal.send("list the files\r");
    terminal.wait_for("a-file-to-see.txt");
    terminal.send("make a file called hello.txt with good morning\r");
    answer(&mut terminal, "y");
    terminal.wait_until("the file", |_| world.project().join("hello.txt").exists());
}

#[test]
fn a_script_sends_waits_and_reads_the_transcript() {
    let world = World::new().expect("a world");
    let _model = world
        .model(vec![
            Step::tool("shell", json!({ "command": "echo refused" })),
            Step::text("Fine, I leave it."),
        ])
        .expect("a model");
    let _server = world.serve().expect("a server");
    let session = world.session().expect("a session");
    let answer = world
        .ask(&["send", &session, "try", "--wait", "--answer", "no"])
        .expect("an answer");
    assert_eq!(answer, "Fine, I leave it.");
    let transcript = world
        .ask(&["transcript", &session, "--json"])
        .expect("a transcript");
    let transcript: Value = serde_json::from_str(&transcript).expect("JSON");
    assert!(
        transcript.to_string().contains("\"denied\""),
        "{transcript}"
    );
}
