//! What waits to be sent on one connection: bounded, and what gives way when the bound is reached.
//! It sends nothing and knows no socket.
//!
//! Frames of a topic give way first: the topic is marked as behind, its waiting frames are dropped, and once everything
//! else is sent a fresh snapshot is asked for. Replies never give way; where they alone pass the bound, the connection ends.

use std::collections::{BTreeSet, VecDeque};

use axum::{body::Bytes, extract::ws::Utf8Bytes};
use porthole_protocol::{
    Topic,
    limits::{BACKLOG_BYTES, SERVER_FRAME_BYTES},
};

/// One thing to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out {
    /// A frame for the UI.
    Text(Utf8Bytes),
    /// A frame for the launcher.
    Control(Bytes),
}

impl Out {
    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Control(bytes) => bytes.len(),
        }
    }
}

/// How a frame behaves when there is no room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lane {
    /// It stays.
    Must,
    /// It gives way for a later snapshot of its topic.
    Topic(Topic),
}

/// What the writer does next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Send these.
    Send(Vec<Out>),
    /// Ask for a fresh snapshot of this topic.
    Refresh(Topic),
    /// Wait until something is pushed.
    Wait,
    /// Everything is sent and nothing more comes.
    End,
}

/// The frames that wait on one connection.
#[derive(Debug, Default)]
pub struct Outbox {
    queue: VecDeque<(Lane, Out)>,
    bytes: usize,
    behind: BTreeSet<Topic>,
    end: End,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    #[default]
    Open,
    AfterQueue,
    Now,
}

/// Bytes that the writer takes at once.
const BATCH_BYTES: usize = 256 << 10;

impl Outbox {
    /// Puts a frame at the end, or makes its topic fall behind.
    pub fn push(&mut self, lane: Lane, out: Out) {
        if self.end != End::Open {
            return;
        }
        match lane {
            Lane::Topic(topic) if self.behind.contains(&topic) => {}
            Lane::Topic(topic) if self.is_full_for(&out) => self.fall_behind(topic),
            lane => self.append(lane, out),
        }
    }

    /// Nothing more comes; what waits is still sent.
    pub fn finish(&mut self) {
        if self.end == End::Open {
            self.end = End::AfterQueue;
        }
    }

    /// Nothing more comes, and of what waits nothing is sent but this last word.
    pub fn cut_off(&mut self, last: Out) {
        if self.end != End::Now {
            self.end = End::AfterQueue;
            self.behind.clear();
            self.bytes = last.len();
            self.queue = VecDeque::from([(Lane::Must, last)]);
        }
    }

    /// Returns whether replies alone passed the bound.
    pub fn is_overfull(&self) -> bool {
        self.end == End::Now
    }

    /// Returns what to do next, at most a batch of frames.
    pub fn take(&mut self) -> Next {
        if self.end == End::Now {
            return Next::End;
        }
        let batch = self.take_batch();
        if !batch.is_empty() {
            return Next::Send(batch);
        }
        if self.end == End::AfterQueue {
            return Next::End;
        }
        match self.behind.pop_first() {
            Some(topic) => Next::Refresh(topic),
            None => Next::Wait,
        }
    }

    fn is_full_for(&self, out: &Out) -> bool {
        !self.queue.is_empty() && self.bytes + out.len() > BACKLOG_BYTES
    }

    fn append(&mut self, lane: Lane, out: Out) {
        self.bytes += out.len();
        self.queue.push_back((lane, out));
        if self.bytes > BACKLOG_BYTES + SERVER_FRAME_BYTES {
            self.drop_topics();
        }
        if self.bytes > BACKLOG_BYTES + SERVER_FRAME_BYTES {
            self.end = End::Now;
            self.queue = VecDeque::new();
        }
    }

    fn fall_behind(&mut self, topic: Topic) {
        let lane = Lane::Topic(topic.clone());
        self.queue.retain(|(there, _)| *there != lane);
        self.bytes = self.queue.iter().map(|(_, out)| out.len()).sum();
        self.behind.insert(topic);
    }

    fn drop_topics(&mut self) {
        let behind = &mut self.behind;
        self.queue.retain(|(lane, _)| match lane {
            Lane::Must => true,
            Lane::Topic(topic) => {
                behind.insert(topic.clone());
                false
            }
        });
        self.bytes = self.queue.iter().map(|(_, out)| out.len()).sum();
    }

    fn take_batch(&mut self) -> Vec<Out> {
        let (mut batch, mut size) = (Vec::new(), 0);
        while size < BATCH_BYTES {
            let Some((_, out)) = self.queue.pop_front() else {
                break;
            };
            size += out.len();
            batch.push(out);
        }
        self.bytes -= size;
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(len: usize) -> Out {
        Out::Text(Utf8Bytes::from("x".repeat(len)))
    }

    fn drain(outbox: &mut Outbox) -> usize {
        let mut bytes = 0;
        while let Next::Send(batch) = outbox.take() {
            bytes += batch.iter().map(Out::len).sum::<usize>();
        }
        bytes
    }

    #[test]
    fn a_topic_that_does_not_fit_gives_way_and_is_refreshed_once_all_is_sent() {
        let mut outbox = Outbox::default();
        outbox.push(Lane::Must, text(10));
        for _ in 0..100 {
            outbox.push(Lane::Topic(Topic::Sessions), text(100 << 10));
        }
        assert!(outbox.bytes <= BACKLOG_BYTES);
        let Next::Send(batch) = outbox.take() else {
            panic!("the reply is still there")
        };
        assert_eq!(batch, [text(10)], "only the topic gave way");
        assert_eq!(outbox.take(), Next::Refresh(Topic::Sessions));
        assert_eq!(outbox.take(), Next::Wait);
        outbox.push(Lane::Topic(Topic::Sessions), text(5));
        assert_eq!(outbox.take(), Next::Send(vec![text(5)]), "it goes on");
    }

    #[test]
    fn one_frame_larger_than_the_bound_is_sent_when_nothing_else_waits() {
        let mut outbox = Outbox::default();
        outbox.push(Lane::Topic(Topic::Sessions), text(SERVER_FRAME_BYTES));
        assert_eq!(drain(&mut outbox), SERVER_FRAME_BYTES);
    }

    #[test]
    fn replies_alone_over_the_bound_end_the_connection_and_free_its_memory() {
        let mut outbox = Outbox::default();
        for _ in 0..9 {
            outbox.push(Lane::Must, text(1 << 20));
        }
        assert!(outbox.is_overfull());
        assert_eq!(outbox.take(), Next::End);
        assert_eq!(outbox.queue.capacity(), 0);
    }

    #[test]
    fn topics_give_way_before_replies_end_the_connection() {
        let mut outbox = Outbox::default();
        outbox.push(Lane::Topic(Topic::Sessions), text(3 << 20));
        for _ in 0..6 {
            outbox.push(Lane::Must, text(1 << 20));
        }
        assert!(!outbox.is_overfull());
        assert_eq!(drain(&mut outbox), 6 << 20);
    }

    #[test]
    fn what_waits_is_sent_before_the_end() {
        let mut outbox = Outbox::default();
        outbox.push(Lane::Must, text(3));
        outbox.finish();
        outbox.push(Lane::Must, text(4));
        assert_eq!(outbox.take(), Next::Send(vec![text(3)]));
        assert_eq!(outbox.take(), Next::End);
    }

    #[test]
    fn who_is_cut_off_gets_the_reason_and_nothing_of_what_waited() {
        let mut outbox = Outbox::default();
        outbox.push(Lane::Must, text(3));
        outbox.push(Lane::Topic(Topic::Sessions), text(5 << 20));
        outbox.cut_off(text(7));
        outbox.push(Lane::Must, text(4));
        assert_eq!(outbox.take(), Next::Send(vec![text(7)]));
        assert_eq!(outbox.take(), Next::End);
    }
}
