//! The bridge: every message between the launcher and a UI, every limit on them, and the one codec.
//! Plain data for both sides; it decides nothing and knows neither terminals nor sessions.

mod codec;
pub mod limits;
mod to_launcher;
mod to_ui;

pub use codec::{CodecError, decode_request, decode_signal, encode_request, encode_signal};
pub use to_launcher::{Action, Preference, Request, Source, UploadFrom};
pub use to_ui::{
    Attached, Background, ColorDepth, Event, Key, KeyCode, LinkState, Looks, Modifiers, Mouse,
    MouseKind, Outcome, Place, Role, Signal, Size, Start, ThemeText,
};

/// The version of this contract. A bundle returns it from its `ui_abi` export.
pub const ABI: i32 = 1;

/// The module name of the only import a bundle may have: `porthole.post(ptr: i32, len: i32)`.
pub const IMPORT_MODULE: &str = "porthole";
/// The field name of the only import a bundle may have.
pub const IMPORT_POST: &str = "post";
/// The export that returns [`ABI`]: `ui_abi() -> i32`.
pub const EXPORT_ABI: &str = "ui_abi";
/// The export that returns room for a message: `ui_alloc(len: i32) -> ptr`. The UI owns the room.
pub const EXPORT_ALLOC: &str = "ui_alloc";
/// The export that takes one encoded [`Signal`] at `ptr`: `ui_handle(ptr: i32, len: i32)`.
pub const EXPORT_HANDLE: &str = "ui_handle";
/// The exported linear memory.
pub const EXPORT_MEMORY: &str = "memory";
