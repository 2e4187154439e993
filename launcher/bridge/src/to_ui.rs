//! What a UI may be told. Time and randomness reach it only here.

use serde::{Deserialize, Serialize};

/// One message to a UI: what happened, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// Milliseconds since the Unix epoch, rounded down to [`crate::limits::CLOCK_STEP`].
    pub now_ms: u64,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The first message, once.
    Start(Box<Start>),
    /// A key was pressed or repeats. Releases are never sent.
    Key(Key),
    /// Text was pasted: line ends are `\n`, no other control characters but tab.
    Paste(String),
    /// The mouse did something inside the UI's area.
    Mouse(Mouse),
    /// The UI's area has a new size. It includes no row of the launcher's.
    Resize(Size),
    /// The terminal gained or lost the focus.
    Focus(bool),
    /// One text frame from the server, unread by the launcher.
    Link(Vec<u8>),
    /// The state of the link changed.
    LinkState(LinkState),
    /// How an action ended that the UI asked for.
    Outcome {
        /// The id that the UI gave the request.
        request: u64,
        /// How it ended.
        outcome: Outcome,
    },
    /// The wake-up that the UI asked for.
    Wake,
    /// The UI is to post its snapshot in this call.
    SaveSnapshot,
    /// Nothing follows. The UI may post a last snapshot.
    Stop,
    /// A file was uploaded, asked for by the UI or by the visitor (a large paste, a file dropped into the terminal). It
    /// becomes part of a conversation with the next message that names it.
    Attached(Attached),
    /// The visitor's own looks, after the start where there are themes of theirs, and whenever they change.
    Looks(Box<Looks>),
}

/// The visitor's own looks: what they prefer, and the themes on their computer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looks {
    /// As [`Start::theme`].
    pub theme: String,
    /// As [`Start::reduced_motion`].
    pub reduced_motion: bool,
    /// As [`Start::preferences`].
    pub preferences: String,
    /// The themes.
    pub themes: Vec<ThemeText>,
    /// What could not be taken and why, for the visitor.
    pub complaints: Vec<String>,
}

/// A theme as its file has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThemeText {
    /// Its name: letters, digits, `-` and `_`.
    pub name: String,
    /// The file, as TOML.
    pub text: String,
}

/// A file that was uploaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// Where it belongs: where the UI was when the visitor agreed.
    pub place: Place,
    /// The server's id of it.
    pub id: String,
    /// Its name, to show: one line without control characters.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its media type.
    pub media_type: String,
}

/// Everything a UI begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The size of the UI's area.
    pub size: Size,
    /// How many colours the terminal shows.
    pub colors: ColorDepth,
    /// The terminal's background, where it is known.
    pub background: Background,
    /// Whether the terminal can show the common box and symbol glyphs.
    pub unicode: bool,
    /// Whether the visitor asked for no animation.
    pub reduced_motion: bool,
    /// The name of the theme the visitor chose; empty: the one that fits the background.
    pub theme: String,
    /// The visitor's preferences as TOML, only keys that are no privilege; may be empty.
    pub preferences: String,
    /// What the visitor may do, as far as the launcher knows.
    pub role: Role,
    /// Where to open; `None`: the home list.
    pub place: Option<Place>,
    /// The snapshot of the UI that this one replaces.
    pub snapshot: Option<Vec<u8>>,
    /// Random bytes from which the UI makes its ids.
    pub seed: [u8; 16],
    /// Minutes that local time is ahead of UTC.
    pub utc_offset_minutes: i16,
    /// The server's origin, to show. Not a secret.
    pub origin: String,
}

/// A size in cells, at most [`crate::limits::CELLS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Columns, at most [`crate::limits::COLS`].
    pub cols: u16,
    /// Rows, at most [`crate::limits::ROWS`].
    pub rows: u16,
}

/// How many colours the terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColorDepth {
    /// No colour at all; bold, underline and reverse remain.
    None,
    /// The sixteen named colours.
    Sixteen,
    /// The palette of 256.
    Indexed,
    /// 24 bits.
    True,
}

/// The terminal's background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Background {
    /// The terminal did not say.
    Unknown,
    /// Dark.
    Dark,
    /// Light.
    Light,
}

/// What the visitor may do, as far as the launcher knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The owner of the server.
    Owner,
    /// Someone who came by a share link.
    Guest,
}

/// Where a UI is: the target that a grant is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The session, as the server names it.
    pub session: String,
    /// The conversation in it.
    pub conversation: u64,
}

/// A key press.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Key {
    /// Which key.
    pub code: KeyCode,
    /// What was held.
    pub modifiers: Modifiers,
}

/// Which key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the keys' own")]
pub enum KeyCode {
    Char(char),
    Function(u8),
    Enter,
    Escape,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Insert,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
}

/// What was held while a key was pressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the keys' own")]
pub struct Modifiers {
    pub shift: bool,
    pub control: bool,
    pub alt: bool,
}

/// A mouse event inside the UI's area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mouse {
    /// What happened.
    pub kind: MouseKind,
    /// Column, from 0.
    pub col: u16,
    /// Row, from 0.
    pub row: u16,
    /// What was held.
    pub modifiers: Modifiers,
}

/// What the mouse did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum MouseKind {
    Press,
    Drag,
    Release,
    WheelUp,
    WheelDown,
}

/// The state of the link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkState {
    /// Frames flow. What was sent under an older epoch is gone.
    Up {
        /// Grows with each connection.
        epoch: u64,
    },
    /// The launcher is trying again.
    Down {
        /// When the next attempt starts, in milliseconds from now.
        retry_in_ms: u64,
    },
    /// It will not come back by itself.
    Ended {
        /// Why, for a person.
        reason: String,
    },
}

/// How an action ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Done; for a person, e.g. "sent to the terminal".
    Done(String),
    /// The text that came back from the editor.
    Edited(String),
    /// The visitor said no, or the launcher did.
    Refused(String),
    /// It was tried and did not work.
    Failed(String),
}
