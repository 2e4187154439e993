//! What a search finds, and as what a session can be written into a file. Plain data.

use serde::{Deserialize, Serialize};

use crate::{ConversationId, EntryId, SessionId};

/// A place where the words stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// In which session.
    pub session: SessionId,
    /// Its title.
    pub title: String,
    /// Whether it is put away.
    pub archived: bool,
    /// In which conversation.
    pub conversation: ConversationId,
    /// At which entry; `None`: it is the title that was found.
    pub entry: Option<EntryId>,
    /// When it was said, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Who said it, as shown; for a tool's result the tool; empty for a title.
    pub author: String,
    /// Some of the text around the words, in one line without control characters.
    pub snippet: String,
    /// Where in the snippet the words stand: first byte and end, in order, on character boundaries.
    pub matches: Vec<(u32, u32)>,
}

/// As what a session is written into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// Markdown.
    Markdown,
    /// JSON that can be imported again.
    Json,
    /// One HTML page that needs nothing else.
    Html,
}
