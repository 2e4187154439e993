//! The power goes at every operation of the disk there is, with any part of what was not synced; and the disk refuses
//! each operation once. The same is promised as for crashes.

use std::sync::Arc;

use porthole_protocol::{EntryBody, ErrorCode};

use super::{
    Script, beside,
    client::Client,
    crash::{Person, check},
};
use crate::store::{
    Store,
    disk::{Disk, Fault},
};

/// Returns a stream of numbers below what is asked for, the same for the same seed.
fn chance(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

/// Lives with the power going at an operation; `true`: everything was done before.
async fn lives_to(operation: u64, pattern: u64) -> bool {
    let name = format!("power-{operation}-{pattern}");
    let (disk, script) = (Disk::new(&name), Script::new());
    let folder = tempfile::tempdir().expect("folder");
    let mut person = Person::default();
    disk.lose_power_at(operation);
    if let Ok(store) = Store::on(&disk, &name) {
        let mut client = Client::with(store, folder.path(), &script);
        let done = person.uses(&mut client).await;
        client.gone().await;
        if done && !disk.is_off() {
            return true;
        }
    }
    disk.restart(chance(operation * 31 + pattern));
    let store = Store::on(&disk, &name).expect("the store opens");
    let mut client = Client::with(store, folder.path(), &script);
    assert!(person.uses(&mut client).await, "it goes on");
    check(&mut client, &person, &script).await;
    client.gone().await;
    false
}

#[tokio::test]
async fn power_lost_at_any_operation_loses_and_doubles_nothing() {
    let every: u64 = match std::env::var_os("PORTHOLE_EVERY_OPERATION") {
        Some(_) => 1,
        None => 3,
    };
    let mut operation = 0;
    while !beside(lives_to(operation, 0)).await {
        beside(lives_to(operation, 1)).await;
        operation += every;
    }
    assert!(
        operation > 60,
        "only {operation} operations in the whole story"
    );
}

/// Sends one message over a disk that refuses an operation once, until it is done; `true`: it refused nothing.
async fn goes_on_after(operation: u64, fault: Fault) -> bool {
    let name = format!("fault-{operation}-{fault:?}");
    let (disk, script) = (Disk::new(&name), Script::new());
    let folder = tempfile::tempdir().expect("folder");
    disk.refuse(operation, fault);
    let store = match Store::on(&disk, &name) {
        Ok(store) => store,
        Err(_) => Store::on(&disk, &name).expect("opens, now that the disk does what it is asked"),
    };
    let mut client = Client::with(store, folder.path(), &script);
    if !client.watches().await {
        // It could not even begin, said so, and is started again.
        client.gone().await;
        let store = Store::on(&disk, &name).expect("opens");
        client = Client::with(store, folder.path(), &script);
        client.watch().await;
    }
    for _ in 0..8 {
        match client.submit("r1", "work in part").await {
            Ok(_) => {}
            Err(error) => assert_eq!(error.code, ErrorCode::Unavailable, "{error:?}"),
        }
        client.watch().await;
        client.until("rest", |c| c.state().turn.is_none()).await;
        if client.finals() == 1 {
            break;
        }
    }
    let entries = &client.state().entries;
    let count = |is: fn(&EntryBody) -> bool| entries.iter().filter(|e| is(&e.body)).count();
    assert_eq!(count(|b| matches!(b, EntryBody::Message { .. })), 1);
    assert_eq!(count(|b| matches!(b, EntryBody::ToolResult { .. })), 1);
    assert_eq!(client.finals(), 1, "it was answered");
    assert!(script.ran().len() <= 1, "nothing ran twice");
    client.gone().await;
    disk.done() < operation
}

#[tokio::test]
async fn a_disk_that_is_full_read_only_or_broken_for_a_moment_loses_and_doubles_nothing() {
    for fault in [Fault::Full, Fault::ReadOnly, Fault::Broken] {
        let mut operation = 0;
        while !beside(goes_on_after(operation, fault)).await {
            operation += 1;
        }
        assert!(operation > 20, "only {operation} operations");
    }
}

#[tokio::test]
async fn a_disk_with_power_keeps_what_is_written() {
    beside(async {
        let disk: Arc<Disk> = Disk::new("kept");
        let folder = tempfile::tempdir().expect("folder");
        let store = Store::on(&disk, "kept").expect("opens");
        let mut client = Client::with(store, folder.path(), &Script::new());
        client.watch().await;
        client.submit("r1", "hello").await.expect("taken");
        client.until("answered", |c| c.finals() == 1).await;
        client.gone().await;
        assert!(disk.done() > 10 && !disk.is_off());
    })
    .await;
}
