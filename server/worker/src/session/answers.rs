//! Answering calls: who may, what was asked, once per request id.

use std::io::{Read, Seek, SeekFrom};

use base64::{Engine, engine::general_purpose::STANDARD};
use porthole_protocol::{Call, CallError, ErrorCode, ModelInfo, ModelRef, RequestId, Who, replies};

use super::{Session, events::Event};
use crate::{
    access,
    calls::{self, Ask, OutputRange},
    conversation::{Asked, Input, Request, Ticket},
    fit,
    store::StoreError,
};

impl Session {
    /// Answers a call, now or when what it asks for is committed.
    pub(super) async fn call(&mut self, ticket: Ticket, who: &Who, call: Call) {
        let method = call.method();
        let ask = access::permit(who, method, &self.open.session)
            .and_then(|()| calls::ask(call, &self.open.session));
        let ask = match ask {
            Ok(ask) => ask,
            Err(error) => return self.reply(ticket, Err(error)).await,
        };
        let key = |request: RequestId| format!("{}\n{}\n{request}", who.id, method.name());
        match ask {
            Ask::Change(change, request) => {
                self.change(ticket, who, request.map(key), change).await;
            }
            Ask::Configure {
                model,
                thinking,
                policy,
            } => match self.find(model).await {
                Ok(model) => {
                    let change = Request::Configure {
                        model: model.map(Box::new),
                        thinking,
                        policy,
                    };
                    self.change(ticket, who, None, change).await;
                }
                Err(error) => self.reply(ticket, Err(error)).await,
            },
            Ask::History { before, limit } => {
                let page = self.store.page(before, limit).await;
                let reply = page.map_err(|error| error.to_call_error()).map(|page| {
                    json(&replies::History {
                        entries: page.entries.into_iter().map(fit::entry).collect(),
                        has_older: page.has_older,
                    })
                });
                self.reply(ticket, reply).await;
            }
            Ask::Output(range) => {
                let reply = self.output(&range).map(|output| json(&output));
                self.reply(ticket, reply).await;
            }
            Ask::Files { query, limit } => self.start_files(ticket, query, limit),
        }
    }

    /// Looks for names beside the driver: a large tree takes its time.
    fn start_files(&self, ticket: Ticket, query: String, limit: usize) {
        let work = self.hands.files(query, limit);
        let events = self.events.clone();
        tokio::spawn(async move {
            let reply = work.await.map(|files| json(&files));
            // Nobody listens only where the session is closing.
            let _ = events.send(Event::Answer(ticket, reply));
        });
    }

    async fn change(&mut self, ticket: Ticket, who: &Who, key: Option<String>, change: Request) {
        self.recover().await;
        match self.earlier(key.clone()).await {
            Ok(Some(reply)) => return self.reply(ticket, Ok(reply)).await,
            Ok(None) => {}
            Err(error) => return self.reply(ticket, Err(error.to_call_error())).await,
        }
        let asked = Asked {
            ticket,
            author: access::author(who),
            key,
        };
        self.handle(Input::Call(asked, change)).await;
    }

    /// Returns the reply that the same request got before; fails where nothing can be kept now.
    async fn earlier(&self, key: Option<String>) -> Result<Option<String>, StoreError> {
        if let Err(error) = &self.live {
            return Err(error.clone());
        }
        match key {
            Some(key) => self.store.reply(key).await,
            None => Ok(None),
        }
    }

    async fn find(&mut self, model: Option<ModelRef>) -> Result<Option<ModelInfo>, CallError> {
        let Some(model) = model else { return Ok(None) };
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

    fn output(&self, range: &OutputRange) -> Result<replies::Output, CallError> {
        let path = self.open.folder.join("runs").join(range.run.as_str());
        let missing = || CallError::new(ErrorCode::NotFound, "there is no output of that run");
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => missing(),
            _ => CallError::new(
                ErrorCode::Unavailable,
                format!("the output cannot be read: {error}"),
            ),
        };
        let mut file = std::fs::File::open(path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        if !meta.is_file() {
            return Err(missing());
        }
        if range.generation != GENERATION {
            let message = "that output was replaced by another";
            return Err(
                CallError::new(ErrorCode::Conflict, message).hint("read it again from the row")
            );
        }
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(range.from)).map_err(failed)?;
        let part = file.take(u64::from(range.bytes)).read_to_end(&mut bytes);
        part.map_err(failed)?;
        Ok(replies::Output {
            base64: STANDARD.encode(&bytes),
            from: range.from,
            total: meta.len(),
            generation: range.generation,
            complete: !self.runs.contains_key(range.run.as_str()),
        })
    }
}

/// The generation of a run's output: it is only ever appended to, so there is one.
const GENERATION: u32 = 0;

fn json(reply: &impl serde::Serialize) -> String {
    serde_json::to_string(reply).expect("replies are plain data")
}
