//! The store keeps what it is given, whole or not at all, for one process at a time.

use porthole_protocol::{Author, AuthorKind, ConversationId, Entry, EntryBody, EntryId, limits};

use super::*;
use crate::record::{Counters, RequestRow};

fn entry(id: u64, text: &str) -> Record {
    Record::Entry {
        conversation: ConversationId::ROOT,
        entry: Box::new(Entry {
            id: EntryId(id),
            at_ms: id,
            author: Author {
                kind: AuthorKind::System,
                id: "porthole".into(),
                name: "Porthole".into(),
            },
            turn: None,
            body: EntryBody::Notice { text: text.into() },
        }),
        blocks: None,
    }
}

fn request(key: &str) -> Record {
    Record::Request(RequestRow {
        key: key.into(),
        reply: "{}".into(),
        at_ms: 1,
    })
}

fn root() -> Lineage {
    Lineage::of(ConversationId::ROOT)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("folder")
}

fn ids(page: &Page) -> Vec<u64> {
    page.entries.iter().map(|e| e.id.0).collect()
}

#[tokio::test]
async fn what_was_committed_is_there_after_opening_again() {
    let dir = folder();
    let row = crate::conversation::tests::loaded().row;
    let mut store = Store::open(dir.path(), Duration::ZERO, true).expect("opens");
    assert_eq!(store.load(root()).await, Ok(None));
    let records = vec![
        Record::Conversation(row.clone()),
        entry(1, "a"),
        request("k"),
    ];
    store.commit(records).await.expect("commits");
    drop(store);
    let store = Store::open(dir.path(), Duration::ZERO, true).expect("opens");
    let loaded = store.load(root()).await.expect("loads").expect("is there");
    assert_eq!(loaded.row, row);
    assert_eq!(loaded.counters, Counters::after(1, 0, 0, 0, 1));
    assert_eq!(loaded.active.len(), 1);
    assert_eq!(store.reply("k".into()).await, Ok(Some("{}".into())));
    assert_eq!(store.reply("other".into()).await, Ok(None));
}

#[tokio::test]
async fn an_entry_is_never_rewritten_and_a_batch_is_written_whole_or_not_at_all() {
    let dir = folder();
    let mut store = Store::open(dir.path(), Duration::ZERO, true).expect("opens");
    store
        .commit(vec![entry(1, "first")])
        .await
        .expect("commits");
    let again = store
        .commit(vec![entry(2, "new"), entry(1, "changed")])
        .await;
    assert!(again.is_err());
    let page = store.page(root(), None, 10).await.expect("reads");
    assert_eq!(ids(&page), [1]);
    assert_eq!(
        page.entries[0].body,
        EntryBody::Notice {
            text: "first".into()
        }
    );
}

#[tokio::test]
async fn pages_are_bounded_by_entries_and_by_bytes_but_hold_one_at_least() {
    let dir = folder();
    let mut store = Store::open(dir.path(), Duration::ZERO, true).expect("opens");
    let big = "x".repeat(limits::PAGE_BYTES);
    let records = (1..=250)
        .map(|id| entry(id, "a"))
        .chain([entry(251, &big), entry(252, "b")]);
    store.commit(records.collect()).await.expect("commits");
    let newest = store.page(root(), None, 500).await.expect("reads");
    assert_eq!((ids(&newest), newest.has_older), (vec![252], true), "bytes");
    let alone = store.page(root(), Some(252), 500).await.expect("reads");
    assert_eq!(
        (ids(&alone), alone.has_older),
        (vec![251], true),
        "one at least"
    );
    let full = store.page(root(), Some(251), 500).await.expect("reads");
    assert_eq!(
        (ids(&full), full.has_older),
        ((151..=250).collect(), true),
        "entries"
    );
    let last = store.page(root(), Some(3), 500).await.expect("reads");
    assert_eq!((ids(&last), last.has_older), (vec![1, 2], false));
}

#[tokio::test]
async fn a_second_opener_is_told_who_has_it_also_by_another_path() {
    let dir = folder();
    let (real, link) = (dir.path().join("real"), dir.path().join("link"));
    std::fs::create_dir(&real).expect("folder");
    std::os::unix::fs::symlink(&real, &link).expect("link");
    let store = Store::open(&real, Duration::ZERO, true).expect("opens");
    let error = Store::open(&link, Duration::ZERO, true)
        .map(drop)
        .expect_err("refused");
    assert_eq!(
        error,
        StoreError::InUse(format!(" (pid {})", std::process::id()))
    );
    drop(store);
    assert!(Store::open(&link, Duration::ZERO, true).is_ok());
}

#[tokio::test]
async fn a_full_disk_is_told_as_such_and_leaves_nothing_behind() {
    let dir = folder();
    let mut store = Store::open(dir.path(), Duration::ZERO, true).expect("opens");
    store.commit(vec![entry(1, "a")]).await.expect("commits");
    store.limit_pages(1).await;
    let error = store
        .commit(vec![request("k"), entry(2, &"x".repeat(1 << 20))])
        .await;
    assert_eq!(error, Err(StoreError::Full));
    assert!(StoreError::Full.to_call_error().hint.contains("make room"));
    store.limit_pages(100_000).await;
    assert_eq!(store.reply("k".into()).await, Ok(None));
    store
        .commit(vec![entry(2, "b")])
        .await
        .expect("there is room again");
}

#[test]
fn a_store_of_a_newer_version_and_a_damaged_one_are_refused() {
    let dir = folder();
    drop(Store::open(dir.path(), Duration::ZERO, true).expect("opens"));
    let file = dir.path().join("session.db");
    let connection = Connection::open(&file).expect("opens");
    connection
        .pragma_update(None, "user_version", 99)
        .expect("sets");
    drop(connection);
    assert_eq!(
        Store::open(dir.path(), Duration::ZERO, true).map(drop),
        Err(StoreError::Newer(99))
    );
    std::fs::write(
        &file,
        "no database at all, however long this text may be, it is none".repeat(99),
    )
    .expect("writes");
    let damaged = Store::open(dir.path(), Duration::ZERO, true).map(drop);
    assert!(
        matches!(damaged, Err(StoreError::Damaged(_))),
        "{damaged:?}"
    );
}

#[tokio::test]
async fn the_log_is_cut_at_rest() {
    let dir = folder();
    let mut store = Store::open(dir.path(), Duration::ZERO, true).expect("opens");
    for id in 1..50 {
        store
            .commit(vec![entry(id, &"x".repeat(10_000))])
            .await
            .expect("commits");
    }
    store.checkpoint().await.expect("cuts");
    let log = std::fs::metadata(dir.path().join("session.db-wal")).expect("is there");
    assert_eq!(log.len(), 0);
}

#[tokio::test]
async fn a_store_that_was_there_and_is_gone_or_damaged_is_refused_and_nothing_is_made_anew() {
    type Harm = fn(&Path);
    let harms: [(&str, Harm); 5] = [
        ("missing", |dir| {
            std::fs::remove_dir_all(dir).expect("removes");
        }),
        ("missing", |dir| {
            std::fs::remove_file(dir.join("session.db")).expect("removes");
        }),
        ("damaged", |dir| {
            std::fs::write(dir.join("session.db"), b"").expect("writes");
        }),
        ("damaged", |dir| {
            std::fs::write(dir.join("session.db"), b"no database at all").expect("writes");
        }),
        ("damaged", |dir| {
            std::fs::remove_file(dir.join("session.db")).expect("removes");
            Connection::open(dir.join("session.db"))
                .and_then(|other| other.execute_batch("CREATE TABLE other (a)"))
                .expect("makes");
        }),
    ];
    for (word, harm) in harms {
        let dir = folder();
        let folder = dir.path().join("s1");
        drop(Store::open(&folder, Duration::ZERO, true).expect("opens"));
        drop(Store::open(&folder, Duration::ZERO, false).expect("opens again"));
        harm(&folder);
        let listed = |path: &Path| std::fs::read_dir(path).map_or(0, Iterator::count);
        let before = listed(&folder);
        let error = Store::open(&folder, Duration::ZERO, false)
            .map(drop)
            .expect_err("refused");
        let told = error.to_call_error();
        assert!(told.message.contains(word), "{told:?}");
        assert!(!told.hint.is_empty());
        assert_eq!(listed(&folder), before, "nothing is made: {word}");
    }
}

#[tokio::test]
async fn a_damaged_page_is_told_as_damage() {
    let dir = folder();
    let file = dir.path().join("session.db");
    let mut store = Store::open(dir.path(), Duration::ZERO, true).expect("opens");
    let row = crate::conversation::tests::loaded().row;
    let records = vec![Record::Conversation(row), entry(1, &"x".repeat(20_000))];
    store.commit(records).await.expect("commits");
    store.checkpoint().await.expect("cuts");
    drop(store);
    let mut bytes = std::fs::read(&file).expect("reads");
    bytes[4096..].fill(0xa5);
    std::fs::write(&file, bytes).expect("writes");
    let opened = Store::open(dir.path(), Duration::ZERO, false).expect("its first page is whole");
    assert!(matches!(
        opened.load(root()).await,
        Err(StoreError::Damaged(_))
    ));
}

#[tokio::test]
async fn a_store_of_the_first_version_is_brought_up_to_date_and_a_copy_is_kept() {
    let dir = folder();
    std::fs::write(dir.path().join("session.db"), include_bytes!("old/v1.db")).expect("writes");
    for _ in 0..2 {
        let store = Store::open(dir.path(), Duration::ZERO, false).expect("opens");
        let loaded = store.load(root()).await.expect("loads").expect("is there");
        assert_eq!(loaded.row.title.as_deref(), Some("old"));
        assert_eq!(loaded.active.len(), 1);
        assert_eq!(loaded.queue[0].text, "waits");
    }
    let copy = rusqlite::Connection::open(dir.path().join("session.db.v1")).expect("a copy");
    let version: i64 = copy
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .expect("reads");
    assert_eq!(version, 1);
    assert!(!dir.path().join("session.db.part").exists());
}

#[tokio::test]
async fn nobody_else_reads_the_files_of_a_store() {
    use std::os::unix::fs::PermissionsExt;
    let dir = folder();
    let mut store = Store::open(dir.path(), Duration::ZERO, true).expect("opens");
    store.commit(vec![entry(1, "a")]).await.expect("commits");
    for name in ["session.db", "session.db-wal"] {
        let meta = std::fs::metadata(dir.path().join(name)).expect(name);
        assert_eq!(meta.permissions().mode() & 0o777, 0o600, "{name}");
    }
}
