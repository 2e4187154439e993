//! `porthole sign-out`: forgets a credential here and, where the server can be reached, there.

use crate::{
    credential::{Record, Store},
    door::{Door, DoorError, Tls},
    escape,
    failure::Failure,
    folders::Folders,
    launch, prompt,
    surroundings::var,
};

/// Signs out of `origin`, or of the server that was used last.
///
/// # Errors
/// Where no such server is known, or the visitor says no.
pub fn run(origin: Option<String>, yes: bool) -> Result<u8, Failure> {
    let failed = |error: crate::folders::FolderError| Failure::new(error.to_string(), "");
    let folders = Folders::from_env(var).map_err(failed)?;
    let store = Store::open(&folders.state).map_err(failed)?;
    let record = find(&store, origin)?;
    let shown = escape::visible(&record.origin);
    let question = format!("Sign out of {shown}? This computer needs a fresh link to come back.");
    if !yes && !prompt::confirm(&question)? {
        return Err(Failure::new("not signed out", ""));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let told = runtime.block_on(tell(&record));
    store.forget(&record).map_err(failed)?;
    let said = crate::say(&format!("signed out of {shown}"));
    if let Err(error) = told {
        crate::warn(&format!(
            "the server could not be told ({error}); `portholed sign-out` there ends the device's access"
        ));
    }
    said.map(|()| 0)
}

fn find(store: &Store, origin: Option<String>) -> Result<Record, Failure> {
    let failed = |error: crate::folders::FolderError| Failure::new(error.to_string(), "");
    let found = match &origin {
        Some(text) => store.find(&launch::origin_of(text)?).map_err(failed)?,
        None => store.all().map_err(failed)?.into_iter().next(),
    };
    found.ok_or_else(|| {
        Failure::new(
            "no such server is known",
            "`porthole servers` lists those that are",
        )
    })
}

async fn tell(record: &Record) -> Result<(), DoorError> {
    let tls = Tls::for_origin(&record.origin)?;
    let door = Door::new(&record.origin, &tls)?;
    let proved = door.prove(&record.fingerprint).await?;
    match proved.sign_out(record).await {
        // It was signed out already.
        Err(DoorError::SignedOut) => Ok(()),
        other => other,
    }
}
