//! Whole screens as text, for a person to read in a diff.

use super::world::*;
use insta::assert_snapshot;

#[test]
fn a_conversation_that_needs_someone_at_100_by_30() {
    let mut world = World::with(100, 30, waiting());
    world.text("also bump the changelog");
    assert_snapshot!(world.screen(), @"");
}

#[test]
fn the_same_at_80_by_24() {
    let mut world = World::with(80, 24, waiting());
    assert_snapshot!(world.screen(), @"");
}

#[test]
fn the_same_at_40_by_12() {
    let mut world = World::with(40, 12, waiting());
    assert_snapshot!(world.screen(), @"");
}

#[test]
fn a_turn_that_works() {
    let mut world = World::with(80, 20, working());
    assert_snapshot!(world.screen(), @"");
}

#[test]
fn the_first_minute_with_the_stand_in() {
    let mut state = empty();
    state.info.practice = true;
    let mut world = World::with(80, 20, state);
    assert_snapshot!(world.screen(), @"");
}

#[test]
fn home_at_100_by_24() {
    let mut world = World::with(100, 24, talked());
    world.keys(&["alt-h"]);
    assert_snapshot!(world.screen(), @"");
}

#[test]
fn home_at_40_by_12() {
    let mut world = World::with(40, 12, talked());
    world.keys(&["alt-h", "down"]);
    assert_snapshot!(world.screen(), @"");
}

#[test]
fn home_with_nothing_in_it_says_what_to_do() {
    let mut start = start(80, 16);
    start.place = None;
    let mut world = World::begin(start);
    world.connect(1);
    world.sessions(Vec::new());
    assert_snapshot!(world.screen(), @"");
}

#[test]
fn the_palette_finds_by_typing() {
    let mut world = World::with(80, 24, talked());
    world.keys(&["ctrl-k"]);
    world.text("think");
    assert_snapshot!(world.screen(), @"");
}

#[test]
fn commands_are_listed_while_one_is_typed() {
    let mut world = World::with(80, 24, talked());
    world.text("/t");
    assert_snapshot!(world.screen(), @"");
}

#[test]
fn help_shows_every_key() {
    let mut world = World::with(80, 24, talked());
    world.keys(&["f1"]);
    assert_snapshot!(world.screen(), @"");
}

#[test]
fn a_lost_connection_is_said_and_what_was_sent_is_marked() {
    let mut world = World::with(80, 20, talked());
    world.send(porthole_bridge::Event::LinkState(
        porthole_bridge::LinkState::Down { retry_in_ms: 500 },
    ));
    world.text("and bump the changelog");
    world.keys(&["enter"]);
    assert_snapshot!(world.screen(), @"");
}

#[test]
fn a_wide_terminal_keeps_the_text_narrow_and_in_the_middle() {
    let mut world = World::with(160, 18, talked());
    assert_snapshot!(world.screen(), @"");
}

#[test]
fn without_the_glyphs_every_sign_has_a_stand_in() {
    let mut start = start(80, 18);
    start.unicode = false;
    start.place = None;
    let mut world = World::begin(start);
    world.connect(1);
    world.sessions(rows_of_home());
    assert_snapshot!(world.screen(), @"");
}
