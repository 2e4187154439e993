//! What all processes use while nobody does anything.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{Row, settled};
use crate::{World, process};

/// Measures over so many seconds with a conversation open.
pub fn measure(seconds: u64) -> anyhow::Result<Vec<Row>> {
    let world = World::new()?;
    let _model = world.model(Vec::new())?;
    let server = world.serve()?;
    let session = world.session()?;
    let mut terminal = settled(&world, &server, &session)?;
    terminal.send("hello\r");
    terminal.wait_for("You said: hello");
    thread::sleep(Duration::from_secs(3));
    let processes = [process::tree(terminal.pid()), process::tree(server.pid())].concat();
    let cpu = || {
        processes
            .iter()
            .map(|p| process::cpu(*p))
            .sum::<Duration>()
            .as_secs_f64()
    };
    let wakes = || processes.iter().map(|p| process::wake_ups(*p)).sum::<u64>();
    let (cpu_before, wakes_before, started) = (cpu(), wakes(), Instant::now());
    thread::sleep(Duration::from_secs(seconds));
    let elapsed = started.elapsed().as_secs_f64();
    let pss: u64 = processes.iter().map(|p| process::pss(*p)).sum();
    let mut rows = vec![
        Row::alone("idle, CPU", (cpu() - cpu_before) / elapsed * 100.0, "%"),
        Row::alone(
            "idle, wake-ups",
            (wakes() - wakes_before) as f64 / elapsed,
            "1/s",
        ),
        Row::alone("idle, PSS of all processes", mebibytes(pss), "MiB"),
        Row::alone(
            "idle, RSS of the launcher without its sandbox",
            mebibytes(process::resident(terminal.pid())),
            "MiB",
        ),
    ];
    rows.extend(processes.iter().map(|p| {
        let program = process::command_line(*p)
            .into_iter()
            .take(2)
            .collect::<Vec<_>>()
            .join(" ");
        let name = program.rsplit('/').next().unwrap_or_default();
        Row::alone(
            &format!("idle, PSS of {name}"),
            mebibytes(process::pss(*p)),
            "MiB",
        )
    }));
    Ok(rows)
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
