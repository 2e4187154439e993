//! What a model sees of entries.

use porthole_protocol::{Author, AuthorKind, EntryId, SendMode};
use serde_json::json;

use super::*;

fn author(kind: AuthorKind, name: &str) -> Author {
    let (id, name) = ("x".to_owned(), name.to_owned());
    Author { kind, id, name }
}

fn push(context: &mut Context, body: EntryBody, blocks: Option<Vec<AnswerBlock>>) {
    let entry = Entry {
        id: EntryId(1),
        at_ms: 0,
        author: author(AuthorKind::Owner, "Ada"),
        turn: None,
        body,
    };
    context.push(&entry, blocks.as_deref());
}

fn message(text: &str) -> EntryBody {
    EntryBody::Message {
        text: text.into(),
        mode: SendMode::FollowUp,
        attachments: Vec::new(),
    }
}

fn result(call: &str, text: &str) -> EntryBody {
    EntryBody::ToolResult {
        call: CallId::parse(call).expect("id"),
        tool: "look".into(),
        subject: String::new(),
        outcome: ToolOutcome::Ok,
        summary: String::new(),
        text: text.into(),
        detail: ToolDetail::Text,
        duration_ms: 0,
        nested: Vec::new(),
        attachments: Vec::new(),
    }
}

fn answer(context: &mut Context, calls: &[&str]) {
    let shown = |call: &&str| Block::ToolCall {
        call: CallId::parse(call).expect("id"),
        tool: "look".into(),
        subject: String::new(),
        arguments: json!({}),
    };
    let block = |call: &&str| AnswerBlock::ToolCall {
        provider_id: format!("p-{call}"),
        tool: "look".into(),
        arguments: Some(json!({})),
    };
    let body = EntryBody::Answer {
        model: ModelRef::parse("a/b").expect("reference"),
        blocks: calls.iter().map(shown).collect(),
        stop: Some("tool_use".into()),
        usage: None,
        incomplete: false,
    };
    push(context, body, Some(calls.iter().map(block).collect()));
}

fn outline(context: &Context) -> Vec<String> {
    let line = |item| match item {
        PromptItem::User { text, .. } => format!("user: {text}"),
        PromptItem::Assistant { .. } => "assistant".to_owned(),
        PromptItem::ToolResult {
            provider_id,
            text,
            failed,
            ..
        } => format!("{provider_id} {failed}: {text}"),
    };
    context.items().into_iter().map(line).collect()
}

#[test]
fn every_call_has_one_result_right_after_its_answer_whatever_came_between() {
    let mut context = Context::default();
    push(&mut context, message("go"), None);
    answer(&mut context, &["c1", "c2", "c3"]);
    push(&mut context, message("while it ran"), None);
    push(&mut context, result("c3", "three"), None);
    push(&mut context, result("c1", "one"), None);
    push(&mut context, result("c1", "one again"), None);
    let expected = [
        "user: go",
        "assistant",
        "p-c1 false: one",
        "p-c2 true: Interrupted: this call has no result.",
        "p-c3 false: three",
        "user: while it ran",
    ];
    assert_eq!(outline(&context), expected);
}

#[test]
fn a_reset_hides_and_a_compaction_stands_for_what_came_before() {
    let mut context = Context::default();
    push(&mut context, message("old"), None);
    push(&mut context, EntryBody::Reset, None);
    push(&mut context, message("new"), None);
    assert_eq!(outline(&context), ["user: new"]);
    let summary = "it was so".to_owned();
    let compaction = EntryBody::Compaction {
        summary,
        automatic: false,
        kept: Vec::new(),
    };
    push(&mut context, compaction, None);
    let expected = ["user: Summary of the conversation so far:\n\nit was so"];
    assert_eq!(outline(&context), expected);
}

#[test]
fn notices_and_errors_are_for_people_only() {
    let mut context = Context::default();
    let text = "x".to_owned();
    push(&mut context, EntryBody::Notice { text: text.clone() }, None);
    let hint = String::new();
    push(&mut context, EntryBody::Error { text, hint }, None);
    assert!(context.items().is_empty());
}

#[test]
fn an_entry_that_was_taken_out_is_not_seen_and_its_calls_keep_their_results() {
    let mut context = Context::default();
    let mut push_as = |id, body: EntryBody, blocks: Option<Vec<AnswerBlock>>| {
        let entry = Entry {
            id: EntryId(id),
            at_ms: 0,
            author: author(AuthorKind::Owner, "Ada"),
            turn: Some(TurnId(1)),
            body,
        };
        context.push(&entry, blocks.as_deref());
    };
    let exclude = |entry, excluded| EntryBody::Excluded {
        entry: EntryId(entry),
        excluded,
    };
    push_as(1, message("one"), None);
    push_as(2, message("two"), None);
    let shown = Block::ToolCall {
        call: CallId::parse("c1").expect("id"),
        tool: "look".into(),
        subject: String::new(),
        arguments: json!({}),
    };
    let body = EntryBody::Answer {
        model: ModelRef::parse("a/b").expect("reference"),
        blocks: vec![shown],
        stop: None,
        usage: None,
        incomplete: false,
    };
    let block = AnswerBlock::ToolCall {
        provider_id: "p".into(),
        tool: "look".into(),
        arguments: Some(json!({})),
    };
    push_as(3, body, Some(vec![block]));
    push_as(4, result("c1", "a secret"), None);
    push_as(5, exclude(1, true), None);
    push_as(6, exclude(4, true), None);
    let seen = outline(&context);
    assert_eq!(seen[0], "user: two");
    assert_eq!(seen[2], format!("p false: {EXCLUDED}"));
    assert_eq!(context.excluded(EntryId(1)), Some(true));
    assert_eq!(context.excluded(EntryId(9)), None);
    let before = context.bytes();
    context.exclude(EntryId(1), false);
    assert_eq!(outline(&context)[0], "user: one");
    assert!(context.bytes() > before);
}

#[test]
fn the_estimate_begins_from_what_the_provider_counted() {
    let mut context = Context::default();
    push(&mut context, message(&"x".repeat(700)), None);
    let speaker = "<speaker kind=\"owner\" id=\"x\" name=\"Ada\"/>".len() as u64;
    assert_eq!(context.tokens(70 - speaker), 220);
    let usage = porthole_protocol::Usage {
        input: Some(1_000),
        output: Some(50),
        ..Default::default()
    };
    let body = EntryBody::Answer {
        model: ModelRef::parse("a/b").expect("reference"),
        blocks: Vec::new(),
        stop: None,
        usage: Some(usage),
        incomplete: false,
    };
    let text = "y".repeat(100);
    push(&mut context, body, Some(vec![AnswerBlock::Text { text }]));
    push(
        &mut context,
        message(&"z".repeat(350 - speaker as usize)),
        None,
    );
    assert_eq!(context.tokens(70), 1_150);
}

#[test]
fn the_instructions_name_place_day_and_the_projects_rules() {
    let text = system(&Surroundings {
        cwd: "/src/shop".into(),
        platform: "linux x86_64".into(),
        date: "2026-11-30".into(),
        rules: vec![("~/src/AGENTS.md".into(), "Use tabs.".into())],
        skills: String::new(),
    });
    for part in [
        "/src/shop",
        "linux x86_64",
        "2026-11-30",
        "Rules from ~/src/AGENTS.md",
        "\n\nUse tabs.",
    ] {
        assert!(text.contains(part), "{part}");
    }
}
