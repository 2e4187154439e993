//! What a bundle posts: the rules, floods, and silence.

use std::time::Duration;

use porthole_bridge::{Request, encode_request, limits};
use porthole_launcher::sandbox::{SandboxEvent, UiFault};

use crate::{
    end::{End, run, sound},
    life::start,
    sandboxed::{key, outcome, started},
    text::Text,
};

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
        (
            "bytes that are no message",
            Text::posting(vec![0xFF; 4]).build(),
            End::Rules,
        ),
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
    let before = std::time::Instant::now();
    ui.send(&start()).await.expect("there is room");
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
