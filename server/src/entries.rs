//! What a session keeps, for the server's own work over whole sessions: its worker is asked where one lives, otherwise the
//! store is read. No worker is started for it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use porthole_protocol::SessionId;
use porthole_worker::{Kept, Shelf, ShelfError, wire::ToWorker};
use tokio::sync::oneshot;

use crate::server::{Server, locked};

/// How long a worker may take to answer; it may just be opening a large store.
const ANSWER_BOUND: Duration = Duration::from_secs(60);
/// How often a store is tried that a worker is about to take or to leave, and how long between.
const TRIES: u32 = 100;
const STEP: Duration = Duration::from_millis(100);

/// Questions that workers have not answered.
#[derive(Default)]
pub(crate) struct Asks(Mutex<Pending>);

#[derive(Default)]
struct Pending {
    last: u64,
    open: HashMap<u64, (SessionId, oneshot::Sender<Kept>)>,
}

impl Asks {
    /// Returns the number of a new question, and where its answer comes.
    fn open(&self, session: &SessionId) -> (u64, oneshot::Receiver<Kept>) {
        let (answer, answered) = oneshot::channel();
        let mut pending = locked(&self.0);
        pending.last += 1;
        let ask = pending.last;
        pending.open.insert(ask, (session.clone(), answer));
        (ask, answered)
    }

    /// Takes an answer; only that of the session that was asked counts.
    pub(crate) fn answer(&self, session: &SessionId, ask: u64, kept: Kept) {
        let mut pending = locked(&self.0);
        if pending.open.get(&ask).is_some_and(|(of, _)| of == session)
            && let Some((_, answer)) = pending.open.remove(&ask)
        {
            // Whoever asked may have given up.
            let _ = answer.send(kept);
        }
    }

    /// Drops what was asked of a session whose worker is gone.
    pub(crate) fn drop_of(&self, session: &SessionId) {
        locked(&self.0).open.retain(|_, (of, _)| of != session);
    }
}

impl Server {
    /// Returns what a session committed after an entry, as much as one message holds.
    ///
    /// # Errors
    /// Why it cannot be read, for a person.
    pub(crate) async fn kept_entries(
        self: &Arc<Self>,
        session: &SessionId,
        after: u64,
    ) -> Result<Kept, String> {
        for _ in 0..TRIES {
            let (ask, answer) = self.asks().open(session);
            if self.tell(session, ToWorker::Entries { ask, after }) {
                if let Ok(Ok(kept)) = tokio::time::timeout(ANSWER_BOUND, answer).await {
                    return Ok(kept);
                }
                continue;
            }
            let folder = self.session_folder(session);
            let read = move || Shelf::open(&folder)?.after(after);
            match tokio::task::spawn_blocking(read).await {
                Ok(Err(ShelfError::InUse(_))) => tokio::time::sleep(STEP).await,
                Ok(read) => return read.map_err(|error| error.to_string()),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err("its worker does not answer, and has its store".to_owned())
    }
}
