//! What is kept of a session, as plain rows: what the core asks to have committed and what it starts from again.
//! It knows no SQL and decides nothing.

use std::collections::BTreeSet;

use porthole_protocol::{
    Attachment, Author, CallId, ConversationId, Entry, EntryId, ModelRef, NestedCall, Policy,
    Question, QuestionId, RequestId, RunId, SendMode, SubmissionId, Thinking, TurnId, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::AnswerBlock;

/// One row to write. A row that is there already under the same id is replaced; entries never are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Record {
    /// Settings and sums of a conversation.
    Conversation(ConversationRow),
    /// A new entry, and what only a provider can read of it.
    Entry {
        /// The conversation.
        conversation: ConversationId,
        /// The entry.
        entry: Box<Entry>,
        /// The provider's own form of an answer.
        blocks: Option<Vec<AnswerBlock>>,
    },
    /// A submission as it is now.
    Submission(SubmissionRow),
    /// A turn as it is now.
    Turn(TurnRow),
    /// A tool call as it is now.
    Call(CallRow),
    /// A question as it is now.
    Question(QuestionRow),
    /// A person's command as it is now.
    Shell(ShellRow),
    /// What may be done without asking from now on.
    Allowed(String),
    /// A call that changed something, and its reply.
    Request(RequestRow),
}

impl Record {
    /// Returns the id of the entry that it is.
    pub(crate) fn entry(&self) -> Option<u64> {
        match self {
            Self::Entry { entry, .. } => Some(entry.id.0),
            _ => None,
        }
    }
}

/// Settings and sums of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ConversationRow {
    pub(crate) id: ConversationId,
    pub(crate) model: ModelRef,
    pub(crate) thinking: Thinking,
    pub(crate) policy: Policy,
    /// A title made from the first message.
    pub(crate) title: Option<String>,
    /// Whether queued submissions wait for the next one: a turn was stopped or failed.
    pub(crate) paused: bool,
    pub(crate) usage: Usage,
    /// The conversation it was opened from; `None`: it is the root.
    #[serde(default)]
    pub(crate) parent: Option<ConversationId>,
    /// The call of `delegate` that opened it.
    #[serde(default)]
    pub(crate) call: Option<CallId>,
    /// Whose history it continues.
    #[serde(default)]
    pub(crate) fork: Option<ForkPoint>,
    #[serde(default)]
    pub(crate) archived: bool,
    /// Its own directory, absolute; `None`: that of its parent, and of the session for the root.
    #[serde(default)]
    pub(crate) dir: Option<String>,
    /// How many conversations are above it.
    #[serde(default)]
    pub(crate) depth: u32,
    /// Responses whose cost is not known.
    #[serde(default)]
    pub(crate) unpriced: u64,
    /// The guests whose turn opened it: they bind what its tools may do.
    #[serde(default)]
    pub(crate) for_guests: BTreeSet<String>,
}

/// Where a fork leaves the conversation that it continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ForkPoint {
    pub(crate) conversation: ConversationId,
    /// The last entry that both have.
    pub(crate) entry: EntryId,
}

fn root() -> ConversationId {
    ConversationId::ROOT
}

/// A person's input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SubmissionRow {
    pub(crate) id: SubmissionId,
    #[serde(default = "root")]
    pub(crate) conversation: ConversationId,
    pub(crate) request: RequestId,
    pub(crate) author: Author,
    pub(crate) mode: SendMode,
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) at_ms: u64,
    pub(crate) stage: SubmissionStage,
    /// The turn that took it.
    pub(crate) turn: Option<TurnId>,
}

impl SubmissionRow {
    pub(crate) fn is_steer(&self) -> bool {
        self.mode == SendMode::Steer
    }
}

/// How far a submission got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SubmissionStage {
    /// It waits.
    Queued,
    /// A turn has it.
    Taken,
    /// Its author took it back.
    Withdrawn,
}

/// A turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TurnRow {
    pub(crate) id: TurnId,
    #[serde(default = "root")]
    pub(crate) conversation: ConversationId,
    pub(crate) started_ms: u64,
    pub(crate) stage: TurnStage,
    /// The summary that is being made; the turn goes on with it.
    #[serde(default)]
    pub(crate) compaction: Option<CompactionRow>,
}

/// A summary that is being made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CompactionRow {
    /// Whether nobody asked for it; then the turn has input to answer afterwards.
    pub(crate) automatic: bool,
    /// What it is to heed.
    pub(crate) instructions: String,
}

/// How far a turn got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TurnStage {
    /// It goes on, also after a crash.
    Running,
    /// It was told to stop; after a crash it ends.
    Stopping,
    /// It is over.
    Ended,
}

/// A tool call of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallRow {
    pub(crate) call: CallId,
    pub(crate) turn: TurnId,
    pub(crate) tool: String,
    pub(crate) subject: String,
    /// Kept in the answer's entry only; `None`: they were no valid JSON.
    #[serde(skip)]
    pub(crate) arguments: Option<Value>,
    pub(crate) stage: CallStage,
    /// The command that a person put in its place.
    pub(crate) command: Option<String>,
    pub(crate) started_ms: Option<u64>,
    /// The conversation that does the work of a `delegate` call.
    #[serde(default)]
    pub(crate) child: Option<ConversationId>,
    /// The calls that it made, where it is a script. One without an outcome may have run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) nested: Vec<NestedCall>,
    /// The script that made it. Such a call has no row: it stands in that of its script.
    #[serde(skip)]
    pub(crate) parent: Option<CallId>,
}

/// How far a tool call got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallStage {
    /// It has not begun.
    Queued,
    /// It may have begun; after a crash it is not run again.
    Started,
    /// Its result is an entry.
    Done,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct QuestionRow {
    pub(crate) turn: TurnId,
    pub(crate) question: Question,
}

/// A command that a person ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShellRow {
    pub(crate) id: SubmissionId,
    #[serde(default = "root")]
    pub(crate) conversation: ConversationId,
    pub(crate) turn: TurnId,
    pub(crate) run: RunId,
    pub(crate) author: Author,
    pub(crate) command: String,
    pub(crate) included: bool,
    pub(crate) started_ms: u64,
    pub(crate) done: bool,
}

/// A call that changed something, so that the same one again gets the same reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestRow {
    /// Who asked, which method, and the client's id.
    pub(crate) key: String,
    /// The reply, as JSON.
    pub(crate) reply: String,
    pub(crate) at_ms: u64,
}

/// The highest ids in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    entry: u64,
    submission: u64,
    turn: u64,
    question: u64,
    conversation: u64,
}

impl Counters {
    /// Returns counters that continue after these ids.
    pub(crate) fn after(
        entry: u64,
        submission: u64,
        turn: u64,
        question: u64,
        conversation: u64,
    ) -> Self {
        Self {
            entry,
            submission,
            turn,
            question,
            conversation,
        }
    }

    pub(crate) fn conversation(&mut self) -> ConversationId {
        self.conversation += 1;
        ConversationId(self.conversation)
    }

    pub(crate) fn entry(&mut self) -> EntryId {
        self.entry += 1;
        EntryId(self.entry)
    }

    /// Returns the id of call `n` of the entry that comes next.
    pub(crate) fn call(&self, n: usize) -> CallId {
        let id = format!("c{}-{}", self.entry + 1, n + 1);
        CallId::parse(&id).expect("letters, digits and a hyphen, and short")
    }

    pub(crate) fn submission(&mut self) -> SubmissionId {
        self.submission += 1;
        SubmissionId(self.submission)
    }

    pub(crate) fn turn(&mut self) -> TurnId {
        self.turn += 1;
        TurnId(self.turn)
    }

    pub(crate) fn question(&mut self) -> QuestionId {
        self.question += 1;
        QuestionId(self.question)
    }
}

/// Everything a conversation starts from after the worker was away.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Loaded {
    pub(crate) row: ConversationRow,
    pub(crate) counters: Counters,
    /// What the model sees: entries after the last reset or from the last compaction on, oldest first.
    pub(crate) active: Vec<(Entry, Option<Vec<AnswerBlock>>)>,
    /// Those that wait, oldest first.
    pub(crate) queue: Vec<SubmissionRow>,
    /// The turn that had not ended.
    pub(crate) turn: Option<TurnRow>,
    /// Calls of that turn that have no result, in order.
    pub(crate) calls: Vec<CallRow>,
    /// The newest questions, settled ones too, oldest first.
    pub(crate) questions: Vec<QuestionRow>,
    /// Commands of people that had not ended.
    pub(crate) shells: Vec<ShellRow>,
    pub(crate) allowed: Vec<String>,
    /// When something last happened.
    pub(crate) updated_ms: u64,
}
