//! (before, keys, after): what keys do, what is asked of the launcher, and what is not.

use super::world::*;
use porthole_bridge::{Action, Event, LinkState, Outcome, Request};
use porthole_protocol::{
    Answer, Call, ClientFrame, ConversationDelta, EntryId, QuestionId, SendMode, Submission,
    SubmissionId, SubmissionState, Topic,
};
use serde_json::json;

fn frames_drawn(requests: &[Request]) -> usize {
    requests
        .iter()
        .filter(|r| matches!(r, Request::Frame(_)))
        .count()
}

fn wakes(requests: &[Request]) -> Vec<Option<u64>> {
    let wake = |r: &Request| match r {
        Request::WakeIn(ms) => Some(*ms),
        _ => None,
    };
    requests.iter().filter_map(wake).collect()
}

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
fn after_a_lost_connection_what_was_not_answered_goes_again_once_under_the_same_id_and_in_order() {
    let mut world = World::with(80, 24, talked());
    for text in ["first", "second"] {
        world.text(text);
        world.keys(&["enter"]);
    }
    let before: Vec<Call> = world.calls().into_iter().map(|(_, c)| c).collect();
    world.send(Event::LinkState(LinkState::Down { retry_in_ms: 250 }));
    world.text("third");
    world.keys(&["enter"]);
    assert!(
        world.frames().is_empty(),
        "nothing is sent while the link is down"
    );
    world.connect(2);
    let after = world.calls();
    let again: Vec<Call> = after.iter().map(|(_, c)| c.clone()).collect();
    assert_eq!(again[..2], before[..]);
    assert!(matches!(&again[2], Call::Submit { text, .. } if text == "third"));
    for (id, _) in &after {
        world.reply(*id, json!({"submission": 1}));
    }
    world.connect(3);
    assert!(world.calls().is_empty(), "answered calls never go again");
}

#[test]
fn a_reply_of_an_older_connection_changes_nothing() {
    let mut world = World::with(80, 24, talked());
    world.text("hello");
    world.keys(&["enter"]);
    let old = world.calls()[0].0;
    world.connect(2);
    let new = world.calls()[0].0;
    world.refuse(old, "too late");
    assert_eq!(world.draft(), "");
    world.reply(new, json!({"submission": 1}));
    assert_eq!(world.app.screen().map(|s| s.outgoing.len()), Some(0));
}

/// Deltas as (epoch, seq) after a snapshot at (5, 1), how many apply, and whether a fresh snapshot is asked for.
#[test]
fn deltas_apply_once_in_order_and_a_gap_asks_again() {
    type Case = (&'static [(u64, u64)], usize, usize);
    let table: &[Case] = &[
        (&[(5, 2), (5, 3)], 2, 0),
        (&[(5, 2), (5, 2), (5, 1)], 1, 0),
        (&[(5, 3)], 0, 1),
        (&[(5, 3), (5, 4), (5, 5)], 0, 1),
        (&[(6, 2)], 0, 1),
        (&[(6, 1)], 0, 1),
    ];
    for (deltas, applied, asked) in table {
        let mut world = World::with(80, 24, empty());
        for (n, (epoch, seq)) in deltas.iter().enumerate() {
            let entry = Box::new(message(100 + n as u64, "new"));
            world.delta_at(*epoch, *seq, &ConversationDelta::Entry { entry });
        }
        let entries = world
            .app
            .screen()
            .and_then(|s| s.state.as_ref())
            .map(|s| s.entries.len());
        assert_eq!(entries, Some(*applied), "{deltas:?}");
        let watch = |f: &ClientFrame| {
            matches!(
                f,
                ClientFrame::Watch {
                    topic: Topic::Conversation { .. }
                }
            )
        };
        assert_eq!(
            world.frames().iter().filter(|f| watch(f)).count(),
            *asked,
            "{deltas:?}"
        );
    }
}

#[test]
fn older_entries_are_asked_for_once_near_the_top_and_come_before_the_others() {
    let mut state = empty();
    state.entries = (50..60).map(|id| message(id, "line")).collect();
    state.has_older = true;
    let mut world = World::with(80, 24, state);
    world.keys(&["backtab", "g", "k"]);
    let calls = world.calls();
    let before = Some(EntryId(50));
    let [(id, Call::History { before: asked, .. })] = calls.as_slice() else {
        panic!("one call: {calls:?}");
    };
    assert_eq!(*asked, before);
    world.reply(*id, json!({"entries": [message(48, "old"), message(49, "old"), message(50, "twice")], "has_older": false}));
    let state = world
        .app
        .screen()
        .and_then(|s| s.state.clone())
        .expect("a state");
    let ids: Vec<u64> = state.entries.iter().map(|e| e.id.0).collect();
    assert_eq!(ids, (48..60).collect::<Vec<_>>());
    world.keys(&["k"]);
    assert!(world.calls().is_empty(), "there are none before these");
}

#[test]
fn a_snapshot_after_a_gap_keeps_the_older_entries_that_were_loaded() {
    let mut state = empty();
    state.entries = (1..20).map(|id| message(id, "line")).collect();
    let mut world = World::with(80, 24, state.clone());
    state.entries.drain(..9);
    state.has_older = true;
    world.snapshot(&state);
    let state = world
        .app
        .screen()
        .and_then(|s| s.state.clone())
        .expect("a state");
    assert_eq!((state.entries.len(), state.has_older), (19, false));
}

#[test]
fn a_server_of_another_protocol_is_named_on_the_screen() {
    let mut world = World::with(100, 24, talked());
    world.frame(
        json!({"hello": {"protocol": 99, "server": "9", "machine": "box",
        "who": {"role": {"kind": "owner"}, "id": "owner", "name": "you"}}}),
    );
    assert!(world.screen().contains("protocol 99"), "{}", world.screen());
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
    world.now += 500;
    world.keys(&["y"]);
    assert!(
        world.calls().is_empty(),
        "the first half second after the focus"
    );
    world.now += 100;
    world.keys(&["y", "y"]);
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
    assert_eq!(world.draft(), "y", "the second letter is typing again");
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
fn a_successor_has_the_drafts_and_sends_what_was_not_answered_under_the_same_id() {
    let mut world = World::with(80, 24, talked());
    world.text("sent");
    world.keys(&["enter"]);
    let sent = world.calls()[0].1.clone();
    world.text("draft");
    let saved = world.send(Event::SaveSnapshot);
    let bytes = saved.into_iter().find_map(|r| match r {
        Request::Snapshot(bytes) => Some(bytes),
        _ => None,
    });
    let mut start = start(80, 24);
    start.snapshot = bytes;
    start.seed = [9; 16];
    let mut next = World::begin(start);
    next.connect(1);
    assert_eq!(next.draft(), "draft");
    assert_eq!(
        next.calls().into_iter().map(|(_, c)| c).collect::<Vec<_>>(),
        [sent]
    );
}

#[test]
fn nothing_wakes_an_idle_screen_or_one_that_waits_for_a_person() {
    for state in [talked(), waiting()] {
        let mut world = World::with(80, 24, state);
        // The tick after a burst comes once and draws what was still owed; nothing comes after it.
        world.wait(16);
        world.wait(16);
        let requests = [world.send(Event::Wake), world.send(Event::Wake)].concat();
        assert!(
            wakes(&requests).iter().all(Option::is_none),
            "{:?}",
            wakes(&requests)
        );
        assert_eq!(frames_drawn(&requests), 0);
    }
}

#[test]
fn a_working_turn_wakes_four_times_a_second_and_once_where_motion_is_unwanted() {
    for (reduced, expected) in [(false, 250), (true, 1_000)] {
        let mut start = start(80, 24);
        start.reduced_motion = reduced;
        let mut world = World::begin(start);
        world.connect(1);
        world.sessions(rows_of_home());
        world.snapshot(&working());
        world.wait(16);
        world.wait(16);
        let requests = std::mem::take(&mut world.asked);
        assert_eq!(wakes(&requests).last(), Some(&Some(expected)));
        world.wait(expected);
        assert_eq!(frames_drawn(&world.asked), 1);
        assert_eq!(wakes(&world.asked), [Some(expected)]);
    }
}

#[test]
fn a_burst_from_the_server_is_drawn_once_at_once_and_then_once_a_tick() {
    let mut world = World::with(80, 24, talked());
    world.wait(16);
    world.wait(16);
    world.asked.clear();
    for n in 0..50 {
        let entry = Box::new(message(100 + n, "more"));
        world.delta(&ConversationDelta::Entry { entry });
    }
    assert_eq!(frames_drawn(&world.asked), 1);
    assert_eq!(wakes(&world.asked), [Some(16)]);
    world.asked.clear();
    world.send(Event::Wake);
    assert_eq!(frames_drawn(&world.asked), 1, "the rest of the burst, once");
}

#[test]
fn a_delta_that_changes_nothing_draws_nothing() {
    let mut world = World::with(80, 24, talked());
    world.wait(16);
    let again = ConversationDelta::Entry {
        entry: Box::new(message(1, "old")),
    };
    let requests = world.delta_at(5, 1, &again);
    assert_eq!(frames_drawn(&requests), 0);
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
        {"kind": "guest", "session": "s1", "mode": "view", "may_approve": false}, "id": "g1", "name": "Mira"}}}));
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

fn running(bytes: u64) -> porthole_protocol::ToolRun {
    porthole_protocol::ToolRun {
        call: porthole_protocol::CallId::parse("c7").expect("an id"),
        tool: "shell".into(),
        subject: "make".into(),
        state: porthole_protocol::ToolRunState::Running,
        started_ms: Some(NOW),
        output: Some(porthole_protocol::RunOutput {
            run: porthole_protocol::RunId::parse("r1").expect("an id"),
            bytes,
            generation: 1,
            complete: false,
            source_incomplete: false,
        }),
    }
}

#[test]
fn output_of_an_open_card_is_read_as_it_grows_and_never_twice_at_once() {
    let mut state = talked();
    let mut turn = turn(porthole_protocol::TurnPhase::Tools);
    turn.tools = vec![running(10)];
    let id = turn.id;
    state.turn = Some(turn);
    let mut world = World::with(80, 24, state);
    let grow = |world: &mut World, bytes| {
        world.delta(&ConversationDelta::Tool {
            turn: id,
            tool: Box::new(running(bytes)),
        });
    };
    world.wait(100);
    let mut calls = world.calls();
    if calls.is_empty() {
        world.keys(&["ctrl-o"]);
        calls = world.calls();
    }
    let [
        (
            call,
            Call::OutputRead {
                from: 0, bytes: 10, ..
            },
        ),
    ] = calls.as_slice()
    else {
        panic!("one read: {calls:?}");
    };
    grow(&mut world, 20);
    assert!(world.calls().is_empty(), "one is on its way");
    let reply = json!({"base64": "MDEyMzQ1Njc4OQ==", "from": 0, "total": 20, "generation": 1, "complete": false});
    world.reply(*call, reply);
    assert!(world.calls().is_empty(), "not yet a tenth of a second");
    world.wait(100);
    let calls = world.calls();
    assert!(
        matches!(
            calls.as_slice(),
            [(
                _,
                Call::OutputRead {
                    from: 10,
                    bytes: 10,
                    ..
                }
            )]
        ),
        "{calls:?}"
    );
}

/// What may happen to a delta on its way.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Arrives,
    Twice,
    Lost,
    ConnectionLost,
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]
    #[test]
    fn whatever_gets_lost_or_comes_twice_the_conversation_ends_up_whole(
        fates in proptest::collection::vec(0usize..4, 1..30),
    ) {
        let mut world = World::with(80, 24, empty());
        let mut truth = empty();
        let mut epoch = 1;
        let last = fates.len() as u64;
        for (n, fate) in fates.into_iter().chain([0]).enumerate() {
            let n = n as u64;
            let entry = Box::new(message(n + 1, "line"));
            let delta = ConversationDelta::Entry { entry };
            truth.apply(&delta);
            let seq = n + 2;
            match [Fate::Arrives, Fate::Twice, Fate::Lost, Fate::ConnectionLost][fate] {
                Fate::Arrives => { world.delta_at(5, seq, &delta); }
                Fate::Twice => {
                    world.delta_at(5, seq, &delta);
                    world.delta_at(5, seq, &delta);
                }
                Fate::Lost if n < last => {}
                Fate::Lost | Fate::ConnectionLost => {
                    epoch += 1;
                    world.connect(epoch);
                }
            }
            let asks = |f: &ClientFrame| matches!(f, ClientFrame::Watch { topic: Topic::Conversation { .. } });
            if world.frames().iter().any(asks) {
                world.snapshot_at(5, seq, &truth);
            }
        }
        let state = world.app.screen().and_then(|s| s.state.clone());
        proptest::prop_assert_eq!(state, Some(truth));
    }
}
