//! Servers as they come: good ones, and such that say too much, nothing or nonsense, end, or change their tools. Each is a
//! real program, or a listener on loopback.

use std::{fs, path::Path, time::Duration};

use porthole_protocol::{RunId, ToolOutcome};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
};

use super::{Servers, mcp_servers};
use crate::tool::ToolResult;

/// A server in shell: it answers the handshake, and runs `CALL` for a call. What comes before is `BEFORE`.
const PROGRAM: &str = r#"#!/bin/sh
BEFORE
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*)
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"t","version":"1"}}}' ;;
    *'"method":"tools/list"'*)
      echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"'$(cat name)'","description":"d","inputSchema":{"type":"object"}}]}}' ;;
    *'"method":"tools/call"'*)
      echo "$line" >> calls
      CALL ;;
    *notifications/cancelled*) echo cancelled >> calls ;;
  esac
done
"#;
const ANSWER: &str = r#"echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"hello '"$SECRET_THING"'"}]}}'"#;

struct World {
    data: tempfile::TempDir,
    stop: watch::Sender<bool>,
    servers: Servers,
}

fn variable(name: &str) -> Option<String> {
    match name {
        "PATH" => std::env::var(name).ok(),
        "SECRET_THING" => Some("s3cr3t-value".to_owned()),
        "HOME" => Some("/root".to_owned()),
        "OTHER_KEY" => Some("not-for-you".to_owned()),
        _ => None,
    }
}

fn world(config: &str) -> World {
    let data = tempfile::tempdir().expect("folder");
    fs::write(data.path().join("mcp.toml"), config).expect("writes");
    fs::write(data.path().join("name"), "greet").expect("writes");
    let servers = Servers::new(data.path().into(), data.path().into(), variable);
    let stop = watch::channel(false).0;
    World {
        data,
        stop,
        servers,
    }
}

fn program(before: &str, call: &str) -> World {
    let world =
        world("[server.t]\ncommand = \"sh\"\nargs = [\"server\"]\npass = [\"SECRET_THING\"]\n");
    let text = PROGRAM.replace("BEFORE", before).replace("CALL", call);
    fs::write(world.data.path().join("server"), text).expect("writes");
    world
}

impl World {
    async fn names(&self) -> Vec<String> {
        let offered = self.servers.offer().await;
        offered.into_iter().map(|tool| tool.name).collect()
    }

    async fn call(&self, tool: &str) -> ToolResult {
        let run = RunId::parse("c1-1").expect("id");
        let blobs = self.data.path().join("blobs");
        let stop = self.stop.subscribe();
        let arguments = json!({ "a": 1 });
        self.servers.call(tool, arguments, stop, &blobs, &run).await
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.data.path().join("calls")).unwrap_or_default()
    }

    /// Waits until the server wrote something down.
    async fn until_called(&self, what: &str) {
        let seen = async {
            while !self.calls().contains(what) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let seen = tokio::time::timeout(Duration::from_secs(20), seen).await;
        seen.expect("it was called");
    }
}

#[tokio::test]
async fn a_program_offers_its_tools_and_is_called_once() {
    let world = program("", ANSWER);
    assert_eq!(world.names().await, ["mcp_t_greet"]);
    let result = world.call("mcp_t_greet").await;
    assert_eq!(result.outcome, ToolOutcome::Ok, "{}", result.text);
    assert_eq!(
        result.text, "hello s3cr3t-value",
        "it has the variable that it was given"
    );
    let calls = world.calls();
    assert_eq!(calls.lines().count(), 1);
    assert!(calls.contains(r#""arguments":{"a":1}"#), "{calls}");
}

#[tokio::test]
async fn a_program_gets_no_variable_but_those_that_it_is_given() {
    let world = program("env > seen", ANSWER);
    assert_eq!(world.names().await.len(), 1);
    let seen = fs::read_to_string(world.data.path().join("seen")).expect("written");
    assert!(
        seen.contains("SECRET_THING=") && seen.contains("HOME=/root"),
        "{seen}"
    );
    assert!(
        !seen.contains("OTHER_KEY") && !seen.contains("CARGO"),
        "{seen}"
    );
    assert_eq!(world.servers.secret_names(), ["SECRET_THING"]);
}

#[tokio::test]
async fn a_server_that_ends_in_a_call_is_told_so_and_the_call_is_not_made_again() {
    let world = program("", "echo 'fell over with s3cr3t-value' >&2; exit 1");
    assert_eq!(world.names().await.len(), 1);
    let result = world.call("mcp_t_greet").await;
    assert_eq!(result.outcome, ToolOutcome::Failed);
    assert!(
        result.text.contains("may have had its effect"),
        "{}",
        result.text
    );
    assert!(!result.text.contains("s3cr3t"), "{}", result.text);
    assert_eq!(world.calls().lines().count(), 1);
    let again = world.call("mcp_t_greet").await;
    assert!(
        again.text.starts_with("Not run:"),
        "it has its pause: {}",
        again.text
    );
    assert_eq!(world.calls().lines().count(), 1);
}

#[tokio::test]
async fn a_server_that_ended_is_up_again_after_its_pause() {
    let mut world = program("", "exit 1");
    world.servers.first_pause = Duration::from_millis(300);
    assert_eq!(world.names().await.len(), 1);
    world.call("mcp_t_greet").await;
    let _ = world.call("mcp_t_greet").await;
    assert!(world.names().await.is_empty(), "not within its pause");
    let up = async {
        while world.names().await != ["mcp_t_greet"] {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let up = tokio::time::timeout(Duration::from_secs(20), up).await;
    up.expect("it is started again");
}

#[tokio::test]
async fn a_message_without_end_ends_the_server_and_no_memory() {
    let world = program("", "head -c 30000000 /dev/zero | tr '\\0' x | sed 's/^/{/'");
    assert_eq!(world.names().await.len(), 1);
    let result = world.call("mcp_t_greet").await;
    assert_eq!(result.outcome, ToolOutcome::Failed);
    assert!(result.text.contains("over 8 MiB"), "{}", result.text);
}

#[tokio::test]
async fn a_banner_is_passed_over_and_a_program_that_only_talks_is_given_up() {
    let world = program("echo welcome; echo", ANSWER);
    assert_eq!(world.names().await.len(), 1);
    let world = program("yes nonsense", ANSWER);
    assert!(world.names().await.is_empty());
    let result = world.call("mcp_t_greet").await;
    assert!(result.text.contains("no tool"), "{}", result.text);
}

#[tokio::test]
async fn a_program_that_says_nothing_is_waited_for_so_long() {
    let mut world = world("[server.t]\ncommand = \"sleep\"\nargs = [\"1000\"]\n");
    assert_eq!(world.servers.patience.start, Duration::from_secs(10));
    world.servers.patience.start = Duration::from_millis(50);
    assert!(world.names().await.is_empty());
}

#[tokio::test]
async fn a_call_without_an_answer_ends_in_time_and_the_server_is_told() {
    let mut world = program("", ":");
    assert_eq!(world.servers.patience.silence, Duration::from_secs(60));
    world.servers.patience.silence = Duration::from_millis(100);
    assert_eq!(world.names().await.len(), 1);
    let result = world.call("mcp_t_greet").await;
    assert_eq!(result.outcome, ToolOutcome::Failed);
    assert!(result.text.contains("no sign for 0.1 s"), "{}", result.text);
    world.until_called("cancelled").await;
}

#[tokio::test]
async fn a_stop_ends_a_call_at_once_and_the_server_is_told() {
    let world = program("", ":");
    assert_eq!(world.names().await.len(), 1);
    let (result, ()) = tokio::join!(world.call("mcp_t_greet"), async {
        world.until_called("tools/call").await;
        world.stop.send_replace(true);
    });
    assert_eq!(result.outcome, ToolOutcome::Stopped);
    world.until_called("cancelled").await;
}

#[tokio::test]
async fn tools_that_change_are_listed_anew_only_when_they_are_asked_for() {
    let changed = r#"echo other > name; echo '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'; "#;
    let world = program("", &format!("{changed}{ANSWER}"));
    assert_eq!(world.names().await, ["mcp_t_greet"]);
    let result = world.call("mcp_t_greet").await;
    assert_eq!(result.outcome, ToolOutcome::Ok);
    let again = world.call("mcp_t_greet").await;
    assert_eq!(
        again.outcome,
        ToolOutcome::Ok,
        "for this turn it is what it was"
    );
    assert_eq!(world.names().await, ["mcp_t_other"]);
    let gone = world.call("mcp_t_greet").await;
    assert!(gone.text.contains("no tool `mcp_t_greet`"), "{}", gone.text);
}

#[tokio::test]
async fn what_cannot_be_started_or_lacks_its_secret_offers_nothing_and_says_why() {
    let world = world(
        "[server.a]\ncommand = \"/nowhere\"\n[server.b]\ncommand = \"sh\"\npass = [\"MISSING\"]\n",
    );
    assert!(world.names().await.is_empty());
    let listed = mcp_servers(world.data.path(), variable).expect("makes sense");
    assert_eq!(listed[0].missing, Vec::<String>::new());
    assert_eq!(listed[1].missing, ["MISSING"]);
    fs::write(world.data.path().join("mcp.toml"), "[server").expect("writes");
    assert!(mcp_servers(world.data.path(), variable).is_err());
}

#[tokio::test]
async fn dropping_the_servers_ends_their_programs_and_what_these_started() {
    let world = program("sleep 1000 & echo $! > child; echo $$ > own", ANSWER);
    assert_eq!(world.names().await.len(), 1);
    let pid = |name| fs::read_to_string(world.data.path().join(name)).expect("written");
    let pids = [pid("own"), pid("child")];
    drop(world.servers);
    for pid in pids {
        let stat = format!("/proc/{}/stat", pid.trim());
        let ended = async {
            // A killed process may still stand there until it is reaped.
            while fs::read_to_string(&stat).is_ok_and(|text| !text.contains(") Z ")) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(10), ended).await;
        ended.expect("it is killed");
    }
}

/// Serves HTTP on loopback: each request gets what `answer` makes of its head and its JSON. Returns the address.
async fn http(answer: fn(&str, &Value) -> String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(one(stream, answer));
        }
    });
    format!("http://{address}/mcp")
}

async fn one(mut stream: TcpStream, answer: fn(&str, &Value) -> String) {
    let mut bytes = Vec::new();
    let (head, body) = loop {
        if !matches!(stream.read_buf(&mut bytes).await, Ok(1..)) {
            return;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let head = head.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1);
        let length = length.and_then(|rest| rest.lines().next()?.trim().parse().ok());
        if body.len() >= length.unwrap_or(0) {
            break (head, serde_json::from_str(body).unwrap_or_default());
        }
    };
    let _ = stream.write_all(answer(&head, &body).as_bytes()).await;
}

fn reply(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn result(asked: &Value, result: Value) -> String {
    let body = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result });
    reply("200 OK", &body.to_string())
}

/// A server over HTTP that wants a key, and whose call says `CALL`.
fn serve(head: &str, asked: &Value, call: fn(&Value) -> String) -> String {
    if !head.contains("authorization: bearer s3cr3t-value") {
        return reply("403 Forbidden", "{}");
    }
    match asked["method"].as_str() {
        Some("initialize") => result(
            asked,
            json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "t", "version": "1" } }),
        ),
        Some("tools/list") => result(
            asked,
            json!({ "tools": [{ "name": "greet", "inputSchema": { "type": "object" } }] }),
        ),
        Some("tools/call") => call(asked),
        Some(_) => reply("202 Accepted", ""),
        None => reply("405 Method Not Allowed", ""),
    }
}

fn over_http(url: &str) -> World {
    world(&format!(
        "[server.t]\nurl = \"{url}\"\nkey_env = \"SECRET_THING\"\n"
    ))
}

#[tokio::test]
async fn an_address_is_called_with_its_key() {
    let url = http(|head, asked| {
        serve(head, asked, |asked| {
            result(
                asked,
                json!({ "content": [{ "type": "text", "text": "hello" }] }),
            )
        })
    });
    let world = over_http(&url.await);
    assert_eq!(world.names().await, ["mcp_t_greet"]);
    let result = world.call("mcp_t_greet").await;
    assert_eq!(
        (result.outcome, result.text.as_str()),
        (ToolOutcome::Ok, "hello")
    );
}

#[tokio::test]
async fn an_address_that_says_too_much_fails_the_call_and_holds_no_memory() {
    let url = http(|head, asked| {
        serve(head, asked, |asked| {
            let text = "x".repeat(20 << 20);
            result(
                asked,
                json!({ "content": [{ "type": "text", "text": text }] }),
            )
        })
    });
    let world = over_http(&url.await);
    assert_eq!(world.names().await.len(), 1);
    let result = world.call("mcp_t_greet").await;
    assert_eq!(result.outcome, ToolOutcome::Failed);
    assert!(
        result.text.len() < 10_000 && !result.text.contains("s3cr3t"),
        "{}",
        result.text
    );
}

#[tokio::test]
async fn an_address_that_forgets_its_session_is_not_called_twice() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let url = http(|head, asked| {
        serve(head, asked, |_| {
            CALLS.fetch_add(1, Ordering::Relaxed);
            reply("404 Not Found", "{}")
        })
    });
    let world = over_http(&url.await);
    assert_eq!(world.names().await.len(), 1);
    assert_eq!(world.call("mcp_t_greet").await.outcome, ToolOutcome::Failed);
    assert_eq!(CALLS.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_address_that_refuses_or_is_not_there_offers_nothing() {
    let url = http(|_, _| reply("500 Internal Server Error", "<h1>no</h1>")).await;
    assert!(over_http(&url).names().await.is_empty());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    drop(listener);
    assert!(over_http(&url).names().await.is_empty());
}

#[test]
fn no_file_is_no_server() {
    let listed = mcp_servers(Path::new("/nowhere"), variable).expect("none");
    assert!(listed.is_empty());
}
