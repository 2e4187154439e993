//! From a key press to the changed screen; the reference is a bare ratatui program in the same pty.

use super::{Row, SIZE, bare, draft_row, key_times, quantile, settled};
use crate::World;

const KEYS: usize = 100;
const ROUNDS: usize = 5;

/// Measures presses in turn: ours, the reference, ours, …
pub fn measure() -> anyhow::Result<Vec<Row>> {
    let world = World::new()?;
    let _model = world.model(Vec::new())?;
    let server = world.serve()?;
    let session = world.session()?;
    let mut ours = settled(&world, &server, &session)?;
    let draft = draft_row(&mut ours)?;
    let mut reference = bare(&world)?;
    reference.wait_for("ready");
    let (mut our_times, mut reference_times) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        our_times.extend(key_times(&mut ours, KEYS, |s| s.row(draft).contains('7')));
        reference_times.extend(key_times(&mut reference, KEYS, |s| {
            s.row(SIZE.1 - 1).contains('7')
        }));
    }
    Ok([("key, median", 0.5), ("key, p99", 0.99)]
        .map(|(name, part)| {
            // The reference of both is the median: what a bare program usually takes.
            Row::beside(
                name,
                quantile(&mut our_times, part),
                "ms",
                quantile(&mut reference_times, 0.5),
            )
        })
        .to_vec())
}
