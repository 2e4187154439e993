//! Words are found in every session, whether a worker lives or not, and nothing is woken for it; sessions become files and
//! come back.

use std::path::Path;

use porthole_protocol::{Call, ErrorCode, SessionId, replies};
use porthole_worker::wire::KeptEntry;

use crate::{
    commands::{fails, ok},
    world::{Client, SOON, VIEW, World},
};

/// A pi session in which a person says a text and a model repeats it.
fn file(folder: &Path, name: &str, said: &[&str]) -> String {
    let mut text =
        r#"{"type":"session","timestamp":"2024-12-03T14:00:00.000Z","cwd":"/"}"#.to_owned();
    for said in said {
        let said =
            serde_json::json!({"type": "message", "message": {"role": "user", "content": said}});
        text.push_str(&format!("\n{said}"));
    }
    let path = folder.join(name);
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

async fn import(world: &World, name: &str, title: &str, said: &[&str]) -> SessionId {
    let path = file(world.home.path(), name, said);
    let id = ok(&world.data(), &["import", &path, "--title", title]).await;
    SessionId::parse(id.trim()).expect("an id")
}

async fn found(client: &mut Client, session: Option<&SessionId>, text: &str) -> replies::Found {
    let call = |before| Call::Search {
        session: session.cloned(),
        text: text.to_owned(),
        limit: 10,
        before,
    };
    let looking = async {
        loop {
            let found: replies::Found = client.call(call(None)).await.expect("searches");
            if !found.behind {
                return found;
            }
        }
    };
    tokio::time::timeout(SOON, looking).await.expect("in time")
}

fn sessions(found: &replies::Found) -> Vec<&str> {
    found.hits.iter().map(|hit| hit.session.as_str()).collect()
}

#[tokio::test]
async fn words_are_found_in_every_session_and_no_worker_is_woken() {
    let world = World::new().await;
    let one = import(&world, "one", "First", &["The quick brown fox", "sleeps"]).await;
    let two = import(&world, "two", "A quick title", &["nothing here"]).await;
    let mut owner = world.owner().await;
    let hits = found(&mut owner, None, "quick").await;
    assert_eq!(
        sessions(&hits),
        [two.as_str(), one.as_str()],
        "titles come first"
    );
    let hit = &hits.hits[1];
    assert_eq!(hit.snippet, "The quick brown fox");
    assert_eq!(hit.matches, [(4, 9)]);
    assert_eq!(
        (hit.entry.map(|e| e.0), hits.hits[0].entry),
        (Some(1), None)
    );
    assert_eq!(
        sessions(&found(&mut owner, None, "bro qui").await),
        [] as [&str; 0]
    );
    assert_eq!(
        sessions(&found(&mut owner, None, "quick bro").await),
        [one.as_str()]
    );

    let archive = Call::SessionArchive {
        session: one.clone(),
    };
    let _: replies::Done = owner.call(archive).await.expect("archived");
    let hits = found(&mut owner, None, "brown").await;
    assert!(hits.hits[0].archived);
    assert_eq!(
        sessions(&found(&mut owner, Some(&two), "brown").await),
        [] as [&str; 0]
    );
    for hostile in [
        "\"",
        "a AND",
        "NEAR(",
        "*",
        "body:x",
        "a\0b",
        "-",
        "'; DROP TABLE docs",
    ] {
        found(&mut owner, None, hostile).await;
    }
    let long = Call::Search {
        session: None,
        text: "x".repeat(201),
        limit: 1,
        before: None,
    };
    let refused = owner.call::<replies::Found>(long).await;
    assert_eq!(refused.expect_err("too long").code, ErrorCode::TooLarge);
    assert_eq!(world.server.counts().0.workers, 0, "nothing was woken");
}

#[tokio::test]
async fn an_index_that_is_missing_or_damaged_is_made_again() {
    let world = World::new().await;
    let one = import(&world, "one", "First", &["a needle"]).await;
    let home = world.stop().await;
    std::fs::write(
        home.path().join("data/search.sqlite"),
        "damaged, and more than that",
    )
    .expect("written");
    let world = World::within(home).await;
    let mut owner = world.owner().await;
    assert_eq!(
        sessions(&found(&mut owner, None, "needle").await),
        [one.as_str()]
    );
    drop(owner);
    let home = world.stop().await;
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(home.path().join(format!("data/search.sqlite{end}")));
    }
    let world = World::within(home).await;
    let mut owner = world.owner().await;
    assert_eq!(
        sessions(&found(&mut owner, None, "needle").await),
        [one.as_str()]
    );
}

#[tokio::test]
async fn a_guest_finds_only_what_is_in_the_own_session() {
    let world = World::new().await;
    let one = import(&world, "one", "First", &["a needle"]).await;
    let two = import(&world, "two", "Second", &["a needle"]).await;
    let shared = world.share(&one, VIEW).await;
    let cookie = world.guest(&shared, "Mira").await;
    let mut guest = world.link(&cookie).await;
    assert_eq!(
        sessions(&found(&mut guest, None, "needle").await),
        [one.as_str()]
    );
    let other = Call::Search {
        session: Some(two.clone()),
        text: "needle".to_owned(),
        limit: 1,
        before: None,
    };
    let refused = guest
        .call::<replies::Found>(other)
        .await
        .expect_err("refused");
    assert_eq!(refused.code, ErrorCode::NotFound);
}

#[tokio::test]
async fn a_session_becomes_a_file_and_comes_back_as_it_was() {
    let world = World::new().await;
    let data = world.data();
    let one = import(
        &world,
        "one",
        "First <b>",
        &["a & b <script>x</script>", "two"],
    )
    .await;
    let markdown = ok(&data, &["export", one.as_str()]).await;
    assert!(markdown.starts_with("# First <b>\n"), "{markdown}");
    assert!(markdown.contains("\n\ntwo\n"), "{markdown}");
    let html = ok(&data, &["export", one.as_str(), "--format", "html"]).await;
    assert!(html.contains("a &amp; b &lt;script&gt;"), "{html}");
    assert!(!html.contains("<script"), "{html}");
    let out = world.home.path().join("out.json").display().to_string();
    let as_json = ["export", one.as_str(), "--format", "json", "--out", &out];
    ok(&data, &as_json).await;
    fails(&data, &as_json).await;
    let again = ok(&data, &["import", &out]).await;
    let again = ok(&data, &["export", again.trim(), "--format", "json"]).await;
    let entries = |text: &str| -> Vec<KeptEntry> {
        let whole: serde_json::Value = serde_json::from_str(text).expect("JSON");
        serde_json::from_value(whole["entries"].clone()).expect("entries")
    };
    let first = std::fs::read_to_string(&out).expect("there");
    assert_eq!(entries(&first), entries(&again));
    assert_eq!(entries(&again).len(), 2);
    let wrong = file(world.home.path(), "wrong", &["x"]);
    std::fs::write(&wrong, "{\"type\":\"session\"}\n{\"type\":\"mess").expect("written");
    let before = std::fs::read_dir(data.join("sessions"))
        .expect("lists")
        .count();
    let told = fails(&data, &["import", &wrong]).await;
    assert!(told.contains("line 2"), "{told}");
    let after = std::fs::read_dir(data.join("sessions"))
        .expect("lists")
        .count();
    assert_eq!(before, after, "nothing is left of it");
}
