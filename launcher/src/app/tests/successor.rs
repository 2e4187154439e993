//! How one UI replaces another, and what a crash may cost: inputs in, effects out.

use porthole_bridge::{Action, KeyCode, Outcome, Start};

use super::world::*;
use crate::app::*;

impl World {
    /// Returns the number and the first message of a UI that was started behind.
    fn behind(&self) -> Option<(u64, &Start)> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::StartNext {
                instance, start, ..
            } => Some((*instance, start.as_ref())),
            _ => None,
        })
    }

    /// Offers another bundle and returns the number of its first process.
    fn offered() -> (Self, u64) {
        let mut world = Self::new();
        world.give(Input::Door(DoorInput::Prepared(OTHER.into())));
        let (trial, start) = world.behind().expect("it starts behind");
        assert_eq!(start.snapshot, None, "it first shows that it can start");
        (world, trial)
    }

    fn posts(&mut self, instance: u64, request: Request) -> &mut Self {
        self.give(Input::Posted(instance, request))
    }

    fn draws(&mut self, instance: u64, text: &str) -> &mut Self {
        self.posts(instance, Request::Frame(text.into()))
    }

    /// The successor has drawn; the old UI was asked for its state.
    fn proven() -> (Self, u64) {
        let (mut world, trial) = Self::offered();
        let old = world.app.ui.instance();
        world.draws(trial, "trial");
        assert!(world.did(&SAVE));
        (world, old)
    }

    /// The successor starts with the state `draft`; returns its number.
    fn handed_over() -> (Self, u64) {
        let (mut world, old) = Self::proven();
        world.posts(old, Request::Snapshot(b"draft".to_vec()));
        let (instance, start) = world.behind().expect("it starts with the state");
        assert_eq!(start.snapshot.as_deref(), Some(&b"draft"[..]));
        (world, instance)
    }

    fn typed(&self) -> Vec<KeyCode> {
        let keys = self.effects.iter().filter_map(|effect| match effect {
            Effect::ToUi(Event::Key(key)) => Some(key.code),
            _ => None,
        });
        keys.collect()
    }
}

const SAVE: Effect = Effect::ToUi(Event::SaveSnapshot);

#[test]
fn a_new_bundle_takes_over_with_the_state_of_the_old_one_and_only_once_it_draws() {
    let (mut world, next) = World::handed_over();
    assert!(!world.did(&Effect::Promote));
    assert!(world.last_row().contains("UI 3f9a21c04d7e"));
    let old = world.app.ui.instance();
    world.draws(next, "the new screen");
    assert!(world.did(&Effect::Promote));
    assert!(world.last_row().contains("UI aaaa21c04d7e"));
    assert!(world.screen().contains("the new screen"));
    world.draws(old, "late");
    assert!(
        !world.screen().contains("late"),
        "the old UI is heard no more"
    );
}

#[test]
fn the_old_ui_goes_on_until_its_state_is_asked_for() {
    let (mut world, trial) = World::offered();
    world.key(KeyCode::Char('a'));
    assert_eq!(world.typed(), [KeyCode::Char('a')]);
    let old = world.app.ui.instance();
    world.draws(old, "old screen");
    assert!(world.screen().contains("old screen"));
    world.draws(trial, "trial screen");
    assert!(!world.screen().contains("trial screen"));
}

#[test]
fn what_is_typed_during_the_handover_reaches_the_new_ui_once_and_in_order() {
    let (mut world, next) = World::handed_over();
    world.key(KeyCode::Char('x'));
    assert!(world.typed().is_empty());
    world.key(KeyCode::Enter).draws(next, "new");
    assert_eq!(world.typed(), [KeyCode::Char('x'), KeyCode::Enter]);
}

#[test]
fn a_held_key_is_no_gesture_for_the_old_ui_nor_for_the_new_one() {
    let (mut world, next) = World::handed_over();
    world.key(KeyCode::Char('y'));
    world.action(1, Action::Copy("secret".into()));
    assert!(world.refused());
    world.draws(next, "new");
    world.action(1, Action::Copy("secret".into()));
    assert!(world.refused());
}

#[test]
fn a_successor_that_ends_before_it_draws_leaves_the_old_ui_and_a_notice() {
    let (mut world, trial) = World::offered();
    world.give(Input::UiEnded(trial, "The interface crashed.".into()));
    assert!(world.did(&Effect::DropNext));
    let row = world.last_row();
    assert!(row.contains("new UI failed"), "{row}");
    assert!(row.contains("UI 3f9a21c04d7e"), "{row}");
    world.key(KeyCode::Char('a'));
    assert_eq!(world.typed(), [KeyCode::Char('a')]);
}

#[test]
fn a_bundle_that_is_refused_leaves_the_old_ui_and_a_notice() {
    let mut world = World::sized(160, 24, Some(HASH.to_owned()));
    let refused =
        Trouble::Bundle("The interface is too large / too complex to load safely.".into());
    world.give(Input::Door(DoorInput::NotPrepared(refused)));
    let row = world.last_row();
    assert!(row.contains("new UI failed: The interface is too"), "{row}");
    assert!(world.app.ui.runs());
}

#[test]
fn a_state_that_the_new_ui_cannot_read_is_dropped_and_nothing_else() {
    let (mut world, next) = World::handed_over();
    world.key(KeyCode::Char('x'));
    world.give(Input::UiEnded(next, "it trapped".into()));
    let (bare, start) = world.behind().expect("once more, without");
    assert_eq!(start.snapshot, None);
    world.draws(bare, "empty");
    assert!(world.did(&Effect::Promote));
    assert_eq!(world.typed(), [KeyCode::Char('x')]);
    let (mut world, next) = World::handed_over();
    world.give(Input::UiEnded(next, "it trapped".into()));
    let (bare, _) = world.behind().expect("once more, without");
    world.give(Input::UiEnded(bare, "it trapped".into()));
    assert!(world.did(&Effect::DropNext) && world.app.ui.runs());
}

#[test]
fn a_ui_that_saves_nothing_is_replaced_all_the_same() {
    let (mut world, _) = World::proven();
    world.wait(2_000).give(Input::Alarm(Alarm::Snapshot));
    assert!(world.behind().is_some());
}

#[test]
fn a_handover_that_takes_too_long_ends_with_the_old_ui_and_all_that_was_typed() {
    let (mut world, _) = World::handed_over();
    world.key(KeyCode::Char('x'));
    world.wait(5_000).give(Input::Alarm(Alarm::Snapshot));
    assert!(world.did(&Effect::DropNext));
    assert_eq!(world.typed(), [KeyCode::Char('x')]);
}

#[test]
fn more_than_can_be_held_ends_the_handover_and_loses_nothing() {
    let (mut world, _) = World::handed_over();
    for _ in 0..256 {
        world.key(KeyCode::Char('x'));
        assert!(world.typed().is_empty());
    }
    world.key(KeyCode::Char('y'));
    assert_eq!(world.typed().len(), 257);
    assert_eq!(world.typed().last(), Some(&KeyCode::Char('y')));
}

#[test]
fn an_old_ui_that_ends_in_between_hands_its_place_to_whoever_waits() {
    let (mut world, _) = World::offered();
    world.crash();
    assert!(world.started().is_some());
    let (mut world, _) = World::handed_over();
    world.key(KeyCode::Char('x')).crash();
    assert!(world.did(&Effect::Promote));
    assert_eq!(world.typed(), [KeyCode::Char('x')]);
}

#[test]
fn a_replacement_waits_for_an_open_dialog_and_its_grants_die_with_it() {
    let (mut world, trial) = World::offered();
    world.key(KeyCode::Enter).action(1, url());
    assert!(world.screen().contains("example.com"));
    world.draws(trial, "trial");
    assert!(!world.did(&SAVE), "the visitor is deciding");
    world.wait(2_000).key(KeyCode::Escape);
    assert!(world.did(&SAVE));
    let (mut world, trial) = World::offered();
    world.key(KeyCode::Enter).draws(trial, "trial");
    let old = world.app.ui.instance();
    world.action(2, url());
    assert!(world.screen().contains("example.com"));
    world.posts(old, Request::Snapshot(b"s".to_vec()));
    let (next, _) = world.behind().expect("it starts with the state");
    world.draws(next, "new");
    assert!(
        !world.screen().contains("example.com"),
        "the question is gone"
    );
    world.give(Input::Local(LocalDone {
        asked: Some((old, 2)),
        outcome: Outcome::Done(String::new()),
    }));
    assert_eq!(world.outcome(), None, "no answer reaches a successor");
}

#[test]
fn what_a_successor_wishes_for_counts_from_when_it_has_the_place() {
    let (mut world, next) = World::handed_over();
    world.posts(next, Request::Link(b"sneaky".to_vec()));
    assert!(world.effects.is_empty());
    for millis in [5_000, 60_000] {
        world.posts(next, Request::WakeIn(Some(millis)));
    }
    world.draws(next, "new");
    let wakes = world
        .effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Alarm(Alarm::Wake, Some(_))));
    assert_eq!(wakes.count(), 1);
    assert!(!world.did(&Effect::SendLink(b"sneaky".to_vec())));
}

#[test]
fn a_bundle_that_the_server_takes_back_is_not_waited_for() {
    let (mut world, _) = World::offered();
    world.give(Input::Door(DoorInput::Unchanged));
    assert!(world.did(&Effect::DropNext));
    let (mut world, _) = World::offered();
    world.give(Input::Door(DoorInput::Prepared(OTHER.into())));
    assert!(world.behind().is_none(), "it is on its way already");
}

#[test]
fn a_window_that_changed_in_between_is_told_to_the_new_ui() {
    let (mut world, next) = World::handed_over();
    world.give(Input::Resized(Size { cols: 60, rows: 20 }));
    world.draws(next, "new");
    let size = ui_size(world.app.size());
    assert!(world.did(&Effect::ToUi(Event::Resize(size))));
}

#[test]
fn what_was_typed_is_saved_when_the_visitor_rests_and_nothing_runs_at_rest() {
    let mut world = World::new();
    world.key(KeyCode::Char('a'));
    let rest = |world: &World| {
        world.effects.iter().find_map(|effect| match effect {
            Effect::Alarm(Alarm::Rest, at) => *at,
            _ => None,
        })
    };
    let second = Duration::from_secs(1);
    assert_eq!(rest(&world), Some(world.now + second));
    world.wait(600).key(KeyCode::Char('b'));
    assert_eq!(rest(&world), None, "one alarm serves a burst");
    world.wait(400).give(Input::Alarm(Alarm::Rest));
    assert!(!world.did(&SAVE));
    assert_eq!(rest(&world), Some(world.now + Duration::from_millis(600)));
    world.wait(600).give(Input::Alarm(Alarm::Rest));
    assert!(world.did(&SAVE));
    assert_eq!(rest(&world), None);
    world.wait(1_000).draws(1, "frame");
    assert_eq!(rest(&world), None, "a UI that only draws is not asked");
}

#[test]
fn somebody_who_never_rests_is_saved_every_few_seconds() {
    let mut world = World::new();
    let mut saved = 0;
    for _ in 0..100 {
        world.key(KeyCode::Char('a'));
        world.wait(100).give(Input::Alarm(Alarm::Rest));
        saved += u32::from(world.did(&SAVE));
    }
    assert!((1..=2).contains(&saved), "{saved}");
}

#[test]
fn a_crash_costs_no_more_than_what_was_typed_since_the_last_rest() {
    let mut world = World::new();
    world.key(KeyCode::Char('a'));
    world.wait(1_000).give(Input::Alarm(Alarm::Rest));
    let instance = world.app.ui.instance();
    world.posts(instance, Request::Snapshot(b"a".to_vec()));
    world.crash().key(KeyCode::Char('r'));
    let start = world.started().expect("it starts again");
    assert_eq!(start.snapshot.as_deref(), Some(&b"a"[..]));
}
