//! One message into the sandbox process and the frame it answers with, without a terminal: once through a UI that does
//! nothing but post a frame, once through ours on its home list.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use porthole_bridge::{
    ABI, Background, ColorDepth, Event, Key, KeyCode, Modifiers, Request, Role, Signal, Size, Start,
};
use porthole_door::Manifest;
use porthole_launcher::{
    bundle::{VerifiedBundle, sha256_hex},
    sandbox::{self, Sandbox, SandboxEvent},
};

use super::{Row, SIZE, quantile};
use crate::World;

const CALLS: usize = 2_000;
/// Calls before the first that counts.
const WARM: usize = 200;
const ORIGIN: &str = "http://127.0.0.1:1";

/// Measures both UIs, one after the other.
pub fn measure() -> anyhow::Result<Vec<Row>> {
    let world = World::new()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ours = std::fs::read(world.bundle().join("porthole-ui.wasm"))
        .context("the bundle is not built")?;
    let cases = [
        ("hop, empty UI", wat::parse_str(EMPTY)?, key(KeyCode::Enter)),
        ("hop, home of our UI", ours, key(KeyCode::Char('7'))),
    ];
    cases
        .into_iter()
        .map(|(name, bundle, key)| {
            let mut times = runtime.block_on(times(&world, bundle, key))?;
            Ok(Row::alone(name, quantile(&mut times, 0.5), "us"))
        })
        .collect()
}

async fn times(world: &World, bundle: Vec<u8>, key: Signal) -> anyhow::Result<Vec<f64>> {
    let manifest = Manifest {
        name: "measured".into(),
        version: "1".into(),
        abi: ABI,
        sha256: sha256_hex(&bundle),
        bytes: bundle.len() as u64,
    };
    let verified = VerifiedBundle::verify(&manifest, bundle)?;
    let program = world.program("porthole");
    let artifact = sandbox::compile_with(&program, verified, &world.cache(), ORIGIN).await?;
    let mut ui = Sandbox::spawn_with(&program, artifact)?;
    hop(&mut ui, &start()).await?;
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..WARM + CALLS {
        times.push(hop(&mut ui, &key).await?.as_secs_f64() * 1e6);
    }
    Ok(times.split_off(WARM))
}

/// Returns how long it took from the message to the frame.
async fn hop(ui: &mut Sandbox, signal: &Signal) -> anyhow::Result<Duration> {
    let sent = Instant::now();
    ui.send(signal).await?;
    loop {
        match ui.next().await {
            SandboxEvent::Posted(Request::Frame(_)) => return Ok(sent.elapsed()),
            SandboxEvent::Posted(_) => {}
            SandboxEvent::Ended(fault) => anyhow::bail!("the UI ended: {fault}"),
        }
    }
}

fn key(code: KeyCode) -> Signal {
    Signal {
        now_ms: 0,
        event: Event::Key(Key {
            code,
            modifiers: Modifiers::default(),
        }),
    }
}

fn start() -> Signal {
    let start = Start {
        size: Size {
            cols: SIZE.0,
            rows: SIZE.1 - 1,
        },
        colors: ColorDepth::True,
        background: Background::Dark,
        unicode: true,
        reduced_motion: false,
        theme: String::new(),
        preferences: String::new(),
        role: Role::Owner,
        place: None,
        snapshot: None,
        seed: [0; 16],
        utc_offset_minutes: 0,
        origin: ORIGIN.into(),
    };
    Signal {
        now_ms: 0,
        event: Event::Start(Box::new(start)),
    }
}

/// Posts a frame of the one letter `x` in each call: the message's kind, its length, the letter.
const EMPTY: &str = r#"(module
  (import "porthole" "post" (func $post (param i32 i32)))
  (memory (export "memory") 2)
  (data (i32.const 0) "\00\01x")
  (func (export "ui_abi") (result i32) (i32.const 1))
  (func (export "ui_alloc") (param i32) (result i32) (i32.const 4096))
  (func (export "ui_handle") (param i32 i32) (call $post (i32.const 0) (i32.const 3))))"#;
