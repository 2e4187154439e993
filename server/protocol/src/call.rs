//! Calls: one request, one reply or error. Those that change something carry a client-made request id.

use serde::{Deserialize, Serialize};

use crate::{
    AccessId, AttachmentId, ConversationId, EntryId, ExportFormat, GuestMode, ModelRef, Policy,
    QuestionId, RequestId, RunId, SendMode, SessionId, SettingChange, SubmissionId, Thinking,
};

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident = $wire:literal { $($(#[$fdoc:meta])* $field:ident : $ty:ty),* $(,)? })*) => {
        /// A call with its parameters.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "method", content = "params")]
        pub enum Call {
            $($(#[$doc])* #[serde(rename = $wire)] $name { $($(#[$fdoc])* $field: $ty),* },)*
        }

        /// [`Call`] for formats that do not describe themselves, which its form on the wire needs; for `serde(with)`.
        #[derive(Serialize, Deserialize)]
        #[serde(remote = "Call")]
        #[expect(missing_docs, reason = "each is the call of that name")]
        pub enum PlainCall {
            $($name { $($field: $ty),* },)*
        }

        /// A call without its parameters: the row of the permission table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Method {
            $($(#[$doc])* $name,)*
        }

        impl Call {
            /// Returns which call it is.
            pub fn method(&self) -> Method {
                match self { $(Self::$name { .. } => Method::$name,)* }
            }
        }

        impl Method {
            /// Every method, in the order of this file.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns its name on the wire.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $wire,)* }
            }
        }
    };
}

calls! {
    /// Makes a session. Reply: [`replies::Created`].
    SessionCreate = "session.create" {
        /// The client's id of it.
        request: RequestId,
        /// The directory; `None`: the owner's home.
        dir: Option<String>,
        /// The title; `None`: made from the first message.
        title: Option<String>,
        /// The model; `None`: the default.
        model: Option<ModelRef>,
    }
    /// Gives a session another title. Reply: [`replies::Done`].
    SessionRename = "session.rename" {
        /// Which session.
        session: SessionId,
        /// The title, not empty.
        title: String,
    }
    /// Puts a session first, or back. Reply: [`replies::Done`].
    SessionPin = "session.pin" {
        /// Which session.
        session: SessionId,
        /// Whether it stands first.
        pinned: bool,
    }
    /// Puts a session away; its worker stops. Reply: [`replies::Done`].
    SessionArchive = "session.archive" {
        /// Which session.
        session: SessionId,
    }
    /// Brings an archived session back, or one that was deleted a moment ago. Reply: [`replies::Done`].
    SessionRestore = "session.restore" {
        /// Which session.
        session: SessionId,
    }
    /// Clears a worker's failure and starts it again. Reply: [`replies::Done`].
    SessionRetry = "session.retry" {
        /// Which session.
        session: SessionId,
    }
    /// Marks what was answered as read. Reply: [`replies::Done`].
    SessionRead = "session.read" {
        /// Which session.
        session: SessionId,
    }
    /// Sends input. The reply comes once it is committed. Reply: [`replies::Submitted`].
    Submit = "conversation.submit" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// The client's id of it.
        request: RequestId,
        /// How it meets a running turn.
        mode: SendMode,
        /// The text; blank only where there are attachments.
        text: String,
        /// Uploaded files that belong to it, at most ten.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<AttachmentId>,
    }
    /// Takes a queued submission back. Reply: [`replies::Withdrawn`].
    Withdraw = "conversation.withdraw" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// Which submission.
        submission: SubmissionId,
        /// The client's id of it; with one, a resend after a lost reply gets the same reply.
        request: Option<RequestId>,
    }
    /// Stops the running turn; queued submissions stay queued. Reply: [`replies::Done`].
    Stop = "conversation.stop" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// The client's id of it.
        request: RequestId,
    }
    /// Answers a question; the first answer counts. Reply: [`replies::Answered`].
    AnswerQuestion = "conversation.answer" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// The client's id of it.
        request: RequestId,
        /// Which question.
        question: QuestionId,
        /// The answer.
        answer: Answer,
    }
    /// Changes settings for the next model request. Reply: [`replies::Done`].
    Configure = "conversation.configure" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// Another model.
        model: Option<ModelRef>,
        /// Another thinking level.
        thinking: Option<Thinking>,
        /// Another policy.
        policy: Option<Policy>,
    }
    /// Runs a person's command without a turn. The reply comes once it is recorded as started. Reply: [`replies::Submitted`].
    Shell = "conversation.shell" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// The client's id of it.
        request: RequestId,
        /// The command line.
        command: String,
        /// Whether the next model request contains it.
        included: bool,
    }
    /// Reads entries before one. Reply: [`replies::History`].
    History = "conversation.history" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// Entries older than this one; `None`: the newest.
        before: Option<EntryId>,
        /// At most so many, and at most a page.
        limit: u32,
    }
    /// Reads a range of a command's output. Reply: [`replies::Output`].
    OutputRead = "output.read" {
        /// Which session.
        session: SessionId,
        /// Which run.
        run: RunId,
        /// The generation that the row named.
        generation: u32,
        /// First byte.
        from: u64,
        /// How many bytes, 1 to 256 KiB.
        bytes: u32,
    }
    /// Lists the models that can be chosen. Reply: [`replies::Models`].
    Models = "models.list" {
    }
    /// Lets the model begin anew: it sees nothing from before. Reply: [`replies::Done`].
    Reset = "conversation.reset" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// The client's id of it.
        request: RequestId,
    }
    /// Has the model sum up what came before, and go on with the summary. The reply comes once that has begun. Reply: [`replies::Done`].
    Compact = "conversation.compact" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// The client's id of it.
        request: RequestId,
        /// What the summary is to heed; may be empty.
        instructions: String,
    }
    /// Tries the input again that failed last. Reply: [`replies::Done`].
    Retry = "conversation.retry" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// The client's id of it.
        request: RequestId,
    }
    /// Takes an entry out of what the model sees, or puts it back. Reply: [`replies::Done`].
    Exclude = "conversation.exclude" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// The client's id of it.
        request: RequestId,
        /// Which entry.
        entry: EntryId,
        /// Whether the model is not to see it.
        excluded: bool,
    }
    /// Opens a child conversation without any history. Reply: [`replies::Opened`].
    OpenChild = "conversation.open" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// The client's id of it.
        request: RequestId,
        /// Its title; `None`: made from its first message.
        title: Option<String>,
    }
    /// Opens a child conversation that continues the history up to an entry. Reply: [`replies::Opened`].
    Fork = "conversation.fork" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// The client's id of it.
        request: RequestId,
        /// The last entry that it has.
        entry: EntryId,
        /// Its title; `None`: made from the entry.
        title: Option<String>,
    }
    /// Puts a child away, or brings it back. Reply: [`replies::Done`].
    ArchiveChild = "conversation.archive" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// The client's id of it.
        request: RequestId,
        /// Whether it is put away.
        archived: bool,
    }
    /// Works in another directory from now on; conversations that have none of their own follow. Reply: [`replies::Done`].
    Move = "conversation.move" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// The client's id of it.
        request: RequestId,
        /// The directory; from the present one, or absolute. `None`: that of the conversation it was opened from.
        dir: Option<String>,
    }
    /// Finds names below the working directory, for a message that names files. Reply: [`replies::Files`].
    FilesFind = "files.find" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// What was typed of the path, at most 200 characters: its letters in their order; empty: the first names.
        query: String,
        /// At most so many, and at most 100.
        limit: u32,
    }
    /// Finds words in what was said and in titles, archived sessions included. Reply: [`replies::Found`].
    Search = "search" {
        /// Only in this session; `None`: wherever the caller may read.
        session: Option<SessionId>,
        /// What was typed, at most 200 characters: all of its words, the last one as its beginning; words in double quotes stand
        /// together.
        text: String,
        /// At most so many, and at most 100.
        limit: u32,
        /// Goes on where a reply named this as its `next`; `None`: the best.
        before: Option<u64>,
    }
    /// Writes a session into one file, to be downloaded. Reply: [`replies::Exported`].
    SessionExport = "session.export" {
        /// Which session.
        session: SessionId,
        /// As what.
        format: ExportFormat,
    }
    /// Makes a share link. Reply: [`replies::Shared`]. The same request again replaces a link that nobody has used yet.
    ShareCreate = "share.create" {
        /// Which session.
        session: SessionId,
        /// The client's id of it.
        request: RequestId,
        /// How much its guests may do.
        mode: GuestMode,
        /// Whether they may answer questions.
        may_approve: bool,
        /// Whether only the first who uses it comes in.
        once: bool,
        /// What the owner calls it, at most 40 characters; may be empty.
        name: String,
        /// For how many seconds; `None`: seven days.
        seconds: Option<u64>,
    }
    /// Lists share links and who came by them. Reply: [`replies::Shares`].
    ShareList = "share.list" {
        /// Only those of this session.
        session: Option<SessionId>,
    }
    /// Ends a share link with all its guests, or one guest's access; now. Reply: [`replies::Done`].
    ShareRevoke = "share.revoke" {
        /// The link or the guest.
        id: AccessId,
    }
    /// Lists the owner's devices. Reply: [`replies::Devices`].
    DeviceList = "device.list" {
    }
    /// Ends a device's access; now. Reply: [`replies::Done`].
    DeviceSignOut = "device.sign_out" {
        /// Which.
        device: AccessId,
    }
    /// Reads the settings. Reply: [`crate::SettingsState`].
    SettingsGet = "settings.get" {
    }
    /// Changes settings, all or none. Reply: [`crate::SettingsState`] as it is then.
    SettingsSave = "settings.save" {
        /// The client's id of it.
        request: RequestId,
        /// What to change, at most 64.
        changes: Vec<SettingChange>,
    }
    /// Finds models of providers whose key is there. Reply: [`replies::ModelsFound`].
    ModelsFind = "models.find" {
        /// Words that are all in provider, name or id; at most 200 characters. Empty: all.
        query: String,
        /// At most so many, and at most 300.
        limit: u32,
    }
    /// Lists the models to step through, in order. Reply: [`replies::Scope`].
    ModelsScope = "models.scope" {
    }
    /// Lists templates and skills that can be typed as `/name` in a conversation. Reply: [`replies::Prompts`].
    PromptsList = "prompts.list" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
    }
    /// Lists what each response of a conversation used, the newest first. Reply: [`replies::Responses`].
    Responses = "usage.responses" {
        /// Which session.
        session: SessionId,
        /// Which conversation.
        conversation: ConversationId,
        /// Responses older than this entry; `None`: the newest.
        before: Option<EntryId>,
        /// At most so many, and at most 200.
        limit: u32,
    }
    /// Takes a session out of every list and ends its work and its shares; for [`crate::limits::UNDO_SECONDS`] a restore
    /// brings it back, then nothing of it is left. Reply: [`replies::Done`].
    SessionDelete = "session.delete" {
        /// Which session.
        session: SessionId,
    }
    /// Makes a session that begins as another one is now; refused while that one works. Reply: [`replies::Created`].
    SessionClone = "session.clone" {
        /// Which session is copied.
        session: SessionId,
        /// The client's id of it.
        request: RequestId,
        /// The title; `None`: made from that of the other.
        title: Option<String>,
    }
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Do it, this time.
    Yes,
    /// Do it, and do exactly this again in this session without asking.
    Always,
    /// Do not.
    No {
        /// Words for the model; may be empty.
        why: String,
    },
    /// Do this instead.
    Edit {
        /// The command to run in its place.
        command: String,
    },
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// For programs.
    pub code: ErrorCode,
    /// For people: what failed.
    pub message: String,
    /// For people: what to do next; may be empty.
    #[serde(default)]
    pub hint: String,
}

impl CallError {
    /// Returns an error without a hint.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: String::new(),
        }
    }

    /// Returns the error with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}

/// Why a call failed, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The caller may not.
    NotAllowed,
    /// There is no such thing, or the caller may not know of it.
    NotFound,
    /// The parameters make no sense.
    Invalid,
    /// The state of things is another than the caller thought.
    Conflict,
    /// Too much at once.
    Busy,
    /// Too large.
    TooLarge,
    /// The worker, the disk or the network does not answer now.
    Unavailable,
    /// A fault of the server.
    Internal,
}

/// The replies, by call.
pub mod replies {
    use serde::{Deserialize, Serialize};

    use crate::{
        ConversationId, DeviceRow, Entry, EntryId, Hit, ModelInfo, ModelRef, PromptFault,
        PromptRow, SessionId, Share, SubmissionId, Thinking, Usage,
    };

    /// Nothing to tell.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Done {}

    /// A session was made, or had been by the same request.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Created {
        /// Which.
        pub session: SessionId,
    }

    /// Input is committed, or had been by the same request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Submitted {
        /// As which submission.
        pub submission: SubmissionId,
    }

    /// A conversation was opened, or had been by the same request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Opened {
        /// Which.
        pub conversation: ConversationId,
    }

    /// A submission was taken back.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Withdrawn {
        /// Its text.
        pub text: String,
    }

    /// What became of an answer.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Answered {
        /// Whether this answer counted; otherwise another came first or the question is gone.
        pub counted: bool,
        /// For a person, where it did not count.
        pub message: String,
    }

    /// A page of entries, oldest first.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct History {
        /// The entries.
        pub entries: Vec<Entry>,
        /// Whether there are older ones.
        pub has_older: bool,
    }

    /// A range of a command's output.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Output {
        /// The bytes, base64 with padding.
        pub base64: String,
        /// First byte.
        pub from: u64,
        /// Bytes in the whole output now.
        pub total: u64,
        /// The generation read.
        pub generation: u32,
        /// Whether nothing more comes.
        pub complete: bool,
    }

    /// Names below the working directory.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Files {
        /// The best first; a folder ends in `/`. Names that are no UTF-8 or hold control characters are left out.
        pub files: Vec<String>,
        /// Whether there are more, or the tree was too large to look at all of it.
        pub truncated: bool,
    }

    /// What a search found.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Found {
        /// The best first; of equally good ones the newest.
        pub hits: Vec<Hit>,
        /// What to give as `before` for those that come next; `None`: there are none.
        pub next: Option<u64>,
        /// Whether some sessions are not looked through yet: a later search may find more.
        pub behind: bool,
    }

    /// A session was written into a file. It is there for an hour.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Exported {
        /// Its id, to download it by.
        pub export: String,
        /// A name for it.
        pub name: String,
        /// Its size in bytes.
        pub bytes: u64,
    }

    /// The models that can be chosen.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Models {
        /// In the order to show.
        pub models: Vec<ModelInfo>,
        /// The one that new sessions get.
        pub default: ModelRef,
        /// The file in which to configure more, as shown.
        pub config_path: String,
    }

    /// A share link was made. Its text is a secret, shown this once, so it has no `Debug`.
    #[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Shared {
        /// The link, to hand on. A secret.
        pub link: String,
        /// What is kept of it.
        pub share: Share,
        /// Whether it reaches only this machine (and who forwards a port to it).
        pub only_here: bool,
    }

    /// Models that were found.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct ModelsFound {
        /// The best first.
        pub models: Vec<ModelInfo>,
        /// How many more there are.
        pub more: u64,
    }

    /// The models to step through.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Scope {
        /// In order; each once. Without any pattern in the settings: every model that is ready.
        pub models: Vec<ScopedModel>,
        /// Patterns that no model fits.
        #[serde(default)]
        pub unmatched: Vec<String>,
    }

    /// A model to step to.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct ScopedModel {
        /// Which.
        pub model: ModelRef,
        /// The thinking level that comes with it, one the model has; `None`: as it is.
        pub thinking: Option<Thinking>,
    }

    /// What can be typed as `/name`.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Prompts {
        /// By name.
        pub prompts: Vec<PromptRow>,
        /// Files that are not in force as they are.
        #[serde(default)]
        pub faults: Vec<PromptFault>,
        /// Which version; [`crate::ConversationInfo::prompts`] tells of another.
        pub version: u64,
    }

    /// What responses used.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Responses {
        /// The newest first.
        pub responses: Vec<ResponseRow>,
        /// Whether there are older ones.
        pub has_older: bool,
    }

    /// What one response used.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct ResponseRow {
        /// The answer.
        pub entry: EntryId,
        /// Milliseconds since the Unix epoch.
        pub at_ms: u64,
        /// Which model.
        pub model: ModelRef,
        /// What it used and what that cost; `None`: the provider did not say.
        pub usage: Option<Usage>,
        /// Why it ended, in the provider's word.
        pub stop: Option<String>,
        /// Whether it is only a part: the stream broke, or someone stopped it.
        pub incomplete: bool,
    }

    /// The share links.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Shares {
        /// The newest first.
        pub shares: Vec<Share>,
    }

    /// The owner's devices.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Devices {
        /// The newest first.
        pub devices: Vec<DeviceRow>,
    }
}
