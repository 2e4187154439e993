//! The worker dies at every commit there is, before it and after it, and is opened again: nothing that was
//! acknowledged is lost or doubled, no tool runs twice, and a failure is told once.

use std::{collections::HashMap, path::Path, sync::Arc};

use porthole_protocol::{Block, Call, Entry, EntryBody, QuestionId, ToolOutcome};
use serde_json::Value;

use super::{
    Script, beside,
    client::{Client, shell, submit, yes},
};
use crate::{model::PromptItem, store::CrashPoint};

/// What a person sends, in order; the second while the first is being worked on. `!` runs a command.
const INPUTS: &[(&str, &str)] = &[
    ("r1", "work"),
    ("r2", "more"),
    ("r3", "fail"),
    ("r4", "!make"),
    ("r5", "hand on"),
    ("r6", "by script"),
    ("r7", "last"),
];
/// How many inputs have ended when the next may be sent.
const ENDED: &[usize] = &[0, 0, 2, 3, 4, 5, 6];

/// A person who goes on through crashes.
#[derive(Default)]
pub(super) struct Person {
    acknowledged: HashMap<String, Value>,
    /// Questions they saw, by call.
    asked: HashMap<String, QuestionId>,
}

impl Person {
    /// Uses the worker until everything is done; `false`: it ended before.
    pub(super) async fn uses(&mut self, client: &mut Client) -> bool {
        if !client.watches().await {
            return false;
        }
        for (n, (request, text)) in INPUTS.iter().enumerate() {
            if !self.ended(client, ENDED[n]).await || !self.sends(client, request, text).await {
                return false;
            }
        }
        self.ended(client, INPUTS.len()).await
    }

    async fn sends(&mut self, client: &mut Client, request: &str, text: &str) -> bool {
        if self.acknowledged.contains_key(request) {
            return true;
        }
        let id = client.begin(call(request, text)).await;
        if !client.lives_until(|c| c.reply(id).is_some()).await {
            return false;
        }
        if let Some(Ok(reply)) = client.reply(id) {
            self.acknowledged.insert(request.into(), reply.clone());
            return true;
        }
        // A commit that failed is told so; the end of the worker follows.
        client.lives_until(|_| false).await
    }

    /// Waits until so many inputs have ended, saying yes to every question.
    async fn ended(&mut self, client: &mut Client, count: usize) -> bool {
        let rest = |c: &Client| c.finals() >= count && c.state().turn.is_none();
        let rest = |c: &Client| count == 0 || rest(c);
        loop {
            if !client
                .lives_until(|c| rest(c) || !c.state().questions.is_empty())
                .await
            {
                return false;
            }
            let Some(question) = client.state().questions.first().cloned() else {
                return true;
            };
            let before = self.asked.insert(question.call.to_string(), question.id);
            assert!(
                before.is_none_or(|id| id == question.id),
                "a question keeps its id"
            );
            client.begin(yes(question.id)).await;
            let gone = |c: &Client| c.state().questions.iter().all(|q| q.id != question.id);
            if !client.lives_until(gone).await {
                return false;
            }
        }
    }
}

fn call(request: &str, text: &str) -> Call {
    match text.strip_prefix('!') {
        Some(command) => shell(request, command),
        None => submit(request, text),
    }
}

/// Lives until all is done, the first lives with a crash each; says how often it crashed.
async fn live(folder: &Path, script: &Arc<Script>, crashes: &[CrashPoint]) -> usize {
    let mut person = Person::default();
    for life in 0..=crashes.len() {
        let point = crashes.get(life).copied();
        let mut client = Client::start(folder, script, point).await;
        let done = person.uses(&mut client).await;
        if done {
            check(&mut client, &person, script).await;
        }
        client.gone().await;
        if done {
            return life;
        }
    }
    panic!("it ends without a crash: {crashes:?}");
}

pub(super) async fn check(client: &mut Client, person: &Person, script: &Script) {
    for (request, text) in INPUTS {
        let again = client.call(call(request, text)).await.expect("known");
        assert_eq!(
            again, person.acknowledged[*request],
            "the same request, the same reply"
        );
    }
    client.watch().await;
    let entries = client.state().entries.clone();
    let typed = INPUTS.iter().map(|(_, text)| (*text).to_owned());
    let (commands, sent): (Vec<_>, Vec<_>) = typed.partition(|text| text.starts_with('!'));
    assert_eq!(collect(&entries, command), commands, "each command once");
    assert_eq!(
        collect(&entries, message),
        sent,
        "each input once, in order"
    );
    assert_eq!(
        collect(&entries, error).len(),
        1,
        "one error for the input that failed"
    );
    let (mut calls, mut results) = (
        entries.iter().flat_map(calls).collect::<Vec<_>>(),
        collect(&entries, result),
    );
    calls.sort();
    results.sort();
    assert_eq!(calls, results, "each call has one result");
    let handed_on = |entry: &Entry| match &entry.body {
        EntryBody::ToolResult { tool, outcome, .. } if tool == "delegate" => Some(*outcome),
        _ => None,
    };
    // A task that is handed on is interrupted by nothing: it goes on where it was.
    assert_eq!(collect(&entries, handed_on), [ToolOutcome::Ok]);
    let nested = |entry: &Entry| match &entry.body {
        EntryBody::ToolResult {
            tool,
            outcome,
            nested,
            ..
        } if tool == "script" => Some((*outcome, nested.clone())),
        _ => None,
    };
    let scripts = collect(&entries, nested);
    let [(outcome, nested)] = &scripts[..] else {
        panic!("{scripts:?}");
    };
    assert!(
        nested.iter().all(|call| call.outcome.is_some()),
        "{nested:?}"
    );
    let whole = *outcome == ToolOutcome::Ok;
    assert!(whole || *outcome == ToolOutcome::Interrupted, "{outcome:?}");
    assert!(!whole || nested.len() == 2, "{nested:?}");
    client.watch_other(2).await;
    let child = client.state().entries.clone();
    assert_eq!(collect(&child, message), ["work in part"]);
    let mut ran = script.ran();
    let runs = ran.len();
    ran.sort();
    ran.dedup();
    assert_eq!(ran.len(), runs, "no call runs twice");
    for prompt in script.prompts() {
        check_prompt(&prompt.items);
    }
}

/// Every call is followed at once by its one result.
fn check_prompt(items: &[PromptItem]) {
    use crate::model::AnswerBlock;
    let mut expected: Vec<String> = Vec::new();
    for item in items {
        match item {
            PromptItem::ToolResult { provider_id, .. } => {
                assert_eq!(*provider_id, expected.remove(0));
            }
            PromptItem::User { .. } => assert!(expected.is_empty(), "{items:?}"),
            PromptItem::Assistant { blocks, .. } => {
                assert!(expected.is_empty(), "{items:?}");
                expected.extend(blocks.iter().filter_map(|block| match block {
                    AnswerBlock::ToolCall { provider_id, .. } => Some(provider_id.clone()),
                    _ => None,
                }));
            }
        }
    }
    assert!(expected.is_empty(), "{items:?}");
}

fn collect<T>(entries: &[Entry], part: impl Fn(&Entry) -> Option<T>) -> Vec<T> {
    entries.iter().filter_map(part).collect()
}

fn message(entry: &Entry) -> Option<String> {
    match &entry.body {
        EntryBody::Message { text, .. } => Some(text.clone()),
        _ => None,
    }
}

fn command(entry: &Entry) -> Option<String> {
    match &entry.body {
        EntryBody::Shell { command, .. } => Some(format!("!{command}")),
        _ => None,
    }
}

fn error(entry: &Entry) -> Option<()> {
    matches!(entry.body, EntryBody::Error { .. }).then_some(())
}

fn result(entry: &Entry) -> Option<String> {
    match &entry.body {
        EntryBody::ToolResult { call, .. } => Some(call.to_string()),
        _ => None,
    }
}

fn calls(entry: &Entry) -> Vec<String> {
    let EntryBody::Answer { blocks, .. } = &entry.body else {
        return Vec::new();
    };
    let call = |block: &Block| match block {
        Block::ToolCall { call, .. } => Some(call.to_string()),
        Block::Text { .. } | Block::Thinking { .. } => None,
    };
    blocks.iter().filter_map(call).collect()
}

/// Crashes at every commit of the first life, and each time at the one that `then` says of the second.
async fn every_point(point: impl Fn(u32) -> CrashPoint, then: &[CrashPoint]) {
    let mut commits = 0;
    loop {
        let dir = tempfile::tempdir().expect("folder");
        let points: Vec<_> = std::iter::once(point(commits))
            .chain(then.iter().copied())
            .collect();
        if beside(live(dir.path(), &Script::new(), &points)).await == 0 {
            break;
        }
        commits += 1;
    }
    assert!(commits > 15, "only {commits} commits in the whole story");
}

#[tokio::test]
async fn a_crash_before_any_commit_loses_and_doubles_nothing() {
    every_point(CrashPoint::Before, &[]).await;
}

#[tokio::test]
async fn a_crash_after_any_commit_loses_and_doubles_nothing() {
    every_point(CrashPoint::After, &[]).await;
}

#[tokio::test]
async fn a_second_crash_while_the_first_is_made_good_loses_and_doubles_nothing() {
    for second in [
        CrashPoint::After(0),
        CrashPoint::Before(1),
        CrashPoint::After(1),
    ] {
        every_point(CrashPoint::After, &[second]).await;
    }
}
