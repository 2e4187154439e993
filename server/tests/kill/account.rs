//! What a person knows they sent, and whether what is kept agrees with it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use porthole_protocol::{ConversationState, Entry, EntryBody, ToolOutcome};

/// Everything that was sent, in order.
#[derive(Default)]
pub(crate) struct Account {
    /// Texts, each with the number of its submission once it was acknowledged.
    pub(crate) sent: Vec<(String, Option<u64>)>,
}

impl Account {
    /// Compares with what is kept, at any moment. `entries` is everything, `state` what waits.
    pub(crate) fn check(&self, entries: &[Entry], state: &ConversationState, dir: &Path) {
        let messages = entries.iter().filter_map(message);
        let waiting = state.submissions.iter().map(|s| s.text.as_str());
        let mut there: BTreeMap<&str, u32> = BTreeMap::new();
        for text in messages.chain(waiting) {
            *there.entry(text).or_default() += 1;
        }
        for (text, acknowledged) in &self.sent {
            let times = there.get(text.as_str()).copied().unwrap_or(0);
            assert!(times <= 1, "`{text}` is there {times} times");
            assert!(acknowledged.is_none() || times == 1, "`{text}` is lost");
        }
        let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
        assert!(ids.is_sorted_by(|a, b| a < b), "entries are in order");
        check_effects(entries, dir);
        check_errors(entries);
    }

    /// Looks at a session in which nothing goes on any more.
    pub(crate) fn check_end(&self, entries: &[Entry]) {
        for entry in entries {
            let EntryBody::Message { text, .. } = &entry.body else {
                continue;
            };
            let last = entries
                .iter()
                .rfind(|e| e.turn == entry.turn && matches!(e.body, EntryBody::Message { .. }));
            let fails = text.starts_with("fail") && last.is_some_and(|last| last.id == entry.id);
            let of_turn = |e: &&Entry| e.turn == entry.turn && is_error(e);
            let errors = entries.iter().filter(of_turn).count();
            assert!(!fails || errors == 1, "`{text}` has {errors} errors");
        }
    }
}

fn message(entry: &Entry) -> Option<&str> {
    match &entry.body {
        EntryBody::Message { text, .. } => Some(text),
        _ => None,
    }
}

fn is_error(entry: &Entry) -> bool {
    matches!(entry.body, EntryBody::Error { .. })
}

/// A turn fails once.
fn check_errors(entries: &[Entry]) {
    let mut turns = BTreeSet::new();
    for entry in entries.iter().filter(|entry| is_error(entry)) {
        assert!(turns.insert(entry.turn), "{:?} failed twice", entry.turn);
    }
}

/// A command ran once at most, and has one result at most; one that went well did run.
fn check_effects(entries: &[Entry], dir: &Path) {
    let effects = std::fs::read_to_string(dir.join("effects")).unwrap_or_default();
    let mut lines = BTreeSet::new();
    for line in effects.lines() {
        assert!(lines.insert(line), "`{line}` ran twice");
    }
    let mut calls = BTreeSet::new();
    for entry in entries {
        let EntryBody::ToolResult {
            call,
            subject,
            outcome,
            text,
            ..
        } = &entry.body
        else {
            continue;
        };
        assert!(calls.insert(call), "{call} has two results");
        let name = subject.split(' ').nth(1).expect("`echo NAME >> effects`");
        match outcome {
            ToolOutcome::Ok => assert!(lines.contains(name), "`{name}` did not run"),
            ToolOutcome::Interrupted => {}
            other => panic!("`{name}` is {other:?}: {text}"),
        }
    }
}
