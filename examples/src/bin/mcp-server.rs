//! A small MCP server over standard input and output, without an SDK: one JSON message a line. For trying Porthole's tools
//! of servers, and for its tests: `--bad WAY` behaves badly on purpose.

use std::io::{BufRead as _, Write as _};

use clap::{Parser, ValueEnum};
use serde_json::{Value, json};

/// An MCP server with three tools: `add`, `note` and `picture`.
#[derive(Parser)]
struct Options {
    /// Behave badly in one way.
    #[arg(long)]
    bad: Option<Bad>,
    /// The file that `note` appends to.
    #[arg(long, default_value = "notes.txt")]
    notes: std::path::PathBuf,
}

/// How a server can be bad.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Bad {
    /// It ends when it is called.
    Dies,
    /// It never answers a call.
    Hangs,
    /// It answers a call with more than anyone wants.
    Huge,
    /// It writes what is no message before everything.
    Garbage,
    /// It has other tools after each call.
    Changes,
}

/// The smallest picture: one pixel as PNG.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let mut calls = 0;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let Ok(asked) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        if options.bad == Some(Bad::Garbage) {
            say("this is no message")?;
        }
        let result = match asked["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-06-18",
                "capabilities": { "tools": { "listChanged": true } },
                "serverInfo": { "name": "example", "version": "1" },
            }),
            Some("ping") => json!({}),
            Some("tools/list") => json!({ "tools": tools(&options, calls) }),
            Some("tools/call") => {
                calls += 1;
                match call(&options, &asked["params"]) {
                    Some(result) => result,
                    None => continue,
                }
            }
            _ => continue,
        };
        say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }).to_string())?;
        if calls > 0 && options.bad == Some(Bad::Changes) {
            let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
            say(&changed.to_string())?;
        }
    }
    Ok(())
}

fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

fn tools(options: &Options, calls: u64) -> Value {
    let numbers = json!({
        "type": "object",
        "properties": { "a": { "type": "number" }, "b": { "type": "number" } },
        "required": ["a", "b"],
    });
    let text = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    let none = json!({ "type": "object" });
    let add = match (options.bad, calls) {
        (Some(Bad::Changes), 1..) => "subtract",
        _ => "add",
    };
    json!([
        { "name": add, "description": "Adds two numbers.", "inputSchema": numbers },
        { "name": "note", "description": "Appends a line to a file.", "inputSchema": text },
        { "name": "picture", "description": "Returns a picture.", "inputSchema": none },
    ])
}

/// Returns what a call comes to; `None`: nothing is said.
fn call(options: &Options, params: &Value) -> Option<Value> {
    match options.bad {
        Some(Bad::Dies) => std::process::exit(1),
        Some(Bad::Hangs) => return None,
        Some(Bad::Huge) => return Some(text(&"x".repeat(32 << 20))),
        Some(Bad::Garbage | Bad::Changes) | None => {}
    }
    let arguments = &params["arguments"];
    Some(match params["name"].as_str() {
        Some("add") => {
            let number = |name: &str| arguments[name].as_f64().unwrap_or_default();
            text(&(number("a") + number("b")).to_string())
        }
        Some("note") => match note(options, arguments["text"].as_str().unwrap_or_default()) {
            Ok(()) => text("noted"),
            Err(error) => failed(&error.to_string()),
        },
        Some("picture") => json!({
            "content": [{ "type": "image", "data": PICTURE, "mimeType": "image/png" }],
        }),
        _ => failed("there is no such tool"),
    })
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn failed(why: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": why }], "isError": true })
}

fn note(options: &Options, line: &str) -> std::io::Result<()> {
    let mut file = std::fs::File::options()
        .create(true)
        .append(true)
        .open(&options.notes)?;
    writeln!(file, "{line}")
}
