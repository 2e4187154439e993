//! A small world for the core: rules that need no tool and no model, and a conversation to put inputs into.

use std::{cell::Cell, path::Path, sync::Arc, time::Duration};

use porthole_protocol::{ConversationId, ModelRef, Role, Who};
use serde_json::json;

use super::*;
use crate::{access, model::ModelErrorKind, record::Loaded, tool::PlanError};

thread_local! {
    /// Counts how often the tools were listed.
    static LISTED: Cell<u32> = const { Cell::new(0) };
}

/// Rules of four tools: `look` reads, `change` edits, `shell` runs its `command`, `delegate` hands a task on. Anything
/// else cannot be planned.
pub(crate) fn rules() -> Rules {
    Rules {
        definitions: || {
            LISTED.set(LISTED.get() + 1);
            vec![ToolDefinition {
                name: "look".into(),
                description: format!("list {}", LISTED.get()),
                schema: json!({}),
            }]
        },
        plan,
        subject,
        retry_delay: |_, error, attempt, _| {
            (error.retryable && attempt <= 3).then(|| Duration::from_millis(u64::from(attempt)))
        },
        servers: false,
    }
}

fn plan(tool: &str, arguments: &Value, _place: &Place) -> Result<Planned, PlanError> {
    let subject = subject(tool, arguments);
    let effect = match tool {
        "look" => ToolEffect::Reads,
        "change" => ToolEffect::Edits { inside: true },
        "delegate" => ToolEffect::Delegates {
            task: subject.clone(),
            title: None,
        },
        "script" => ToolEffect::Scripts,
        "shell" => ToolEffect::Executes {
            command: subject.clone(),
        },
        _ => return Err(PlanError(format!("there is no tool `{tool}`"))),
    };
    let target = None;
    Ok(Planned {
        subject,
        effect,
        target,
    })
}

fn subject(_tool: &str, arguments: &Value) -> String {
    arguments["on"].as_str().unwrap_or_default().to_owned()
}

pub(crate) fn model() -> ModelRef {
    ModelRef::parse("test/one").expect("reference")
}

pub(crate) fn loaded() -> Loaded {
    Loaded {
        row: ConversationRow {
            id: ConversationId::ROOT,
            model: model(),
            thinking: Thinking::Off,
            policy: Policy::Ask,
            title: None,
            paused: false,
            usage: Usage::default(),
            parent: None,
            call: None,
            fork: None,
            archived: false,
            dir: None,
            depth: 0,
            unpriced: 0,
            for_guests: Default::default(),
        },
        counters: Counters::default(),
        active: Vec::new(),
        queue: Vec::new(),
        turn: None,
        calls: Vec::new(),
        questions: Vec::new(),
        shells: Vec::new(),
        allowed: Vec::new(),
        updated_ms: 0,
    }
}

pub(crate) fn owner() -> Who {
    Who {
        role: Role::Owner,
        id: "owner".into(),
        name: "Ada".into(),
    }
}

/// Returns an answer with a text, if it is not empty, and calls of tools on subjects.
pub(crate) fn response(text: &str, calls: &[(&str, &str)]) -> Response {
    let mut blocks = Vec::new();
    if !text.is_empty() {
        blocks.push(AnswerBlock::Text { text: text.into() });
    }
    blocks.extend(
        calls
            .iter()
            .enumerate()
            .map(|(n, (tool, on))| AnswerBlock::ToolCall {
                provider_id: format!("p{n}"),
                tool: (*tool).into(),
                arguments: Some(json!({ "on": on })),
            }),
    );
    Response {
        blocks,
        stop: Some("stop".into()),
        usage: None,
    }
}

pub(crate) fn failure(kind: ModelErrorKind, retryable: bool) -> ModelError {
    ModelError {
        kind,
        message: "it broke".into(),
        hint: "mend it".into(),
        retryable,
        retry_after: None,
        partial: Box::default(),
    }
}

/// A conversation, and what the last input led to.
pub(crate) struct World {
    pub(crate) conversation: Conversation,
    pub(crate) effects: Vec<Effect>,
    now_ms: u64,
    requests: u32,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::from(loaded())
    }

    pub(crate) fn from(loaded: Loaded) -> Self {
        Self {
            conversation: Conversation::from_loaded(
                loaded,
                None,
                Place::of(Path::new("/work")),
                rules(),
                Arc::default(),
            ),
            effects: Vec::new(),
            now_ms: 1_000,
            requests: 0,
        }
    }

    pub(crate) fn handle(&mut self, input: Input) -> &[Effect] {
        self.now_ms += 1_000;
        self.effects = self.conversation.handle(input, self.now_ms);
        let commits = self
            .effects
            .iter()
            .filter(|e| matches!(e, Effect::Commit(_)));
        assert!(commits.count() <= 1, "one commit an input");
        let first = self
            .effects
            .iter()
            .position(|e| matches!(e, Effect::Commit(_)));
        assert!(first.is_none_or(|at| at == 0), "the commit comes first");
        &self.effects
    }

    pub(crate) fn call(&mut self, request: Request) -> Result<String, CallError> {
        self.requests += 1;
        let asked = Asked {
            ticket: (1, u64::from(self.requests)),
            author: access::author(&owner()),
            key: Some(format!("key {}", self.requests)),
        };
        self.handle(Input::Call(asked, request));
        let reply = self.effects.iter().find_map(|effect| match effect {
            Effect::Reply(_, result) => Some(result.clone()),
            _ => None,
        });
        reply.expect("every call is answered")
    }

    pub(crate) fn submit(&mut self, text: &str, mode: SendMode) {
        let request = RequestId::parse(&format!("r{}", self.requests)).expect("id");
        let text = text.to_owned();
        let submit = Request::Submit {
            request,
            mode,
            text,
            attachments: Vec::new(),
        };
        self.call(submit).expect("taken");
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.submit(text, SendMode::FollowUp);
    }

    pub(crate) fn stop(&mut self) {
        self.call(Request::Stop).expect("taken");
    }

    pub(crate) fn answer(&mut self, question: u64, answer: Answer) -> replies::Answered {
        let question = QuestionId(question);
        let reply = self.call(Request::Answer { question, answer });
        serde_json::from_str(&reply.expect("taken")).expect("a reply")
    }

    /// Returns the number of the model request that goes on.
    pub(crate) fn request(&self) -> u32 {
        self.conversation.turn.as_ref().expect("a turn").request
    }

    pub(crate) fn done(&mut self, response: Response) {
        let request = self.request();
        self.handle(Input::ModelDone { request, response });
    }

    pub(crate) fn failed(&mut self, error: ModelError) {
        let request = self.request();
        self.handle(Input::ModelFailed {
            request,
            error,
            jitter: 0.5,
        });
    }

    pub(crate) fn piece(&mut self, text: &str) {
        let request = self.request();
        self.conversation.piece(request, &Piece::Text(text.into()));
    }

    pub(crate) fn tool_done(&mut self, call: &str, text: &str) {
        let call = CallId::parse(call).expect("id");
        let result = crate::call::told(porthole_protocol::ToolOutcome::Ok, "", text.into());
        self.handle(Input::ToolDone { call, result });
    }

    /// Previews every call whose question waits for that.
    pub(crate) fn preview(&mut self) {
        for start in self.previews() {
            let detail = ToolDetail::Text;
            self.handle(Input::Previewed {
                call: start.call,
                detail,
            });
        }
    }

    pub(crate) fn previews(&self) -> Vec<ToolStart> {
        let preview = |effect: &Effect| match effect {
            Effect::Preview(start) => Some(start.clone()),
            _ => None,
        };
        self.effects.iter().filter_map(preview).collect()
    }

    /// Returns the calls that the last input started.
    pub(crate) fn started(&self) -> Vec<String> {
        let started = |effect: &Effect| match effect {
            Effect::StartTool(start) => Some(start.call.to_string()),
            _ => None,
        };
        self.effects.iter().filter_map(started).collect()
    }

    pub(crate) fn asks_model(&self) -> bool {
        let asks = |e: &Effect| matches!(e, Effect::RequestModel { .. });
        self.effects.iter().any(asks)
    }

    /// Returns what the last input had committed.
    pub(crate) fn records(&self) -> &[Record] {
        match self.effects.first() {
            Some(Effect::Commit(records)) => records,
            _ => &[],
        }
    }

    /// Returns the bodies of the entries that the last input had committed.
    pub(crate) fn entries(&self) -> Vec<EntryBody> {
        let body = |record: &Record| match record {
            Record::Entry { entry, .. } => Some(entry.body.clone()),
            _ => None,
        };
        self.records().iter().filter_map(body).collect()
    }
}
