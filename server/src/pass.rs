//! By what someone was let in, and whose access can be ended. It knows no cookie and no catalog.

use porthole_protocol::{AccessId, Role, SessionId, Who};
use porthole_worker::wire::ConnectionId;

/// By what someone was let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pass {
    /// A command of the owner's on this machine, over the local socket.
    Command,
    /// A device of the owner.
    Device(AccessId),
    /// A guest's grant.
    Guest {
        /// The grant.
        grant: AccessId,
        /// The share link it came from.
        share: AccessId,
        /// When it ends, in milliseconds since the Unix epoch.
        expires_ms: u64,
    },
}

impl Pass {
    /// Returns when it ends by itself, where it does.
    pub fn expires_ms(&self) -> Option<u64> {
        match self {
            Self::Command | Self::Device(_) => None,
            Self::Guest { expires_ms, .. } => Some(*expires_ms),
        }
    }
}

/// Whose access ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
    /// A device's.
    Device(AccessId),
    /// A guest's.
    Grant(AccessId),
    /// Everyone's who came by a share link.
    Share(AccessId),
    /// Every guest's of a session.
    GuestsOf(SessionId),
    /// One connection's.
    Connection(ConnectionId),
}

impl Whose {
    /// Returns whether someone is meant.
    pub fn is(&self, connection: ConnectionId, who: &Who, pass: &Pass) -> bool {
        match (self, pass) {
            (Self::Connection(meant), _) => *meant == connection,
            (Self::Device(meant), Pass::Device(device)) => meant == device,
            (Self::Grant(meant), Pass::Guest { grant, .. }) => meant == grant,
            (Self::Share(meant), Pass::Guest { share, .. }) => meant == share,
            (Self::GuestsOf(meant), _) => {
                matches!(&who.role, Role::Guest { session, .. } if session == meant)
            }
            (Self::Device(_) | Self::Grant(_) | Self::Share(_), _) => false,
        }
    }
}
