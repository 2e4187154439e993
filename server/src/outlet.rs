//! A connection's way out: its outbox, and a bell for the one who writes. What is dropped when is the outbox's to say.

use std::sync::Mutex;

use tokio::sync::Notify;

use crate::{
    outbox::{Lane, Next, Out, Outbox},
    server::locked,
};

/// A connection's way out: what waits, and a bell for its writer.
#[derive(Default)]
pub struct Outlet {
    outbox: Mutex<Outbox>,
    bell: Notify,
    cut: Notify,
    overfull: Notify,
}

impl Outlet {
    /// Returns what to send next; waits until there is something.
    pub async fn next(&self) -> Next {
        loop {
            match locked(&self.outbox).take() {
                Next::Wait => {}
                next => return next,
            }
            self.bell.notified().await;
        }
    }

    /// Puts a frame at the end.
    pub fn push(&self, lane: Lane, out: Out) {
        let overfull = {
            let mut outbox = locked(&self.outbox);
            outbox.push(lane, out);
            outbox.is_overfull()
        };
        self.bell.notify_one();
        if overfull {
            self.overfull.notify_one();
        }
    }

    /// Returns once replies alone passed the bound: its writer may then be waiting for a peer that reads nothing.
    pub async fn until_overfull(&self) {
        while !locked(&self.outbox).is_overfull() {
            self.overfull.notified().await;
        }
    }

    /// Nothing more comes but this last word; what waits is dropped.
    pub fn cut_off(&self, last: Out) {
        locked(&self.outbox).cut_off(last);
        self.bell.notify_one();
        self.cut.notify_one();
    }

    /// Returns once this way out was cut off: its reader may be slow, and gets no more than a moment.
    pub async fn until_cut_off(&self) {
        self.cut.notified().await;
    }

    /// Nothing more comes; what waits is still sent.
    pub fn finish(&self) {
        locked(&self.outbox).finish();
        self.bell.notify_one();
    }
}
