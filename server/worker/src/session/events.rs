//! What work beside the driver brings back, and how it reaches the conversation.

use std::time::Duration;

use porthole_protocol::{Author, CallError, CallId, ConversationId, RunId, RunOutput, ToolDetail};
use tokio::time::Instant;

use super::Session;
use crate::{
    conversation::{Input, Ticket},
    model::{ModelError, Piece, Response, ToolDefinition},
    tool::{NestedAsk, ToolResult},
};

/// How long growth of the answer may wait, so that it comes in fewer messages.
const GROW: Duration = Duration::from_millis(8);

/// Something that happened beside the driver, and to which conversation.
pub(super) enum Event {
    Model(ConversationId, u32, Result<Response, ModelError>),
    Previewed(ConversationId, CallId, ToolDetail),
    Tool(ConversationId, CallId, ToolResult),
    Shell(ConversationId, RunId, ToolResult),
    /// A child that is on disk is to begin.
    Begin(ConversationId),
    /// A child is to stop, for someone.
    Stop(ConversationId, Author),
    /// What servers offer, for a conversation whose turn waits for it.
    Offered(ConversationId, Vec<ToolDefinition>),
    /// The reply to a call that only looks.
    Answer(Ticket, Result<String, CallError>),
}

impl Session {
    pub(super) async fn event(&mut self, event: Event) {
        let (id, input) = match event {
            Event::Model(id, request, result) => {
                self.model_ended(id, request);
                let input = match result {
                    Ok(response) => Input::ModelDone { request, response },
                    Err(error) => Input::ModelFailed {
                        request,
                        error,
                        jitter: jitter(),
                    },
                };
                (id, input)
            }
            Event::Answer(ticket, reply) => return self.reply(ticket, reply).await,
            Event::Previewed(id, call, detail) => {
                self.runs.remove(call.as_str());
                (id, Input::Previewed { call, detail })
            }
            Event::Tool(id, call, result) => {
                self.runs.remove(call.as_str());
                (id, Input::ToolDone { call, result })
            }
            Event::Shell(id, run, result) => {
                self.runs.remove(run.as_str());
                (id, Input::ShellDone { run, result })
            }
            Event::Offered(id, tools) => (id, Input::Offered(tools)),
            Event::Begin(id) => (id, Input::Resume),
            Event::Stop(id, author) => (id, Input::StopBy(author)),
        };
        if let Err(error) = self.seat(id).await {
            return tracing::error!(%error, "a conversation cannot be loaded");
        }
        let dir = self.dir(id);
        if let Some(seat) = self.seats.get_mut(&id) {
            seat.branch = crate::place::branch(&dir);
        }
        self.handle(id, input).await;
    }

    pub(super) async fn progress(&mut self, output: RunOutput) {
        let run = output.run.clone();
        let Some(id) = self.runs.get(run.as_str()).map(|task| task.conversation) else {
            return;
        };
        self.handle(id, Input::Progress { run, output }).await;
    }

    /// Takes a call that a script asks for. The script waits until it is told.
    pub(super) async fn nested(&mut self, ask: NestedAsk) {
        let NestedAsk {
            parent,
            tool,
            arguments,
            answer,
        } = ask;
        let script = self.runs.get(parent.as_str()).map(|run| run.conversation);
        let (Some(id), Ok(call)) = (script, CallId::parse(parent.as_str())) else {
            // Whoever asks is gone; dropping the answer tells it so.
            return;
        };
        self.waiting.insert(parent.as_str().to_owned(), answer);
        let input = Input::Nested {
            parent: call,
            tool,
            arguments,
        };
        self.handle(id, input).await;
    }

    /// Takes pieces of the answer in. The first after a rest is shown at once, the next within a few milliseconds.
    pub(super) async fn pieces(&mut self, id: ConversationId, pieces: &[Piece]) {
        let Some(seat) = self.seats.get_mut(&id) else {
            return;
        };
        let (Some(model), Ok(conversation)) = (&seat.model, &mut seat.live) else {
            return;
        };
        for piece in pieces {
            conversation.piece(model.request, piece);
        }
        if !seat.watched || seat.grow.is_some() || !conversation.streams() {
            return;
        }
        let now = Instant::now();
        match seat.grown {
            Some(at) if now < at + GROW => seat.grow = Some(at + GROW),
            _ => self.show_growth(id).await,
        }
    }

    fn model_ended(&mut self, id: ConversationId, request: u32) {
        if let Some(seat) = self.seats.get_mut(&id)
            && seat.model.as_ref().is_some_and(|m| m.request == request)
        {
            seat.model = None;
        }
    }
}

/// Returns a number from 0 to 1 that another worker would not get at the same time.
fn jitter() -> f64 {
    let mut bytes = [0; 4];
    match ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}
