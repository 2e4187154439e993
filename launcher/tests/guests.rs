//! The known ways for a bundle to be hostile, one row each, through the real checks, the real compile child and the real
//! sandbox child. What a row ends in is what a person is told. What a UI may do with a launcher's actions is tested with
//! the core.

#[path = "guest/sandboxed.rs"]
mod sandboxed;
#[path = "guest/text.rs"]
mod text;

use std::{fmt::Write as _, time::Duration};

use porthole_bridge::{Request, encode_request, limits};
use porthole_launcher::{
    bundle::BundleError,
    sandbox::{self, SandboxEvent, UiFault},
};

use sandboxed::{ORIGIN, compiled, key, outcome, started, verify};
use text::Text;

/// How a bundle ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It draws.
    Draws,
    NoModule,
    Unoffered,
    Exports,
    Large,
    Memory,
    Hung,
    Crashed,
    Rules,
}

fn end_of(outcome: &Result<Request, UiFault>) -> End {
    match outcome {
        Ok(Request::Frame(_)) => End::Draws,
        Ok(other) => panic!("{other:?}"),
        Err(UiFault::NotAModule) => End::NoModule,
        Err(UiFault::UnofferedImport(_)) => End::Unoffered,
        Err(UiFault::WrongExports) => End::Exports,
        Err(UiFault::TooLarge) => End::Large,
        Err(UiFault::OutOfMemory) => End::Memory,
        Err(UiFault::Hung) => End::Hung,
        Err(UiFault::Crashed) => End::Crashed,
        Err(UiFault::BrokeRules(_)) => End::Rules,
        Err(other @ UiFault::SandboxFailed(_)) => panic!("{other}"),
    }
}

type Row = (&'static str, Vec<u8>, End);

/// Runs each row and checks its end, and that no word of it is dangerous or long.
async fn run(rows: Vec<Row>) {
    let mut wrong = Vec::new();
    for (what, bytes, wanted) in rows {
        let outcome = outcome(bytes).await;
        if let Err(fault) = &outcome {
            let shown = fault.to_string();
            assert!(!shown.chars().any(char::is_control), "{what}: {shown:?}");
            assert!(shown.chars().count() < 130, "{what}: {shown:?}");
        }
        if end_of(&outcome) != wanted {
            wrong.push((what, wanted, outcome));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn sound(body: &str) -> Vec<u8> {
    Text::first(body).build()
}

const FOREVER: &str = "(loop $l (br $l))";

#[tokio::test]
async fn imports() {
    let long = format!(r#"(import "m" "{}" (func))"#, "n".repeat(99_999));
    let import = |text: &str| Text::importing(text).build();
    let other = r#"(import "porthole" "post" (func (param i64)))"#;
    run(vec![
        ("a sound bundle", Text::sound().build(), End::Draws),
        ("a WASI function", import(r#"(import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))"#), End::Unoffered),
        ("the one import with another type", import(other), End::Unoffered),
        ("a memory", import(r#"(import "porthole" "memory" (memory 1))"#), End::Unoffered),
        ("a table", import(r#"(import "porthole" "t" (table 1 funcref))"#), End::Unoffered),
        ("a global", import(r#"(import "porthole" "g" (global i32))"#), End::Unoffered),
        ("a tag", import(r#"(import "porthole" "e" (tag))"#), End::Unoffered),
        ("a name that writes to a terminal", import(r#"(import "\1b]0;pwn\07" "\1b[2J" (func))"#), End::Unoffered),
        ("a name of several lines", import(r#"(import "a" "b\0ac\0dd" (func))"#), End::Unoffered),
        ("a name that is read backwards", import(r#"(import "a" "\e2\80\aecba" (func))"#), End::Unoffered),
        ("a name of a hundred thousand bytes", import(&long), End::Unoffered),
    ])
    .await;
}

#[tokio::test]
async fn start_functions() {
    let start = |body: &str| {
        Text::sound()
            .with(&format!("(func $s {body}) (start $s)"))
            .build()
    };
    run(vec![
        ("one that loops", start(FOREVER), End::Hung),
        ("one that traps", start("unreachable"), End::Crashed),
        (
            "one that posts",
            start("(call $post (i32.const 0) (i32.const 1))"),
            End::Rules,
        ),
    ])
    .await;
}

#[tokio::test]
async fn time() {
    let calls = Text::first("(loop $l (call $f) (br $l))").with("(func $f)");
    let indirect = Text::first("(call_indirect (type $v) (i32.const 0))")
        .with("(type $v (func)) (table 1 funcref) (elem (i32.const 0) $r) (func $r (call_indirect (type $v) (i32.const 0)))");
    let fill = "(drop (memory.grow (i32.const 1000))) (loop $l (memory.fill (i32.const 0) (i32.const 1) (i32.const 65000000)) (br $l))";
    // Most of the time that a call has, and then it is done.
    let busy = "(local $i i32) (loop $l (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if $l (i32.lt_u (local.get $i) (i32.const 40000000))))";
    run(vec![
        ("a loop", sound(FOREVER), End::Hung),
        ("a loop of calls", calls.build(), End::Hung),
        ("recursion by the table", indirect.build(), End::Crashed),
        ("a loop that fills its memory", sound(fill), End::Hung),
        ("a handler that is only slow", sound(busy), End::Draws),
    ])
    .await;
}

#[tokio::test]
async fn memory_stack_and_tables() {
    let memory = |pages: u64| {
        Text {
            memory: format!(r#"(memory (export "memory") {pages})"#),
            ..Text::sound()
        }
        .build()
    };
    let table = |count: u64| {
        Text::sound()
            .with(&format!("(table {count} funcref)"))
            .build()
    };
    let by_one = "(loop $l (br_if $l (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))";
    let touch = "(local $a i32) (loop $l (local.set $a (i32.shl (memory.grow (i32.const 16)) (i32.const 16))) \
        (if (i32.ge_s (local.get $a) (i32.const 0)) (then (memory.fill (local.get $a) (i32.const 1) (i32.const 1048576)) (br $l))))";
    let grow_table = Text::first("(loop $l (br_if $l (i32.ne (table.grow (ref.null func) (i32.const 1000)) (i32.const -1))))")
        .with("(table 1 funcref)");
    let deep = Text::first("(call $r)").with("(func $r (call $r))");
    let wide = Text::first("(call $r)").with(&format!(
        "(func $r (local {}) (call $r))",
        "i64 ".repeat(1_900)
    ));
    let wider = Text::first("(call $r)").with(&format!(
        "(func $r (local {}) (call $r))",
        "i64 ".repeat(20_000)
    ));
    run(vec![
        ("four gigabytes from the start", memory(65_536), End::Memory),
        (
            "growing to the most",
            sound("(drop (memory.grow (i32.const 65000)))"),
            End::Draws,
        ),
        ("growing page by page", sound(by_one), End::Draws),
        ("growing and touching everything", sound(touch), End::Draws),
        ("endless recursion", deep.build(), End::Crashed),
        ("recursion with many locals", wide.build(), End::Crashed),
        (
            "recursion with more locals than are compiled",
            wider.build(),
            End::Large,
        ),
        ("a table of ten million", table(10_000_000), End::Memory),
        ("a table of four billion", table(4_294_967_295), End::Memory),
        (
            "a hundred tables",
            Text::sound().with(&"(table 1 funcref)".repeat(100)).build(),
            End::Memory,
        ),
        ("a table that grows", grow_table.build(), End::Draws),
        (
            "an element outside its table",
            Text::sound()
                .with("(table 1 funcref) (elem (i32.const 5) $handle)")
                .build(),
            End::Crashed,
        ),
        (
            "data outside the memory",
            Text::sound()
                .with(r#"(data (i32.const 99999999) "x")"#)
                .build(),
            End::Crashed,
        ),
    ])
    .await;
}

#[tokio::test]
async fn traps() {
    let null = Text::first("(call_indirect (type $v) (i32.const 0))")
        .with("(type $v (func)) (table 1 funcref)");
    let wrong = Text::first("(call_indirect (type $v) (i32.const 0))")
        .with("(type $v (func)) (table 1 funcref) (elem (i32.const 0) $handle)");
    let after_posts = Text {
        handle: format!("{} unreachable", Text::sound().handle),
        ..Text::sound()
    };
    // `ui_handle` is called `␛]0;pwn␇` and a bidi override in the name section.
    let mut named = Text {
        handle: "unreachable".into(),
        ..Text::sound()
    }
    .build();
    let name = b"\x1b]0;pwn\x07\xe2\x80\xae";
    let mut functions = vec![1, 3, name.len() as u8];
    functions.extend_from_slice(name);
    let mut section = b"\x04name\x01".to_vec();
    section.push(functions.len() as u8);
    section.extend(functions);
    named.extend([0, section.len() as u8]);
    named.extend(section);
    run(vec![
        ("unreachable", sound("unreachable"), End::Crashed),
        (
            "a division by zero",
            sound("(drop (i32.div_u (i32.const 1) (i32.const 0)))"),
            End::Crashed,
        ),
        (
            "a load outside the memory",
            sound("(drop (i32.load (i32.const -1)))"),
            End::Crashed,
        ),
        ("a call of nothing", null.build(), End::Crashed),
        ("a call with the wrong type", wrong.build(), End::Crashed),
        ("a trap after a post", after_posts.build(), End::Crashed),
        (
            "a trap in a function with a dangerous name",
            named,
            End::Crashed,
        ),
    ])
    .await;
}

#[tokio::test]
async fn what_would_not_compile_in_time() {
    let repeat = |text: &str, times: usize| Text::sound().with(&text.repeat(times)).build();
    let numbered = |times: usize, write: fn(usize) -> String| {
        let text = (0..times).fold(String::new(), |mut all, number| {
            let _ = write!(all, "{}", write(number));
            all
        });
        Text::sound().with(&text).build()
    };
    // Distinct types: each a list of sixteen numbers of two kinds.
    let kind = |number: usize| {
        let params: String = (0..20)
            .map(|bit| {
                if number >> bit & 1 == 0 {
                    "i32 "
                } else {
                    "i64 "
                }
            })
            .collect();
        format!("(type (func (param {params})))")
    };
    let loops = format!(
        "(local {}) {}{}",
        "i64 ".repeat(1_000),
        "(loop ".repeat(2_000),
        ")".repeat(2_000)
    );
    let locals = format!("(func (local {}))", "i64 ".repeat(50_000));
    let targets = format!(
        "(block $b (br_table {} (i32.const 0)))",
        "$b ".repeat(1_000_000)
    );
    let branches = format!(
        "(block $b (br_table {} (i32.const 0)))",
        "$b ".repeat(2_001)
    )
    .repeat(40);
    let body = "(drop (i32.const 1))".repeat(1_000_000);
    let imports = r#"(import "porthole" "post" (func (param i32 i32)))"#.repeat(10_001);
    run(vec![
        (
            "a hundred thousand data segments",
            repeat(r#"(data "x")"#, 99_999),
            End::Large,
        ),
        (
            "five hundred thousand functions",
            repeat("(func)", 500_000),
            End::Large,
        ),
        (
            "loops in loops over a thousand locals",
            sound(&loops),
            End::Large,
        ),
        (
            "fifty thousand locals",
            Text::sound().with(&locals).build(),
            End::Large,
        ),
        ("a million targets", sound(&targets), End::NoModule),
        ("many branches that are fine", sound(&branches), End::Draws),
        ("one function of three megabytes", sound(&body), End::Large),
        (
            "a hundred thousand types",
            numbered(100_000, kind),
            End::Large,
        ),
        (
            "ten thousand imports",
            Text::importing(&imports).build(),
            End::Large,
        ),
        (
            "two hundred thousand exports",
            numbered(200_000, |number| {
                format!(r#"(export "{number}" (func $handle))"#)
            }),
            End::Large,
        ),
    ])
    .await;
}

#[tokio::test]
async fn files_that_are_too_large_or_full_of_nothing() {
    let custom = |bytes: usize| {
        let mut module = Text::sound().build();
        let mut section = vec![1, b'x'];
        section.resize(bytes, 0);
        module.push(0);
        let mut length = section.len();
        while length >= 0x80 {
            module.push(length as u8 | 0x80);
            length >>= 7;
        }
        module.push(length as u8);
        module.extend(section);
        module
    };
    let mut tiny = Text::sound().build();
    tiny.extend([0, 2, 1, b'x'].repeat(200_000));
    run(vec![
        (
            "four megabytes that nobody reads",
            custom(4 << 20),
            End::Draws,
        ),
        (
            "eight megabytes that nobody reads",
            custom(8 << 20),
            End::Large,
        ),
        ("sixty-four megabytes", custom(64 << 20), End::Large),
        ("many tiny sections", tiny, End::Large),
    ])
    .await;
}

#[tokio::test]
async fn files_that_are_no_module() {
    let sound = Text::sound().build();
    let cache = tempfile::tempdir().expect("a folder");
    drop(
        compiled(sound.clone(), cache.path())
            .await
            .expect("it compiles"),
    );
    let code = std::fs::read_dir(cache.path()).expect("readable").next();
    let code = std::fs::read(code.expect("one").expect("readable").path()).expect("readable");
    run(vec![
        ("nothing", Vec::new(), End::NoModule),
        (
            "half a module",
            sound[..sound.len() / 2].to_vec(),
            End::NoModule,
        ),
        (
            "garbage",
            (0..=255).cycle().take(9_999).collect(),
            End::NoModule,
        ),
        (
            "a Windows program",
            b"MZ\x90\0 and so on".to_vec(),
            End::NoModule,
        ),
        (
            "a Linux program",
            b"\x7fELF\x02\x01\x01".to_vec(),
            End::NoModule,
        ),
        (
            "text",
            b"(module (func (export \"ui_handle\")))".to_vec(),
            End::NoModule,
        ),
        (
            "a component",
            wat::parse_str("(component)").expect("text"),
            End::NoModule,
        ),
        ("a compiled module", code, End::NoModule),
    ])
    .await;
}

#[tokio::test]
async fn proposals_that_are_off() {
    let with = |more: &str| Text::sound().with(more).build();
    let memory = |text: &str| {
        Text {
            memory: text.into(),
            ..Text::sound()
        }
        .build()
    };
    run(vec![
        ("tail calls", sound("(return_call $handle (i32.const 0) (i32.const 0))"), End::NoModule),
        ("several memories", with("(memory 1)"), End::NoModule),
        ("memory of 64 bits", memory(r#"(memory (export "memory") i64 2)"#), End::NoModule),
        ("pages of another size", memory(r#"(memory (export "memory") 131072 (pagesize 1))"#), End::NoModule),
        ("wide arithmetic", with("(func (drop (drop (i64.add128 (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1)))))"), End::NoModule),
        ("shared memory", memory(r#"(memory (export "memory") 2 4 shared)"#), End::NoModule),
        ("waiting for another thread", sound("(drop (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const -1)))"), End::NoModule),
        ("vectors", sound("(drop (v128.const i64x2 0 0))"), End::NoModule),
        ("vectors that differ by machine", with("(func (param v128) (result v128) (f32x4.relaxed_madd (local.get 0) (local.get 0) (local.get 0)))"), End::NoModule),
        ("structs", with("(type (struct (field i32)))"), End::NoModule),
        ("arrays", with("(type (array i64))"), End::NoModule),
        ("typed references", with("(type $t (func)) (func (param (ref $t)) (call_ref $t (local.get 0)))"), End::NoModule),
        ("exceptions", with("(tag $e) (func (throw $e))"), End::NoModule),
        ("switching stacks", with("(type $f (func)) (type $c (cont $f))"), End::NoModule),
        ("foreign references", with("(table 1 externref)"), End::NoModule),
        ("constants that compute", with("(global i32 (i32.add (i32.const 1) (i32.const 2)))"), End::NoModule),
    ])
    .await;
}

#[tokio::test]
async fn proposals_that_are_on_because_a_stock_build_uses_them() {
    let with = |more: &str| Text::sound().with(more).build();
    run(vec![
        (
            "bulk memory",
            sound("(memory.fill (i32.const 9000) (i32.const 0) (i32.const 8))"),
            End::Draws,
        ),
        (
            "several results",
            with("(func (result i32 i32) (i32.const 1) (i32.const 2))"),
            End::Draws,
        ),
        (
            "sign extension",
            sound("(drop (i32.extend8_s (i32.const 255)))"),
            End::Draws,
        ),
        (
            "conversion that saturates",
            sound("(drop (i32.trunc_sat_f64_u (f64.const 1e99)))"),
            End::Draws,
        ),
        (
            "references to functions",
            with("(table 1 funcref) (func (drop (ref.is_null (table.get (i32.const 0)))))"),
            End::Draws,
        ),
        (
            "globals that change",
            with(r#"(global (export "g") (mut i32) (i32.const 0))"#),
            End::Draws,
        ),
    ])
    .await;
}

/// A title whose text is spoilt on its way.
fn title(bytes: &[u8]) -> Vec<u8> {
    let whole = "x".repeat(bytes.len());
    let mut message = encode_request(&Request::Title(whole)).expect("small");
    let at = message.len() - bytes.len();
    message[at..].copy_from_slice(bytes);
    Text::posting(message).build()
}

#[tokio::test]
async fn posts() {
    let post = |at: i64, length: i64| {
        let handle = format!("(call $post (i32.const {at}) (i32.const {length}))");
        Text {
            handle,
            ..Text::sound()
        }
        .build()
    };
    let flood = "(loop $l (call $post (i32.const 0) (i32.const 7)) (br $l))";
    let heavy = "(loop $l (call $post (i32.const 0) (i32.const 131072)) (br $l))";
    let early = Text {
        alloc: "(call $post (i32.const 0) (i32.const 7)) i32.const 4096".into(),
        ..Text::sound()
    };
    let mut large = vec![0, 0x81, 0x80, 0x04];
    large.resize(4 + limits::FRAME_BYTES + 1, b'x');
    let mut link = vec![1, 0x81, 0x80, 0x40];
    link.resize(4 + limits::LINK_OUT_BYTES + 1, b'x');
    let of = |data: Vec<u8>, pages: usize| {
        Text {
            memory: format!(r#"(memory (export "memory") {pages})"#),
            ..Text::posting(data)
        }
        .build()
    };
    // The message is overwritten, moved and its memory grown right after it was posted.
    let torn = format!(
        "{} (memory.fill (i32.const 0) (i32.const 255) (i32.const 100)) (drop (memory.grow (i32.const 100)))",
        Text::sound().handle
    );
    run(vec![
        ("a flood", sound(flood), End::Rules),
        ("a flood of bytes", sound(heavy), End::Rules),
        ("a post while room is made", early.build(), End::Rules),
        ("a frame of one byte too many", of(large, 4), End::Rules),
        (
            "a link frame of one byte too many",
            of(link, 20),
            End::Rules,
        ),
        ("a length of four billion", post(0, -1), End::Rules),
        ("an end that wraps", post(-8, 16), End::Rules),
        ("a start just past the end", post(131_072, 1), End::Rules),
        ("an end just past the end", post(131_071, 2), End::Rules),
        ("nothing at all", post(0, 0), End::Rules),
        ("an overlong character", title(b"\xc0\x80"), End::Rules),
        ("half a pair", title(b"\xed\xa0\x80"), End::Rules),
        ("a lone continuation", title(b"\x80"), End::Rules),
        (
            "a message that changes after it was posted",
            Text {
                handle: torn,
                ..Text::sound()
            }
            .build(),
            End::Draws,
        ),
    ])
    .await;
    let frame = encode_request(&Request::Frame(b"\xff\xc0\x80".to_vec())).expect("small");
    let drawn = outcome(Text::posting(frame).build()).await;
    assert_eq!(
        drawn,
        Ok(Request::Frame(b"\xff\xc0\x80".to_vec())),
        "a frame may hold anything"
    );
}

#[tokio::test]
async fn exports() {
    let text = Text::sound();
    let mut rows = Vec::new();
    for name in ["ui_abi", "ui_alloc", "ui_handle", "memory"] {
        let export = format!(r#"(export "{name}")"#);
        rows.push(("a missing export", text.but(&export, ""), End::Exports));
        let global = format!(r#"(export "{name}" (global 0)) (global i32 (i32.const 0))"#);
        let other = Text::sound().with(&global).but(&export, "");
        rows.push(("a global in its place", other, End::Exports));
        let function = format!(r#"(func (export "{name}") (param f64))"#);
        let other = Text::sound().with(&function).but(&export, "");
        rows.push((
            "a function of another type in its place",
            other,
            End::Exports,
        ));
    }
    let foreign = r#"(func (export "ui_alloc") (param externref) (result i32) i32.const 0)"#;
    let other = Text::sound()
        .with(foreign)
        .but(r#"(export "ui_alloc")"#, "");
    rows.push(("a foreign reference in its type", other, End::Exports));
    rows.push((
        "another version",
        text.but("i32.const 1)", "i32.const 999)"),
        End::Exports,
    ));
    run(rows).await;
}

#[tokio::test]
async fn a_bundle_is_compiled_for_its_origin_alone_and_from_the_bytes_that_were_checked() {
    let cache = tempfile::tempdir().expect("a folder");
    let bytes = Text::sound().build();
    let hash = porthole_launcher::bundle::sha256_hex(&bytes);
    drop(
        compiled(bytes.clone(), cache.path())
            .await
            .expect("it compiles"),
    );
    assert!(
        sandbox::artifact(cache.path(), ORIGIN, &hash)
            .await
            .is_some()
    );
    assert!(
        sandbox::artifact(cache.path(), "http://127.0.0.1:2", &hash)
            .await
            .is_none()
    );
    let mut changed = bytes;
    let last = changed.last_mut().expect("not empty");
    *last ^= 1;
    let manifest = porthole_door::Manifest {
        name: String::new(),
        version: String::new(),
        abi: porthole_bridge::ABI,
        sha256: hash,
        bytes: changed.len() as u64,
    };
    let verified = porthole_launcher::bundle::VerifiedBundle::verify(&manifest, changed);
    assert_eq!(verified.err(), Some(BundleError::Hash));
    assert!(verify(vec![0; limits::MODULE_BYTES + 1]).is_err());
}

#[tokio::test]
async fn full_frames_without_a_pause_all_arrive_and_memory_stays_flat() {
    let cache = tempfile::tempdir().expect("a folder");
    let frame = vec![b'x'; limits::FRAME_BYTES];
    let message = encode_request(&Request::Frame(frame)).expect("just fits");
    let text = Text {
        memory: r#"(memory (export "memory") 4)"#.into(),
        ..Text::posting(message)
    };
    let twenty = format!("{} ", text.handle).repeat(20);
    let text = Text {
        handle: twenty,
        ..text
    };
    let mut ui = started(text.build(), cache.path()).await;
    for _ in 0..100 {
        ui.send(&key()).await.expect("there is room");
        for _ in 0..20 {
            let SandboxEvent::Posted(Request::Frame(frame)) = ui.next().await else {
                panic!("it ended");
            };
            assert_eq!(frame.len(), limits::FRAME_BYTES);
        }
    }
    let process = ui.process_id().expect("it runs");
    let pages = std::fs::read_to_string(format!("/proc/{process}/statm")).expect("it runs");
    let pages: usize = pages
        .split(' ')
        .nth(1)
        .and_then(|text| text.parse().ok())
        .expect("a number");
    assert!(pages * 4096 < 64 << 20, "{pages} pages");
}

#[tokio::test]
async fn a_ui_that_draws_nothing_in_ten_seconds_has_hung() {
    let cache = tempfile::tempdir().expect("a folder");
    let silent = Text {
        handle: String::new(),
        ..Text::sound()
    };
    let mut ui = started(silent.build(), cache.path()).await;
    ui.loaded().await.expect("it loads");
    let start = porthole_bridge::Signal {
        now_ms: 0,
        event: porthole_bridge::Event::Start(Box::new(first())),
    };
    let before = std::time::Instant::now();
    ui.send(&start).await.expect("there is room");
    let ended = ui.next().await;
    assert!(
        matches!(ended, SandboxEvent::Ended(UiFault::Hung)),
        "{ended:?}"
    );
    let took = before.elapsed();
    assert!(
        took >= limits::STARTUP && took < limits::STARTUP + Duration::from_secs(5),
        "{took:?}"
    );
}

fn first() -> porthole_bridge::Start {
    porthole_bridge::Start {
        size: porthole_bridge::Size { cols: 80, rows: 24 },
        colors: porthole_bridge::ColorDepth::True,
        background: porthole_bridge::Background::Dark,
        unicode: true,
        reduced_motion: false,
        theme: String::new(),
        preferences: String::new(),
        role: porthole_bridge::Role::Owner,
        place: None,
        snapshot: None,
        seed: [0; 16],
        utc_offset_minutes: 0,
        origin: ORIGIN.into(),
    }
}
