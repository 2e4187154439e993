//! A model server of the chat kind that does what the last message says: `work` calls two commands that each leave a
//! line in a file, `fail` is refused, anything else is answered. It checks each request for calls without their result.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// A model server that runs.
pub(crate) struct Model {
    address: SocketAddr,
    faults: Arc<Mutex<Vec<String>>>,
}

impl Model {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let faults: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&faults);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                // One that was killed does not want the answer.
                thread::spawn(move || answer(stream, &seen).ok());
            }
        });
        Self { address, faults }
    }

    /// Returns what `models.toml` says of it.
    pub(crate) fn config(&self) -> String {
        format!(
            "default = \"test/test\"\n[provider.test]\napi = \"chat\"\nbase_url = \"http://{}/v1\"\nmodels = [ {{ id = \"test\", context = 100000 }} ]\n",
            self.address
        )
    }

    /// Panics where a request was not as it has to be.
    pub(crate) fn check(&self) {
        let faults = self.faults.lock().expect("not poisoned");
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}

fn answer(stream: TcpStream, faults: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().unwrap_or(0);
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body)?;
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    if let Err(fault) = check(&messages) {
        faults.lock().expect("not poisoned").push(fault);
    }
    say(stream, messages.last().unwrap_or(&Value::Null))
}

/// Every call is followed at once by its one result.
fn check(messages: &[Value]) -> Result<(), String> {
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let before = open.len();
            open.retain(|call| call != id);
            if open.len() + 1 != before {
                return Err(format!("a result without a call: {id} in {messages:?}"));
            }
        } else if !open.is_empty() {
            return Err(format!("calls without a result: {open:?} in {messages:?}"));
        }
        let calls = message["tool_calls"].as_array();
        for call in calls.into_iter().flatten() {
            open.push(call["id"].as_str().unwrap_or_default().to_owned());
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("calls without a result: {open:?}"))
    }
}

fn say(mut stream: TcpStream, last: &Value) -> std::io::Result<()> {
    let said = last["content"].as_str().unwrap_or_default();
    // Before what was typed stands the line that says who speaks.
    let said = said.lines().last().unwrap_or_default();
    match (last["role"].as_str(), said.split_once(' ')) {
        (Some("user"), Some(("fail", _))) => {
            let body =
                json!({"error": {"message": "no", "type": "invalid_request_error"}}).to_string();
            write!(
                stream,
                "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            )
        }
        (Some("user"), Some(("work", name))) => {
            begin(&mut stream)?;
            piece(&mut stream, &json!({"content": "I work."}), None)?;
            for n in 0..2 {
                let command = json!({"command": format!("echo {name}.{n} >> effects")});
                let call = json!({"tool_calls": [{"index": n, "id": format!("{name}-{n}"), "type": "function",
                    "function": {"name": "shell", "arguments": command.to_string()}}]});
                piece(&mut stream, &call, None)?;
            }
            piece(&mut stream, &json!({}), Some("tool_calls"))?;
            stream.write_all(b"data: [DONE]\n\n")
        }
        _ => {
            begin(&mut stream)?;
            for word in ["It ", "is ", "done."] {
                piece(&mut stream, &json!({"content": word}), None)?;
                // Time for a kill in the middle of an answer.
                thread::sleep(Duration::from_millis(2));
            }
            piece(&mut stream, &json!({}), Some("stop"))?;
            stream.write_all(b"data: [DONE]\n\n")
        }
    }
}

fn begin(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
    )
}

fn piece(stream: &mut TcpStream, delta: &Value, finish: Option<&str>) -> std::io::Result<()> {
    let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    write!(stream, "data: {chunk}\n\n")?;
    stream.flush()
}
