//! Every model that can be chosen: the file, the variables and this machine put together. It talks to no model.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use porthole_protocol::{ModelInfo, ModelRef, replies};
use tokio::sync::mpsc;

use super::{
    ModelError, Piece, Prompt, Response, builtin,
    config::{self, Config, KeySource, ModelEntry, Provider},
    http::{self, Clients, Endpoint, Timeouts},
    key::Key,
    local, practice,
    scope::{find, scope},
};

/// The file in the data folder.
const FILE: &str = "models.toml";

/// Every model that can be chosen, from the server's config, the environment and this machine.
#[derive(Clone, Debug)]
pub struct Inventory {
    models: Vec<Model>,
    default: ModelRef,
    /// Whether the pair of variables names the default.
    default_from_variables: bool,
    key_variables: Vec<String>,
}

/// Why the inventory cannot be had: names file and line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InventoryError(pub String);

impl Inventory {
    /// Returns what `<data>/models.toml` and the variables configure. Model servers of this machine are looked for
    /// only where neither configures any and `PORTHOLE_NO_LOCAL_MODELS` is not set.
    ///
    /// # Errors
    /// Where the file is there and cannot be read or understood; a missing file is none.
    pub async fn load(
        data: &Path,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, InventoryError> {
        let path = data.join(FILE);
        let config = read(&path)?;
        let clients = Arc::new(Clients::default());
        let (providers, source) = match config.providers.is_empty() {
            false => (config.providers, Source::File),
            true => (
                builtin::providers(&variable).map_err(InventoryError)?,
                Source::Variable,
            ),
        };
        let key_variables = providers.iter().filter_map(key_variable).collect();
        let mut builder = Builder {
            data,
            variable: &variable,
            clients,
            models: Vec::new(),
        };
        builder.add(providers, source);
        if builder.models.is_empty() && is_unset(&variable, "PORTHOLE_NO_LOCAL_MODELS") {
            let found = local::find(variable("OLLAMA_HOST"), &builder.clients).await;
            builder.add(found, Source::Found);
        }
        let mut models = builder.models;
        models.push(Model::practice());
        let default = default_model(&models, config.default, &path, &variable)?;
        Ok(Self {
            models,
            default,
            default_from_variables: pair(&variable)?.is_some(),
            key_variables,
        })
    }

    /// Returns the names of the variables that hold keys: no command gets them.
    pub fn key_variables(&self) -> &[String] {
        &self.key_variables
    }

    /// Returns the models in the order to show.
    pub fn list(&self) -> Vec<ModelInfo> {
        self.models
            .iter()
            .map(|model| model.info().clone())
            .collect()
    }

    /// Returns the model that new sessions get.
    pub fn default_model(&self) -> ModelRef {
        self.default.clone()
    }

    /// Returns the models of providers whose key is there that have all words of a query in provider, id or name.
    pub fn find(&self, query: &str, limit: usize) -> replies::ModelsFound {
        let ready = self
            .models
            .iter()
            .map(Model::info)
            .filter(|info| info.ready);
        find(ready, query, limit)
    }

    /// Returns the models to step through.
    pub fn scope(&self, patterns: &[String]) -> replies::Scope {
        let infos = self.models.iter().map(Model::info);
        scope(
            &infos.filter(|info| info.ready).collect::<Vec<_>>(),
            patterns,
        )
    }

    /// Returns the model that new sessions get where the owner chose this one: it counts where it is there, and no
    /// variables name another.
    pub fn default_with(&self, chosen: Option<&ModelRef>) -> ModelRef {
        let there = |model: &&ModelRef| self.resolve(model).is_some();
        match chosen.filter(there) {
            Some(chosen) if !self.default_from_variables => chosen.clone(),
            _ => self.default.clone(),
        }
    }

    /// Returns whether variables name the default.
    pub fn default_is_from_variables(&self) -> bool {
        self.default_from_variables
    }

    /// Returns the model to talk to; `None`: it is not configured.
    pub fn resolve(&self, model: &ModelRef) -> Option<Model> {
        let found = self.models.iter().find(|m| m.info().model == *model);
        found.cloned()
    }
}

fn key_variable(provider: &Provider) -> Option<String> {
    match &provider.key {
        KeySource::Variable(name) => Some(name.clone()),
        KeySource::None | KeySource::File(_) => None,
    }
}

fn is_unset(variable: &impl Fn(&str) -> Option<String>, name: &str) -> bool {
    variable(name).is_none_or(|value| value.is_empty())
}

/// Returns the config in the file. Only a missing file is an empty one.
fn read(path: &Path) -> Result<Config, InventoryError> {
    let shown = path.display();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Config::default()),
        Err(error) => return Err(InventoryError(format!("cannot read `{shown}`: {error}"))),
    };
    config::parse(&text).map_err(|fault| InventoryError(format!("`{shown}` {fault}")))
}

/// Returns the default: the pair of variables, else the file's, else the first that is ready.
fn default_model(
    models: &[Model],
    configured: Option<ModelRef>,
    path: &Path,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<ModelRef, InventoryError> {
    let (wanted, from) = match pair(variable)? {
        Some(pair) => (
            Some(pair),
            "`PORTHOLE_DEFAULT_PROVIDER` and `PORTHOLE_DEFAULT_MODEL`".to_owned(),
        ),
        None => (configured, format!("`default` in `{}`", path.display())),
    };
    let known = |wanted: &ModelRef| models.iter().any(|model| model.info().model == *wanted);
    match wanted {
        Some(wanted) if known(&wanted) => Ok(wanted),
        Some(wanted) => Err(InventoryError(format!(
            "{from} name `{wanted}`, which is not configured\n\nhint: `portholed models` lists what is"
        ))),
        None => Ok(first_ready(models)),
    }
}

fn first_ready(models: &[Model]) -> ModelRef {
    let ready = models.iter().find(|model| model.info().ready);
    ready.map_or_else(practice::name, |model| model.info().model.clone())
}

/// Returns the model that the pair of variables names.
fn pair(variable: &impl Fn(&str) -> Option<String>) -> Result<Option<ModelRef>, InventoryError> {
    let [provider, model] = ["PORTHOLE_DEFAULT_PROVIDER", "PORTHOLE_DEFAULT_MODEL"]
        .map(|name| variable(name).filter(|value| !value.is_empty()));
    match (provider, model) {
        (Some(provider), Some(model)) => Ok(Some(ModelRef { provider, model })),
        (None, None) => Ok(None),
        (set, _) => {
            let missing = if set.is_some() { "MODEL" } else { "PROVIDER" };
            Err(InventoryError(format!(
                "only half of the default model is set\n\nhint: set `PORTHOLE_DEFAULT_{missing}` too, or unset the other"
            )))
        }
    }
}

/// Where providers came from.
#[derive(Clone, Copy)]
enum Source {
    File,
    Variable,
    Found,
}

struct Builder<'a, F> {
    data: &'a Path,
    variable: &'a F,
    clients: Arc<Clients>,
    models: Vec<Model>,
}

impl<F: Fn(&str) -> Option<String>> Builder<'_, F> {
    fn add(&mut self, providers: Vec<Provider>, source: Source) {
        for provider in providers {
            let key = self.key(&provider.key);
            let source = match (source, &provider.key) {
                (Source::Variable, KeySource::Variable(name)) => name.clone(),
                (Source::Found, _) => format!("found at {}", http::host(&provider.url)),
                _ => FILE.to_owned(),
            };
            for entry in &provider.models {
                let model = self.model(&provider, entry, &key, &source);
                self.models.push(model);
            }
        }
    }

    fn model(
        &self,
        provider: &Provider,
        entry: &ModelEntry,
        key: &Result<Option<Key>, String>,
        source: &str,
    ) -> Model {
        let info = ModelInfo {
            model: ModelRef {
                provider: provider.name.clone(),
                model: entry.id.clone(),
            },
            name: entry.name.clone().unwrap_or_else(|| entry.id.clone()),
            context: entry.context,
            thinking: entry.thinking.clone(),
            ready: key.is_ok(),
            source: source.to_owned(),
            practice: false,
            price: entry.price,
        };
        let endpoint = Endpoint {
            api: provider.api,
            url: provider.url.clone(),
            key: key.clone(),
            max_output: entry.max_output,
            images: entry.images.unwrap_or_else(|| provider.api.sees(&entry.id)),
            timeouts: Timeouts::default(),
        };
        Model {
            info: Arc::new(info),
            route: Route::Http(Arc::new(endpoint), Arc::clone(&self.clients)),
        }
    }

    /// Returns the key, or why it cannot be used: told when the model is asked, so that the others still work.
    fn key(&self, source: &KeySource) -> Result<Option<Key>, String> {
        match source {
            KeySource::None => Ok(None),
            KeySource::Variable(name) => {
                let text = (self.variable)(name).filter(|text| !text.is_empty());
                let text =
                    text.ok_or_else(|| format!("the variable `{name}` with the key is not set"))?;
                Key::parse(&text, name).map(Some)
            }
            KeySource::File(file) => {
                let path = self.key_path(file);
                let text = std::fs::read_to_string(&path)
                    .map_err(|e| format!("cannot read the key file `{}`: {e}", path.display()))?;
                // The line end that every editor adds is no part of the key.
                let text = text.strip_suffix('\n').unwrap_or(&text);
                let text = text.strip_suffix('\r').unwrap_or(text);
                Key::parse(text, &path.to_string_lossy()).map(Some)
            }
        }
    }

    fn key_path(&self, file: &str) -> PathBuf {
        match (file.strip_prefix("~/"), (self.variable)("HOME")) {
            (Some(rest), Some(home)) => Path::new(&home).join(rest),
            _ => self.data.join(file),
        }
    }
}

/// A model that requests can be made to.
#[derive(Clone)]
pub struct Model {
    info: Arc<ModelInfo>,
    route: Route,
}

#[derive(Clone)]
enum Route {
    Practice,
    Http(Arc<Endpoint>, Arc<Clients>),
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Model").field(&self.info.model).finish()
    }
}

impl Model {
    fn practice() -> Self {
        Self {
            info: Arc::new(practice::info()),
            route: Route::Practice,
        }
    }

    /// Returns what can be shown of it.
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// Returns whether it takes images.
    pub fn takes_images(&self) -> bool {
        match &self.route {
            Route::Practice => false,
            Route::Http(endpoint, _) => endpoint.images,
        }
    }

    /// Makes one request. Pieces are sent as they come; dropping the future ends the request at once.
    ///
    /// # Errors
    /// [`ModelError`], with what had arrived.
    pub async fn request(
        &self,
        prompt: &Prompt,
        pieces: &mpsc::UnboundedSender<Piece>,
    ) -> Result<Response, ModelError> {
        match &self.route {
            Route::Practice => Ok(practice::answer(prompt, pieces)),
            Route::Http(endpoint, clients) => {
                let client = clients.for_url(&endpoint.url)?;
                let body = http::body(endpoint, prompt, &self.info);
                http::request(endpoint, &client, body, pieces).await
            }
        }
    }

    /// Returns it with less patience.
    #[cfg(test)]
    pub(crate) fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        if let Route::Http(endpoint, _) = &mut self.route {
            Arc::make_mut(endpoint).timeouts = timeouts;
        }
        self
    }
}

#[cfg(test)]
mod tests;
