//! The laws of turns, as inputs and what must follow.

use porthole_protocol::{Answer, EntryBody, Policy, QuestionState, SendMode, ToolOutcome};

use super::*;
use crate::{
    call::told,
    conversation::{
        Request,
        tests::{World, failure, response},
    },
    model::{ModelErrorKind, PromptItem},
    record::SubmissionStage,
    view,
};

fn outcomes(world: &World) -> Vec<(String, ToolOutcome)> {
    let outcome = |body: EntryBody| match body {
        EntryBody::ToolResult { call, outcome, .. } => Some((call.to_string(), outcome)),
        _ => None,
    };
    world.entries().into_iter().filter_map(outcome).collect()
}

fn messages(world: &World) -> Vec<String> {
    let text = |body: EntryBody| match body {
        EntryBody::Message { text, .. } => Some(text),
        _ => None,
    };
    world.entries().into_iter().filter_map(text).collect()
}

fn told_to_model(world: &World) -> Vec<String> {
    let text = |item| match item {
        PromptItem::ToolResult { text, .. } => Some(text),
        _ => None,
    };
    world
        .conversation
        .context
        .items()
        .into_iter()
        .filter_map(text)
        .collect()
}

#[test]
fn a_submission_is_committed_before_it_is_acknowledged_and_before_the_model_is_asked() {
    let mut world = World::new();
    world.send("hello");
    let taken =
        |r: &Record| matches!(r, Record::Submission(s) if s.stage == SubmissionStage::Taken);
    assert!(world.records().iter().any(taken));
    assert!(
        world
            .records()
            .iter()
            .any(|r| matches!(r, Record::Request(_)))
    );
    assert_eq!(messages(&world), ["hello"]);
    assert!(matches!(
        &world.effects[..],
        [
            Effect::Commit(_),
            Effect::Reply(_, Ok(_)),
            Effect::RequestModel { request: 1 }
        ]
    ));
}

#[test]
fn reads_run_four_at_a_time_and_everything_else_alone_and_in_order() {
    let mut world = World::new();
    world.conversation.row.policy = Policy::Auto;
    world.send("go");
    let calls = [
        ("look", "a"),
        ("look", "b"),
        ("look", "c"),
        ("look", "d"),
        ("look", "e"),
        ("shell", "x"),
        ("look", "f"),
    ];
    world.done(response("", &calls));
    assert_eq!(world.started(), ["c2-1", "c2-2", "c2-3", "c2-4"]);
    world.tool_done("c2-2", "");
    assert_eq!(world.started(), ["c2-5"]);
    for call in ["c2-1", "c2-3", "c2-4"] {
        world.tool_done(call, "");
        assert!(
            world.started().is_empty(),
            "the command waits for all reads"
        );
    }
    world.tool_done("c2-5", "");
    assert_eq!(world.started(), ["c2-6"]);
    world.tool_done("c2-6", "");
    assert_eq!(world.started(), ["c2-7"]);
    world.tool_done("c2-7", "");
    assert!(world.asks_model());
}

#[test]
fn a_call_is_committed_as_started_before_it_starts() {
    let mut world = World::new();
    world.send("go");
    world.done(response("", &[("look", "a")]));
    let started = |r: &Record| matches!(r, Record::Call(c) if c.stage == CallStage::Started);
    assert!(world.records().iter().any(started));
    assert_eq!(world.started(), ["c2-1"]);
}

#[test]
fn a_command_asks_and_the_first_answer_counts_once() {
    let mut world = World::new();
    world.send("go");
    world.done(response("", &[("shell", "rm x")]));
    assert!(world.started().is_empty());
    world.preview();
    assert_eq!(world.conversation.questions().count(), 1);
    let no = || Answer::No { why: String::new() };
    assert!(world.answer(1, Answer::Yes).counted);
    assert_eq!(world.started(), ["c2-1"]);
    let second = world.answer(1, no());
    assert!(
        !second.counted && second.message.contains("Ada answered first: yes"),
        "{second:?}"
    );
    assert!(world.started().is_empty());
    let unknown = world.answer(7, no());
    assert!(!unknown.counted && !unknown.message.is_empty());
}

#[test]
fn always_runs_exactly_that_command_without_asking() {
    let mut world = World::new();
    world.send("go");
    world.done(response("", &[("shell", "ls")]));
    world.preview();
    assert!(world.answer(1, Answer::Always).counted);
    assert!(
        world
            .records()
            .contains(&Record::Allowed("shell\nls".into()))
    );
    world.tool_done("c2-1", "");
    world.done(response("", &[("shell", "ls"), ("shell", "ls -a")]));
    assert_eq!(world.started(), ["c4-1"]);
    world.tool_done("c4-1", "");
    world.preview();
    assert_eq!(
        world.conversation.questions().count(),
        1,
        "another command asks"
    );
}

#[test]
fn a_no_is_told_to_the_model_with_its_reason() {
    let mut world = World::new();
    world.send("go");
    world.done(response("", &[("change", "a.rs")]));
    world.preview();
    world.answer(
        1,
        Answer::No {
            why: "use b.rs".into(),
        },
    );
    assert_eq!(outcomes(&world), [("c2-1".into(), ToolOutcome::Denied)]);
    assert!(told_to_model(&world)[0].contains("use b.rs"));
    assert!(world.asks_model());
}

#[test]
fn an_edited_command_runs_in_place_of_the_other_and_its_result_says_so() {
    let mut world = World::new();
    world.send("go");
    world.done(response("", &[("shell", "rm x"), ("change", "y")]));
    world.preview();
    let edit = |command: &str| Answer::Edit {
        command: command.into(),
    };
    let empty = Request::Answer {
        question: porthole_protocol::QuestionId(1),
        answer: edit(" "),
    };
    assert!(
        world.call(empty).is_err(),
        "an empty command is refused and the question stays"
    );
    assert!(world.answer(1, edit("ls x")).counted);
    let starts =
        |e: &Effect| matches!(e, Effect::StartTool(s) if s.command.as_deref() == Some("ls x"));
    assert!(world.effects.iter().any(starts));
    world.tool_done("c2-1", "x");
    assert!(told_to_model(&world)[0].contains("A person changed the command"));
    world.preview();
    let other = Request::Answer {
        question: porthole_protocol::QuestionId(2),
        answer: edit("ls"),
    };
    assert!(
        world.call(other).is_err(),
        "an edit of a file has no command"
    );
}

#[test]
fn read_only_refuses_with_words_for_the_model() {
    let mut world = World::new();
    world.conversation.row.policy = Policy::ReadOnly;
    world.send("go");
    world.done(response("", &[("shell", "ls"), ("look", "a")]));
    assert_eq!(outcomes(&world), [("c2-1".into(), ToolOutcome::Denied)]);
    assert!(told_to_model(&world)[0].contains("read-only"));
    assert_eq!(world.started(), ["c2-2"]);
}

#[test]
fn a_call_that_makes_no_sense_never_runs_and_the_model_is_told() {
    let mut world = World::new();
    world.conversation.row.policy = Policy::Auto;
    world.send("go");
    let mut answer = response("", &[("fly", "a"), ("shell", "ls")]);
    if let AnswerBlock::ToolCall { arguments, .. } = &mut answer.blocks[1] {
        *arguments = None;
    }
    world.done(answer);
    assert!(world.started().is_empty());
    let told = told_to_model(&world);
    assert!(
        told[0].contains("no tool `fly`") && told[1].contains("not valid JSON"),
        "{told:?}"
    );
    assert!(world.asks_model(), "the model may try again");
}

#[test]
fn a_steer_enters_before_the_next_model_request_and_a_follow_up_waits() {
    let mut world = World::new();
    world.send("go");
    world.done(response("", &[("look", "a")]));
    world.submit("later", SendMode::FollowUp);
    world.submit("now", SendMode::Steer);
    assert!(messages(&world).is_empty());
    world.tool_done("c2-1", "");
    assert_eq!(messages(&world), ["now"]);
    world.done(response("done", &[]));
    assert_eq!(
        messages(&world),
        ["later"],
        "the follow-up begins the next turn"
    );
    assert!(world.asks_model());
}

#[test]
fn a_steer_during_the_last_answer_goes_on_with_the_same_turn() {
    let mut world = World::new();
    world.send("go");
    world.submit("also", SendMode::Steer);
    world.done(response("done", &[]));
    assert_eq!(messages(&world), ["also"]);
    assert_eq!(world.request(), 2);
}

#[test]
fn stop_keeps_what_had_arrived_as_incomplete_and_joins_it_to_nothing() {
    let mut world = World::new();
    world.send("go");
    world.piece("half an ans");
    world.stop();
    let kept = |b: &EntryBody| {
        matches!(b, EntryBody::Answer { incomplete: true, blocks, stop: None, .. }
            if blocks[..] == [Block::Text { text: "half an ans".into() }])
    };
    assert!(world.entries().iter().any(kept));
    assert!(world.effects.contains(&Effect::CancelModel));
    assert!(world.conversation.turn.is_none());
    world
        .conversation
        .piece(1, &crate::model::Piece::Text("wer".into()));
    world.handle(crate::conversation::Input::ModelDone {
        request: 1,
        response: response("half an answer", &[]),
    });
    assert!(world.effects.is_empty(), "what comes late changes nothing");
    world.send("again");
    let open = view::turn(&world.conversation, true).and_then(|turn| turn.answer);
    assert_eq!(open.map(|a| a.text), Some(String::new()));
}

#[test]
fn stop_withdraws_the_question_and_cancels_what_had_not_begun() {
    let mut world = World::new();
    world.send("go");
    world.done(response("", &[("shell", "a"), ("look", "b")]));
    world.preview();
    world.stop();
    let withdrawn = |r: &Record| matches!(r, Record::Question(q) if q.question.state == QuestionState::Withdrawn);
    assert!(world.records().iter().any(withdrawn));
    let stopped = ToolOutcome::Stopped;
    assert_eq!(
        outcomes(&world),
        [("c2-1".into(), stopped), ("c2-2".into(), stopped)]
    );
    assert!(world.conversation.turn.is_none());
    let late = world.answer(1, Answer::Yes);
    assert!(
        !late.counted && late.message.contains("stopped"),
        "{late:?}"
    );
    assert!(world.started().is_empty());
}

#[test]
fn stop_waits_for_what_runs_and_keeps_each_calls_own_result() {
    let mut world = World::new();
    world.send("go");
    world.done(response(
        "",
        &[("look", "a"), ("look", "b"), ("shell", "c")],
    ));
    world.tool_done("c2-1", "A");
    world.stop();
    assert!(world.effects.contains(&Effect::StopTools));
    assert_eq!(outcomes(&world), [("c2-3".into(), ToolOutcome::Stopped)]);
    assert!(
        world
            .conversation
            .turn
            .as_ref()
            .is_some_and(LiveTurn::is_stopping)
    );
    world.stop();
    assert!(world.entries().is_empty(), "a second stop adds nothing");
    world.tool_done("c2-2", "B");
    assert!(world.conversation.turn.is_none() && !world.asks_model());
    assert_eq!(told_to_model(&world), ["A", "B", crate::stop::CANCELLED]);
}

#[test]
fn what_waits_when_a_turn_is_stopped_waits_for_the_next_submission() {
    let mut world = World::new();
    world.send("one");
    world.send("two");
    world.stop();
    assert!(world.conversation.turn.is_none());
    assert_eq!(world.conversation.queue.len(), 1);
    world.send("three");
    assert_eq!(messages(&world), ["two", "three"]);
    assert!(world.conversation.queue.is_empty());
}

#[test]
fn a_submission_while_a_turn_winds_down_begins_the_next() {
    let mut world = World::new();
    world.send("one");
    world.done(response("", &[("look", "a")]));
    world.send("two");
    world.stop();
    world.send("three");
    assert!(messages(&world).is_empty());
    world.tool_done("c2-1", "");
    assert_eq!(messages(&world), ["two", "three"]);
}

#[test]
fn a_retry_replaces_what_had_arrived() {
    let mut world = World::new();
    world.send("go");
    world.piece("bro");
    world.failed(failure(ModelErrorKind::StreamTruncated, true));
    assert!(
        matches!(world.effects[..], [Effect::SetRetry { .. }]),
        "nothing to commit"
    );
    world.handle(crate::conversation::Input::RetryDue);
    assert!(world.asks_model());
    let open = view::turn(&world.conversation, true).and_then(|turn| turn.answer);
    assert_eq!(
        open,
        Some(OpenAnswer {
            attempt: 2,
            ..Default::default()
        })
    );
    world.done(response("whole", &[]));
    let answers = |b: &&EntryBody| matches!(b, EntryBody::Answer { .. });
    assert_eq!(world.entries().iter().filter(answers).count(), 1);
}

#[test]
fn a_request_that_cannot_succeed_leaves_one_error_entry_and_what_had_arrived() {
    let mut world = World::new();
    world.send("go");
    for _ in 0..2 {
        world.failed(failure(ModelErrorKind::Overloaded, true));
        assert!(world.entries().is_empty());
        world.handle(crate::conversation::Input::RetryDue);
    }
    world.piece("ha");
    world.send("waits");
    world.failed(failure(ModelErrorKind::Overloaded, true));
    assert!(matches!(
        &world.entries()[..],
        [EntryBody::Answer { incomplete: true, .. }, EntryBody::Error { text, hint }]
            if text == "it broke" && hint == "mend it"
    ));
    assert!(world.conversation.turn.is_none() && !world.asks_model());
    assert_eq!(
        world.conversation.queue.len(),
        1,
        "the next input waits for a person"
    );
    assert!(
        world.conversation.answered,
        "there is something new to look at"
    );
}

#[test]
fn a_context_that_is_too_large_is_told_with_sizes_and_a_way_out() {
    let mut world = World::new();
    world.send(&"x".repeat(7_000));
    world.failed(failure(ModelErrorKind::ContextOverflow, false));
    let entries = world.entries();
    let [EntryBody::Error { text, hint }] = &entries[..] else {
        panic!("{entries:?}");
    };
    assert!(
        text.contains("2012 tokens") && text.contains("test/one"),
        "{text}"
    );
    assert!(hint.contains("/model"), "{hint}");
}

#[test]
fn a_turn_keeps_its_tools_and_the_next_one_has_them_anew() {
    let mut world = World::new();
    world.send("go");
    let tools = |world: &World| {
        world
            .conversation
            .turn
            .as_ref()
            .map(|t| t.definitions.clone())
    };
    let first = tools(&world);
    world.done(response("", &[("look", "a")]));
    world.tool_done("c2-1", "");
    assert_eq!(tools(&world), first);
    world.done(response("done", &[]));
    world.send("next");
    assert_ne!(tools(&world), first);
}

#[test]
fn a_persons_command_needs_no_turn_and_is_seen_by_the_model_only_when_included() {
    let mut world = World::new();
    for (included, n) in [(true, 1), (false, 2)] {
        let command = "ls".to_owned();
        world
            .call(Request::Shell { command, included })
            .expect("taken");
        assert!(
            matches!(world.records()[0], Record::Shell(_)),
            "recorded before it starts"
        );
        let run = porthole_protocol::RunId::parse(&format!("sh-{n}")).expect("id");
        let result = told(ToolOutcome::Ok, "", "a file".into());
        world.handle(crate::conversation::Input::ShellDone { run, result });
        assert!(matches!(world.entries()[..], [EntryBody::Shell { .. }]));
        assert_eq!(world.conversation.context.items().len(), 1);
    }
    assert!(world.conversation.is_idle());
}

#[test]
fn a_guest_whom_the_settings_bind_runs_no_command_past_them() {
    use porthole_protocol::{Author, AuthorKind, Policy, Settings};
    for (limit, may) in [
        (Policy::ReadOnly, false),
        (Policy::Ask, false),
        (Policy::Auto, true),
    ] {
        let mut world = World::new();
        world.conversation.settings = std::sync::Arc::new(Settings {
            guests: [("*".to_owned(), limit)].into(),
            ..Settings::default()
        });
        let author = Author {
            kind: AuthorKind::Guest,
            id: "g-1".into(),
            name: "Tom".into(),
        };
        let request = || Request::Shell {
            command: "id".into(),
            included: true,
        };
        let asked = crate::conversation::Asked {
            ticket: (1, 1),
            author,
            key: Some("k".into()),
        };
        world.handle(crate::conversation::Input::Call(asked, request()));
        let starts = |effect: &Effect| matches!(effect, Effect::StartShell { .. });
        assert_eq!(world.effects.iter().any(starts), may, "{limit:?}");
        assert!(world.call(request()).is_ok(), "the owner may");
    }
}

#[test]
fn a_size_that_is_not_known_is_not_told() {
    let mut world = World::new();
    world.send("x");
    world.failed(failure(ModelErrorKind::ContextOverflow, false));
    let entries = world.entries();
    let [EntryBody::Error { text, .. }] = &entries[..] else {
        panic!("{entries:?}");
    };
    assert!(!text.contains("about"), "{text}");
}
