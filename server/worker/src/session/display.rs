//! Showing: snapshots and numbered deltas for watchers, the line of the home list, and when there is nothing to do.

use std::time::Duration;

use porthole_protocol::{
    CallError, ConversationDelta, ConversationId, ConversationInfo, ConversationState, Entry,
    ErrorCode, Method, ServerFrame, SessionState, Topic, TopicDelta, TopicState, Usage, Who,
    limits,
};
use tokio::time::Instant;

use super::{Session, seat::Seat};
use crate::{
    access, calls, fit, place, view,
    wire::{ConnectionId, FromWorker, Status},
};

impl Session {
    /// Shows what changed, to watchers and to the home list.
    pub(super) async fn show(&mut self) {
        let watched = |seat: &Seat| seat.watched;
        let ids = self.seats.iter().filter(|(_, seat)| watched(seat));
        let ids: Vec<_> = ids.map(|(id, _)| *id).collect();
        if self.failed.is_some() {
            // First: a watcher that is shown the end of the turn before would take it for a good one.
            self.show_status().await;
            for id in ids {
                self.show_failed(id).await;
            }
        } else {
            for id in ids {
                self.show_changes(id).await;
            }
            self.show_status().await;
        }
        self.settle_timers();
    }

    async fn show_changes(&mut self, id: ConversationId) {
        let children = self.children(id);
        let Some(info) = self.info(id) else { return };
        let Some(seat) = self.seats.get_mut(&id) else {
            return;
        };
        let Ok(conversation) = &seat.live else { return };
        let growth = seat.shown.growth(conversation);
        let mut changes = seat.shown.changes(conversation, &info);
        if children != seat.children {
            seat.children.clone_from(&children);
            changes.push(ConversationDelta::Children { children });
        }
        for delta in growth.into_iter().chain(changes) {
            self.delta(id, delta).await;
        }
    }

    /// Nothing goes on any more, as far as is known; what waits is still on disk.
    async fn show_failed(&mut self, id: ConversationId) {
        if let Some(seat) = self.seats.get_mut(&id) {
            seat.shown = view::Shown::default();
        }
        self.delta(id, ConversationDelta::Turn { turn: None }).await;
        let questions = Vec::new();
        self.delta(id, ConversationDelta::Questions { questions })
            .await;
    }

    /// Shows what the open answer grew by.
    pub(super) async fn show_growth(&mut self, id: ConversationId) {
        let Some(seat) = self.seats.get_mut(&id) else {
            return;
        };
        seat.grow = None;
        let Ok(conversation) = &seat.live else { return };
        if let Some(delta) = seat.shown.growth(conversation) {
            seat.grown = Some(Instant::now());
            self.delta(id, delta).await;
        }
    }

    pub(super) async fn show_entry(&mut self, id: ConversationId, entry: Entry) {
        let entry = Box::new(fit::entry(entry));
        self.delta(id, ConversationDelta::Entry { entry }).await;
    }

    async fn delta(&mut self, id: ConversationId, delta: ConversationDelta) {
        let Some(seat) = self.seats.get_mut(&id) else {
            return;
        };
        let frame = ServerFrame::Delta {
            topic: seat.topic.clone(),
            epoch: self.open.generation,
            seq: seat.seq + 1,
            delta: TopicDelta::Conversation(delta),
        };
        let head = FromWorker::Delta {
            topic: seat.topic.clone(),
        };
        match self.writer.frame(&head, &frame).await {
            Ok(()) => seat.seq += 1,
            Err(error) => tracing::error!(%error, "a change was not shown"),
        }
    }

    /// Shows a watcher everything as it is now; deltas go on from there.
    pub(super) async fn watch(&mut self, connection: ConnectionId, who: &Who, topic: Topic) {
        match self.snapshot(who, &topic).await {
            Ok((seq, state)) => self.send_snapshot(connection, topic, seq, state).await,
            Err(error) => self.refuse_watch(connection, topic, error).await,
        }
    }

    async fn snapshot(
        &mut self,
        who: &Who,
        topic: &Topic,
    ) -> Result<(u64, ConversationState), CallError> {
        access::permit(who, Method::History, &self.open.session)?;
        let id = match topic {
            Topic::Conversation {
                session,
                conversation,
            } if *session == self.open.session => *conversation,
            Topic::Conversation { .. } | Topic::Sessions | Topic::Settings | Topic::Looks => {
                return Err(calls::missing("conversation"));
            }
        };
        self.seat(id).await?;
        let dir = self.dir(id);
        if let Some(seat) = self.seats.get_mut(&id) {
            seat.branch = place::branch(&dir);
        }
        // Those who watch already are shown first what this snapshot would otherwise leave out of their deltas.
        self.show().await;
        let page = self
            .store
            .page(self.lineage(id), None, limits::PAGE_ENTRIES);
        let page = page.await.map_err(|error| error.to_call_error())?;
        let gone = || calls::missing("conversation");
        let (children, info) = (self.children(id), self.info(id).ok_or_else(gone)?);
        let seat = self.seats.get_mut(&id).ok_or_else(gone)?;
        let conversation = seat.live.as_ref().map_err(|error| error.to_call_error())?;
        seat.shown.all(conversation, &info);
        seat.children.clone_from(&children);
        seat.watched = true;
        self.watched = true;
        let mut state = ConversationState {
            info,
            entries: page.entries.into_iter().map(fit::entry).collect(),
            has_older: page.has_older,
            submissions: view::submissions(conversation),
            turn: view::turn(conversation, true),
            questions: conversation.questions().cloned().collect(),
            children,
        };
        fit::state(&mut state);
        Ok((seat.seq, state))
    }

    async fn send_snapshot(
        &mut self,
        connection: ConnectionId,
        topic: Topic,
        seq: u64,
        state: ConversationState,
    ) {
        let frame = ServerFrame::Snapshot {
            topic: topic.clone(),
            epoch: self.open.generation,
            seq,
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

    fn info(&self, id: ConversationId) -> Option<ConversationInfo> {
        let seat = self.seats.get(&id)?;
        let conversation = seat.live.as_ref().ok()?;
        let row = &conversation.row;
        let model = conversation.model.as_ref();
        Some(ConversationInfo {
            id: row.id,
            cwd: place::shown(&self.dir(id), self.home.as_deref()),
            branch: seat.branch.clone(),
            model: row.model.clone(),
            practice: model.is_some_and(|model| model.practice),
            thinking: row.thinking,
            policy: row.policy,
            context_tokens: conversation.tokens(),
            context_limit: model.and_then(|model| model.context),
            usage: self.usage(),
            title: row.parent.and(row.title.clone()),
            parent: row.parent,
            read_only: conversation.read_only().map(str::to_owned),
            failed: conversation.failed,
            last: conversation.last,
            unpriced: self.rows.values().map(|row| row.unpriced).sum(),
            prompts: seat.prompts,
        })
    }

    /// Returns what all conversations used together.
    fn usage(&self) -> Usage {
        let more = |sum: Option<u64>, part: Option<u64>| match (sum, part) {
            (None, None) => None,
            (sum, part) => Some(sum.unwrap_or(0).saturating_add(part.unwrap_or(0))),
        };
        let all = self.rows.values().map(|row| row.usage);
        all.fold(Usage::default(), |sum, part| Usage {
            input: more(sum.input, part.input),
            output: more(sum.output, part.output),
            cache_read: more(sum.cache_read, part.cache_read),
            cache_write: more(sum.cache_write, part.cache_write),
            cost_nanos: more(sum.cost_nanos, part.cost_nanos),
        })
    }

    async fn show_status(&mut self) {
        let status = match &self.failed {
            None => self.working_status(),
            Some(error) => Status {
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

    /// Returns what the home list shows: a question anywhere comes first, then work, the root's before that of children.
    fn working_status(&mut self) -> Status {
        let mut status = Status {
            state: SessionState::Idle,
            suggested_title: self
                .rows
                .get(&ConversationId::ROOT)
                .and_then(|root| root.title.clone()),
            updated_ms: 0,
            answered: false,
        };
        for (id, seat) in &mut self.seats {
            let Ok(conversation) = &mut seat.live else {
                continue;
            };
            let answered = std::mem::take(&mut conversation.answered);
            status.answered |= answered && *id == ConversationId::ROOT;
            status.updated_ms = status.updated_ms.max(conversation.updated_ms);
            let state = view::session_state(conversation);
            let waits = matches!(state, SessionState::Waiting { .. });
            match status.state {
                SessionState::Idle => status.state = state,
                SessionState::Working { .. } if waits => status.state = state,
                _ => {}
            }
        }
        status
    }

    /// Sets the one timer of rest: it runs while nobody watches and nothing goes on.
    pub(super) fn settle_timers(&mut self) {
        let resting = !self.watched && self.seats.values().all(Seat::is_idle);
        let after = Duration::from_secs(self.open.idle_seconds);
        match (resting, self.idle) {
            (true, None) if !self.rested => {
                self.rested = true;
                self.idle = Some(Instant::now() + after);
            }
            (true, _) => {}
            (false, _) => {
                self.rested = false;
                self.idle = None;
            }
        }
    }
}
