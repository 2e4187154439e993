//! Secrets that are planted wherever there is one, and that are found in no log, argument list, tool or file afterwards.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::Path,
    sync::mpsc,
};

use porthole_tests::{World, process};
use serde_json::json;

const MODEL_KEY: &str = "sk-canary-Model17-0123456789abcdef";
const OTHER_KEY: &str = "other-Canary29-plain/value+with=signs";
const HEADER: &str = "authorization: bearer ";

/// A provider that first has a tool called and then refuses the key, repeating it; returns its address and what it heard.
fn provider() -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (heard, hears) = mpsc::channel();
    std::thread::spawn(move || {
        let call = json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls", "delta": { "tool_calls": [{
            "index": 0, "id": "c1", "function": { "name": "shell", "arguments": "{\"command\":\"env\"}" } }] } }] });
        let stream = format!("data: {call}\n\ndata: [DONE]\n\n");
        let refusal =
            json!({ "error": { "message": format!("Incorrect API key provided: {MODEL_KEY}") } })
                .to_string();
        let answers = [
            ("200 OK", "text/event-stream", stream),
            ("401 Unauthorized", "application/json", refusal),
        ];
        for (status, kind, body) in answers {
            let Ok((stream, _)) = listener.accept() else {
                return;
            };
            let mut reader = BufReader::new(stream);
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).expect("a line");
                if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = number.trim().parse().expect("a number");
                }
                head.push_str(&line);
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut asked = vec![0; length];
            reader.read_exact(&mut asked).expect("a body");
            heard.send(head + &String::from_utf8_lossy(&asked)).ok();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            reader.get_mut().write_all(answer.as_bytes()).ok();
        }
    });
    (format!("http://{address}/v1"), hears)
}

/// Returns every file below a folder that is readable as bytes, with its bytes.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all = Vec::new();
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.is_file() {
            all.push((
                path.display().to_string(),
                fs::read(&path).unwrap_or_default(),
            ));
        }
    }
    all
}

fn holds(bytes: &[u8], secret: &str) -> bool {
    bytes
        .windows(secret.len())
        .any(|window| window == secret.as_bytes())
}

#[test]
fn planted_secrets_are_in_no_log_argument_tool_or_file() {
    let world = World::new().expect("a world");
    let (base_url, heard) = provider();
    let config = format!(
        "default = \"mock/mock\"\n\n[provider.mock]\napi = \"chat\"\nbase_url = \"{base_url}\"\nkey_env = \"WORK_LLM\"\n\
         models = [ {{ id = \"mock\", context = 128000 }} ]\n"
    );
    fs::write(world.data().join("models.toml"), config).expect("written");
    let variables = [
        ("WORK_LLM", MODEL_KEY),
        ("ELSEWHERE_TOKEN", OTHER_KEY),
        ("PORTHOLE_LOG", "trace"),
    ];
    let server = world
        .serve_with(&["--listen", "127.0.0.1:0"], &variables)
        .expect("a server");
    let link = world.owner_link().expect("a link");
    let token = link
        .split("#owner=")
        .nth(1)
        .and_then(|rest| rest.get(..47))
        .expect("a token")
        .to_owned();
    let session = world.session().expect("a session");
    let mut terminal = world
        .launch(&["--session", &session], Some(&link), 100, 30)
        .expect("the launcher");
    terminal.wait_for("Enter send");
    let output = world
        .portholed(&[
            "send",
            &session,
            "what is set?",
            "--wait",
            "--answer",
            "yes",
        ])
        .expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "the key was refused: {told}");
    for _ in 0..2 {
        let asked = heard.recv().expect("the provider was asked");
        let lower = asked.to_ascii_lowercase();
        assert!(
            lower.contains(&format!("{HEADER}{}", MODEL_KEY.to_ascii_lowercase())),
            "the key was in use"
        );
        assert!(!lower.contains("\nreferer:"), "{asked}");
        assert!(
            !asked.contains(OTHER_KEY),
            "what a tool saw goes to the model: {asked}"
        );
    }
    let cookie_files = files(&world.home().join(".state"));
    let cookie = cookie_files.iter().find_map(|(_, bytes)| {
        let text = String::from_utf8_lossy(bytes);
        let at = text.find("phd_")?;
        text.get(at..at + 47).map(str::to_owned)
    });
    let secrets = [
        MODEL_KEY.to_owned(),
        OTHER_KEY.to_owned(),
        token,
        cookie.expect("a cookie is kept"),
    ];

    let pids = [process::tree(server.pid()), process::tree(terminal.pid())].concat();
    for pid in pids {
        let line = process::command_line(pid).join(" ");
        assert!(
            secrets.iter().all(|secret| !line.contains(secret)),
            "{line}"
        );
    }
    let transcript = world
        .ask(&["transcript", &session, "--json"])
        .expect("a transcript");
    assert!(transcript.contains("PATH="), "the tool ran: {transcript}");
    terminal.send("\x11");
    terminal.wait_exit();
    assert_eq!(server.stop(), Some(0));
    let kept = files(&world.data());
    assert!(
        kept.iter()
            .any(|(name, bytes)| name.ends_with("serve.log") && !bytes.is_empty())
    );
    for secret in &secrets {
        assert!(
            !told.contains(secret) && !transcript.contains(secret),
            "{told}"
        );
        for (name, bytes) in &kept {
            assert!(!holds(bytes, secret), "a secret is in `{name}`");
        }
    }
}
