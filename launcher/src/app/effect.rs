//! Everything that the core wants done, as one closed enum. Plain data; the shell performs it.

use std::{path::PathBuf, time::Instant};

use porthole_bridge::{Event, Source, Start};

use crate::patch::Patch;

use super::Alarm;

/// What the shell around the core does.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Draw the view now.
    Draw,
    /// Clear the terminal before the next frame.
    Forget,
    /// Set or take back an alarm.
    Alarm(Alarm, Option<Instant>),
    /// Hand this to the UI.
    ToUi(Event),
    /// Start a UI from the artifact of this hash, in place of the running one.
    StartUi {
        /// Its number; what it posts comes back under it.
        instance: u64,
        /// Its bundle.
        sha256: String,
        /// Its first message; the seed is filled in by whoever has randomness.
        start: Box<Start>,
    },
    /// Start a UI behind the running one, in place of another that waits there.
    StartNext {
        /// Its number.
        instance: u64,
        /// Its bundle.
        sha256: String,
        /// Its first message.
        start: Box<Start>,
    },
    /// The UI that waits has the place now; the one that had it ends.
    Promote,
    /// End the UI that waits.
    DropNext,
    /// End the UI.
    StopUi,
    /// Connect under this epoch, ending an older connection.
    Connect(u64),
    /// Find out soon whether the connection is still good.
    Probe,
    /// End the connection.
    Disconnect,
    /// Send this frame to the server.
    SendLink(Vec<u8>),
    /// See that the server's bundle can be started; the hash is of the one that runs.
    Prepare(Option<String>),
    /// Redeem this text as a link of the same server. A secret.
    Redeem(Secret),
    /// Forget the credential.
    ForgetCredential,
    /// Forget the credential and tell the server.
    SignOut,
    /// Put text into the clipboard.
    Copy(Asked, String),
    /// Open a URL.
    Open(Asked, String),
    /// Edit a text; the terminal is the editor's until it ends.
    Edit(Asked, String),
    /// Write the preferences, where the file is still what it was.
    SavePreferences(Asked, Patch),
    /// Read a folder for the picker.
    List(PathBuf),
    /// Open files to send; where they were pasted and are none, `otherwise` comes back.
    OpenFiles {
        /// Who asked.
        asked: Asked,
        /// Their paths.
        paths: Vec<PathBuf>,
        /// The pasted text.
        otherwise: Option<String>,
    },
    /// Look what the clipboard holds.
    Clipboard(Asked),
    /// Look where a download would land.
    Landing {
        /// Who asked.
        asked: Asked,
        /// The session.
        session: String,
        /// What of it.
        what: Source,
        /// Its safe name.
        name: String,
    },
    /// Move this.
    Transfer(Asked, super::Transfer),
    /// End what is moving; nothing half stays.
    CancelTransfer,
    /// Stop, as job control does.
    Suspend,
    /// Set the window's title.
    Title(String),
    /// End with this status, saying this on the shell's screen.
    Quit(u8, Option<Farewell>),
}

/// What is said on the shell's screen after leaving.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Farewell {
    /// What happened.
    pub message: String,
    /// What to do next; may be empty.
    pub hint: String,
}

/// Who asked for a local action: the UI instance and its request; `None`: the launcher's own menu.
pub type Asked = Option<(u64, u64)>;

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Secret")
    }
}
