//! Stopping at each point of a turn: what had arrived is kept once and marked, and nothing goes on.

use porthole_protocol::{Answer, Block, EntryBody};

use crate::{
    conversation::{
        Effect, Input, Request,
        tests::{World, failure, response},
    },
    model::ModelErrorKind,
};

/// Returns the texts that were kept as parts of answers.
fn kept(world: &World) -> Vec<String> {
    let text = |body: EntryBody| match body {
        EntryBody::Answer {
            incomplete: true,
            blocks,
            ..
        } => match &blocks[..] {
            [Block::Text { text }] => Some(text.clone()),
            other => panic!("{other:?}"),
        },
        _ => None,
    };
    world.entries().into_iter().filter_map(text).collect()
}

fn is_over(world: &World) {
    assert!(world.conversation.turn.is_none(), "the turn is over");
    assert!(!world.asks_model() && world.started().is_empty());
    let told = |body: &EntryBody| matches!(body, EntryBody::Notice { text } if text.starts_with("Stopped by"));
    let entries = world.entries();
    assert_eq!(
        entries.iter().filter(|body| told(body)).count(),
        1,
        "{entries:?}"
    );
}

#[test]
fn while_the_next_try_waits_the_part_of_the_last_is_kept_and_no_try_follows() {
    let mut world = World::new();
    world.send("go");
    world.piece("half");
    world.failed(failure(ModelErrorKind::StreamTruncated, true));
    world.stop();
    assert_eq!(kept(&world), ["half"]);
    is_over(&world);
    world.handle(Input::RetryDue);
    assert!(world.effects.is_empty(), "{:?}", world.effects);
}

#[test]
fn in_the_second_try_only_its_own_part_is_kept() {
    let mut world = World::new();
    world.send("go");
    world.piece("first");
    world.failed(failure(ModelErrorKind::StreamTruncated, true));
    world.handle(Input::RetryDue);
    world.piece("second");
    world.stop();
    assert_eq!(kept(&world), ["second"]);
    is_over(&world);
}

#[test]
fn before_anything_arrived_nothing_is_kept() {
    let mut world = World::new();
    world.send("go");
    world.stop();
    assert!(kept(&world).is_empty());
    is_over(&world);
}

#[test]
fn while_it_is_found_out_what_a_question_shows_nothing_is_asked_any_more() {
    let mut world = World::new();
    world.send("go");
    world.done(response("", &[("shell", "make")]));
    let preview = world.effects.clone();
    world.stop();
    is_over(&world);
    let call = preview.iter().find_map(|effect| match effect {
        Effect::Preview(start) => Some(start.call.clone()),
        _ => None,
    });
    world.handle(Input::Previewed {
        call: call.expect("it was being looked at"),
        detail: porthole_protocol::ToolDetail::Text,
    });
    assert!(world.effects.is_empty(), "{:?}", world.effects);
    assert!(!world.answer(1, Answer::Yes).counted);
}

#[test]
fn while_what_came_before_is_summed_up_it_stays_as_it_is() {
    let mut world = World::new();
    world.send("go");
    world.done(response("an answer", &[]));
    let before = world.conversation.context.items();
    let instructions = String::new();
    world
        .call(Request::Compact { instructions })
        .expect("taken");
    let request = world.request();
    world.stop();
    assert!(world.effects.contains(&Effect::CancelModel));
    is_over(&world);
    world.handle(Input::ModelDone {
        request,
        response: response("a summary that comes late", &[]),
    });
    assert!(world.effects.is_empty(), "{:?}", world.effects);
    assert_eq!(world.conversation.context.items(), before);
}

#[test]
fn while_servers_are_asked_what_they_offer_no_request_follows() {
    let mut world = World::new();
    world.conversation.rules.servers = true;
    world.send("go");
    assert!(world.effects.contains(&Effect::AskServers) && !world.asks_model());
    world.stop();
    is_over(&world);
    world.handle(Input::Offered(Vec::new()));
    assert!(world.effects.is_empty(), "{:?}", world.effects);
}

#[test]
fn what_servers_offer_is_asked_for_once_a_turn_and_stays() {
    let mut world = World::new();
    world.conversation.rules.servers = true;
    world.send("go");
    let tool = |name: &str| crate::model::ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        schema: serde_json::json!({}),
    };
    world.handle(Input::Offered(vec![tool("mcp_s_one")]));
    assert!(world.asks_model());
    let names = |world: &World| -> Vec<String> {
        let turn = world.conversation.turn.as_ref().expect("a turn");
        turn.definitions
            .iter()
            .map(|tool| tool.name.clone())
            .collect()
    };
    assert_eq!(names(&world), ["look", "mcp_s_one"]);
    world.done(response("", &[("look", "a")]));
    world.tool_done("c2-1", "");
    assert!(world.asks_model() && !world.effects.contains(&Effect::AskServers));
    world.handle(Input::Offered(vec![tool("mcp_s_two")]));
    assert!(world.effects.is_empty(), "for another turn");
    assert_eq!(names(&world), ["look", "mcp_s_one"]);
    world.done(response("", &[("mcp_s_two", "x")]));
    let told = world.conversation.context.items();
    assert!(
        format!("{told:?}").contains("There is no tool `mcp_s_two`"),
        "{told:?}"
    );
}
