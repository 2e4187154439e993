//! What a watcher of a conversation sees: a snapshot, and deltas that turn it into the next.
//! Applying a delta twice leaves the same state as once.

use serde::{Deserialize, Serialize};

use crate::{
    Attachment, Author, CallId, ConversationId, Entry, EntryId, ModelRef, NestedCall, Policy,
    QuestionId, RequestId, RunId, SessionState, SubmissionId, Thinking, ToolDetail, TurnId, Usage,
};

/// A conversation as it is now: its newest page of entries and everything that is going on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversationState {
    /// Settings and counts.
    pub info: ConversationInfo,
    /// Committed entries, oldest first; older ones come by `conversation.history`.
    pub entries: Vec<Entry>,
    /// Whether there are entries before the first.
    pub has_older: bool,
    /// Submissions on their way in, oldest first.
    pub submissions: Vec<Submission>,
    /// The turn that is going on.
    pub turn: Option<Turn>,
    /// Questions that wait for a person, oldest first.
    pub questions: Vec<Question>,
    /// Conversations that were opened from this one, oldest first.
    #[serde(default)]
    pub children: Vec<ChildRow>,
}

/// A conversation that was opened from another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildRow {
    /// Which conversation.
    pub id: ConversationId,
    /// Its title; never empty.
    pub title: String,
    /// The call of `delegate` that opened it; `None`: a person did.
    #[serde(default)]
    pub call: Option<CallId>,
    /// What it is doing.
    pub state: SessionState,
    /// Whether it is put away; such a one takes no input.
    #[serde(default)]
    pub archived: bool,
}

/// Settings and counts of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversationInfo {
    /// Which conversation.
    pub id: ConversationId,
    /// The working directory, as shown.
    pub cwd: String,
    /// The git branch there, where there is one.
    pub branch: Option<String>,
    /// The model that answers.
    pub model: ModelRef,
    /// Whether that model is the stand-in that is no language model.
    pub practice: bool,
    /// How much it thinks.
    pub thinking: Thinking,
    /// What tools may do without asking.
    pub policy: Policy,
    /// Tokens that the next request would hold, estimated.
    pub context_tokens: u64,
    /// The model's context window in tokens, where known.
    pub context_limit: Option<u64>,
    /// What the whole session used so far.
    pub usage: Usage,
    /// Its own title; `None`: it is the root and has the session's.
    #[serde(default)]
    pub title: Option<String>,
    /// The conversation it was opened from; `None`: it is the root.
    #[serde(default)]
    pub parent: Option<ConversationId>,
    /// Why it takes no input, for a person; `None`: it does. It can be stopped all the same.
    #[serde(default)]
    pub read_only: Option<String>,
    /// The error that `conversation.retry` would try again, where the last input failed.
    #[serde(default)]
    pub failed: Option<EntryId>,
    /// What the last answer used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Usage>,
    /// Responses of the whole session whose cost is not known: the sum in `usage` is without them.
    #[serde(default)]
    pub unpriced: u64,
    /// Which version of the templates and skills holds; with another, `prompts.list` has other rows.
    #[serde(default)]
    pub prompts: u64,
}

/// How a submission meets a turn that is going on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendMode {
    /// It waits until the turn has ended.
    #[default]
    FollowUp,
    /// It enters the running turn before the next model request.
    Steer,
}

/// A person's input on its way in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// Its id.
    pub id: SubmissionId,
    /// The client's id of it, by which the client knows its own.
    pub request: RequestId,
    /// Who sent it.
    pub author: Author,
    /// How it was sent.
    pub mode: SendMode,
    /// The text.
    pub text: String,
    /// The files that came with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Where it is.
    pub state: SubmissionState,
}

/// Where a submission is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubmissionState {
    /// Committed, waiting for its turn.
    Queued,
}

/// The turn that is going on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Which turn.
    pub id: TurnId,
    /// When it began, in milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// What it waits for.
    pub phase: TurnPhase,
    /// The answer that is coming in.
    pub answer: Option<OpenAnswer>,
    /// Tool calls of the newest answer that have no result yet, in order.
    pub tools: Vec<ToolRun>,
}

/// What a turn waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnPhase {
    /// The model.
    Model,
    /// Tools.
    Tools,
    /// A person.
    Question,
    /// The time of the next try.
    Retry {
        /// When, in milliseconds since the Unix epoch.
        at_ms: u64,
        /// Which try comes next, from 2.
        attempt: u32,
        /// What went wrong, for a person.
        reason: String,
    },
    /// It was asked to stop and is winding down.
    Stopping,
    /// The model, for a summary that takes the place of what came before.
    Compacting,
}

/// An answer that is coming in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAnswer {
    /// Grows with each request of the turn, so that text of a failed try is never joined to the next.
    pub attempt: u32,
    /// Thinking so far.
    pub thinking: String,
    /// Text so far.
    pub text: String,
}

/// A tool call that has no result yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolRun {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// What it is about, one line.
    pub subject: String,
    /// Where it is.
    pub state: ToolRunState,
    /// When it started to run, in milliseconds since the Unix epoch.
    pub started_ms: Option<u64>,
    /// Its output so far, for a command.
    pub output: Option<RunOutput>,
    /// The calls that a script has made so far, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<NestedCall>,
}

/// Where a tool call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolRunState {
    /// It waits for its turn.
    Queued,
    /// It waits for a person's answer.
    Asking,
    /// It runs.
    Running,
}

/// What a row tells of a command's output; the bytes are read with `output.read`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOutput {
    /// The run.
    pub run: RunId,
    /// Bytes so far.
    pub bytes: u64,
    /// Grows when the kept bytes were replaced; reads name it.
    pub generation: u32,
    /// Whether nothing more comes.
    pub complete: bool,
    /// Whether the source itself lost a part.
    pub source_incomplete: bool,
}

/// Something a turn waits for a person to answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its id; it stays the same through crashes.
    pub id: QuestionId,
    /// The tool call it is about.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// Exactly what would be done: the command, or the path.
    pub subject: String,
    /// What to look at before answering; e.g. the diff.
    pub detail: ToolDetail,
    /// When it was asked, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Whether it still waits.
    pub state: QuestionState,
}

/// Whether a question still waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionState {
    /// It waits.
    Open,
    /// Someone answered it.
    Answered {
        /// Who.
        by: Author,
        /// What, in a word.
        answer: String,
    },
    /// The turn was stopped.
    Withdrawn,
}

/// One change to a [`ConversationState`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConversationDelta {
    /// An entry was committed.
    Entry {
        /// The entry.
        entry: Box<Entry>,
    },
    /// The settings or counts changed.
    Info {
        /// The new ones.
        info: Box<ConversationInfo>,
    },
    /// The submissions on their way in changed.
    Submissions {
        /// All of them.
        submissions: Vec<Submission>,
    },
    /// The turn began, changed or ended. Its open answer comes along whole.
    Turn {
        /// The turn.
        turn: Option<Box<Turn>>,
    },
    /// The open answer grew.
    Grow {
        /// The turn.
        turn: TurnId,
        /// The attempt it belongs to.
        attempt: u32,
        /// Bytes of thinking before the addition.
        thinking_at: u64,
        /// Thinking that was added.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        thinking: String,
        /// Bytes of text before the addition.
        text_at: u64,
        /// Text that was added.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// A tool call of the turn changed.
    Tool {
        /// The turn.
        turn: TurnId,
        /// The call as it is now.
        tool: Box<ToolRun>,
    },
    /// The questions changed; those not named here are gone.
    Questions {
        /// All that wait.
        questions: Vec<Question>,
    },
    /// The children changed.
    Children {
        /// All of them.
        children: Vec<ChildRow>,
    },
}

impl ConversationState {
    /// Applies one change. Twice is the same as once; a change to what is not there is ignored.
    pub fn apply(&mut self, delta: &ConversationDelta) {
        match delta {
            ConversationDelta::Entry { entry } => self.apply_entry(entry),
            ConversationDelta::Info { info } => self.info = (**info).clone(),
            ConversationDelta::Submissions { submissions } => {
                self.submissions.clone_from(submissions)
            }
            ConversationDelta::Turn { turn } => self.turn = turn.as_deref().cloned(),
            ConversationDelta::Grow {
                turn,
                attempt,
                thinking_at,
                thinking,
                text_at,
                text,
            } => {
                if let Some(answer) = self.open_answer(*turn, *attempt) {
                    splice(&mut answer.thinking, *thinking_at, thinking);
                    splice(&mut answer.text, *text_at, text);
                }
            }
            ConversationDelta::Tool { turn, tool } => self.apply_tool(*turn, tool),
            ConversationDelta::Questions { questions } => self.questions.clone_from(questions),
            ConversationDelta::Children { children } => self.children.clone_from(children),
        }
    }

    /// Returns the place of the entry with this id, where it is loaded.
    pub fn position(&self, id: EntryId) -> Option<usize> {
        self.entries
            .binary_search_by_key(&id, |entry| entry.id)
            .ok()
    }

    fn apply_entry(&mut self, entry: &Entry) {
        match self.entries.binary_search_by_key(&entry.id, |e| e.id) {
            Ok(at) => self.entries[at] = entry.clone(),
            Err(at) => self.entries.insert(at, entry.clone()),
        }
    }

    fn open_answer(&mut self, turn: TurnId, attempt: u32) -> Option<&mut OpenAnswer> {
        self.turn
            .as_mut()
            .filter(|t| t.id == turn)
            .and_then(|t| t.answer.as_mut())
            .filter(|a| a.attempt == attempt)
    }

    fn apply_tool(&mut self, turn: TurnId, tool: &ToolRun) {
        let Some(turn) = self.turn.as_mut().filter(|t| t.id == turn) else {
            return;
        };
        match turn.tools.iter_mut().find(|t| t.call == tool.call) {
            Some(there) => *there = tool.clone(),
            None => turn.tools.push(tool.clone()),
        }
    }
}

/// Puts `addition` at byte `at`, where the text reaches that far and has a character boundary there.
fn splice(text: &mut String, at: u64, addition: &str) {
    let Ok(at) = usize::try_from(at) else { return };
    if addition.is_empty() || !text.is_char_boundary(at) {
        return;
    }
    let end = at.saturating_add(addition.len());
    if text.get(at..end) != Some(addition) {
        text.truncate(at);
        text.push_str(addition);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_twice_is_growing_once() {
        let mut text = String::from("Grüße");
        splice(&mut text, 7, " Welt");
        splice(&mut text, 7, " Welt");
        assert_eq!(text, "Grüße Welt");
        splice(&mut text, 3, "x");
        assert_eq!(text, "Grüße Welt", "not inside a character");
        splice(&mut text, 100, "x");
        assert_eq!(text, "Grüße Welt", "not beyond the end");
    }
}
