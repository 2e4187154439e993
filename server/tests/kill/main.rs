//! Killing workers and servers with `kill -9` at any moment: nothing acknowledged is lost or doubled, no tool call runs
//! twice, a failure is told once, and the conversation goes on. The moments come from a seed that a failure names.
//! It simulates no power loss: what the kernel took is there; the store's own tests do that.
//!
//! `PORTHOLE_KILLS` says how often (300 without), `PORTHOLE_SEED` where to begin.

mod account;
mod chance;
mod model;
mod peer;
mod person;
mod server;
mod worker;

use chance::Chance;

/// Kills of one session, before it is let run to its end and looked at whole.
const OF_ONE_SESSION: u64 = 30;

fn number(name: &str, otherwise: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(otherwise, |text| text.parse().expect("a number"))
}

fn seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    number("PORTHOLE_SEED", now.expect("after 1970").as_secs())
}

#[test]
fn a_worker_killed_at_any_moment_loses_and_doubles_nothing() {
    let (seed, mut left) = (seed(), number("PORTHOLE_KILLS", 300));
    let model = model::Model::start();
    let mut n = seed;
    while left > 0 {
        println!("PORTHOLE_SEED={n}, {left} kills left");
        let kills = left.min(OF_ONE_SESSION);
        worker::Story::new(&model, Chance::new(n)).run(kills);
        left -= kills;
        n += 1;
    }
}

#[test]
fn a_server_killed_at_any_moment_loses_and_doubles_nothing() {
    let (seed, kills) = (seed(), number("PORTHOLE_KILLS", 300).div_ceil(20));
    println!("PORTHOLE_SEED={seed}");
    let model = model::Model::start();
    server::Story::new(&model, Chance::new(seed)).run(kills);
}
