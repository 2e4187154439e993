//! A conversation as a pure state machine: an input goes in, effects come out. It names no runtime, no database and no clock.
//!
//! Laws: what an effect depends on is in the commit that comes before it, and each input makes at most one commit.

use std::{
    collections::{BTreeSet, VecDeque},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use porthole_protocol::{
    Answer, Attachment, Author, AuthorKind, CallError, CallId, ConversationId, Entry, EntryBody,
    EntryId, ErrorCode, ModelInfo, Policy, QuestionId, RequestId, RetrySettings, RunId, RunOutput,
    SendMode, Settings, SubmissionId, Thinking, ToolDetail, TurnId, Usage, replies,
};
use serde_json::Value;

use crate::{
    location::Place,
    model::{self, AnswerBlock, ModelError, Piece, Response, ToolDefinition},
    prompt::Context,
    record::{ConversationRow, Counters, QuestionRow, Record, RequestRow, SubmissionRow},
    shell::LiveShell,
    tool::{PlanError, ToolEffect, ToolResult},
    turn::LiveTurn,
};

/// Where a reply goes: a connection and the client's id of the call.
pub(crate) type Ticket = (u64, u64);

/// Everything that can happen to a conversation.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Someone calls.
    Call(Asked, Request),
    /// A model request ended well.
    ModelDone {
        /// Which request of the turn.
        request: u32,
        /// The answer.
        response: Response,
    },
    /// A model request failed.
    ModelFailed {
        /// Which request of the turn.
        request: u32,
        /// Why.
        error: ModelError,
        /// From 0 to 1.
        jitter: f64,
    },
    /// The time of the next try came.
    RetryDue,
    /// What a question is to show is known.
    Previewed {
        /// Of which call.
        call: CallId,
        /// What to show.
        detail: ToolDetail,
    },
    /// A command has more output.
    Progress {
        /// Which run.
        run: RunId,
        /// How much.
        output: RunOutput,
    },
    /// A tool call ended.
    ToolDone {
        /// Which.
        call: CallId,
        /// How.
        result: ToolResult,
    },
    /// A person's command ended.
    ShellDone {
        /// Which.
        run: RunId,
        /// How.
        result: ToolResult,
    },
    /// A script asks for a call.
    Nested {
        /// The script's call.
        parent: CallId,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
    /// This is what servers offer.
    Offered(Vec<ToolDefinition>),
    /// The worker is up again: what was interrupted is taken up.
    Resume,
    /// The conversation above was stopped by someone.
    StopBy(Author),
}

/// Who calls, where the reply goes, and under which key it is kept (`None`: it is not kept).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) ticket: Ticket,
    pub(crate) author: Author,
    pub(crate) key: Option<String>,
}

/// A call that changes the conversation. Models are resolved, commands not blank, texts not too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Input.
    Submit {
        request: RequestId,
        mode: SendMode,
        text: String,
        attachments: Vec<Attachment>,
    },
    /// Takes input back.
    Withdraw { submission: SubmissionId },
    /// Stops what goes on.
    Stop,
    /// Answers a question.
    Answer {
        question: QuestionId,
        answer: Answer,
    },
    /// Changes settings.
    Configure {
        model: Option<Box<ModelInfo>>,
        thinking: Option<Thinking>,
        policy: Option<Policy>,
    },
    /// Runs a command.
    Shell { command: String, included: bool },
    /// Lets the model begin anew.
    Reset,
    /// Has what came before summed up.
    Compact { instructions: String },
    /// Tries again what failed last.
    Retry,
    /// Takes an entry out of what the model sees, or puts it back.
    Exclude { entry: EntryId, excluded: bool },
    /// Opens a child; with an entry, which is there, one that continues the history up to it.
    Open {
        title: Option<String>,
        from: Option<EntryId>,
    },
    /// Puts a child away, or brings it back.
    Archive { archived: bool },
    /// Works elsewhere: a directory that is there, absolute, and as shown.
    Move { dir: Option<String>, shown: String },
}

/// What is to be done, in this order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// These are on disk before anything that follows.
    Commit(Vec<Record>),
    /// Tell the caller.
    Reply(Ticket, Result<String, CallError>),
    /// Ask the model, with the conversation as it is now.
    RequestModel {
        /// Which request of the turn.
        request: u32,
    },
    /// End the request that goes on.
    CancelModel,
    /// Handle [`Input::RetryDue`] at this time.
    SetRetry {
        /// Milliseconds since the Unix epoch.
        at_ms: u64,
    },
    /// Find out what a question is to show.
    Preview(ToolStart),
    /// Run a tool call.
    StartTool(ToolStart),
    /// Run a person's command.
    StartShell {
        /// The run.
        run: RunId,
        /// The command.
        command: String,
    },
    /// Stop every call and command that runs.
    StopTools,
    /// Let a child that is on disk begin.
    BeginChild(ConversationId),
    /// Stop a child, for someone.
    StopChild(ConversationId, Author),
    /// Have a summary made, with the conversation as it is now.
    Summarize {
        /// Which request of the turn.
        request: u32,
        /// What it is to heed.
        instructions: String,
    },
    /// End what finished commands left running.
    EndLeft,
    /// Ask servers what they offer.
    AskServers,
    /// Tell a script what a call that it asked for came to.
    Nested(CallId, Box<ToolResult>),
}

/// A tool call to run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolStart {
    pub(crate) call: CallId,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    /// The command that a person put in its place.
    pub(crate) command: Option<String>,
    /// What it was to do when that was decided about.
    pub(crate) agreed: Option<Planned>,
}

/// What a call would do, as far as the core looks at it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Planned {
    pub(crate) subject: String,
    pub(crate) effect: ToolEffect,
    /// The file that it would change, without links.
    pub(crate) target: Option<PathBuf>,
}

/// The pure rules that models and tools bring along.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) definitions: fn() -> Vec<ToolDefinition>,
    pub(crate) plan: fn(&str, &Value, &Place) -> Result<Planned, PlanError>,
    pub(crate) subject: fn(&str, &Value) -> String,
    pub(crate) retry_delay: fn(&RetrySettings, &ModelError, u32, f64) -> Option<Duration>,
    /// Whether there may be tools of servers, to be asked for when a turn begins.
    pub(crate) servers: bool,
}

/// What an input leads to: rows for one commit, then replies, then the rest.
#[derive(Debug)]
pub(crate) struct Out {
    pub(crate) now_ms: u64,
    records: Vec<Record>,
    replies: Vec<Effect>,
    after: Vec<Effect>,
}

impl Out {
    pub(crate) fn record(&mut self, record: Record) {
        self.records.push(record);
    }

    pub(crate) fn record_all(&mut self, records: impl IntoIterator<Item = Record>) {
        self.records.extend(records);
    }

    pub(crate) fn then(&mut self, effect: Effect) {
        self.after.push(effect);
    }

    fn effects(self) -> Vec<Effect> {
        let commit = (!self.records.is_empty()).then_some(Effect::Commit(self.records));
        commit
            .into_iter()
            .chain(self.replies)
            .chain(self.after)
            .collect()
    }
}

/// A conversation and everything that goes on in it.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) row: ConversationRow,
    pub(crate) counters: Counters,
    pub(crate) context: Context,
    /// Submissions that wait, oldest first.
    pub(crate) queue: Vec<SubmissionRow>,
    pub(crate) turn: Option<LiveTurn>,
    /// What became of questions, newest last.
    pub(crate) settled: VecDeque<(QuestionId, String)>,
    pub(crate) shells: Vec<LiveShell>,
    /// Questions of calls that a crash ended, to be withdrawn.
    pub(crate) orphans: Vec<QuestionRow>,
    /// What may be done without asking.
    pub(crate) allowed: BTreeSet<String>,
    /// What is known of the model that answers; `None`: it is not configured any more.
    pub(crate) model: Option<ModelInfo>,
    pub(crate) place: Place,
    /// Bytes of instructions and tools in a request, as far as known.
    pub(crate) overhead: u64,
    /// The error at which the last input stands, where it failed.
    pub(crate) failed: Option<EntryId>,
    /// What it came to last, for the one that had it opened.
    pub(crate) report: ToolResult,
    pub(crate) updated_ms: u64,
    /// Whether an answer came since this was last taken.
    pub(crate) answered: bool,
    pub(crate) rules: Rules,
    /// What the owner set; a turn has its own copy from when it began.
    pub(crate) settings: Arc<Settings>,
    /// The guests among those whose messages are not answered yet.
    pub(crate) guests: BTreeSet<String>,
    /// What the last answer used.
    pub(crate) last: Option<Usage>,
}

impl Conversation {
    /// Takes an input and returns what is to be done, in order.
    pub(crate) fn handle(&mut self, input: Input, now_ms: u64) -> Vec<Effect> {
        let mut out = Out {
            now_ms,
            records: Vec::new(),
            replies: Vec::new(),
            after: Vec::new(),
        };
        match input {
            Input::Call(asked, request) => self.call(asked, request, &mut out),
            Input::ModelDone { request, response } => self.model_done(request, response, &mut out),
            Input::ModelFailed {
                request,
                error,
                jitter,
            } => self.model_failed(request, error, jitter, &mut out),
            Input::RetryDue => self.retry_due(&mut out),
            Input::Previewed { call, detail } => self.previewed(&call, detail, &mut out),
            Input::Progress { run, output } => self.progress(&run, output),
            Input::ToolDone { call, result } => self.tool_done(&call, result, &mut out),
            Input::ShellDone { run, result } => self.shell_done(&run, result, &mut out),
            Input::Nested {
                parent,
                tool,
                arguments,
            } => self.nested(&parent, tool, arguments, &mut out),
            Input::Offered(tools) => self.offered(tools, &mut out),
            Input::Resume => self.resume(&mut out),
            Input::StopBy(author) => self.stop(&author, &mut out),
        }
        if !out.records.is_empty() {
            self.updated_ms = now_ms;
        }
        out.effects()
    }

    /// Takes a piece of the answer that comes in. Costs no commit and no copy of what came before.
    pub(crate) fn piece(&mut self, request: u32, piece: &Piece) {
        let answer = self.turn.as_mut().and_then(|turn| turn.answer.as_mut());
        let Some(answer) = answer.filter(|answer| answer.attempt == request) else {
            return;
        };
        match piece {
            Piece::Text(text) => answer.text.push_str(text),
            Piece::Thinking(text) => answer.thinking.push_str(text),
        }
    }

    fn call(&mut self, asked: Asked, request: Request, out: &mut Out) {
        let result = self
            .takes(&request)
            .and_then(|()| self.change(&asked.author, request, out));
        if let (Some(key), Ok(reply)) = (asked.key, &result) {
            let (reply, at_ms) = (reply.clone(), out.now_ms);
            out.record(Record::Request(RequestRow { key, reply, at_ms }));
        }
        out.replies.push(Effect::Reply(asked.ticket, result));
    }

    fn change(
        &mut self,
        author: &Author,
        request: Request,
        out: &mut Out,
    ) -> Result<String, CallError> {
        let done = |()| json(replies::Done {});
        match request {
            Request::Submit {
                request,
                mode,
                text,
                attachments,
            } => self
                .submit(author, request, mode, (text, attachments), out)
                .map(json),
            Request::Withdraw { submission } => self.withdraw(author, submission, out).map(json),
            Request::Stop => {
                self.stop(author, out);
                Ok(done(()))
            }
            Request::Answer { question, answer } => {
                self.answer(author, question, answer, out).map(json)
            }
            Request::Configure {
                model,
                thinking,
                policy,
            } => self.configure(model, thinking, policy, out).map(done),
            Request::Shell { command, included } => {
                self.shell(author, command, included, out).map(json)
            }
            Request::Reset => self.reset(author, out).map(done),
            Request::Compact { instructions } => self.compact(instructions, out).map(done),
            Request::Retry => self.retry(author, out).map(done),
            Request::Exclude { entry, excluded } => {
                self.exclude(author, entry, excluded, out).map(done)
            }
            Request::Open { title, from } => self.open_child(title, from, out).map(json),
            Request::Archive { archived } => self.archive(archived, out).map(done),
            Request::Move { dir, shown } => self.move_to(author, dir, shown, out).map(done),
        }
    }

    /// Says whether the conversation takes this now. One that is read-only can be stopped all the same.
    fn takes(&self, request: &Request) -> Result<(), CallError> {
        let always = matches!(
            request,
            Request::Stop | Request::Withdraw { .. } | Request::Archive { .. }
        );
        match self.read_only() {
            Some(why) if !always => Err(CallError::new(ErrorCode::Conflict, why)
                .hint("bring it back first, or go on in another conversation")),
            _ => Ok(()),
        }
    }

    /// Returns why it takes no input, where that is so.
    pub(crate) fn read_only(&self) -> Option<&'static str> {
        self.row.archived.then_some("this conversation is archived")
    }

    fn configure(
        &mut self,
        model: Option<Box<ModelInfo>>,
        thinking: Option<Thinking>,
        policy: Option<Policy>,
        out: &mut Out,
    ) -> Result<(), CallError> {
        let info = model.as_deref().or(self.model.as_ref());
        if let (Some(level), Some(info)) = (thinking, info)
            && level != info.fitting(level)
        {
            return Err(no_such_level(info, level));
        }
        // A level that the new model does not have is given up; a model that is gone says nothing of its levels.
        let level = thinking.unwrap_or(self.row.thinking);
        self.row.thinking = info.map_or(level, |info| info.fitting(level));
        if let Some(info) = model {
            self.row.model = info.model.clone();
            self.model = Some(*info);
        }
        self.row.policy = policy.unwrap_or(self.row.policy);
        self.record_row(out);
        Ok(())
    }

    /// Says whether the open answer is shown while it comes in.
    pub(crate) fn streams(&self) -> bool {
        self.turn
            .as_ref()
            .is_none_or(|turn| turn.settings.streaming)
    }

    /// Returns the tools of a turn that begins now.
    pub(crate) fn definitions(&self) -> Vec<ToolDefinition> {
        let mut definitions = (self.rules.definitions)();
        definitions.retain(|tool| self.settings.offers(&tool.name));
        definitions
    }

    /// Returns the guests that bind what tools may do now.
    pub(crate) fn bound_to(&self) -> BTreeSet<String> {
        self.guests.union(&self.row.for_guests).cloned().collect()
    }

    pub(crate) fn record_row(&self, out: &mut Out) {
        out.record(Record::Conversation(self.row.clone()));
    }

    /// Adds an entry: to the commit, and to what the model sees.
    pub(crate) fn add(
        &mut self,
        author: Author,
        turn: Option<TurnId>,
        body: EntryBody,
        blocks: Option<Vec<AnswerBlock>>,
        out: &mut Out,
    ) {
        let entry = Entry {
            id: self.counters.entry(),
            at_ms: out.now_ms,
            author,
            turn,
            body,
        };
        self.note(&entry);
        self.context.push(&entry, blocks.as_deref());
        out.record(Record::Entry {
            conversation: self.row.id,
            entry: Box::new(entry),
            blocks,
        });
    }

    /// Returns the tokens that the next request would hold, about.
    pub(crate) fn tokens(&self) -> u64 {
        self.context.tokens(self.overhead)
    }

    /// Returns it with what it cost, where that is known.
    pub(crate) fn priced(&self, usage: Usage) -> Usage {
        let price = self.model.as_ref().and_then(|model| model.price);
        let cost_nanos = price.and_then(|price| model::cost_nanos(&price, &usage));
        Usage {
            cost_nanos,
            ..usage
        }
    }

    /// Counts what a response used; `None`: the provider did not say.
    pub(crate) fn add_usage(&mut self, usage: Option<&Usage>) {
        let practice = self.model.as_ref().is_some_and(|model| model.practice);
        if !practice && usage.is_none_or(|usage| usage.cost_nanos.is_none()) {
            self.row.unpriced += 1;
        }
        let Some(usage) = usage else { return };
        let sum = &mut self.row.usage;
        for (total, more) in [
            (&mut sum.input, usage.input),
            (&mut sum.output, usage.output),
            (&mut sum.cache_read, usage.cache_read),
            (&mut sum.cache_write, usage.cache_write),
            (&mut sum.cost_nanos, usage.cost_nanos),
        ] {
            if let Some(more) = more {
                *total = Some(total.unwrap_or(0).saturating_add(more));
            }
        }
    }

    /// Whether nothing goes on that a person would miss.
    pub(crate) fn is_idle(&self) -> bool {
        self.turn.is_none() && self.shells.is_empty()
    }
}

/// Returns the refusal of a thinking level that a model does not have.
fn no_such_level(info: &ModelInfo, level: Thinking) -> CallError {
    let word = |level: &Thinking| format!("{level:?}").to_lowercase();
    let levels: Vec<_> = info.thinking.iter().map(word).collect();
    let hint = match levels.as_slice() {
        [] => "it does not think ahead; choose another model for that".to_owned(),
        levels => format!("it has off, {}", levels.join(", ")),
    };
    let message = format!("`{}` has no thinking level `{}`", info.model, word(&level));
    CallError::new(ErrorCode::Invalid, message).hint(hint)
}

/// Returns Porthole itself as an author.
pub(crate) fn porthole() -> Author {
    Author {
        kind: AuthorKind::System,
        id: "porthole".to_owned(),
        name: "Porthole".to_owned(),
    }
}

fn json(reply: impl serde::Serialize) -> String {
    serde_json::to_string(&reply).expect("replies are plain data")
}

#[cfg(test)]
mod set;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod walk;
