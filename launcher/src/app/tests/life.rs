//! UIs as they come, go and are replaced.

use porthole_bridge::KeyCode;

use super::world::*;
use crate::{app::*, door::DoorError, link::LinkHappening};

#[test]
fn with_a_cached_bundle_the_ui_the_link_and_the_manifest_start_at_once() {
    let world = World::new();
    assert!(world.started().is_some());
    assert!(world.did(&Effect::Connect(1)));
    assert!(world.did(&Effect::Prepare(Some(HASH.into()))));
}

#[test]
fn a_ui_that_ends_leaves_a_page_and_comes_back_with_its_state() {
    let mut world = World::new();
    let instance = world.app.ui.instance();
    world.give(Input::Posted(
        instance,
        Request::Snapshot(b"draft".to_vec()),
    ));
    world.crash();
    let screen = world.screen();
    assert!(
        screen.contains("The UI stopped.") && screen.contains("it trapped"),
        "{screen}"
    );
    world.key(KeyCode::Char('r'));
    assert_eq!(
        world.started().expect("starts").snapshot.as_deref(),
        Some(&b"draft"[..])
    );
    world.crash().key(KeyCode::Char('r'));
    assert_eq!(
        world.started().expect("starts").snapshot,
        None,
        "the state may be what breaks it"
    );
    world.crash();
    assert!(
        world.screen().contains("3 times in a row"),
        "{}",
        world.screen()
    );
}

#[test]
fn a_ui_that_comes_after_the_links_first_words_hears_them() {
    let mut world = World::sized(80, 24, None);
    world
        .link(LinkHappening::Up)
        .link(LinkHappening::Text(b"hello".to_vec()));
    world.give(Input::Door(DoorInput::Prepared(HASH.into())));
    assert!(world.did(&Effect::ToUi(Event::Link(b"hello".to_vec()))));
    world.crash().key(KeyCode::Char('r'));
    world.give(Input::Door(DoorInput::Prepared(HASH.into())));
    assert!(
        world.did(&Effect::Connect(2)),
        "a successor needs a first word of its own"
    );
}

#[test]
fn a_server_that_comes_back_is_asked_for_its_ui_and_so_it_is_on_reloading() {
    let mut world = World::new();
    let ask = Effect::Prepare(Some(HASH.into()));
    world.link(LinkHappening::Up);
    assert!(!world.did(&ask), "it was asked at the start");
    world.link(LinkHappening::Down(DoorError::Unreachable));
    world.give(Input::Alarm(Alarm::Reconnect));
    world.link(LinkHappening::Up);
    assert!(world.did(&ask));
    world.control(']').key(KeyCode::Char('r'));
    assert!(world.did(&ask));
}
