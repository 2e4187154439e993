//! The list of sessions with what is within them, what the next one gets, what is answered, and what is asked back about.

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
