//! Everything that can happen to the core, as one closed enum. Plain data.

use porthole_bridge::{Outcome, Request, Size};

use super::Admission;
use crate::{
    door::DoorError, link::LinkEvent, preferences::Preferences, terminal::event::TerminalEvent,
};

/// Everything that can happen to the launcher.
#[derive(Debug)]
pub enum Input {
    /// The visitor did something.
    Terminal(TerminalEvent),
    /// The terminal has this size now.
    Resized(Size),
    /// The terminal is ours again, with this size, after it was somebody else's.
    Back(Size),
    /// A UI posted a request.
    Posted(u64, Request),
    /// A UI ended; the sentence says why.
    UiEnded(u64, String),
    /// Something happened on the link.
    Link(LinkEvent),
    /// The door answered.
    Door(DoorInput),
    /// A local action ended.
    Local(LocalDone),
    /// Something of a transfer happened.
    Transfer(super::TransferInput),
    /// A time that was asked for has come.
    Alarm(Alarm),
    /// The preferences were read anew.
    Preferences(Box<Preferences>),
    /// This computer was asleep since the last input.
    Slept,
    /// The process is to end, with this status.
    Terminate(u8),
}

/// What the door answered.
#[derive(Debug)]
pub enum DoorInput {
    /// How far the bundle is, in words.
    Progress(String),
    /// The bundle that runs is the server's.
    Unchanged,
    /// A bundle of this hash can be started.
    Prepared(String),
    /// There is no bundle to start; what failed and what to do.
    NotPrepared(Trouble),
    /// A fresh link was redeemed.
    Redeemed(Admission),
    /// A fresh link was not; why.
    RedeemFailed(String),
    /// The credential is forgotten here and, where it could be told, there.
    SignedOut,
}

/// What failed, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// At the door.
    Door(DoorError),
    /// With the bundle, in a sentence.
    Bundle(String),
}

/// How a local action ended.
#[derive(Debug)]
pub struct LocalDone {
    /// The UI instance and its request; `None`: the launcher's own wish.
    pub asked: Option<(u64, u64)>,
    /// How it ended.
    pub outcome: Outcome,
}

/// A time that can be asked for; each is asked for once at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// The next frame may be drawn.
    Draw,
    /// The UI wanted to be woken.
    Wake,
    /// Feedback leaves the trust line.
    Feedback,
    /// The next attempt to connect.
    Reconnect,
    /// A step of a replacement was waited for long enough.
    Snapshot,
    /// A second less until the next attempt to connect.
    Countdown,
    /// The visitor may have come to rest.
    Rest,
    /// The silence after a yes has passed.
    Sure,
    /// An open question may be answered from now on.
    Listen,
    /// A question was not answered for so long that no answer is good any more.
    Grant,
}

impl Alarm {
    /// How many there are.
    pub const COUNT: usize = 10;
}
