//! The client of the link: which calls wait for a reply, what is watched, and what is sent again after the
//! connection was lost. It decides nothing about screens and opens nothing.

use std::collections::{BTreeMap, VecDeque};

use porthole_bridge::LinkState;
use porthole_protocol::{
    Call, CallError, ClientFrame, ErrorCode, PROTOCOL_VERSION, ServerFrame, Topic, TopicDelta,
    TopicState, Who, encode, limits,
};
use serde_json::value::RawValue;

/// Calls kept pending at once; a few below the server's bound, so that none is ever refused for it.
const IN_FLIGHT: usize = limits::PENDING_CALLS - 4;

/// What came from the server, for the screens.
#[derive(Debug)]
pub(crate) enum News {
    /// The connection stands and the server said who we are.
    Hello,
    /// A call was answered.
    Reply {
        /// The call.
        call: Call,
        /// Its reply, to be read as the method says, or why it failed.
        result: Result<Box<RawValue>, CallError>,
    },
    /// A reading call will get no reply; ask again if it is still wanted.
    Lost(Call),
    /// A topic as it is.
    Snapshot(Topic, TopicState),
    /// The next change of a topic.
    Delta(Topic, TopicDelta),
    /// A watch ended.
    Ended(Topic, CallError),
    /// Something of which no call is the cause.
    Fault(String),
}

/// How the link is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Link {
    /// It was not up yet.
    #[default]
    Connecting,
    /// Frames flow.
    Up,
    /// The launcher tries again.
    Down,
    /// It will not come back by itself.
    Ended(String),
}

/// Where a watch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    /// A snapshot was asked for; deltas before it are of no use.
    Asked,
    /// The last delta that was applied.
    At { epoch: u64, seq: u64 },
}

#[derive(Debug)]
struct Pending {
    id: u64,
    call: Call,
}

/// The client of the link.
#[derive(Debug, Default)]
pub(crate) struct Server {
    link: Link,
    epoch: Option<u64>,
    who: Option<Who>,
    machine: String,
    home_dir: String,
    last_id: u64,
    sent: Vec<Pending>,
    queue: VecDeque<Call>,
    watches: BTreeMap<Topic, Watch>,
    out: Vec<Vec<u8>>,
    news: VecDeque<News>,
}

impl Server {
    /// Returns how the link is.
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Returns who the server says we are.
    pub(crate) fn who(&self) -> Option<&Who> {
        self.who.as_ref()
    }

    /// Returns the server's machine, as it names itself.
    pub(crate) fn machine(&self) -> &str {
        &self.machine
    }

    /// Returns the server's home directory, where it is known: paths below it are shown shorter.
    pub(crate) fn home_dir(&self) -> Option<&str> {
        Some(self.home_dir.as_str()).filter(|dir| !dir.is_empty())
    }

    /// Makes a call, now or as soon as the link is up. Changing calls keep their order.
    pub(crate) fn call(&mut self, call: Call) {
        self.queue.push_back(call);
        self.pump();
    }

    /// Returns whether a call that `test` holds for waits for its reply.
    pub(crate) fn is_pending(&self, test: impl Fn(&Call) -> bool) -> bool {
        self.sent.iter().any(|p| test(&p.call)) || self.queue.iter().any(test)
    }

    /// Returns the changing calls without a reply, in their order.
    pub(crate) fn unanswered(&self) -> Vec<Call> {
        let sent = self.sent.iter().map(|p| &p.call);
        sent.chain(&self.queue)
            .filter(|call| changes(call))
            .cloned()
            .collect()
    }

    /// Watches a topic; it stays watched through reconnects until [`Server::unwatch`].
    pub(crate) fn watch(&mut self, topic: Topic) {
        if self.watches.contains_key(&topic) {
            return;
        }
        self.ask(topic);
    }

    /// Watches a topic no more.
    pub(crate) fn unwatch(&mut self, topic: &Topic) {
        if self.watches.remove(topic).is_some() {
            self.post(&ClientFrame::Unwatch {
                topic: topic.clone(),
            });
        }
    }

    /// Takes a change of the link.
    pub(crate) fn link_state(&mut self, state: LinkState) {
        match state {
            LinkState::Up { epoch } if self.epoch == Some(epoch) => self.link = Link::Up,
            LinkState::Up { epoch } => {
                self.link = Link::Up;
                self.epoch = Some(epoch);
                self.start_over();
            }
            LinkState::Down { .. } => self.link = Link::Down,
            LinkState::Ended { reason } => self.link = Link::Ended(reason),
        }
    }

    /// Takes one frame of the server.
    pub(crate) fn frame(&mut self, bytes: &[u8]) {
        let frame = std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| ServerFrame::decode(text, limits::SERVER_FRAME_BYTES).ok());
        match frame {
            Some(frame) => self.take(frame),
            None => self.news.push_back(News::Fault(
                "the server sent something this UI cannot read".into(),
            )),
        }
    }

    /// Returns the next piece of news.
    pub(crate) fn next_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Returns the frames to send, oldest first.
    pub(crate) fn take_out(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.out)
    }

    fn take(&mut self, frame: ServerFrame) {
        match frame {
            ServerFrame::Hello {
                protocol,
                machine,
                who,
                home,
                ..
            } => {
                self.home_dir = home;
                self.hello(protocol, machine, who);
            }
            ServerFrame::Reply { id, result } => self.reply(id, Ok(result)),
            ServerFrame::Error {
                id: Some(id),
                error,
            } => self.reply(id, Err(error)),
            ServerFrame::Error { id: None, error } => {
                self.news.push_back(News::Fault(error.message))
            }
            ServerFrame::Snapshot {
                topic,
                epoch,
                seq,
                state,
            } => {
                if let Some(watch) = self.watches.get_mut(&topic) {
                    *watch = Watch::At { epoch, seq };
                    self.news.push_back(News::Snapshot(topic, state));
                }
            }
            ServerFrame::Delta {
                topic,
                epoch,
                seq,
                delta,
            } => self.delta(topic, epoch, seq, delta),
            ServerFrame::Ended { topic, error } => {
                if self.watches.remove(&topic).is_some() {
                    self.news.push_back(News::Ended(topic, error));
                }
            }
        }
    }

    fn hello(&mut self, protocol: u32, machine: String, who: Who) {
        if protocol != PROTOCOL_VERSION {
            let reason = format!(
                "the server speaks protocol {protocol}, this UI {PROTOCOL_VERSION}; open it again to get its own UI"
            );
            self.link = Link::Ended(reason);
        }
        self.machine = machine;
        self.who = Some(who);
        self.news.push_back(News::Hello);
    }

    fn reply(&mut self, id: u64, result: Result<Box<RawValue>, CallError>) {
        // A reply to what is not pending belongs to an older connection.
        if let Some(at) = self.sent.iter().position(|p| p.id == id) {
            let call = self.sent.remove(at).call;
            self.news.push_back(News::Reply { call, result });
            self.pump();
        }
    }

    fn delta(&mut self, topic: Topic, epoch: u64, seq: u64, delta: TopicDelta) {
        let Some(Watch::At {
            epoch: ours,
            seq: last,
        }) = self.watches.get_mut(&topic)
        else {
            return;
        };
        if *ours == epoch && seq <= *last {
            return;
        }
        if *ours == epoch && seq == *last + 1 {
            *last = seq;
            self.news.push_back(News::Delta(topic, delta));
        } else {
            self.ask(topic);
        }
    }

    /// On a new connection: nothing of the old one is pending; changing calls go again, under the same request ids, before any other.
    fn start_over(&mut self) {
        for pending in std::mem::take(&mut self.sent).into_iter().rev() {
            if changes(&pending.call) {
                self.queue.push_front(pending.call);
            } else {
                self.news.push_back(News::Lost(pending.call));
            }
        }
        let topics: Vec<Topic> = self.watches.keys().cloned().collect();
        topics.into_iter().for_each(|topic| self.ask(topic));
        self.pump();
    }

    fn ask(&mut self, topic: Topic) {
        self.watches.insert(topic.clone(), Watch::Asked);
        self.post(&ClientFrame::Watch { topic });
    }

    fn pump(&mut self) {
        while self.link == Link::Up && self.sent.len() < IN_FLIGHT {
            let Some(call) = self.queue.pop_front() else {
                return;
            };
            self.last_id += 1;
            let id = self.last_id;
            let frame = ClientFrame::Call {
                id,
                call: call.clone(),
            };
            if self.post(&frame) {
                self.sent.push(Pending { id, call });
            } else {
                let error = CallError::new(ErrorCode::TooLarge, "this is too large to send");
                let result = Err(error.hint("send it in parts, or as a file"));
                self.news.push_back(News::Reply { call, result });
            }
        }
    }

    /// Returns whether the frame fits; one for a link that is down is dropped, since a new connection starts over.
    fn post(&mut self, frame: &ClientFrame) -> bool {
        let Ok(text) = encode(frame, limits::CLIENT_FRAME_BYTES) else {
            return false;
        };
        if self.link == Link::Up {
            self.out.push(text.into_bytes());
        }
        true
    }
}

/// Whether a call changes something on the server, and so must not get lost with the connection.
fn changes(call: &Call) -> bool {
    match call {
        Call::SessionCreate { .. }
        | Call::SessionRename { .. }
        | Call::SessionPin { .. }
        | Call::SessionArchive { .. }
        | Call::SessionRestore { .. }
        | Call::SessionRetry { .. }
        | Call::SessionRead { .. }
        | Call::Submit { .. }
        | Call::Withdraw { .. }
        | Call::Stop { .. }
        | Call::AnswerQuestion { .. }
        | Call::Configure { .. }
        | Call::Shell { .. }
        | Call::Reset { .. }
        | Call::Compact { .. }
        | Call::Retry { .. }
        | Call::Exclude { .. }
        | Call::OpenChild { .. }
        | Call::Fork { .. }
        | Call::ArchiveChild { .. }
        | Call::Move { .. }
        | Call::ShareCreate { .. }
        | Call::ShareRevoke { .. }
        | Call::DeviceSignOut { .. }
        | Call::SettingsSave { .. }
        | Call::SessionDelete { .. }
        | Call::SessionClone { .. } => true,
        Call::History { .. }
        | Call::OutputRead { .. }
        | Call::FilesFind { .. }
        | Call::Models {}
        | Call::Search { .. }
        | Call::SessionExport { .. }
        | Call::ShareList { .. }
        | Call::DeviceList {}
        | Call::SettingsGet {}
        | Call::ModelsFind { .. }
        | Call::ModelsScope {}
        | Call::PromptsList { .. }
        | Call::Responses { .. } => false,
    }
}
