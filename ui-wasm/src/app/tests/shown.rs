//! What every state looks like, word for word: one file for each in `snapshots`. A change of looks shows there.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use porthole_protocol::{ConversationState, EntryBody, ToolDetail, ToolOutcome, TurnPhase};

use super::states::{SEEN, reached};

#[test]
fn every_state_is_shown_as_it_was_looked_at() {
    for seen in SEEN {
        let file: String = seen
            .0
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        assert_snapshot!(file, reached(seen, 80, 24).screen());
    }
}

/// The names of these matches are exhaustive: what is new has no name here until it has a state.
fn body(body: &EntryBody) -> &'static str {
    match body {
        EntryBody::Message { .. } => "message",
        EntryBody::Answer { .. } => "answer",
        EntryBody::ToolResult { .. } => "tool",
        EntryBody::Shell { .. } => "shell",
        EntryBody::Notice { .. } => "notice",
        EntryBody::Error { .. } => "error",
        EntryBody::Reset => "reset",
        EntryBody::Compaction { .. } => "summary",
        EntryBody::Excluded { .. } => "excluded",
        EntryBody::Retried { .. } => "retried",
        EntryBody::Forked { .. } => "forked",
        EntryBody::Moved { .. } => "moved",
    }
}

fn detail(detail: &ToolDetail) -> &'static str {
    match detail {
        ToolDetail::Text => "text",
        ToolDetail::Command { .. } => "command",
        ToolDetail::Diff { .. } => "diff",
        ToolDetail::File { .. } => "file",
        ToolDetail::Hits { .. } => "hits",
        ToolDetail::Child { .. } => "child",
        ToolDetail::Names { .. } => "names",
    }
}

fn outcome(outcome: ToolOutcome) -> &'static str {
    match outcome {
        ToolOutcome::Ok => "ok",
        ToolOutcome::Failed => "failed",
        ToolOutcome::Denied => "denied",
        ToolOutcome::Stopped => "stopped",
        ToolOutcome::Interrupted => "interrupted",
    }
}

fn phase(phase: &TurnPhase) -> &'static str {
    match phase {
        TurnPhase::Model => "model",
        TurnPhase::Tools => "tools",
        TurnPhase::Question => "question",
        TurnPhase::Retry { .. } => "retry",
        TurnPhase::Stopping => "stopping",
        TurnPhase::Compacting => "compacting",
    }
}

fn kinds(state: &ConversationState) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    for entry in &state.entries {
        kinds.push(body(&entry.body));
        if let EntryBody::ToolResult {
            detail: shown,
            outcome: ended,
            ..
        } = &entry.body
        {
            kinds.extend([detail(shown), outcome(*ended)]);
        }
    }
    kinds.extend(state.turn.iter().map(|turn| phase(&turn.phase)));
    kinds
}

#[test]
fn every_kind_of_entry_result_and_phase_is_among_the_states() {
    let there: BTreeSet<_> = SEEN
        .iter()
        .flat_map(|(_, state, _)| kinds(&state()))
        .collect();
    let all = [
        "message",
        "answer",
        "tool",
        "shell",
        "notice",
        "error",
        "reset",
        "summary",
        "excluded",
        "retried",
        "forked",
        "moved",
        "text",
        "command",
        "diff",
        "file",
        "hits",
        "child",
        "names",
        "ok",
        "failed",
        "denied",
        "stopped",
        "interrupted",
        "model",
        "tools",
        "question",
        "retry",
        "stopping",
        "compacting",
    ];
    let missing: Vec<_> = all.iter().filter(|kind| !there.contains(*kind)).collect();
    assert!(missing.is_empty(), "no state shows {missing:?}");
}
