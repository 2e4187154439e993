//! Tools of MCP servers and scripts with the real programs: a server of the examples, good and bad, and a scripted model.

use std::{fs, process::Output};

use porthole_examples::model_server::{ModelServer, Step};
use porthole_tests::{Server, World};
use serde_json::{Value, json};

/// A server whose sessions have MCP servers, and a model that follows a script.
struct Scene {
    world: World,
    model: ModelServer,
    _server: Server,
    session: String,
}

impl Scene {
    fn new(bad: &[&str]) -> Self {
        let world = World::new().expect("a world");
        let model = world.model(Vec::new()).expect("a model");
        let program = world.program("mcp-server").display().to_string();
        let mut config = format!("[server.good]\ncommand = '{program}'\n");
        for way in bad {
            config +=
                &format!("[server.{way}]\ncommand = '{program}'\nargs = ['--bad', '{way}']\n");
        }
        fs::write(world.data().join("mcp.toml"), config).expect("written");
        let server = world.serve().expect("a server");
        let session = world.session().expect("a session");
        Self {
            world,
            model,
            _server: server,
            session,
        }
    }

    /// Sends a message to which the model makes these calls, then says that it is done.
    fn turn(&self, calls: &[(&str, Value)], answer: &str) -> Output {
        let calls = calls.iter();
        let calls = calls.map(|(tool, arguments)| ((*tool).to_owned(), arguments.clone()));
        self.model.push([
            Step::Tools {
                text: String::new(),
                calls: calls.collect(),
            },
            Step::text("done"),
        ]);
        let send = ["send", &self.session, "go on", "--wait", "--answer", answer];
        self.world.portholed(&send).expect("it runs")
    }

    /// Returns what the model was last told of each of its calls.
    fn results(&self) -> Vec<String> {
        let requests = self.model.requests();
        let messages = requests.last().expect("a request")["messages"].clone();
        let messages = messages.as_array().cloned().unwrap_or_default();
        let tools = messages.iter().filter(|message| message["role"] == "tool");
        tools
            .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    fn offered(&self) -> Vec<String> {
        let requests = self.model.requests();
        let tools = requests.last().expect("a request")["tools"].clone();
        let tools = tools.as_array().cloned().unwrap_or_default();
        let name = |tool: &Value| tool["function"]["name"].as_str().map(str::to_owned);
        tools.iter().filter_map(name).collect()
    }

    fn notes(&self) -> Vec<String> {
        let text = fs::read_to_string(self.world.project().join("notes.txt"));
        text.unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

#[test]
fn a_servers_tools_are_offered_asked_about_and_called_once() {
    let scene = Scene::new(&[]);
    let listed = scene.world.ask(&["mcp"]).expect("it lists");
    assert!(listed.contains("good"), "{listed}");
    let note = ("mcp_good_note", json!({ "text": "one" }));
    let sum = ("mcp_good_add", json!({ "a": 20, "b": 22 }));
    let sent = scene.turn(&[sum.clone(), note.clone()], "yes");
    assert!(sent.status.success(), "{sent:?}");
    assert_eq!(scene.results(), ["42", "noted"]);
    assert_eq!(scene.notes(), ["one"]);
    let offered = scene.offered();
    for name in [
        "mcp_good_add",
        "mcp_good_note",
        "mcp_good_picture",
        "script",
    ] {
        assert!(offered.iter().any(|there| there == name), "{offered:?}");
    }
    scene.turn(&[note], "no");
    assert_eq!(scene.notes(), ["one"], "a no is a no");
    scene.turn(&[("mcp_good_picture", json!({}))], "yes");
    let last = scene
        .model
        .requests()
        .last()
        .expect("a request")
        .to_string();
    assert!(
        last.contains("image-1.png"),
        "the picture is told of: {last}"
    );
}

#[test]
fn a_scripts_calls_ask_and_do_what_they_would_by_themselves() {
    let scene = Scene::new(&[]);
    fs::write(scene.world.project().join("a.txt"), "alpha").expect("written");
    let code = r#"
        let text = tool("read", #{ path: "a.txt" });
        tool("mcp_good_note", #{ text: text });
        let sum = tool("mcp_good_add", #{ a: 1, b: 2 });
        tool("shell", #{ command: "echo from the shell >> notes.txt" });
        `sum ${sum}`
    "#;
    let sent = scene.turn(&[("script", json!({ "code": code }))], "yes");
    assert!(sent.status.success(), "{sent:?}");
    assert_eq!(scene.results(), ["sum 3"]);
    assert_eq!(scene.notes(), ["alpha", "from the shell"]);
    let transcript = scene.world.ask(&["transcript", &scene.session, "--json"]);
    let transcript: Value = serde_json::from_str(&transcript.expect("it prints")).expect("JSON");
    let text = transcript.to_string();
    for call in ["mcp_good_note", "mcp_good_add", "echo from the shell"] {
        assert!(text.contains(call), "{call} is recorded: {text}");
    }
    let again = scene.turn(&[("script", json!({ "code": code }))], "no");
    assert!(again.status.success(), "{again:?}");
    assert_eq!(scene.notes().len(), 2, "a no ends it");
    let results = scene.results();
    assert!(results[1].contains("said no"), "{results:?}");
}

#[test]
fn bad_servers_fail_their_own_calls_and_nothing_else() {
    let scene = Scene::new(&["dies", "huge", "garbage", "changes"]);
    let sum = json!({ "a": 1, "b": 2 });
    let calls = [
        ("mcp_dies_add", sum.clone()),
        ("mcp_huge_add", sum.clone()),
        ("mcp_garbage_add", sum.clone()),
        ("mcp_changes_add", sum.clone()),
        ("mcp_changes_subtract", sum.clone()),
        ("mcp_nowhere_add", sum.clone()),
        ("mcp_good_add", sum.clone()),
    ];
    let sent = scene.turn(&calls, "yes");
    assert!(sent.status.success(), "{sent:?}");
    let results = scene.results();
    let [dies, huge, garbage, changes, subtract, nowhere, good] = &results[..] else {
        panic!("{results:?}");
    };
    assert!(dies.contains("it ended"), "{dies}");
    assert!(huge.contains("over 8 MiB") && huge.len() < 2_000, "{huge}");
    assert_eq!(garbage, "3");
    assert_eq!(changes, "3");
    assert!(
        subtract.contains("no tool"),
        "not within the turn: {subtract}"
    );
    assert!(nowhere.contains("no tool"), "{nowhere}");
    assert_eq!(good, "3");
    scene.turn(&[("mcp_good_add", sum)], "yes");
    let offered = scene.offered();
    assert!(
        offered.iter().any(|name| name == "mcp_changes_subtract"),
        "{offered:?}"
    );
    assert!(
        !offered.iter().any(|name| name == "mcp_changes_add"),
        "{offered:?}"
    );
}
