//! What a UI may have done on this computer, and when its permission ends.

use porthole_bridge::{Action, Key, KeyCode, Modifiers, Outcome};
use proptest::prelude::*;

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
        world.link(LinkHappening::Up);
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
        "",
        "https://",
        "//example.com/",
        "example.com",
        "ftp://example.com/",
        "data:text/html,x",
        "ms-msdt:/id",
        "ssh://host",
        "mailto:a@b",
        "vscode://file/etc/passwd",
        "file://localhost/etc/passwd",
        "FILE:///etc/passwd",
        "view-source:https://example.com/",
        "blob:https://example.com/x",
        "about:blank",
        "--version",
        "-o https://example.com/",
        "https://a:b@example.com/",
        "https://:b@example.com/",
        "https://exa\u{202e}mple.com/",
        "https://exam ple.com/",
        "https://example.com/\n--help",
        "https://example.com/\u{0}",
        "https://example.com/\u{9b}",
        "\thttps://example.com/",
        "http://127.0.0.1.evil.example/",
        "http://localhost.evil.example/",
        "http://10.0.0.1/",
        "http://169.254.169.254/latest/",
        "http://[fe80::1]/",
        "https://[::1",
        "https://example.com:99999/",
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
        .action(1, Action::Edit("draft".into()))
        .yes();
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

fn place(session: &str) -> Place {
    Place {
        session: session.to_owned(),
        conversation: 1,
    }
}

fn at(world: &mut World, session: &str) {
    let instance = world.app.ui.instance();
    let place = Some(place(session));
    world.give(Input::Posted(instance, Request::Place(place)));
}

/// Opens the editor for the UI and returns what its end will be.
fn editing(world: &mut World) -> Input {
    world
        .key(KeyCode::Char('e'))
        .action(1, Action::Edit("draft".into()))
        .yes();
    Input::Local(LocalDone {
        asked: Some((world.app.ui.instance(), 1)),
        outcome: Outcome::Edited("mine".into()),
    })
}

fn back(world: &mut World) {
    let size = world.app.size();
    world.give(Input::Back(size));
}

#[test]
fn a_key_alone_opens_no_editor_no_address_and_no_download() {
    let url = url();
    let download = Action::Download {
        what: porthole_bridge::Source::Attachment("a".into()),
        name: "notes.txt".into(),
    };
    for action in [Action::Edit("draft".into()), url, download, Action::SignOut] {
        let mut world = World::new();
        at(&mut world, "one");
        world.key(KeyCode::Enter).action(1, action.clone());
        let done = |effect: &Effect| {
            matches!(
                effect,
                Effect::Edit(..) | Effect::Open(..) | Effect::SignOut | Effect::Transfer(..)
            )
        };
        assert!(!world.effects.iter().any(done), "{action:?}");
        assert!(!world.refused(), "it is asked about: {action:?}");
    }
}

#[test]
fn the_text_for_an_editor_is_shown_and_handed_over_as_it_is_shown() {
    let mut world = World::new();
    world
        .key(KeyCode::Char('e'))
        .action(1, Action::Edit("mind \u{1b}]0;x\nthis".into()));
    let screen = world.screen();
    for part in ["in your own editor?", "mind ␛]0;x", "this", "Edit (Ctrl-Y)"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    world.yes();
    let asked = Some((world.app.ui.instance(), 1));
    assert!(world.did(&Effect::Edit(asked, "mind \u{1b}]0;x\nthis".into())));
}

#[test]
fn an_edited_text_goes_to_who_asked() {
    let mut world = World::new();
    let done = editing(&mut world);
    back(&mut world);
    world.give(done);
    assert_eq!(world.outcome(), Some(&Outcome::Edited("mine".into())));
}

#[test]
fn an_edited_text_whose_asker_is_gone_is_pasted_into_the_next_ui() {
    let paste = Effect::ToUi(Event::Paste("mine".into()));
    let mut world = World::new();
    let done = editing(&mut world);
    world.crash();
    back(&mut world);
    world.give(done);
    assert!(!world.did(&paste));
    world.key(KeyCode::Char('r'));
    assert!(world.did(&paste), "kept until there is one");
    let mut world = World::new();
    let done = editing(&mut world);
    world.crash();
    back(&mut world);
    world.give(Input::Door(DoorInput::Prepared(OTHER.into())));
    world.give(done);
    assert!(world.did(&paste), "one runs already");
}

#[test]
fn an_edited_text_is_never_handed_to_another_conversation() {
    let paste = Effect::ToUi(Event::Paste("mine".into()));
    let mut world = World::new();
    at(&mut world, "one");
    let done = editing(&mut world);
    at(&mut world, "two");
    back(&mut world);
    world.give(done);
    assert!(!world.did(&paste) && world.outcome().is_none());
    at(&mut world, "one");
    assert!(world.did(&paste), "it waited where it belongs");
    at(&mut world, "two");
    at(&mut world, "one");
    assert!(!world.did(&paste), "once");
}

#[test]
fn a_question_asked_while_the_server_is_away_outlives_one_more_attempt() {
    let mut world = World::new();
    world.link(LinkHappening::Down(DoorError::Unreachable));
    world.key(KeyCode::Enter).action(1, url());
    world.link(LinkHappening::Down(DoorError::Unreachable));
    assert!(world.screen().contains("porthole asks"));
}

#[test]
fn a_question_ends_by_itself_after_ten_minutes() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url());
    let until = world.effects.iter().find_map(|effect| match effect {
        Effect::Alarm(Alarm::Grant, until) => *until,
        _ => None,
    });
    let lifetime = until.expect("an end") - world.now;
    assert!(lifetime <= Duration::from_secs(600), "{lifetime:?}");
    world.wait(600_000).give(Input::Alarm(Alarm::Grant));
    assert!(world.refused());
    world.yes();
    assert!(!did_open(&world));
}

#[test]
fn a_yes_after_ten_minutes_is_too_late_even_if_no_alarm_came() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url()).wait(600_001);
    world.yes();
    assert!(!did_open(&world) && world.refused());
}

#[test]
fn what_was_asked_before_the_computer_slept_is_over_and_so_is_a_gesture() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url());
    world.give(Input::Slept);
    assert!(world.refused());
    world.key(KeyCode::Char('c')).give(Input::Slept);
    world.action(2, Action::Copy("text".into()));
    assert!(world.refused());
}

#[test]
fn a_gesture_dies_with_the_screen_the_ui_and_the_terminal_it_was_made_in() {
    for end in ["moved", "replaced", "crashed", "cut", "suspended", "stale"] {
        let mut world = World::new();
        world.link(LinkHappening::Up);
        world.key(KeyCode::Char('c'));
        match end {
            "moved" => at(&mut world, "other"),
            "replaced" => world.replace(),
            "crashed" => {
                world.crash().key(KeyCode::Char('r'));
                world.give(Input::Door(DoorInput::Prepared(HASH.into())));
            }
            "cut" => {
                world.link(LinkHappening::Down(DoorError::Unreachable));
            }
            "suspended" => back(&mut world),
            _ => {
                world.wait(2_001);
            }
        }
        world.action(1, Action::Copy("text".into()));
        assert!(world.refused(), "{end}");
    }
}

#[test]
fn a_permission_is_used_up_by_the_action_it_was_given_for() {
    let mut world = World::new();
    world.key(KeyCode::Enter).action(1, url());
    world.yes();
    assert!(did_open(&world));
    world.action(2, url());
    assert!(world.refused(), "a yes is no gesture");
}

fn did_open(world: &World) -> bool {
    let open = |effect: &Effect| matches!(effect, Effect::Open(..));
    world.effects.iter().any(open)
}

/// Whatever a dialog stands before.
fn did_any(world: &World) -> bool {
    let done = |effect: &Effect| {
        matches!(
            effect,
            Effect::Open(..) | Effect::Edit(..) | Effect::SignOut | Effect::Copy(..)
        )
    };
    world.effects.iter().any(done)
}

#[derive(Clone, Debug)]
enum Step {
    Key(char),
    Held(char),
    Yes,
    Paste,
    Click,
    Ask(u64),
    Wait(u64),
    Move(bool),
    Crash,
    Replace,
    Cut,
    Connect,
    Suspend,
    Slept,
    Resize(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => proptest::char::range('a', 'e').prop_map(Step::Key),
        1 => proptest::char::range('a', 'e').prop_map(Step::Held),
        3 => Just(Step::Yes),
        1 => Just(Step::Paste),
        1 => Just(Step::Click),
        4 => (1_u64..9).prop_map(Step::Ask),
        3 => (1_u64..900).prop_map(Step::Wait),
        1 => Just(Step::Wait(600_000)),
        1 => any::<bool>().prop_map(Step::Move),
        1 => Just(Step::Crash),
        1 => Just(Step::Replace),
        1 => Just(Step::Cut),
        1 => Just(Step::Connect),
        1 => Just(Step::Suspend),
        1 => Just(Step::Slept),
        1 => (30_u16..90).prop_map(Step::Resize),
    ]
}

/// One of the actions that a key alone never does.
fn asked(request: u64) -> Action {
    match request % 4 {
        0 => url(),
        1 => Action::Edit("draft".into()),
        2 => Action::SignOut,
        _ => Action::Copy("two\nlines".into()),
    }
}

/// Does one step that is no yes.
fn happens(world: &mut World, step: &Step) {
    match *step {
        Step::Key(key) => world.key(KeyCode::Char(key)),
        Step::Held(key) => world.give(Input::Terminal(TerminalEvent::Key {
            key: Key {
                code: KeyCode::Char(key),
                modifiers: Modifiers::default(),
            },
            press: Press::Repeat,
        })),
        Step::Paste => world.give(Input::Terminal(TerminalEvent::Paste("\u{19}y\n".into()))),
        Step::Click => world.give(Input::Terminal(TerminalEvent::Mouse(
            porthole_bridge::Mouse {
                kind: porthole_bridge::MouseKind::Release,
                col: 1,
                row: 1,
                modifiers: Modifiers::default(),
            },
        ))),
        Step::Ask(request) => world.action(request, asked(request)),
        Step::Wait(millis) => world.wait(millis),
        Step::Move(there) => moved(world, if there { "one" } else { "two" }),
        Step::Crash => world.crash().key(KeyCode::Char('r')),
        Step::Replace => replaced(world),
        Step::Cut => world.link(LinkHappening::Down(DoorError::Unreachable)),
        Step::Connect => world.link(LinkHappening::Up),
        Step::Suspend => {
            let size = world.app.size();
            world.give(Input::Back(size))
        }
        Step::Slept => world.give(Input::Slept),
        Step::Resize(cols) => world.give(Input::Resized(Size { cols, rows: 24 })),
        Step::Yes => world,
    };
}

fn moved<'a>(world: &'a mut World, session: &str) -> &'a mut World {
    at(world, session);
    world
}

/// A replacement waits for an open dialog, and for a UI that runs.
fn replaced(world: &mut World) -> &mut World {
    if world.app.dialog.is_none() && world.app.ui.runs() {
        world.replace();
    }
    world
}

proptest! {
    /// Whatever happens in whatever order: what a dialog stands before is done only where a yes came after half a second
    /// of silence, no later than ten minutes after it was asked, under the place and the UI that asked.
    #[test]
    fn nothing_is_done_without_a_yes_after_silence(steps in proptest::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        let (mut quiet_since, mut opened) = (world.now, None);
        for step in steps {
            world.effects.clear();
            if world.app.dialog.is_none() {
                opened = None;
            } else {
                opened = opened.or(Some((world.now, world.app.ui.instance(), world.app.place.clone())));
            }
            if let Step::Yes = step {
                let quiet = world.now - quiet_since;
                world.control('y').wait(80).give(Input::Alarm(Alarm::Sure));
                if did_any(&world) {
                    let (asked_at, instance, place) = opened.clone().expect("a dialog was open");
                    prop_assert!(quiet >= Duration::from_millis(500), "{quiet:?}");
                    prop_assert!(world.now - asked_at <= Duration::from_secs(601));
                    prop_assert_eq!((instance, place), (world.app.ui.instance(), world.app.place.clone()));
                    // An editor that was opened ends at once.
                    back(&mut world);
                }
                quiet_since = world.now - Duration::from_millis(80);
                continue;
            }
            happens(&mut world, &step);
            if matches!(step, Step::Key(_) | Step::Held(_) | Step::Crash) {
                quiet_since = world.now;
            }
            prop_assert!(!did_any(&world), "{step:?}");
        }
    }
}

fn light() -> Action {
    Action::SavePreferences(vec![porthole_bridge::Preference {
        key: "theme".into(),
        value: Some("light".into()),
    }])
}

#[test]
fn preferences_are_kept_only_after_the_visitor_saw_what_changes() {
    let mut world = World::new();
    world.action(1, light());
    assert!(world.refused(), "no key was pressed");
    world.key(KeyCode::Enter).action(2, light());
    let screen = world.screen();
    assert!(screen.contains("+ theme = \"light\""), "{screen}");
    let instance = world.app.ui.instance();
    world.yes();
    let patch = crate::patch::Patch {
        before: String::new(),
        after: "theme = \"light\"\n".into(),
    };
    assert!(world.did(&Effect::SavePreferences(Some((instance, 2)), patch)));
}

#[test]
fn preferences_that_were_read_anew_reach_the_ui_and_move_the_launchers_key() {
    let mut world = World::new();
    let fresh = crate::preferences::Preferences {
        theme: "light".into(),
        launcher_key: "ctrl-g".parse().expect("a control key"),
        ..world.app.preferences().clone()
    };
    let looks = Box::new(fresh.looks());
    world.give(Input::Preferences(Box::new(fresh)));
    assert!(world.did(&Effect::ToUi(porthole_bridge::Event::Looks(looks))));
    world.control('g');
    assert!(world.app.menu.is_some());
}
