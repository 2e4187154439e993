//! What a script may call, as inputs and what must follow.

use porthole_protocol::{Answer, EntryBody, Policy};
use serde_json::json;

use super::*;
use crate::{
    conversation::{
        Input,
        tests::{World, loaded, response},
    },
    record::{Loaded, TurnRow, TurnStage},
    view,
};

fn call(id: &str) -> CallId {
    CallId::parse(id).expect("id")
}

/// A turn whose script runs.
fn scripted() -> World {
    let mut world = World::new();
    world.send("go");
    world.done(response("", &[("script", "x"), ("look", "after")]));
    assert_eq!(world.started(), ["c2-1"], "a script runs alone");
    world
}

fn asks(world: &mut World, tool: &str, on: &str) {
    world.handle(Input::Nested {
        parent: call("c2-1"),
        tool: tool.into(),
        arguments: json!({ "on": on }),
    });
}

/// Returns what the last input told the script.
fn told_to_script(world: &World) -> Option<(ToolOutcome, String)> {
    world.effects.iter().find_map(|effect| match effect {
        Effect::Nested(parent, result) => {
            assert_eq!(*parent, call("c2-1"));
            Some((result.outcome, result.text.clone()))
        }
        _ => None,
    })
}

fn row(world: &World) -> Vec<(String, Option<ToolOutcome>)> {
    let last = world
        .records()
        .iter()
        .rev()
        .find_map(|record| match record {
            Record::Call(row) => Some(row.nested.clone()),
            _ => None,
        });
    let nested = last.expect("the script's row").into_iter();
    nested.map(|n| (n.call.to_string(), n.outcome)).collect()
}

#[test]
fn a_scripts_call_stands_in_its_row_before_it_runs_and_only_the_script_sees_its_result() {
    let mut world = scripted();
    asks(&mut world, "look", "a");
    assert_eq!(world.started(), ["c2-1-1"]);
    assert_eq!(row(&world), [("c2-1-1".into(), None)]);
    let shown = view::turn(&world.conversation, true).expect("a turn");
    assert_eq!(shown.tools.len(), 2, "it is shown with its script");
    assert_eq!(shown.tools[0].nested[0].subject, "a");
    world.tool_done("c2-1-1", "of a");
    assert_eq!(
        told_to_script(&world),
        Some((ToolOutcome::Ok, "of a".into()))
    );
    assert_eq!(row(&world), [("c2-1-1".into(), Some(ToolOutcome::Ok))]);
    assert!(world.entries().is_empty() && world.started().is_empty());
    world.tool_done("c2-1", "all");
    let entries = world.entries();
    let [EntryBody::ToolResult { nested, text, .. }] = &entries[..] else {
        panic!("{entries:?}");
    };
    assert_eq!((nested.len(), text.as_str()), (1, "all"));
    assert_eq!(world.started(), ["c2-2"], "then what comes after it");
}

#[test]
fn each_call_asks_as_it_would_by_itself_and_a_no_is_told_to_the_script() {
    let mut world = scripted();
    asks(&mut world, "shell", "rm x");
    assert!(world.started().is_empty());
    world.preview();
    let question = world
        .conversation
        .questions()
        .next()
        .expect("it asks")
        .clone();
    assert_eq!(
        (question.call, question.subject.as_str()),
        (call("c2-1-1"), "rm x")
    );
    let why = "not that".to_owned();
    assert!(world.answer(1, Answer::No { why }).counted);
    let (outcome, text) = told_to_script(&world).expect("the script goes on");
    assert_eq!(outcome, ToolOutcome::Denied);
    assert!(text.contains("not that"));
    asks(&mut world, "shell", "make");
    world.preview();
    assert!(world.answer(2, Answer::Yes).counted);
    assert_eq!(world.started(), ["c2-1-2"]);
    assert!(!world.answer(2, Answer::Yes).counted, "once");
}

#[test]
fn read_only_binds_scripts_too() {
    let mut world = World::new();
    world.conversation.row.policy = Policy::ReadOnly;
    world.send("go");
    world.done(response("", &[("script", "x")]));
    asks(&mut world, "change", "f");
    let told = told_to_script(&world).expect("told at once");
    assert_eq!(told.0, ToolOutcome::Denied);
    assert_eq!(row(&world), [("c2-1-1".into(), Some(ToolOutcome::Denied))]);
}

#[test]
fn scripts_call_no_scripts_and_hand_nothing_on_and_have_a_bound() {
    let mut world = scripted();
    for tool in ["script", "delegate"] {
        asks(&mut world, tool, "x");
        assert!(told_to_script(&world).is_some_and(|told| told.0 == ToolOutcome::Failed));
        assert!(world.started().is_empty() && world.records().is_empty());
    }
    asks(&mut world, "unknown", "x");
    assert!(told_to_script(&world).is_some_and(|told| told.1.contains("no tool")));
    for n in 2..=MOST_CALLS {
        asks(&mut world, "look", "x");
        world.tool_done(&format!("c2-1-{n}"), "");
    }
    asks(&mut world, "look", "x");
    let told = told_to_script(&world).expect("refused");
    assert!(told.1.contains("at most 100"), "{told:?}");
}

#[test]
fn a_stop_withdraws_its_question_and_every_further_call_is_refused() {
    let mut world = scripted();
    asks(&mut world, "shell", "make");
    world.preview();
    world.stop();
    let withdrawn = |record: &Record| matches!(record, Record::Question(row) if row.question.state == QuestionState::Withdrawn);
    assert!(world.records().iter().any(withdrawn));
    assert!(told_to_script(&world).is_some_and(|told| told.0 == ToolOutcome::Stopped));
    assert!(
        world.effects.contains(&Effect::StopTools),
        "the script is told to end"
    );
    asks(&mut world, "look", "x");
    assert!(told_to_script(&world).is_some_and(|told| told.0 == ToolOutcome::Stopped));
    assert!(world.started().is_empty());
    world.tool_done("c2-1", "ended");
    assert!(world.conversation.turn.is_none());
}

#[test]
fn a_call_of_a_script_that_is_over_leads_to_nothing() {
    let mut world = scripted();
    asks(&mut world, "look", "a");
    world.tool_done("c2-1", "it did not wait");
    let entries = world.entries();
    let EntryBody::ToolResult { nested, .. } = &entries[0] else {
        panic!("{entries:?}");
    };
    assert_eq!(nested[0].outcome, Some(ToolOutcome::Interrupted));
    world.tool_done("c2-1-1", "late");
    assert!(world.effects.is_empty(), "{:?}", world.effects);
}

#[test]
fn after_a_crash_a_script_is_interrupted_and_says_what_it_had_called() {
    let mut world = scripted();
    asks(&mut world, "look", "a");
    world.tool_done("c2-1-1", "of a");
    asks(&mut world, "shell", "make");
    world.preview();
    let turn = world.conversation.turn.as_ref().expect("a turn");
    let question = match &turn.calls.last().expect("the call").phase {
        Phase::Asking(row) => (**row).clone(),
        other => panic!("{other:?}"),
    };
    let turn_row = TurnRow {
        stage: TurnStage::Running,
        ..turn.row.clone()
    };
    let script = turn.calls[0].row.clone();
    let calls = vec![script.clone(), turn.calls[1].row.clone()];
    let mut world = World::from(Loaded {
        turn: Some(turn_row),
        calls,
        questions: vec![question],
        counters: world.conversation.counters,
        ..loaded()
    });
    world.handle(Input::Resume);
    let withdrawn = |record: &Record| matches!(record, Record::Question(row) if row.question.state == QuestionState::Withdrawn);
    assert!(
        world.records().iter().any(withdrawn),
        "nothing is asked any more"
    );
    let entries = world.entries();
    let Some(EntryBody::ToolResult {
        outcome,
        text,
        nested,
        ..
    }) = entries.first()
    else {
        panic!("{entries:?}");
    };
    assert_eq!(*outcome, ToolOutcome::Interrupted);
    assert!(
        text.contains("look a: done") && text.contains("shell make: interrupted"),
        "{text}"
    );
    let outcomes: Vec<_> = nested.iter().map(|call| call.outcome).collect();
    assert_eq!(
        outcomes,
        [Some(ToolOutcome::Ok), Some(ToolOutcome::Interrupted)]
    );
    assert!(
        !world.started().contains(&"c2-1".to_owned()),
        "it is not run again"
    );
    assert_eq!(world.conversation.questions().count(), 0);
}

#[test]
fn what_is_long_is_cut_in_the_row() {
    let mut world = scripted();
    asks(&mut world, "look", &"x".repeat(100_000));
    let nested = &view::turn(&world.conversation, true).expect("a turn").tools[0].nested;
    assert!(nested[0].subject.len() < 400);
}
