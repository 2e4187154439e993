//! The shell around the core: waits for whatever comes next, hands it over, does what is asked.
//! It decides nothing; every effect is one arm.

mod local;
mod transfer;

use std::{
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use porthole_bridge::{Event, Outcome, Signal, Start, limits};
use ratatui::{buffer::Buffer, layout::Rect};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{
    app::{Alarm, App, Asked, DoorInput, Effect, Farewell, Input, LocalDone, Trouble},
    credential::{Record, Store},
    door::{Door, Tls},
    draw::Painter,
    errand::{self, Errands},
    failure::Failure,
    folders::Folders,
    link::{self, Connection, Incoming, Route},
    sandbox,
    signals::{ProcessSignal, Signals},
    slumber::Slumber,
    stage::{Place, Stage},
    surroundings::{Surroundings, var},
    terminal::{
        self, Keyboard,
        event::TerminalEvent,
        input::{self, Reader},
    },
    tunnel::Tunnel,
    wake::Wake,
};

/// How soon a UI without room is looked at again.
const ROOM_CHECK: Duration = Duration::from_millis(20);
/// Results of errands that wait for the loop.
const DONE: usize = 16;

/// What the driver works with.
pub struct Means {
    /// The launcher's folders.
    pub folders: Folders,
    /// The credentials.
    pub store: Store,
    /// The credential in use.
    pub record: Record,
    /// The door of its server.
    pub door: Door,
    /// TLS for its server.
    pub tls: Tls,
    /// The largest file that is sent or saved, in bytes.
    pub transfer_bytes: u64,
    /// The ssh program that carries the connection, where one does.
    pub tunnel: Option<Arc<Tunnel>>,
}

impl Means {
    fn transfers(&self) -> transfer::Means {
        transfer::Means {
            door: self.door.clone(),
            record: self.record.clone(),
            limit: self.transfer_bytes,
        }
    }
}

/// What an errand brought back.
pub enum Done {
    /// An input for the core.
    Input(Input),
    /// A fresh credential, already saved.
    Admitted(Box<Record>),
    /// A text to be written to the terminal between frames, and the input that follows.
    Write(Vec<u8>, Input),
    /// Something in the folder of preferences changed.
    PreferencesChanged,
    /// The editor ended: the terminal is ours again.
    Edited(Asked, Outcome),
}

struct Driver {
    means: Means,
    app: App,
    painter: Painter,
    buffer: Buffer,
    keys: Keyboard,
    here: Surroundings,
    reader: Reader,
    away: bool,
    /// We run in the background of a shell.
    behind: bool,
    /// A stop of our own was ended; the signal that ended it is still to come and means nothing more.
    stopped: bool,
    stage: Stage,
    connection: Option<Connection>,
    preparing: Option<JoinHandle<()>>,
    moving: Option<transfer::Moving>,
    alarms: [Option<Instant>; Alarm::COUNT],
    slumber: Slumber,
    to_loop: Senders,
}

/// Where the parts report to.
struct Senders {
    link: mpsc::Sender<Incoming>,
    done: mpsc::Sender<Done>,
}

struct Receivers {
    terminal: mpsc::Receiver<TerminalEvent>,
    link: mpsc::Receiver<Incoming>,
    done: mpsc::Receiver<Done>,
    signals: Signals,
    wake: Wake,
}

/// What comes next.
enum Next {
    Input(Input),
    Done(Done),
    Signal(ProcessSignal),
    /// The computer may have been asleep.
    Woke,
    Again,
}

/// Runs the launcher on the visitor's terminal until it ends; `cached` is a bundle whose artifact is there.
///
/// # Errors
/// Where the terminal cannot be taken over, or the core ended with a message.
pub async fn run(
    means: Means,
    app: App,
    painter: Painter,
    cached: Option<String>,
) -> Result<u8, Failure> {
    let (mut driver, mut receivers) = Driver::new(means, app, painter)?;
    let looks = driver.watch_preferences();
    let first = driver.app.begin(cached, Instant::now());
    let ended = match driver.perform_all(first).await {
        ControlFlow::Break(ended) => ended,
        ControlFlow::Continue(()) => driver.turn(&mut receivers).await,
    };
    drop(looks);
    driver.tell_ui(Event::Stop).await;
    terminal::leave();
    driver.end_transfer().await;
    match ended {
        (0, Some(farewell)) => {
            crate::say(&farewell.message)?;
            Ok(0)
        }
        (status, Some(farewell)) => Err(Failure {
            message: farewell.message,
            hint: farewell.hint,
            status,
        }),
        (status, None) => Ok(status),
    }
}

type Flow = ControlFlow<(u8, Option<Farewell>)>;

impl Driver {
    fn new(means: Means, app: App, painter: Painter) -> Result<(Self, Receivers), Failure> {
        let (to_terminal, terminal) = mpsc::channel(input::EVENTS);
        let (to_link, link) = mpsc::channel(link::IN_EVENTS);
        let (to_done, done) = mpsc::channel(DONE);
        let signals = Signals::new()?;
        let keys = Keyboard::of(var("TERM").as_deref());
        terminal::enter(keys)?;
        let reader = Reader::start(to_terminal).inspect_err(|_| terminal::leave())?;
        let driver = Self {
            means,
            app,
            painter,
            buffer: Buffer::empty(Rect::ZERO),
            keys,
            here: Surroundings::from_env(var),
            reader,
            away: false,
            behind: false,
            stopped: false,
            stage: Stage::default(),
            connection: None,
            preparing: None,
            moving: None,
            alarms: [None; Alarm::COUNT],
            slumber: Slumber::default(),
            to_loop: Senders {
                link: to_link,
                done: to_done,
            },
        };
        let receivers = Receivers {
            terminal,
            link,
            done,
            signals,
            wake: Wake::start(),
        };
        Ok((driver, receivers))
    }

    async fn turn(&mut self, receivers: &mut Receivers) -> (u8, Option<Farewell>) {
        loop {
            let next = self.next(receivers).await;
            if let ControlFlow::Break(ended) = self.take(next).await {
                return ended;
            }
        }
    }

    async fn next(&mut self, from: &mut Receivers) -> Next {
        // A UI that is behind gets its link frames later: the socket is not read while it has no room.
        let room = self.stage.has_room();
        tokio::select! {
            signal = from.signals.next() => Next::Signal(signal),
            event = from.terminal.recv() => Next::Input(event.map_or(Input::Terminate(129), Input::Terminal)),
            Some(done) = from.done.recv() => Next::Done(done),
            input = self.stage.next() => Next::Input(input),
            Some(incoming) = from.link.recv(), if room => Next::Input(Input::Link(incoming.event)),
            () = from.wake.next() => Next::Woke,
            () = tokio::time::sleep(ROOM_CHECK), if !room => Next::Again,
            alarm = due(&self.alarms) => Next::Input(Input::Alarm(alarm)),
        }
    }

    async fn take(&mut self, next: Next) -> Flow {
        match next {
            Next::Input(input) => self.handle(input).await,
            Next::Done(done) => self.done(done).await,
            Next::Signal(signal) => self.signal(signal).await,
            Next::Woke => self.woke().await,
            Next::Again => ControlFlow::Continue(()),
        }
    }

    async fn woke(&mut self) -> Flow {
        match self.slumber.passed() {
            true => {
                let effects = self.app.handle(Input::Slept, Instant::now());
                self.perform_all(effects).await
            }
            false => ControlFlow::Continue(()),
        }
    }

    async fn handle(&mut self, input: Input) -> Flow {
        if let Input::Alarm(alarm) = input {
            self.alarms[alarm as usize] = None;
        }
        let now = Instant::now();
        let mut effects = Vec::new();
        if self.slumber.passed() {
            effects = self.app.handle(Input::Slept, now);
        }
        effects.extend(self.app.handle(input, now));
        self.perform_all(effects).await
    }

    async fn done(&mut self, done: Done) -> Flow {
        match done {
            Done::Input(input) => self.handle(input).await,
            Done::Admitted(record) => {
                let admission = record.admission();
                self.means.record = *record;
                self.handle(Input::Door(DoorInput::Redeemed(admission)))
                    .await
            }
            Done::Write(bytes, input) => {
                if !self.away && terminal::write_all(&bytes).is_err() {
                    return ControlFlow::Break((129, None));
                }
                self.handle(input).await
            }
            Done::PreferencesChanged => {
                self.read_preferences();
                ControlFlow::Continue(())
            }
            Done::Edited(asked, outcome) => {
                terminal::drop_typed();
                self.come_back();
                self.handle(Input::Back(terminal::size())).await?;
                self.handle(Input::Local(LocalDone { asked, outcome }))
                    .await
            }
        }
    }

    async fn signal(&mut self, signal: ProcessSignal) -> Flow {
        match signal {
            ProcessSignal::End(status) => self.handle(Input::Terminate(status)).await,
            // The keys belong to the editor, and so do the signals they make.
            ProcessSignal::Interrupt if self.away && !self.behind => ControlFlow::Continue(()),
            ProcessSignal::Interrupt => self.handle(Input::Terminate(130)).await,
            ProcessSignal::Size if self.away => ControlFlow::Continue(()),
            ProcessSignal::Size => self.handle(Input::Resized(terminal::size())).await,
            ProcessSignal::Stop => self.suspend().await,
            ProcessSignal::Continued if self.behind => self.take_back().await,
            ProcessSignal::Continued if self.away || std::mem::take(&mut self.stopped) => {
                ControlFlow::Continue(())
            }
            ProcessSignal::Continued => {
                terminal::leave();
                self.take_back().await
            }
        }
    }

    async fn perform_all(&mut self, effects: Vec<Effect>) -> Flow {
        let mut waiting = std::collections::VecDeque::from(effects);
        while let Some(effect) = waiting.pop_front() {
            match effect {
                Effect::Draw => self.draw()?,
                Effect::Forget => self.painter.forget(),
                Effect::Alarm(alarm, at) => self.alarms[alarm as usize] = at,
                Effect::ToUi(event) => self.tell_ui(event).await,
                Effect::StartUi {
                    instance,
                    sha256,
                    start,
                } => waiting.extend(self.start_ui(Place::Front, instance, sha256, *start).await),
                Effect::StartNext {
                    instance,
                    sha256,
                    start,
                } => waiting.extend(self.start_ui(Place::Behind, instance, sha256, *start).await),
                Effect::Promote => self.promote(),
                Effect::DropNext => self.stage.drop_behind(),
                Effect::StopUi => self.stage.drop_front(),
                Effect::Connect(epoch) => self.connect(epoch),
                Effect::Probe => self.probe(),
                Effect::Disconnect => self.connection = None,
                Effect::SendLink(frame) => self.send_link(frame),
                Effect::Prepare(running) => self.prepare(running),
                Effect::Redeem(text) => self.errand(|e| e.redeem(text.0)),
                Effect::ForgetCredential => self.errand(Errands::forget),
                Effect::SignOut => self.errand(Errands::sign_out),
                Effect::Copy(asked, text) => self.copy(asked, text),
                Effect::Open(asked, url) => self.open(asked, url),
                Effect::Edit(asked, text) => self.edit(asked, text),
                Effect::SavePreferences(asked, patch) => self.save_preferences(asked, patch),
                Effect::List(folder) => self.list(folder),
                Effect::OpenFiles {
                    asked,
                    paths,
                    otherwise,
                } => self.open_files(asked, paths, otherwise),
                Effect::Clipboard(asked) => self.clipboard(asked),
                Effect::Landing {
                    asked,
                    session,
                    what,
                    name,
                } => self.landing(asked, session, what, name),
                Effect::Transfer(asked, transfer) => self.transfer(asked, transfer),
                Effect::CancelTransfer => self.cancel_transfer(),
                Effect::Suspend => {
                    if let Some(input) = self.suspend_all() {
                        waiting.extend(self.app.handle(input, Instant::now()));
                    }
                }
                Effect::Title(text) => self.title(&text)?,
                Effect::Quit(status, farewell) => return ControlFlow::Break((status, farewell)),
            }
        }
        ControlFlow::Continue(())
    }

    fn draw(&mut self) -> Flow {
        if self.away {
            return ControlFlow::Continue(());
        }
        let size = self.app.size();
        self.buffer.resize(Rect::new(0, 0, size.cols, size.rows));
        let cursor = self.app.view(&mut self.buffer);
        let own = size.rows.saturating_sub(1);
        let bytes = self.painter.frame(&mut self.buffer, cursor, own);
        write(&bytes)?;
        if let Some(at) = self.app.shown(Instant::now()) {
            self.alarms[Alarm::Listen as usize] = Some(at);
        }
        ControlFlow::Continue(())
    }

    fn title(&mut self, text: &str) -> Flow {
        match self.away {
            true => ControlFlow::Continue(()),
            false => write(format!("\x1b]2;{text}\x1b\\").as_bytes()),
        }
    }

    async fn tell_ui(&mut self, event: Event) {
        self.stage.tell(&signal_now(event)).await;
    }

    /// Starts a UI; returns what follows where it could not be.
    async fn start_ui(
        &mut self,
        place: Place,
        instance: u64,
        sha256: String,
        start: Start,
    ) -> Vec<Effect> {
        match self.try_start(place, instance, sha256, start).await {
            Ok(()) => Vec::new(),
            Err(fault) => self
                .app
                .handle(Input::UiEnded(instance, fault), Instant::now()),
        }
    }

    async fn try_start(
        &mut self,
        place: Place,
        instance: u64,
        sha256: String,
        mut start: Start,
    ) -> Result<(), String> {
        self.stage.clear(place);
        let (cache, origin) = (&self.means.folders.cache, &self.means.record.origin);
        let artifact = sandbox::artifact(cache, origin, &sha256)
            .await
            .ok_or("its compiled form is gone from the cache")?;
        SystemRandom::new()
            .fill(&mut start.seed)
            .map_err(|_| "this computer gives no random numbers")?;
        let first = signal_now(Event::Start(Box::new(start)));
        self.stage
            .start(place, instance, sha256.clone(), artifact, &first)
            .await?;
        if place == Place::Front {
            self.note_bundle(sha256);
        }
        Ok(())
    }

    fn promote(&mut self) {
        if let Some(sha256) = self.stage.promote() {
            self.note_bundle(sha256);
        }
    }

    /// Notes which bundle runs here, for the next start.
    fn note_bundle(&mut self, sha256: String) {
        self.means.record.bundle = Some(sha256);
        self.means.record.last_used = wall_ms() / 1000;
        self.errand(Errands::note);
    }

    fn connect(&mut self, epoch: u64) {
        let route = Route {
            door: self.means.door.clone(),
            tls: self.means.tls.clone(),
            record: Arc::new(self.means.record.clone()),
            tunnel: self.means.tunnel.clone(),
        };
        let events = self.to_loop.link.clone();
        self.connection = Some(Connection::start(epoch, route, events));
    }

    fn probe(&self) {
        if let Some(connection) = &self.connection {
            connection.probe();
        }
    }

    fn send_link(&mut self, frame: Vec<u8>) {
        // A full queue means that the server takes nothing any more: a new connection starts from a snapshot.
        let full = self.connection.as_ref().is_some_and(|to| !to.send(frame));
        if full {
            self.connection = None;
            self.errand(Errands::link_is_full);
        }
    }

    fn prepare(&mut self, running: Option<String>) {
        if let Some(older) = self.preparing.take() {
            older.abort();
        }
        self.preparing = Some(errand::spawn(self.errands().prepare(running)));
    }

    fn errand<F>(&mut self, make: impl FnOnce(Errands) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        errand::spawn(make(self.errands()));
    }

    fn errands(&self) -> Errands {
        Errands {
            door: self.means.door.clone(),
            store: self.means.store.clone(),
            record: self.means.record.clone(),
            cache: self.means.folders.cache.clone(),
            epoch: self.app.epoch(),
            link: self.to_loop.link.clone(),
            done: self.to_loop.done.clone(),
        }
    }
}

/// Writes to the terminal; one that is gone ends the launcher.
fn write(bytes: &[u8]) -> Flow {
    match terminal::write_all(bytes) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break((129, None)),
    }
}

/// Waits for the earliest alarm; for ever where none is set.
async fn due(alarms: &[Option<Instant>; Alarm::COUNT]) -> Alarm {
    let all = [
        Alarm::Draw,
        Alarm::Wake,
        Alarm::Feedback,
        Alarm::Reconnect,
        Alarm::Snapshot,
        Alarm::Countdown,
        Alarm::Rest,
        Alarm::Sure,
        Alarm::Listen,
        Alarm::Grant,
    ];
    let set = all
        .into_iter()
        .filter_map(|alarm| Some((alarms[alarm as usize]?, alarm)));
    match set.min_by_key(|(at, _)| *at) {
        Some((at, alarm)) => {
            tokio::time::sleep_until(at.into()).await;
            alarm
        }
        None => std::future::pending().await,
    }
}

/// Returns `event` as a message of this moment, as exactly as a UI may know it.
fn signal_now(event: Event) -> Signal {
    let step = limits::CLOCK_STEP.as_millis() as u64;
    let now = wall_ms();
    Signal {
        now_ms: now - now % step,
        event,
    }
}

/// Milliseconds since the Unix epoch.
pub(crate) fn wall_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_millis() as u64
}

impl From<crate::door::DoorError> for Trouble {
    fn from(error: crate::door::DoorError) -> Self {
        Self::Door(error)
    }
}
