//! Every visible state at every size: nothing panics, nothing is drawn outside, every frame can be sent.

use porthole_bridge::{Event, LinkState, Request, Size};
use porthole_protocol::{ConversationState, EntryBody};

use super::world::*;

/// A state that people see: its name, the conversation, and the keys that lead there.
type Seen = (
    &'static str,
    fn() -> ConversationState,
    &'static [&'static str],
);

fn failed() -> ConversationState {
    let mut state = talked();
    let mut error = message(90, "");
    error.body = EntryBody::Error {
        text: "the model refused the key".into(),
        hint: "set ANTHROPIC_API_KEY and try again".into(),
    };
    state.info.failed = Some(error.id);
    state.entries.push(error);
    state
}

fn marked() -> ConversationState {
    let mut state = talked();
    let mut reset = message(91, "");
    reset.body = EntryBody::Reset;
    state.entries.push(reset);
    state
}

/// Everything that can be seen, each in one row.
const SEEN: &[Seen] = &[
    ("first minute", empty, &[]),
    ("conversation", talked, &[]),
    ("conversation, read", talked, &["backtab"]),
    ("conversation, scrolled", talked, &["pgup"]),
    ("card open", talked, &["ctrl-o"]),
    ("thinking", talked, &["ctrl-t"]),
    ("find", talked, &["ctrl-f", "r"]),
    ("draft", talked, &["x", "alt-enter", "日", "y"]),
    ("shell", talked, &["!", "l"]),
    ("commands", talked, &["/"]),
    ("sent", talked, &["x", "enter"]),
    ("history", talked, &["ctrl-r"]),
    ("working", working, &[]),
    ("steering", working, &["tab"]),
    ("question", waiting, &[]),
    ("question, answered", waiting, &["alt-q"]),
    ("error", failed, &[]),
    ("reset", marked, &[]),
    ("help", talked, &["f1"]),
    ("palette", talked, &["ctrl-k"]),
    ("sessions", talked, &["ctrl-p"]),
    ("models", talked, &["alt-m"]),
    ("thinking levels", talked, &["alt-t"]),
    ("policies", talked, &["alt-p"]),
    ("share", talked, &["alt-s"]),
    ("home", talked, &["alt-h"]),
    ("home, searched", talked, &["alt-h", "/", "f"]),
    ("home, new", talked, &["alt-h", "n"]),
    ("home, renamed", talked, &["alt-h", "r"]),
    ("home, archived", talked, &["alt-h", "a"]),
    ("home, help", talked, &["alt-h", "?"]),
];

/// Sizes at the edges of what there is, of each layout, and of what people have.
const SIZES: &[(u16, u16)] = &[
    (1, 1),
    (1, 200),
    (2, 3),
    (500, 1),
    (7, 7),
    (11, 5),
    (12, 6),
    (39, 11),
    (40, 12),
    (59, 15),
    (60, 16),
    (80, 24),
    (99, 23),
    (100, 30),
    (120, 40),
    (200, 60),
    (500, 120),
];

fn check(name: &str, requests: Vec<Request>, size: (u16, u16)) {
    for request in requests {
        let sent = porthole_bridge::encode_request(&request);
        assert!(sent.is_ok(), "{name} at {size:?}: {sent:?}");
    }
}

#[test]
fn every_state_can_be_drawn_at_every_size() {
    for (name, state, keys) in SEEN {
        let mut world = World::with(80, 24, state());
        world.wait(1_000);
        world.keys(keys);
        for size in SIZES {
            let (cols, rows) = *size;
            let sent = world.send(Event::Resize(Size { cols, rows }));
            check(name, sent, *size);
        }
        world.send(Event::Resize(Size { cols: 80, rows: 24 }));
        let down = LinkState::Down { retry_in_ms: 500 };
        check(name, world.send(Event::LinkState(down)), (80, 24));
    }
}

#[test]
fn every_state_says_something_on_a_small_and_on_a_large_screen() {
    for (name, state, keys) in SEEN {
        for (cols, rows) in [(40, 12), (80, 24), (200, 60)] {
            let mut world = World::with(cols, rows, state());
            world.wait(1_000);
            world.keys(keys);
            let shown = world.screen();
            let words = shown.split_whitespace().count();
            assert!(words > 6, "{name} at {cols}x{rows}:\n{shown}");
            for line in shown.lines().take(usize::from(rows)) {
                let wide = crate::text::width(line);
                assert!(wide <= usize::from(cols), "{name}: {wide} in {line:?}");
            }
        }
    }
}
