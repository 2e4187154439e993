//! What the UI says where something went otherwise than wanted, and what it offers then.

use super::world::*;
use porthole_protocol::{
    Call, ConversationDelta, SendMode, Submission, SubmissionId, SubmissionState,
};
use serde_json::json;

#[test]
fn a_queued_message_says_what_becomes_of_it_once_the_turn_stopped() {
    let mut state = working();
    state.submissions = vec![Submission {
        id: SubmissionId(9),
        request: porthole_protocol::RequestId::parse("q9").expect("an id"),
        author: message(1, "").author,
        mode: SendMode::FollowUp,
        text: "then the changelog".into(),
        attachments: Vec::new(),
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
