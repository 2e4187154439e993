//! What work beside the driver brings back, and how it reaches the conversation.

use std::time::Duration;

use porthole_protocol::{CallError, CallId, RunId, RunOutput, ToolDetail};
use tokio::time::Instant;

use super::Session;
use crate::{
    conversation::{Input, Ticket},
    model::{ModelError, Piece, Response},
    tool::ToolResult,
};

/// How long growth of the answer may wait, so that it comes in fewer messages.
const GROW: Duration = Duration::from_millis(8);

/// Something that ended.
pub(super) enum Event {
    Model(u32, Result<Response, ModelError>),
    Previewed(CallId, ToolDetail),
    Tool(CallId, ToolResult),
    Shell(RunId, ToolResult),
    /// The reply to a call that only looks.
    Answer(Ticket, Result<String, CallError>),
}

impl Session {
    pub(super) async fn event(&mut self, event: Event) {
        let input = match event {
            Event::Model(request, result) => {
                self.model_ended(request);
                match result {
                    Ok(response) => Input::ModelDone { request, response },
                    Err(error) => Input::ModelFailed {
                        request,
                        error,
                        jitter: jitter(),
                    },
                }
            }
            Event::Answer(ticket, reply) => return self.reply(ticket, reply).await,
            Event::Previewed(call, detail) => {
                self.runs.remove(call.as_str());
                Input::Previewed { call, detail }
            }
            Event::Tool(call, result) => {
                self.runs.remove(call.as_str());
                Input::ToolDone { call, result }
            }
            Event::Shell(run, result) => {
                self.runs.remove(run.as_str());
                Input::ShellDone { run, result }
            }
        };
        self.branch = crate::place::branch(&self.open.dir);
        self.handle(input).await;
    }

    pub(super) async fn progress(&mut self, output: RunOutput) {
        let run = output.run.clone();
        self.handle(Input::Progress { run, output }).await;
    }

    /// Takes pieces of the answer in. The first after a rest is shown at once, the next within a few milliseconds.
    pub(super) async fn pieces(&mut self, pieces: &[Piece]) {
        let (Some(model), Ok(conversation)) = (&self.model, &mut self.live) else {
            return;
        };
        for piece in pieces {
            conversation.piece(model.request, piece);
        }
        if !self.watched || self.timers.grow.is_some() {
            return;
        }
        let now = Instant::now();
        match self.grown {
            Some(at) if now < at + GROW => self.timers.grow = Some(at + GROW),
            _ => self.show_growth().await,
        }
    }

    fn model_ended(&mut self, request: u32) {
        if self.model.as_ref().is_some_and(|m| m.request == request) {
            self.model = None;
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
