//! The link and the pace: loss, repeats, gaps and reconnects leave the screen whole; nothing wakes what does not move.

use super::world::*;
use porthole_bridge::{Event, LinkState, Request};
use porthole_protocol::{Call, ClientFrame, ConversationDelta, EntryId, Topic};
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
        "who": {"role": "owner", "id": "owner", "name": "you"}}}),
    );
    assert!(world.screen().contains("protocol 99"), "{}", world.screen());
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
        nested: Vec::new(),
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
