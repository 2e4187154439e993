//! When the screen is drawn, and what stands on it besides the UI.

use porthole_bridge::{KeyCode, Outcome};

use super::world::*;
use crate::{app::*, link::LinkHappening};

#[test]
fn the_first_change_is_drawn_at_once_and_the_next_is_spaced() {
    let mut world = World::new();
    world.wait(100).frame("a");
    assert!(world.did(&Effect::Draw));
    world.wait(1).frame("b");
    assert!(!world.did(&Effect::Draw));
    assert!(matches!(
        world.effects[..],
        [Effect::Alarm(Alarm::Draw, Some(_))]
    ));
    world.wait(1).frame("c");
    assert!(world.effects.is_empty(), "one alarm is enough");
    world.wait(10).give(Input::Alarm(Alarm::Draw));
    assert!(world.did(&Effect::Draw));
    assert!(world.screen().starts_with('c'), "the newest frame wins");
}

#[test]
fn the_echo_of_a_key_does_not_wait_and_one_key_buys_one_frame() {
    let mut world = World::new();
    world.wait(100).frame("a");
    world.wait(1).key(KeyCode::Char('x'));
    world.frame("b");
    assert!(world.did(&Effect::Draw));
    assert!(world.screen().starts_with('b'));
    world.wait(1).frame("c");
    assert!(!world.did(&Effect::Draw));
}

#[test]
fn at_rest_nothing_is_asked_for() {
    let mut world = World::new();
    world.wait(100).give(Input::Alarm(Alarm::Draw));
    world.wait(100).give(Input::Alarm(Alarm::Draw));
    assert!(world.effects.is_empty(), "{:?}", world.effects);
}

#[test]
fn the_trust_line_says_who_and_what_and_shortens_from_the_least_needed() {
    let mut world = World::sized(100, 10, Some(HASH.into()));
    world.link(LinkHappening::Up);
    insta::assert_snapshot!(world.last_row(), @" porthole │ 127.0.0.1:7420 │ owner │ UI 3f9a21c04d7e │ connected                    Ctrl-] launcher");
    let mut narrow = World::sized(40, 12, Some(HASH.into()));
    narrow.link(LinkHappening::Up);
    insta::assert_snapshot!(narrow.last_row(), @" 127.0.0.1:7420 │ connected      Ctrl-]");
    for cols in 1..40 {
        let mut tiny = World::sized(cols, 2, Some(HASH.into()));
        assert!(tiny.last_row().trim().len() <= usize::from(cols));
    }
}

#[test]
fn a_ui_draws_neither_the_last_row_nor_over_a_dialog() {
    let mut world = World::new();
    let row = world.last_row();
    world.frame("\x1b[24;1HSPOOF\x1b[99;1HSPOOF");
    assert_eq!(world.last_row(), row);
}

#[test]
fn a_ui_is_told_of_as_many_cells_as_plain_text_fits_into_a_frame() {
    for ((cols, rows), told) in [
        ((80, 24), (80, 23)),
        ((300, 201), (300, 200)),
        ((500, 200), (500, 120)),
        ((9_999, 9_999), (500, 120)),
        ((301, 300), (301, 199)),
        ((1, 1), (1, 1)),
        ((0, 0), (1, 1)),
    ] {
        let size = ui_size(Size { cols, rows });
        assert_eq!((size.cols, size.rows), told, "{cols}x{rows}");
        let cells = u32::from(size.cols) * u32::from(size.rows);
        assert!(cells <= porthole_bridge::limits::CELLS);
    }
}

#[test]
fn long_feedback_is_cut_and_the_rest_of_the_trust_line_stays() {
    let mut world = World::new();
    world.link(LinkHappening::Up);
    let outcome = Outcome::Done("x".repeat(200));
    world.give(Input::Local(LocalDone {
        asked: None,
        outcome,
    }));
    let row = world.last_row();
    assert!(row.contains("127.0.0.1:7420 │ owner"), "{row}");
    assert!(row.contains("xxxxxxxx") && row.contains('…'), "{row}");
    assert!(row.contains("Ctrl-]"), "{row}");
}

#[test]
fn a_sentence_of_a_page_ends_with_one_full_stop() {
    let mut world = World::sized(80, 24, None);
    let trouble = Trouble::Bundle("it is broken.".into());
    world.give(Input::Door(DoorInput::NotPrepared(trouble)));
    let screen = world.screen();
    assert!(
        screen.contains("broken.") && !screen.contains(".."),
        "{screen}"
    );
}
