//! The protocol between a UI and the server: calls, topics, entries, roles and limits, with one codec.
//! Plain data that builds for wasm; it opens no socket and stores nothing.

mod call;
mod conversation;
mod entry;
mod frame;
mod ids;
pub mod limits;
mod looks;
mod model;
mod prompts;
mod search;
mod session;
mod settings;
mod share;

pub use call::{Answer, Call, CallError, ErrorCode, Method, PlainCall, replies};
pub use conversation::{
    ChildRow, ConversationDelta, ConversationInfo, ConversationState, OpenAnswer, Question,
    QuestionState, RunOutput, SendMode, Submission, SubmissionState, ToolRun, ToolRunState, Turn,
    TurnPhase,
};
pub use entry::{
    Attachment, Author, AuthorKind, Block, DiffLine, DiffMark, Entry, EntryBody, FileHits,
    NestedCall, ToolDetail, ToolOutcome, Usage,
};
pub use frame::{
    ClientFrame, FrameError, ServerFrame, Topic, TopicDelta, TopicState, decode, encode,
};
pub use ids::{
    AccessId, AttachmentId, CallId, ConversationId, EntryId, IdError, QuestionId, RequestId, RunId,
    SessionId, SubmissionId, TurnId,
};
pub use looks::{Looks, ThemeText};
pub use model::{ModelInfo, ModelRef, Policy, Price, Thinking};
pub use prompts::{PromptFault, PromptKind, PromptRow};
pub use search::{ExportFormat, Hit};
pub use session::{GuestMode, Role, SessionRow, SessionState, SessionsDelta, Who};
pub use settings::{
    CompactionSettings, PromptCache, QueueMode, RetrySettings, SettingChange, Settings,
    SettingsFault, SettingsState, ToolRule,
};
pub use share::{DeviceRow, Guest, Person, Presence, Share, Standing, share_words};

/// The version of this protocol; the server names its own in [`ServerFrame::Hello`].
pub const PROTOCOL_VERSION: u32 = 1;
