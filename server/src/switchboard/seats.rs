//! The connections: who sits there, which calls they wait for, what they watch. It sends nothing.

use std::collections::{BTreeMap, BTreeSet};

use porthole_protocol::{CallError, ErrorCode, SessionId, Topic, Who, limits};
use porthole_worker::wire::ConnectionId;

/// Every connection.
#[derive(Debug, Default)]
pub(super) struct Seats(BTreeMap<ConnectionId, Seat>);

#[derive(Debug)]
struct Seat {
    who: Who,
    device: Option<String>,
    calls: BTreeMap<u64, Option<SessionId>>,
    watches: BTreeMap<Topic, Watch>,
}

/// Where a watch is. Deltas go out only while it is live: those before the snapshot are in the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    Waiting,
    Live,
}

impl Seats {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn open(&mut self, connection: ConnectionId, who: Who, device: Option<String>) {
        let seat = Seat {
            who,
            device,
            calls: BTreeMap::new(),
            watches: BTreeMap::new(),
        };
        self.0.insert(connection, seat);
    }

    /// Returns the sessions that it watched.
    pub(super) fn close(&mut self, connection: ConnectionId) -> BTreeSet<SessionId> {
        let seat = self.0.remove(&connection);
        seat.iter()
            .flat_map(|seat| seat.watches.keys())
            .filter_map(session_of)
            .cloned()
            .collect()
    }

    pub(super) fn who(&self, connection: ConnectionId) -> Option<&Who> {
        self.0.get(&connection).map(|seat| &seat.who)
    }

    pub(super) fn all(&self) -> Vec<ConnectionId> {
        self.0.keys().copied().collect()
    }

    pub(super) fn of_device(&self, device: &str) -> Vec<ConnectionId> {
        let theirs = |seat: &Seat| seat.device.as_deref() == Some(device);
        self.0
            .iter()
            .filter(|(_, seat)| theirs(seat))
            .map(|(id, _)| *id)
            .collect()
    }

    /// Notes a call as pending.
    pub(super) fn begin_call(
        &mut self,
        connection: ConnectionId,
        id: u64,
        session: Option<&SessionId>,
    ) -> Result<(), CallError> {
        let Some(seat) = self.0.get_mut(&connection) else {
            return Err(CallError::new(
                ErrorCode::Unavailable,
                "the connection is closed",
            ));
        };
        if seat.calls.contains_key(&id) {
            return Err(CallError::new(
                ErrorCode::Invalid,
                "a pending call has this id",
            ));
        }
        if seat.calls.len() >= limits::PENDING_CALLS {
            return Err(CallError::new(ErrorCode::Busy, "too many calls at once")
                .hint("wait for an answer"));
        }
        seat.calls.insert(id, session.cloned());
        Ok(())
    }

    /// Returns the session of a call that was pending, and ends it.
    pub(super) fn end_call(
        &mut self,
        connection: ConnectionId,
        id: u64,
    ) -> Option<Option<SessionId>> {
        self.0.get_mut(&connection)?.calls.remove(&id)
    }

    /// Returns the pending calls of a session.
    pub(super) fn calls_of(&self, session: &SessionId) -> Vec<(ConnectionId, u64)> {
        let theirs = |(connection, seat): (&ConnectionId, &Seat)| {
            let connection = *connection;
            let ids = seat
                .calls
                .iter()
                .filter(|(_, of)| of.as_ref() == Some(session));
            ids.map(|(id, _)| (connection, *id)).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(theirs).collect()
    }

    pub(super) fn may_watch(
        &self,
        connection: ConnectionId,
        topic: &Topic,
    ) -> Result<(), CallError> {
        match self.0.get(&connection) {
            Some(seat)
                if seat.watches.len() >= limits::WATCHES && !seat.watches.contains_key(topic) =>
            {
                Err(
                    CallError::new(ErrorCode::Busy, "too many watches on one connection")
                        .hint("end one first"),
                )
            }
            _ => Ok(()),
        }
    }

    /// Returns whether a snapshot has to be asked for; not where one is already on its way.
    pub(super) fn wait_for_snapshot(&mut self, connection: ConnectionId, topic: &Topic) -> bool {
        let Some(seat) = self.0.get_mut(&connection) else {
            return false;
        };
        seat.watches.insert(topic.clone(), Watch::Waiting) != Some(Watch::Waiting)
    }

    /// Returns whether the snapshot is wanted; its deltas follow from here.
    pub(super) fn got_snapshot(&mut self, connection: ConnectionId, topic: &Topic) -> bool {
        let watch = self
            .0
            .get_mut(&connection)
            .and_then(|seat| seat.watches.get_mut(topic));
        watch.map(|watch| *watch = Watch::Live).is_some()
    }

    pub(super) fn watches(&self, connection: ConnectionId, topic: &Topic) -> bool {
        self.0
            .get(&connection)
            .is_some_and(|seat| seat.watches.contains_key(topic))
    }

    /// Returns whether it was watched.
    pub(super) fn unwatch(&mut self, connection: ConnectionId, topic: &Topic) -> bool {
        self.0
            .get_mut(&connection)
            .is_some_and(|seat| seat.watches.remove(topic).is_some())
    }

    /// Returns who gets the topic's deltas.
    pub(super) fn live<'a>(
        &'a self,
        topic: &'a Topic,
    ) -> impl Iterator<Item = (ConnectionId, &'a Who)> {
        let live = |seat: &&Seat| seat.watches.get(topic) == Some(&Watch::Live);
        self.0
            .iter()
            .filter(move |(_, seat)| live(seat))
            .map(|(id, seat)| (*id, &seat.who))
    }

    /// Returns every watch of a session, live or not.
    pub(super) fn watches_of(&self, session: &SessionId) -> Vec<(ConnectionId, Topic)> {
        let theirs = |(connection, seat): (&ConnectionId, &Seat)| {
            let connection = *connection;
            let topics = seat
                .watches
                .keys()
                .filter(|topic| session_of(topic) == Some(session));
            topics
                .map(|topic| (connection, topic.clone()))
                .collect::<Vec<_>>()
        };
        self.0.iter().flat_map(theirs).collect()
    }

    /// Makes every watch of a session wait for a snapshot again.
    pub(super) fn restart_watches(&mut self, session: &SessionId) {
        for seat in self.0.values_mut() {
            for (topic, watch) in &mut seat.watches {
                if session_of(topic) == Some(session) {
                    *watch = Watch::Waiting;
                }
            }
        }
    }

    /// Returns how many connections watch a session.
    pub(super) fn watchers(&self, session: &SessionId) -> u32 {
        let watching = |seat: &&Seat| {
            seat.watches
                .keys()
                .any(|topic| session_of(topic) == Some(session))
        };
        u32::try_from(self.0.values().filter(watching).count()).unwrap_or(u32::MAX)
    }
}

fn session_of(topic: &Topic) -> Option<&SessionId> {
    match topic {
        Topic::Sessions => None,
        Topic::Conversation { session, .. } => Some(session),
    }
}
