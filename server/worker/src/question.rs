//! Questions: what a turn waits for a person to answer. A question is a row; its id outlives the worker,
//! the first answer counts, and stopping withdraws it.

use porthole_protocol::{
    Answer, Author, CallError, CallId, ErrorCode, Question, QuestionId, QuestionState, ToolDetail,
    ToolOutcome, replies,
};

use crate::{
    call::{Phase, told},
    conversation::{Conversation, Out, Planned},
    fit, policy,
    record::{QuestionRow, Record},
    tool::ToolEffect,
};

/// Settled questions that are remembered.
const SETTLED_KEPT: usize = 64;

impl Conversation {
    /// Asks, now that it is known what there is to show.
    pub(crate) fn previewed(&mut self, call: &CallId, detail: ToolDetail, out: &mut Out) {
        let Some(at) = self.position(call) else {
            return;
        };
        let Some(turn) = &mut self.turn else { return };
        let live = &mut turn.calls[at];
        let (Phase::Previewing, Ok(planned)) = (&live.phase, &live.planned) else {
            return;
        };
        let row = QuestionRow {
            turn: turn.row.id,
            question: Question {
                id: self.counters.question(),
                call: call.clone(),
                tool: live.row.tool.clone(),
                subject: exactly(planned),
                detail: fit::detail(detail),
                at_ms: out.now_ms,
                state: QuestionState::Open,
            },
        };
        out.record(Record::Question(row.clone()));
        live.phase = Phase::Asking(Box::new(row));
    }

    pub(crate) fn answer(
        &mut self,
        author: &Author,
        id: QuestionId,
        answer: Answer,
        out: &mut Out,
    ) -> Result<replies::Answered, CallError> {
        let Some((at, row)) = self.asking(id) else {
            return Ok(replies::Answered {
                counted: false,
                message: self.fate(id),
            });
        };
        if let Answer::Edit { command } = &answer {
            self.check_edit(at, command)?;
        }
        let state = QuestionState::Answered {
            by: author.clone(),
            answer: word(&answer).to_owned(),
        };
        self.close_question(row, state, &author.name, out);
        self.act(at, author, answer, out);
        Ok(replies::Answered {
            counted: true,
            message: String::new(),
        })
    }

    /// Returns the open questions, oldest first.
    pub(crate) fn questions(&self) -> impl Iterator<Item = &Question> {
        let calls = self.turn.iter().flat_map(|turn| &turn.calls);
        calls.filter_map(|call| match &call.phase {
            Phase::Asking(row) => Some(&row.question),
            Phase::Queued | Phase::Previewing | Phase::Running | Phase::Done => None,
        })
    }

    /// Closes a question for good.
    pub(crate) fn close_question(
        &mut self,
        mut row: QuestionRow,
        state: QuestionState,
        by: &str,
        out: &mut Out,
    ) {
        row.question.state = state;
        self.remember(&row.question, by);
        out.record(Record::Question(row));
    }

    /// Remembers what became of a question, for answers that come late.
    pub(crate) fn remember(&mut self, question: &Question, by: &str) {
        let fate = match &question.state {
            QuestionState::Open => return,
            QuestionState::Answered { answer, .. } => format!("{by} answered first: {answer}"),
            QuestionState::Withdrawn => "the turn was stopped, so nothing is asked any more".into(),
        };
        self.settled.push_back((question.id, fate));
        if self.settled.len() > SETTLED_KEPT {
            self.settled.pop_front();
        }
    }

    fn fate(&self, id: QuestionId) -> String {
        let known = self.settled.iter().find(|(settled, _)| *settled == id);
        known.map_or_else(
            || "that question is not asked any more".to_owned(),
            |(_, fate)| fate.clone(),
        )
    }

    fn asking(&self, id: QuestionId) -> Option<(usize, QuestionRow)> {
        let calls = &self.turn.as_ref()?.calls;
        calls
            .iter()
            .enumerate()
            .find_map(|(at, call)| match &call.phase {
                Phase::Asking(row) if row.question.id == id => Some((at, (**row).clone())),
                _ => None,
            })
    }

    fn check_edit(&self, at: usize, command: &str) -> Result<(), CallError> {
        let invalid = |message: &str| Err(CallError::new(ErrorCode::Invalid, message));
        let planned = self.turn.as_ref().map(|turn| &turn.calls[at].planned);
        match planned {
            _ if command.trim().is_empty() => invalid("the command is empty"),
            _ if command.len() > fit::COMMAND_BYTES => {
                let kib = fit::COMMAND_BYTES >> 10;
                invalid(&format!("the command is longer than {kib} KiB"))
            }
            Some(Ok(planned)) if matches!(planned.effect, ToolEffect::Executes { .. }) => Ok(()),
            _ => invalid("only a command can be changed before it runs"),
        }
    }

    fn act(&mut self, at: usize, author: &Author, answer: Answer, out: &mut Out) {
        match answer {
            Answer::Yes => self.start_call(at, out),
            Answer::Always => {
                self.allow(at, out);
                self.start_call(at, out);
            }
            Answer::Edit { command } => {
                if let Some(turn) = &mut self.turn {
                    turn.calls[at].row.command = Some(command);
                }
                self.start_call(at, out);
            }
            Answer::No { why } => {
                let why = match why.trim() {
                    "" => String::new(),
                    why => format!(" They said: {why}"),
                };
                let text = format!("Denied: {} said no, so this did not run.{why}", author.name);
                let result = told(ToolOutcome::Denied, "denied", text);
                self.settle(at, result, out);
                self.advance(out);
            }
        }
    }

    fn allow(&mut self, at: usize, out: &mut Out) {
        let call = self.turn.as_ref().and_then(|turn| turn.calls.get(at));
        if let Some((call, Ok(planned))) = call.map(|call| (call, &call.planned)) {
            let key = policy::key(&call.row.tool, &planned.subject, &planned.effect);
            out.record(Record::Allowed(key.clone()));
            self.allowed.insert(key);
        }
    }
}

/// Returns what a question is about: a command in full, however many lines it has.
fn exactly(planned: &Planned) -> String {
    match &planned.effect {
        ToolEffect::Executes { command } => command.clone(),
        ToolEffect::Calls { arguments } => arguments.clone(),
        ToolEffect::Edits { .. }
        | ToolEffect::Reads
        | ToolEffect::ReadsOutside
        | ToolEffect::Closed
        | ToolEffect::Scripts
        | ToolEffect::Delegates { .. } => planned.subject.clone(),
    }
}

fn word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Yes => "yes",
        Answer::Always => "always",
        Answer::No { .. } => "no",
        Answer::Edit { .. } => "yes, with another command",
    }
}
