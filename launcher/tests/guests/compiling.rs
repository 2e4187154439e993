//! What would take too long to compile, is too large, or is no module at all.

use std::fmt::Write as _;

use porthole_bridge::limits;
use porthole_launcher::{bundle::BundleError, sandbox};

use crate::{
    end::{End, run, sound},
    sandboxed::{ORIGIN, compiled, verify},
    text::Text,
};

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
    let many = format!(
        "(func (local {}) {}{})",
        "i64 ".repeat(1_000),
        "(loop ".repeat(900),
        ")".repeat(900)
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
            "loops in loops over a thousand locals, in many functions",
            repeat(&many, 23),
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
