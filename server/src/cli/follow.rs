//! From a conversation's state to what became of one submission. Pure; it waits for nothing.

use porthole_protocol::{
    AuthorKind, Block, ConversationState, Entry, EntryBody, EntryId, SubmissionId,
};

/// What became of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It waits, or its turn goes on.
    NotYet,
    /// It is nowhere: it was taken back, unless the state is between two changes.
    Withdrawn,
    /// Its turn has ended with this answer.
    Answer(String),
    /// Its turn was stopped.
    Stopped,
    /// Its turn failed.
    Failed {
        /// Why.
        text: String,
        /// What to do next.
        hint: String,
    },
}

/// Returns what became of `submission`, which had this text and was made when `newest` was the newest entry.
pub(super) fn follow(
    state: &ConversationState,
    submission: SubmissionId,
    newest: Option<EntryId>,
    text: &str,
) -> End {
    if state.turn.is_some() || state.submissions.iter().any(|s| s.id == submission) {
        return End::NotYet;
    }
    let is_it = |entry: &Entry| {
        Some(entry.id) > newest
            && entry.author.kind == AuthorKind::Owner
            && matches!(&entry.body, EntryBody::Message { text: t, .. } if t.trim() == text.trim())
    };
    let Some(at) = state.entries.iter().position(is_it) else {
        // A page holds only the newest entries: of a long turn the message itself may be beyond its begin.
        let cut = state.has_older && state.entries.first().map(|entry| entry.id) > newest;
        return if cut {
            outcome(&state.entries)
        } else {
            End::Withdrawn
        };
    };
    let after = &state.entries[at + 1..];
    let next = after
        .iter()
        .position(|entry| matches!(entry.body, EntryBody::Message { .. }));
    match &after[..next.unwrap_or(after.len())] {
        // It joined others that were sent before the turn began: the answer is theirs together.
        [] if next.is_some() => outcome(after),
        own => outcome(own),
    }
}

/// The last word counts: an error after answers is a failure.
fn outcome(entries: &[Entry]) -> End {
    for entry in entries.iter().rev() {
        match &entry.body {
            EntryBody::Error { text, hint } => {
                return End::Failed {
                    text: text.clone(),
                    hint: hint.clone(),
                };
            }
            EntryBody::Answer {
                incomplete: true, ..
            } => return End::Stopped,
            EntryBody::Answer { blocks, .. } => return End::Answer(texts(blocks)),
            EntryBody::ToolResult {
                outcome: porthole_protocol::ToolOutcome::Stopped,
                ..
            } => {
                return End::Stopped;
            }
            EntryBody::Message { .. }
            | EntryBody::ToolResult { .. }
            | EntryBody::Shell { .. }
            | EntryBody::Notice { .. }
            | EntryBody::Reset
            | EntryBody::Compaction { .. }
            | EntryBody::Excluded { .. }
            | EntryBody::Retried { .. }
            | EntryBody::Forked { .. }
            | EntryBody::Moved { .. } => {}
        }
    }
    if entries
        .iter()
        .any(|entry| matches!(entry.body, EntryBody::Notice { .. }))
    {
        return End::Stopped;
    }
    End::NotYet
}

fn texts(blocks: &[Block]) -> String {
    let text = |block: &Block| match block {
        Block::Text { text } => Some(text.clone()),
        Block::Thinking { .. } | Block::ToolCall { .. } => None,
    };
    blocks
        .iter()
        .filter_map(text)
        .collect::<Vec<_>>()
        .join("\n\n")
}

#[cfg(test)]
mod tests {
    use porthole_protocol::*;

    use super::*;

    fn entry(id: u64, kind: AuthorKind, body: EntryBody) -> Entry {
        let author = Author {
            kind,
            id: "x".to_owned(),
            name: "x".to_owned(),
        };
        Entry {
            id: EntryId(id),
            at_ms: 0,
            author,
            turn: None,
            body,
        }
    }

    fn message(id: u64, text: &str) -> Entry {
        entry(
            id,
            AuthorKind::Owner,
            EntryBody::Message {
                text: text.to_owned(),
                mode: SendMode::FollowUp,
                attachments: Vec::new(),
            },
        )
    }

    fn answer(id: u64, text: &str, incomplete: bool) -> Entry {
        entry(
            id,
            AuthorKind::Model,
            EntryBody::Answer {
                model: ModelRef::parse("a/b").expect("a model"),
                blocks: vec![Block::Text {
                    text: text.to_owned(),
                }],
                stop: None,
                usage: None,
                incomplete,
            },
        )
    }

    fn state(entries: Vec<Entry>) -> ConversationState {
        ConversationState {
            info: ConversationInfo {
                id: ConversationId::ROOT,
                cwd: "/".to_owned(),
                branch: None,
                model: ModelRef::parse("a/b").expect("a model"),
                practice: false,
                thinking: Thinking::Off,
                policy: Policy::Ask,
                context_tokens: 0,
                context_limit: None,
                usage: Usage::default(),
                title: None,
                parent: None,
                read_only: None,
                failed: None,
                last: None,
                unpriced: 0,
                prompts: 0,
            },
            entries,
            has_older: false,
            submissions: Vec::new(),
            turn: None,
            questions: Vec::new(),
            children: Vec::new(),
        }
    }

    fn end(entries: Vec<Entry>) -> End {
        follow(&state(entries), SubmissionId(1), Some(EntryId(2)), "hi")
    }

    #[test]
    fn only_the_answer_to_this_input_counts() {
        let old = vec![message(1, "hi"), answer(2, "old", false)];
        assert_eq!(
            end(old.clone()),
            End::Withdrawn,
            "an older one with the same text is another"
        );
        let mut now = old;
        now.push(message(3, "hi"));
        assert_eq!(
            end(now.clone()),
            End::NotYet,
            "taken up, its turn not begun"
        );
        now.push(answer(4, "new", false));
        assert_eq!(end(now.clone()), End::Answer("new".to_owned()));
        now.extend([message(5, "other"), answer(6, "other", false)]);
        assert_eq!(end(now), End::Answer("new".to_owned()));
    }

    #[test]
    fn a_failed_or_stopped_turn_is_told_apart() {
        let error = EntryBody::Error {
            text: "no key".to_owned(),
            hint: "set one".to_owned(),
        };
        let failed = vec![
            message(3, "hi"),
            answer(4, "part", true),
            entry(5, AuthorKind::System, error),
        ];
        let told = End::Failed {
            text: "no key".to_owned(),
            hint: "set one".to_owned(),
        };
        assert_eq!(end(failed), told);
        assert_eq!(
            end(vec![message(3, "hi"), answer(4, "part", true)]),
            End::Stopped
        );
    }

    #[test]
    fn a_turn_that_goes_on_is_waited_for() {
        let mut now = state(vec![message(3, "hi"), answer(4, "first", false)]);
        now.turn = Some(Turn {
            id: TurnId(1),
            started_ms: 0,
            phase: TurnPhase::Tools,
            answer: None,
            tools: Vec::new(),
        });
        assert_eq!(
            follow(&now, SubmissionId(1), Some(EntryId(2)), "hi"),
            End::NotYet
        );
    }
}
