//! What a bundle imports, exports and does while it is loaded.

use crate::{
    end::{End, FOREVER, run},
    text::Text,
};

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
