//! The calls that a script makes: each goes through the policy and its questions like any other, one at a time and in its
//! script's place. They have no entries; the script's row and entry tell of them. It runs no script.

use porthole_protocol::{CallId, NestedCall, QuestionState, ToolOutcome};
use serde_json::Value;

use crate::{
    call::{LiveCall, Phase, told as result_of},
    conversation::{Conversation, Effect, Out},
    fit,
    record::{CallRow, CallStage, Record},
    tool::ToolResult,
    turn::LiveTurn,
};

/// Most calls that one script makes.
pub(crate) const MOST_CALLS: usize = 100;
/// Most of what a call is about, and of what it came to.
const LINE_BYTES: usize = 256;

impl Conversation {
    /// Begins a call that a script asks for, or tells the script why not.
    pub(crate) fn nested(
        &mut self,
        parent: &CallId,
        tool: String,
        arguments: Value,
        out: &mut Out,
    ) {
        let refused = match self.refusal(parent, &tool) {
            None => return self.begin_nested(parent, tool, arguments, out),
            Some((outcome, why)) => result_of(outcome, "not run", why),
        };
        out.then(Effect::Nested(parent.clone(), Box::new(refused)));
    }

    /// Returns why a script gets no call.
    fn refusal(&self, parent: &CallId, tool: &str) -> Option<(ToolOutcome, String)> {
        let turn = self.turn.as_ref().filter(|turn| !turn.is_stopping());
        let script = turn.and_then(|turn| turn.calls.iter().find(|call| call.row.call == *parent));
        let Some(script) = script.filter(|call| call.phase == Phase::Running) else {
            return Some((
                ToolOutcome::Stopped,
                "A person stopped the script.".to_owned(),
            ));
        };
        let failed = |why: String| Some((ToolOutcome::Failed, why));
        match tool {
            "script" | "delegate" => failed(format!("A script cannot call `{tool}`.")),
            _ if script.row.nested.len() >= MOST_CALLS => {
                failed(format!("A script makes at most {MOST_CALLS} calls."))
            }
            _ => None,
        }
    }

    fn begin_nested(&mut self, parent: &CallId, tool: String, arguments: Value, out: &mut Out) {
        let Some(at) = self.position(parent) else {
            return;
        };
        let subject = fit::start(&(self.rules.subject)(&tool, &arguments), LINE_BYTES);
        let Some(turn) = &mut self.turn else { return };
        let script = &mut turn.calls[at].row;
        let id = format!("{parent}-{}", script.nested.len() + 1);
        let call = CallId::parse(&id).expect("a call's id with a short number behind it");
        let tool = fit::start(&tool, LINE_BYTES);
        script.nested.push(NestedCall {
            call: call.clone(),
            tool: tool.clone(),
            subject: subject.clone(),
            outcome: None,
            summary: String::new(),
        });
        out.record(Record::Call(script.clone()));
        let row = CallRow {
            call,
            turn: turn.row.id,
            tool,
            subject,
            arguments: Some(arguments),
            stage: CallStage::Queued,
            command: None,
            started_ms: None,
            child: None,
            nested: Vec::new(),
            parent: Some(parent.clone()),
        };
        let call = self.known(row);
        let Some(turn) = &mut self.turn else { return };
        turn.calls.push(call);
        let at = turn.calls.len() - 1;
        self.begin_call(at, out);
    }

    /// Gives a script's call its result: the script is told, and its row.
    pub(crate) fn settle_nested(
        &mut self,
        at: usize,
        parent: &CallId,
        result: ToolResult,
        out: &mut Out,
    ) {
        let Some(turn) = &mut self.turn else { return };
        let call = turn.calls.remove(at);
        note(turn, parent, &call, (result.outcome, &result.summary), out);
        out.then(Effect::Nested(parent.clone(), Box::new(result)));
    }

    /// Ends what a script's calls left open, now that the script itself ended.
    pub(crate) fn end_nested(&mut self, at: usize, out: &mut Out) {
        let Some(turn) = &mut self.turn else { return };
        let Some(script) = turn.calls.get(at).map(|call| call.row.call.clone()) else {
            return;
        };
        let of_script = |call: &mut LiveCall| call.row.parent.as_ref() == Some(&script);
        let left: Vec<_> = turn.calls.extract_if(.., of_script).collect();
        for call in left {
            if let Phase::Asking(question) = call.phase {
                self.close_question(*question, QuestionState::Withdrawn, "", out);
            }
        }
        let Some(turn) = &mut self.turn else { return };
        let Some(script) = turn.calls.iter_mut().find(|call| call.row.call == script) else {
            return;
        };
        let open = |nested: &&mut NestedCall| nested.outcome.is_none();
        for nested in script.row.nested.iter_mut().filter(open) {
            nested.outcome = Some(ToolOutcome::Interrupted);
            "interrupted".clone_into(&mut nested.summary);
        }
    }
}

/// Notes in a script's row what one of its calls came to.
fn note(
    turn: &mut LiveTurn,
    parent: &CallId,
    call: &LiveCall,
    (outcome, summary): (ToolOutcome, &str),
    out: &mut Out,
) {
    let Some(script) = turn.calls.iter_mut().find(|c| c.row.call == *parent) else {
        return;
    };
    let nested = script.row.nested.iter_mut();
    for nested in nested.filter(|nested| nested.call == call.row.call) {
        nested.outcome = Some(outcome);
        nested.summary = fit::start(summary, LINE_BYTES);
        if let Some(command) = &call.row.command {
            nested.subject = fit::start(command, LINE_BYTES);
        }
    }
    out.record(Record::Call(script.row.clone()));
}

/// Returns what a script had called when a crash ended it, for the model.
pub(crate) fn told(nested: &[NestedCall]) -> String {
    if nested.is_empty() {
        return String::new();
    }
    let line = |call: &NestedCall| {
        let end = match call.outcome {
            Some(ToolOutcome::Ok) => "done",
            Some(ToolOutcome::Failed) => "failed",
            Some(ToolOutcome::Denied) => "denied",
            Some(ToolOutcome::Stopped) => "stopped",
            Some(ToolOutcome::Interrupted) | None => "interrupted",
        };
        format!("\n- {} {}: {end}", call.tool, call.subject)
    };
    let lines: String = nested.iter().map(line).collect();
    format!("\nThe script had made these calls:{lines}")
}

#[cfg(test)]
mod tests;
