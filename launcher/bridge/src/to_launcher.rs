//! What a UI may ask of the launcher. The launcher decides; none of this is a command.

use serde::{Deserialize, Serialize};

use crate::Place;

/// One message from a UI.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// A whole screen, painted from blank, as terminal bytes of the documented subset.
    /// A newer frame replaces an undrawn older one.
    Frame(Vec<u8>),
    /// One text frame for the server, carried unread.
    Link(Vec<u8>),
    /// Something that only the visitor's own computer may do.
    Action {
        /// The UI's id for it; the outcome carries it back.
        request: u64,
        /// What.
        action: Action,
    },
    /// Asks for one [`crate::Event::Wake`] after so many milliseconds; replaces an older wish. `None` takes it back.
    WakeIn(Option<u64>),
    /// Where the UI is now; `None`: on a screen of no session.
    Place(Option<Place>),
    /// The state to hand to the UI's successor.
    Snapshot(Vec<u8>),
    /// The window title wished for.
    Title(String),
}

/// A local action. The launcher allows it, asks the visitor, or refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Put this text into the visitor's clipboard.
    Copy(String),
    /// Open this URL in the visitor's browser.
    OpenUrl(String),
    /// Edit this text in the visitor's editor.
    Edit(String),
    /// Suspend the launcher, as job control does.
    Suspend,
    /// Forget the credential of this server.
    SignOut,
    /// Leave.
    Quit,
    /// Upload files for the session that the UI is in. Each that arrives is told by [`crate::Event::Attached`] before
    /// the outcome, which counts them.
    Upload(UploadFrom),
    /// Save something of the session that the UI is in on the visitor's computer.
    Download {
        /// What.
        what: Source,
        /// The name to save it under; the launcher makes it safe.
        name: String,
    },
    /// Keep these in the visitor's preferences, once they have seen what changes in the file.
    SavePreferences(Vec<Preference>),
}

/// A preference to keep. Those of the launcher itself cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preference {
    /// `theme`, `reduced_motion`, or a key of the table `[ui]`, with a table within it as `bindings.find`.
    pub key: String,
    /// Its value, one line; `true` and `false` are no texts. `None`: as if it had never been set.
    pub value: Option<String>,
}

/// Where the files of an upload come from. A UI never names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UploadFrom {
    /// The launcher's own file picker.
    Picker,
    /// The visitor's clipboard: files or an image are uploaded; text comes as [`crate::Event::Paste`].
    Clipboard,
}

/// What a download is of. The server decides what the visitor may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// An attachment, by its id.
    Attachment(String),
    /// A file in the session's working directory: its path, as bytes.
    File(Vec<u8>),
    /// The whole output of a command, by the id of its run.
    Output(String),
    /// A session written into a file, by the id that its export named.
    Export(String),
}
