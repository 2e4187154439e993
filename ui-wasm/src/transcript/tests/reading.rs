//! Nothing moves under a reader.

use porthole_protocol::{ConversationState, Entry, EntryId, ToolOutcome, ToolRunState, TurnPhase};

use proptest::prelude::*;

use super::super::Transcript;
use super::talk::*;

fn lines(from: usize, to: usize) -> String {
    (from..=to).map(|n| format!("line {n}  \n")).collect()
}

/// What can happen while someone reads.
#[derive(Clone, Debug)]
enum Happens {
    Streams(usize),
    Commits,
    Message,
    Result,
    Older,
    Taller(u16),
    Redrawn,
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        (1usize..40).prop_map(Happens::Streams),
        Just(Happens::Commits),
        Just(Happens::Message),
        Just(Happens::Result),
        Just(Happens::Older),
        (4u16..50).prop_map(Happens::Taller),
        Just(Happens::Redrawn),
    ]
}

fn happen(what: &Happens, talk: &mut ConversationState, screen: &mut Screen, at: usize) {
    match what {
        Happens::Streams(to) => {
            talk.turn(TurnPhase::Model);
            stream(talk, *to);
        }
        Happens::Commits => {
            talk.turn = None;
            talk.answer(vec![
                words(&lines(1, 12)),
                uses(&format!("p{at}"), "edit", "src/retry.rs"),
            ]);
        }
        Happens::Message => {
            talk.human(&format!("and {at}?"));
        }
        Happens::Result => talk.result(
            &format!("p{at}"),
            "edit",
            "src/retry.rs",
            ToolOutcome::Ok,
            "+2 −1",
            change(),
        ),
        Happens::Older => {
            let mut older = talk.entries[0].clone();
            if let Some(id) = older.id.0.checked_sub(1) {
                older.id = EntryId(id);
                talk.entries.insert(0, older);
            }
        }
        Happens::Taller(rows) => screen.resize(80, *rows),
        Happens::Redrawn => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn whatever_happens_the_line_on_top_of_a_reader_stays(
        up in 12i32..60,
        all in prop::collection::vec(happens(), 1..14),
    ) {
        let mut talk = empty();
        for n in 0..40 {
            talk.human(&format!("message {n} with words of its own"));
            talk.answer(vec![words(&format!("answer {n}\n\nin two paragraphs"))]);
        }
        for entry in &mut talk.entries {
            entry.id.0 += 100;
        }
        let mut screen = Screen::new(80, 12);
        screen.draw(&talk);
        screen.transcript.scroll(-up);
        let top = screen.draw(&talk)[0].clone();
        // A window that reaches from the top to the end follows the end again, as it must; this one is far from it.
        prop_assume!(!screen.transcript.is_following());
        for n in 0..30 {
            talk.human(&format!("later {n}"));
        }
        for (at, what) in all.iter().enumerate() {
            happen(what, &mut talk, &mut screen, at);
            let rows = screen.draw(&talk);
            prop_assert_eq!(&rows[0], &top, "after {:?}", what);
        }
    }
}

fn stream(state: &mut ConversationState, to: usize) {
    if let Some(turn) = &mut state.turn {
        turn.answer = open_answer(&lines(1, to));
    }
}

#[test]
fn the_line_on_top_stays_while_an_answer_streams_ends_and_the_width_changes() {
    let mut talk = retry_talk();
    talk.turn(TurnPhase::Model);
    let mut screen = Screen::new(80, 20);
    for n in 1..=60 {
        stream(&mut talk, n);
        screen.draw(&talk);
    }
    assert!(screen.transcript.is_following());
    screen.transcript.scroll(-1);
    let top = screen.draw(&talk)[0].clone();
    assert!(top.contains("line "), "{top:?}");
    for n in 61..=300 {
        stream(&mut talk, n);
        assert_eq!(screen.draw(&talk)[0], top, "at line {n}");
    }
    assert!(
        screen.transcript.new_below() > 0,
        "what came in below is announced"
    );

    talk.answer(vec![
        words(&lines(1, 300)),
        uses("c9", "edit", "src/retry.rs"),
    ]);
    talk.turn = None;
    assert_eq!(screen.draw(&talk)[0], top, "the answer was committed");
    talk.result(
        "c9",
        "edit",
        "src/retry.rs",
        ToolOutcome::Ok,
        "+2 −1",
        change(),
    );
    assert_eq!(screen.draw(&talk)[0], top, "a card opened below");
    talk.result(
        "c4",
        "shell",
        "cargo test",
        ToolOutcome::Ok,
        "passed",
        command("ok", Some(0)),
    );
    assert_eq!(screen.draw(&talk)[0], top, "a card above ended");
    screen.resize(60, 20);
    assert_eq!(screen.draw(&talk)[0], top, "narrower");
    screen.resize(80, 20);
    assert_eq!(screen.draw(&talk)[0], top, "and back");

    let place = screen.transcript.snapshot();
    let bytes = serde_json::to_string(&place).expect("encodes");
    screen.transcript = Transcript::restore(serde_json::from_str(&bytes).expect("decodes"));
    assert_eq!(screen.draw(&talk)[0], top, "left and come back");

    screen.transcript.to_bottom();
    let rows = screen.draw(&talk);
    assert!(
        rows.iter()
            .any(|row| row.contains("jitter().min(base / 2)")),
        "{rows:#?}"
    );
    assert_eq!(screen.transcript.new_below(), 0);
}

#[test]
fn a_wrapped_paragraph_keeps_its_place_through_widths() {
    let mut talk = empty();
    let text: Vec<String> = (0..400).map(|n| format!("word{n}")).collect();
    talk.answer(vec![words(&text.join(" "))]);
    let mut screen = Screen::new(80, 10);
    screen.draw(&talk);
    screen.transcript.scroll(-7);
    let top = screen.draw(&talk)[0].clone();
    let first = top.split_whitespace().next().expect("words").to_owned();
    for cols in [60, 40, 33, 100, 80] {
        screen.resize(cols, 10);
        let row = screen.draw(&talk)[0].clone();
        assert!(row.contains(&first), "{first} in {row:?} at {cols}");
    }
    assert_eq!(screen.draw(&talk)[0], top);
}

#[test]
fn one_row_up_stops_following_and_the_bottom_starts_it_again() {
    let talk = retry_talk();
    let mut screen = Screen::new(80, 12);
    let bottom = screen.draw(&talk);
    screen.transcript.scroll(-1);
    screen.draw(&talk);
    assert!(!screen.transcript.is_following());
    screen.transcript.scroll(1);
    assert_eq!(screen.draw(&talk), bottom);
    assert!(screen.transcript.is_following());
    screen.transcript.page(-1);
    assert_ne!(screen.draw(&talk), bottom);
    screen.transcript.page(5);
    assert_eq!(screen.draw(&talk), bottom);
    assert!(screen.transcript.is_following());
}

#[test]
fn a_short_conversation_is_always_followed() {
    let mut talk = empty();
    talk.human("hello");
    let mut screen = Screen::new(80, 12);
    screen.draw(&talk);
    screen.transcript.scroll(-3);
    screen.draw(&talk);
    assert!(screen.transcript.is_following());
}

#[test]
fn the_last_line_stays_in_view_when_the_area_shrinks() {
    let talk = retry_talk();
    let mut screen = Screen::new(80, 20);
    let last = |rows: Vec<String>| rows.last().cloned().unwrap_or_default();
    let before = last(screen.draw(&talk));
    screen.resize(80, 12);
    assert_eq!(last(screen.draw(&talk)), before);
}

#[test]
fn older_entries_come_in_above_without_moving_anything() {
    let mut talk = empty();
    for n in 0..60 {
        talk.human(&format!("message {n}"));
    }
    talk.has_older = true;
    let mut screen = Screen::new(80, 12);
    screen.draw(&talk);
    assert!(!screen.transcript.wants_older());
    screen.transcript.to_top();
    let top = screen.draw(&talk);
    assert!(screen.transcript.wants_older());
    let older: Vec<Entry> = (0..50)
        .map(|n| Entry {
            id: EntryId(n),
            ..talk.entries[usize::try_from(n).expect("small")].clone()
        })
        .collect();
    talk.entries.splice(0..0, older);
    assert_eq!(screen.draw(&talk), top);
    assert!(!screen.transcript.wants_older());
}

#[test]
fn a_hundred_thousand_entries_scroll_like_ten() {
    let mut talk = empty();
    for n in 0..50_000 {
        talk.human(&format!("message {n}"));
        talk.answer(vec![words(&format!("answer {n}"))]);
    }
    let mut screen = Screen::new(80, 30);
    screen.draw(&talk);
    let built = |screen: &Screen| screen.transcript.slots.len();
    assert!(built(&screen) < 100);
    screen.transcript.to_top();
    let rows = screen.draw(&talk);
    assert!(rows.iter().any(|row| row.contains("message 0")));
    for _ in 0..50 {
        screen.transcript.page(1);
        screen.draw(&talk);
    }
    screen.transcript.to_bottom();
    let rows = screen.draw(&talk);
    assert!(rows.iter().any(|row| row.contains("answer 49999")));
    assert!(built(&screen) < 600, "what is out of sight is forgotten");
}

#[test]
fn what_comes_in_below_a_reader_is_counted() {
    let mut talk = empty();
    for n in 0..30 {
        talk.human(&format!("message {n}"));
    }
    let mut screen = Screen::new(80, 12);
    screen.draw(&talk);
    screen.transcript.page(-2);
    screen.draw(&talk);
    assert_eq!(screen.transcript.new_below(), 0);
    talk.human("one more");
    talk.answer(vec![words("and its answer")]);
    screen.draw(&talk);
    assert_eq!(screen.transcript.new_below(), 2);
    screen.transcript.to_bottom();
    screen.draw(&talk);
    assert_eq!(screen.transcript.new_below(), 0);
}

#[test]
fn time_alone_asks_for_a_drawing_only_where_something_shows_it() {
    let mut talk = retry_talk();
    let mut screen = Screen::new(80, 30);
    for _ in 0..20 {
        screen.draw(&talk);
    }
    assert_eq!(screen.transcript.wake_in(), Some(1_000));
    let rows = screen.draw_at(&talk, NOW + 3_000);
    assert!(
        rows.iter().any(|row| row.contains("running 0:10")),
        "{rows:#?}"
    );
    if let Some(turn) = &mut talk.turn {
        turn.phase = TurnPhase::Question;
        turn.tools[0].state = ToolRunState::Asking;
    }
    screen.draw(&talk);
    assert_eq!(screen.transcript.wake_in(), None);
}
