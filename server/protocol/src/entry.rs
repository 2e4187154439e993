//! Entries: what a conversation is made of once it is committed. An entry never changes.

use serde::{Deserialize, Serialize};

use crate::{AttachmentId, CallId, ConversationId, EntryId, ModelRef, RunOutput, SendMode, TurnId};

/// One committed item of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its id; entries of a conversation are ordered by it.
    pub id: EntryId,
    /// Milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Who it is from.
    pub author: Author,
    /// The turn it belongs to, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// What it is.
    pub body: EntryBody,
}

/// Who an entry is from: assigned by the worker, never read from text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// What kind of author.
    pub kind: AuthorKind,
    /// Stable id: "owner", a guest's id, a model's reference, "porthole".
    pub id: String,
    /// Name to show; a guest's is unverified.
    pub name: String,
}

/// What kind of author.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum AuthorKind {
    Owner,
    Guest,
    Model,
    Tool,
    System,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryBody {
    /// A person's input.
    Message {
        /// The text.
        text: String,
        /// How it was sent.
        mode: SendMode,
        /// The files that came with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
    /// A model's answer, or as much of it as arrived.
    Answer {
        /// Which model.
        model: ModelRef,
        /// Its parts, in order.
        blocks: Vec<Block>,
        /// Why it ended, in the provider's word; `None`: it was cut short.
        stop: Option<String>,
        /// What it used; `None`: the provider did not say.
        usage: Option<Usage>,
        /// Whether it is only a part: the stream broke, or someone stopped it.
        incomplete: bool,
    },
    /// The result of a tool call.
    ToolResult {
        /// The call it answers.
        call: CallId,
        /// The tool.
        tool: String,
        /// What the call was about, one line: a path, a command, a pattern.
        subject: String,
        /// How it ended.
        outcome: ToolOutcome,
        /// One short line for people: "lines 1–88", "+4 −2".
        summary: String,
        /// What the model was told.
        text: String,
        /// What people can look at.
        detail: ToolDetail,
        /// How long it ran, in milliseconds.
        duration_ms: u64,
        /// The calls that a script made, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        nested: Vec<NestedCall>,
        /// The images that came with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
    /// A command that a person ran.
    Shell {
        /// The command.
        command: String,
        /// Whether the next model request contains it.
        included: bool,
        /// How it went.
        detail: ToolDetail,
    },
    /// Something to know.
    Notice {
        /// One sentence or two.
        text: String,
    },
    /// A failure that stands for one input; display only.
    Error {
        /// What failed, in a person's words.
        text: String,
        /// What to do next; may be empty.
        hint: String,
    },
    /// From here on the model sees nothing from before.
    Reset,
    /// From here on the model sees this summary in place of what came before.
    Compaction {
        /// The summary.
        summary: String,
        /// Whether it was made without being asked for, because the context was nearly full.
        #[serde(default)]
        automatic: bool,
        /// Messages from before that the model goes on seeing, word for word, behind the summary.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<EntryId>,
    },
    /// A person took an entry out of what the model sees, or put it back. People go on seeing it.
    Excluded {
        /// Which entry.
        entry: EntryId,
        /// Whether the model does not see it any more.
        excluded: bool,
    },
    /// A person had a failed input tried again.
    Retried {
        /// The error that it stood at.
        error: EntryId,
    },
    /// The first own entry of a fork: what is before it is the history of another conversation.
    Forked {
        /// Of which one.
        conversation: ConversationId,
        /// Up to this entry.
        entry: EntryId,
    },
    /// The conversation works in another directory from here on.
    Moved {
        /// The directory, as shown.
        dir: String,
    },
}

/// A file that came with a message; its bytes are in the session's folder, `blobs/ID`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its id.
    pub id: AttachmentId,
    /// Its name, as whoever uploaded it said; a single component without control characters.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its media type, as far as known: `image/png`, `text/plain`, `application/octet-stream`.
    pub media_type: String,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Markdown.
    Text {
        /// The Markdown.
        text: String,
    },
    /// What the model thought, where it may be shown.
    Thinking {
        /// The thought; empty where the provider hides it.
        text: String,
    },
    /// A tool call.
    ToolCall {
        /// Our id.
        call: CallId,
        /// The tool.
        tool: String,
        /// What the call is about, one line.
        subject: String,
        /// The arguments; `null` where they were no valid JSON (such a call never runs).
        arguments: serde_json::Value,
    },
}

/// A tool call that a script made. It has no entry of its own: only the script saw its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NestedCall {
    /// Its id; a question about it names it.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// What it is about, one line.
    pub subject: String,
    /// How it ended; `None`: it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ToolOutcome>,
    /// One short line for people; empty while it goes on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It did what it was asked.
    Ok,
    /// It failed, and the text says why.
    Failed,
    /// A person or the policy said no.
    Denied,
    /// A person stopped it.
    Stopped,
    /// The worker ended while it ran; it was not run again.
    Interrupted,
}

/// What people can look at of a tool's work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolDetail {
    /// Nothing but the text.
    Text,
    /// A command and its output.
    Command {
        /// The command line.
        command: String,
        /// Exit status; `None`: it did not exit by itself.
        exit: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// Whether the time-out ended it.
        timed_out: bool,
        /// The last part of the output: at most 2,000 lines and 50 KiB, on character boundaries.
        tail: String,
        /// Bytes of output before the tail.
        left_out: u64,
        /// The whole output; `None` where there was none.
        output: Option<RunOutput>,
        /// Process ids that were still alive in its group when it ended.
        still_running: Vec<u32>,
    },
    /// A change to a file.
    Diff {
        /// The file, as shown.
        path: String,
        /// Lines added.
        added: u32,
        /// Lines removed.
        removed: u32,
        /// Changed lines and some around them.
        lines: Vec<DiffLine>,
        /// Whether more lines changed than are listed.
        truncated: bool,
    },
    /// A file, or a part of one.
    File {
        /// The file, as shown.
        path: String,
        /// First line, from 1.
        first_line: u64,
        /// The lines, at most 50 KiB.
        text: String,
        /// Lines in the whole file.
        total_lines: u64,
    },
    /// Search hits.
    Hits {
        /// What was searched for.
        pattern: String,
        /// Hits by file.
        files: Vec<FileHits>,
        /// Hits in all, also those not listed.
        total: u64,
    },
    /// A child conversation that did the work.
    Child {
        /// Which; it can be opened.
        conversation: ConversationId,
        /// Its title.
        title: String,
    },
    /// Names: of a folder, or found.
    Names {
        /// The names; folders end in `/`.
        names: Vec<String>,
        /// Names in all, also those not listed.
        total: u64,
    },
}

/// Hits in one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileHits {
    /// The file, as shown.
    pub path: String,
    /// Line number from 1, and the part of the line around the hit.
    pub lines: Vec<(u64, String)>,
}

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffLine {
    /// What happened to it.
    pub mark: DiffMark,
    /// Its number in the old file, from 1.
    pub old: Option<u32>,
    /// Its number in the new file, from 1.
    pub new: Option<u32>,
    /// The line without its end.
    pub text: String,
}

/// What happened to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffMark {
    /// Nothing; it is there for orientation.
    Same,
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Lines are left out here; the text is empty.
    Gap,
}

/// Tokens of one response, as the provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input, cached parts included.
    pub input: Option<u64>,
    /// Output, thinking included.
    pub output: Option<u64>,
    /// Input that came from the provider's cache.
    pub cache_read: Option<u64>,
    /// Input that went into the provider's cache.
    pub cache_write: Option<u64>,
    /// What it cost by the price table, in billionths of the table's currency; `None`: not known, which is not nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nanos: Option<u64>,
}

impl Usage {
    /// Returns how much of the input came from the provider's cache, in hundredths; `None` where that is not known.
    pub fn cached_percent(&self) -> Option<u64> {
        let (input, read) = (self.input.filter(|input| *input > 0)?, self.cache_read?);
        Some((read.min(input)).saturating_mul(100) / input)
    }
}
