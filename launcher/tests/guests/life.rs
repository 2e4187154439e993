//! The life of the sandbox's process: what it can do, and what its end, its silence and a full queue come to.

use std::{path::Path, time::Duration};

use porthole_bridge::{
    ABI, Background, ColorDepth, Event, Request, Role, Signal, Size, Start, limits,
};
use porthole_door::Manifest;
use porthole_launcher::{
    bundle::{BundleError, VerifiedBundle, sha256_hex},
    sandbox::{self, Effort, Sandbox, SandboxEvent, UiFault},
};

use crate::{
    sandboxed::{ORIGIN, PROGRAM, compiled, key, started, verify},
    text::Text,
};

/// The first message that a UI gets.
pub(crate) fn start() -> Signal {
    signal(Event::Start(Box::new(Start {
        size: Size { cols: 80, rows: 24 },
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
    })))
}

fn signal(event: Event) -> Signal {
    Signal { now_ms: 0, event }
}

#[tokio::test]
async fn what_was_compiled_quickly_runs_too() {
    let (dir, bytes) = (
        tempfile::tempdir().expect("a folder"),
        Text::sound().build(),
    );
    let sha256 = sha256_hex(&bytes);
    let (cache, origin) = (dir.path(), ORIGIN);
    let bundle = verify(bytes).expect("sound");
    let program = Path::new(PROGRAM);
    let artifact = sandbox::compile_by(program, &bundle, Effort::Quick, cache, origin).await;
    assert!(!sandbox::is_thorough(cache, origin, &sha256));
    let mut ui = Sandbox::spawn_with(program, artifact.expect("compiles")).expect("starts");
    ui.send(&key()).await.expect("sent");
    let event = tokio::time::timeout(Duration::from_secs(30), ui.next()).await;
    assert!(matches!(event, Ok(SandboxEvent::Posted(Request::Frame(frame))) if frame == b"hello"));
}

#[tokio::test]
async fn a_sound_guest_draws_and_the_walls_stand() {
    let cache = tempfile::tempdir().expect("a folder");
    let bytes = Text::sound().build();
    let sha256 = sha256_hex(&bytes);
    let first = compiled(bytes, cache.path()).await.expect("compiles");
    drop(first);
    let again = sandbox::artifact(cache.path(), ORIGIN, &sha256).await;
    let mut ui = Sandbox::spawn_with(Path::new(PROGRAM), again.expect("cached")).expect("starts");
    ui.send(&start()).await.expect("sent");
    for _ in 0..100 {
        let SandboxEvent::Posted(request) = ui.next().await else {
            panic!("it ended");
        };
        assert_eq!(request, Request::Frame(b"hello".to_vec()));
        ui.send(&key()).await.expect("sent");
    }
    let walls = ui.walls().expect("it is loaded");
    assert!(walls.limits && walls.privileges, "{walls:?}");
    #[cfg(target_os = "linux")]
    the_process_can_do_nothing(ui.process_id().expect("it runs"), walls);
}

/// Looks at the process from outside, as the kernel shows it to root.
#[cfg(target_os = "linux")]
fn the_process_can_do_nothing(process: u32, walls: sandbox::Walls) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let says = |line: &str| status.lines().any(|found| found == line);
    assert!(
        walls.calls && says("Seccomp:\t2") && says("NoNewPrivs:\t1"),
        "{status}"
    );
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{process}/fd")) else {
        return; // Only root may look: the process is not dumpable.
    };
    let mut open: Vec<(String, String)> = descriptors
        .map(|entry| {
            let entry = entry.expect("readable");
            let target = std::fs::read_link(entry.path()).expect("readable");
            let number = entry.file_name().to_string_lossy().into_owned();
            (number, target.to_string_lossy().into_owned())
        })
        .collect();
    open.sort();
    let numbers: Vec<&str> = open.iter().map(|(number, _)| number.as_str()).collect();
    assert_eq!(numbers, ["0", "1", "2"]);
    assert!(
        open[0].1.starts_with("pipe:") && open[1].1.starts_with("pipe:"),
        "{open:?}"
    );
    assert_eq!(open[2].1, "/dev/null");
    let environment = std::fs::read(format!("/proc/{process}/environ")).expect("root may");
    assert!(environment.is_empty());
}

#[test]
fn a_bundle_must_be_what_its_manifest_says() {
    let bytes = Text::sound().build();
    let manifest = Manifest {
        name: String::new(),
        version: String::new(),
        abi: ABI,
        sha256: sha256_hex(&bytes),
        bytes: bytes.len() as u64,
    };
    let other_hash = Manifest {
        sha256: "0".repeat(64),
        ..manifest.clone()
    };
    let other_size = Manifest {
        bytes: 1,
        ..manifest.clone()
    };
    let other_abi = Manifest {
        abi: ABI + 1,
        ..manifest.clone()
    };
    let error = |manifest| VerifiedBundle::verify(manifest, bytes.clone()).err();
    assert_eq!(error(&other_hash), Some(BundleError::Hash));
    assert!(matches!(error(&other_size), Some(BundleError::Size { .. })));
    assert_eq!(error(&other_abi), Some(BundleError::Abi(ABI + 1)));
    assert_eq!(error(&manifest), None);
}

#[tokio::test]
async fn a_damaged_artifact_is_no_crash_and_is_thrown_away() {
    let cache = tempfile::tempdir().expect("a folder");
    let bytes = Text::sound().build();
    let sha256 = sha256_hex(&bytes);
    drop(compiled(bytes, cache.path()).await.expect("compiles"));
    let file = std::fs::read_dir(cache.path()).expect("readable").next();
    let file = file.expect("one").expect("readable").path();
    std::fs::write(&file, b"not code at all").expect("may");
    let origin = ORIGIN;
    let damaged = sandbox::artifact(cache.path(), origin, &sha256).await;
    let mut ui = Sandbox::spawn_with(Path::new(PROGRAM), damaged.expect("there")).expect("starts");
    let SandboxEvent::Ended(fault) = ui.next().await else {
        panic!("it runs");
    };
    assert!(matches!(fault, UiFault::SandboxFailed(_)), "{fault:?}");
    assert!(
        sandbox::artifact(cache.path(), origin, &sha256)
            .await
            .is_none()
    );
}

#[tokio::test]
async fn a_queue_that_nobody_reads_ends_the_ui_and_not_the_launcher() {
    let cache = tempfile::tempdir().expect("a folder");
    let mut ui = started(Text::sound().build(), cache.path()).await;
    let link = signal(Event::Link(vec![0; limits::LINK_IN_BYTES]));
    let mut full = None;
    for _ in 0..8 {
        full = full.or(ui.send(&link).await.err());
    }
    assert_eq!(full, Some(UiFault::Hung));
    assert!(matches!(
        ui.next().await,
        SandboxEvent::Ended(UiFault::Hung)
    ));
}

#[tokio::test]
async fn a_child_that_is_none_is_told_apart_from_a_crash() {
    let cache = tempfile::tempdir().expect("a folder");
    let artifact = compiled(Text::sound().build(), cache.path()).await;
    let mut ui =
        Sandbox::spawn_with(Path::new("/bin/false"), artifact.expect("compiles")).expect("starts");
    let fault = ui.loaded().await.expect_err("it is no sandbox");
    assert!(matches!(fault, UiFault::SandboxFailed(_)), "{fault:?}");
    assert!(ui.send(&key()).await.is_err());
}

#[tokio::test]
async fn a_child_that_dies_in_the_middle_has_crashed() {
    let cache = tempfile::tempdir().expect("a folder");
    let mut ui = started(Text::sound().build(), cache.path()).await;
    ui.loaded().await.expect("it runs");
    let process = i32::try_from(ui.process_id().expect("it runs")).expect("a process id");
    let process = rustix::process::Pid::from_raw(process).expect("a process id");
    rustix::process::kill_process(process, rustix::process::Signal::KILL).expect("may");
    assert!(matches!(
        ui.next().await,
        SandboxEvent::Ended(UiFault::Crashed)
    ));
}

#[tokio::test]
async fn a_stopped_process_is_told_of_soon_and_the_terminals_signals_do_not_reach_it() {
    let cache = tempfile::tempdir().expect("a folder");
    let mut ui = started(Text::sound().build(), cache.path()).await;
    ui.loaded().await.expect("it runs");
    let process = i32::try_from(ui.process_id().expect("it runs")).expect("a process id");
    let process = rustix::process::Pid::from_raw(process).expect("a process id");
    let group = rustix::process::getpgid(Some(process)).expect("it runs");
    assert_ne!(group, rustix::process::getpgrp(), "a group of its own");
    rustix::process::kill_process(process, rustix::process::Signal::STOP).expect("may");
    let stat = format!("/proc/{}/stat", process.as_raw_nonzero());
    while !std::fs::read_to_string(&stat)
        .expect("it is there")
        .contains(") T ")
    {
        tokio::task::yield_now().await;
    }
    let signal = porthole_bridge::Signal {
        now_ms: 0,
        event: porthole_bridge::Event::Wake,
    };
    ui.send(&signal).await.expect("queued");
    let long = porthole_bridge::limits::LONG_CALL_WALL;
    let told = tokio::time::timeout(long, ui.next()).await;
    assert!(
        matches!(told, Ok(SandboxEvent::Ended(UiFault::Hung))),
        "{told:?}"
    );
}

#[tokio::test]
async fn the_posts_of_many_queued_calls_arrive_in_order_and_none_is_lost() {
    let cache = tempfile::tempdir().expect("a folder");
    let guest = Text {
        memory: r#"(memory (export "memory") 80)"#.into(),
        ..Text::sound()
    };
    let mut ui = started(guest.build(), cache.path()).await;
    for _ in 0..1_000 {
        ui.send(&key()).await.expect("there is room");
    }
    assert!(!ui.has_room());
    for _ in 0..1_000 {
        assert!(matches!(
            ui.next().await,
            SandboxEvent::Posted(Request::Frame(_))
        ));
    }
    ui.send(&signal(Event::Link(vec![7; limits::LINK_IN_BYTES])))
        .await
        .expect("there is room");
    assert!(matches!(ui.next().await, SandboxEvent::Posted(_)));
    assert!(ui.has_room());
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_the_checks_fail_in_another_way_than_a_refusal(
        changes in proptest::collection::vec((0_usize..400, proptest::prelude::any::<u8>()), 0..8),
        length in 0_usize..400,
    ) {
        let mut bytes = Text::sound().build();
        bytes.truncate(length.max(8));
        for (at, byte) in changes {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        if let Err(error) = verify(bytes) {
            proptest::prop_assert!(matches!(error, BundleError::Refused(_)));
        }
    }
}
