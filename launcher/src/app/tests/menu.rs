//! The launcher's own key and its menu.

use porthole_bridge::{Action, KeyCode};

use super::world::*;
use crate::{app::*, door::DoorError, link::LinkHappening};

#[test]
fn the_launchers_key_works_whatever_the_ui_does() {
    let mut world = World::new();
    world.control(']');
    assert!(
        world
            .effects
            .iter()
            .all(|effect| !matches!(effect, Effect::ToUi(_)))
    );
    assert!(world.screen().contains("reload the UI"));
    world.key(KeyCode::Char('q'));
    assert!(world.did(&Effect::Quit(0, None)));
}

#[test]
fn signing_out_from_the_menu_asks_first() {
    let mut world = World::new();
    world.control(']').key(KeyCode::Char('s'));
    assert!(
        world
            .screen()
            .contains("Sign out of http://127.0.0.1:7420?")
    );
    world.yes();
    assert!(world.did(&Effect::SignOut));
}

#[test]
fn a_line_of_the_menu_that_is_not_seen_does_not_act() {
    for rows in 1..14 {
        let mut world = World::sized(40, rows, Some(HASH.to_owned()));
        world.control(']');
        let seen = world.screen().contains("quit");
        world.key(KeyCode::Char('q'));
        assert_eq!(world.did(&Effect::Quit(0, None)), seen, "{rows} rows");
    }
}

#[test]
fn a_chosen_key_takes_the_place_of_the_default_everywhere() {
    let mut world = World::new();
    world.app.fixed.preferences.launcher_key = "ctrl-g".parse().expect("a control key");
    assert!(world.last_row().contains("Ctrl-G"), "{}", world.last_row());
    world.control(']');
    assert!(!world.screen().contains("reload the UI"));
    world.control('g');
    assert!(world.screen().contains("reload the UI"));
    world.control('g');
    assert!(!world.screen().contains("reload the UI"));
}

#[test]
fn the_menu_opens_over_every_page_and_while_nothing_comes_from_the_ui() {
    let mut world = World::sized(80, 24, None);
    world.control(']');
    assert!(world.screen().contains("reload the UI"), "no UI yet");
    let mut world = World::new();
    world.crash().control(']');
    assert!(world.screen().contains("reload the UI"), "the UI ended");
}

#[test]
fn a_ui_that_asks_without_end_keeps_nobody_from_the_menu() {
    let mut world = World::new();
    let instance = world.app.ui.instance();
    for turn in 0..20 {
        world.action(turn, Action::Quit);
        let place = Place {
            session: format!("s{turn}"),
            conversation: 1,
        };
        world.give(Input::Posted(instance, Request::Place(Some(place))));
    }
    world.action(99, Action::Quit);
    assert!(
        world.refused(),
        "what it takes back itself counts as refused"
    );
    let mut world = World::new();
    world.action(1, Action::Quit).control(']');
    assert!(world.refused());
    assert!(
        world.screen().contains("reload the UI"),
        "the menu opens over a question"
    );
}

#[test]
fn neither_a_ui_nor_a_server_closes_the_menu_or_what_the_launcher_asks_for_itself() {
    let mut world = World::new();
    world.link(LinkHappening::Up);
    world.control(']');
    world.crash();
    assert!(world.screen().contains("reload the UI"));
    let mut world = World::new();
    world.link(LinkHappening::Up);
    world.control(']').key(KeyCode::Char('s'));
    let instance = world.app.ui.instance();
    let place = Place {
        session: "other".into(),
        conversation: 1,
    };
    world.give(Input::Posted(instance, Request::Place(Some(place))));
    world.link(LinkHappening::Down(DoorError::Unreachable));
    world.crash();
    assert!(
        world
            .screen()
            .contains("Sign out of http://127.0.0.1:7420?")
    );
    world.yes();
    assert!(world.did(&Effect::SignOut));
}
