//! From exec to a composer that accepts keys; the reference is a bare ratatui program in the same pty.

use std::time::Instant;

use super::{COMPOSER, Row, SIZE, bare, milliseconds, quantile};
use crate::{Terminal, World};

const RUNS: usize = 9;

/// Measures warm starts, one cold compile and one cold worker.
pub fn measure() -> anyhow::Result<Vec<Row>> {
    let world = World::new()?;
    let _model = world.model(Vec::new())?;
    let server = world.serve()?;
    let session = world.session()?;
    let link = world.owner_link()?;
    let (cold_compile, first) =
        timed(|| world.launch(&["--session", &session], Some(&link), SIZE.0, SIZE.1))?;
    super::await_compiled(&world, &server)?;
    let (mut warm, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let started = Instant::now();
        let terminal = bare(&world)?;
        terminal.wait_for("ready");
        reference.push(milliseconds(started.elapsed()));
        warm.push(timed(|| world.launch(&["--session", &session], None, SIZE.0, SIZE.1))?.0);
    }
    drop(first);
    drop(server);
    let _server = world.serve_on(&world.last_address()?)?;
    let (cold_worker, _) = timed(|| world.launch(&["--session", &session], None, SIZE.0, SIZE.1))?;
    let reference = quantile(&mut reference, 0.5);
    Ok(vec![
        Row::beside("start, warm", quantile(&mut warm, 0.5), "ms", reference),
        Row::beside("start, cold compile", cold_compile, "ms", reference),
        Row::beside("start, cold worker", cold_worker, "ms", reference),
    ])
}

/// Returns the milliseconds until the composer takes a key, and the terminal.
fn timed(launch: impl FnOnce() -> anyhow::Result<Terminal>) -> anyhow::Result<(f64, Terminal)> {
    let started = Instant::now();
    let mut terminal = launch()?;
    terminal.wait_for(COMPOSER);
    let visible = milliseconds(started.elapsed());
    terminal.type_and_see("zq");
    Ok((visible, terminal))
}
