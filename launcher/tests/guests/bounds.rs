//! Time, memory, stack and tables, and every way to trap.

use crate::{
    end::{End, FOREVER, run, sound},
    text::Text,
};

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
        (
            "growing past the most and giving up",
            sound("(drop (memory.grow (i32.const 60000))) unreachable"),
            End::Memory,
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
