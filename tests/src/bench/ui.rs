//! The UI with a large conversation open, and with much Markdown coming in.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use porthole_examples::model_server::Step;

use super::{Row, SIZE, bare, draft_row, key_times, large, quantile, settled};
use crate::{Terminal, World, process};

/// How much of everything there is.
pub struct Size {
    /// Entries of the conversation.
    pub entries: u64,
    /// Keys of each round.
    pub keys: usize,
    /// Pages that are gone through.
    pub pages: usize,
    /// Bytes of Markdown.
    pub markdown: usize,
}

/// As it has to hold.
pub const FULL: Size = Size {
    entries: 100_000,
    keys: 100,
    pages: 300,
    markdown: 200_000,
};
/// To try the measure.
pub const SMALL: Size = Size {
    entries: 1_000,
    keys: 10,
    pages: 20,
    markdown: 10_000,
};

const ROUNDS: usize = 5;
const RUNS: usize = 5;
const LARGE: (u16, u16) = (200, 60);

/// Measures all of it.
///
/// # Errors
/// Where a program does not do what is asked.
pub fn measure(size: &Size) -> anyhow::Result<Vec<Row>> {
    let mut rows = conversation(size)?;
    rows.extend(stream(size)?);
    Ok(rows)
}

fn conversation(size: &Size) -> anyhow::Result<Vec<Row>> {
    let world = World::new()?;
    let _model = world.model(Vec::new())?;
    let server = world.serve()?;
    let session = large::session(&world, size.entries, 1)?;
    let mut ours = settled(&world, &server, &session)?;
    let mut rows = keys(&world, &mut ours, size)?;
    rows.push(pages(&mut ours, size)?);
    let sandbox = sandbox(&ours)?;
    rows.push(Row::alone(
        &format!(
            "ui, PSS of its process after {} entries and {} pages",
            size.entries, size.pages
        ),
        process::pss(sandbox) as f64 / f64::from(1 << 20),
        "MiB",
    ));
    Ok(rows)
}

fn keys(world: &World, ours: &mut Terminal, size: &Size) -> anyhow::Result<Vec<Row>> {
    let draft = draft_row(ours)?;
    let mut reference = bare(world)?;
    reference.wait_for("ready");
    let (mut our_times, mut reference_times) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        our_times.extend(key_times(ours, size.keys, |s| s.row(draft).contains('7')));
        reference_times.extend(key_times(&mut reference, size.keys, |s| {
            s.row(SIZE.1 - 1).contains('7')
        }));
    }
    let reference = quantile(&mut reference_times, 0.5);
    Ok([("median", 0.5), ("p99", 0.99)]
        .map(|(what, part)| {
            let name = format!("ui, key with {} entries, {what}", size.entries);
            Row::beside(&name, quantile(&mut our_times, part), "ms", reference)
        })
        .to_vec())
}

/// Page after page towards the beginning, each a wholly new screen: CPU-milliseconds of the UI's process for each.
fn pages(ours: &mut Terminal, size: &Size) -> anyhow::Result<Row> {
    ours.resize(LARGE.0, LARGE.1);
    ours.wait_until("the new size", |state| {
        !state.row(LARGE.1 - 1).trim().is_empty()
    });
    let sandbox = sandbox(ours)?;
    let before = process::cpu(sandbox);
    for _ in 0..size.pages {
        let page = ours.look(screen);
        ours.send("\x1b[5~");
        ours.wait_until("another page", |state| screen(state) != page);
    }
    let used = process::cpu(sandbox).saturating_sub(before);
    Ok(Row::alone(
        "ui, CPU of its process for a page of 200x60",
        used.as_secs_f64() * 1e3 / size.pages as f64,
        "ms",
    ))
}

fn screen(state: &crate::terminal::State) -> Vec<String> {
    (0..LARGE.1 / 2).map(|row| state.row(row)).collect()
}

/// Returns the process that runs the UI: below the launcher, the one with most memory.
fn sandbox(ours: &Terminal) -> anyhow::Result<u32> {
    let below = process::tree(ours.pid()).into_iter().skip(1);
    below
        .max_by_key(|pid| process::resident(*pid))
        .context("the UI has a process")
}

fn stream(size: &Size) -> anyhow::Result<Vec<Row>> {
    let (mut seconds, mut cpu, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let run = stream_once(size)?;
        seconds.push(run.0);
        cpu.push(run.1);
        bytes.push(run.2);
    }
    let row = |what: &str, samples: &mut Vec<f64>, unit| {
        let name = format!("ui, {} KB of Markdown, {what}", size.markdown / 1_000);
        Row::alone(&name, quantile(samples, 0.5), unit)
    };
    Ok(vec![
        row("wall", &mut seconds, "s"),
        row("CPU of all processes", &mut cpu, "s"),
        row("bytes to the terminal", &mut bytes, "KB"),
    ])
}

fn stream_once(size: &Size) -> anyhow::Result<(f64, f64, f64)> {
    let world = World::new()?;
    let _model = world.model(vec![Step::Text {
        pieces: pieces(size.markdown),
        pause_ms: 0,
    }])?;
    let server = world.serve()?;
    let session = world.session()?;
    let mut terminal = settled(&world, &server, &session)?;
    terminal.type_and_see("go");
    let roots = [terminal.pid(), server.pid()];
    let used = || -> f64 {
        let all = roots.into_iter().flat_map(process::tree);
        all.map(process::cpu).sum::<Duration>().as_secs_f64()
    };
    let (cpu_before, bytes_before) = (used(), terminal.look(|state| state.bytes.len()));
    let started = Instant::now();
    terminal.send("\r");
    terminal.wait_for("the very end");
    let seconds = started.elapsed().as_secs_f64();
    let cpu = used() - cpu_before;
    let bytes = terminal.look(|state| state.bytes.len()) - bytes_before;
    Ok((seconds, cpu, bytes as f64 / 1e3))
}

/// Markdown of every kind, in pieces as models send them.
fn pieces(bytes: usize) -> Vec<String> {
    let mut text = String::with_capacity(bytes + 1_000);
    let mut part = 0;
    while text.len() < bytes {
        let word = large::word(part);
        text.push_str(&format!(
            "## Part {part}\n\nA paragraph with **{word}**, `code {part}`, a [link](https://example.com/{part}) and *more* \
             words, long enough to be wrapped on every screen that people have before them.\n\n\
             1. first {word}\n   - nested\n2. second\n\n\
             | name | value |\n| --- | ---: |\n| {word} | {part} |\n| other | 2 |\n\n\
             ```rust\nfn {word}(n: u64) -> Option<u64> {{\n    // adds {part}\n    n.checked_add({part})\n}}\n```\n\n"
        ));
        part += 1;
    }
    text.push_str("the very end");
    let letters: Vec<char> = text.chars().collect();
    letters
        .chunks(20)
        .map(|piece| piece.iter().collect())
        .collect()
}
