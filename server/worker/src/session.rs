//! The driver of one session: it reads what happens, hands it to the conversation, and performs the effects in order.
//! It decides nothing about a turn.

mod answers;
mod display;
mod effects;
mod events;

use std::{collections::HashMap, io, os::unix::net::UnixStream, path::PathBuf, time::Duration};

use porthole_protocol::{CallError, ConversationId, ErrorCode, RunOutput, Topic};
use tokio::{
    sync::{mpsc, watch},
    task::{AbortHandle, JoinHandle},
    time::Instant,
};

use crate::{
    conversation::{Conversation, Input},
    hands::{Hands, Real},
    link::{self, Reader, Writer},
    model::Piece,
    record::{ConversationRow, Record},
    store::{Store, StoreError},
    view::Shown,
    wire::{FromWorker, Open, Status, ToWorker},
};
use events::Event;

/// How long running tools have to end when the worker is to stop, before they are killed.
const GRACE: Duration = Duration::from_millis(1_500);
/// How long what finished commands left running has to end, the kill included; beside the tools.
const LEFT_GRACE: Duration = Duration::from_millis(1_800);
/// How long the runtime waits for what blocks in it.
const BLOCKING_GRACE: Duration = Duration::from_millis(500);
/// How long a worker waits for the one before it, whose server died, to leave the store.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// Why a worker ended other than by being told to.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The socket to the server failed.
    #[error("the connection to the server failed: {0}")]
    Socket(#[from] io::Error),
    /// The server did not begin with `Open`.
    #[error("the server did not say which session to open")]
    NotOpened,
    /// The session could not be opened; the server was told why.
    #[error("the session could not be opened: {0}")]
    Open(CallError),
}

/// Runs one session until the server stops it or is gone. Blocks; makes its own runtime.
///
/// # Errors
/// [`RunError`].
pub fn run(socket: UnixStream) -> Result<(), RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(serve(socket));
    runtime.shutdown_timeout(BLOCKING_GRACE);
    result
}

async fn serve(socket: UnixStream) -> Result<(), RunError> {
    let (mut reader, writer) = link::split(socket)?;
    let open = match reader.next().await? {
        Some(ToWorker::Open(open)) => open,
        Some(ToWorker::Stop) | None => return Ok(()),
        Some(ToWorker::Call { .. } | ToWorker::Watch { .. } | ToWorker::Watchers { .. }) => {
            return Err(RunError::NotOpened);
        }
    };
    let store = match Store::open(&open.folder, LOCK_PATIENCE, open.is_new) {
        Ok(store) => store,
        Err(error) => return Err(refuse(writer, error.to_call_error()).await),
    };
    let runs = open.folder.join("runs");
    let real = Real::new(open.data.clone(), open.dir.clone(), runs).await;
    let hands = Hands::Real(Box::new(real));
    match Session::open(*open, store, hands, writer).await {
        Ok(session) => session.run(reader).await,
        Err((writer, error)) => Err(refuse(writer, error).await),
    }
}

async fn refuse(writer: Writer, error: CallError) -> RunError {
    let failed = FromWorker::OpenFailed {
        error: error.clone(),
    };
    writer.send(&failed).await;
    writer.close().await;
    RunError::Open(error)
}

/// A session that is open.
pub(crate) struct Session {
    open: Open,
    topic: Topic,
    store: Store,
    hands: Hands,
    writer: Writer,
    /// Or why nothing can be kept now.
    live: Result<Conversation, StoreError>,
    events: mpsc::UnboundedSender<Event>,
    happened: mpsc::UnboundedReceiver<Event>,
    progress: mpsc::UnboundedSender<RunOutput>,
    progressed: mpsc::UnboundedReceiver<RunOutput>,
    model: Option<ModelTask>,
    runs: HashMap<String, RunTask>,
    timers: Timers,
    watched: bool,
    shown: Shown,
    /// When growth was last shown.
    grown: Option<Instant>,
    /// Whether the time of rest is running or over.
    rested: bool,
    seq: u64,
    status: Option<Status>,
    branch: Option<String>,
    /// Bytes of instructions and tools in a request, as far as known.
    overhead: u64,
    home: Option<PathBuf>,
}

/// A model request that goes on.
struct ModelTask {
    request: u32,
    task: AbortHandle,
    pieces: mpsc::UnboundedReceiver<Piece>,
}

/// A tool call, preview or command that goes on.
struct RunTask {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// When something is to happen by itself.
#[derive(Clone, Copy, Debug, Default)]
struct Timers {
    /// What the answer grew by is to be shown.
    grow: Option<Instant>,
    retry: Option<Instant>,
    idle: Option<Instant>,
}

impl Timers {
    fn next(self) -> Option<Instant> {
        [self.grow, self.retry, self.idle]
            .into_iter()
            .flatten()
            .min()
    }
}

/// What woke the driver.
enum Woken {
    Message(io::Result<Option<ToWorker>>),
    Event(Event),
    Progress(RunOutput),
    Pieces(Vec<Piece>),
    Timer,
}

impl Session {
    /// Opens the conversation and tells the server. Interrupted work is taken up.
    pub(crate) async fn open(
        open: Open,
        store: Store,
        hands: Hands,
        writer: Writer,
    ) -> Result<Self, (Writer, CallError)> {
        let (events, happened) = mpsc::unbounded_channel();
        let (progress, progressed) = mpsc::unbounded_channel();
        let topic = Topic::Conversation {
            session: open.session.clone(),
            conversation: ConversationId::ROOT,
        };
        let mut session = Self {
            open,
            topic,
            store,
            hands,
            writer,
            live: Err(StoreError::Io("it is not open yet".to_owned())),
            events,
            happened,
            progress,
            progressed,
            model: None,
            runs: HashMap::new(),
            timers: Timers::default(),
            watched: false,
            shown: Shown::default(),
            grown: None,
            rested: false,
            seq: 0,
            status: None,
            branch: None,
            overhead: 0,
            home: std::env::var_os("HOME").map(PathBuf::from),
        };
        if let Err(error) = session.begin().await {
            return Err((session.writer, error));
        }
        match session.load().await {
            Ok(conversation) => session.live = Ok(conversation),
            Err(error) => return Err((session.writer, error.to_call_error())),
        }
        session.writer.send(&FromWorker::Ready).await;
        session.handle(Input::Resume).await;
        Ok(session)
    }

    /// Returns the conversation from the store. A saved model that is gone is no reason to close the session: it
    /// opens, each turn fails with one clear error, and another model can be chosen.
    async fn load(&mut self) -> Result<Conversation, StoreError> {
        let gone = || StoreError::Damaged("its conversation is missing".to_owned());
        let mut loaded = self.store.load().await?.ok_or_else(gone)?;
        if loaded.updated_ms == 0 {
            // A new session happened now.
            loaded.updated_ms = now_ms();
        }
        let info = self.hands.info(&loaded.row.model);
        let (cwd, rules) = (self.open.dir.clone(), self.hands.rules());
        Ok(Conversation::from_loaded(loaded, info, cwd, rules))
    }

    /// Makes the conversation of a new session. It needs a model to begin with.
    async fn begin(&mut self) -> Result<(), CallError> {
        let there = self.store.load().await;
        if there.map_err(|error| error.to_call_error())?.is_some() || !self.open.is_new {
            return Ok(());
        }
        let chosen = self
            .open
            .model
            .clone()
            .or_else(|| self.hands.default_model());
        let Some(model) = chosen else {
            let (message, hint) = self.hands.complaint().unwrap_or_default();
            return Err(CallError::new(ErrorCode::Unavailable, message).hint(hint));
        };
        let record = Record::Conversation(ConversationRow {
            id: ConversationId::ROOT,
            model,
            thinking: Default::default(),
            policy: Default::default(),
            title: None,
            paused: false,
            usage: Default::default(),
        });
        let done = self.store.commit(vec![record]).await;
        done.map_err(|error| error.to_call_error())
    }

    /// Runs until the server stops it or is gone.
    pub(crate) async fn run(mut self, mut reader: Reader) -> Result<(), RunError> {
        let result = loop {
            #[cfg(test)]
            if matches!(self.live, Err(StoreError::Crash)) {
                return Ok(());
            }
            match self.wait(&mut reader).await {
                Woken::Message(Ok(None | Some(ToWorker::Stop))) => break Ok(()),
                Woken::Message(Ok(Some(message))) => self.message(message).await,
                Woken::Message(Err(error)) => break Err(RunError::Socket(error)),
                Woken::Event(event) => self.event(event).await,
                Woken::Progress(output) => self.progress(output).await,
                Woken::Pieces(pieces) => self.pieces(&pieces).await,
                Woken::Timer => self.timer().await,
            }
        };
        self.close().await;
        result
    }

    async fn wait(&mut self, reader: &mut Reader) -> Woken {
        let timer = self.timers.next();
        tokio::select! {
            biased;
            message = reader.next() => Woken::Message(message),
            pieces = next_pieces(&mut self.model) => Woken::Pieces(pieces),
            Some(event) = self.happened.recv() => Woken::Event(event),
            Some(output) = self.progressed.recv() => Woken::Progress(output),
            () = tokio::time::sleep_until(timer.unwrap_or_else(Instant::now)), if timer.is_some() => Woken::Timer,
        }
    }

    async fn message(&mut self, message: ToWorker) {
        match message {
            ToWorker::Call {
                connection,
                id,
                who,
                call,
            } => self.call((connection, id), &who, call).await,
            ToWorker::Watch {
                connection,
                who,
                topic,
            } => self.watch(connection, &who, topic).await,
            ToWorker::Watchers { count } => {
                self.watched = count > 0;
                self.settle_timers();
            }
            ToWorker::Open(_) | ToWorker::Stop => {
                tracing::warn!("the server opened this session twice");
            }
        }
    }

    async fn timer(&mut self) {
        let now = Instant::now();
        let due = |at: &mut Option<Instant>| at.take_if(|at| *at <= now).is_some();
        if due(&mut self.timers.grow) {
            self.show_growth().await;
        }
        if due(&mut self.timers.retry) {
            self.handle(Input::RetryDue).await;
        }
        if due(&mut self.timers.idle) {
            if let Err(error) = self.store.checkpoint().await {
                tracing::warn!(%error, "the log was not moved into the store");
            }
            self.writer.send(&FromWorker::Idle).await;
        }
    }

    /// Hands an input to the conversation, performs what follows, and shows it.
    async fn handle(&mut self, input: Input) {
        let Ok(conversation) = &mut self.live else {
            return;
        };
        let effects = conversation.handle(input, now_ms());
        if let Err(error) = self.perform(effects).await {
            self.fail(error).await;
        }
        self.show().await;
    }

    /// Gives up what is not on disk: it is read back from there when something is asked of the session again.
    async fn fail(&mut self, error: StoreError) {
        tracing::error!(%error, "the store failed");
        self.live = Err(error);
        self.cancel_model();
        for (_, run) in self.runs.drain() {
            run.task.abort();
        }
        self.timers = Timers::default();
    }

    /// Reads the conversation back after a failure, where that can be done now.
    async fn recover(&mut self) {
        if self.live.is_ok() {
            return;
        }
        match self.load().await {
            Ok(conversation) => {
                self.live = Ok(conversation);
                self.handle(Input::Resume).await;
            }
            Err(error) => self.live = Err(error),
        }
    }

    /// Ends what runs, as far as the grace time goes, and closes the store.
    async fn close(mut self) {
        self.cancel_model();
        for run in self.runs.values() {
            run.stop.send_replace(true);
        }
        let all = async {
            for (_, run) in self.runs.drain() {
                // What it came to is not kept: the next worker finds it interrupted.
                let _ = run.task.await;
            }
        };
        let left = self.hands.left();
        let (all, left) = tokio::join!(
            tokio::time::timeout(GRACE, all),
            tokio::time::timeout(LEFT_GRACE, left)
        );
        if all.is_err() {
            // Dropping a command kills its group; that happens with the runtime.
            tracing::warn!("commands that did not end are killed");
        }
        if left.is_err() {
            // Dropping what ends them killed them.
            tracing::warn!("processes that commands left were killed");
        }
        self.writer.close().await;
    }
}

/// Returns the pieces that have come, at least one; never returns where no request goes on.
async fn next_pieces(model: &mut Option<ModelTask>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if let Some(model) = model
        && model.pieces.recv_many(&mut pieces, 4_096).await > 0
    {
        return pieces;
    }
    // The request is over; its end comes as an event.
    std::future::pending().await
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
pub(crate) mod tests;
