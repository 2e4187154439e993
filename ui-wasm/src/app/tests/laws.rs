//! (before, keys, after): what keys do, what is asked of the launcher, and what is not.

use super::world::*;
use porthole_bridge::{Action, Event, Outcome, Request};
use porthole_protocol::{
    Call, ConversationDelta, SendMode, Submission, SubmissionId, SubmissionState,
};
use serde_json::json;

fn actions(requests: &[Request]) -> Vec<Action> {
    let action = |r: &Request| match r {
        Request::Action { action, .. } => Some(action.clone()),
        _ => None,
    };
    requests.iter().filter_map(action).collect()
}

/// What was typed and what stood in the composer then.
#[test]
fn keys_in_the_composer_do_what_people_know() {
    let table: &[(&str, &[&str], &str)] = &[
        ("one two", &["ctrl-w"], "one "),
        ("one", &["shift-enter", "x"], "one\nx"),
        ("one", &["alt-enter", "x"], "one\nx"),
        ("one", &["ctrl-j", "x"], "one\nx"),
        ("one", &["esc"], ""),
        ("one", &["ctrl-c"], ""),
        ("one", &["esc", "alt-z"], "one"),
        (
            "",
            &["up"],
            "The retry test fails about once in ten runs. Find out why and fix it.",
        ),
        ("", &["up", "down"], ""),
        ("/mode", &["tab"], "/models "),
        ("one", &["tab"], "one"),
        ("yan", &["alt-q", "y"], "yany"),
    ];
    for (before, keys, after) in table {
        let mut world = World::with(80, 24, talked());
        world.text(before);
        world.keys(keys);
        assert_eq!(&world.draft(), after, "{before:?} {keys:?}");
    }
}

#[test]
fn a_message_is_sent_once_shown_at_once_and_gone_when_the_conversation_has_it() {
    let mut world = World::with(80, 24, talked());
    world.text("hello");
    world.keys(&["enter", "enter"]);
    let calls = world.calls();
    let [
        (
            _,
            Call::Submit {
                text,
                request,
                mode,
                ..
            },
        ),
    ] = calls.as_slice()
    else {
        panic!("one call: {calls:?}");
    };
    assert_eq!((text.as_str(), *mode), ("hello", SendMode::FollowUp));
    assert_eq!(world.draft(), "");
    assert_eq!(world.app.screen().map(|s| s.outgoing.len()), Some(1));
    let submission = Submission {
        id: SubmissionId(9),
        request: request.clone(),
        author: message(1, "").author,
        mode: *mode,
        text: text.clone(),
        attachments: Vec::new(),
        at_ms: NOW,
        state: SubmissionState::Queued,
    };
    world.delta(&ConversationDelta::Submissions {
        submissions: vec![submission],
    });
    assert_eq!(world.app.screen().map(|s| s.outgoing.len()), Some(0));
}

#[test]
fn a_refused_message_is_the_draft_again_with_the_reason() {
    let mut world = World::with(80, 24, talked());
    world.text("hello");
    world.keys(&["enter"]);
    let id = world.calls()[0].0;
    world.text("next");
    world.refuse(id, "the disk is full");
    assert_eq!(world.draft(), "hello\n\nnext");
    assert!(world.screen().contains("the disk is full"));
}

#[test]
fn esc_stops_the_turn_before_it_clears_the_draft() {
    let mut world = World::with(80, 24, working());
    world.text("later");
    world.keys(&["esc", "esc"]);
    let calls = world.calls();
    assert!(
        matches!(calls.as_slice(), [(_, Call::Stop { .. })]),
        "one stop while it is pending: {calls:?}"
    );
    assert_eq!(world.draft(), "later");
    world.delta(&ConversationDelta::Turn { turn: None });
    world.keys(&["esc"]);
    assert_eq!(world.draft(), "");
}

#[test]
fn ctrl_c_twice_leaves_and_once_does_not() {
    let mut world = World::with(80, 24, talked());
    world.keys(&["ctrl-c"]);
    world.now += 2_100;
    world.keys(&["ctrl-c"]);
    assert!(actions(&world.asked).is_empty(), "too slow to be twice");
    world.now += 1_000;
    world.keys(&["ctrl-c"]);
    assert_eq!(actions(&world.asked), [Action::Quit]);
}

#[test]
fn ctrl_c_stops_nothing_and_answers_nothing() {
    let mut world = World::with(80, 24, waiting());
    world.text("later");
    world.keys(&["ctrl-c"]);
    assert_eq!(world.draft(), "");
    world.keys(&["ctrl-c"]);
    let said = "Ctrl-C again leaves; the work goes on · Esc stops it";
    assert!(world.screen().contains(said), "{}", world.screen());
    assert!(
        actions(&world.asked).is_empty(),
        "clearing was not the first"
    );
    world.keys(&["ctrl-c"]);
    assert_eq!(actions(&world.asked), [Action::Quit]);
    assert!(world.calls().is_empty(), "the work goes on");
}

#[test]
fn tab_steers_while_a_turn_runs_and_that_ends_with_the_turn() {
    let mut world = World::with(80, 24, working());
    world.keys(&["tab"]);
    world.text("now");
    world.keys(&["enter"]);
    let calls = world.calls();
    assert!(
        matches!(
            calls.as_slice(),
            [(
                _,
                Call::Submit {
                    mode: SendMode::Steer,
                    ..
                }
            )]
        ),
        "{calls:?}"
    );
    world.delta(&ConversationDelta::Turn { turn: None });
    assert_eq!(world.app.screen().map(|s| s.mode), Some(SendMode::FollowUp));
}

#[test]
fn a_shell_command_goes_as_one_and_two_marks_keep_it_from_the_model() {
    for (text, expected) in [("!ls", true), ("!!ls", false)] {
        let mut world = World::with(80, 24, talked());
        world.text(text);
        world.keys(&["enter"]);
        let calls = world.calls();
        assert!(
            matches!(calls.as_slice(), [(_, Call::Shell { command, included, .. })] if command == "ls" && *included == expected),
            "{calls:?}"
        );
    }
}

#[test]
fn a_paste_of_many_lines_is_one_draft_and_sends_nothing() {
    let mut world = World::with(80, 24, talked());
    world.send(Event::Paste("a\nb\n\nc\n".into()));
    assert_eq!(world.draft(), "a\nb\n\nc\n");
    assert!(world.calls().is_empty());
}

#[test]
fn drafts_stay_with_their_conversations() {
    let mut world = World::with(80, 24, talked());
    world.text("mine");
    world.keys(&["alt-h", "down", "enter"]);
    assert_eq!(world.draft(), "");
    world.text("other");
    world.keys(&["alt-h", "up", "enter"]);
    assert_eq!(world.draft(), "mine");
}

#[test]
fn copy_and_edit_are_asked_of_the_launcher_and_the_edited_text_is_the_draft() {
    let mut world = World::with(80, 24, talked());
    world.keys(&["ctrl-y"]);
    let copied = actions(&world.asked);
    assert!(
        matches!(copied.as_slice(), [Action::Copy(text)] if text.contains("bounded by half")),
        "{copied:?}"
    );
    world.asked.clear();
    world.text("a");
    world.keys(&["ctrl-g"]);
    let edit = world.asked.iter().find_map(|r| match r {
        Request::Action {
            request,
            action: Action::Edit(text),
        } => Some((*request, text.clone())),
        _ => None,
    });
    let (request, text) = edit.expect("an edit");
    assert_eq!(text, "a");
    world.send(Event::Outcome {
        request,
        outcome: Outcome::Edited("a\nb\n".into()),
    });
    assert_eq!(world.draft(), "a\nb");
}

#[test]
fn what_a_guest_may_not_do_is_not_sent() {
    let mut world = World::with(80, 24, waiting());
    world.frame(json!({"hello": {"protocol": 1, "server": "0.1.0", "machine": "box", "who": {"role":
        {"guest": {"session": "s1", "mode": "view", "may_approve": false}}, "id": "g1", "name": "Mira"}}}));
    world.asked.clear();
    world.now += 5_000;
    world.text("hi");
    world.keys(&["enter", "esc", "alt-q", "y"]);
    assert!(world.calls().is_empty());
    assert!(world.screen().contains("you are viewing"));
    assert!(world.screen().contains("waits for the owner"));
}

#[test]
fn a_new_session_is_made_in_the_directory_offered_and_opened() {
    let mut world = World::with(80, 24, talked());
    world.keys(&["alt-h", "n", "enter"]);
    let calls = world.calls();
    let [(id, Call::SessionCreate { dir, .. })] = calls.as_slice() else {
        panic!("one call: {calls:?}");
    };
    assert_eq!(dir.as_deref(), Some("~/src/shop"));
    world.reply(*id, json!({"session": "s9"}));
    assert_eq!(world.app.open.as_ref().map(|(s, _)| s.as_str()), Some("s9"));
}

#[test]
fn a_session_that_was_made_late_takes_nobody_out_of_another() {
    let mut world = World::with(80, 24, talked());
    world.keys(&["alt-h", "n", "enter"]);
    let id = world.calls()[0].0;
    world.keys(&["enter"]);
    world.text("typing");
    world.reply(id, json!({"session": "s9"}));
    assert_eq!(world.draft(), "typing");
}

#[test]
fn the_transcript_with_the_focus_scrolls_opens_and_gives_the_focus_back() {
    let mut state = talked();
    state.entries.extend((10..60).map(|id| message(id, "line")));
    let mut world = World::with(80, 24, state);
    world.wait(16);
    let following = |world: &mut World| {
        world
            .app
            .screen()
            .is_some_and(|s| s.transcript.is_following())
    };
    let table: &[(&[&str], bool)] = &[
        (&["backtab", "up"], false),
        (&["down"], true),
        (&["g"], false),
        (&["G"], true),
        (&["pgup"], false),
        (&["esc", "esc"], true),
    ];
    for (keys, expected) in table {
        world.keys(keys);
        assert_eq!(following(&mut world), *expected, "{keys:?}");
    }
    world.text("written");
    assert_eq!(world.draft(), "written");
}

#[test]
fn keys_of_the_list_change_the_selected_session() {
    let table: &[(&[&str], &str)] = &[
        (&["p"], "session.pin"),
        (&["e"], "session.archive"),
        (&["r", "x", "enter"], "session.rename"),
        (&["down", "down", "down", "t"], "session.retry"),
        (&["a", "G", "e"], "session.restore"),
    ];
    for (keys, method) in table {
        let mut world = World::with(80, 24, talked());
        world.keys(&["alt-h"]);
        world.asked.clear();
        world.keys(keys);
        let calls = world.calls();
        let methods: Vec<&str> = calls.iter().map(|(_, c)| c.method().name()).collect();
        assert_eq!(methods, [*method], "{keys:?}");
    }
}

#[test]
fn the_list_is_searched_and_enter_opens_what_was_found() {
    let mut world = World::with(80, 24, talked());
    world.keys(&["alt-h", "/"]);
    world.text("checkout");
    world.keys(&["enter"]);
    assert_eq!(world.app.open.as_ref().map(|(s, _)| s.as_str()), Some("s3"));
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]
    #[test]
    fn no_order_of_keys_and_sizes_breaks_the_ui(
        steps in proptest::collection::vec((0usize..40, 0u16..60, 0u16..40), 0..60),
    ) {
        let names = ["enter", "esc", "tab", "backtab", "up", "down", "pgup", "backspace", "f1", "ctrl-k", "ctrl-p", "ctrl-r",
            "ctrl-c", "ctrl-t", "ctrl-o", "alt-q", "alt-h", "alt-m", "y", "e", "w", "/", "!", "n", "r", "你", "\u{301}", "k", "G", "?"];
        let mut world = World::with(80, 24, waiting());
        for (step, cols, rows) in steps {
            world.now += 300;
            match names.get(step) {
                Some(name) => world.keys(&[name]),
                None if step < 34 => world.click(cols, rows),
                None if step < 38 => { world.send(Event::Resize(porthole_bridge::Size { cols, rows })); }
                None => { world.frame(json!({"nonsense": step})); }
            }
            for request in std::mem::take(&mut world.asked) {
                proptest::prop_assert!(porthole_bridge::encode_request(&request).is_ok());
            }
        }
    }
}
