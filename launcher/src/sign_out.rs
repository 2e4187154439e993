//! `porthole sign-out`: forgets a credential here and, where the server can be reached, there.

use porthole_door::{Redeemer, SignOut};

use crate::{
    credential::{Record, Store},
    door::{Door, DoorError, Tls},
    escape,
    failure::Failure,
    folders::Folders,
    launch, prompt,
};

/// What to sign out of.
pub struct Wish {
    /// The server; the one that was used last where none is named.
    pub origin: Option<String>,
    /// Every device of the owner.
    pub all_devices: bool,
    /// Nobody is asked.
    pub yes: bool,
}

/// Signs out: of everything that this computer has at that server.
///
/// # Errors
/// Where no such server is known, the visitor says no, or other devices could not be signed out.
pub fn run(wish: Wish) -> Result<u8, Failure> {
    let store = Store::open(&Folders::of_visitor()?.state)?;
    let records = find(&store, wish.origin)?;
    let shown = escape::visible(&records[0].origin);
    let which = SignOut {
        all_devices: wish.all_devices,
    };
    if !wish.yes && !prompt::confirm(&question(&shown, which))? {
        return Err(Failure::new("not signed out", ""));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let told = runtime.block_on(tell_all(&records, which));
    if let (true, Err(error)) = (wish.all_devices, &told) {
        // The credential is what a second try needs.
        return Err(error.to_failure(&records[0].origin));
    }
    for record in &records {
        store.forget(record)?;
    }
    let said = match wish.all_devices {
        true => crate::say(&format!("signed out of {shown} on every device")),
        false => crate::say(&format!("signed out of {shown}")),
    };
    if let Err(error) = told {
        crate::warn(&format!(
            "the server could not be told ({error}); `portholed sign-out` there ends the device's access"
        ));
    }
    said.map(|()| 0)
}

fn question(shown: &str, which: SignOut) -> String {
    match which.all_devices {
        true => format!(
            "Sign every device of yours out of {shown}? Each needs a fresh link to come back, this one too."
        ),
        false => format!("Sign out of {shown}? This computer needs a fresh link to come back."),
    }
}

/// Returns the records of one server, at least one.
fn find(store: &Store, origin: Option<String>) -> Result<Vec<Record>, Failure> {
    let known = store.known()?;
    known.warn();
    let origin = match origin {
        Some(text) => Some(launch::origin_of(&text)?),
        None => known.records.first().map(|record| record.origin.clone()),
    };
    let found = origin.map(|origin| known.of(&origin)).unwrap_or_default();
    match found.is_empty() {
        false => Ok(found),
        true => Err(Failure::new(
            "no such server is known",
            "`porthole servers` lists those that are",
        )),
    }
}

async fn tell_all(records: &[Record], which: SignOut) -> Result<(), DoorError> {
    let mut told = Ok(());
    for record in records {
        let which = match record.who {
            Redeemer::Owner => which,
            Redeemer::Guest { .. } => SignOut::default(),
        };
        let one = tell(record, which).await;
        told = told.and(one);
    }
    told
}

async fn tell(record: &Record, which: SignOut) -> Result<(), DoorError> {
    let tls = Tls::for_origin(&record.origin)?;
    let door = Door::new(&record.origin, &tls)?;
    let proved = door.prove(&record.fingerprint).await?;
    match proved.sign_out(record, which).await {
        // It was signed out already.
        Err(DoorError::SignedOut) => Ok(()),
        other => other,
    }
}
