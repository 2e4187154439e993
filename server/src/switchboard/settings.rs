//! The settings as their watchers and the workers are told of them. What they say is not looked at here.

use porthole_protocol::{ServerFrame, SettingsState, Topic, TopicDelta, TopicState};
use porthole_worker::wire::{ConnectionId, ToWorker};

use super::{Effect, Switchboard, encoded, send};
use crate::outbox::Lane;

/// The settings that are in force, and the numbering of their changes.
#[derive(Debug)]
pub(super) struct Board {
    epoch: u64,
    seq: u64,
    state: SettingsState,
}

impl Board {
    pub(super) fn new(epoch: u64) -> Self {
        Self {
            epoch,
            seq: 0,
            state: SettingsState::default(),
        }
    }

    pub(super) fn settings(&self) -> &porthole_protocol::Settings {
        &self.state.settings
    }

    /// Returns which version holds.
    pub(super) fn version(&self) -> u64 {
        self.state.version
    }
}

impl Switchboard {
    /// Takes other settings: watchers are told, and every worker where what holds changed.
    pub(super) fn settings_changed(&mut self, state: SettingsState, out: &mut Vec<Effect>) {
        if self.settings.state == state {
            return;
        }
        let changed = self.settings.state.version != state.version;
        self.settings.seq += 1;
        self.settings.state = state;
        let frame = encoded(&ServerFrame::Delta {
            topic: Topic::Settings,
            epoch: self.settings.epoch,
            seq: self.settings.seq,
            delta: TopicDelta::Settings(Box::new(self.settings.state.clone())),
        });
        for (connection, _) in self.seats.live(&Topic::Settings) {
            out.push(Effect::Send {
                connection,
                lane: Lane::Topic(Topic::Settings),
                frame: frame.clone(),
            });
        }
        if changed {
            for session in self.workers.ready() {
                out.push(self.settings_for(session));
            }
        }
    }

    /// Returns what tells a worker of the settings.
    pub(super) fn settings_for(&self, session: porthole_protocol::SessionId) -> Effect {
        let settings = Box::new(self.settings.state.settings.clone());
        Effect::Tell {
            session,
            message: Box::new(ToWorker::Settings(settings)),
        }
    }

    pub(super) fn send_settings(&mut self, connection: ConnectionId, out: &mut Vec<Effect>) {
        let snapshot = ServerFrame::Snapshot {
            topic: Topic::Settings,
            epoch: self.settings.epoch,
            seq: self.settings.seq,
            state: TopicState::Settings(Box::new(self.settings.state.clone())),
        };
        self.seats.got_snapshot(connection, &Topic::Settings);
        send(connection, Lane::Topic(Topic::Settings), &snapshot, out);
    }
}
