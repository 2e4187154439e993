//! How a question is answered, and that typing never does it.

use super::world::*;
use porthole_protocol::{Answer, Call, QuestionId};

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
