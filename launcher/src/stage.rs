//! The processes of UIs: the one that has the place, and one that waits behind it. They are started, swapped and told
//! here; which and when is decided in the core.

use porthole_bridge::Signal;

use crate::{
    app::Input,
    sandbox::{Artifact, Sandbox, SandboxEvent},
};

/// Where a UI is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In place of the one that runs; nobody waits after that.
    Front,
    /// Behind the one that runs.
    Behind,
}

/// The UIs that have a process.
#[derive(Default)]
pub struct Stage {
    front: Option<Actor>,
    behind: Option<Actor>,
}

struct Actor {
    instance: u64,
    sha256: String,
    sandbox: Sandbox,
}

impl Stage {
    /// Ends what is in the way of a UI that starts at `place`.
    pub fn clear(&mut self, place: Place) {
        self.behind = None;
        if place == Place::Front {
            self.front = None;
        }
    }

    /// Starts the UI of `artifact` and gives it its first message; returns why it could not be started.
    pub async fn start(
        &mut self,
        place: Place,
        instance: u64,
        sha256: String,
        artifact: Artifact,
        first: &Signal,
    ) -> Result<(), String> {
        let mut sandbox = Sandbox::spawn(artifact).map_err(|fault| fault.to_string())?;
        // One that cannot take it has ended, and says so itself.
        let _ = sandbox.send(first).await;
        let actor = Some(Actor {
            instance,
            sha256,
            sandbox,
        });
        match place {
            Place::Front => self.front = actor,
            Place::Behind => self.behind = actor,
        }
        Ok(())
    }

    /// Gives the place to the one that waits; returns its bundle.
    pub fn promote(&mut self) -> Option<String> {
        self.front = self.behind.take();
        self.front.as_ref().map(|actor| actor.sha256.clone())
    }

    /// Ends the one that waits.
    pub fn drop_behind(&mut self) {
        self.behind = None;
    }

    /// Ends the one that has the place.
    pub fn drop_front(&mut self) {
        self.front = None;
    }

    /// Hands a message to the UI that has the place. One that cannot take it has ended, and says so itself.
    pub async fn tell(&mut self, signal: &Signal) {
        if let Some(actor) = &mut self.front {
            let _ = actor.sandbox.send(signal).await;
        }
    }

    /// Says whether the UI that has the place should be sent what can wait.
    pub fn has_room(&self) -> bool {
        self.front
            .as_ref()
            .is_none_or(|actor| actor.sandbox.has_room())
    }

    /// Waits for what any of them does next; for ever where there is none.
    pub async fn next(&mut self) -> Input {
        let Self { front, behind } = self;
        tokio::select! {
            biased;
            input = next(front) => input,
            input = next(behind) => input,
        }
    }
}

async fn next(actor: &mut Option<Actor>) -> Input {
    let Some(actor) = actor else {
        return std::future::pending().await;
    };
    match actor.sandbox.next().await {
        SandboxEvent::Posted(request) => Input::Posted(actor.instance, request),
        SandboxEvent::Ended(fault) => Input::UiEnded(actor.instance, fault.to_string()),
    }
}
