//! A person's own commands: recorded as started before they start, and as an entry when they end. They need no turn.

use porthole_protocol::{
    Author, AuthorKind, CallError, EntryBody, ErrorCode, Policy, RunId, RunOutput, ToolDetail,
    replies,
};

use crate::{
    conversation::{Conversation, Effect, Out},
    record::{Record, ShellRow},
    tool::ToolResult,
};

/// Commands of people that run at a time.
const SHELLS_AT_ONCE: usize = 8;

/// A command that runs.
#[derive(Debug)]
pub(crate) struct LiveShell {
    pub(crate) row: ShellRow,
    pub(crate) output: Option<RunOutput>,
}

impl Conversation {
    pub(crate) fn shell(
        &mut self,
        author: &Author,
        command: String,
        included: bool,
        out: &mut Out,
    ) -> Result<replies::Submitted, CallError> {
        if self.shells.len() >= SHELLS_AT_ONCE {
            let message = format!("{SHELLS_AT_ONCE} commands run already");
            return Err(CallError::new(ErrorCode::Busy, message).hint("wait for one, or stop them"));
        }
        if self.is_bound(author) {
            let message = "the owner of this server lets you run no commands of your own";
            return Err(CallError::new(ErrorCode::NotAllowed, message).hint(
                "ask the model for it; what it runs for you goes through the owner's rules",
            ));
        }
        let id = self.counters.submission();
        let run =
            RunId::parse(&format!("sh-{id}")).expect("letters, digits and a hyphen, and short");
        let row = ShellRow {
            id,
            conversation: self.row.id,
            turn: self.counters.turn(),
            run: run.clone(),
            author: author.clone(),
            command: command.clone(),
            included,
            started_ms: out.now_ms,
            done: false,
        };
        out.record(Record::Shell(row.clone()));
        out.then(Effect::StartShell { run, command });
        self.shells.push(LiveShell { row, output: None });
        Ok(replies::Submitted { submission: id })
    }

    /// Says whether the settings bind what is done for this guest: a command of their own would go past that.
    fn is_bound(&self, author: &Author) -> bool {
        let guest = (author.kind == AuthorKind::Guest).then_some(author.id.as_str());
        self.settings.policy_for(Policy::Auto, guest.into_iter()) != Policy::Auto
    }

    pub(crate) fn shell_done(&mut self, run: &RunId, result: ToolResult, out: &mut Out) {
        let Some(at) = self.shells.iter().position(|shell| shell.row.run == *run) else {
            return;
        };
        let mut row = self.shells.remove(at).row;
        row.done = true;
        out.record(Record::Shell(row.clone()));
        let detail = match result.detail {
            detail @ ToolDetail::Command { .. } => detail,
            _ => ended(&row.command, result.text),
        };
        let body = EntryBody::Shell {
            command: row.command,
            included: row.included,
            detail,
        };
        self.add(row.author, None, body, None, out);
    }
}

/// Returns how a command went that did not end by itself.
pub(crate) fn ended(command: &str, tail: String) -> ToolDetail {
    ToolDetail::Command {
        command: command.to_owned(),
        exit: None,
        signal: None,
        timed_out: false,
        tail,
        left_out: 0,
        output: None,
        still_running: Vec::new(),
    }
}
