//! Files that go along, links for others, who is here, and what a guest sees.

use super::world::*;
use insta::assert_snapshot;
use porthole_bridge::{Action, Attached, Event, Outcome, Place, Request, Source, UploadFrom};
use porthole_protocol::{Attachment, AttachmentId, EntryBody, Person, Presence, Standing};
use serde_json::{Value, json};

fn attached(id: &str) -> Event {
    Event::Attached(Attached {
        place: Place {
            session: "s1".into(),
            conversation: 1,
        },
        id: id.into(),
        name: format!("{id}.png"),
        bytes: 123_456,
        media_type: "image/png".into(),
    })
}

fn actions(world: &mut World) -> Vec<Action> {
    let asked = std::mem::take(&mut world.asked);
    let action = |request| match request {
        Request::Action { action, .. } => Some(action),
        _ => None,
    };
    asked.into_iter().filter_map(action).collect()
}

/// The last call, as it is on the wire.
fn called(world: &mut World) -> (u64, Value) {
    let (id, call) = world.calls().pop().expect("a call");
    (id, serde_json::to_value(call).expect("plain data"))
}

#[test]
fn files_go_with_the_message_and_come_back_when_it_is_refused() {
    let mut world = World::with(80, 16, talked());
    world.keys(&["alt-a"]);
    assert_eq!(actions(&mut world), [Action::Upload(UploadFrom::Picker)]);
    world.send(attached("one"));
    world.send(attached("two"));
    world.text("look");
    assert_snapshot!(world.screen().lines().rev().take(5).collect::<Vec<_>>().join("\n"), @r#"
    cursor 8,14
        Enter sends · / command · ! shell · Ctrl-K commands             38 % ▰▰▱▱▱
      ▌ look
      ▌ + one.png (image/png, 120 KiB) · two.png (image/png, 120 KiB)
    "#);
    world.keys(&["ctrl-a", "backspace"]);
    let screen = world.screen();
    assert!(!screen.contains("· two.png"), "{screen}");
    assert!(world.screen().contains("took two.png off"));
    world.asked.clear();
    world.keys(&["enter"]);
    let (id, call) = called(&mut world);
    assert_eq!(call["params"]["attachments"], json!(["one"]));
    assert!(world.screen().contains("+ one.png (image/png, 120 KiB)"));
    world.refuse(id, "the disk is full");
    let screen = world.screen();
    assert!(
        screen.contains("+ one.png") && screen.contains("▌ look"),
        "{screen}"
    );
}

#[test]
fn files_alone_are_a_message_and_ten_are_the_most() {
    let mut world = World::with(80, 16, talked());
    for at in 0..11 {
        world.send(attached(&format!("f{at}")));
    }
    assert!(world.screen().contains("at most ten files"));
    world.asked.clear();
    world.keys(&["enter"]);
    let (_, call) = called(&mut world);
    assert_eq!(call["params"]["text"], "");
    assert_eq!(
        call["params"]["attachments"].as_array().map(Vec::len),
        Some(10)
    );
}

#[test]
fn what_came_with_a_message_is_shown_and_can_be_saved() {
    let mut state = talked();
    let files = vec![Attachment {
        id: AttachmentId::parse("a1").expect("an id"),
        name: "plan\u{1b}.pdf".into(),
        bytes: 2_048,
        media_type: "application/pdf".into(),
    }];
    for entry in &mut state.entries {
        if let EntryBody::Message { attachments, .. } = &mut entry.body {
            attachments.clone_from(&files);
        }
    }
    let mut world = World::with(80, 20, state);
    let screen = world.screen();
    assert!(
        screen.contains("▌ + plan␛.pdf (application/pdf, 2 KiB)"),
        "{screen}"
    );
    world.text("/save");
    world.keys(&["enter"]);
    assert!(
        world.screen().contains("save on this computer"),
        "{}",
        world.screen()
    );
    world.text("plan");
    world.asked.clear();
    world.keys(&["enter"]);
    let wanted = Action::Download {
        what: Source::Attachment("a1".into()),
        name: files[0].name.clone(),
    };
    assert_eq!(actions(&mut world), [wanted]);
}

#[test]
fn an_at_sign_lists_files_and_writes_their_paths_so_that_they_can_be_read() {
    let mut world = World::with(80, 16, talked());
    world.asked.clear();
    world.text("see @my");
    let (id, call) = called(&mut world);
    assert_eq!(call["method"], "files.find");
    world.reply(
        id,
        json!({"files": ["my notes.md", "src/my.rs", "mythings/"], "truncated": false}),
    );
    assert_snapshot!(world.screen(), @r#"
      fix the flaky retry test                        claude-sonnet · thinking low
      ~/src/shop · main                                                 asks first

      ▌ The retry test fails about once in ten runs. Find out why and fix it.

        I'll run it until it fails, then read what it depends on.

        ✓ shell   cargo test retry -- --nocap… 12 runs, 1 failed             8.4 s

      ┌──────────────────────────────────────────────────────────────┐ empts met
      │ ▸ my notes.md                                                │
      │   mythings/                                                  │
      │   src/my.rs                                                  │
      └──────────────────────────────────────────────────────────────┘
      ▌ see @my
        Enter sends · / command · ! shell · Ctrl-K commands             38 % ▰▰▱▱▱
    cursor 11,14
    "#);
    world.keys(&["tab"]);
    world.text("and @thin");
    world.keys(&["enter"]);
    world.text("x");
    let screen = world.screen();
    assert!(
        screen.contains("see @\"my notes.md\" and @mythings/x"),
        "{screen}"
    );
}

#[test]
fn a_link_says_what_it_exposes_before_it_is_made_and_is_copied_from_here() {
    let mut world = World::with(80, 24, talked());
    world.keys(&["alt-s"]);
    let (id, _) = called(&mut world);
    let guest =
        json!({"id": "g-1", "name": "Mira", "created_ms": NOW, "seen_ms": NOW, "here": true});
    let share = json!({"id": "s-1", "session": "s1", "name": "", "mode": "view", "may_approve": false, "once": false,
        "used": false, "created_ms": NOW, "expires_ms": NOW + 86_400_000, "guests": [guest]});
    world.reply(id, json!({"shares": [share]}));
    assert_snapshot!(world.screen(), @r#"
      fix the flaky retry test                        claude-sonnet · thinking low
      ~/src/shop · main                                                 asks first


      ┌─ share this session ─────────────────────────────────────────────────────┐
      │ type to find                                                             │
      │                                                                          │
      │ ▸ new link: guests read and follow                                  view │
      │   new link: guests work here too                                    full │
      │   view link: here now: Mira                              until Wed 22:13 │
      │ a link says what it allows before it is made                             │
      └──────────────────────────────────────────────────────────────────────────┘
        in one tick.

        It is bounded by half the base now. 200 runs pass.







      ▌ say what should be done
        Enter sends · / command · ! shell · Ctrl-K commands             38 % ▰▰▱▱▱
    cursor 4,5
    "#);
    world.keys(&["down", "enter"]);
    assert_snapshot!(world.screen(), @r#"
      fix the flaky retry test                        claude-sonnet · thinking low
      ~/src/shop · main                                                 asks first
      ┌─ what the link allows ───────────────────────────────────────────────────┐
      │ type to find                                                             │
      │                                                                          │
      │ ▸ make the link                                                          │
      │   works for                                                       7 days │
      │   guests may answer questions in your place                           no │
      │   only the first who uses it comes in                                 no │
      │                                                                          │
      │   Guests can send, steer and stop, run commands with `!`, and upload     │
      │   files.                                                                 │
      │   This is a shell on your machine: what they run, runs as you, with      │
      │   your files and your keys.                                              │
      │   When the agent asks for permission, only you can answer.               │
      │   It works for everyone who has it, until it expires or you revoke       │
      │ Enter changes a line; Esc makes nothing                                  │
      └─────────────────────────────────────────────────────────────── ↓ 3 more ─┘




      ▌ say what should be done
        Enter sends · / command · ! shell · Ctrl-K commands             38 % ▰▰▱▱▱
    cursor 4,3
    "#);
    world.keys(&["down", "enter", "down", "enter", "up", "up"]);
    world.asked.clear();
    world.keys(&["enter"]);
    let (id, call) = called(&mut world);
    let asked = &call["params"];
    assert_eq!(
        (&asked["mode"], &asked["seconds"], &asked["may_approve"]),
        (&json!("full"), &json!(3600), &json!(true))
    );
    let link = "http://127.0.0.1:7420/#share=phs_0123456789&key=abc";
    world.reply(id, json!({"link": link, "only_here": true, "share": share}));
    assert_snapshot!(world.screen(), @r#"
      fix the flaky retry test                        claude-sonnet · thinking low
      ~/src/shop · main                                                 asks first

      ┌─ the link is made ───────────────────────────────────────────────────────┐
      │ type to find                                                             │
      │                                                                          │
      │ ▸ copy the link                                                          │
      │   http://127.0.0.1:7420/#share=phs_0123456789&key=abc                    │
      │                                                                          │
      │   Whoever has it can use it. It is shown this once.                      │
      │   It reaches only this machine; others forward a port to it with         │
      │   `ssh -L`.                                                              │
      └──────────────────────────────────────────────────────────────────────────┘

        It is bounded by half the base now. 200 runs pass.







      ▌ say what should be done
        making the link …                                               38 % ▰▰▱▱▱
    cursor 4,4
    "#);
    assert!(
        !format!("{:?}", world.app).contains("phs_0123"),
        "a secret is in no Debug"
    );
    world.asked.clear();
    world.keys(&["enter"]);
    assert_eq!(actions(&mut world), [Action::Copy(link.into())]);
}

#[test]
fn a_guest_can_be_sent_away() {
    let mut world = World::with(80, 24, talked());
    world.keys(&["alt-s"]);
    let (id, _) = called(&mut world);
    let guest =
        json!({"id": "g-1", "name": "Mira", "created_ms": NOW, "seen_ms": NOW, "here": true});
    world.reply(id, json!({"shares": [{"id": "s-1", "session": "s1", "name": "review", "mode": "view", "may_approve": false,
        "once": false, "used": false, "created_ms": NOW, "expires_ms": NOW + 86_400_000, "guests": [guest]}]}));
    world.text("review");
    world.keys(&["enter", "down"]);
    assert!(
        world.screen().contains("revoke “Mira” (name not checked)"),
        "{}",
        world.screen()
    );
    world.asked.clear();
    world.keys(&["enter"]);
    assert!(world.screen().contains("send “Mira” away?"));
    world.keys(&["enter"]);
    assert!(world.calls().is_empty(), "Enter alone sends nobody away");
    world.keys(&["alt-s"]);
    world.text("review");
    world.keys(&["enter", "down", "enter", "down"]);
    world.asked.clear();
    world.keys(&["enter"]);
    let (_, call) = called(&mut world);
    assert_eq!(
        call,
        json!({"method": "share.revoke", "params": {"id": "g-1"}})
    );
}

#[test]
fn who_is_here_stands_in_the_session_and_in_the_list() {
    let mut world = World::with(100, 16, talked());
    let mut rows = rows_of_home();
    let person = |id: &str, standing| Person {
        id: id.into(),
        name: id.into(),
        standing,
    };
    let view = Standing::Guest {
        mode: porthole_protocol::GuestMode::View,
        may_approve: false,
    };
    rows[0].presence = Presence {
        people: vec![person("owner", Standing::Owner), person("Mira", view)],
        more: 2,
    };
    world.sessions(rows);
    let screen = world.screen();
    assert!(
        screen.contains("with Mira (view), 2 more · asks first"),
        "{screen}"
    );
    world.keys(&["alt-h"]);
    let screen = world.screen();
    assert!(screen.contains("Mira (view), 2 more"), "{screen}");
}

#[test]
fn the_palette_of_a_guest_who_views_offers_nothing_that_is_refused() {
    let mut world = World::with(80, 40, talked());
    world.frame(json!({"hello": {"protocol": porthole_protocol::PROTOCOL_VERSION, "server": "0.1.0", "machine": "box",
        "who": {"role": {"guest": {"session": "s1", "mode": "view", "may_approve": false}}, "id": "g-1", "name": "Mira"}}}));
    world.keys(&["ctrl-k"]);
    let screen = world.screen();
    for words in [
        "let others in",
        "choose the model",
        "attach a file",
        "begin anew",
        "another title",
    ] {
        assert!(!screen.contains(words), "{words}: {screen}");
    }
    world.send(Event::Outcome {
        request: 999,
        outcome: Outcome::Done("nothing asked for".into()),
    });
}

#[test]
fn a_guest_who_views_is_refused_nothing_that_nobody_asked_for() {
    let mut start = start(80, 24);
    start.role = porthole_bridge::Role::Guest;
    let mut world = World::begin(start);
    world.send(Event::LinkState(porthole_bridge::LinkState::Up {
        epoch: 1,
    }));
    world.frame(json!({"hello": {"protocol": porthole_protocol::PROTOCOL_VERSION, "server": "0.1.0", "machine": "box",
        "who": {"role": {"guest": {"session": "s1", "mode": "view", "may_approve": false}}, "id": "g-1", "name": "Mira"}}}));
    let mut rows = rows_of_home();
    rows.truncate(1);
    rows[0].unread = true;
    world.sessions(rows);
    let mut state = talked();
    state.info.prompts = 3;
    world.snapshot(&state);
    world.wait(2_000);
    let calls: Vec<_> = world.calls().into_iter().map(|(_, call)| call).collect();
    let refused = |call: &porthole_protocol::Call| {
        matches!(
            call,
            porthole_protocol::Call::SessionRead { .. }
                | porthole_protocol::Call::PromptsList { .. }
        )
    };
    assert!(!calls.iter().any(refused), "{calls:?}");
}

#[test]
fn a_failed_input_says_how_it_is_tried_again() {
    let mut state = talked();
    let last = state.entries.last_mut().expect("an entry");
    last.body = EntryBody::Error {
        text: "the model is overloaded".into(),
        hint: String::new(),
    };
    state.info.failed = Some(last.id);
    let mut world = World::with(80, 16, state);
    let screen = world.screen();
    assert!(screen.contains("/retry tries it again"), "{screen}");
    world.asked.clear();
    world.text("/retry ");
    world.keys(&["enter"]);
    let (_, call) = called(&mut world);
    assert_eq!(call["method"], "conversation.retry");
}

#[test]
fn what_was_used_is_shown_in_all_and_by_response() {
    let mut state = talked();
    state.info.usage.input = Some(12_000);
    state.info.usage.output = Some(3_400);
    state.info.usage.cache_read = Some(9_000);
    state.info.usage.cost_nanos = Some(420_000_000);
    state.info.unpriced = 1;
    let mut world = World::with(100, 20, state);
    assert!(
        world.screen().contains("38 % ▰▰▱▱▱ $0.42"),
        "{}",
        world.screen()
    );
    world.text("/usage ");
    world.asked.clear();
    world.keys(&["enter"]);
    let (id, call) = called(&mut world);
    assert_eq!(call["method"], "usage.responses");
    let usage = json!({"input": 900, "output": 40, "cache_read": 450, "cache_write": null, "cost_nanos": 3_000_000});
    world.reply(id, json!({"has_older": false, "responses": [{"entry": 4, "at_ms": NOW, "model": {"provider": "p", "model": "m"},
        "usage": usage, "stop": "end_turn", "incomplete": false}]}));
    let screen = world.screen();
    for words in [
        "12,000 in, 3,400 out",
        "$0.42, and one response without a price",
        "75 % of the input came from the provider's cache",
        "900 in, 40 out, 50 % cached · p/m",
        "$0.003",
    ] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    world.keys(&["esc"]);
    assert!(!world.screen().contains("tokens"));
}

#[test]
fn a_guest_who_may_work_is_told_so() {
    let mut world = World::with(100, 16, talked());
    world.frame(json!({"hello": {"protocol": porthole_protocol::PROTOCOL_VERSION, "server": "0.1.0", "machine": "box",
        "who": {"role": {"guest": {"session": "s1", "mode": "full", "may_approve": false}}, "id": "g-1", "name": "Mira"}}}));
    let screen = world.screen();
    assert!(screen.contains("you are a guest · asks first"), "{screen}");
}

#[test]
fn own_keys_act_are_shown_and_what_they_took_is_told() {
    let mut start = start(100, 30);
    start.preferences = "[bindings]\nfind = \"ctrl-g\"\n".into();
    let mut world = World::begin(start);
    world.connect(1);
    world.sessions(rows_of_home());
    world.snapshot(&talked());
    let screen = world.screen();
    assert!(
        screen.contains("`ctrl-g` is for `find` now, and no more for `edit`"),
        "{screen}"
    );
    world.keys(&["ctrl-k"]);
    world.text("find words");
    assert!(world.screen().contains("Ctrl-G"), "{}", world.screen());
    world.keys(&["esc", "ctrl-g"]);
    assert!(world.screen().contains(" find  "), "{}", world.screen());
}
