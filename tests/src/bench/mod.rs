//! What `cargo xtask bench` measures, each in a file of its own, and the rows that they return.

pub mod engine;
pub mod filter;
pub mod hop;
pub mod idle;
pub mod key;
pub mod large;
pub mod load;
pub mod start;
pub mod stream;
pub mod transfers;
pub mod ui;

use std::time::{Duration, Instant};

use anyhow::Context as _;
use portable_pty::CommandBuilder;
use serde::Serialize;

use porthole_launcher::{bundle::sha256_hex, sandbox::is_thorough};

use crate::{
    Server, Terminal, World,
    terminal::{PATIENCE, State},
};

/// The size of the terminal in every measure.
pub const SIZE: (u16, u16) = (120, 40);
/// What the composer's hint line always says.
pub const COMPOSER: &str = "Enter send";

/// One figure beside its reference.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// The median.
    pub value: f64,
    /// Of value and reference.
    pub unit: &'static str,
    /// The reference, measured in the same run.
    pub reference: Option<f64>,
    /// Value by reference.
    pub ratio: Option<f64>,
}

impl Row {
    /// Returns a row without a reference.
    pub fn alone(name: &str, value: f64, unit: &'static str) -> Self {
        Self {
            name: name.to_owned(),
            value,
            unit,
            reference: None,
            ratio: None,
        }
    }

    /// Returns a row with a reference.
    pub fn beside(name: &str, value: f64, unit: &'static str, reference: f64) -> Self {
        let ratio = (reference > 0.0).then(|| value / reference);
        Self {
            name: name.to_owned(),
            value,
            unit,
            reference: Some(reference),
            ratio,
        }
    }
}

/// Returns the value at `part` (0 to 1) of the sorted samples; 0 where there are none.
pub fn quantile(samples: &mut [f64], part: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let last = samples.len().saturating_sub(1);
    let at = (part * last as f64).round() as usize;
    samples.get(at).copied().unwrap_or(0.0)
}

/// Returns a duration in milliseconds.
pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Starts the reference program.
pub fn bare(world: &World) -> anyhow::Result<Terminal> {
    let mut command = CommandBuilder::new(world.program("bare"));
    command.env("TERM", "xterm-256color");
    Terminal::start(command, SIZE.0, SIZE.1)
}

/// Opens a session in a launcher that has had all its time to compile the UI: what everyone has from the second start on.
pub fn settled(world: &World, server: &Server, session: &str) -> anyhow::Result<Terminal> {
    let link = world.owner_link()?;
    let first = world.launch(&["--session", session], Some(&link), SIZE.0, SIZE.1)?;
    first.wait_for(COMPOSER);
    await_compiled(world, server)?;
    drop(first);
    let terminal = world.launch(&["--session", session], None, SIZE.0, SIZE.1)?;
    terminal.wait_for(COMPOSER);
    Ok(terminal)
}

/// Waits until the best code of the server's UI is in the cache.
pub fn await_compiled(world: &World, server: &Server) -> anyhow::Result<()> {
    let bundle = std::fs::read(world.bundle().join("porthole-ui.wasm"))?;
    let (origin, sha256) = (format!("http://{}", server.address), sha256_hex(&bundle));
    let begun = Instant::now();
    while !is_thorough(&world.cache(), &origin, &sha256) {
        anyhow::ensure!(
            begun.elapsed() < PATIENCE,
            "the UI was not compiled thoroughly"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Returns how long each of `count` keys took from the press to a changed screen. A letter comes and goes in turn, so
/// that the screen stays the same size; `shows` tells whether it is there.
pub fn key_times(
    terminal: &mut Terminal,
    count: usize,
    shows: impl Fn(&State) -> bool,
) -> Vec<f64> {
    let mut times = Vec::with_capacity(count);
    for at in 0..count {
        let (key, there) = if at % 2 == 0 {
            ("7", true)
        } else {
            ("\x7f", false)
        };
        let pressed = Instant::now();
        terminal.send(key);
        terminal.wait_until("the key on the screen", |state| shows(state) == there);
        times.push(milliseconds(pressed.elapsed()));
    }
    times
}

/// Returns the row in which the draft stands, so that looking at the screen costs both programs the same.
pub fn draft_row(ours: &mut Terminal) -> anyhow::Result<u16> {
    ours.send("7");
    ours.wait_for("▌ 7");
    let row = ours.look(|state| (0..SIZE.1).find(|row| state.row(*row).contains("▌ 7")));
    ours.send("\x7f");
    ours.wait_gone("▌ 7");
    row.context("the draft is in no row of its own")
}
