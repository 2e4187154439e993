//! The list of sessions with what is within them, what the next one gets, what is answered, and what is asked back about.

use porthole_bridge::{Action, Request, Source};

use super::world::*;
use porthole_protocol::{
    Call, ChildRow, ConversationDelta, ConversationId, SessionState, Thinking,
};
use serde_json::json;

fn child(id: u64, title: &str, state: SessionState, archived: bool) -> ChildRow {
    ChildRow {
        id: ConversationId(id),
        title: title.into(),
        call: None,
        state,
        archived,
    }
}

#[test]
fn what_is_within_a_session_unfolds_in_the_list_and_opens() {
    let mut state = talked();
    let works = SessionState::Working {
        activity: "reading src".into(),
    };
    state.children = vec![
        child(7, "look for the leak", works, false),
        child(8, "an old idea", SessionState::Idle, true),
    ];
    let mut world = World::with(100, 24, state.clone());
    assert!(world.screen().contains("1 in the background"));
    world.keys(&["alt-h", "right"]);
    world.snapshot(&state);
    let screen = world.screen();
    assert!(
        screen.contains("look for the leak") && screen.contains("reading src"),
        "{screen}"
    );
    let old = screen.lines().find(|line| line.contains("an old idea"));
    assert!(
        old.is_some_and(|line| line.contains("archived")),
        "{screen}"
    );
    world.keys(&["down", "left"]);
    assert!(!world.screen().contains("an old idea"), "folded");
    world.keys(&["right"]);
    state.children.pop();
    world.snapshot(&state);
    let screen = world.screen();
    assert!(
        screen.contains("look for the leak") && !screen.contains("an old idea"),
        "{screen}"
    );
    world.keys(&["down", "enter"]);
    assert_eq!(world.app.open, Some((session("s1"), ConversationId(7))));
}

#[test]
fn children_that_go_leave_the_selection_on_their_session() {
    let mut state = talked();
    state.children = vec![child(7, "look for the leak", SessionState::Idle, false)];
    let mut world = World::with(80, 24, state.clone());
    world.keys(&["alt-h", "right"]);
    world.snapshot(&state);
    world.keys(&["down"]);
    world.delta(&ConversationDelta::Children { children: vec![] });
    let screen = world.screen();
    assert!(
        screen.contains("no other conversation within it"),
        "{screen}"
    );
    world.keys(&["enter"]);
    assert_eq!(world.app.open, Some((session("s1"), ConversationId::ROOT)));
}

#[test]
fn an_archived_session_comes_back_when_it_is_opened() {
    let mut world = World::with(80, 24, talked());
    world.keys(&["alt-h", "a", "G"]);
    world.asked.clear();
    world.keys(&["enter"]);
    let calls = world.calls();
    assert!(
        matches!(calls.as_slice(), [(_, Call::SessionRestore { session })] if session.as_str() == "s5"),
        "{calls:?}"
    );
    assert!(world.screen().contains("brought back “tidy up”"));
}

#[test]
fn the_next_session_gets_what_was_chosen_for_the_last() {
    let mut world = World::with(90, 24, talked());
    world.keys(&["alt-h", "n"]);
    let screen = world.screen();
    assert!(screen.contains("new session in  ~/src/shop"), "{screen}");
    assert!(
        screen.contains("with the default model, thinking as usual"),
        "{screen}"
    );
    world.keys(&["down"]);
    assert!(
        world.screen().contains("new session in  ~/src/site"),
        "{}",
        world.screen()
    );
    world.keys(&["alt-t"]);
    world.text("high");
    world.keys(&["enter"]);
    assert!(
        world.screen().contains("thinking high"),
        "{}",
        world.screen()
    );
    world.asked.clear();
    world.keys(&["enter"]);
    let (id, call) = world.calls().pop().expect("a call");
    assert!(matches!(call, Call::SessionCreate { dir: Some(dir), .. } if dir == "~/src/site"));
    world.reply(id, json!({"session": "s9"}));
    let set = |(_, call): &(u64, Call)| matches!(call, Call::Configure { session, thinking: Some(Thinking::High), .. } if session.as_str() == "s9");
    assert!(world.calls().iter().any(set));
    world.keys(&["alt-h", "n"]);
    let screen = world.screen();
    assert!(
        screen.contains("new session in  ~/src/site") && screen.contains("thinking high"),
        "{screen}"
    );
}

#[test]
fn what_is_answered_is_quoted_once_and_only_here() {
    let mut world = World::with(90, 24, talked());
    world.text("/reply ");
    world.keys(&["enter"]);
    world.text("jitter");
    world.keys(&["enter"]);
    let screen = world.screen();
    assert!(
        screen.contains("answers anthropic/claude-sonnet: The jitter could"),
        "{screen}"
    );
    world.text("how much longer?");
    world.asked.clear();
    world.keys(&["enter"]);
    let (_, call) = world.calls().pop().expect("a call");
    let Call::Submit { text, .. } = call else {
        panic!("{call:?}")
    };
    assert!(text.starts_with("> The jitter could be longer"), "{text}");
    assert!(
        text.ends_with("200 runs pass.\n\nhow much longer?"),
        "{text}"
    );
    world.text("more");
    world.keys(&["enter"]);
    let (_, call) = world.calls().pop().expect("a call");
    assert!(matches!(call, Call::Submit { text, .. } if text == "more"));
    for way in [["alt-h", "enter"], ["ctrl-a", "backspace"]] {
        world.text("/reply ");
        world.keys(&["enter", "enter"]);
        assert!(world.screen().contains("▌ answers "));
        world.keys(&way);
        assert!(!world.screen().contains("▌ answers "), "{way:?}");
    }
}

#[test]
fn beginning_anew_is_asked_back_about_and_enter_alone_does_nothing() {
    let mut world = World::with(80, 24, talked());
    world.text("/reset ");
    world.asked.clear();
    world.keys(&["enter"]);
    assert!(
        world
            .screen()
            .contains("let the model forget this conversation?")
    );
    world.keys(&["enter"]);
    assert!(world.calls().is_empty());
    world.text("/reset ");
    world.keys(&["enter", "down", "enter"]);
    let calls = world.calls();
    assert!(
        matches!(calls.as_slice(), [(_, Call::Reset { .. })]),
        "{calls:?}"
    );
}

#[test]
fn what_was_told_can_be_read_again_and_put_away() {
    let mut world = World::with(80, 24, talked());
    for _ in 0..2 {
        world.text("hello");
        world.asked.clear();
        world.keys(&["enter"]);
        let id = world.calls()[0].0;
        world.refuse(id, "the disk is full");
        world.keys(&["ctrl-u"]);
    }
    world.wait(25_000);
    assert!(!world.screen().contains("the disk is full"));
    world.keys(&["alt-n"]);
    assert!(
        world.screen().contains("the disk is full (2 times)"),
        "{}",
        world.screen()
    );
    world.keys(&["enter"]);
    assert!(
        world.screen().contains("nothing was told lately"),
        "{}",
        world.screen()
    );
}

#[test]
fn another_session_that_waits_is_told_where_one_works() {
    let mut world = World::with(100, 24, talked());
    let mut rows = rows_of_home();
    rows[1].state = SessionState::Waiting {
        question: "run rm?".into(),
    };
    world.asked.clear();
    world.sessions(rows);
    assert!(
        world.screen().contains("another session needs you"),
        "{}",
        world.screen()
    );
}

/// The last call, as it is on the wire.
fn called(world: &mut World) -> (u64, serde_json::Value) {
    let (id, call) = world.calls().pop().expect("a call");
    (id, serde_json::to_value(call).expect("plain data"))
}

#[test]
fn a_deleted_session_is_gone_at_once_and_comes_back_for_ten_minutes() {
    let mut world = World::with(90, 24, talked());
    world.keys(&["alt-h", "down"]);
    world.asked.clear();
    world.keys(&["d"]);
    let (id, call) = called(&mut world);
    assert_eq!(
        call,
        json!({"method": "session.delete", "params": {"session": "s2"}})
    );
    world.reply(id, json!({}));
    world.frame(json!({"delta": {"topic": "sessions", "epoch": 1, "seq": 1, "delta": {"sessions": {"gone": {"id": "s2"}}}}}));
    let screen = world.screen();
    let undo = "deleted “port the importer to streams”  U brings it back, for ten minutes";
    assert!(
        screen.contains(undo) || screen.contains(&undo.replace(" U ", " u ")),
        "{screen}"
    );
    world.asked.clear();
    world.keys(&["u"]);
    let (_, call) = called(&mut world);
    assert_eq!(
        call,
        json!({"method": "session.restore", "params": {"session": "s2"}})
    );
    world.keys(&["d"]);
    world.wait(601_000);
    assert!(!world.screen().contains("brings it back, for"));
    world.asked.clear();
    world.keys(&["u"]);
    assert!(world.calls().is_empty());
}

fn hit(entry: u64) -> serde_json::Value {
    json!({"session": "s1", "title": "fix the flaky retry test", "archived": false, "conversation": 1, "entry": entry,
        "at_ms": NOW, "author": "you", "snippet": "The retry test fails about once in ten runs.", "matches": [[4, 9]]})
}

#[test]
fn words_are_searched_in_what_was_said_and_a_hit_opens_there() {
    let mut state = talked();
    state.has_older = true;
    for entry in &mut state.entries {
        entry.id.0 += 100;
    }
    let mut world = World::with(100, 24, state.clone());
    world.keys(&["alt-h", "/"]);
    world.asked.clear();
    world.text("retry");
    let (id, call) = {
        let mut calls = world.calls();
        assert_eq!(calls.len(), 1, "one search at a time: {calls:?}");
        calls.remove(0)
    };
    assert!(matches!(call, Call::Search { text, .. } if text == "re"));
    world.reply(id, json!({"hits": [], "next": null, "behind": false}));
    let (id, call) = world.calls().pop().expect("the search goes on");
    assert!(matches!(call, Call::Search { text, .. } if text == "retry"));
    world.reply(id, json!({"hits": [hit(1)], "next": null, "behind": false}));
    let screen = world.screen();
    assert!(
        screen.contains("where it was said") && screen.contains("The retry test fails"),
        "{screen}"
    );
    world.keys(&["down"]);
    world.asked.clear();
    world.keys(&["enter"]);
    world.snapshot(&state);
    assert!(
        world.screen().contains("going back to what was found"),
        "{}",
        world.screen()
    );
    let (id, call) = world
        .calls()
        .into_iter()
        .find(|(_, c)| matches!(c, Call::History { .. }))
        .expect("history");
    assert!(matches!(call, Call::History { before: Some(id), .. } if id.0 == 101));
    let older = talked().entries;
    world.reply(id, json!({"entries": older, "has_older": false}));
    let screen = world.screen();
    assert!(
        !screen.contains("going back") && screen.contains("The retry test fails"),
        "{screen}"
    );
}

#[test]
fn the_switcher_finds_what_was_said_too() {
    let mut world = World::with(100, 24, talked());
    world.keys(&["ctrl-p"]);
    world.asked.clear();
    world.text("te");
    let (id, call) = world.calls().pop().expect("a call");
    assert!(matches!(call, Call::Search { .. }));
    world.reply(id, json!({"hits": [hit(1)], "next": null, "behind": false}));
    let screen = world.screen();
    assert!(
        screen.contains("The retry test fails about once"),
        "{screen}"
    );
    world.keys(&["up", "enter"]);
    let focus = world.app.screen().map(|screen| screen.focus);
    assert_eq!(focus, Some(crate::conversation::Focus::Reading));
}

#[test]
fn settings_are_listed_changed_and_shown_as_they_are_then() {
    let mut world = World::with(100, 30, talked());
    world.text("/settings ");
    world.keys(&["enter"]);
    let state = |policy: &str| json!({"version": 1, "settings": {"policy": policy}, "path": "~/settings.toml", "fault": {"line": 3, "message": "`x` is no setting"}});
    world.frame(json!({"snapshot": {"topic": "settings", "epoch": 1, "seq": 0, "state": {"settings": state("ask")}}}));
    let screen = world.screen();
    for words in [
        "what tools may do in new sessions",
        "line 3: `x` is no setting",
        "kept in ~/settings.toml",
    ] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    world.text("what tools");
    world.keys(&["enter"]);
    world.text("auto");
    world.asked.clear();
    world.keys(&["enter"]);
    let (id, call) = called(&mut world);
    assert_eq!(call["method"], "settings.save");
    assert_eq!(
        call["params"]["changes"],
        json!([{"key": "policy", "value": "auto"}])
    );
    world.reply(id, state("auto"));
    let line = |screen: &str| {
        screen
            .lines()
            .find(|l| l.contains("what tools may do"))
            .map(str::to_owned)
    };
    assert!(
        line(&world.screen()).is_some_and(|l| l.contains("auto")),
        "{}",
        world.screen()
    );
    world.text("your name");
    world.keys(&["enter"]);
    world.text("Ada");
    world.asked.clear();
    world.keys(&["enter"]);
    let (_, call) = called(&mut world);
    assert_eq!(
        call["params"]["changes"],
        json!([{"key": "owner_name", "value": "\"Ada\""}])
    );
}

#[test]
fn the_model_of_a_conversation_becomes_the_default_and_the_next_one_is_stepped_to() {
    let mut world = World::with(90, 24, talked());
    world.text("/default ");
    world.asked.clear();
    world.keys(&["enter"]);
    let (_, call) = called(&mut world);
    let changes = json!([{"key": "model", "value": "\"anthropic/claude-sonnet\""}, {"key": "thinking", "value": "low"}]);
    assert_eq!(call["params"]["changes"], changes);
    world.asked.clear();
    world.keys(&["alt-g"]);
    let (id, call) = called(&mut world);
    assert_eq!(call["method"], "models.scope");
    let model = |name: &str| json!({"provider": "anthropic", "model": name});
    let models = json!([{"model": model("claude-sonnet"), "thinking": null}, {"model": model("claude-opus"), "thinking": "high"}]);
    world.asked.clear();
    world.reply(id, json!({"models": models, "unmatched": []}));
    let (_, call) = called(&mut world);
    assert_eq!(call["method"], "conversation.configure");
    assert_eq!(
        (&call["params"]["model"], &call["params"]["thinking"]),
        (&model("claude-opus"), &json!("high"))
    );
}

#[test]
fn templates_and_skills_are_completed_and_sent_as_they_are_written() {
    let mut state = talked();
    state.info.prompts = 2;
    let mut world = World::with(90, 24, state);
    world.asked.clear();
    world.text("/rev");
    let (id, call) = called(&mut world);
    assert_eq!(call["method"], "prompts.list");
    let row = json!({"name": "review", "description": "look at a change", "arguments": "<file>", "kind": "template", "path": "~/p/review.md"});
    world.reply(id, json!({"prompts": [row], "faults": [], "version": 2}));
    let screen = world.screen();
    assert!(
        screen.contains("/review <file>") && screen.contains("template: look at a change"),
        "{screen}"
    );
    world.keys(&["enter"]);
    assert_eq!(world.draft(), "/review ");
    world.text("a.rs");
    world.asked.clear();
    world.keys(&["enter"]);
    let (_, call) = called(&mut world);
    assert_eq!(
        (&call["method"], &call["params"]["text"]),
        (&json!("conversation.submit"), &json!("/review a.rs"))
    );
    world.text("/r");
    let again = world.calls().into_iter().map(|(_, call)| call);
    let again = again.filter(|call| matches!(call, Call::PromptsList { .. }));
    assert_eq!(again.count(), 1, "what is there may be new");
}

#[test]
fn templates_that_cannot_be_listed_are_asked_for_once() {
    let mut world = World::with(90, 24, talked());
    world.asked.clear();
    world.text("/");
    let (id, call) = called(&mut world);
    assert_eq!(call["method"], "prompts.list");
    world.refuse(id, "the disk is slow");
    world.text("re");
    world.wait(5_000);
    assert!(world.calls().is_empty());
}

#[test]
fn a_session_is_written_into_a_file_and_offered_to_the_launcher() {
    let mut world = World::with(90, 24, talked());
    world.text("/export ");
    world.keys(&["enter"]);
    let screen = world.screen();
    assert!(
        screen.contains("a page") && screen.contains("portholed import"),
        "{screen}"
    );
    world.text("Markdown");
    world.asked.clear();
    world.keys(&["enter"]);
    let (id, call) = called(&mut world);
    assert_eq!(
        call,
        json!({"method": "session.export", "params": {"session": "s1", "format": "markdown"}})
    );
    world.asked.clear();
    world.reply(
        id,
        json!({"export": "e1", "name": "fix the flaky retry test.md", "bytes": 900}),
    );
    let wanted = Action::Download {
        what: Source::Export("e1".into()),
        name: "fix the flaky retry test.md".into(),
    };
    let asked = world
        .asked
        .iter()
        .any(|request| matches!(request, Request::Action { action, .. } if *action == wanted));
    assert!(asked, "{:?}", world.asked);
}
