//! Models and tools as a test tells them. The model follows the last thing said to it, so that a request made again is answered alike.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use porthole_protocol::{ModelInfo, ModelRef, ToolDetail, ToolOutcome};
use tokio::sync::{mpsc, oneshot};

use crate::{
    call::told,
    conversation::{
        Rules, ToolStart,
        tests::{failure, model, response, rules},
    },
    hands::{Line, Work},
    model::{ModelError, ModelErrorKind, Piece, Prompt, PromptItem, Response},
    tool::{NestedAsk, ToolResult},
};

/// What was asked of models and tools, through all lives of a worker.
#[derive(Default)]
pub(crate) struct Script {
    prompts: Mutex<Vec<Prompt>>,
    ran: Mutex<Vec<String>>,
    /// Tokens that the models' windows hold.
    pub(super) window: AtomicU64,
}

impl Script {
    pub(crate) fn new() -> Arc<Self> {
        let script = Self::default();
        script.window.store(100_000, Ordering::Relaxed);
        Arc::new(script)
    }

    pub(crate) fn rules(&self) -> Rules {
        rules()
    }

    pub(crate) fn model(&self) -> ModelRef {
        model()
    }

    pub(crate) fn info(&self, model: &ModelRef) -> Option<ModelInfo> {
        matches!(model.model.as_str(), "one" | "two").then(|| ModelInfo {
            model: model.clone(),
            name: "One".into(),
            context: Some(self.window.load(Ordering::Relaxed)),
            thinking: Vec::new(),
            ready: true,
            source: "test".into(),
            practice: false,
            price: None,
        })
    }

    /// Returns the names of the calls that ran, once for each run.
    pub(crate) fn ran(&self) -> Vec<String> {
        self.ran.lock().expect("not poisoned").clone()
    }

    pub(super) fn prompts(&self) -> Vec<Prompt> {
        self.prompts.lock().expect("not poisoned").clone()
    }

    pub(crate) fn request(
        &self,
        _model: &ModelRef,
        prompt: Prompt,
        _cwd: &Path,
        pieces: mpsc::UnboundedSender<Piece>,
    ) -> Work<Result<Response, ModelError>> {
        let last = prompt.items.last().cloned();
        let said_before = |item: &&PromptItem| matches!(item, PromptItem::User { text, .. } if text == "too much");
        let too_much = prompt.items.iter().filter(said_before).count() > 0
            && prompt.items.len() > 1
            && !prompt.tools.is_empty();
        self.prompts.lock().expect("not poisoned").push(prompt);
        Box::pin(async move {
            match last {
                _ if too_much
                    && !matches!(&last, Some(PromptItem::User { text, .. }) if text != "too much") =>
                {
                    Err(failure(ModelErrorKind::ContextOverflow, false))
                }
                Some(PromptItem::User { text, .. }) => said(&text, &pieces).await,
                _ => Ok(response("done", &[])),
            }
        })
    }

    pub(crate) fn preview(&self, _start: ToolStart) -> Work<ToolDetail> {
        Box::pin(async { ToolDetail::Text })
    }

    pub(crate) fn run(&self, start: ToolStart, line: Line) -> Work<ToolResult> {
        self.ran
            .lock()
            .expect("not poisoned")
            .push(start.call.to_string());
        let on = start.arguments["on"].clone();
        if start.tool == "script" {
            return Box::pin(scripted(line));
        }
        Box::pin(async move {
            assert_ne!(on, "broken", "a fault, on purpose");
            if on == "stuck" {
                std::future::pending::<()>().await;
            }
            told(ToolOutcome::Ok, "fine", "fine".into())
        })
    }

    pub(crate) fn shell(&self, _command: String, line: Line) -> Work<ToolResult> {
        self.ran
            .lock()
            .expect("not poisoned")
            .push(line.run.to_string());
        Box::pin(async { told(ToolOutcome::Ok, "fine", "fine".into()) })
    }
}

/// A script that looks, then runs a command, and says what they came to.
async fn scripted(line: Line) -> ToolResult {
    let mut came = Vec::new();
    for (tool, on) in [("look", "first"), ("shell", "make")] {
        let (answer, answered) = oneshot::channel();
        let ask = NestedAsk {
            parent: line.run.clone(),
            tool: tool.into(),
            arguments: serde_json::json!({ "on": on }),
            answer,
        };
        // In a session that is closing nobody listens, and nobody answers.
        let _ = line.nest.send(ask);
        let Ok(result) = answered.await else {
            return told(ToolOutcome::Stopped, "stopped", "stopped".into());
        };
        came.push(result.text);
    }
    told(ToolOutcome::Ok, "2 calls", came.join(", "))
}

async fn said(text: &str, pieces: &mpsc::UnboundedSender<Piece>) -> Result<Response, ModelError> {
    match text {
        "work" => Ok(response(
            "I'll work.",
            &[("look", "a"), ("look", "b"), ("shell", "make")],
        )),
        "by script" => Ok(response("", &[("script", "two")])),
        "hand on" => Ok(response("", &[("delegate", "work in part")])),
        "hand stuck" => Ok(response("", &[("delegate", "stick")])),
        "work in part" => Ok(response("", &[("look", "part")])),
        "break" => Ok(response("", &[("look", "broken")])),
        "stick" => Ok(response("", &[("look", "stuck")])),
        "fail" => Err(failure(ModelErrorKind::Provider, false)),
        "stream" => {
            for n in 0..4_000 {
                pieces.send(Piece::Text(piece(n))).expect("someone listens");
                if n % 16 == 0 {
                    tokio::task::yield_now().await;
                }
            }
            std::future::pending().await
        }
        text => {
            pieces
                .send(Piece::Text("ok".into()))
                .expect("someone listens");
            Ok(response(&format!("ok: {text}"), &[]))
        }
    }
}

fn piece(n: u32) -> String {
    format!("wörd{n} ")
}

/// Returns the whole text of the stream.
pub(super) fn streamed() -> String {
    (0..4_000).map(piece).collect()
}
