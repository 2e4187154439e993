//! The bundle's surface: three exports and the one import. It only moves bytes; what happens is decided in `app`.

use std::cell::RefCell;

use porthole_bridge::{ABI, decode_signal, encode_request};

use crate::App;

#[expect(
    unsafe_code,
    reason = "an import is foreign by nature; this one is the whole bridge"
)]
#[link(wasm_import_module = "porthole")]
unsafe extern "C" {
    fn post(ptr: i32, len: i32);
}

thread_local! {
    // The module has one thread; the cell only makes that visible to the compiler.
    static APP: RefCell<App> = RefCell::new(App::default());
    static INBOX: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Returns the version of the bridge this bundle speaks.
#[expect(
    unsafe_code,
    reason = "the launcher finds exports by their plain names"
)]
#[unsafe(no_mangle)]
pub extern "C" fn ui_abi() -> i32 {
    ABI
}

/// Returns room for a message of `len` bytes; the room stays the UI's and the next call reuses it.
#[expect(
    unsafe_code,
    reason = "the launcher finds exports by their plain names"
)]
#[unsafe(no_mangle)]
pub extern "C" fn ui_alloc(len: i32) -> i32 {
    INBOX.with_borrow_mut(|inbox| {
        inbox.clear();
        inbox.resize(usize::try_from(len).unwrap_or(0), 0);
        inbox.as_mut_ptr() as i32
    })
}

/// Takes the message that the launcher wrote into the room of the last [`ui_alloc`], and posts what follows from it.
/// The place is known, so the pointer is not looked at; a message that is none is dropped.
#[expect(
    unsafe_code,
    reason = "the launcher finds exports by their plain names"
)]
#[unsafe(no_mangle)]
pub extern "C" fn ui_handle(_ptr: i32, len: i32) {
    let signal = INBOX.with_borrow(|inbox| {
        let len = usize::try_from(len).unwrap_or(0);
        inbox.get(..len).and_then(|bytes| decode_signal(bytes).ok())
    });
    let Some(signal) = signal else { return };
    for request in APP.with_borrow_mut(|app| app.handle(signal)) {
        if let Ok(bytes) = encode_request(&request) {
            send(&bytes);
        }
    }
}

#[expect(
    unsafe_code,
    reason = "calls the import with the place and length of a live slice, which the launcher copies before it returns"
)]
fn send(bytes: &[u8]) {
    let Ok(len) = i32::try_from(bytes.len()) else {
        return;
    };
    unsafe { post(bytes.as_ptr() as i32, len) }
}
