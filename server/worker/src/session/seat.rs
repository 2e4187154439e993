//! One conversation of the session as the driver holds it: its state, the model request that goes on, what its
//! watchers were shown. Loading, taking up and failing together are here; what becomes of inputs is not.

use std::{path::PathBuf, sync::Arc, task::Poll};

use porthole_protocol::{CallError, ChildRow, ConversationId, SessionState, Topic, TurnId};
use tokio::time::Instant;

use super::{ModelTask, Session, now_ms, output};
use crate::{
    calls,
    conversation::{Conversation, Input},
    location::Place,
    model::Piece,
    record::ConversationRow,
    resources::Resources,
    store::{Lineage, StoreError},
    view::{self, Shown},
};

/// A conversation that is loaded.
pub(super) struct Seat {
    pub(super) topic: Topic,
    /// Or why nothing can be kept now.
    pub(super) live: Result<Conversation, StoreError>,
    pub(super) model: Option<ModelTask>,
    pub(super) shown: Shown,
    pub(super) children: Vec<ChildRow>,
    /// When growth was last shown.
    pub(super) grown: Option<Instant>,
    /// When what the answer grew by is to be shown.
    pub(super) grow: Option<Instant>,
    /// When the next try is due.
    pub(super) retry: Option<Instant>,
    pub(super) watched: bool,
    pub(super) seq: u64,
    pub(super) branch: Option<String>,
    /// Whether the call that had it opened was told what it came to, since it last worked.
    pub(super) reported: bool,
    /// Rules, templates and skills as they were read last, and for which turn.
    pub(super) resources: Arc<Resources>,
    pub(super) prompts: u64,
    pub(super) read_for: Option<TurnId>,
}

impl Seat {
    fn new(topic: Topic, live: Conversation) -> Self {
        Self {
            topic,
            live: Ok(live),
            model: None,
            shown: Shown::default(),
            children: Vec::new(),
            grown: None,
            grow: None,
            retry: None,
            watched: false,
            seq: 0,
            branch: None,
            reported: false,
            resources: Arc::default(),
            prompts: 0,
            read_for: None,
        }
    }

    pub(super) fn cancel_model(&mut self) {
        self.retry = None;
        if let Some(model) = self.model.take() {
            model.task.abort();
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.live.as_ref().map_or(true, Conversation::is_idle)
    }
}

impl Session {
    /// Reads the conversations that there are, and loads the root and those in which something was going on.
    pub(super) async fn load(&mut self) -> Result<(), StoreError> {
        let rows = self.store.conversations().await?;
        self.rows = rows.into_iter().map(|row| (row.id, row)).collect();
        if !self.rows.contains_key(&ConversationId::ROOT) {
            return Err(StoreError::Damaged(
                "its conversation is missing".to_owned(),
            ));
        }
        let mut ids = self.store.busy().await?;
        ids.push(ConversationId::ROOT);
        ids.extend(self.seats.keys());
        for id in ids {
            let conversation = self.read(id).await?;
            self.seat_down(id, conversation);
        }
        self.failed = None;
        Ok(())
    }

    fn seat_down(&mut self, id: ConversationId, conversation: Conversation) {
        match self.seats.get_mut(&id) {
            Some(seat) => seat.live = Ok(conversation),
            None => {
                let topic = Topic::Conversation {
                    session: self.open.session.clone(),
                    conversation: id,
                };
                self.seats.insert(id, Seat::new(topic, conversation));
            }
        }
    }

    /// Returns a conversation from the store. A saved model that is gone is no reason to close it: each turn fails
    /// with one clear error, and another model can be chosen.
    async fn read(&mut self, id: ConversationId) -> Result<Conversation, StoreError> {
        let gone = || StoreError::Damaged("a conversation is missing".to_owned());
        let loaded = self.store.load(self.lineage(id)).await?;
        let mut loaded = loaded.ok_or_else(gone)?;
        if loaded.updated_ms == 0 {
            // A new session happened now.
            loaded.updated_ms = now_ms();
        }
        self.counters = loaded.counters;
        let info = self.hands.info(&loaded.row.model);
        let (place, rules) = (self.place(id), self.hands.rules());
        let settings = Arc::clone(&self.settings);
        let mut conversation = Conversation::from_loaded(loaded, info, place, rules, settings);
        conversation.overhead = self.overhead;
        output::find(&self.open.folder.join("runs"), &mut conversation);
        Ok(conversation)
    }

    /// Loads a conversation, where it is not; fails where there is none, or nothing can be read now.
    pub(super) async fn seat(&mut self, id: ConversationId) -> Result<(), CallError> {
        self.recover().await;
        if let Some(error) = &self.failed {
            return Err(error.to_call_error());
        }
        if self.seats.contains_key(&id) {
            return Ok(());
        }
        if !self.rows.contains_key(&id) {
            return Err(calls::missing("conversation"));
        }
        let conversation = self.read(id).await;
        let conversation = conversation.map_err(|error| error.to_call_error())?;
        self.seat_down(id, conversation);
        Ok(())
    }

    /// Reads rules, templates and skills of a conversation again; what cannot be read now stays as it was.
    pub(super) async fn read_resources(&mut self, id: ConversationId) -> Arc<Resources> {
        let dir = self.dir(id);
        let found = self.hands.resources(&dir, self.home.as_deref()).await;
        let Some(seat) = self.seats.get_mut(&id) else {
            return Arc::default();
        };
        if let Some(found) = found {
            let now = found.after(&seat.resources);
            seat.prompts = now.version();
            seat.resources = Arc::new(now);
        }
        Arc::clone(&seat.resources)
    }

    /// Returns rules and skills for a model request: those that were there when its turn began.
    pub(super) async fn resources_of_turn(&mut self, id: ConversationId) -> Arc<Resources> {
        let seat = self.seats.get(&id);
        let turn = seat.and_then(|seat| Some(seat.live.as_ref().ok()?.turn.as_ref()?.row.id));
        match seat {
            Some(seat) if seat.read_for == turn => Arc::clone(&seat.resources),
            _ => {
                let resources = self.read_resources(id).await;
                if let Some(seat) = self.seats.get_mut(&id) {
                    seat.read_for = turn;
                }
                resources
            }
        }
    }

    /// Takes up what was interrupted, the oldest conversation first. Calls wait for the children that do their work.
    pub(super) async fn take_up(&mut self) {
        let children: Vec<_> = self.seats.values().flat_map(working).collect();
        for child in children {
            if let Err(error) = self.seat(child).await {
                tracing::error!(%error, "a child is missing");
            }
        }
        let ids: Vec<_> = self.seats.keys().copied().collect();
        for id in ids {
            self.handle(id, Input::Resume).await;
        }
    }

    /// Gives up what is not on disk: it is read back from there when something is asked of the session again.
    pub(super) async fn fail(&mut self, error: StoreError) {
        tracing::error!(%error, "the store failed");
        for seat in self.seats.values_mut() {
            seat.live = Err(error.clone());
            seat.cancel_model();
            seat.grow = None;
        }
        self.failed = Some(error);
        for (_, run) in self.runs.drain() {
            run.task.abort();
        }
        self.waiting.clear();
        self.idle = None;
    }

    /// Reads everything back after a failure, where that can be done now.
    pub(super) async fn recover(&mut self) {
        if self.failed.is_none() {
            return;
        }
        match self.load().await {
            Ok(()) => Box::pin(self.take_up()).await,
            Err(error) => self.failed = Some(error),
        }
    }

    /// Tells the call that had a conversation opened what it came to, once it rests.
    pub(super) fn report(&mut self, id: ConversationId) {
        let Some(seat) = self.seats.get_mut(&id) else {
            return;
        };
        let Ok(conversation) = &seat.live else { return };
        let (Some(call), Some(parent)) = (&conversation.row.call, conversation.row.parent) else {
            return;
        };
        match conversation.outcome() {
            None => seat.reported = false,
            Some(result) if !seat.reported => {
                seat.reported = true;
                let event = super::events::Event::Tool(parent, call.clone(), result);
                // The driver itself listens.
                let _ = self.events.send(event);
            }
            Some(_) => {}
        }
    }

    /// Returns whose entries a conversation has.
    pub(super) fn lineage(&self, id: ConversationId) -> Lineage {
        let mut lineage = Lineage::of(id);
        let mut at = id;
        // A fork is younger than what it continues, so this ends.
        while let Some(fork) = self.rows.get(&at).and_then(|row| row.fork) {
            if fork.conversation >= at {
                break;
            }
            lineage = lineage.after(fork.conversation, fork.entry.0);
            at = fork.conversation;
        }
        lineage
    }

    /// Returns where a conversation works: its own directory, or that of the one above it.
    pub(super) fn place(&self, id: ConversationId) -> Place {
        Place::in_session(&self.dir(id), &self.open.data, &self.open.folder)
    }

    pub(super) fn dir(&self, id: ConversationId) -> PathBuf {
        let mut row = self.rows.get(&id);
        while let Some(at) = row {
            if let Some(dir) = &at.dir {
                return PathBuf::from(dir);
            }
            // A child is younger than its parent, so this ends.
            let parent = at.parent.filter(|parent| *parent < at.id);
            row = parent.and_then(|parent| self.rows.get(&parent));
        }
        self.open.dir.clone()
    }

    /// Notes new settings; who has no directory of their own follows.
    pub(super) fn note_row(&mut self, row: ConversationRow) {
        let moved = self.rows.get(&row.id).is_some_and(|old| old.dir != row.dir);
        self.rows.insert(row.id, row);
        if !moved {
            return;
        }
        let places: Vec<_> = self.seats.keys().map(|id| (*id, self.place(*id))).collect();
        for (id, place) in places {
            if let Some(Ok(conversation)) = self.seats.get_mut(&id).map(|seat| &mut seat.live) {
                conversation.place = place;
            }
        }
    }

    /// Returns the conversations that were opened from one, as shown.
    pub(super) fn children(&self, id: ConversationId) -> Vec<ChildRow> {
        let of = |row: &&ConversationRow| row.parent == Some(id);
        self.rows
            .values()
            .filter(of)
            .map(|row| self.child(row))
            .collect()
    }

    fn child(&self, row: &ConversationRow) -> ChildRow {
        let live = self.seats.get(&row.id).map(|seat| &seat.live);
        ChildRow {
            id: row.id,
            title: row
                .title
                .clone()
                .unwrap_or_else(|| format!("conversation {}", row.id)),
            call: row.call.clone(),
            state: match live {
                Some(Ok(conversation)) => view::session_state(conversation),
                Some(Err(_)) | None => SessionState::Idle,
            },
            archived: row.archived,
        }
    }

    /// Returns the pieces that have come for one conversation, at least one; never returns where none is asked for.
    pub(super) async fn next_pieces(
        seats: &mut std::collections::BTreeMap<ConversationId, Seat>,
    ) -> (ConversationId, Vec<Piece>) {
        std::future::poll_fn(|cx| {
            let mut pieces = Vec::new();
            for (id, seat) in seats.iter_mut() {
                let Some(model) = &mut seat.model else {
                    continue;
                };
                // A request that is over ends as an event.
                let polled = model.pieces.poll_recv_many(cx, &mut pieces, 4_096);
                if matches!(polled, Poll::Ready(1..)) {
                    return Poll::Ready((*id, pieces));
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// Returns the children that do the work of calls of a conversation.
fn working(seat: &Seat) -> Vec<ConversationId> {
    let turn = seat.live.as_ref().ok().and_then(|live| live.turn.as_ref());
    let calls = turn.map(|turn| turn.calls.as_slice()).unwrap_or_default();
    let running = calls
        .iter()
        .filter(|call| call.phase == crate::call::Phase::Running);
    running.filter_map(|call| call.row.child).collect()
}
