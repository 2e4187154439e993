//! The driver of one session: it reads what happens, hands it to the conversation, and performs the effects in order.
//! It decides nothing about a turn.

mod answers;
mod display;
mod effects;
mod events;
mod output;
mod seat;

use std::{
    collections::{BTreeMap, HashMap},
    io,
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use porthole_protocol::{CallError, ConversationId, ErrorCode, RunOutput, Settings, Thinking};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::{AbortHandle, JoinHandle},
    time::Instant,
};

use crate::{
    conversation::Input,
    hands::{Hands, Real},
    link::{self, Reader, Writer},
    model::Piece,
    record::{ConversationRow, Counters, Record},
    store::{Store, StoreError},
    tool::{NestedAsk, ToolResult},
    wire::{FromWorker, Open, Status, ToWorker},
};
use events::Event;
use seat::Seat;

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
        Some(
            ToWorker::Call { .. }
            | ToWorker::Watch { .. }
            | ToWorker::Watchers { .. }
            | ToWorker::Entries { .. }
            | ToWorker::Settings(_),
        ) => {
            return Err(RunError::NotOpened);
        }
    };
    let store = match Store::open(&open.folder, LOCK_PATIENCE, open.is_new) {
        Ok(store) => store,
        Err(error) => return Err(refuse(writer, error.to_call_error()).await),
    };
    let real = Real::new(open.data.clone(), open.folder.clone(), open.dir.clone()).await;
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
    store: Store,
    hands: Hands,
    writer: Writer,
    /// Every conversation there is.
    rows: BTreeMap<ConversationId, ConversationRow>,
    /// Those that are loaded.
    seats: BTreeMap<ConversationId, Seat>,
    /// Why nothing can be kept now.
    failed: Option<StoreError>,
    /// The highest ids in use; lent to the conversation that takes an input.
    counters: Counters,
    events: mpsc::UnboundedSender<Event>,
    happened: mpsc::UnboundedReceiver<Event>,
    progress: mpsc::UnboundedSender<RunOutput>,
    progressed: mpsc::UnboundedReceiver<RunOutput>,
    runs: HashMap<String, RunTask>,
    nest: mpsc::UnboundedSender<NestedAsk>,
    asked: mpsc::UnboundedReceiver<NestedAsk>,
    /// Scripts that wait for a call, by their runs.
    waiting: HashMap<String, oneshot::Sender<ToolResult>>,
    watched: bool,
    /// When there will have been nothing to do for long enough.
    idle: Option<Instant>,
    /// Whether the time of rest is running or over.
    rested: bool,
    status: Option<Status>,
    /// Bytes of instructions and tools in a request, as far as known.
    overhead: u64,
    home: Option<PathBuf>,
    /// What the owner set, as far as it is known here.
    settings: Arc<Settings>,
}

/// A model request that goes on.
struct ModelTask {
    request: u32,
    task: AbortHandle,
    pieces: mpsc::UnboundedReceiver<Piece>,
}

/// A tool call, preview or command that goes on.
struct RunTask {
    conversation: ConversationId,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// What woke the driver.
enum Woken {
    Message(io::Result<Option<ToWorker>>),
    Event(Event),
    Progress(RunOutput),
    Nested(NestedAsk),
    Pieces(ConversationId, Vec<Piece>),
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
        let settings = Arc::new(open.settings.clone());
        let (nest, asked) = mpsc::unbounded_channel();
        let mut session = Self {
            settings,
            open,
            store,
            hands,
            writer,
            rows: BTreeMap::new(),
            seats: BTreeMap::new(),
            failed: None,
            counters: Counters::default(),
            events,
            happened,
            progress,
            progressed,
            runs: HashMap::new(),
            nest,
            asked,
            waiting: HashMap::new(),
            watched: false,
            idle: None,
            rested: false,
            status: None,
            overhead: 0,
            home: std::env::var_os("HOME").map(PathBuf::from),
        };
        if let Err(error) = session.begin().await {
            return Err((session.writer, error));
        }
        if let Err(error) = session.load().await {
            return Err((session.writer, error.to_call_error()));
        }
        // Before any input is taken: what it may call up has to be known.
        session.read_resources(ConversationId::ROOT).await;
        session.writer.send(&FromWorker::Ready).await;
        session.take_up().await;
        Ok(session)
    }

    /// Makes the conversation of a new session. It needs a model to begin with.
    async fn begin(&mut self) -> Result<(), CallError> {
        let there = self.store.conversations().await;
        let there = there.map_err(|error| error.to_call_error())?;
        if !there.is_empty() || !self.open.is_new {
            return Ok(());
        }
        let chosen = self
            .open
            .model
            .clone()
            .or_else(|| self.hands.default_model(self.settings.model.as_ref()));
        let Some(model) = chosen else {
            let (message, hint) = self.hands.complaint().unwrap_or_default();
            return Err(CallError::new(ErrorCode::Unavailable, message).hint(hint));
        };
        let info = self.hands.info(&model);
        let record = Record::Conversation(ConversationRow {
            id: ConversationId::ROOT,
            model,
            thinking: info.map_or(Thinking::Off, |info| info.fitting(self.settings.thinking)),
            policy: self.settings.policy,
            title: None,
            paused: false,
            usage: Default::default(),
            parent: None,
            call: None,
            fork: None,
            archived: false,
            dir: None,
            depth: 0,
            unpriced: 0,
            for_guests: Default::default(),
        });
        let done = self.store.commit(vec![record]).await;
        done.map_err(|error| error.to_call_error())
    }

    /// Runs until the server stops it or is gone.
    pub(crate) async fn run(mut self, mut reader: Reader) -> Result<(), RunError> {
        let result = loop {
            #[cfg(test)]
            if matches!(self.failed, Some(StoreError::Crash)) {
                return Ok(());
            }
            match self.wait(&mut reader).await {
                Woken::Message(Ok(None | Some(ToWorker::Stop))) => break Ok(()),
                Woken::Message(Ok(Some(message))) => self.message(message).await,
                Woken::Message(Err(error)) => break Err(RunError::Socket(error)),
                Woken::Event(event) => self.event(event).await,
                Woken::Progress(output) => self.progress(output).await,
                Woken::Nested(ask) => self.nested(ask).await,
                Woken::Pieces(id, pieces) => self.pieces(id, &pieces).await,
                Woken::Timer => self.timer().await,
            }
        };
        self.close().await;
        result
    }

    async fn wait(&mut self, reader: &mut Reader) -> Woken {
        let timers = self.seats.values().flat_map(|seat| [seat.grow, seat.retry]);
        let timer = timers.chain([self.idle]).flatten().min();
        tokio::select! {
            biased;
            message = reader.next() => Woken::Message(message),
            (id, pieces) = Self::next_pieces(&mut self.seats) => Woken::Pieces(id, pieces),
            Some(event) = self.happened.recv() => Woken::Event(event),
            Some(output) = self.progressed.recv() => Woken::Progress(output),
            Some(ask) = self.asked.recv() => Woken::Nested(ask),
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
                if !self.watched {
                    for seat in self.seats.values_mut() {
                        (seat.watched, seat.grow) = (false, None);
                    }
                }
                self.settle_timers();
            }
            ToWorker::Entries { ask, after } => self.kept(ask, after).await,
            ToWorker::Settings(settings) => self.take_settings(*settings).await,
            ToWorker::Open(_) | ToWorker::Stop => {
                tracing::warn!("the server opened this session twice");
            }
        }
    }

    /// Tells entries as they are kept; a store that fails tells nothing, and the end of the worker follows.
    async fn kept(&mut self, ask: u64, after: u64) {
        match self.store.kept(after).await {
            Ok(kept) => {
                let head = FromWorker::Entries {
                    ask,
                    last: kept.last,
                    more: kept.more,
                };
                self.writer.body(&head, &kept.json).await;
            }
            Err(error) => self.fail(error).await,
        }
    }

    /// Takes other settings. A turn that goes on keeps those it began with.
    async fn take_settings(&mut self, settings: Settings) {
        self.settings = Arc::new(settings);
        for seat in self.seats.values_mut() {
            if let Ok(conversation) = &mut seat.live {
                conversation.settings = Arc::clone(&self.settings);
            }
        }
        self.show().await;
    }

    async fn timer(&mut self) {
        let now = Instant::now();
        let due = |at: &mut Option<Instant>| at.take_if(|at| *at <= now).is_some();
        let (mut grown, mut retries) = (Vec::new(), Vec::new());
        for (id, seat) in &mut self.seats {
            grown.extend(due(&mut seat.grow).then_some(*id));
            retries.extend(due(&mut seat.retry).then_some(*id));
        }
        for id in grown {
            self.show_growth(id).await;
        }
        for id in retries {
            self.handle(id, Input::RetryDue).await;
        }
        if due(&mut self.idle) {
            if let Err(error) = self.store.checkpoint().await {
                tracing::warn!(%error, "the log was not moved into the store");
            }
            self.writer.send(&FromWorker::Idle).await;
        }
    }

    /// Hands an input to a conversation, performs what follows, and shows it.
    async fn handle(&mut self, id: ConversationId, input: Input) {
        let Some(Ok(conversation)) = self.seats.get_mut(&id).map(|seat| &mut seat.live) else {
            return;
        };
        conversation.counters = self.counters;
        let effects = conversation.handle(input, now_ms());
        self.counters = conversation.counters;
        if let Err(error) = self.perform(id, effects).await {
            self.fail(error).await;
        }
        self.report(id);
        self.show().await;
    }

    /// Ends what runs, as far as the grace time goes, and closes the store.
    async fn close(mut self) {
        for seat in self.seats.values_mut() {
            seat.cancel_model();
        }
        for run in self.runs.values() {
            run.stop.send_replace(true);
        }
        // Scripts shall not wait for calls that nobody decides about any more.
        self.waiting.clear();
        self.asked.close();
        while self.asked.try_recv().is_ok() {}
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

pub(crate) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
pub(crate) mod tests;
