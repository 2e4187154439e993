//! Who is in which session, as the home list shows it: told only where it changed, and not more often than people can
//! see. It reads no clock.

use std::{collections::BTreeSet, time::Duration};

use porthole_protocol::SessionId;

use super::{Effect, Switchboard};

/// How long changes are gathered: whoever changes a screen or reconnects does not flicker.
const GATHER: Duration = Duration::from_millis(500);

/// Sessions that are about to be looked at.
pub(super) type Due = BTreeSet<SessionId>;

impl Switchboard {
    /// Notes that someone may have come or gone.
    pub(super) fn presence_changed(&mut self, session: &SessionId, out: &mut Vec<Effect>) {
        if !self.down && self.present.insert(session.clone()) {
            out.push(Effect::PresenceLater {
                session: session.clone(),
                after: GATHER,
            });
        }
    }

    pub(super) fn presence_due(&mut self, session: &SessionId, out: &mut Vec<Effect>) {
        self.present.remove(session);
        let presence = self.seats.presence(session);
        if let Some(delta) = self.home.set_presence(session, presence) {
            self.publish(session, &delta, out);
        }
    }
}
