//! Hostile bundles through the real checks, the real compile child and the real sandbox child: each ends in its own
//! sentence, and none of them ends the launcher.

mod guest;

use std::{path::Path, time::Duration};

use porthole_bridge::{
    ABI, Background, ColorDepth, Event, Key, KeyCode, Modifiers, Request, Role, Signal, Size,
    Start, limits,
};
use porthole_door::Manifest;
use porthole_launcher::{
    bundle::{BundleError, VerifiedBundle, sha256_hex},
    sandbox::{self, Artifact, Effort, Sandbox, SandboxEvent, UiFault},
};
use wasm_encoder::{
    BlockType, CustomSection, EntityType, ExportKind, Instruction as I, MemoryType, ValType,
};

use guest::{Guest, POST, function, pages};

const PROGRAM: &str = env!("CARGO_BIN_EXE_porthole");

fn forever() -> Vec<I<'static>> {
    vec![I::Loop(BlockType::Empty), I::Br(0), I::End]
}

fn verify(bytes: Vec<u8>) -> Result<VerifiedBundle, BundleError> {
    let manifest = Manifest {
        name: "guest".into(),
        version: "1".into(),
        abi: ABI,
        sha256: sha256_hex(&bytes),
        bytes: bytes.len() as u64,
    };
    VerifiedBundle::verify(&manifest, bytes)
}

async fn compiled(bytes: Vec<u8>, cache: &Path) -> Result<Artifact, UiFault> {
    let bundle = verify(bytes).map_err(|error| match error {
        BundleError::Refused(fault) => fault,
        other => panic!("{other}"),
    })?;
    sandbox::compile_with(Path::new(PROGRAM), bundle, cache, "http://127.0.0.1:1").await
}

fn start() -> Signal {
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
        origin: "http://127.0.0.1:1".into(),
    })))
}

fn key() -> Signal {
    signal(Event::Key(Key {
        code: KeyCode::Enter,
        modifiers: Modifiers::default(),
    }))
}

fn signal(event: Event) -> Signal {
    Signal { now_ms: 0, event }
}

/// Loads a guest, sends one key, and returns how it ended; `None`: it drew its frame.
async fn outcome(bytes: Vec<u8>) -> Option<UiFault> {
    let cache = tempfile::tempdir().expect("a folder");
    let artifact = match compiled(bytes, cache.path()).await {
        Ok(artifact) => artifact,
        Err(fault) => return Some(fault),
    };
    let mut ui = Sandbox::spawn_with(Path::new(PROGRAM), artifact).expect("starts");
    let _ = ui.send(&key()).await;
    let event = tokio::time::timeout(Duration::from_secs(30), ui.next());
    match event.await.expect("it ends or draws in time") {
        SandboxEvent::Posted(request) => {
            assert_eq!(request, Request::Frame(b"hello".to_vec()));
            None
        }
        SandboxEvent::Ended(fault) => Some(fault),
    }
}

fn broke() -> impl Fn(&UiFault) -> bool {
    |fault| matches!(fault, UiFault::BrokeRules(_))
}

#[tokio::test]
async fn what_was_compiled_quickly_runs_too() {
    let (dir, bytes) = (
        tempfile::tempdir().expect("a folder"),
        Guest::sound().build(),
    );
    let sha256 = sha256_hex(&bytes);
    let (cache, origin) = (dir.path(), "http://127.0.0.1:1");
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
    let bytes = Guest::sound().build();
    let sha256 = sha256_hex(&bytes);
    let first = compiled(bytes, cache.path()).await.expect("compiles");
    drop(first);
    let again = sandbox::artifact(cache.path(), "http://127.0.0.1:1", &sha256).await;
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

#[tokio::test]
async fn an_import_that_is_not_offered_is_named_escaped_and_cut() {
    let esc = "\x1b]0;pwn\x07";
    let long = "n".repeat(99_999);
    for (from, name, ty) in [
        (
            "wasi_snapshot_preview1",
            "fd_write",
            EntityType::Function(0),
        ),
        ("porthole", "post", EntityType::Function(2)),
        ("porthole", "post", EntityType::Memory(pages(1))),
        (esc, "a\nb", EntityType::Function(0)),
        ("m", long.as_str(), EntityType::Function(0)),
    ] {
        let mut guest = Guest::sound();
        guest.imports = vec![(from.into(), name.into(), ty)];
        let fault = outcome(guest.build()).await.expect("refused");
        assert!(matches!(fault, UiFault::UnofferedImport(_)), "{fault:?}");
        let shown = fault.to_string();
        assert!(!shown.chars().any(char::is_control), "{shown:?}");
        assert!(shown.chars().count() < 120, "{shown:?}");
    }
}

#[tokio::test]
async fn a_start_function_has_a_deadline_and_may_not_post() {
    let with_start = |body| {
        Guest {
            start: Some(body),
            ..Guest::sound()
        }
        .build()
    };
    assert_eq!(outcome(with_start(forever())).await, Some(UiFault::Hung));
    let trap = outcome(with_start(vec![I::Unreachable])).await;
    assert_eq!(trap, Some(UiFault::Crashed));
    let post = vec![I::I32Const(0), I::I32Const(1), I::Call(POST)];
    let fault = outcome(with_start(post)).await.expect("ended");
    assert!(broke()(&fault), "{fault:?}");
}

#[tokio::test]
async fn a_handler_that_never_returns_is_stopped() {
    assert_eq!(
        outcome(Guest::handling(forever()).build()).await,
        Some(UiFault::Hung)
    );
}

#[tokio::test]
async fn a_handler_that_traps_has_crashed_and_none_of_its_posts_count() {
    let bodies = [
        vec![I::Unreachable],
        vec![I::I32Const(1), I::I32Const(0), I::I32DivU, I::Drop],
        vec![
            I::I32Const(-1),
            I::I32Load(wasm_encoder::MemArg {
                offset: 0,
                align: 0,
                memory_index: 0,
            }),
            I::Drop,
        ],
        // Endless recursion.
        vec![I::I32Const(0), I::I32Const(0), I::Call(3)],
        // A post first: it must not arrive.
        vec![
            I::I32Const(0),
            I::I32Const(7),
            I::Call(POST),
            I::Unreachable,
        ],
    ];
    for body in bodies {
        assert_eq!(
            outcome(Guest::handling(body).build()).await,
            Some(UiFault::Crashed)
        );
    }
}

#[tokio::test]
async fn memory_has_a_limit_that_growing_meets_softly() {
    let mut guest = Guest::sound();
    guest.memory = pages(65_536);
    assert_eq!(outcome(guest.build()).await, Some(UiFault::OutOfMemory));
    let mut body = vec![I::I32Const(60_000), I::MemoryGrow(0), I::Drop];
    body.extend(Guest::sound().handle);
    assert_eq!(outcome(Guest::handling(body.clone()).build()).await, None);
    body.truncate(3);
    body.push(I::Unreachable);
    assert_eq!(
        outcome(Guest::handling(body).build()).await,
        Some(UiFault::OutOfMemory)
    );
}

#[tokio::test]
async fn the_rules_of_posting_are_kept_in_the_import() {
    let page = 131_072;
    let flood = vec![
        I::Loop(BlockType::Empty),
        I::I32Const(0),
        I::I32Const(1),
        I::Call(POST),
        I::Br(0),
        I::End,
    ];
    let heavy = vec![
        I::Loop(BlockType::Empty),
        I::I32Const(0),
        I::I32Const(131_072),
        I::Call(POST),
        I::Br(0),
        I::End,
    ];
    let large = porthole_door_free_frame(limits::FRAME_BYTES + 1);
    let length = i32::try_from(large.len()).expect("small");
    let guests = [
        Guest::handling(flood),
        Guest::handling(heavy),
        Guest::posting(vec![0], 0, -1),
        Guest::posting(vec![0], -8, 16),
        Guest::posting(vec![0], page, 1),
        Guest::posting(vec![0], page - 1, 2),
        Guest::posting(vec![0xFF; 4], 0, 4),
        Guest::posting(large, 0, length),
    ];
    for (number, guest) in guests.into_iter().enumerate() {
        let fault = outcome(guest.build()).await;
        assert!(fault.as_ref().is_some_and(broke()), "{number}: {fault:?}");
    }
}

/// A frame of so many bytes, encoded by hand since the codec refuses it.
fn porthole_door_free_frame(bytes: usize) -> Vec<u8> {
    let mut message = vec![0];
    let mut length = bytes;
    while length >= 0x80 {
        message.push(u8::try_from(length & 0x7F).expect("seven bits") | 0x80);
        length >>= 7;
    }
    message.push(u8::try_from(length).expect("seven bits"));
    message.resize(message.len() + bytes, b'x');
    message
}

#[tokio::test]
async fn an_export_that_is_missing_or_mistyped_is_refused() {
    for spoil in 0..4 {
        let mut guest = Guest::sound();
        guest.exports.remove(spoil);
        assert_eq!(outcome(guest.build()).await, Some(UiFault::WrongExports));
        for kind in [(ExportKind::Global, 0), (ExportKind::Func, 4)] {
            let mut guest = Guest::sound();
            (guest.exports[spoil].1, guest.exports[spoil].2) = kind;
            assert_eq!(outcome(guest.build()).await, Some(UiFault::WrongExports));
        }
    }
}

#[tokio::test]
async fn what_is_no_plain_module_is_refused() {
    let sound = Guest::sound().build();
    let cut = sound[..sound.len() / 2].to_vec();
    let component = b"\0asm\x0d\0\x01\0".to_vec();
    let shared = MemoryType {
        maximum: Some(4),
        shared: true,
        ..pages(1)
    };
    let wide = MemoryType {
        memory64: true,
        ..pages(1)
    };
    let odd = MemoryType {
        page_size_log2: Some(0),
        ..pages(1)
    };
    let mut all = vec![
        Vec::new(),
        b"MZ\x90\0 and so on".to_vec(),
        b"\x7fELF\x02\x01\x01".to_vec(),
        b"(module (func (export \"handle\")))".to_vec(),
        cut,
        component,
    ];
    for memory in [shared, wide, odd] {
        all.push(
            Guest {
                memory,
                ..Guest::sound()
            }
            .build(),
        );
    }
    for bytes in all {
        assert_eq!(outcome(bytes).await, Some(UiFault::NotAModule));
    }
    let simd = Guest::handling(vec![I::V128Const(0), I::Drop]).build();
    assert_eq!(outcome(simd).await, Some(UiFault::NotAModule));
    let tail = Guest::handling(vec![I::I32Const(0), I::I32Const(0), I::ReturnCall(3)]).build();
    assert_eq!(outcome(tail).await, Some(UiFault::NotAModule));
}

#[tokio::test]
async fn what_would_take_too_long_to_compile_is_refused_before() {
    let many = Guest {
        extra: (0..20_001).map(|_| function(vec![], vec![])).collect(),
        ..Guest::sound()
    };
    let locals = Guest {
        locals: vec![(50_000, ValType::I64)],
        ..Guest::sound()
    };
    let mut nested: Vec<I<'static>> = vec![I::Loop(BlockType::Empty); 2_000];
    nested.extend(vec![I::End; 2_000]);
    let deep = Guest::handling(nested);
    let mut nested: Vec<I<'static>> = vec![I::Loop(BlockType::Empty); 900];
    nested.extend(vec![I::End; 900]);
    let deep_with_locals = Guest {
        extra: vec![function(vec![(1_000, ValType::I64)], nested); 23],
        ..Guest::sound()
    };
    for guest in [many, locals, deep, deep_with_locals] {
        assert_eq!(outcome(guest.build()).await, Some(UiFault::TooLarge));
    }
    let mut large = Guest::sound().build();
    let filler = vec![0; limits::MODULE_BYTES];
    let custom = CustomSection {
        name: "x".into(),
        data: filler.as_slice().into(),
    };
    wasm_encoder::Section::append_to(&custom, &mut large);
    assert!(matches!(verify(large), Err(BundleError::Size { .. })));
}

#[test]
fn a_bundle_must_be_what_its_manifest_says() {
    let bytes = Guest::sound().build();
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
    let bytes = Guest::sound().build();
    let sha256 = sha256_hex(&bytes);
    drop(compiled(bytes, cache.path()).await.expect("compiles"));
    let file = std::fs::read_dir(cache.path()).expect("readable").next();
    let file = file.expect("one").expect("readable").path();
    std::fs::write(&file, b"not code at all").expect("may");
    let origin = "http://127.0.0.1:1";
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
    let artifact = compiled(Guest::sound().build(), cache.path()).await;
    let mut ui =
        Sandbox::spawn_with(Path::new(PROGRAM), artifact.expect("compiles")).expect("starts");
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
    let artifact = compiled(Guest::sound().build(), cache.path()).await;
    let mut ui =
        Sandbox::spawn_with(Path::new("/bin/false"), artifact.expect("compiles")).expect("starts");
    let fault = ui.loaded().await.expect_err("it is no sandbox");
    assert!(matches!(fault, UiFault::SandboxFailed(_)), "{fault:?}");
    assert!(ui.send(&key()).await.is_err());
}

#[tokio::test]
async fn a_child_that_dies_in_the_middle_has_crashed() {
    let cache = tempfile::tempdir().expect("a folder");
    let artifact = compiled(Guest::sound().build(), cache.path()).await;
    let mut ui =
        Sandbox::spawn_with(Path::new(PROGRAM), artifact.expect("compiles")).expect("starts");
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
    let artifact = compiled(Guest::sound().build(), cache.path()).await;
    let mut ui =
        Sandbox::spawn_with(Path::new(PROGRAM), artifact.expect("compiles")).expect("starts");
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
    let mut guest = Guest::sound();
    guest.memory = pages(80);
    let artifact = compiled(guest.build(), cache.path()).await;
    let mut ui =
        Sandbox::spawn_with(Path::new(PROGRAM), artifact.expect("compiles")).expect("starts");
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
        let mut bytes = Guest::sound().build();
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
