//! Settings, rules and templates as the worker takes them: with the first message, between turns, and from files.

use porthole_protocol::{Call, ConversationId, ErrorCode, GuestMode, Policy, Settings, replies};

use super::{
    Script, beside,
    client::{Client, session, shell},
    guest,
};
use crate::{model::PromptItem, wire::ToWorker};

fn put(root: &std::path::Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, text).expect("written");
}

fn list() -> Call {
    Call::PromptsList {
        session: session(),
        conversation: ConversationId::ROOT,
    }
}

fn sent(script: &Script) -> (String, String) {
    let prompt = script.prompts().pop().expect("a request");
    let said = match prompt.items.last() {
        Some(PromptItem::User { text, .. }) => text.clone(),
        other => panic!("{other:?}"),
    };
    (prompt.system, said)
}

#[tokio::test]
async fn a_template_is_sent_as_its_text_and_rules_reach_the_model_with_the_next_turn() {
    beside(async {
        let dir = tempfile::tempdir().expect("folder");
        put(dir.path(), "AGENTS.md", "Use tabs.");
        put(
            dir.path(),
            ".agents/prompts/fix.md",
            "---\ndescription: Mends\n---\nFix $1 at once",
        );
        let script = Script::new();
        let mut client = Client::start(dir.path(), &script, None).await;
        client.watch().await;
        let before = client.state().info.prompts;
        client.submit("r1", "/fix 'the door'").await.expect("taken");
        client
            .until("answered", |c| c.finals() == 1 && c.state().turn.is_none())
            .await;
        let (system, said) = sent(&script);
        assert_eq!(said, "Fix the door at once");
        assert!(system.contains("Use tabs."), "{system}");
        let kept = format!("{:?}", client.state().entries);
        assert!(
            kept.contains("Fix the door at once"),
            "the transcript has what was sent"
        );
        put(dir.path(), "AGENTS.md", "Use blanks.");
        put(dir.path(), ".agents/prompts/new.md", "New");
        let listed: replies::Prompts =
            serde_json::from_value(client.call(list()).await.expect("lists")).expect("reads");
        let names: Vec<_> = listed
            .prompts
            .iter()
            .map(|p| (p.name.as_str(), p.description.as_str()))
            .collect();
        assert!(
            names.contains(&("fix", "Mends")) && names.contains(&("new", "New")),
            "{names:?}"
        );
        client
            .until("another version", |c| c.state().info.prompts != before)
            .await;
        client.submit("r2", "/unknown stays").await.expect("taken");
        client
            .until("answered", |c| c.finals() == 2 && c.state().turn.is_none())
            .await;
        let (system, said) = sent(&script);
        assert_eq!(said, "/unknown stays");
        assert!(system.contains("Use blanks.") && !system.contains("Use tabs."));
    })
    .await;
}

#[tokio::test]
async fn settings_that_change_hold_from_then_on() {
    beside(async {
        let dir = tempfile::tempdir().expect("folder");
        let mut client = Client::start(dir.path(), &Script::new(), None).await;
        client.watch().await;
        client.who = guest(GuestMode::Full);
        client.call(shell("s1", "true")).await.expect("may");
        let settings = Settings {
            guests: [("*".to_owned(), Policy::ReadOnly)].into(),
            ..Settings::default()
        };
        client.send(&ToWorker::Settings(Box::new(settings))).await;
        let refused = client.call(shell("s2", "true")).await.expect_err("may not");
        assert_eq!(refused.code, ErrorCode::NotAllowed);
        let responses = Call::Responses {
            session: session(),
            conversation: ConversationId::ROOT,
            before: None,
            limit: 1,
        };
        for text in ["one", "two"] {
            client.submit(text, text).await.expect("taken");
            let many = if text == "one" { 2 } else { 3 };
            client
                .until("answered", |c| {
                    c.finals() == many && c.state().turn.is_none()
                })
                .await;
        }
        let rows: replies::Responses =
            serde_json::from_value(client.call(responses).await.expect("lists")).expect("reads");
        assert!(rows.has_older);
        assert_eq!(rows.responses.len(), 1);
        assert!(!rows.responses[0].incomplete);
        let last = client.state().entries.last().expect("an entry").id;
        assert_eq!(rows.responses[0].entry, last);
    })
    .await;
}
