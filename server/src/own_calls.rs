//! The calls that the server answers itself: about sessions as the catalog keeps them, and models. Those about what
//! happens inside a session go to its worker.

use std::{path::PathBuf, sync::Arc};

use porthole_protocol::{
    Call, CallError, ErrorCode, ModelRef, RequestId, SessionId, SettingChange, limits, replies,
};
use porthole_worker::{model::Inventory, wire::ConnectionId};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    access::NewShare,
    data::make_private,
    pass::Pass,
    permit::session_of,
    server::{Server, now_ms},
    session_folder::Plan,
    sessions::{self, Then},
    switchboard::{Copying, Input, unknown_session},
    token::random_id,
};

impl Server {
    /// Answers a call, now or once the answer is found.
    pub(crate) fn serve(
        self: &Arc<Self>,
        connection: ConnectionId,
        id: u64,
        call: Call,
        pass: &Pass,
    ) {
        if let Call::Search {
            session,
            text,
            limit,
            before,
        } = call
        {
            let server = self.clone();
            tokio::spawn(async move {
                let found = server.clone().found(session, text, limit, before).await;
                server.handle(Input::Answered {
                    connection,
                    id,
                    result: found.and_then(|found| reply(&found)),
                });
            });
            return;
        }
        if let Call::SessionExport { session, format } = call {
            let server = self.clone();
            tokio::spawn(async move {
                let exported = server.clone().exported(session, format).await;
                server.handle(Input::Answered {
                    connection,
                    id,
                    result: exported.and_then(|exported| reply(&exported)),
                });
            });
            return;
        }
        let asks_models = matches!(
            call,
            Call::Models {}
                | Call::ModelsFind { .. }
                | Call::ModelsScope {}
                | Call::SettingsSave { .. }
                | Call::SessionCreate { model: Some(_), .. }
        );
        if asks_models {
            let server = self.clone();
            tokio::spawn(async move {
                let result = match call {
                    Call::SessionCreate {
                        request,
                        dir,
                        title,
                        model: Some(model),
                    } => match server.configured(&model).await {
                        Ok(()) => server.create(&request, dir, title.as_deref(), Some(model)),
                        Err(error) => Err(error),
                    },
                    Call::ModelsFind { query, limit } => server.find_models(&query, limit).await,
                    Call::ModelsScope {} => server.scope().await,
                    Call::SettingsSave { changes, .. } => server.save_settings(changes).await,
                    _ => server.models().await,
                };
                server.handle(Input::Answered {
                    connection,
                    id,
                    result,
                });
            });
            return;
        }
        let result = match call {
            Call::SessionCreate {
                request,
                dir,
                title,
                model,
            } => self.create(&request, dir, title.as_deref(), model),
            Call::SessionClone {
                session,
                request,
                title,
            } => match self.plan_copy(&session, &request, title.as_deref()) {
                Ok(Plan::Made(session)) => reply(&replies::Created { session }),
                Ok(Plan::Copy(copy)) => {
                    return self.handle(Input::Copy(Box::new(Copying {
                        from: session,
                        session: *copy,
                        request,
                        connection,
                        id,
                    })));
                }
                Err(error) => Err(error),
            },
            call => match self.access_call(call, pass) {
                Ok(result) => result,
                Err(call) => self.change(&call),
            },
        };
        self.handle(Input::Answered {
            connection,
            id,
            result,
        });
    }

    /// Answers a call about who may come in; gives back one that is about something else.
    fn access_call(
        self: &Arc<Self>,
        call: Call,
        pass: &Pass,
    ) -> Result<Result<Box<RawValue>, CallError>, Call> {
        let answer = match call {
            Call::ShareCreate {
                session,
                request,
                mode,
                may_approve,
                once,
                name,
                seconds,
            } => self
                .share(NewShare {
                    session,
                    request,
                    mode,
                    may_approve,
                    once,
                    name,
                    seconds,
                })
                .and_then(|shared| reply(&shared)),
            Call::ShareList { session } => self
                .shares(session.as_ref())
                .map_err(catalog_failed)
                .and_then(|shares| reply(&replies::Shares { shares })),
            Call::ShareRevoke { id } => {
                done(self.revoke(&id), "share link or guest", "portholed links")
            }
            Call::DeviceList {} => self
                .device_rows(pass)
                .map_err(catalog_failed)
                .and_then(|devices| reply(&replies::Devices { devices })),
            Call::SettingsGet {} => reply(&self.settings().state()),
            Call::DeviceSignOut { device } => {
                done(self.sign_out(&device), "device", "portholed devices")
            }
            call => return Err(call),
        };
        Ok(answer)
    }

    fn create(
        self: &Arc<Self>,
        request: &RequestId,
        dir: Option<String>,
        title: Option<&str>,
        model: Option<ModelRef>,
    ) -> Result<Box<RawValue>, CallError> {
        let made = self
            .catalog()
            .session_of_request(request)
            .map_err(catalog_failed)?;
        if let Some(session) = made {
            return reply(&replies::Created { session });
        }
        let dir = checked_dir(dir)?;
        let id = SessionId::parse(&random_id::<12>())
            .map_err(|error| CallError::new(ErrorCode::Internal, error.to_string()))?;
        let session = sessions::create(id.clone(), dir, title, model, now_ms())?;
        make_private(&self.session_folder(&id)).map_err(|error| {
            CallError::new(
                ErrorCode::Unavailable,
                format!("cannot make the session's folder: {error}"),
            )
        })?;
        self.catalog()
            .add_session(&session, request)
            .map_err(catalog_failed)?;
        self.handle(Input::Kept(Box::new(session)));
        reply(&replies::Created { session: id })
    }

    fn change(self: &Arc<Self>, call: &Call) -> Result<Box<RawValue>, CallError> {
        let id = session_of(call).cloned();
        let deleted = match (call, &id) {
            (Call::SessionRestore { .. }, Some(id)) => self.deleted_session(id),
            _ => None,
        };
        let kept = id.as_ref().and_then(|id| self.kept_session(id));
        let before = kept.or(deleted).ok_or_else(unknown_session)?;
        let (session, then) = sessions::change(call, before.clone(), now_ms())?;
        let id = session.id.clone();
        if session != before {
            let saved = self.catalog().save_session(&session);
            if !saved.map_err(catalog_failed)? {
                return Err(unknown_session());
            }
            self.handle(Input::Kept(Box::new(session)));
        }
        match then {
            Then::Nothing => {}
            Then::Halt(error) => {
                self.end_guests_of(&id).map_err(catalog_failed)?;
                self.handle(Input::Halt { session: id, error });
            }
            Then::Retry => self.handle(Input::Retry(id)),
        }
        reply(&replies::Done {})
    }

    /// Returns whether a new session can have this model.
    async fn configured(&self, model: &ModelRef) -> Result<(), CallError> {
        let inventory = self.inventory().await?;
        if inventory.resolve(model).is_some() {
            return Ok(());
        }
        let message = format!("there is no model `{model}`");
        Err(CallError::new(ErrorCode::Invalid, message)
            .hint("`portholed models` lists what is configured"))
    }

    async fn find_models(&self, query: &str, limit: u32) -> Result<Box<RawValue>, CallError> {
        let most = limits::MODELS_QUERY_CHARS;
        if query.chars().count() > most {
            let message = format!("a search for models has at most {most} characters");
            return Err(CallError::new(ErrorCode::TooLarge, message));
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let inventory = self.inventory().await?;
        reply(&inventory.find(query, limit.clamp(1, limits::MODELS_FOUND)))
    }

    async fn scope(&self) -> Result<Box<RawValue>, CallError> {
        let inventory = self.inventory().await?;
        reply(&inventory.scope(&self.settings().state().settings.cycle))
    }

    /// Saves settings and puts them in force. A model that is set has to be there, and has to have the thinking level.
    async fn save_settings(
        self: &Arc<Self>,
        changes: Vec<SettingChange>,
    ) -> Result<Box<RawValue>, CallError> {
        let named = changes.iter().filter(|change| change.key == "model");
        let text = named
            .filter_map(|change| change.value.as_deref())
            .next_back();
        let text = text.map(|text| text.trim().trim_matches('"'));
        if let Some(model) = text.and_then(ModelRef::parse) {
            self.configured(&model).await?;
        }
        let kept = self.settings().clone();
        let saved = tokio::task::spawn_blocking(move || kept.save(&changes)).await;
        let saved =
            saved.map_err(|error| CallError::new(ErrorCode::Internal, error.to_string()))?;
        let state = saved?;
        self.publish_settings();
        reply(&state)
    }

    async fn models(&self) -> Result<Box<RawValue>, CallError> {
        let inventory = self.inventory().await?;
        reply(&replies::Models {
            models: inventory.list(),
            default: inventory.default_with(self.settings().state().settings.model.as_ref()),
            config_path: self.data().join("models.toml").display().to_string(),
        })
    }
}

impl Server {
    /// Returns the model that new sessions get.
    pub(crate) async fn default_model(&self) -> Result<ModelRef, CallError> {
        Ok(self.inventory().await?.default_model())
    }

    async fn inventory(&self) -> Result<Inventory, CallError> {
        let loaded = Inventory::load(self.data(), |name| std::env::var(name).ok()).await;
        loaded.map_err(|error| {
            CallError::new(ErrorCode::Invalid, error.to_string()).hint(format!(
                "correct `{}`",
                self.data().join("models.toml").display()
            ))
        })
    }
}

pub(crate) fn reply(value: &impl Serialize) -> Result<Box<RawValue>, CallError> {
    serde_json::value::to_raw_value(value)
        .map_err(|error| CallError::new(ErrorCode::Internal, error.to_string()))
}

fn done(
    removed: rusqlite::Result<bool>,
    what: &str,
    lists: &str,
) -> Result<Box<RawValue>, CallError> {
    match removed.map_err(catalog_failed)? {
        true => reply(&replies::Done {}),
        false => Err(
            CallError::new(ErrorCode::NotFound, format!("there is no such {what}"))
                .hint(format!("`{lists}` lists them")),
        ),
    }
}

pub(crate) fn catalog_failed(error: rusqlite::Error) -> CallError {
    CallError::new(
        ErrorCode::Unavailable,
        format!("cannot write the catalog: {error}"),
    )
    .hint("is the disk full?")
}

/// Returns a directory written as `~` or `~/…`, as people see it in the list.
fn from_home(dir: &str) -> Option<PathBuf> {
    let rest = dir.strip_prefix('~')?;
    let home = directories::BaseDirs::new()?.home_dir().to_owned();
    match rest.strip_prefix('/') {
        Some(below) => Some(home.join(below)),
        None => rest.is_empty().then_some(home),
    }
}

fn checked_dir(dir: Option<String>) -> Result<String, CallError> {
    let dir = match dir {
        Some(dir) => from_home(&dir).unwrap_or_else(|| PathBuf::from(dir)),
        None => directories::BaseDirs::new()
            .map(|dirs| dirs.home_dir().to_owned())
            .ok_or_else(|| CallError::new(ErrorCode::Invalid, "no home directory is known"))?,
    };
    if !dir.is_absolute() {
        return Err(CallError::new(
            ErrorCode::Invalid,
            "the directory must be an absolute path",
        ));
    }
    match std::fs::metadata(&dir) {
        Ok(metadata) if metadata.is_dir() => Ok(dir.to_string_lossy().into_owned()),
        Ok(_) => Err(CallError::new(
            ErrorCode::Invalid,
            format!("`{}` is no directory", dir.display()),
        )),
        Err(error) => Err(CallError::new(
            ErrorCode::NotFound,
            format!("cannot use the directory `{}`: {error}", dir.display()),
        )
        .hint("name a directory that is there, as an absolute path")),
    }
}
