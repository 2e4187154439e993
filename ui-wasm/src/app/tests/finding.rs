//! Going to places in a conversation, and taking words out of it with the mouse.

use super::world::*;
use porthole_bridge::{Action, Event, Modifiers, Mouse, MouseKind, Request};
use porthole_protocol::{AuthorKind, Block, Call, ConversationState, EntryBody, EntryId, ModelRef};
use serde_json::json;

/// Forty messages with answers; every tenth answer names a needle.
fn long() -> ConversationState {
    let mut state = talked();
    state.entries.clear();
    for at in 0..40_u64 {
        state
            .entries
            .push(message(2 * at + 1, &format!("question {at}")));
        let needle = if at % 10 == 3 { "a Needle" } else { "hay" };
        let body = EntryBody::Answer {
            model: ModelRef::parse("anthropic/claude-sonnet").expect("a model"),
            blocks: vec![Block::Text {
                text: format!("answer {at} has {needle} in it"),
            }],
            stop: Some("end_turn".into()),
            usage: None,
            incomplete: false,
        };
        state
            .entries
            .push(entry(2 * at + 2, AuthorKind::Model, "m", body));
    }
    state
}

fn mouse(world: &mut World, kind: MouseKind, col: u16, row: u16) {
    world.send(Event::Mouse(Mouse {
        kind,
        col,
        row,
        modifiers: Modifiers::default(),
    }));
}

#[test]
fn words_are_found_from_the_newest_on_and_the_message_stays() {
    let mut world = World::with(80, 16, long());
    world.text("draft");
    world.keys(&["ctrl-f"]);
    world.text("needle");
    let screen = world.screen();
    assert!(screen.contains("answer 33 has a Needle"), "{screen}");
    assert!(
        screen.contains("find  needle") && screen.contains("1 of 4"),
        "{screen}"
    );
    world.keys(&["enter", "up"]);
    let screen = world.screen();
    assert!(
        screen.contains("answer 13 has a Needle") && screen.contains("3 of 4"),
        "{screen}"
    );
    world.keys(&["down"]);
    assert!(world.screen().contains("answer 23 has a Needle"));
    world.text("x");
    assert!(
        world.screen().contains("nothing found"),
        "{}",
        world.screen()
    );
    world.keys(&["esc"]);
    assert!(world.screen().contains("▌ draft"));
    assert_eq!(world.draft(), "draft");
}

#[test]
fn what_is_older_is_loaded_when_nothing_more_is_found() {
    let mut state = long();
    state.has_older = true;
    let mut world = World::with(80, 16, state);
    world.keys(&["ctrl-f"]);
    world.text("question 0");
    assert!(
        world.screen().contains("1 of 1 loaded"),
        "{}",
        world.screen()
    );
    world.keys(&["enter"]);
    let asks = |call: &porthole_protocol::Call| call.method().name() == "conversation.history";
    assert!(world.calls().iter().any(|(_, call)| asks(call)));
}

#[test]
fn messages_are_gone_to_one_by_one_and_the_bottom_comes_back() {
    let mut world = World::with(80, 16, long());
    world.keys(&["ctrl-up"]);
    let top = |world: &mut World| {
        let screen = world.screen();
        let line = screen
            .lines()
            .find(|line| line.contains("question"))
            .expect("a question");
        line.trim().to_owned()
    };
    let first = top(&mut world);
    world.keys(&["ctrl-up"]);
    let second = top(&mut world);
    assert_ne!(first, second);
    world.keys(&["ctrl-down"]);
    assert_eq!(top(&mut world), first);
    world.keys(&["backtab", "["]);
    assert_eq!(top(&mut world), second);
}

#[test]
fn what_the_mouse_selects_is_copied_as_words_without_margins_and_breaks() {
    let mut state = talked();
    state.entries = vec![message(
        1,
        "one two three four five six seven eight nine ten eleven twelve",
    )];
    let mut world = World::with(40, 16, state);
    let screen = world.screen();
    let row = screen
        .lines()
        .position(|line| line.contains("one two"))
        .expect("shown");
    let row = u16::try_from(row).expect("a row");
    mouse(&mut world, MouseKind::Press, 4, row);
    mouse(&mut world, MouseKind::Drag, 10, row + 1);
    world.asked.clear();
    mouse(&mut world, MouseKind::Release, 10, row + 1);
    let copied = world.asked.iter().find_map(|request| match request {
        Request::Action {
            action: Action::Copy(words),
            ..
        } => Some(words.clone()),
        _ => None,
    });
    let copied = copied.expect("a copy");
    assert!(
        copied.starts_with("one two three") && !copied.contains(['\n', '▌']),
        "{copied:?}"
    );
}

#[test]
fn a_click_alone_copies_nothing() {
    let mut world = World::with(80, 16, talked());
    world.asked.clear();
    mouse(&mut world, MouseKind::Press, 20, 5);
    mouse(&mut world, MouseKind::Release, 20, 5);
    assert!(
        !world
            .asked
            .iter()
            .any(|r| matches!(r, Request::Action { .. }))
    );
}

#[test]
fn an_entry_that_is_not_loaded_yet_is_gone_to_once_its_page_came() {
    let mut state = talked();
    for entry in &mut state.entries {
        entry.id.0 += 500;
    }
    state.has_older = true;
    let mut world = World::with(80, 24, state);
    let screen = world.app.screen().expect("a conversation is open");
    screen.reveal(EntryId(7), "Needle");
    world.keys(&["x"]);
    let asked = world.calls();
    let (id, _) = asked
        .iter()
        .find(|(_, call)| matches!(call, Call::History { .. }))
        .expect("older entries are asked for");
    let mut older: Vec<_> = (1..60).map(|n| message(n, &format!("older {n}"))).collect();
    older[6] = message(7, "here is the needle");
    world.reply(*id, json!({"entries": older, "has_older": false}));
    assert!(
        world.screen().contains("here is the needle"),
        "{}",
        world.screen()
    );
    assert!(!world.screen().contains("older 50"), "{}", world.screen());
}
