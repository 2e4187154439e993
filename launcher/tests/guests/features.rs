//! Proposals of WebAssembly that are off, and those that are on.

use crate::{
    end::{End, run, sound},
    text::Text,
};

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
