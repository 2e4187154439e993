//! Every bound of the protocol, each in one place. Sizes are bytes unless the name says otherwise.

/// Largest frame a server takes from a client.
pub const CLIENT_FRAME_BYTES: usize = 1 << 20;
/// Largest frame a server sends.
pub const SERVER_FRAME_BYTES: usize = 4 << 20;
/// Calls that may be pending on one connection; one more is refused.
pub const PENDING_CALLS: usize = 32;
/// Topics that one connection may watch.
pub const WATCHES: usize = 32;
/// Output waiting for one connection, beyond its largest unfinished frame, before it is ended.
pub const BACKLOG_BYTES: usize = 4 << 20;
/// Longest text of one submission.
pub const SUBMISSION_BYTES: usize = 512 << 10;
/// Longest name of a guest, a device or a share link, in characters.
pub const NAME_CHARS: usize = 40;
/// People shown as present in a session, at most; the others are counted.
pub const PRESENT_PEOPLE: usize = 24;
/// How long a share link lives where nothing else is said, in seconds: seven days.
pub const SHARE_SECONDS: u64 = 7 * 24 * 60 * 60;
/// How long a share link lives at most, in seconds: a year.
pub const SHARE_SECONDS_MAX: u64 = 366 * 24 * 60 * 60;
/// Longest query for file names, in characters.
pub const FILES_QUERY_CHARS: usize = 200;
/// File names that one reply holds, at most.
pub const FILES_FOUND: usize = 100;
/// Longest text of a search, in characters.
pub const SEARCH_CHARS: usize = 200;
/// Hits that one reply of a search holds, at most.
pub const SEARCH_HITS: usize = 100;
/// Files that one submission may name.
pub const SUBMISSION_ATTACHMENTS: usize = 10;
/// Longest title of a session, in characters.
pub const TITLE_CHARS: usize = 200;
/// Entries in one page of history, at most.
pub const PAGE_ENTRIES: usize = 100;
/// Bytes of one page of history, at most, unless one entry alone is larger.
pub const PAGE_BYTES: usize = 512 << 10;
/// Smallest range of command output a viewer may read.
pub const OUTPUT_READ_MIN: u32 = 1;
/// Largest range of command output a viewer may read.
pub const OUTPUT_READ_MAX: u32 = 256 << 10;
/// Lines of command output kept in the transcript.
pub const TAIL_LINES: usize = 2_000;
/// Bytes of command output kept in the transcript.
pub const TAIL_BYTES: usize = 50 << 10;
/// Submissions that may wait in one conversation.
pub const QUEUED_SUBMISSIONS: usize = 32;
/// Patterns in the scope of model cycling, at most.
pub const CYCLE_PATTERNS: usize = 500;
/// Longest of these patterns, in characters.
pub const CYCLE_PATTERN_CHARS: usize = 300;
/// Models that one search finds, at most.
pub const MODELS_FOUND: usize = 300;
/// Longest query for models, in characters.
pub const MODELS_QUERY_CHARS: usize = 200;
/// Rows of responses in one reply, at most.
pub const RESPONSE_ROWS: usize = 200;
/// Settings that one call changes, at most.
pub const SETTING_CHANGES: usize = 64;
/// For how long a deleted session can be restored, in seconds.
pub const UNDO_SECONDS: u64 = 10 * 60;
