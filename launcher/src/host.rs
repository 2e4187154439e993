//! The host of one running UI: a queue in, events out, so that the loop never waits for a UI.
//! It starts no process itself and looks into no message.

use std::sync::Arc;

use porthole_bridge::{Event, Request, Signal};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    task::JoinHandle,
};

use crate::sandbox::{Sandbox, SandboxEvent};

/// Messages that wait for a UI; further keys are dropped, for a UI that far behind is about to be ended.
const MESSAGES: usize = 1024;
/// Bytes of link frames that wait for a UI; the link is not read while there are more.
const LINK_BYTES: usize = 8 << 20;
/// Room that must be there before the link is read: its largest frame.
const LINK_ROOM: u32 = porthole_bridge::limits::LINK_IN_BYTES as u32;
/// Requests that wait for the loop; a UI that posts more waits.
pub const REQUESTS: usize = 64;

/// What came from the UI of an instance.
#[derive(Debug)]
pub enum HostEvent {
    /// It asks for something.
    Posted(u64, Request),
    /// It ended; why, in a sentence.
    Ended(u64, String),
}

/// A running UI. Dropping it ends the UI.
pub struct Host {
    signals: mpsc::Sender<(Signal, Option<OwnedSemaphorePermit>)>,
    room: Arc<Semaphore>,
    task: JoinHandle<()>,
}

impl Host {
    /// Starts hosting `sandbox` as `instance` and reports to `events`.
    pub fn start(instance: u64, sandbox: Sandbox, events: mpsc::Sender<HostEvent>) -> Self {
        let (signals, queue) = mpsc::channel(MESSAGES);
        Self {
            signals,
            room: Arc::new(Semaphore::new(LINK_BYTES)),
            task: tokio::spawn(run(instance, sandbox, queue, events)),
        }
    }

    /// Queues a message; returns whether there was room.
    pub fn tell(&self, now_ms: u64, event: Event) -> bool {
        let held = match &event {
            Event::Link(frame) => {
                let bytes = u32::try_from(frame.len()).unwrap_or(LINK_ROOM);
                match Arc::clone(&self.room).try_acquire_many_owned(bytes) {
                    Ok(permit) => Some(permit),
                    Err(_) => return false,
                }
            }
            _ => None,
        };
        let step = porthole_bridge::limits::CLOCK_STEP.as_millis() as u64;
        let now_ms = now_ms - now_ms % step;
        self.signals
            .try_send((Signal { now_ms, event }, held))
            .is_ok()
    }

    /// Waits until there is room for the link's largest frame.
    pub fn room(&self) -> impl Future<Output = ()> + use<> {
        let room = Arc::clone(&self.room);
        async move {
            // The semaphore is never closed; the room is looked at, not kept.
            let _ = room.acquire_many(LINK_ROOM).await;
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn run(
    instance: u64,
    mut sandbox: Sandbox,
    mut queue: mpsc::Receiver<(Signal, Option<OwnedSemaphorePermit>)>,
    events: mpsc::Sender<HostEvent>,
) {
    loop {
        let event = tokio::select! {
            event = sandbox.next() => event,
            message = queue.recv() => match message {
                Some((signal, _held)) => {
                    sandbox.send(&signal).await;
                    continue;
                }
                None => return,
            },
        };
        let told = match event {
            SandboxEvent::Posted(request) => HostEvent::Posted(instance, request),
            SandboxEvent::Ended(fault) => HostEvent::Ended(instance, fault.to_string()),
        };
        let last = matches!(told, HostEvent::Ended(..));
        if events.send(told).await.is_err() || last {
            return;
        }
    }
}
