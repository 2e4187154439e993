//! Connections on their way to a request or between two: how many there may be, and which one gives way to a new one.
//! It opens and closes nothing. Links are counted elsewhere.
//!
//! A client that opens connections and says nothing fills the lobby, and then only pushes out the oldest of its own kind:
//! one that is being answered never gives way, and one that sends its request at once has long left the front of the line.

use std::{collections::BTreeMap, net::IpAddr};

/// Connections at once.
pub const SEATS: usize = 256;
/// Connections at once from one address of another machine.
pub const SEATS_OF_PEER: usize = 64;

/// A connection, as the lobby numbers them.
pub type Seat = u64;

/// Every connection in the lobby.
#[derive(Debug, Default)]
pub struct Lobby {
    next: u64,
    seats: BTreeMap<Seat, Sitting>,
}

#[derive(Debug)]
struct Sitting {
    peer: IpAddr,
    /// Since when it waits for a request, as a place in line; `None`: it is being answered.
    line: Option<u64>,
}

/// Whether a connection may come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// It sits here.
    In(Seat),
    /// It sits here, and that one has to go.
    InFor(Seat, Seat),
    /// Everyone else is being answered.
    Full,
}

impl Lobby {
    /// Lets a connection in, where there is room or someone who gives way.
    pub fn enter(&mut self, peer: IpAddr) -> Entry {
        let theirs = |sitting: &Sitting| sitting.peer == peer;
        let crowd = self.seats.values().filter(|s| theirs(s)).count();
        let leaves = if !peer.is_loopback() && crowd >= SEATS_OF_PEER {
            self.oldest(theirs)
        } else if self.seats.len() >= SEATS {
            self.oldest(|_| true)
        } else {
            return Entry::In(self.sit(peer));
        };
        match leaves {
            Some(leaves) => {
                self.seats.remove(&leaves);
                Entry::InFor(self.sit(peer), leaves)
            }
            None => Entry::Full,
        }
    }

    /// A request has come whole and is being answered.
    pub fn asked(&mut self, seat: Seat) {
        if let Some(sitting) = self.seats.get_mut(&seat) {
            sitting.line = None;
        }
    }

    /// The answer is out; it waits for another request.
    pub fn answered(&mut self, seat: Seat) {
        let line = self.take_number();
        if let Some(sitting) = self.seats.get_mut(&seat) {
            sitting.line = Some(line);
        }
    }

    /// It is gone, or has become a link.
    pub fn left(&mut self, seat: Seat) {
        self.seats.remove(&seat);
    }

    fn sit(&mut self, peer: IpAddr) -> Seat {
        let seat = self.take_number();
        let line = Some(seat);
        self.seats.insert(seat, Sitting { peer, line });
        seat
    }

    fn take_number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn oldest(&self, of: impl Fn(&Sitting) -> bool) -> Option<Seat> {
        let waiting = self.seats.iter().filter(|(_, sitting)| of(sitting));
        let lines = waiting.filter_map(|(seat, sitting)| Some((sitting.line?, *seat)));
        lines.min().map(|(_, seat)| seat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn enter(lobby: &mut Lobby, peer: IpAddr) -> Seat {
        match lobby.enter(peer) {
            Entry::In(seat) | Entry::InFor(seat, _) => seat,
            Entry::Full => panic!("there is room"),
        }
    }

    #[test]
    fn the_one_that_waited_longest_gives_way_and_never_one_that_is_answered() {
        let mut lobby = Lobby::default();
        let seats: Vec<_> = (0..SEATS).map(|_| enter(&mut lobby, HERE)).collect();
        lobby.asked(seats[0]);
        assert!(matches!(lobby.enter(HERE), Entry::InFor(_, leaves) if leaves == seats[1]));
        lobby.answered(seats[0]);
        lobby.asked(seats[2]);
        assert!(matches!(lobby.enter(HERE), Entry::InFor(_, leaves) if leaves == seats[3]));
        lobby.left(seats[4]);
        assert!(matches!(lobby.enter(HERE), Entry::In(_)));
    }

    #[test]
    fn where_all_are_answered_nobody_comes_in() {
        let mut lobby = Lobby::default();
        for _ in 0..SEATS {
            let seat = enter(&mut lobby, HERE);
            lobby.asked(seat);
        }
        assert_eq!(lobby.enter(THERE), Entry::Full);
    }

    #[test]
    fn one_other_machine_takes_its_share_and_pushes_out_only_its_own() {
        let mut lobby = Lobby::default();
        let other = enter(&mut lobby, HERE);
        let first = enter(&mut lobby, THERE);
        for _ in 1..SEATS_OF_PEER {
            enter(&mut lobby, THERE);
        }
        assert!(
            matches!(lobby.enter(THERE), Entry::InFor(_, leaves) if leaves == first && leaves != other)
        );
    }
}
