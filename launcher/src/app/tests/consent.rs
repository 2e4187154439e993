//! What a UI may have done on this computer, and when its permission ends.

use porthole_bridge::{Action, Key, KeyCode, Modifiers, Outcome};

use super::world::*;
use crate::{app::*, door::DoorError, link::LinkHappening};

#[test]
fn a_copy_needs_a_gesture_and_uses_it_up() {
    let mut world = World::new();
    world.action(1, Action::Copy("text".into()));
    assert!(world.refused());
    world
        .key(KeyCode::Char('y'))
        .action(2, Action::Copy("text".into()));
    let asked = Some((world.app.ui.instance(), 2));
    assert!(world.did(&Effect::Copy(asked, "text".into())));
    world.action(3, Action::Copy("text".into()));
    assert!(world.refused());
}

#[test]
fn a_repeating_key_a_paste_and_a_launcher_key_are_no_gesture() {
    let mut world = World::new();
    let key = Key {
        code: KeyCode::Char('a'),
        modifiers: Modifiers::default(),
    };
    world.give(Input::Terminal(TerminalEvent::Key {
        key,
        press: Press::Repeat,
    }));
    world.give(Input::Terminal(TerminalEvent::Paste("x".into())));
    world.control(']').control(']');
    world.action(1, Action::Copy("text".into()));
    assert!(world.refused());
}

#[test]
fn one_dialog_at_a_time_and_none_after_three_refusals() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url());
    world.action(2, Action::Quit);
    assert!(world.refused());
    for request in 3..6 {
        world.wait(600).key(KeyCode::Escape);
        world.key(KeyCode::Enter).action(request, url());
    }
    assert!(world.refused());
    assert!(!world.screen().contains("porthole asks"));
}

#[test]
fn a_dialog_dies_with_whoever_asked() {
    for end in ["moved", "link", "crash"] {
        let mut world = World::new();
        world.key(KeyCode::Enter).action(1, url());
        let instance = world.app.ui.instance();
        let place = Place {
            session: "other".into(),
            conversation: 1,
        };
        match end {
            "moved" => world.give(Input::Posted(instance, Request::Place(Some(place)))),
            "link" => world.link(LinkHappening::Down(DoorError::Unreachable)),
            _ => world.crash(),
        };
        assert!(!world.screen().contains("porthole asks"), "{end}");
    }
}

#[test]
fn addresses_that_are_not_for_a_browser_are_refused_without_asking() {
    for bad in [
        "file:///etc/passwd",
        "http://example.com/",
        "https://bank@evil.example/",
        "javascript:alert(1)",
        "-h",
        "https://example.com/a b",
        "x-man-page://1/ls",
        "smb://host/share",
    ] {
        let mut world = World::new();
        world
            .key(KeyCode::Enter)
            .action(1, Action::OpenUrl(bad.into()));
        assert!(world.refused(), "{bad}");
    }
}

#[test]
fn while_an_editor_owns_the_terminal_nothing_is_drawn_and_no_key_is_heard() {
    let mut world = World::new();
    world
        .key(KeyCode::Char('e'))
        .action(1, Action::Edit("draft".into()));
    assert!(!world.did(&Effect::Draw));
    world.wait(100).frame("streamed");
    assert!(world.effects.is_empty());
    world.key(KeyCode::Char('x'));
    assert!(world.effects.is_empty());
    world.give(Input::Back(Size {
        cols: 100,
        rows: 30,
    }));
    assert!(world.did(&Effect::Draw) && world.did(&Effect::Forget));
    assert!(world.screen().starts_with("streamed"));
}

#[test]
fn an_edited_text_whose_asker_is_gone_is_pasted_into_the_next_ui() {
    let paste = Effect::ToUi(Event::Paste("mine".into()));
    let edited = |asked| {
        Input::Local(LocalDone {
            asked: Some((asked, 1)),
            outcome: Outcome::Edited("mine".into()),
        })
    };
    let mut world = World::new();
    let first = world.app.ui.instance();
    world.crash().give(edited(first));
    assert!(!world.did(&paste));
    world.key(KeyCode::Char('r'));
    assert!(world.did(&paste), "kept until there is one");
    world.give(edited(first));
    assert!(world.did(&paste), "one runs already");
    world.give(edited(world.app.ui.instance()));
    assert!(!world.did(&paste) && world.outcome().is_some());
}
