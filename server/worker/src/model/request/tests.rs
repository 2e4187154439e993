//! Requests compared with what each API wants to be told.

use porthole_protocol::{CallId, ModelInfo, ModelRef, PromptCache, Thinking};
use serde_json::{Value, json};

use super::body;
use crate::model::{AnswerBlock, Api, Prompt, PromptItem, ToolDefinition};

fn model(provider: &str, id: &str) -> ModelInfo {
    ModelInfo {
        model: ModelRef {
            provider: provider.to_owned(),
            model: id.to_owned(),
        },
        name: id.to_owned(),
        context: Some(200_000),
        thinking: vec![Thinking::Low, Thinking::Medium, Thinking::High],
        ready: true,
        source: String::new(),
        practice: false,
        price: None,
    }
}

fn user(text: &str) -> PromptItem {
    PromptItem::User {
        speaker: String::new(),
        files: Vec::new(),
        text: text.to_owned(),
    }
}

fn assistant(by: &ModelInfo, blocks: Vec<AnswerBlock>) -> PromptItem {
    PromptItem::Assistant {
        model: by.model.clone(),
        blocks,
    }
}

fn text(text: &str) -> AnswerBlock {
    AnswerBlock::Text {
        text: text.to_owned(),
    }
}

fn thought(opaque: Value) -> AnswerBlock {
    AnswerBlock::Thinking {
        text: "hm".to_owned(),
        opaque: Some(opaque),
    }
}

fn call(id: &str, arguments: Option<Value>) -> AnswerBlock {
    AnswerBlock::ToolCall {
        provider_id: id.to_owned(),
        tool: "read".to_owned(),
        arguments,
    }
}

fn result(id: &str, text: &str, failed: bool) -> PromptItem {
    PromptItem::ToolResult {
        call: CallId::parse("c1").expect("a valid id"),
        provider_id: id.to_owned(),
        tool: "read".to_owned(),
        text: text.to_owned(),
        failed,
    }
}

fn prompt(items: Vec<PromptItem>) -> Prompt {
    Prompt {
        system: "be brief".to_owned(),
        items,
        tools: vec![ToolDefinition {
            name: "read".to_owned(),
            description: "reads".to_owned(),
            schema: json!({"type": "object"}),
        }],
        thinking: Thinking::Off,
        cache: Default::default(),
    }
}

/// A turn with a thought, a text and two calls, one of which has no result, and people who talk in between.
fn busy(by: &ModelInfo, opaque: Value) -> Prompt {
    prompt(vec![
        user("one"),
        user("two"),
        assistant(
            by,
            vec![
                thought(opaque),
                text("I look"),
                call("a", Some(json!({"path": "x"}))),
                call("b", None),
            ],
        ),
        user("hurry"),
        result("a", "found", false),
        result("a", "again", false),
        result("stray", "nobody asked", false),
    ])
}

#[test]
fn a_chat_request_says_everything_once_and_in_order() {
    let model = model("p", "m");
    let got = body(Api::Chat, &busy(&model, json!({"k": 1})), &model, None);
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}});
    let expected = json!({
        "model": "m", "stream": true, "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": {"name": "read", "description": "reads", "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "one\n\ntwo"},
            {"role": "assistant", "content": "I look", "tool_calls": [call("a", "{\"path\":\"x\"}"), call("b", "{}")]},
            {"role": "tool", "tool_call_id": "a", "content": "found"},
            {"role": "tool", "tool_call_id": "b", "content": "interrupted: this call has no result"},
            {"role": "user", "content": "hurry"},
        ],
    });
    assert_eq!(got, expected);
}

#[test]
fn a_responses_request_sends_the_reasoning_item_back_first_and_unchanged() {
    let model = model("p", "m");
    let item =
        json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "ENC==", "summary": []});
    let got = body(Api::Responses, &busy(&model, item.clone()), &model, None);
    let expected = json!({
        "model": "m", "stream": true, "store": false, "include": ["reasoning.encrypted_content"],
        "instructions": "be brief",
        "tools": [{"type": "function", "name": "read", "description": "reads", "parameters": {"type": "object"}, "strict": false}],
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"}]},
            item,
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look"}]},
            {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{\"path\":\"x\"}"},
            {"type": "function_call", "call_id": "b", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "found"},
            {"type": "function_call_output", "call_id": "b", "output": "interrupted: this call has no result"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hurry"}]},
        ],
    });
    assert_eq!(got, expected);
}

#[test]
fn a_messages_request_marks_what_may_be_cached_and_sends_thoughts_back_first() {
    let model = model("p", "claude-haiku-4-5");
    let block = json!({"type": "thinking", "thinking": "hm", "signature": "S"});
    let got = body(Api::Messages, &busy(&model, block.clone()), &model, None);
    let cache = json!({"type": "ephemeral"});
    let expected = json!({
        "model": "claude-haiku-4-5", "stream": true, "max_tokens": 32_000,
        "system": [{"type": "text", "text": "be brief", "cache_control": cache}],
        "tools": [{"name": "read", "description": "reads", "input_schema": {"type": "object"}, "cache_control": cache}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
            {"role": "assistant", "content": [
                block, {"type": "text", "text": "I look"},
                {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}},
                {"type": "tool_use", "id": "b", "name": "read", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "found", "is_error": false},
                {"type": "tool_result", "tool_use_id": "b", "content": "interrupted: this call has no result", "is_error": true},
                {"type": "text", "text": "hurry", "cache_control": cache},
            ]},
        ],
    });
    assert_eq!(got, expected);
}

#[test]
fn what_is_opaque_goes_to_no_other_model_and_ids_are_made_fit_for_it() {
    let secret = json!({"type": "thinking", "signature": "SEALED"});
    for other in [model("p", "other"), model("q", "m")] {
        let mut prompt = busy(&model("p", "m"), secret.clone());
        prompt.items.push(assistant(
            &model("p", "m"),
            vec![
                call("functions.read:0", None),
                call("functions_read_0", None),
            ],
        ));
        for api in [Api::Chat, Api::Responses, Api::Messages] {
            let sent = body(api, &prompt, &other, None).to_string();
            assert!(!sent.contains("SEALED") && !sent.contains("functions.read:0"));
            assert!(
                sent.contains("\"functions_read_0\"") && sent.contains("\"functions_read_0_2\"")
            );
        }
    }
}

#[test]
fn answers_without_words_are_left_out_and_neighbours_are_joined() {
    let model = model("p", "m");
    let items = vec![
        user("one"),
        assistant(&model, vec![]),
        assistant(&model, vec![thought(json!({"sealed": 1})), text(" ")]),
        assistant(&model, vec![text("a")]),
        assistant(&model, vec![text("b")]),
        user(""),
    ];
    let sent = body(Api::Chat, &prompt(items.clone()), &model, None);
    assert_eq!(
        sent["messages"][2],
        json!({"role": "assistant", "content": "a\n\nb"})
    );
    assert_eq!(sent["messages"].as_array().map(Vec::len), Some(3));
    let sent = body(Api::Messages, &prompt(items), &model, None);
    assert_eq!(sent["messages"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_reasoning_item_that_led_to_nothing_is_not_sent() {
    let model = model("p", "m");
    let last = thought(json!({"type": "reasoning", "id": "last"}));
    let items = vec![user("one"), assistant(&model, vec![text("a"), last])];
    let sent = body(Api::Responses, &prompt(items), &model, None);
    assert_eq!(sent["input"].as_array().map(Vec::len), Some(2));
}

#[test]
fn thinking_is_asked_for_in_each_apis_way_and_only_where_configured() {
    let ask = |api, id: &str, level, levels: &[Thinking], max| {
        let mut model = model("p", id);
        model.thinking = levels.to_vec();
        let mut prompt = prompt(vec![user("one")]);
        prompt.thinking = level;
        body(api, &prompt, &model, max)
    };
    let all = [Thinking::Low, Thinking::Medium, Thinking::High];
    let high = Thinking::High;
    assert_eq!(
        ask(Api::Chat, "m", high, &all, None)["reasoning_effort"],
        "high"
    );
    assert_eq!(
        ask(Api::Chat, "m", high, &[], None)["reasoning_effort"],
        Value::Null
    );
    assert_eq!(
        ask(Api::Chat, "m", Thinking::Off, &all, None)["reasoning_effort"],
        Value::Null
    );
    let reasoning = ask(Api::Responses, "m", Thinking::Low, &all, None)["reasoning"].clone();
    assert_eq!(reasoning, json!({"effort": "low", "summary": "auto"}));
    assert_eq!(
        ask(Api::Responses, "m", high, &[], None)["include"],
        Value::Null
    );
    let old =
        |level, max| ask(Api::Messages, "claude-sonnet-4-5", level, &all, max)["thinking"].clone();
    assert_eq!(
        old(Thinking::Medium, None),
        json!({"type": "enabled", "budget_tokens": 10_240})
    );
    assert_eq!(
        old(high, Some(8_000)),
        json!({"type": "enabled", "budget_tokens": 6_000})
    );
    assert_eq!(old(high, Some(1_000)), Value::Null);
    let new = ask(Api::Messages, "claude-opus-4-8", high, &all, None);
    assert_eq!(new["thinking"]["type"], "adaptive");
    assert_eq!(new["output_config"], json!({"effort": "high"}));
}

#[test]
fn thinking_is_not_asked_for_amid_calls_that_came_without_thoughts() {
    let model = model("p", "claude-sonnet-4-5");
    let items = |first: Option<AnswerBlock>| {
        let blocks = first.into_iter().chain([call("a", Some(json!({})))]);
        vec![
            user("one"),
            assistant(&model, blocks.collect()),
            result("a", "r", false),
        ]
    };
    let asked = |first| {
        let mut prompt = prompt(items(first));
        prompt.thinking = Thinking::High;
        body(Api::Messages, &prompt, &model, None)["thinking"].clone()
    };
    assert_eq!(asked(None), Value::Null);
    assert_ne!(
        asked(Some(thought(json!({"type": "thinking"})))),
        Value::Null
    );
}

#[test]
fn what_may_be_cached_is_marked_as_the_settings_say() {
    let model = model("anthropic", "claude-sonnet-4-5");
    let mut prompt = prompt(vec![user("hi")]);
    for (cache, mark) in [
        (PromptCache::Off, Value::Null),
        (PromptCache::Short, json!({"type": "ephemeral"})),
        (PromptCache::Long, json!({"type": "ephemeral", "ttl": "1h"})),
    ] {
        prompt.cache = cache;
        let body = body(Api::Messages, &prompt, &model, None);
        let ends = [
            &body["system"][0],
            &body["tools"][0],
            &body["messages"][0]["content"][0],
        ];
        assert!(
            ends.iter().all(|end| end["cache_control"] == mark),
            "{cache:?}"
        );
    }
}
