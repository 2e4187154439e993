//! The frames between the launcher and its sandbox process: a length, one byte of kind, a body. It knows no message.

/// Length and kind.
pub(super) const HEAD: usize = 5;

/// To the child: a message for the UI, with the ordinary deadline.
pub(super) const CALL: u8 = 0;
/// To the child: a message for the UI, with the long deadline (start and snapshot).
pub(super) const LONG_CALL: u8 = 1;

/// From the child: which walls stand, as JSON. The UI is loaded.
pub(super) const READY: u8 = 0;
/// From the child: one message of the UI.
pub(super) const POST: u8 = 1;
/// From the child: a call returned; its posts came before.
pub(super) const DONE: u8 = 2;
/// From the child: the UI ended; one byte says how, then words.
pub(super) const FAULT: u8 = 3;

/// Appends one frame.
pub(super) fn push(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    // Bodies are bounded far below 4 GiB by everyone who calls this.
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.push(kind);
    out.extend_from_slice(body);
}

/// Reads the head of a frame: the length of its body, and its kind.
pub(super) fn head(bytes: &[u8; HEAD]) -> (usize, u8) {
    let [a, b, c, d, kind] = *bytes;
    (u32::from_le_bytes([a, b, c, d]) as usize, kind)
}
