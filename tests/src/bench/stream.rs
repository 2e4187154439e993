//! 4,000 deltas as fast as they come, from the model to the screen.

use std::time::Instant;

use porthole_examples::model_server::Step;

use super::{Row, quantile, settled};
use crate::{World, process};

const RUNS: usize = 5;
const DELTAS: usize = 4_000;

/// Measures seconds, CPU-seconds of launcher, sandbox, server and worker, and bytes to the terminal.
pub fn measure() -> anyhow::Result<Vec<Row>> {
    let (mut seconds, mut cpu, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let run = run_once()?;
        seconds.push(run.0);
        cpu.push(run.1);
        bytes.push(run.2);
    }
    Ok(vec![
        Row::alone("stream, wall", quantile(&mut seconds, 0.5), "s"),
        Row::alone("stream, CPU of all processes", quantile(&mut cpu, 0.5), "s"),
        Row::alone(
            "stream, bytes to the terminal",
            quantile(&mut bytes, 0.5) / 1024.0,
            "KiB",
        ),
    ])
}

fn run_once() -> anyhow::Result<(f64, f64, f64)> {
    let world = World::new()?;
    let model = world.model(vec![Step::Text {
        pieces: pieces(),
        pause_ms: 0,
    }])?;
    let server = world.serve()?;
    let session = world.session()?;
    let mut terminal = settled(&world, &server, &session)?;
    terminal.type_and_see("go");
    let roots = [terminal.pid(), server.pid()];
    let used = || -> f64 {
        let all = roots.into_iter().flat_map(process::tree);
        all.map(process::cpu)
            .sum::<std::time::Duration>()
            .as_secs_f64()
    };
    let (cpu_before, bytes_before) = (used(), terminal.look(|state| state.bytes.len()));
    let started = Instant::now();
    terminal.send("\r");
    terminal.wait_for("the very end");
    let seconds = started.elapsed().as_secs_f64();
    let cpu = used() - cpu_before;
    let bytes = terminal.look(|state| state.bytes.len()) - bytes_before;
    drop(model);
    Ok((seconds, cpu, bytes as f64))
}

/// Prose in pieces of a word or so, a paragraph now and then.
fn pieces() -> Vec<String> {
    let word = |at: usize| {
        if at % 60 == 59 {
            "end.\n\n".to_owned()
        } else {
            format!("word{} ", at % 97)
        }
    };
    (0..DELTAS - 1)
        .map(word)
        .chain(["the very end".to_owned()])
        .collect()
}
