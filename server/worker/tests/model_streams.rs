//! Stream bodies and what they must decode to: whole, cut in two at every byte, byte by byte.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use porthole_worker::model::debug_stream;
use proptest::prelude::*;
use serde_json::{Value, json};

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/sse")
}

/// Returns each case: its name, its API, its body and what it must decode to.
fn each_case() -> Vec<(String, &'static str, Vec<u8>, Value)> {
    let expected =
        std::fs::read(cases().join("expected.json")).expect("the expectations are there");
    let expected: Value = serde_json::from_slice(&expected).expect("they are JSON");
    let table = expected.as_object().expect("they are an object");
    let case = |(name, case): (&String, &Value)| {
        let body = std::fs::read(cases().join(name)).expect("each body is there");
        (name.clone(), api(name), body, case["expect"].clone())
    };
    table.iter().map(case).collect()
}

fn api(name: &str) -> &'static str {
    match name.as_bytes()[0] {
        b'c' => "chat",
        b'r' => "responses",
        _ => "messages",
    }
}

/// Gives a body out in two pieces, or in pieces of one size.
struct Cut<'a> {
    rest: &'a [u8],
    sizes: Box<dyn Iterator<Item = usize>>,
}

impl<'a> Cut<'a> {
    fn at(body: &'a [u8], cut: usize) -> Self {
        Self {
            rest: body,
            sizes: Box::new([cut, usize::MAX].into_iter().filter(|&size| size > 0)),
        }
    }

    fn bytes(body: &'a [u8]) -> Self {
        Self {
            rest: body,
            sizes: Box::new(std::iter::repeat(1)),
        }
    }
}

impl Read for Cut<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes.next().unwrap_or(usize::MAX);
        let count = size.min(self.rest.len()).min(buffer.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        self.rest = &self.rest[count..];
        Ok(count)
    }
}

/// A body whose socket stays open: reading on after the last byte fails the test.
struct LeftOpen<'a>(&'a [u8]);

impl Read for LeftOpen<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::Error::other("waited for the end of the body"));
        }
        self.0.read(buffer)
    }
}

fn check(name: &str, how: &str, got: &Value, expected: &Value) {
    for (field, want) in expected.as_object().expect("an object") {
        match (field.as_str(), want) {
            ("error", Value::Object(fields)) => {
                for (field, want) in fields {
                    assert_eq!(&got["error"][field], want, "{name}, {how}: error.{field}");
                }
            }
            ("tools", Value::Array(tools)) => check_tools(name, how, &got["tools"], tools),
            _ => assert_eq!(&got[field], want, "{name}, {how}: {field}"),
        }
    }
}

fn check_tools(name: &str, how: &str, got: &Value, expected: &[Value]) {
    let got = got.as_array().expect("a list");
    assert_eq!(got.len(), expected.len(), "{name}, {how}: number of tools");
    for (got, want) in got.iter().zip(expected) {
        if want["id"] == "<generated>" {
            assert_ne!(got["id"], "", "{name}, {how}");
        } else {
            assert_eq!(got["id"], want["id"], "{name}, {how}");
        }
        assert_eq!(got["name"], want["name"], "{name}, {how}");
        assert_eq!(got["arguments"], want["arguments"], "{name}, {how}");
    }
}

fn decode(api: &str, body: impl Read) -> Value {
    debug_stream(api, body).expect("the body can be read")
}

#[test]
fn every_body_decodes_as_expected_wherever_it_is_cut() {
    let cases = each_case();
    assert_eq!(cases.len(), 28, "no case is left out");
    for (name, api, body, expected) in &cases {
        check(name, "whole", &decode(api, &body[..]), expected);
        check(
            name,
            "byte by byte",
            &decode(api, Cut::bytes(body)),
            expected,
        );
        for cut in 0..=body.len() {
            let how = format!("cut at {cut}");
            check(name, &how, &decode(api, Cut::at(body, cut)), expected);
        }
    }
}

#[test]
fn a_complete_answer_ends_at_its_terminal_event_though_the_socket_stays_open() {
    for (name, api, body, expected) in each_case() {
        // This one has no terminal event: the end of its body is the end.
        if expected["outcome"] == "complete" && !name.starts_with("c05") {
            check(&name, "left open", &decode(api, LeftOpen(&body)), &expected);
        }
    }
}

#[test]
fn other_line_ends_decode_to_the_same() {
    for (name, api, body, expected) in each_case() {
        let text = String::from_utf8(body).expect("the bodies are UTF-8");
        let text = text.replace("\r\n", "\n");
        for (end, how) in [("\r", "CR"), ("\r\n", "CRLF")] {
            let other = format!("\u{FEFF}{}", text.replace('\n', end));
            check(
                &name,
                how,
                &decode(api, Cut::bytes(other.as_bytes())),
                &expected,
            );
        }
    }
}

/// Returns a chat body with these choices' deltas, a finish reason and the end.
fn chat(deltas: &[Value]) -> String {
    let event = |value: &Value| format!("data: {value}\n\n");
    let chunk = |delta: &Value| event(&json!({"choices": [{"index": 0, "delta": delta}]}));
    let mut body: String = deltas.iter().map(chunk).collect();
    body += &event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
    body + "data: [DONE]\n\n"
}

/// Returns `name(arguments)` of each call.
fn calls(body: &str) -> Vec<String> {
    let decoded = decode("chat", body.as_bytes());
    let tools = decoded["tools"].as_array().expect("a list").clone();
    let ids: std::collections::HashSet<_> = tools.iter().map(|t| t["id"].to_string()).collect();
    assert_eq!(ids.len(), tools.len(), "ids are unique");
    let shown = |tool: &Value| {
        format!(
            "{}{}",
            tool["name"].as_str().unwrap_or("?"),
            tool["arguments"]
        )
    };
    tools.iter().map(shown).collect()
}

#[test]
fn tool_fragments_of_odd_servers_are_told_apart() {
    let call = |value: Value| json!({"tool_calls": [value]});
    let two = ["a{\"x\":1}", "b{\"y\":2}"];
    let same_id = chat(&[
        call(json!({"index": 0, "id": "i", "function": {"name": "a", "arguments": "{\"x\":1}"}})),
        call(json!({"index": 1, "id": "i", "function": {"name": "b", "arguments": "{\"y\":2}"}})),
    ]);
    assert_eq!(calls(&same_id), two);
    let no_id = chat(&[
        call(json!({"function": {"name": "a", "arguments": "{\"x\":1}"}})),
        call(json!({"function": {"name": "b", "arguments": "{\"y\":2}"}})),
    ]);
    assert_eq!(calls(&no_id), two);
    let objects = chat(&[
        call(json!({"index": 0, "function": {"name": "a", "arguments": {"x": 1}}})),
        call(json!({"index": 0, "function": {"name": "b", "arguments": {"y": 2}}})),
    ]);
    assert_eq!(calls(&objects), two);
    let repeated = chat(&[
        call(json!({"index": 0, "id": "i", "function": {"name": "a", "arguments": "{\"x\""}})),
        call(json!({"index": 0, "id": "i", "function": {"name": "a", "arguments": ":1}"}})),
        call(json!({"index": 0, "id": null, "function": {"name": null, "arguments": null}})),
        call(json!({"index": 0, "id": "", "function": {"name": "", "arguments": ""}})),
    ]);
    assert_eq!(calls(&repeated), ["a{\"x\":1}"]);
}

#[test]
fn missing_and_null_fields_are_no_error() {
    let body = "data: {\"choices\":null}\n\ndata: {\"choices\":[],\"prompt_filter_results\":[]}\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":null,\"tool_calls\":null,\"reasoning\":\"r\",\"reasoning_content\":\"r\"},\"finish_reason\":null}],\"error\":null}\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":null}}\n\n";
    let decoded = decode("chat", body.as_bytes());
    assert_eq!(decoded["outcome"], "complete");
    assert_eq!(
        (&decoded["text"], &decoded["reasoning"]),
        (&json!("ok"), &json!("r"))
    );
    assert_eq!(decoded["usage"], json!({"in": 3, "out": null}));
}

#[test]
fn done_alone_is_an_end_and_an_event_that_is_no_json_is_a_failure() {
    let done = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n";
    let decoded = decode("chat", done.as_bytes());
    assert_eq!(
        (&decoded["outcome"], &decoded["stop"]),
        (&json!("complete"), &Value::Null)
    );
    for api in ["chat", "responses", "messages"] {
        let decoded = decode(api, "data: <html>\n\n".as_bytes());
        assert_eq!(decoded["error"]["kind"], "unexpected_response", "{api}");
        let decoded = decode(api, "event: ping\ndata: pong\n\n".as_bytes());
        assert_eq!(decoded["error"]["kind"], "stream_truncated", "{api}");
    }
}

#[test]
fn an_answer_with_its_stop_reason_is_whole_though_the_stop_event_is_missing() {
    let body = "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":100,\"cache_creation_input_tokens\":20}}}\n\n\
        data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"ls\",\"input\":{\"a\":1}}}\n\n\
        data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":7}}\n\n";
    let decoded = decode("messages", body.as_bytes());
    assert_eq!(decoded["outcome"], "complete");
    assert_eq!(decoded["usage"], json!({"in": 125, "out": 7}));
    assert_eq!(decoded["tools"][0]["arguments"], json!({"a": 1}));
}

#[test]
fn a_responses_answer_that_comes_only_at_the_end_is_taken_from_there() {
    let output = json!([
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "why"}]},
        {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "ok"}]},
        {"type": "function_call", "id": "f", "call_id": "c", "name": "ls", "arguments": ""},
    ]);
    let end = json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
    let decoded = decode("responses", format!("data: {end}\n\n").as_bytes());
    assert_eq!(
        (&decoded["text"], &decoded["reasoning"]),
        (&json!("ok"), &json!("why"))
    );
    assert_eq!(
        decoded["tools"],
        json!([{"id": "c", "name": "ls", "arguments": {}}])
    );
}

#[test]
fn an_error_event_in_a_responses_stream_is_read_in_both_forms() {
    for event in [
        json!({"type": "error", "code": "context_length_exceeded", "message": "too long"}),
        json!({"type": "error", "error": {"code": "context_length_exceeded", "message": "too long"}}),
    ] {
        let decoded = decode(
            "responses",
            format!("event: error\ndata: {event}\n\n").as_bytes(),
        );
        assert_eq!(decoded["error"]["kind"], "context_overflow");
        assert_eq!(decoded["error"]["message"], "too long");
    }
}

#[test]
fn items_of_a_responses_stream_are_told_apart_though_their_places_or_ids_are_mixed_up() {
    let call = |event: &str, place: u64, id: &str, item: &str, name: &str| {
        json!({"type": format!("response.output_item.{event}"), "output_index": place, "item":
            {"type": "function_call", "id": id, "call_id": item, "name": name, "arguments": ""}})
    };
    let delta = |place: u64, id: &str, text: &str| json!({"type": "response.function_call_arguments.delta", "output_index": place, "item_id": id, "delta": text});
    let end = json!({"type": "response.completed", "response": {"status": "completed"}});
    let one_place = [
        call("added", 0, "f1", "c1", "a"),
        delta(0, "f1", "{\"x\":"),
        delta(0, "f1", "1}"),
        call("added", 0, "f2", "c2", "b"),
        delta(0, "f2", "{\"y\":2}"),
        call("done", 0, "f2", "c2", "b"),
        end.clone(),
    ];
    let changing_ids = [
        call("added", 0, "f1", "c1", "a"),
        delta(0, "q", "{\"x\":"),
        delta(0, "r", "1}"),
        call("added", 1, "f2", "c2", "b"),
        delta(1, "s", "{\"y\":2}"),
        call("done", 1, "t", "c2", "b"),
        end,
    ];
    for events in [one_place, changing_ids] {
        let body: String = events
            .iter()
            .map(|event| format!("data: {event}\n\n"))
            .collect();
        let tools = decode("responses", body.as_bytes())["tools"].clone();
        let expected = json!([
            {"id": "c1", "name": "a", "arguments": {"x": 1}},
            {"id": "c2", "name": "b", "arguments": {"y": 2}},
        ]);
        assert_eq!(tools, expected);
    }
}

proptest! {
    #[test]
    fn a_damaged_body_is_decoded_to_something_and_the_same_in_every_cut(
        case in 0usize..28,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        gone in any::<prop::sample::Index>(),
        length in 0usize..60,
    ) {
        let (_, api, mut body, _) = each_case().swap_remove(case);
        for (at, byte) in damage {
            let at = at.index(body.len());
            body[at] = byte;
        }
        let start = gone.index(body.len());
        let end = (start + length).min(body.len());
        body.drain(start..end);
        let whole = decode(api, &body[..]);
        prop_assert_eq!(&whole, &decode(api, Cut::bytes(&body)));
        prop_assert_eq!(whole["outcome"] == "complete", whole["error"].is_null());
    }
}
