//! Every visible state at every size: nothing panics, nothing is drawn outside, every frame can be sent.

use porthole_bridge::{Event, LinkState, Request, Size};

use super::states::{SEEN, reached};

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
    for seen in SEEN {
        let (name, ..) = seen;
        let mut world = reached(seen, 80, 24);
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
    for seen in SEEN {
        let (name, ..) = seen;
        for (cols, rows) in [(40, 12), (80, 24), (200, 60)] {
            let mut world = reached(seen, cols, rows);
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
