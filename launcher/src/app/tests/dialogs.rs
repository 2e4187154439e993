//! The launcher's questions: what they show, and what answers them.

use porthole_bridge::KeyCode;

use super::world::*;
use crate::{app::*, link::LinkHappening};

#[test]
fn a_dialog_says_the_exact_value_and_yes_does_that() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url());
    let screen = world.screen();
    assert!(screen.contains("porthole asks"), "{screen}");
    assert!(screen.contains("https://example.com/a"), "{screen}");
    assert!(screen.contains("[ No ]    Open (Ctrl-Y)"), "{screen}");
    assert!(world.last_row().contains("waiting for you"));
    world.wait(501).control('y');
    let asked = Some((world.app.ui.instance(), 1));
    assert!(world.did(&Effect::Open(asked, "https://example.com/a".into())));
}

#[test]
fn type_ahead_never_answers_a_dialog() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url());
    for _ in 0..100 {
        world.wait(50).control('y');
        assert!(
            !world
                .effects
                .iter()
                .any(|effect| matches!(effect, Effect::Open(..)))
        );
    }
    assert!(world.screen().contains("porthole asks"));
}

#[test]
fn a_paste_a_click_and_plain_letters_never_say_yes() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url()).wait(600);
    world.give(Input::Terminal(TerminalEvent::Paste("y\n\u{19}".into())));
    world.key(KeyCode::Char('y'));
    assert!(world.screen().contains("porthole asks"));
    world.key(KeyCode::Enter);
    assert!(world.refused(), "Enter is No");
}

#[test]
fn a_resize_makes_the_dialog_deaf_again() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url()).wait(600);
    world.give(Input::Resized(Size { cols: 90, rows: 30 }));
    world.control('y');
    assert!(world.screen().contains("porthole asks"));
}

#[test]
fn frames_are_kept_while_a_dialog_is_open_and_drawn_after() {
    let mut world = World::new();
    world.frame("before").screen();
    world.key(KeyCode::Enter).action(1, url());
    world.frame("after");
    assert!(world.screen().starts_with("before"));
    world.wait(600).key(KeyCode::Escape);
    assert!(world.screen().starts_with("after"));
}

#[test]
fn a_dialog_that_a_resize_leaves_unseen_is_refused() {
    let mut world = World::new();
    world.link(LinkHappening::Up);
    world.control(']').key(KeyCode::Char('s'));
    assert!(world.screen().contains("Sign out (Ctrl-Y)"));
    world.give(Input::Resized(Size { cols: 20, rows: 5 }));
    world.wait(600).control('y');
    assert!(!world.did(&Effect::SignOut));
    world.give(Input::Resized(Size { cols: 80, rows: 24 }));
    world.key(KeyCode::Enter).action(1, url());
    world.give(Input::Resized(Size { cols: 20, rows: 5 }));
    assert!(world.refused());
}

#[test]
fn every_dialog_that_opens_shows_both_answers() {
    for cols in 10..90 {
        for rows in 3..26 {
            let mut world = World::sized(cols, rows, Some(HASH.to_owned()));
            world.key(KeyCode::Enter).action(1, url());
            let screen = world.screen();
            let shown = screen.contains("[ No ]    Open (Ctrl-Y)");
            assert_eq!(shown, !world.refused(), "{cols}x{rows}\n{screen}");
        }
    }
}
