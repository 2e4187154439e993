//! (before, keys, after): what keys do, what is asked of the launcher, and what is not.

use super::world::*;
use porthole_bridge::{Action, Event, Outcome, Request};
use porthole_protocol::{
    Answer, Call, ConversationDelta, QuestionId, SendMode, Submission, SubmissionId,
    SubmissionState,
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
fn a_question_that_does_not_fit_says_that_there_is_more() {
    let mut state = waiting();
    state.questions[0].subject = "echo a very long command line ".repeat(30);
    let mut world = World::with(40, 12, state);
    assert!(world.screen().contains("more lines"), "{}", world.screen());
    assert!(
        world.screen().contains("y yes, once"),
        "the answers stay: {}",
        world.screen()
    );
}

#[test]
fn letters_never_answer_a_question_that_has_no_focus() {
    let mut world = World::with(80, 24, waiting());
    world.now += 5_000;
    world.text("yan");
    assert_eq!(world.draft(), "yan");
    assert!(world.calls().is_empty());
}

#[test]
fn a_focused_question_takes_its_letter_after_half_a_second_and_only_once() {
    let mut world = World::with(80, 24, waiting());
    world.now += 5_000;
    world.keys(&["alt-q", "y"]);
    assert!(world.screen().contains("answering yes"));
    world.wait(400);
    assert!(
        world.calls().is_empty(),
        "the first half second after the focus"
    );
    world.wait(100);
    let calls = world.calls();
    assert!(
        matches!(
            calls.as_slice(),
            [(
                _,
                Call::AnswerQuestion {
                    question: QuestionId(1),
                    answer: Answer::Yes,
                    ..
                }
            )]
        ),
        "{calls:?}"
    );
    world.keys(&["y"]);
    assert_eq!(world.draft(), "y", "the next letter is typing again");
}

#[test]
fn letters_typed_in_a_burst_answer_nothing_and_are_the_message() {
    for words in ["yes please", "no", "e", "please", "ay"] {
        let mut world = World::with(80, 24, waiting());
        world.keys(&["alt-q"]);
        world.now += 5_000;
        world.text(words);
        if words.len() == 1 {
            assert!(world.screen().contains("editing"), "{words}");
            world.keys(&["esc"]);
        }
        world.wait(5_000);
        assert!(world.calls().is_empty(), "{words}");
        let expected = if words.len() == 1 { "" } else { words };
        assert_eq!(world.draft(), expected);
    }
}

#[test]
fn a_letter_pressed_every_now_and_then_answers_once_and_enter_answers_at_once() {
    for keys in [&["y", "y"][..], &["y", "enter"]] {
        let mut world = World::with(80, 24, waiting());
        world.keys(&["alt-q", keys[0]]);
        let wake = world.app.wanted_wake(None);
        assert!(wake.is_some_and(|ms| ms <= 500), "{wake:?}");
        world.now += if keys[1] == "y" { 700 } else { 0 };
        world.keys(&[keys[1]]);
        let calls = world.calls();
        assert!(
            matches!(calls.as_slice(), [(_, Call::AnswerQuestion { .. })]),
            "{calls:?}"
        );
    }
}

#[test]
fn a_letter_for_one_question_never_answers_the_next() {
    let mut world = World::with(80, 24, waiting());
    world.keys(&["alt-q", "y"]);
    let mut next = waiting();
    next.questions[0].id = QuestionId(2);
    world.snapshot(&next);
    world.asked.clear();
    world.wait(5_000);
    world.keys(&["y"]);
    world.wait(5_000);
    assert!(world.calls().is_empty());
    assert_eq!(world.draft(), "y");
}

#[test]
fn the_last_row_and_the_box_offer_the_same_answers() {
    let mut state = waiting();
    state.questions[0].tool = "edit".into();
    let mut world = World::with(80, 24, state);
    assert!(world.screen().contains("Alt-Q, then  y yes, once"));
    world.keys(&["alt-q"]);
    assert_eq!(world.screen().matches("y yes, once").count(), 2);
    assert!(!world.screen().contains("e edit"), "{}", world.screen());
    world.keys(&["w"]);
    world.wait(5_000);
    assert!(world.screen().contains("no, because: "));
    assert!(!world.screen().contains("y yes"), "{}", world.screen());
}

#[test]
fn a_click_on_an_answer_answers_but_not_in_the_first_half_second() {
    let mut world = World::with(80, 24, waiting());
    let screen = world.screen();
    let row = screen
        .lines()
        .position(|l| l.contains("n no"))
        .expect("the choices") as u16;
    let line: String = screen
        .lines()
        .nth(usize::from(row))
        .expect("a line")
        .to_owned();
    let col = line
        .chars()
        .collect::<String>()
        .split("n no")
        .next()
        .map_or(0, |s| s.chars().count()) as u16;
    world.click(col, row);
    assert!(world.calls().is_empty());
    world.now += 2_000;
    world.click(col, row);
    let calls = world.calls();
    assert!(
        matches!(
            calls.as_slice(),
            [(
                _,
                Call::AnswerQuestion {
                    answer: Answer::No { .. },
                    ..
                }
            )]
        ),
        "{calls:?}"
    );
}

#[test]
fn an_edited_command_is_answered_as_written() {
    let mut world = World::with(80, 24, waiting());
    world.keys(&["alt-q"]);
    world.now += 1_000;
    world.keys(&["e"]);
    world.wait(400);
    world.text(" -n");
    world.keys(&["enter"]);
    let calls = world.calls();
    let expected = Answer::Edit {
        command: "git push origin main -n".into(),
    };
    assert!(
        matches!(calls.as_slice(), [(_, Call::AnswerQuestion { answer, .. })] if *answer == expected),
        "{calls:?}"
    );
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
fn a_queued_message_says_what_becomes_of_it_once_the_turn_stopped() {
    let mut state = working();
    state.submissions = vec![Submission {
        id: SubmissionId(9),
        request: porthole_protocol::RequestId::parse("q9").expect("an id"),
        author: message(1, "").author,
        mode: SendMode::FollowUp,
        text: "then the changelog".into(),
        at_ms: NOW,
        state: SubmissionState::Queued,
    }];
    let mut world = World::with(80, 30, state);
    assert!(world.screen().contains("queued, follows this turn"));
    world.delta(&ConversationDelta::Turn { turn: None });
    let kept = "kept; goes with your next message · Alt-↑ takes it back";
    assert!(world.screen().contains(kept), "{}", world.screen());
}

#[test]
fn a_session_is_archived_and_brought_back_from_inside() {
    let mut world = World::with(80, 24, talked());
    world.text("/archive ");
    world.keys(&["enter"]);
    assert!(world.app.open.is_none());
    let said = world
        .screen()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(said.contains("/restore brings it back"), "{said}");
    world.asked.clear();
    world.now += 200;
    world.keys(&["n", "e", "enter"]);
    assert!(
        world.calls().is_empty(),
        "letters were meant for the session"
    );
    assert!(world.app.open.is_none() && world.app.home.prompt.is_none());
    let mut rows = rows_of_home();
    rows[0].archived = true;
    world.sessions(rows);
    world
        .app
        .open(session("s1"), porthole_protocol::ConversationId::ROOT);
    world.snapshot(&talked());
    for command in ["/restore", "/archive"] {
        world.asked.clear();
        world.text(&format!("{command} "));
        world.keys(&["enter"]);
        let calls = world.calls();
        assert!(
            matches!(calls.as_slice(), [(_, Call::SessionRestore { .. })]),
            "{command}: {calls:?}"
        );
        assert!(world.app.open.is_some(), "{command} stays");
        assert!(world.screen().contains("brought back"), "{command}");
    }
}

#[test]
fn an_archived_row_offers_to_restore() {
    let mut world = World::with(100, 24, talked());
    world.keys(&["alt-h", "a"]);
    assert!(world.screen().contains("e archive"));
    world.keys(&["down", "down", "down", "down"]);
    assert!(world.screen().contains("e restore"), "{}", world.screen());
}

#[test]
fn a_session_that_is_not_there_is_said_once_with_the_way_out() {
    let mut world = World::begin(start(80, 24));
    world.connect(1);
    world.frame(json!({"ended": {"topic": topic(), "error": {"code": "not_found", "message": "there is no such session", "hint": ""}}}));
    world.text("hello");
    world.keys(&["enter"]);
    let screen = world.screen();
    assert_eq!(
        screen.matches("there is no such session").count(),
        1,
        "{screen}"
    );
    assert!(screen.contains("Ctrl-P sessions"), "{screen}");
    assert!(
        !screen.contains("hello") && !screen.contains("say what"),
        "{screen}"
    );
    assert_eq!(world.draft(), "");
}

#[test]
fn a_long_error_takes_two_rows_and_goes_with_the_next_screen() {
    let mut world = World::with(80, 24, talked());
    world.text("hello");
    world.keys(&["enter"]);
    let id = world.calls()[0].0;
    let message =
        "the disk of the machine on which this session works has no room left for another message";
    world.refuse(id, &format!("{message} · hint: remove `target`"));
    let screen = world.screen();
    assert!(screen.contains("hint: remove `target`"), "{screen}");
    assert!(screen.contains("▌ hello"), "{screen}");
    world.keys(&["ctrl-k", "esc"]);
    assert!(!world.screen().contains("the disk of the machine"));
}

#[test]
fn a_success_takes_an_old_error_away() {
    let mut world = World::with(80, 24, talked());
    world.text("hello");
    world.keys(&["enter"]);
    let id = world.calls()[0].0;
    world.refuse(id, "the disk is full");
    world.app.choose(crate::picker::Choice::Policy(
        porthole_protocol::Policy::Auto,
    ));
    world.keys(&["left"]);
    let id = world.calls()[0].0;
    world.reply(id, json!({}));
    assert!(!world.screen().contains("the disk is full"));
}

#[test]
fn a_directory_that_is_not_there_can_be_corrected() {
    let mut world = World::with(80, 24, talked());
    world.keys(&["alt-h", "n"]);
    world.text("/nowher");
    world.keys(&["enter"]);
    let id = world.calls()[0].0;
    world.refuse(id, "there is no such directory");
    let screen = world.screen();
    assert!(
        screen.contains("new session in  ~/src/shop/nowher"),
        "{screen}"
    );
    assert!(screen.contains("there is no such directory"), "{screen}");
}

#[test]
fn the_welcome_knows_whether_another_model_could_answer() {
    let mut state = empty();
    state.info.practice = true;
    let mut world = World::begin(start(80, 24));
    world.connect(1);
    world.snapshot(&state);
    assert!(world.screen().contains("No model is configured"));
    let calls = world.calls();
    let [(id, Call::Models {})] = calls.as_slice() else {
        panic!("asks for the models once: {calls:?}");
    };
    let model = |name: &str| {
        let model = porthole_protocol::ModelRef::parse(name).expect("a model");
        json!({"model": model, "name": name, "context": null, "thinking": [], "ready": true, "source": "x"})
    };
    let practice = model("practice/practice");
    world.reply(*id, json!({"models": [practice, model("a/b")], "default": practice["model"], "config_path": "x"}));
    let screen = world.screen();
    assert!(screen.contains("/models chooses another"), "{screen}");
    assert!(!screen.contains("No model is configured"));
}

#[test]
fn the_palette_begins_with_what_is_useful_now_and_says_what_it_cuts() {
    let mut world = World::with(80, 24, talked());
    world.keys(&["ctrl-k"]);
    let screen = world.screen();
    assert!(
        screen.contains("▸ make a session in a directory"),
        "{screen}"
    );
    assert!(!screen.contains("stop the turn"), "{screen}");
    assert!(screen.contains("more ─"), "{screen}");
    let mut world = World::with(80, 24, waiting());
    world.keys(&["ctrl-k"]);
    let screen = world.screen();
    assert!(screen.contains("▸ go to the question"), "{screen}");
    assert!(screen.contains("stop the turn"), "{screen}");
}

#[test]
fn help_says_that_there_is_more_and_begins_where_one_is() {
    let mut world = World::with(80, 24, talked());
    world.keys(&["alt-h", "f1"]);
    let screen = world.screen();
    assert!(
        screen
            .lines()
            .nth(1)
            .is_some_and(|l| l.contains("In the list of sessions")),
        "{screen}"
    );
    assert!(screen.contains("more ─"), "{screen}");
}

#[test]
fn the_list_of_sessions_to_switch_to_shows_short_places_and_makes_new_ones() {
    let mut world = World::with(80, 24, talked());
    let mut rows = rows_of_home();
    for row in &mut rows {
        row.dir = row.dir.replace('~', "/home/ada");
    }
    rows[3].dir = "/srv/www/shop/site".into();
    world.sessions(rows);
    world.keys(&["ctrl-p"]);
    let screen = world.screen();
    assert!(screen.contains("working · ~/src/shop"), "{screen}");
    assert!(screen.contains("…/shop/site"), "{screen}");
    world.text("new session");
    world.keys(&["enter"]);
    assert!(
        world.screen().contains("new session in"),
        "{}",
        world.screen()
    );
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
