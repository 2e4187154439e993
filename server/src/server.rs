//! The shell around the switchboard: what is open (catalog, connections, workers), and the loop that performs effects.
//! It decides nothing.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use porthole_door::LinkControl;
use porthole_protocol::{AccessId, Role, SessionId, Who};
use porthole_worker::wire::{ConnectionId, Open, ToWorker};
use tokio::sync::{Notify, watch};

use crate::{
    bundle::{Bundle, BundleError, BundleSource},
    catalog::{Catalog, Session},
    data::make_private,
    entries::Asks,
    gate::Rules,
    key::ServerKey,
    limiter::Limiter,
    outbox::{Lane, Out},
    outlet::Outlet,
    pass::Pass,
    redact::{self, Redaction},
    search::Search,
    settings,
    switchboard::{Counts, Effect, Input, Switchboard},
    transfer::Transfers,
    worker_process::{self, WorkerHandle, WorkerProgram},
};

/// After how long without watchers and work a worker stops.
const IDLE_SECONDS: u64 = 5 * 60;

/// What a server is made of.
pub struct Parts {
    /// Its data folder.
    pub data: PathBuf,
    /// The open catalog.
    pub catalog: Catalog,
    /// Its key.
    pub key: ServerKey,
    /// Where requests may come from.
    pub rules: Rules,
    /// Where the bundle is.
    pub bundle_source: BundleSource,
    /// The bundle.
    pub bundle: Bundle,
    /// How workers are started.
    pub worker: WorkerProgram,
    /// Largest file that is taken as an upload, in bytes.
    pub upload_bytes: u64,
    /// What is kept out of logs.
    pub redaction: Redaction,
    /// The origin that links name.
    pub origin: String,
}

/// A running server.
pub struct Server {
    data: PathBuf,
    key: ServerKey,
    rules: Rules,
    origin: String,
    bundle_source: BundleSource,
    worker: WorkerProgram,
    redaction: Redaction,
    settings: Arc<settings::Kept>,
    bundle: Mutex<Bundle>,
    catalog: Mutex<Catalog>,
    board: Mutex<Switchboard>,
    outlets: Mutex<HashMap<ConnectionId, Arc<Outlet>>>,
    workers: Mutex<HashMap<SessionId, WorkerHandle>>,
    pub(crate) limiter: Mutex<Limiter>,
    access: watch::Sender<()>,
    transfers: Transfers,
    search: Search,
    asks: Asks,
    next_connection: AtomicU64,
    started: Instant,
    worker_ended: Notify,
    down: watch::Sender<bool>,
}

impl Server {
    /// Returns a server at rest; [`Input::Start`] makes it go on with what was interrupted.
    ///
    /// # Errors
    /// Where the catalog cannot be read.
    pub fn new(parts: Parts) -> rusqlite::Result<Arc<Self>> {
        let sessions = parts.catalog.sessions()?;
        let board = Switchboard::new(machine_name(), now_ms(), sessions).at_home(home_dir());
        let search = Search::open(&parts.data);
        let server = Arc::new(Self {
            search,
            asks: Asks::default(),
            settings: settings::Kept::open(&parts.data),
            data: parts.data,
            key: parts.key,
            rules: parts.rules,
            origin: parts.origin,
            bundle_source: parts.bundle_source,
            worker: parts.worker,
            redaction: parts.redaction,
            bundle: Mutex::new(parts.bundle),
            catalog: Mutex::new(parts.catalog),
            board: Mutex::new(board),
            outlets: Mutex::default(),
            workers: Mutex::default(),
            limiter: Mutex::new(Limiter::new(Instant::now())),
            access: watch::Sender::new(()),
            transfers: Transfers::new(parts.upload_bytes),
            next_connection: AtomicU64::new(1),
            started: Instant::now(),
            worker_ended: Notify::new(),
            down: watch::Sender::new(false),
        });
        server.publish_settings();
        Ok(server)
    }

    /// Takes what happened and does what follows.
    pub fn handle(self: &Arc<Self>, input: Input) {
        let effects = locked(&self.board).handle(input);
        for effect in effects {
            self.perform(effect);
        }
    }

    /// Opens a connection; returns its number and its way out.
    pub fn connect(self: &Arc<Self>, who: Who, pass: Pass) -> (ConnectionId, Arc<Outlet>) {
        let connection = self.next_connection.fetch_add(1, Ordering::Relaxed);
        let outlet = Arc::new(Outlet::default());
        locked(&self.outlets).insert(connection, outlet.clone());
        self.handle(Input::Opened {
            connection,
            who,
            pass,
        });
        (connection, outlet)
    }

    /// Returns how many links are open.
    pub fn links(&self) -> usize {
        locked(&self.outlets).len()
    }

    /// Ends a connection.
    pub fn disconnect(self: &Arc<Self>, connection: ConnectionId) {
        locked(&self.outlets).remove(&connection);
        self.handle(Input::Closed { connection });
    }

    /// Takes the end of a worker.
    pub fn worker_gone(
        self: &Arc<Self>,
        session: &SessionId,
        generation: u64,
        reason: String,
        lived: Duration,
    ) {
        {
            let mut workers = locked(&self.workers);
            if workers
                .get(session)
                .is_some_and(|w| w.generation() == generation)
            {
                workers.remove(session);
            }
        }
        self.asks.drop_of(session);
        self.handle(Input::WorkerGone {
            session: session.clone(),
            generation: Some(generation),
            reason,
            lived,
        });
        self.worker_ended.notify_waiters();
    }

    /// Returns the server's key.
    pub fn key(&self) -> &ServerKey {
        &self.key
    }

    /// Returns where requests may come from.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the bundle.
    pub fn bundle(&self) -> Bundle {
        locked(&self.bundle).clone()
    }

    /// Returns the catalog, for as long as the guard lives.
    pub fn catalog(&self) -> MutexGuard<'_, Catalog> {
        locked(&self.catalog)
    }

    /// Says that someone's access ended.
    pub(crate) fn access_changed(&self) {
        self.access.send_replace(());
    }

    /// Returns what tells of each end of someone's access.
    pub(crate) fn access_changes(&self) -> watch::Receiver<()> {
        self.access.subscribe()
    }

    /// Returns the ids of devices and guests that are connected.
    pub fn passes(&self) -> BTreeSet<AccessId> {
        locked(&self.board).passes()
    }

    /// Returns the counts, and for how long the server has been up.
    pub fn counts(&self) -> (Counts, Duration) {
        (locked(&self.board).counts(), self.started.elapsed())
    }

    /// Returns the transfers.
    pub fn transfers(&self) -> &Transfers {
        &self.transfers
    }

    /// Returns the data folder.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Returns what is kept out of logs.
    pub fn redaction(&self) -> &Redaction {
        &self.redaction
    }

    /// Returns the search.
    pub(crate) fn search(&self) -> &Search {
        &self.search
    }

    /// Returns what workers were asked and have not answered.
    pub(crate) fn asks(&self) -> &Asks {
        &self.asks
    }

    /// Says something to a session's worker; `false`: none lives.
    pub(crate) fn tell(&self, session: &SessionId, message: ToWorker) -> bool {
        let workers = locked(&self.workers);
        let worker = workers.get(session);
        worker
            .inspect(|worker| worker.tell(Box::new(message)))
            .is_some()
    }

    /// Returns every session as it is kept.
    pub fn kept_sessions(&self) -> Vec<Session> {
        let board = locked(&self.board);
        board
            .home()
            .lines()
            .map(|line| line.session.clone())
            .collect()
    }

    /// Learns the secrets that can be found now: a person may have replaced a key.
    pub fn learn_secrets(&self) {
        for name in redact::learn(&self.redaction, &self.data, std::env::vars_os()) {
            tracing::warn!("`{name}` is too short or plain to be kept out of logs");
        }
        self.search.secrets_changed();
    }

    /// Returns a session as it is kept.
    pub fn kept_session(&self, session: &SessionId) -> Option<Session> {
        let board = locked(&self.board);
        board.home().get(session).map(|line| line.session.clone())
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Arc<settings::Kept> {
        &self.settings
    }

    /// Returns the owner, as everyone sees them.
    pub fn owner(&self) -> Who {
        let name = self.settings.state().settings.owner_name;
        Who {
            name: name.unwrap_or_else(owner_name),
            ..owner()
        }
    }

    /// Tells everyone of the settings as they are now.
    pub fn publish_settings(self: &Arc<Self>) {
        self.handle(Input::Settings(Box::new(self.settings.state())));
    }

    /// Returns a deleted session that can still be restored.
    pub fn deleted_session(&self, session: &SessionId) -> Option<Session> {
        locked(&self.board).home().get_deleted(session).cloned()
    }

    /// Returns the origin that links name.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Reads the bundle again and tells everyone where it is another.
    ///
    /// # Errors
    /// [`BundleError`]; the old bundle stays.
    pub fn reload_bundle(self: &Arc<Self>) -> Result<(), BundleError> {
        let fresh = self.bundle_source.load()?;
        let sha256 = fresh.manifest.sha256.clone();
        let old = std::mem::replace(&mut *locked(&self.bundle), fresh);
        if old.manifest.sha256 != sha256 {
            self.handle(Input::BundleChanged { sha256 });
        }
        Ok(())
    }

    /// Says that the server is to end.
    pub fn shut_down(&self) {
        self.down.send_replace(true);
    }

    /// Returns once the server is to end.
    pub async fn until_down(&self) {
        let mut down = self.down.subscribe();
        // The sender lives as long as the server, so that this can only end with `true`.
        let _ = down.wait_for(|down| *down).await;
    }

    /// Tells everyone, stops the workers and waits for their end.
    pub async fn close(self: &Arc<Self>) {
        self.handle(Input::ShutDown);
        loop {
            let ended = self.worker_ended.notified();
            if locked(&self.workers).is_empty() {
                return;
            }
            ended.await;
        }
    }

    fn perform(self: &Arc<Self>, effect: Effect) {
        match effect {
            Effect::Send {
                connection,
                lane,
                frame,
            } => self.push(connection, lane, Out::Text(frame)),
            Effect::Control {
                connection,
                control,
            } => self.control(connection, &control),
            Effect::Close { connection } => self.finish(connection),
            Effect::CutOff {
                connection,
                control,
            } => self.cut_off(connection, &control),
            Effect::Serve {
                connection,
                id,
                call,
                pass,
            } => self.serve(connection, id, call, &pass),
            Effect::PresenceLater { session, after } => {
                self.later(after, Input::PresenceDue(session))
            }
            Effect::Start(session) => self.start_worker(&session),
            Effect::StartLater { session, after } => self.later(after, Input::StartDue(session)),
            Effect::Tell { session, message } => {
                self.tell(&session, *message);
            }
            Effect::Index(session) => self.search.mark(&session),
            Effect::Entries { session, ask, kept } => self.asks.answer(&session, ask, *kept),
            Effect::Save(session) => {
                if let Err(error) = self.catalog().save_progress(&session) {
                    tracing::error!("cannot write the catalog: {error}");
                }
            }
            Effect::Copy(copying) => self.copy_session(*copying),
            Effect::RemoveAt {
                session,
                deleted_ms,
                at_ms,
            } => {
                let after = Duration::from_millis(at_ms.saturating_sub(now_ms()));
                let due = Input::RemoveDue {
                    session,
                    deleted_ms,
                };
                self.later(after, due);
            }
            Effect::Remove {
                session,
                deleted_ms,
            } => self.remove_session(session, deleted_ms),
        }
    }

    fn push(&self, connection: ConnectionId, lane: Lane, out: Out) {
        if let Some(outlet) = locked(&self.outlets).get(&connection) {
            outlet.push(lane, out);
        }
    }

    fn control(&self, connection: ConnectionId, control: &LinkControl) {
        if let Ok(bytes) = serde_json::to_vec(control) {
            self.push(connection, Lane::Must, Out::Control(bytes.into()));
        }
    }

    fn finish(&self, connection: ConnectionId) {
        if let Some(outlet) = locked(&self.outlets).get(&connection) {
            outlet.finish();
        }
    }

    fn cut_off(&self, connection: ConnectionId, control: &LinkControl) {
        let last = serde_json::to_vec(control).unwrap_or_default();
        if let Some(outlet) = locked(&self.outlets).get(&connection) {
            outlet.cut_off(Out::Control(last.into()));
        }
    }

    fn later(self: &Arc<Self>, after: Duration, input: Input) {
        // What is to come later keeps no server open that has ended.
        let server = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            if let Some(server) = server.upgrade() {
                server.handle(input);
            }
        });
    }

    fn start_worker(self: &Arc<Self>, session: &SessionId) {
        match self.try_start_worker(session) {
            Ok(()) => {}
            Err(reason) => self.handle(Input::WorkerGone {
                session: session.clone(),
                generation: None,
                reason: format!("cannot start the session's worker: {reason}"),
                lived: Duration::ZERO,
            }),
        }
    }

    fn try_start_worker(self: &Arc<Self>, session: &SessionId) -> Result<(), String> {
        let kept = self.kept_session(session);
        let kept = kept.ok_or("there is no such session")?;
        let folder = self.session_folder(session);
        if !kept.opened {
            make_private(&folder).map_err(|e| e.to_string())?;
        }
        let generation = self
            .catalog()
            .next_generation(session)
            .map_err(|e| e.to_string())?;
        let open = Open {
            session: session.clone(),
            folder,
            is_new: !kept.opened,
            data: self.data.clone(),
            dir: PathBuf::from(kept.dir),
            model: kept.model,
            owner_name: self.owner().name,
            idle_seconds: IDLE_SECONDS,
            generation,
            settings: locked(&self.board).settings().clone(),
        };
        self.learn_secrets();
        let handle = worker_process::start(self, &self.worker, open).map_err(|e| e.to_string())?;
        locked(&self.workers).insert(session.clone(), handle);
        self.handle(Input::WorkerBorn {
            session: session.clone(),
            generation,
        });
        tracing::info!(%session, generation, "worker started");
        Ok(())
    }

    /// Returns where a session keeps its things.
    pub(crate) fn session_folder(&self, session: &SessionId) -> PathBuf {
        self.data.join("sessions").join(session.as_str())
    }
}

/// Returns the owner under the name of the account.
pub fn owner() -> Who {
    Who {
        role: Role::Owner,
        id: "owner".to_owned(),
        name: owner_name(),
    }
}

/// Returns milliseconds since the Unix epoch.
pub fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns what a mutex guards. A panic of another task left it whole: every change is made in one go.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn owner_name() -> String {
    std::env::var("USER")
        .ok()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "owner".to_owned())
}

/// Returns the home directory as it is shown; empty where none is known.
fn home_dir() -> String {
    directories::BaseDirs::new()
        .map(|dirs| dirs.home_dir().display().to_string())
        .unwrap_or_default()
}

fn machine_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}
