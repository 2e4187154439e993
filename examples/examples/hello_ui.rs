//! A whole UI bundle in one short file, on the bridge alone: it greets, shows the last key, and asks to leave on `q`.
//! Build it with `cargo build -p porthole-examples --example hello_ui --target wasm32-unknown-unknown --profile wasm`.

use std::cell::RefCell;

use porthole_bridge::{ABI, Action, Event, KeyCode, Request, decode_signal, encode_request};

#[derive(Default)]
struct Hello {
    last: Option<char>,
    room: Vec<u8>,
}

thread_local! {
    static HELLO: RefCell<Hello> = RefCell::default();
}

#[cfg(target_arch = "wasm32")]
#[expect(
    unsafe_code,
    reason = "the one import of a bundle; the launcher checks every pointer it is given"
)]
#[link(wasm_import_module = "porthole")]
unsafe extern "C" {
    safe fn post(ptr: *const u8, len: usize);
}

#[cfg(not(target_arch = "wasm32"))]
fn post(_ptr: *const u8, _len: usize) {}

fn say(request: &Request) {
    if let Ok(bytes) = encode_request(request) {
        post(bytes.as_ptr(), bytes.len());
    }
}

/// Returns the version of the bridge that this bundle speaks.
#[expect(
    unsafe_code,
    reason = "the launcher finds exports by their plain names"
)]
#[unsafe(no_mangle)]
pub extern "C" fn ui_abi() -> i32 {
    ABI
}

/// Returns room for a message of `len` bytes, kept until the next call.
#[expect(
    unsafe_code,
    reason = "the launcher finds exports by their plain names"
)]
#[unsafe(no_mangle)]
pub extern "C" fn ui_alloc(len: usize) -> *mut u8 {
    HELLO.with_borrow_mut(|hello| {
        hello.room = vec![0; len];
        hello.room.as_mut_ptr()
    })
}

/// Takes the message that the launcher has written into the room.
#[expect(
    unsafe_code,
    reason = "the launcher finds exports by their plain names"
)]
#[unsafe(no_mangle)]
pub extern "C" fn ui_handle(_ptr: *const u8, _len: usize) {
    let Ok(signal) = HELLO.with_borrow(|hello| decode_signal(&hello.room)) else {
        return;
    };
    match signal.event {
        Event::Key(key) if key.code == KeyCode::Char('q') => {
            say(&Request::Action {
                request: 1,
                action: Action::Quit,
            });
        }
        Event::Key(key) => {
            if let KeyCode::Char(letter) = key.code {
                HELLO.with_borrow_mut(|hello| hello.last = Some(letter));
            }
            draw();
        }
        Event::Start(_) | Event::Resize(_) => draw(),
        _ => {}
    }
}

/// Paints the whole screen from blank: row 2, column 3 in bold, then plain text below it.
fn draw() {
    let last = HELLO.with_borrow(|hello| hello.last);
    let key = last.map_or_else(|| "none yet".to_owned(), |letter| format!("`{letter}`"));
    let frame = format!(
        "\x1b[2;3H\x1b[1mHello from a bundle\x1b[0m\x1b[4;3HLast key: {key}\x1b[6;3Hq leaves"
    );
    say(&Request::Frame(frame.into_bytes()));
}
