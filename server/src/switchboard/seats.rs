//! The connections: who sits there, which calls they wait for, what they watch. It sends nothing.

use std::collections::{BTreeMap, BTreeSet};

use porthole_protocol::{
    AccessId, CallError, ErrorCode, Person, Presence, SessionId, Standing, Topic, Who, limits,
};
use porthole_worker::wire::ConnectionId;

use crate::pass::{Pass, Whose};

/// Every connection.
#[derive(Debug, Default)]
pub(super) struct Seats(BTreeMap<ConnectionId, Seat>);

#[derive(Debug)]
struct Seat {
    who: Who,
    pass: Pass,
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

    pub(super) fn open(&mut self, connection: ConnectionId, who: Who, pass: Pass) {
        let seat = Seat {
            who,
            pass,
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

    pub(super) fn pass(&self, connection: ConnectionId) -> Option<&Pass> {
        self.0.get(&connection).map(|seat| &seat.pass)
    }

    /// Returns the connections of those whose access is meant.
    pub(super) fn of(&self, whose: &Whose) -> Vec<ConnectionId> {
        self.0
            .iter()
            .filter(|(id, seat)| whose.is(**id, &seat.who, &seat.pass))
            .map(|(id, _)| *id)
            .collect()
    }

    /// Returns the ids of devices and guests that are connected.
    pub(super) fn passes(&self) -> BTreeSet<AccessId> {
        let id = |seat: &Seat| match &seat.pass {
            Pass::Command => None,
            Pass::Device(id) | Pass::Guest { grant: id, .. } => Some(id.clone()),
        };
        self.0.values().filter_map(id).collect()
    }

    /// Returns who is in a session: whoever watches it, but commands, which are nobody sitting there.
    pub(super) fn presence(&self, session: &SessionId) -> Presence {
        let watching = |seat: &&Seat| {
            let mut topics = seat.watches.keys();
            seat.pass != Pass::Command && topics.any(|topic| session_of(topic) == Some(session))
        };
        let mut people: Vec<Person> = Vec::new();
        let mut known = BTreeSet::new();
        // In the order in which they connected.
        for seat in self.0.values().filter(watching) {
            if known.insert(&seat.who.id) {
                people.push(Person {
                    id: seat.who.id.clone(),
                    name: seat.who.name.clone(),
                    standing: Standing::of(&seat.who.role),
                });
            }
        }
        people.sort_by_key(|person| person.standing != Standing::Owner);
        let more = people.len().saturating_sub(limits::PRESENT_PEOPLE);
        people.truncate(limits::PRESENT_PEOPLE);
        Presence {
            people,
            more: u32::try_from(more).unwrap_or(u32::MAX),
        }
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
        Topic::Sessions | Topic::Settings | Topic::Looks => None,
        Topic::Conversation { session, .. } => Some(session),
    }
}
