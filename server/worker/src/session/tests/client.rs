//! The server's end of a worker, and a client behind it that applies what it is shown.

use std::{collections::HashMap, path::Path, sync::Arc, time::Duration};

use porthole_protocol::{
    Answer, Block, Call, CallError, ConversationDelta, ConversationId, ConversationState, Entry,
    EntryBody, ModelRef, QuestionId, RequestId, SendMode, ServerFrame, SessionId, SubmissionId,
    Topic, TopicDelta, TopicState, Who, decode, limits, replies,
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    task::JoinHandle,
};

use super::Script;
use crate::{
    conversation::tests::owner,
    hands::Hands,
    link,
    session::Session,
    store::{CrashPoint, Store},
    wire::{self, FromWorker, Open, Status, ToWorker},
};

pub(super) fn session() -> SessionId {
    SessionId::parse("s1").expect("id")
}

fn topic() -> Topic {
    Topic::Conversation {
        session: session(),
        conversation: ConversationId::ROOT,
    }
}

fn pair() -> (
    std::os::unix::net::UnixStream,
    std::os::unix::net::UnixStream,
) {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().expect("sockets");
    ours.set_nonblocking(true).expect("sets");
    (ours, theirs)
}

fn opening(folder: &Path, dir: &Path, model: Option<ModelRef>) -> Open {
    Open {
        session: session(),
        folder: folder.into(),
        is_new: true,
        data: folder.into(),
        dir: dir.into(),
        model,
        owner_name: "Ada".into(),
        idle_seconds: 0,
        generation: 7,
        settings: Default::default(),
    }
}

/// A worker that runs, and what its client knows.
pub(super) struct Client {
    socket: UnixStream,
    bytes: Vec<u8>,
    worker: JoinHandle<()>,
    pub(super) who: Who,
    pub(super) status: Option<Status>,
    pub(super) answered: bool,
    pub(super) idle: u32,
    /// Deltas by which the open answer grew.
    pub(super) grown: u32,
    state: Option<ConversationState>,
    topic: Topic,
    seq: u64,
    pub(super) refused: Option<CallError>,
    replies: HashMap<u64, Result<Value, CallError>>,
    calls: u64,
}

impl Client {
    pub(super) async fn start(
        folder: &Path,
        script: &Arc<Script>,
        crash: Option<CrashPoint>,
    ) -> Self {
        let mut store = Store::open(folder, Duration::from_secs(5), true).expect("opens");
        store.crash = crash;
        Self::with(store, folder, script)
    }

    pub(super) async fn start_full(folder: &Path, script: &Arc<Script>, pages: u32) -> Self {
        let store = Store::open(folder, Duration::from_secs(5), true).expect("opens");
        store.limit_pages(pages).await;
        Self::with(store, folder, script)
    }

    pub(super) fn with(store: Store, folder: &Path, script: &Arc<Script>) -> Self {
        let (ours, theirs) = pair();
        let open = opening(folder, folder, None);
        let hands = Hands::Scripted(Arc::clone(script));
        let worker = tokio::task::spawn_local(async move {
            let (reader, writer) = link::split(theirs).expect("splits");
            if let Ok(session) = Session::open(open, store, hands, writer).await {
                session.run(reader).await.expect("ends well");
            }
        });
        Self::of(ours, worker)
    }

    /// Runs the worker as the server does, on a thread of its own, with the models in `folder` and the tools of this machine.
    pub(super) async fn start_real(folder: &Path, dir: &Path, model: Option<&str>) -> Self {
        Self::start_opening(opening(folder, dir, model.and_then(ModelRef::parse))).await
    }

    /// Runs the worker of a session that was open before.
    pub(super) async fn start_again(folder: &Path, dir: &Path) -> Self {
        let is_new = false;
        Self::start_opening(Open {
            is_new,
            ..opening(folder, dir, None)
        })
        .await
    }

    async fn start_opening(open: Open) -> Self {
        let (ours, theirs) = pair();
        let worker = tokio::task::spawn_blocking(|| {
            // One that cannot open its session has told so.
            let _ = crate::run(theirs);
        });
        let mut client = Self::of(ours, worker);
        client.send(&ToWorker::Open(Box::new(open))).await;
        client
    }

    fn of(ours: std::os::unix::net::UnixStream, worker: JoinHandle<()>) -> Self {
        Self {
            socket: UnixStream::from_std(ours).expect("socket"),
            bytes: Vec::new(),
            worker,
            who: owner(),
            status: None,
            answered: false,
            idle: 0,
            grown: 0,
            state: None,
            topic: topic(),
            seq: 0,
            refused: None,
            replies: HashMap::new(),
            calls: 0,
        }
    }

    /// Goes away, and waits for the worker to end.
    pub(super) async fn gone(self) {
        drop(self.socket);
        self.worker.await.expect("ends well");
    }

    pub(super) fn state(&self) -> &ConversationState {
        self.state.as_ref().expect("watched")
    }

    pub(super) fn open_text(&self) -> &str {
        let turn = self.state.as_ref().and_then(|state| state.turn.as_ref());
        turn.and_then(|t| t.answer.as_ref()).map_or("", |a| &a.text)
    }

    /// Returns how many inputs came to an end: by an answer without calls, an error, or the end of a command.
    pub(super) fn finals(&self) -> usize {
        let last = |e: &&Entry| match &e.body {
            EntryBody::Answer { blocks, .. } => {
                !blocks.iter().any(|b| matches!(b, Block::ToolCall { .. }))
            }
            body => matches!(body, EntryBody::Error { .. } | EntryBody::Shell { .. }),
        };
        let entries = self.state.iter().flat_map(|state| &state.entries);
        entries.filter(last).count()
    }

    /// Sends; a worker that is gone shows when its end is read.
    pub(super) async fn send(&mut self, message: &ToWorker) {
        let bytes = wire::encode(message, &[]).expect("encodes");
        let _ = self.socket.write_all(&bytes).await;
    }

    pub(super) async fn watchers(&mut self, count: u32) {
        self.send(&ToWorker::Watchers { count }).await;
    }

    pub(super) async fn begin_watch(&mut self, topic: Topic) {
        let (connection, who) = (1, self.who.clone());
        (self.state, self.refused) = (None, None);
        self.topic = topic.clone();
        self.send(&ToWorker::Watch {
            connection,
            who,
            topic,
        })
        .await;
    }

    pub(super) async fn try_watch(&mut self, topic: Topic) -> Result<(), CallError> {
        self.begin_watch(topic).await;
        self.until("an answer to the watch", |c| {
            c.state.is_some() || c.refused.is_some()
        })
        .await;
        self.refused.take().map_or(Ok(()), Err)
    }

    pub(super) async fn watch(&mut self) {
        self.try_watch(topic()).await.expect("may watch");
    }

    /// Watches a conversation instead of the one before.
    pub(super) async fn watch_other(&mut self, conversation: u64) {
        let topic = Topic::Conversation {
            session: session(),
            conversation: ConversationId(conversation),
        };
        self.try_watch(topic).await.expect("may watch");
    }

    /// Watches, where the worker does not end before; says whether it did not.
    pub(super) async fn watches(&mut self) -> bool {
        self.begin_watch(topic()).await;
        self.lives_until(|c| c.state.is_some()).await
    }

    pub(super) async fn begin(&mut self, call: Call) -> u64 {
        self.calls += 1;
        let (connection, id, who) = (1, self.calls, self.who.clone());
        self.send(&ToWorker::Call {
            connection,
            id,
            who,
            call,
        })
        .await;
        id
    }

    pub(super) fn reply(&self, id: u64) -> Option<&Result<Value, CallError>> {
        self.replies.get(&id)
    }

    pub(super) async fn call(&mut self, call: Call) -> Result<Value, CallError> {
        let id = self.begin(call).await;
        self.until("a reply", |c| c.replies.contains_key(&id)).await;
        self.replies.remove(&id).expect("just came")
    }

    pub(super) async fn submit(&mut self, request: &str, text: &str) -> Result<Value, CallError> {
        self.call(submit(request, text)).await
    }

    /// Takes everything that was sent up to now.
    pub(super) async fn catch_up(&mut self) {
        let page = Call::History {
            session: session(),
            conversation: ConversationId::ROOT,
            before: None,
            limit: 1,
        };
        self.call(page).await.expect("reads");
    }

    pub(super) async fn stop(&mut self, request: &str) {
        let stop = Call::Stop {
            session: session(),
            conversation: ConversationId::ROOT,
            request: id(request),
        };
        self.call(stop).await.expect("stops");
    }

    pub(super) async fn answer(&mut self, question: QuestionId) -> replies::Answered {
        let reply = self.call(yes(question)).await.expect("is answered");
        serde_json::from_value(reply).expect("a reply")
    }

    pub(super) async fn configure(&mut self, model: &str) -> Result<Value, CallError> {
        let configure = Call::Configure {
            session: session(),
            conversation: ConversationId::ROOT,
            model: ModelRef::parse(model),
            thinking: None,
            policy: None,
        };
        self.call(configure).await
    }

    /// Takes messages until something is so.
    pub(super) async fn until(&mut self, what: &str, so: impl Fn(&Self) -> bool) {
        assert!(
            self.lives_until(so).await,
            "the worker ended before: {what}"
        );
    }

    /// Takes messages until something is so; `false`: the worker ended before.
    pub(super) async fn lives_until(&mut self, so: impl Fn(&Self) -> bool) -> bool {
        while !so(self) {
            if !self.next().await {
                return false;
            }
        }
        true
    }

    async fn next(&mut self) -> bool {
        loop {
            let message = wire::decode::<FromWorker>(&self.bytes).expect("a message");
            if let Some((head, body, used)) = message {
                self.bytes.drain(..used);
                self.take(head, std::str::from_utf8(&body).expect("text"));
                return true;
            }
            if !matches!(self.socket.read_buf(&mut self.bytes).await, Ok(1..)) {
                return false;
            }
        }
    }

    fn take(&mut self, head: FromWorker, body: &str) {
        match head {
            FromWorker::Ready | FromWorker::Committed { .. } | FromWorker::Entries { .. } => {}
            FromWorker::OpenFailed { error } => self.refused = Some(error),
            FromWorker::Reply { id, .. } => {
                let reply = match frame(body) {
                    ServerFrame::Reply { result, .. } => {
                        Ok(serde_json::from_str(result.get()).expect("JSON"))
                    }
                    ServerFrame::Error { error, .. } => Err(error),
                    other => panic!("no reply: {other:?}"),
                };
                assert!(self.replies.insert(id, reply).is_none(), "one reply a call");
            }
            FromWorker::Snapshot { topic, .. } | FromWorker::Delta { topic }
                if topic != self.topic => {}
            FromWorker::Snapshot { .. } => {
                let ServerFrame::Snapshot {
                    seq,
                    state: TopicState::Conversation(state),
                    ..
                } = frame(body)
                else {
                    panic!("no snapshot: {body}");
                };
                (self.seq, self.state) = (seq, Some(*state));
            }
            FromWorker::WatchFailed { error, .. } => self.refused = Some(error),
            FromWorker::Delta { .. } => self.delta(frame(body)),
            FromWorker::Status(status) => {
                self.answered |= status.answered;
                self.status = Some(status);
            }
            FromWorker::Idle => self.idle += 1,
        }
    }

    fn delta(&mut self, frame: ServerFrame) {
        let ServerFrame::Delta {
            epoch,
            seq,
            delta: TopicDelta::Conversation(delta),
            ..
        } = frame
        else {
            panic!("no delta: {frame:?}");
        };
        assert_eq!(epoch, 7);
        let Some(state) = &mut self.state else { return };
        assert_eq!(seq, self.seq + 1, "no delta is left out");
        self.seq = seq;
        self.grown += u32::from(matches!(delta, ConversationDelta::Grow { .. }));
        state.apply(&delta);
    }
}

fn frame(body: &str) -> ServerFrame {
    decode(body, limits::SERVER_FRAME_BYTES).expect("a frame")
}

fn id(text: &str) -> RequestId {
    RequestId::parse(text).expect("id")
}

pub(super) fn submit(request: &str, text: &str) -> Call {
    Call::Submit {
        session: session(),
        conversation: ConversationId::ROOT,
        request: id(request),
        mode: SendMode::FollowUp,
        text: text.into(),
        attachments: Vec::new(),
    }
}

pub(super) fn shell(request: &str, command: &str) -> Call {
    Call::Shell {
        session: session(),
        conversation: ConversationId::ROOT,
        request: id(request),
        command: command.into(),
        included: false,
    }
}

pub(super) fn withdraw(request: &str, submission: SubmissionId) -> Call {
    Call::Withdraw {
        session: session(),
        conversation: ConversationId::ROOT,
        submission,
        request: Some(id(request)),
    }
}

pub(super) fn yes(question: QuestionId) -> Call {
    Call::AnswerQuestion {
        session: session(),
        conversation: ConversationId::ROOT,
        request: id(&format!("a{question}")),
        question,
        answer: Answer::Yes,
    }
}

/// Returns the text of an answer.
pub(super) fn text_of(entry: &Entry) -> String {
    let EntryBody::Answer { blocks, .. } = &entry.body else {
        return String::new();
    };
    let text = |block: &Block| match block {
        Block::Text { text } => text.clone(),
        Block::Thinking { .. } | Block::ToolCall { .. } => String::new(),
    };
    blocks.iter().map(text).collect()
}
