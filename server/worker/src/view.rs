//! What watchers see of a conversation: its state now, and the changes from what they were last shown.
//! A part is compared as a whole, so that no change can be forgotten; only the open answer grows in pieces.

use porthole_protocol::{
    CallId, ConversationDelta, ConversationInfo, OpenAnswer, Question, SessionState, Submission,
    SubmissionState, ToolRun, ToolRunState, Turn, TurnPhase,
};

use crate::{
    call::{LiveCall, Phase, subject},
    conversation::Conversation,
    record::SubmissionRow,
    shell::LiveShell,
    turn::{LiveTurn, Stage},
};

/// What watchers were last shown, but for entries and the text of the open answer.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Shown {
    info: Option<ConversationInfo>,
    submissions: Vec<Submission>,
    turn: Option<Turn>,
    questions: Vec<Question>,
    /// Bytes of the open answer that were shown.
    thinking: usize,
    text: usize,
}

impl Shown {
    /// Notes that a snapshot of the conversation as it is now was shown.
    pub(crate) fn all(&mut self, conversation: &Conversation, info: &ConversationInfo) {
        self.info = Some(info.clone());
        self.submissions = submissions(conversation);
        self.turn = turn(conversation, false);
        self.questions = conversation.questions().cloned().collect();
        self.answer_shown(conversation);
    }

    /// Returns what changed since, but for what the open answer grew by.
    pub(crate) fn changes(
        &mut self,
        conversation: &Conversation,
        info: &ConversationInfo,
    ) -> Vec<ConversationDelta> {
        let mut changes = Vec::new();
        let submissions = submissions(conversation);
        if submissions != self.submissions {
            self.submissions.clone_from(&submissions);
            changes.push(ConversationDelta::Submissions { submissions });
        }
        changes.extend(self.turn_changes(conversation));
        if !conversation.questions().eq(&self.questions) {
            self.questions = conversation.questions().cloned().collect();
            let questions = self.questions.clone();
            changes.push(ConversationDelta::Questions { questions });
        }
        if self.info.as_ref() != Some(info) {
            self.info = Some(info.clone());
            let info = Box::new(info.clone());
            changes.push(ConversationDelta::Info { info });
        }
        changes
    }

    /// Returns what the open answer grew by, if it did.
    pub(crate) fn growth(&mut self, conversation: &Conversation) -> Option<ConversationDelta> {
        let turn = conversation.turn.as_ref()?;
        let answer = turn.answer.as_ref().filter(|_| conversation.streams())?;
        let (thinking, text) = (
            answer.thinking.get(self.thinking..)?,
            answer.text.get(self.text..)?,
        );
        if thinking.is_empty() && text.is_empty() {
            return None;
        }
        let delta = ConversationDelta::Grow {
            turn: turn.row.id,
            attempt: answer.attempt,
            thinking_at: self.thinking as u64,
            thinking: thinking.to_owned(),
            text_at: self.text as u64,
            text: text.to_owned(),
        };
        self.answer_shown(conversation);
        Some(delta)
    }

    fn turn_changes(&mut self, conversation: &Conversation) -> Vec<ConversationDelta> {
        let now = turn(conversation, false);
        if now == self.turn {
            return Vec::new();
        }
        let before = std::mem::replace(&mut self.turn, now.clone());
        if let Some(changes) = tools_only(before.as_ref(), now.as_ref()) {
            return changes;
        }
        self.answer_shown(conversation);
        vec![ConversationDelta::Turn {
            turn: turn(conversation, true).map(Box::new),
        }]
    }

    fn answer_shown(&mut self, conversation: &Conversation) {
        let answer = conversation.turn.as_ref().and_then(|t| t.answer.as_ref());
        self.thinking = answer.map_or(0, |a| a.thinking.len());
        self.text = answer.map_or(0, |a| a.text.len());
    }
}

/// Returns the changed calls, where nothing else of the turn changed and none went away.
fn tools_only(before: Option<&Turn>, now: Option<&Turn>) -> Option<Vec<ConversationDelta>> {
    let (before, now) = (before?, now?);
    let same = before.id == now.id && before.phase == now.phase && before.answer == now.answer;
    let ids = |turn: &Turn| -> Vec<CallId> { turn.tools.iter().map(|t| t.call.clone()).collect() };
    if !same || ids(before) != ids(now) {
        return None;
    }
    let changed = before.tools.iter().zip(&now.tools).filter(|(a, b)| a != b);
    Some(
        changed
            .map(|(_, tool)| ConversationDelta::Tool {
                turn: now.id,
                tool: Box::new(tool.clone()),
            })
            .collect(),
    )
}

/// Returns the submissions that wait, as shown.
pub(crate) fn submissions(conversation: &Conversation) -> Vec<Submission> {
    conversation.queue.iter().map(submission).collect()
}

fn submission(row: &SubmissionRow) -> Submission {
    Submission {
        id: row.id,
        request: row.request.clone(),
        author: row.author.clone(),
        mode: row.mode,
        text: row.text.clone(),
        attachments: row.attachments.clone(),
        at_ms: row.at_ms,
        state: SubmissionState::Queued,
    }
}

/// Returns the turn as shown; a person's command alone looks like a turn of one call. `whole`: with the open answer's text.
pub(crate) fn turn(conversation: &Conversation, whole: bool) -> Option<Turn> {
    let shells = conversation.shells.iter().map(shell);
    if let Some(live) = &conversation.turn {
        let own = live.calls.iter().filter(|call| call.row.parent.is_none());
        let tools = own.filter_map(tool).chain(shells).collect();
        return Some(Turn {
            id: live.row.id,
            started_ms: live.row.started_ms,
            phase: phase(live),
            answer: live
                .answer
                .as_ref()
                .map(|answer| open(answer, whole && live.settings.streaming)),
            tools,
        });
    }
    let first = conversation.shells.first()?;
    Some(Turn {
        id: first.row.turn,
        started_ms: first.row.started_ms,
        phase: TurnPhase::Tools,
        answer: None,
        tools: shells.collect(),
    })
}

fn open(answer: &OpenAnswer, whole: bool) -> OpenAnswer {
    if whole {
        return answer.clone();
    }
    OpenAnswer {
        attempt: answer.attempt,
        ..OpenAnswer::default()
    }
}

fn phase(turn: &LiveTurn) -> TurnPhase {
    if turn.is_stopping() {
        return TurnPhase::Stopping;
    }
    match &turn.stage {
        Stage::Model => TurnPhase::Model,
        Stage::Compacting => TurnPhase::Compacting,
        Stage::Retry { at_ms, reason } => TurnPhase::Retry {
            at_ms: *at_ms,
            attempt: turn.tries + 1,
            reason: reason.clone(),
        },
        Stage::Tools => {
            let asking = |call: &LiveCall| matches!(call.phase, Phase::Asking(_));
            if turn.calls.iter().any(asking) {
                TurnPhase::Question
            } else {
                TurnPhase::Tools
            }
        }
    }
}

fn tool(call: &LiveCall) -> Option<ToolRun> {
    let state = match call.phase {
        Phase::Done => return None,
        Phase::Queued | Phase::Previewing => ToolRunState::Queued,
        Phase::Asking(_) => ToolRunState::Asking,
        Phase::Running => ToolRunState::Running,
    };
    let edited = call.row.command.as_deref().map(subject);
    Some(ToolRun {
        call: call.row.call.clone(),
        tool: call.row.tool.clone(),
        subject: edited.unwrap_or_else(|| call.row.subject.clone()),
        state,
        started_ms: call.row.started_ms,
        output: call.output.clone(),
        nested: call.row.nested.clone(),
    })
}

fn shell(shell: &LiveShell) -> ToolRun {
    ToolRun {
        call: CallId::parse(shell.row.run.as_str()).expect("a run's name is shorter than a call's"),
        tool: "shell".to_owned(),
        subject: subject(&shell.row.command),
        state: ToolRunState::Running,
        started_ms: Some(shell.row.started_ms),
        output: shell.output.clone(),
        nested: Vec::new(),
    }
}

/// Returns what the home list says of the session.
pub(crate) fn session_state(conversation: &Conversation) -> SessionState {
    if let Some(question) = conversation.questions().next() {
        let question = match question.tool.as_str() {
            "shell" => format!("run {}?", one_line(&question.subject)),
            tool => format!("{tool} {}?", one_line(&question.subject)),
        };
        return SessionState::Waiting { question };
    }
    match turn(conversation, false) {
        None => SessionState::Idle,
        Some(turn) => SessionState::Working {
            activity: activity(&turn),
        },
    }
}

fn activity(turn: &Turn) -> String {
    let running = |t: &&ToolRun| t.state == ToolRunState::Running;
    match &turn.phase {
        TurnPhase::Model => "thinking".to_owned(),
        TurnPhase::Retry { reason, .. } => format!("trying again soon: {}", one_line(reason)),
        TurnPhase::Stopping => "stopping".to_owned(),
        TurnPhase::Compacting => "summing up".to_owned(),
        TurnPhase::Tools | TurnPhase::Question => match turn.tools.iter().find(running) {
            Some(tool) if tool.tool == "shell" => format!("running {}", one_line(&tool.subject)),
            Some(tool) => format!("{} {}", tool.tool, one_line(&tool.subject)),
            None => "working".to_owned(),
        },
    }
}

/// Returns a text as one short line.
fn one_line(text: &str) -> String {
    let line: String = text
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(80)
        .collect();
    if line.len() < text.len() {
        line + "…"
    } else {
        line
    }
}
