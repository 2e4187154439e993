//! Conversations of one session: children, forks, summaries, what a person takes out, trying again, moving.

use std::sync::{Arc, atomic::Ordering};

use porthole_protocol::{
    Call, CallError, ConversationId, EntryBody, EntryId, ErrorCode, RequestId, ToolDetail,
    ToolOutcome, replies,
};
use serde_json::Value;

use super::{
    Script, beside,
    client::{Client, session, text_of},
};
use crate::model::PromptItem;

/// What is asked of a conversation, in a few words.
enum Ask {
    Reset,
    Compact,
    Retry,
    Exclude(EntryId, bool),
    Fork(EntryId),
    Archive(bool),
    Move(Option<String>),
    Submit(&'static str),
}

async fn ask(
    client: &mut Client,
    conversation: u64,
    request: &str,
    ask: Ask,
) -> Result<Value, CallError> {
    let (session, conversation) = (session(), ConversationId(conversation));
    let request = RequestId::parse(request).expect("id");
    let call = match ask {
        Ask::Reset => Call::Reset {
            session,
            conversation,
            request,
        },
        Ask::Compact => Call::Compact {
            session,
            conversation,
            request,
            instructions: "the names".into(),
        },
        Ask::Retry => Call::Retry {
            session,
            conversation,
            request,
        },
        Ask::Exclude(entry, excluded) => Call::Exclude {
            session,
            conversation,
            request,
            entry,
            excluded,
        },
        Ask::Fork(entry) => Call::Fork {
            session,
            conversation,
            request,
            entry,
            title: None,
        },
        Ask::Archive(archived) => Call::ArchiveChild {
            session,
            conversation,
            request,
            archived,
        },
        Ask::Move(dir) => Call::Move {
            session,
            conversation,
            request,
            dir,
        },
        Ask::Submit(text) => Call::Submit {
            session,
            conversation,
            request,
            mode: porthole_protocol::SendMode::FollowUp,
            text: text.into(),
            attachments: Vec::new(),
        },
    };
    client.call(call).await
}

async fn started(script: &Arc<Script>) -> (tempfile::TempDir, Client) {
    let dir = tempfile::tempdir().expect("folder");
    let mut client = Client::start(dir.path(), script, None).await;
    client.watch().await;
    (dir, client)
}

async fn said(client: &mut Client, request: &str, text: &str) {
    let before = client.finals();
    client.submit(request, text).await.expect("taken");
    client
        .until("an end", |c| {
            c.finals() > before && c.state().turn.is_none()
        })
        .await;
}

/// Returns what the model was last sent, as texts.
fn sent(script: &Script) -> Vec<String> {
    let prompts = script.prompts();
    let items = prompts.last().expect("asked").items.iter();
    items
        .filter_map(|item| match item {
            PromptItem::User { text, .. } => Some(text.clone()),
            _ => None,
        })
        .collect()
}

fn find(client: &Client, is: impl Fn(&EntryBody) -> bool) -> Option<EntryId> {
    let entries = &client.state().entries;
    entries.iter().find(|e| is(&e.body)).map(|e| e.id)
}

#[tokio::test]
async fn a_task_that_is_handed_on_is_done_in_a_child_that_can_be_looked_into() {
    beside(async {
        let script = Script::new();
        let (_dir, mut client) = started(&script).await;
        said(&mut client, "r1", "hand on").await;
        let result = client.state().entries.iter().find_map(|e| match &e.body {
            EntryBody::ToolResult {
                outcome,
                text,
                detail,
                ..
            } => Some((*outcome, text.clone(), detail.clone())),
            _ => None,
        });
        let (outcome, text, detail) = result.expect("a result");
        assert_eq!((outcome, text.as_str()), (ToolOutcome::Ok, "done"));
        let child = ConversationId(2);
        assert!(matches!(detail, ToolDetail::Child { conversation, .. } if conversation == child));
        assert_eq!(client.state().children[0].title, "work in part");
        client.watch_other(2).await;
        assert_eq!(client.state().info.parent, Some(ConversationId::ROOT));
        assert!(find(&client, |b| matches!(b, EntryBody::ToolResult { .. })).is_some());
        // People go on with it.
        ask(&mut client, 2, "c1", Ask::Submit("and then?"))
            .await
            .expect("taken");
        client
            .until("answered", |c| {
                c.state()
                    .entries
                    .iter()
                    .any(|e| text_of(e) == "ok: and then?")
            })
            .await;
    })
    .await;
}

#[tokio::test]
async fn stopping_a_turn_stops_the_children_that_work_for_it() {
    beside(async {
        let script = Script::new();
        let (_dir, mut client) = started(&script).await;
        client.submit("r1", "hand stuck").await.expect("taken");
        client
            .until("the child runs", |_| script.ran().len() == 1)
            .await;
        client.stop("s1").await;
        client.watch_other(2).await;
        let stopped =
            |b: &EntryBody| matches!(b, EntryBody::Notice { text } if text == "Stopped by Ada.");
        assert!(find(&client, stopped).is_some());
        client.gone().await;
    })
    .await;
}

#[tokio::test]
async fn a_child_that_is_put_away_takes_nothing_until_it_is_brought_back() {
    beside(async {
        let script = Script::new();
        let (_dir, mut client) = started(&script).await;
        said(&mut client, "r1", "hand on").await;
        ask(&mut client, 2, "a1", Ask::Archive(true))
            .await
            .expect("put away");
        client
            .until("shown", |c| c.state().children[0].archived)
            .await;
        let refused = ask(&mut client, 2, "c1", Ask::Submit("hello"))
            .await
            .expect_err("refused");
        assert_eq!(refused.code, ErrorCode::Conflict);
        client.watch_other(2).await;
        assert!(client.state().info.read_only.is_some());
        ask(&mut client, 2, "a2", Ask::Archive(false))
            .await
            .expect("back");
        ask(&mut client, 2, "c2", Ask::Submit("hello"))
            .await
            .expect("taken");
        let root = ask(&mut client, 1, "a3", Ask::Archive(true))
            .await
            .expect_err("refused");
        assert_eq!(root.code, ErrorCode::Invalid);
    })
    .await;
}

#[tokio::test]
async fn a_fork_has_the_history_up_to_its_entry_and_goes_its_own_way() {
    beside(async {
        let script = Script::new();
        let (dir, mut client) = started(&script).await;
        said(&mut client, "r1", "one").await;
        let entry = client.state().entries.last().expect("answered").id;
        said(&mut client, "r2", "two").await;
        let reply = ask(&mut client, 1, "f1", Ask::Fork(entry))
            .await
            .expect("forked");
        let opened: replies::Opened = serde_json::from_value(reply.clone()).expect("a reply");
        assert_eq!(
            ask(&mut client, 1, "f1", Ask::Fork(entry)).await,
            Ok(reply),
            "once"
        );
        let missing = ask(&mut client, 1, "f2", Ask::Fork(EntryId(99)))
            .await
            .expect_err("refused");
        assert_eq!(missing.code, ErrorCode::NotFound);
        ask(
            &mut client,
            opened.conversation.0,
            "c1",
            Ask::Submit("three"),
        )
        .await
        .expect("taken");
        client.watch_other(opened.conversation.0).await;
        client
            .until("answered", |c| {
                c.state().entries.iter().any(|e| text_of(e) == "ok: three")
            })
            .await;
        assert_eq!(sent(&script), ["one", "three"]);
        let ids: Vec<_> = client.state().entries.iter().map(|e| e.id.0).collect();
        assert!(
            ids.is_sorted() && ids[..2] == [1, 2] && !ids.contains(&3),
            "{ids:?}"
        );
        client.gone().await;
        let mut client = Client::start(dir.path(), &script, None).await;
        client.watch_other(opened.conversation.0).await;
        ask(
            &mut client,
            opened.conversation.0,
            "c2",
            Ask::Submit("four"),
        )
        .await
        .expect("taken");
        client
            .until("answered", |c| {
                c.state().entries.iter().any(|e| text_of(e) == "ok: four")
            })
            .await;
        assert_eq!(sent(&script), ["one", "three", "four"]);
    })
    .await;
}

#[tokio::test]
async fn what_is_summed_up_or_reset_stays_readable_and_the_model_sees_the_summary() {
    beside(async {
        let script = Script::new();
        let (dir, mut client) = started(&script).await;
        let nothing = ask(&mut client, 1, "k0", Ask::Compact)
            .await
            .expect_err("refused");
        assert_eq!(nothing.code, ErrorCode::Conflict);
        said(&mut client, "r1", "one").await;
        ask(&mut client, 1, "k1", Ask::Compact)
            .await
            .expect("begun");
        let compacted = |b: &EntryBody| {
            matches!(
                b,
                EntryBody::Compaction {
                    automatic: false,
                    ..
                }
            )
        };
        client
            .until("summed up", |c| {
                find(c, compacted).is_some() && c.state().turn.is_none()
            })
            .await;
        assert!(
            sent(&script)
                .last()
                .is_some_and(|last| last.contains("the names"))
        );
        assert!(
            client
                .state()
                .entries
                .iter()
                .any(|e| text_of(e) == "ok: one"),
            "still readable"
        );
        client.gone().await;
        let mut client = Client::start(dir.path(), &script, None).await;
        client.watch().await;
        said(&mut client, "r2", "two").await;
        let texts = sent(&script);
        assert!(
            texts[0].starts_with("Summary of the conversation so far:") && texts[1..] == ["two"],
            "{texts:?}"
        );
        ask(&mut client, 1, "x1", Ask::Reset).await.expect("reset");
        said(&mut client, "r3", "three").await;
        assert_eq!(sent(&script), ["three"]);
    })
    .await;
}

#[tokio::test]
async fn a_conversation_that_no_longer_fits_is_summed_up_once_and_the_message_goes_on() {
    beside(async {
        let script = Script::new();
        let (_dir, mut client) = started(&script).await;
        said(&mut client, "r1", "one").await;
        said(&mut client, "r2", "too much").await;
        let automatic = |b: &EntryBody| {
            matches!(
                b,
                EntryBody::Compaction {
                    automatic: true,
                    ..
                }
            )
        };
        assert!(find(&client, automatic).is_some());
        let messages = client
            .state()
            .entries
            .iter()
            .filter(|e| matches!(e.body, EntryBody::Message { .. }));
        assert_eq!(messages.count(), 2, "neither lost nor doubled");
        assert_eq!(sent(&script).last().map(String::as_str), Some("too much"));
        // It overflows again with the summary before it: once is enough, and a person is told.
        assert!(
            find(
                &client,
                |b| matches!(b, EntryBody::Error { text, .. } if text.contains("no longer fits"))
            )
            .is_some()
        );
        assert!(script.prompts().len() <= 5, "no loop");
    })
    .await;
}

#[tokio::test]
async fn a_nearly_full_context_is_summed_up_before_the_next_request() {
    beside(async {
        let script = Script::new();
        let (_dir, mut client) = started(&script).await;
        said(&mut client, "r1", "one").await;
        script.window.store(2_500, Ordering::Relaxed);
        client.configure("test/two").await.expect("there is one");
        said(
            &mut client,
            "r2",
            Box::leak("long ".repeat(2_000).into_boxed_str()),
        )
        .await;
        let kept = client.state().entries.iter().find_map(|e| match &e.body {
            EntryBody::Compaction {
                automatic: true,
                kept,
                ..
            } => Some(kept.len()),
            _ => None,
        });
        assert_eq!(kept, Some(1), "the message itself goes on word for word");
        let texts = sent(&script);
        assert!(
            texts.len() == 2 && texts[0].starts_with("Summary") && texts[1].starts_with("long ")
        );
    })
    .await;
}

#[tokio::test]
async fn what_failed_is_tried_again_without_being_sent_again() {
    beside(async {
        let script = Script::new();
        let (_dir, mut client) = started(&script).await;
        let refused = ask(&mut client, 1, "t0", Ask::Retry)
            .await
            .expect_err("nothing failed");
        assert_eq!(refused.code, ErrorCode::Conflict);
        said(&mut client, "r1", "fail").await;
        client
            .until("shown", |c| c.state().info.failed.is_some())
            .await;
        let error = client.state().info.failed.expect("just looked");
        let before = client.finals();
        ask(&mut client, 1, "t1", Ask::Retry).await.expect("tried");
        client
            .until("failed again", |c| {
                c.finals() > before && c.state().turn.is_none()
            })
            .await;
        assert!(find(&client, |b| *b == EntryBody::Retried { error }).is_some());
        let messages = client
            .state()
            .entries
            .iter()
            .filter(|e| matches!(e.body, EntryBody::Message { .. }));
        assert_eq!(messages.count(), 1);
        assert_eq!(sent(&script), ["fail"]);
    })
    .await;
}

#[tokio::test]
async fn what_a_person_takes_out_the_model_does_not_see_until_it_is_put_back() {
    beside(async {
        let script = Script::new();
        let (dir, mut client) = started(&script).await;
        said(&mut client, "r1", "secret").await;
        let entry = client.state().entries[0].id;
        ask(&mut client, 1, "e1", Ask::Exclude(entry, true))
            .await
            .expect("taken out");
        client.gone().await;
        let mut client = Client::start(dir.path(), &script, None).await;
        client.watch().await;
        said(&mut client, "r2", "two").await;
        assert_eq!(sent(&script), ["two"]);
        ask(&mut client, 1, "e2", Ask::Exclude(entry, false))
            .await
            .expect("put back");
        said(&mut client, "r3", "three").await;
        assert_eq!(sent(&script), ["secret", "two", "three"]);
        let missing = ask(&mut client, 1, "e3", Ask::Exclude(EntryId(99), true))
            .await
            .expect_err("refused");
        assert_eq!(missing.code, ErrorCode::NotFound);
    })
    .await;
}

#[tokio::test]
async fn a_conversation_moves_and_those_without_a_directory_of_their_own_follow() {
    beside(async {
        let script = Script::new();
        let (dir, mut client) = started(&script).await;
        said(&mut client, "r1", "hand on").await;
        std::fs::create_dir(dir.path().join("sub")).expect("folder");
        ask(&mut client, 1, "m1", Ask::Move(Some("sub".into())))
            .await
            .expect("moved");
        let moved = dir
            .path()
            .canonicalize()
            .expect("path")
            .join("sub")
            .display()
            .to_string();
        client.until("shown", |c| c.state().info.cwd == moved).await;
        client.watch_other(2).await;
        assert_eq!(client.state().info.cwd, moved);
        client.gone().await;
        let mut client = Client::start(dir.path(), &script, None).await;
        client.watch_other(2).await;
        assert_eq!(client.state().info.cwd, moved);
        let refused = ask(&mut client, 1, "m2", Ask::Move(Some("nowhere".into())))
            .await
            .expect_err("refused");
        assert!(refused.message.contains("is not there"), "{refused:?}");
    })
    .await;
}
