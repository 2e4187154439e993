//! What people do with a conversation as a whole: reset, retry, exclusion, children, forks, moving, archiving.
//! Summaries are not here.

use porthole_protocol::{
    Author, AuthorKind, Block, CallError, ConversationId, Entry, EntryBody, EntryId, ErrorCode,
    RequestId, SendMode, ToolDetail, ToolOutcome, Usage, replies,
};

use crate::{
    call::told,
    conversation::{Conversation, Effect, Out},
    fit,
    record::{CallRow, ConversationRow, ForkPoint, Record, SubmissionRow, SubmissionStage},
    tool::ToolResult,
};

/// How deep conversations nest below the root.
pub(crate) const MOST_DEPTH: u32 = 3;
/// Most conversations of a session.
const MOST_CONVERSATIONS: u64 = 1_000;
/// Longest title of a child, in bytes.
const TITLE_BYTES: usize = 80;

impl Conversation {
    pub(crate) fn reset(&mut self, author: &Author, out: &mut Out) -> Result<(), CallError> {
        self.rests("reset")?;
        self.add(author.clone(), None, EntryBody::Reset, None, out);
        Ok(())
    }

    pub(crate) fn retry(&mut self, author: &Author, out: &mut Out) -> Result<(), CallError> {
        self.rests("try again")?;
        let Some(error) = self.failed else {
            let message = "nothing has failed that could be tried again";
            return Err(CallError::new(ErrorCode::Conflict, message));
        };
        if self.row.paused {
            self.row.paused = false;
            self.record_row(out);
        }
        self.add(
            author.clone(),
            None,
            EntryBody::Retried { error },
            None,
            out,
        );
        self.begin_turn(Vec::new(), out);
        Ok(())
    }

    pub(crate) fn exclude(
        &mut self,
        author: &Author,
        entry: EntryId,
        excluded: bool,
        out: &mut Out,
    ) -> Result<(), CallError> {
        match self.context.excluded(entry) {
            None => {
                let message = "the model does not see that entry";
                Err(CallError::new(ErrorCode::NotFound, message))
            }
            Some(is) if is == excluded => Ok(()),
            Some(_) => {
                let body = EntryBody::Excluded { entry, excluded };
                self.add(author.clone(), None, body, None, out);
                Ok(())
            }
        }
    }

    pub(crate) fn open_child(
        &mut self,
        title: Option<String>,
        from: Option<EntryId>,
        out: &mut Out,
    ) -> Result<replies::Opened, CallError> {
        if self.row.depth >= MOST_DEPTH {
            let message = format!("conversations nest at most {MOST_DEPTH} deep");
            return Err(
                CallError::new(ErrorCode::Conflict, message).hint("open it from one further up")
            );
        }
        let fork = from.map(|entry| ForkPoint {
            conversation: self.row.id,
            entry,
        });
        let title = title.or_else(|| from.map(|entry| format!("from entry {entry}")));
        let mut row = self.child_row(title);
        if row.id.0 > MOST_CONVERSATIONS {
            let message = format!("a session has at most {MOST_CONVERSATIONS} conversations");
            return Err(CallError::new(ErrorCode::Busy, message).hint("make a new session"));
        }
        row.fork = fork;
        let conversation = row.id;
        out.record(Record::Conversation(row));
        if let Some(ForkPoint {
            conversation: of,
            entry,
        }) = fork
        {
            let body = EntryBody::Forked {
                conversation: of,
                entry,
            };
            let entry = Entry {
                id: self.counters.entry(),
                at_ms: out.now_ms,
                author: crate::conversation::porthole(),
                turn: None,
                body,
            };
            out.record(Record::Entry {
                conversation,
                entry: Box::new(entry),
                blocks: None,
            });
        }
        Ok(replies::Opened { conversation })
    }

    /// Returns the settings of a new child: those of this one.
    fn child_row(&mut self, title: Option<String>) -> ConversationRow {
        ConversationRow {
            id: self.counters.conversation(),
            model: self.row.model.clone(),
            thinking: self.row.thinking,
            policy: self.row.policy,
            title: title.map(|title| fit::start(title.trim(), TITLE_BYTES)),
            paused: false,
            usage: Usage::default(),
            parent: Some(self.row.id),
            call: None,
            fork: None,
            archived: false,
            dir: None,
            depth: self.row.depth + 1,
            unpriced: 0,
            for_guests: Default::default(),
        }
    }

    pub(crate) fn archive(&mut self, archived: bool, out: &mut Out) -> Result<(), CallError> {
        if self.row.parent.is_none() {
            let message = "the first conversation of a session cannot be put away by itself";
            return Err(CallError::new(ErrorCode::Invalid, message).hint("archive the session"));
        }
        self.rests("put it away")?;
        self.row.archived = archived;
        self.record_row(out);
        Ok(())
    }

    pub(crate) fn move_to(
        &mut self,
        author: &Author,
        dir: Option<String>,
        shown: String,
        out: &mut Out,
    ) -> Result<(), CallError> {
        self.rests("move")?;
        self.row.dir = dir;
        self.record_row(out);
        self.add(
            author.clone(),
            None,
            EntryBody::Moved { dir: shown },
            None,
            out,
        );
        Ok(())
    }

    /// Fails while something goes on that this would pull the ground from under.
    pub(crate) fn rests(&self, what: &str) -> Result<(), CallError> {
        if self.turn.is_none() {
            return Ok(());
        }
        let message = format!("a turn is going on; it has to end before you can {what}");
        Err(CallError::new(ErrorCode::Conflict, message).hint("stop it, or wait"))
    }

    /// Opens the child that does the work of a call. The rows are in the same commit as the call's start, so that
    /// after a crash there are both or none.
    pub(crate) fn delegate(
        &mut self,
        call: &CallRow,
        task: &str,
        title: Option<&str>,
        out: &mut Out,
    ) -> ConversationId {
        let first = task.lines().map(str::trim).find(|line| !line.is_empty());
        let title = title.or(first).unwrap_or("a task");
        let mut row = self.child_row(Some(title.to_owned()));
        row.call = Some(call.call.clone());
        row.for_guests = self.bound_to();
        let child = row.id;
        let submission = SubmissionRow {
            id: self.counters.submission(),
            conversation: child,
            request: RequestId::parse(call.call.as_str())
                .expect("our calls are named with letters, digits and a hyphen"),
            author: self.model_author(),
            mode: SendMode::FollowUp,
            text: task.to_owned(),
            attachments: Vec::new(),
            at_ms: out.now_ms,
            stage: SubmissionStage::Queued,
            turn: None,
        };
        out.record(Record::Conversation(row));
        out.record(Record::Submission(submission));
        out.then(Effect::BeginChild(child));
        child
    }

    /// Returns the model that answers as an author.
    pub(crate) fn model_author(&self) -> Author {
        let model = &self.row.model;
        Author {
            kind: AuthorKind::Model,
            id: model.to_string(),
            name: self
                .model
                .as_ref()
                .map_or_else(|| model.model.clone(), |m| m.name.clone()),
        }
    }

    /// Notes what an entry says of how the conversation stands.
    pub(crate) fn note(&mut self, entry: &Entry) {
        self.note_asker(entry);
        match &entry.body {
            EntryBody::Error { text, .. } => {
                self.failed = Some(entry.id);
                let text = format!("The task failed: {text}");
                self.report = told(ToolOutcome::Failed, "failed", text);
            }
            EntryBody::Answer {
                blocks,
                incomplete: false,
                ..
            } => {
                self.failed = None;
                let text = said(blocks);
                if !text.is_empty() {
                    self.report = told(ToolOutcome::Ok, "done", text);
                }
            }
            EntryBody::Message { .. } | EntryBody::Reset => self.failed = None,
            _ => {}
        }
    }

    /// Notes whose messages wait for an answer, and what the last answer used.
    fn note_asker(&mut self, entry: &Entry) {
        match &entry.body {
            EntryBody::Message { .. } if entry.author.kind == AuthorKind::Guest => {
                self.guests.insert(entry.author.id.clone());
            }
            EntryBody::Answer {
                usage,
                blocks,
                incomplete,
                ..
            } => {
                self.last = *usage;
                let calls = |block: &Block| matches!(block, Block::ToolCall { .. });
                if !incomplete && !blocks.iter().any(calls) {
                    self.guests.clear();
                }
            }
            _ => {}
        }
    }

    /// Returns what the child of a call came to, for the call; `None`: it is not done.
    pub(crate) fn outcome(&self) -> Option<ToolResult> {
        let waits = !self.queue.is_empty() && !self.row.paused;
        if self.turn.is_some() || waits {
            return None;
        }
        let detail = ToolDetail::Child {
            conversation: self.row.id,
            title: self.row.title.clone().unwrap_or_default(),
        };
        Some(ToolResult {
            detail,
            ..self.report.clone()
        })
    }
}

fn said(blocks: &[porthole_protocol::Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        porthole_protocol::Block::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n").trim().to_owned()
}

/// Returns what a child came to that has said nothing yet.
pub(crate) fn nothing_said() -> ToolResult {
    let text = "The task was stopped before it came to anything.".to_owned();
    told(ToolOutcome::Stopped, "stopped", text)
}
