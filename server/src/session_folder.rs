//! The folder of a session: copied whole, removed whole, and never one that is not in the data folder. When that may
//! happen is decided by the switchboard: nobody has the store open meanwhile.

use std::{fs, io, path::Path, sync::Arc};

use porthole_protocol::{CallError, ErrorCode, RequestId, SessionId, replies};

use crate::{
    catalog::Session,
    data::make_private,
    diagnostics,
    own_calls::{catalog_failed, reply},
    server::{Server, now_ms},
    sessions,
    switchboard::{Copying, Input, unknown_session},
    token::random_id,
};

/// What is put to the name of a folder that is not whole yet; no session id has such a name.
const PART: &str = ".part";
/// The file by which a worker holds a store.
const LOCK: &str = "lock";

/// What a call to copy comes to.
pub(crate) enum Plan {
    /// The same request made this one before.
    Made(SessionId),
    /// This is to be made.
    Copy(Box<Session>),
}

impl Server {
    /// Returns what a copy of a session is to be.
    pub(crate) fn plan_copy(
        &self,
        from: &SessionId,
        request: &RequestId,
        title: Option<&str>,
    ) -> Result<Plan, CallError> {
        let made = self.catalog().session_of_request(request);
        if let Some(session) = made.map_err(catalog_failed)? {
            return Ok(Plan::Made(session));
        }
        let from = self.kept_session(from).ok_or_else(unknown_session)?;
        let id = SessionId::parse(&random_id::<12>())
            .map_err(|error| CallError::new(ErrorCode::Internal, error.to_string()))?;
        let session = sessions::copy(id, from, title, now_ms())?;
        Ok(Plan::Copy(Box::new(session)))
    }

    /// Copies a session that has no worker, answers who asked, and lets its worker start again.
    pub(crate) fn copy_session(self: &Arc<Self>, copying: Copying) {
        let server = self.clone();
        tokio::spawn(async move {
            let (from, connection, id) = (copying.from.clone(), copying.connection, copying.id);
            let work = {
                let server = server.clone();
                tokio::task::spawn_blocking(move || server.made_copy(copying))
            };
            let result = work
                .await
                .unwrap_or_else(|_| Err(CallError::new(ErrorCode::Internal, "the copy failed")));
            server.handle(Input::Answered {
                connection,
                id,
                result: result.and_then(|session| reply(&replies::Created { session })),
            });
            server.handle(Input::JobDone(from));
        });
    }

    fn made_copy(self: &Arc<Self>, copying: Copying) -> Result<SessionId, CallError> {
        let Copying {
            from,
            mut session,
            request,
            ..
        } = copying;
        // Its worker may have become ready for the first time since the call.
        if let Some(now) = self.kept_session(&from).or(self.deleted_session(&from)) {
            session.opened = now.opened;
        }
        let folder = self.session_folder(&session.id);
        let part = folder.with_extension(&PART[1..]);
        let source = self.session_folder(&from);
        // Whoever reads in it, as the search does, may tidy up when they leave.
        let copied = porthole_worker::with_store_held(&source, || copy_folder(&source, &part))
            .and_then(|copied| copied.map_err(cannot_copy))
            .and_then(|()| match session.opened {
                true => porthole_worker::settle_copy(&part),
                false => Ok(()),
            })
            .and_then(|()| fs::rename(&part, &folder).map_err(cannot_copy));
        if let Err(error) = copied {
            remove_quietly(&part);
            return Err(error);
        }
        if let Err(error) = self.catalog().add_session(&session, &request) {
            remove_quietly(&folder);
            // The same request, sent twice, was quicker the other time.
            let made = self.catalog().session_of_request(&request);
            return made
                .map_err(catalog_failed)?
                .ok_or_else(|| catalog_failed(error));
        }
        let id = session.id.clone();
        tracing::info!(session = %id, %from, "a session was copied");
        self.handle(Input::Kept(Box::new(session)));
        Ok(id)
    }

    /// Removes a session that was deleted then and has no worker, unless it was restored.
    pub(crate) fn remove_session(self: &Arc<Self>, session: SessionId, deleted_ms: u64) {
        let server = self.clone();
        tokio::task::spawn_blocking(move || {
            let condemned = server.catalog().condemn(&session, deleted_ms);
            match condemned {
                Ok(true) => server.remove_remains(&session),
                Ok(false) => {}
                Err(error) => tracing::error!("cannot write the catalog: {error}"),
            }
            server.handle(Input::JobDone(session));
        });
    }

    /// Removes what an earlier life of the server did not get to: the rest of deleted sessions, and halves of copies.
    pub(crate) fn remove_leftovers(&self) {
        let condemned = self.catalog().condemned().unwrap_or_else(|error| {
            tracing::error!("cannot read the catalog: {error}");
            Vec::new()
        });
        for session in condemned {
            self.remove_remains(&session);
        }
        let entries = fs::read_dir(self.data().join("sessions"));
        for entry in entries.into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().ends_with(PART) {
                remove_quietly(&entry.path());
            }
        }
    }

    fn remove_remains(&self, session: &SessionId) {
        let removed = remove_folder(self.data(), session)
            .and_then(|()| diagnostics::forget(self.data(), &diagnostics::worker_source(session)));
        match removed {
            Ok(()) => match self.catalog().forget_session(session) {
                Ok(()) => tracing::info!(%session, "a deleted session was removed"),
                Err(error) => tracing::error!("cannot write the catalog: {error}"),
            },
            Err(error) => tracing::error!(%session, "cannot remove a deleted session: {error}"),
        }
    }
}

fn cannot_copy(error: io::Error) -> CallError {
    CallError::new(
        ErrorCode::Unavailable,
        format!("cannot copy the session: {error}"),
    )
    .hint("is the disk full?")
}

fn remove_quietly(folder: &Path) {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::error!("cannot remove `{}`: {error}", folder.display());
        }
        _ => {}
    }
}

/// Copies files and folders; what is neither is left out, and so is the lock, which is its worker's.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    make_private(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let to = to.join(entry.file_name());
        if kind.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else if kind.is_file() && entry.file_name() != LOCK {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Removes the folder of a session. A link is removed and not followed, and a folder that is elsewhere stays.
fn remove_folder(data: &Path, session: &SessionId) -> io::Result<()> {
    let sessions = data.join("sessions");
    let data_is_real = data.canonicalize()? == data;
    match sessions.canonicalize() {
        Ok(real) if data_is_real && real.starts_with(data) => {}
        Ok(_) => return Err(io::Error::other("`sessions/` leads out of the data folder")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    let folder = sessions.join(session.as_str());
    match fs::symlink_metadata(&folder) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(&folder),
        Ok(_) => fs::remove_file(&folder),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn data() -> (tempfile::TempDir, PathBuf, SessionId) {
        let home = tempfile::tempdir().expect("a folder");
        let data = home.path().canonicalize().expect("real").join("data");
        fs::create_dir_all(data.join("sessions/s1/runs")).expect("made");
        fs::write(data.join("sessions/s1/runs/r"), "out").expect("written");
        (home, data, SessionId::parse("s1").expect("an id"))
    }

    #[test]
    fn a_folder_is_removed_with_all_that_is_in_it_and_twice_is_no_error() {
        let (_home, data, id) = data();
        fs::create_dir(data.join("sessions/s2")).expect("made");
        remove_folder(&data, &id).expect("removed");
        remove_folder(&data, &id).expect("nothing left to do");
        assert!(!data.join("sessions/s1").exists() && data.join("sessions/s2").exists());
    }

    #[test]
    fn nothing_outside_the_data_folder_is_removed() {
        let (home, data, id) = data();
        let outside = home.path().join("outside");
        fs::create_dir_all(outside.join("s1")).expect("made");
        fs::write(outside.join("s1/precious"), "x").expect("written");
        // A link inside the folder, the folder itself a link, and the folder of all sessions a link.
        std::os::unix::fs::symlink(outside.join("s1"), data.join("sessions/s1/link"))
            .expect("linked");
        remove_folder(&data, &id).expect("removed");
        std::os::unix::fs::symlink(outside.join("s1"), data.join("sessions/s1")).expect("linked");
        remove_folder(&data, &id).expect("removed");
        fs::remove_dir(data.join("sessions")).expect("empty");
        std::os::unix::fs::symlink(&outside, data.join("sessions")).expect("linked");
        assert!(remove_folder(&data, &id).is_err());
        assert!(outside.join("s1/precious").exists());
    }

    #[test]
    fn a_copy_has_the_files_and_neither_the_lock_nor_what_a_link_leads_to() {
        let (home, data, _) = data();
        let from = data.join("sessions/s1");
        fs::write(from.join("lock"), "1").expect("written");
        fs::write(home.path().join("precious"), "x").expect("written");
        std::os::unix::fs::symlink(home.path().join("precious"), from.join("link"))
            .expect("linked");
        let to = data.join("sessions/s2.part");
        copy_folder(&from, &to).expect("copied");
        assert_eq!(fs::read(to.join("runs/r")).expect("there"), b"out");
        assert!(!to.join("lock").exists() && !to.join("link").exists());
    }
}
