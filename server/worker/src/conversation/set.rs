//! Each setting changes what a conversation does; a turn keeps those that it began with.

use std::sync::Arc;

use porthole_protocol::{
    Author, AuthorKind, CompactionSettings, ErrorCode, ModelInfo, Policy, Price, QueueMode,
    RetrySettings, SendMode, Settings, Thinking, ToolOutcome, ToolRule, Usage,
};

use super::{
    tests::{World, failure, model, response},
    *,
};
use crate::{
    model::{ModelErrorKind, retry_delay},
    view,
};

fn bare(settings: Settings) -> World {
    world(settings)
}

fn world(settings: Settings) -> World {
    let mut world = World::new();
    world.conversation.settings = Arc::new(settings);
    world
}

fn info(context: u64) -> ModelInfo {
    ModelInfo {
        model: model(),
        name: "One".into(),
        context: Some(context),
        thinking: vec![Thinking::Low],
        ready: true,
        source: String::new(),
        practice: false,
        price: Some(Price {
            input: 1_000_000,
            output: 2_000_000,
            cache_read: None,
            cache_write: None,
        }),
    }
}

fn guest_sends(world: &mut World, id: &str) {
    let asked = Asked {
        ticket: (1, 1),
        author: Author {
            kind: AuthorKind::Guest,
            id: id.into(),
            name: "Mira".into(),
        },
        key: None,
    };
    let submit = Request::Submit {
        request: RequestId::parse(&format!("g-{id}")).expect("an id"),
        mode: SendMode::FollowUp,
        text: "please".into(),
        attachments: Vec::new(),
    };
    world.handle(Input::Call(asked, submit));
}

fn outcomes(world: &World) -> Vec<ToolOutcome> {
    let outcome = |body: EntryBody| match body {
        EntryBody::ToolResult { outcome, .. } => Some(outcome),
        _ => None,
    };
    world.entries().into_iter().filter_map(outcome).collect()
}

#[test]
fn steers_enter_all_together_or_one_before_each_request() {
    for (steering, left) in [(QueueMode::All, 0), (QueueMode::One, 1)] {
        let mut world = world(Settings {
            steering,
            ..Settings::default()
        });
        world.send("go");
        world.done(response("", &[("look", "a")]));
        world.submit("one", SendMode::Steer);
        world.submit("two", SendMode::Steer);
        let call = world.conversation.turn.as_ref().expect("a turn").calls[0]
            .row
            .call
            .to_string();
        world.tool_done(&call, "seen");
        assert!(world.asks_model());
        assert_eq!(world.conversation.queue.len(), left, "{steering:?}");
        world.done(response("on it", &[]));
        assert_eq!(world.conversation.queue.len(), 0);
        assert_eq!(
            world.conversation.turn.is_some(),
            left > 0,
            "one more request"
        );
    }
}

#[test]
fn follow_ups_are_answered_all_together_or_one_a_turn() {
    for (follow_up, left) in [(QueueMode::All, 0), (QueueMode::One, 1)] {
        let mut world = world(Settings {
            follow_up,
            ..Settings::default()
        });
        world.send("go");
        world.send("one");
        world.send("two");
        world.done(response("went", &[]));
        assert_eq!(world.conversation.queue.len(), left, "{follow_up:?}");
    }
}

#[test]
fn so_many_reads_run_at_once_and_a_turn_keeps_the_number_it_began_with() {
    let six = [("look", "a"); 6];
    let mut world = world(Settings {
        tools_at_once: 2,
        ..Settings::default()
    });
    world.send("go");
    world.conversation.settings = Arc::new(Settings {
        tools_at_once: 5,
        ..Settings::default()
    });
    world.done(response("", &six));
    assert_eq!(world.started().len(), 2);
    world.stop();
    let mut world = bare(Settings {
        tools_at_once: 5,
        ..Settings::default()
    });
    world.send("go");
    world.done(response("", &six));
    assert_eq!(world.started().len(), 5);
}

#[test]
fn a_tool_that_is_off_is_not_offered() {
    let offered = |settings| {
        let mut world = world(settings);
        world.send("go");
        let turn = world.conversation.turn.as_ref().expect("a turn");
        turn.definitions.len()
    };
    let off = Settings {
        tools: [("look".to_owned(), ToolRule::Off)].into(),
        ..Settings::default()
    };
    assert_eq!((offered(Settings::default()), offered(off)), (1, 0));
    let without = Settings {
        script: false,
        ..Settings::default()
    };
    assert!(!without.offers("script") && Settings::default().offers("script"));
}

#[test]
fn a_tool_asks_or_runs_as_its_own_rule_says() {
    for (rule, started, asked) in [
        (None, 0, 1),
        (Some(ToolRule::Auto), 1, 0),
        (Some(ToolRule::Ask), 0, 1),
    ] {
        let tools = rule.map(|rule| ("shell".to_owned(), rule));
        let mut world = world(Settings {
            tools: tools.into_iter().collect(),
            ..Settings::default()
        });
        world.send("go");
        world.done(response("", &[("shell", "make")]));
        let counts = (world.started().len(), world.previews().len());
        assert_eq!(counts, (started, asked), "{rule:?}");
    }
}

#[test]
fn a_turn_that_answers_a_guest_is_bound_and_the_next_of_the_owner_is_not() {
    let mut world = world(Settings {
        guests: [("*".to_owned(), Policy::ReadOnly)].into(),
        ..Settings::default()
    });
    world.conversation.row.policy = Policy::Auto;
    guest_sends(&mut world, "mira");
    world.done(response("", &[("shell", "make")]));
    assert_eq!(outcomes(&world), [ToolOutcome::Denied]);
    let told = world.conversation.context.items();
    assert!(
        format!("{told:?}").contains("read-only"),
        "the model is told why"
    );
    world.done(response("could not", &[]));
    world.send("then I");
    world.done(response("", &[("shell", "make")]));
    assert_eq!(world.started().len(), 1);
}

#[test]
fn a_delegated_task_of_a_guest_stays_bound() {
    let mut world = world(Settings {
        guests: [("mira".to_owned(), Policy::ReadOnly)].into(),
        ..Settings::default()
    });
    guest_sends(&mut world, "mira");
    world.done(response("", &[("delegate", "a task")]));
    let child = world.records().iter().find_map(|record| match record {
        Record::Conversation(row) if row.parent.is_some() => Some(row.clone()),
        _ => None,
    });
    assert!(child.expect("a child").for_guests.contains("mira"));
}

#[test]
fn it_is_summed_up_by_itself_only_where_the_settings_say_so() {
    let sums_up = |compaction: CompactionSettings, overflow: bool| {
        let mut world = world(Settings {
            compaction,
            ..Settings::default()
        });
        world.conversation.model = Some(info(10_000));
        world.send(&"x".repeat(18_000));
        world.done(response("read", &[]));
        world.send("more");
        if overflow {
            world.failed(failure(ModelErrorKind::ContextOverflow, false));
        }
        let sums = |effect: &Effect| matches!(effect, Effect::Summarize { .. });
        world.effects.iter().any(sums)
    };
    let at = |automatic, at_percent| CompactionSettings {
        automatic,
        at_percent,
    };
    assert!(!sums_up(at(true, 85), false), "half full");
    assert!(sums_up(at(true, 40), false));
    assert!(!sums_up(at(false, 40), false));
    assert!(sums_up(at(true, 85), true));
    assert!(
        !sums_up(at(false, 85), true),
        "also not where the provider says so"
    );
}

#[test]
fn a_request_is_tried_as_often_as_the_settings_say() {
    for (tries, waits) in [(1, false), (3, true)] {
        let mut world = world(Settings {
            retry: RetrySettings {
                tries,
                ..RetrySettings::default()
            },
            ..Settings::default()
        });
        world.conversation.rules.retry_delay = retry_delay;
        world.send("go");
        world.failed(failure(ModelErrorKind::Overloaded, true));
        let set = |effect: &Effect| matches!(effect, Effect::SetRetry { .. });
        assert_eq!(world.effects.iter().any(set), waits, "{tries}");
    }
}

#[test]
fn an_answer_is_shown_while_it_comes_in_or_once_it_is_whole() {
    for streaming in [true, false] {
        let mut world = world(Settings {
            streaming,
            ..Settings::default()
        });
        world.send("go");
        world.piece("some text");
        let mut shown = view::Shown::default();
        assert_eq!(shown.growth(&world.conversation).is_some(), streaming);
        let turn = view::turn(&world.conversation, true).expect("a turn");
        let text = turn.answer.map(|answer| answer.text).unwrap_or_default();
        assert_eq!(text == "some text", streaming);
    }
}

#[test]
fn a_level_that_the_model_does_not_have_is_given_up_or_refused() {
    let mut world = world(Settings::default());
    world.conversation.model = Some(info(1));
    let configure = |model: Option<ModelInfo>, thinking| Request::Configure {
        model: model.map(Box::new),
        thinking,
        policy: None,
    };
    let refused = world.call(configure(None, Some(Thinking::High)));
    assert_eq!(refused.map_err(|error| error.code), Err(ErrorCode::Invalid));
    world
        .call(configure(None, Some(Thinking::Low)))
        .expect("has it");
    assert_eq!(world.conversation.row.thinking, Thinking::Low);
    let plain = ModelInfo {
        thinking: Vec::new(),
        ..info(1)
    };
    world.call(configure(Some(plain), None)).expect("changes");
    assert_eq!(world.conversation.row.thinking, Thinking::Off);
}

#[test]
fn costs_add_up_and_what_is_not_known_is_counted_and_not_nothing() {
    let mut world = world(Settings::default());
    world.conversation.model = Some(info(100_000));
    let usage = Usage {
        input: Some(1_000),
        output: Some(10),
        ..Usage::default()
    };
    for usage in [Some(usage), None, Some(usage)] {
        world.send("go");
        let mut answer = response("went", &[]);
        answer.usage = usage;
        world.done(answer);
    }
    let row = &world.conversation.row;
    assert_eq!(row.usage.cost_nanos, Some(2 * 1_020_000));
    assert_eq!(row.unpriced, 1);
    assert_eq!(
        world.conversation.last.and_then(|last| last.cost_nanos),
        Some(1_020_000)
    );
    let mut unknown = bare(Settings::default());
    unknown.send("go");
    let mut answer = response("went", &[]);
    answer.usage = Some(usage);
    unknown.done(answer);
    assert_eq!(unknown.conversation.row.usage.cost_nanos, None);
    assert_eq!(unknown.conversation.row.unpriced, 1);
}
