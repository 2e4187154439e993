//! The owner's settings against a running server: from the shell, by hand in the file, over the link, to its workers.

use porthole_protocol::{
    Call, ClientFrame, ErrorCode, RequestId, ServerFrame, SettingChange, SettingsState, Topic,
    TopicDelta, TopicState, replies,
};

use crate::{
    commands::{fails, ok},
    world::World,
};

fn save(key: &str, value: &str) -> Call {
    Call::SettingsSave {
        request: RequestId::parse("r").expect("an id"),
        changes: vec![SettingChange {
            key: key.to_owned(),
            value: Some(value.to_owned()),
        }],
    }
}

fn version(frame: &ServerFrame) -> Option<u64> {
    match frame {
        ServerFrame::Snapshot {
            state: TopicState::Settings(state),
            ..
        } => Some(state.version),
        _ => None,
    }
}

fn fault_line(frame: &ServerFrame) -> Option<u32> {
    match frame {
        ServerFrame::Delta {
            delta: TopicDelta::Settings(state),
            ..
        } => Some(state.fault.as_ref()?.line),
        _ => None,
    }
}

#[tokio::test]
async fn what_is_saved_or_written_by_hand_is_shown_to_whoever_watches() {
    let world = World::new().await;
    let data = world.data();
    let mut owner = world.owner().await;
    owner
        .send(&ClientFrame::Watch {
            topic: Topic::Settings,
        })
        .await;
    let shown = owner
        .until("a snapshot", |frame| version(frame).is_some())
        .await;
    let first = version(&shown).expect("a version");
    let state: SettingsState = owner.call(save("tools_at_once", "7")).await.expect("saved");
    assert_eq!(
        (state.settings.tools_at_once, state.version),
        (7, first + 1)
    );
    let file = data.join("settings.toml");
    std::fs::write(&file, "tools_at_once = 9\n\npolicy = 7\n").expect("written");
    let faulty = owner
        .until("a fault", |frame| fault_line(frame).is_some())
        .await;
    assert_eq!(fault_line(&faulty), Some(3));
    let kept: SettingsState = owner.call(Call::SettingsGet {}).await.expect("shown");
    assert_eq!(kept.settings.tools_at_once, 7, "the last good ones");
    let refused = owner
        .call::<SettingsState>(save("thinking", "low"))
        .await
        .expect_err("refused");
    assert_eq!(refused.code, ErrorCode::Invalid);
    assert!(refused.message.contains("line 3"), "{refused:?}");
    world.stop().await;
}

#[tokio::test]
async fn the_shell_shows_sets_and_refuses() {
    let world = World::new().await;
    let data = world.data();
    ok(&data, &["settings", "set", "tools.shell", "ask"]).await;
    ok(&data, &["settings", "set", "owner_name", "Ada"]).await;
    let shown = ok(&data, &["settings"]).await;
    assert!(
        shown.contains("tools.shell = \"ask\"") && shown.contains("owner_name = \"Ada\""),
        "{shown}"
    );
    let told = fails(&data, &["settings", "set", "retry.tries", "99"]).await;
    assert!(
        told.contains("`retry.tries`") && told.contains("1 to 20"),
        "{told}"
    );
    let told = fails(&data, &["settings", "set", "model", "no/such"]).await;
    assert!(told.contains("no/such"), "{told}");
    ok(&data, &["settings", "unset", "owner_name"]).await;
    let text = std::fs::read_to_string(data.join("settings.toml")).expect("there");
    assert_eq!(text, "[tools]\nshell = \"ask\"\n");
    ok(&data, &["settings", "set", "model", "practice/practice"]).await;
    let mut owner = world.owner().await;
    let models: replies::Models = owner.call(Call::Models {}).await.expect("listed");
    assert_eq!(models.default.to_string(), "practice/practice");
    let found: replies::ModelsFound = owner
        .call(Call::ModelsFind {
            query: "PRACT".to_owned(),
            limit: 300,
        })
        .await
        .expect("found");
    assert_eq!(found.models.len(), 1);
    ok(
        &data,
        &["settings", "set", "cycle", "[\"practice:high\", \"none\"]"],
    )
    .await;
    let scope: replies::Scope = owner.call(Call::ModelsScope {}).await.expect("listed");
    assert_eq!(
        (scope.models.len(), scope.unmatched),
        (1, vec!["none".to_owned()])
    );
    world.stop().await;
}
