//! Every bound of the bridge, each in one place. Sizes are bytes unless the name says otherwise.

use std::time::Duration;

/// Largest wasm module a launcher loads.
pub const MODULE_BYTES: usize = 8 << 20;
/// Largest manifest a launcher reads.
pub const MANIFEST_BYTES: usize = 8 << 10;
/// Largest frame; a larger one is refused whole.
pub const FRAME_BYTES: usize = 64 << 10;
/// Largest saved state of a UI.
pub const SNAPSHOT_BYTES: usize = 1 << 20;
/// Largest link frame a UI may send to its server.
pub const LINK_OUT_BYTES: usize = 1 << 20;
/// Largest link frame a UI is handed from its server.
pub const LINK_IN_BYTES: usize = 4 << 20;
/// Largest text of one copy action.
pub const COPY_BYTES: usize = 1 << 20;
/// Largest text handed to the external editor and back.
pub const EDIT_BYTES: usize = 1 << 20;
/// Longest URL a UI may ask to open.
pub const URL_BYTES: usize = 2 << 10;
/// Longest path or id of a download.
pub const SOURCE_BYTES: usize = 4 << 10;
/// Longest name a UI may suggest for a download, and longest name of an attachment.
pub const NAME_BYTES: usize = 1 << 10;
/// Longest session's id that a UI may say it is at. It is handed on with a snapshot, in one message.
pub const SESSION_BYTES: usize = 256;
/// Longest title a UI may wish for.
pub const TITLE_BYTES: usize = 256;
/// Largest paste handed to a UI in one message.
pub const PASTE_BYTES: usize = 1 << 20;
/// Largest file of preferences, and largest text of them a UI is handed.
pub const PREFERENCES_BYTES: usize = 256 << 10;
/// Themes of their own that a visitor may have.
pub const THEMES: usize = 64;
/// Bytes of all those themes together.
pub const THEMES_BYTES: usize = 1 << 20;
/// Complaints about preferences and themes that are told at once.
pub const COMPLAINTS: usize = 50;
/// Longest complaint.
pub const COMPLAINT_BYTES: usize = 512;
/// Preferences that a UI may ask to keep at once.
pub const KEPT_PREFERENCES: usize = 64;
/// Longest key or value of a preference to keep.
pub const PREFERENCE_BYTES: usize = 256;
/// Largest encoded message in either direction: the largest payload and its envelope.
pub const MESSAGE_BYTES: usize = LINK_IN_BYTES + 1024;
/// Messages a UI may post in one call; one more ends the UI.
pub const POSTS_PER_CALL: usize = 256;
/// Bytes a UI may post in one call; one more ends the UI.
pub const POST_BYTES_PER_CALL: usize = 4 << 20;
/// Widest screen a UI is told of, in columns.
pub const COLS: u16 = 500;
/// Highest screen a UI is told of, in rows.
pub const ROWS: u16 = 200;
/// Largest screen a UI is told of, in cells: as many as fit into a frame as plain ASCII text, a move of the cursor
/// before each row included. The width counts first.
pub const CELLS: u32 = 60_000;

/// Linear memory of a UI.
pub const LINEAR_MEMORY: usize = 96 << 20;
/// Stack of the wasm code.
pub const WASM_STACK: usize = 4 << 20;
/// Stack of the thread that runs the wasm code.
pub const THREAD_STACK: usize = 8 << 20;
/// Compiled code of a bundle.
pub const CODE_BYTES: usize = 64 << 20;
/// Elements of the one table.
pub const TABLE_ELEMENTS: usize = 65_536;
/// Resident memory of the sandbox process, watched by its parent.
pub const SANDBOX_RSS: usize = 512 << 20;

/// From the start message to the first frame.
pub const STARTUP: Duration = Duration::from_secs(10);
/// CPU time of the thread for one call of the handler.
pub const CALL_CPU: Duration = Duration::from_millis(250);
/// Wall-clock time for one call of the handler.
pub const CALL_WALL: Duration = Duration::from_secs(2);
/// Wall-clock time for the start call and for taking a snapshot.
pub const LONG_CALL_WALL: Duration = Duration::from_secs(5);
/// The step in which a UI is told the time.
pub const CLOCK_STEP: Duration = Duration::from_millis(100);
/// The soonest a wake-up comes.
pub const WAKE_MIN: Duration = Duration::from_millis(16);
