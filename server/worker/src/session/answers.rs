//! Answering calls: who may, what was asked, once per request id.

use porthole_protocol::{
    Attachment, AttachmentId, Call, CallError, ConversationId, Entry, EntryBody, ErrorCode,
    ModelInfo, ModelRef, Policy, RequestId, Role, Who, limits, replies,
};

use super::{Session, events::Event, output};
use crate::{
    access, attachment,
    calls::{self, Ask},
    conversation::{Asked, Input, Request, Ticket},
    fit, place,
};

impl Session {
    /// Answers a call, now or when what it asks for is committed.
    pub(super) async fn call(&mut self, ticket: Ticket, who: &Who, call: Call) {
        let method = call.method();
        let ask = access::permit(who, method, &self.open.session)
            .and_then(|()| calls::ask(call, &self.open.session));
        let (id, ask) = match ask {
            Ok(ask) => ask,
            Err(error) => return self.reply(ticket, Err(error)).await,
        };
        let key = |request: RequestId| format!("{}\n{}\n{request}", who.id, method.name());
        let result = match ask {
            Ask::Change(Request::Shell { .. }, _) if self.only_looks(who) => {
                let message = "the owner lets you read here, not run commands";
                let error = CallError::new(ErrorCode::NotAllowed, message).hint("ask the owner");
                return self.reply(ticket, Err(error)).await;
            }
            Ask::Change(change, request) => {
                self.change(id, ticket, who, request.map(key), change).await;
                return;
            }
            Ask::Configure {
                model,
                thinking,
                policy,
            } => self.find(model).await.map(|model| {
                let change = Request::Configure {
                    model: model.map(Box::new),
                    thinking,
                    policy,
                };
                (None, change)
            }),
            Ask::Submit {
                request,
                mode,
                text,
                attachments,
            } => {
                let key = Some(key(request.clone()));
                let found = self.find_files(&attachments);
                let text = match text.trim().is_empty() {
                    true => Ok(text),
                    false => self.expanded(id, text).await,
                };
                found.and_then(|attachments| {
                    let change = Request::Submit {
                        request,
                        mode,
                        text: text?,
                        attachments,
                    };
                    Ok((key, change))
                })
            }
            Ask::Move { request, dir } => self
                .find_dir(id, dir)
                .map(|change| (Some(key(request)), change)),
            Ask::History { before, limit } => {
                let reply = self.history(id, before, limit).await;
                return self.reply(ticket, reply).await;
            }
            Ask::Output(range) => {
                let running = self.runs.contains_key(range.run.as_str());
                let runs = self.open.folder.join("runs");
                let reply = output::read(&runs, &range, running).map(|output| json(&output));
                return self.reply(ticket, reply).await;
            }
            Ask::Responses { before, limit } => {
                let reply = self.responses(id, before, limit).await;
                return self.reply(ticket, reply).await;
            }
            Ask::Prompts => {
                let reply = match self.seat(id).await {
                    Ok(()) => Ok(json(&self.read_resources(id).await.prompts())),
                    Err(error) => Err(error),
                };
                self.reply(ticket, reply).await;
                return self.show().await;
            }
            Ask::Files { query, limit } => {
                return self.start_files(id, ticket, query, limit);
            }
        };
        match result {
            Ok((key, change)) => self.change(id, ticket, who, key, change).await,
            Err(error) => self.reply(ticket, Err(error)).await,
        }
    }

    /// Says whether the settings let a guest read only.
    fn only_looks(&self, who: &Who) -> bool {
        let guest = matches!(who.role, Role::Guest { .. });
        let policy = |id| self.settings.policy_for(Policy::Auto, std::iter::once(id));
        guest && policy(who.id.as_str()) == Policy::ReadOnly
    }

    /// Returns what is sent: a template or skill that was typed by its name becomes its text.
    async fn expanded(&mut self, id: ConversationId, text: String) -> Result<String, CallError> {
        if !text.trim_start().starts_with('/') {
            return Ok(text);
        }
        self.seat(id).await?;
        let full = self.read_resources(id).await.expand(&text).unwrap_or(text);
        if full.len() > limits::SUBMISSION_BYTES || full.trim().is_empty() {
            let message = "what this template becomes is empty or too long to be sent";
            return Err(CallError::new(ErrorCode::Invalid, message).hint("correct its file"));
        }
        Ok(full)
    }

    /// Looks for names beside the driver: a large tree takes its time.
    fn start_files(&self, id: ConversationId, ticket: Ticket, query: String, limit: usize) {
        let dir = self.dir(id);
        let work = self.hands.files(dir, query, limit);
        let events = self.events.clone();
        tokio::spawn(async move {
            let reply = work.await.map(|files| json(&files));
            // Nobody listens only where the session is closing.
            let _ = events.send(Event::Answer(ticket, reply));
        });
    }

    async fn change(
        &mut self,
        id: ConversationId,
        ticket: Ticket,
        who: &Who,
        key: Option<String>,
        change: Request,
    ) {
        let ready = self.ready(id, key.clone(), &change).await;
        match ready {
            Ok(None) => {}
            Ok(Some(reply)) => return self.reply(ticket, Ok(reply)).await,
            Err(error) => return self.reply(ticket, Err(error)).await,
        }
        let asked = Asked {
            ticket,
            author: access::author(who),
            key,
        };
        self.handle(id, Input::Call(asked, change)).await;
    }

    /// Makes ready for a change; returns the reply that the same request got before.
    async fn ready(
        &mut self,
        id: ConversationId,
        key: Option<String>,
        change: &Request,
    ) -> Result<Option<String>, CallError> {
        self.seat(id).await?;
        if let Some(key) = key {
            let earlier = self.store.reply(key).await;
            let earlier = earlier.map_err(|error| error.to_call_error())?;
            if earlier.is_some() {
                return Ok(earlier);
            }
        }
        if let Request::Open {
            from: Some(entry), ..
        } = change
        {
            let there = self.store.has(self.lineage(id), entry.0).await;
            if !there.map_err(|error| error.to_call_error())? {
                return Err(calls::missing("entry"));
            }
        }
        Ok(None)
    }

    async fn history(
        &mut self,
        id: ConversationId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<String, CallError> {
        if !self.rows.contains_key(&id) {
            return Err(calls::missing("conversation"));
        }
        let page = self.store.page(self.lineage(id), before, limit).await;
        let page = page.map_err(|error| error.to_call_error())?;
        Ok(json(&replies::History {
            entries: page.entries.into_iter().map(fit::entry).collect(),
            has_older: page.has_older,
        }))
    }

    async fn responses(
        &mut self,
        id: ConversationId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<String, CallError> {
        if !self.rows.contains_key(&id) {
            return Err(calls::missing("conversation"));
        }
        let found = self.store.answers(self.lineage(id), before, limit).await;
        let (entries, has_older) = found.map_err(|error| error.to_call_error())?;
        Ok(json(&replies::Responses {
            responses: entries.into_iter().filter_map(response_row).collect(),
            has_older,
        }))
    }

    fn find_files(&self, ids: &[AttachmentId]) -> Result<Vec<Attachment>, CallError> {
        let blobs = self.open.folder.join("blobs");
        let find = |id| {
            attachment::find(&blobs, id).ok_or_else(|| {
                CallError::new(ErrorCode::NotFound, "an attached file is not there")
                    .hint("attach it again")
            })
        };
        ids.iter().map(find).collect()
    }

    /// Returns the change to a directory that is there.
    fn find_dir(&self, id: ConversationId, dir: Option<String>) -> Result<Request, CallError> {
        let Some(named) = dir else {
            let parent = self.rows.get(&id).and_then(|row| row.parent);
            let dir = parent.map_or_else(|| self.open.dir.clone(), |parent| self.dir(parent));
            let shown = place::shown(&dir, self.home.as_deref());
            return Ok(Request::Move { dir: None, shown });
        };
        let named = match (named.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => home.join(below),
            _ if named == "~" => self.home.clone().unwrap_or_default(),
            _ => self.dir(id).join(&named),
        };
        let refused = |why: &str| {
            let message = format!("`{}` {why}", place::shown(&named, self.home.as_deref()));
            CallError::new(ErrorCode::Invalid, message).hint("name a directory that is there")
        };
        let dir = named.canonicalize().map_err(|_| refused("is not there"))?;
        if !dir.is_dir() {
            return Err(refused("is no directory"));
        }
        let text = dir
            .to_str()
            .ok_or_else(|| refused("has a name that is not UTF-8"))?;
        Ok(Request::Move {
            dir: Some(text.to_owned()),
            shown: place::shown(&dir, self.home.as_deref()),
        })
    }

    async fn find(&mut self, model: Option<ModelRef>) -> Result<Option<ModelInfo>, CallError> {
        let Some(model) = model else { return Ok(None) };
        self.hands.refresh().await;
        if let Some(info) = self.hands.info(&model) {
            return Ok(Some(info));
        }
        self.hands.reload().await;
        if let Some(info) = self.hands.info(&model) {
            return Ok(Some(info));
        }
        let (message, hint) = self.hands.complaint().unwrap_or_else(|| {
            let hint = "`portholed models` lists what is configured";
            (format!("there is no model `{model}`"), hint.to_owned())
        });
        Err(CallError::new(ErrorCode::Invalid, message).hint(hint))
    }
}

/// Returns what an answer used; `None`: it is none.
fn response_row(entry: Entry) -> Option<replies::ResponseRow> {
    let EntryBody::Answer {
        model,
        stop,
        usage,
        incomplete,
        ..
    } = entry.body
    else {
        return None;
    };
    Some(replies::ResponseRow {
        entry: entry.id,
        at_ms: entry.at_ms,
        model,
        usage,
        stop,
        incomplete,
    })
}

fn json(reply: &impl serde::Serialize) -> String {
    serde_json::to_string(reply).expect("replies are plain data")
}
