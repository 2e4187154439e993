//! Showing: snapshots and numbered deltas for watchers, the line of the home list, and when there is nothing to do.

use std::time::Duration;

use porthole_protocol::{
    CallError, ConversationDelta, ConversationInfo, ConversationState, Entry, ErrorCode, Method,
    ServerFrame, SessionState, Topic, TopicDelta, TopicState, Who, limits,
};
use tokio::time::Instant;

use super::Session;
use crate::{
    access,
    conversation::Conversation,
    fit, place, view,
    wire::{ConnectionId, FromWorker, Status},
};

impl Session {
    /// Shows what changed, to watchers and to the home list.
    pub(super) async fn show(&mut self) {
        match &self.live {
            Ok(_) if self.watched => {
                self.show_changes().await;
                self.show_status().await;
            }
            Ok(_) => self.show_status().await,
            Err(_) => {
                // First: a watcher that is shown the end of the turn before would take it for a good one.
                self.show_status().await;
                if self.watched {
                    self.show_failed().await;
                }
            }
        }
        self.settle_timers();
    }

    async fn show_changes(&mut self) {
        let Ok(conversation) = &self.live else {
            return;
        };
        let info = self.info(conversation);
        let growth = self.shown.growth(conversation);
        let changes = self.shown.changes(conversation, &info);
        for delta in growth.into_iter().chain(changes) {
            self.delta(delta).await;
        }
    }

    /// Nothing goes on any more, as far as is known; what waits is still on disk.
    async fn show_failed(&mut self) {
        self.shown = view::Shown::default();
        self.delta(ConversationDelta::Turn { turn: None }).await;
        let questions = Vec::new();
        self.delta(ConversationDelta::Questions { questions }).await;
    }

    /// Shows what the open answer grew by.
    pub(super) async fn show_growth(&mut self) {
        self.timers.grow = None;
        let Ok(conversation) = &self.live else { return };
        if let Some(delta) = self.shown.growth(conversation) {
            self.grown = Some(Instant::now());
            self.delta(delta).await;
        }
    }

    pub(super) async fn show_entry(&mut self, entry: Entry) {
        let entry = Box::new(fit::entry(entry));
        self.delta(ConversationDelta::Entry { entry }).await;
    }

    async fn delta(&mut self, delta: ConversationDelta) {
        let frame = ServerFrame::Delta {
            topic: self.topic.clone(),
            epoch: self.open.generation,
            seq: self.seq + 1,
            delta: TopicDelta::Conversation(delta),
        };
        let head = FromWorker::Delta {
            topic: self.topic.clone(),
        };
        match self.writer.frame(&head, &frame).await {
            Ok(()) => self.seq += 1,
            Err(error) => tracing::error!(%error, "a change was not shown"),
        }
    }

    /// Shows a watcher everything as it is now; deltas go on from there.
    pub(super) async fn watch(&mut self, connection: ConnectionId, who: &Who, topic: Topic) {
        self.recover().await;
        match self.snapshot(who, &topic).await {
            Ok(state) => self.send_snapshot(connection, topic, state).await,
            Err(error) => self.refuse_watch(connection, topic, error).await,
        }
    }

    async fn snapshot(&mut self, who: &Who, topic: &Topic) -> Result<ConversationState, CallError> {
        access::permit(who, Method::History, &self.open.session)?;
        if *topic != self.topic {
            return Err(CallError::new(
                ErrorCode::NotFound,
                "there is no such conversation",
            ));
        }
        // Those who watch already are shown first what this snapshot would otherwise leave out of their deltas.
        self.branch = place::branch(&self.open.dir);
        self.show().await;
        let page = self.store.page(None, limits::PAGE_ENTRIES).await;
        let page = page.map_err(|error| error.to_call_error())?;
        let conversation = self.live.as_ref().map_err(|error| error.to_call_error())?;
        let info = self.info(conversation);
        self.shown.all(conversation, &info);
        self.watched = true;
        let mut state = ConversationState {
            info,
            entries: page.entries.into_iter().map(fit::entry).collect(),
            has_older: page.has_older,
            submissions: view::submissions(conversation),
            turn: view::turn(conversation, true),
            questions: conversation.questions().cloned().collect(),
            children: Vec::new(),
        };
        fit::state(&mut state);
        Ok(state)
    }

    async fn send_snapshot(
        &mut self,
        connection: ConnectionId,
        topic: Topic,
        state: ConversationState,
    ) {
        let frame = ServerFrame::Snapshot {
            topic: topic.clone(),
            epoch: self.open.generation,
            seq: self.seq,
            state: TopicState::Conversation(Box::new(state)),
        };
        let head = FromWorker::Snapshot {
            connection,
            topic: topic.clone(),
        };
        if let Err(error) = self.writer.frame(&head, &frame).await {
            let error = CallError::new(ErrorCode::TooLarge, error.to_string());
            self.refuse_watch(connection, topic, error).await;
        }
        self.settle_timers();
    }

    async fn refuse_watch(&mut self, connection: ConnectionId, topic: Topic, error: CallError) {
        let failed = FromWorker::WatchFailed {
            connection,
            topic,
            error,
        };
        self.writer.send(&failed).await;
    }

    fn info(&self, conversation: &Conversation) -> ConversationInfo {
        let row = &conversation.row;
        let model = conversation.model.as_ref();
        ConversationInfo {
            id: row.id,
            cwd: place::shown(&self.open.dir, self.home.as_deref()),
            branch: self.branch.clone(),
            model: row.model.clone(),
            practice: model.is_some_and(|model| model.practice),
            thinking: row.thinking,
            policy: row.policy,
            context_tokens: conversation.context.tokens(self.overhead),
            context_limit: model.and_then(|model| model.context),
            usage: row.usage,
            title: None,
            parent: None,
            read_only: None,
            failed: None,
        }
    }

    async fn show_status(&mut self) {
        let status = match &mut self.live {
            Ok(conversation) => Status {
                state: view::session_state(conversation),
                suggested_title: conversation.row.title.clone(),
                updated_ms: conversation.updated_ms,
                answered: std::mem::take(&mut conversation.answered),
            },
            Err(error) => Status {
                state: SessionState::Failed {
                    reason: error.to_string(),
                },
                suggested_title: None,
                updated_ms: super::now_ms(),
                answered: false,
            },
        };
        let same = |old: &Status| {
            old.state == status.state && old.suggested_title == status.suggested_title
        };
        if status.answered || !self.status.as_ref().is_some_and(same) {
            self.writer.send(&FromWorker::Status(status.clone())).await;
            self.status = Some(status);
        }
    }

    /// Sets the one timer of rest: it runs while nobody watches and nothing goes on.
    pub(super) fn settle_timers(&mut self) {
        let resting = !self.watched && self.live.as_ref().map_or(true, Conversation::is_idle);
        let after = Duration::from_secs(self.open.idle_seconds);
        match (resting, self.timers.idle) {
            (true, None) if !self.rested => {
                self.rested = true;
                self.timers.idle = Some(Instant::now() + after);
            }
            (true, _) => {}
            (false, _) => {
                self.rested = false;
                self.timers.idle = None;
            }
        }
        if !self.watched {
            self.timers.grow = None;
        }
    }
}
