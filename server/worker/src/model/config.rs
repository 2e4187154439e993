//! `models.toml`: text in, providers and models out, every fault with its line. It reads no file and no variable.

use std::{collections::BTreeMap, fmt, ops::Range};

use porthole_protocol::{ModelRef, Price, Thinking};
use serde::Deserialize;
use toml::Spanned;
use url::Url;

use super::{Api, key::mask};

/// What the file configures.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Config {
    /// The model of new sessions.
    pub(crate) default: Option<ModelRef>,
    /// The providers, in the order of the file.
    pub(crate) providers: Vec<Provider>,
}

/// A provider.
#[derive(Debug, PartialEq)]
pub(crate) struct Provider {
    pub(crate) name: String,
    pub(crate) api: Api,
    /// The address of the API's one call.
    pub(crate) url: Url,
    pub(crate) key: KeySource,
    pub(crate) models: Vec<ModelEntry>,
}

/// Where a key is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeySource {
    /// No key is sent.
    None,
    /// In this variable.
    Variable(String),
    /// In this file; relative to the data folder.
    File(String),
}

/// A model of a provider.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelEntry {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) context: Option<u64>,
    pub(crate) max_output: Option<u64>,
    pub(crate) thinking: Vec<Thinking>,
    /// Whether it takes images; `None`: its kind and its name tell.
    pub(crate) images: Option<bool>,
    /// What it costs.
    pub(crate) price: Option<Price>,
}

/// A fault in the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// From 1; 0 where it is of the whole file.
    pub(crate) line: usize,
    pub(crate) message: String,
    /// What to do; may be empty.
    pub(crate) hint: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)?;
        match self.hint.as_str() {
            "" => Ok(()),
            hint => write!(f, "\n\nhint: {hint}"),
        }
    }
}

const FORM: &str = "a provider is `[provider.NAME]` with `api`, `base_url`, `models`, and `key_env` or `key_file` where it wants a key";
const KEY_HINT: &str =
    "keys are not written here: name a variable with `key_env` or a file with `key_file`";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    default: Option<Spanned<String>>,
    #[serde(default)]
    provider: BTreeMap<String, Spanned<Section>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    api: Api,
    base_url: Spanned<String>,
    key_env: Option<Spanned<String>>,
    key_file: Option<Spanned<String>>,
    models: Spanned<Vec<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: Spanned<String>,
    name: Option<String>,
    context: Option<u64>,
    max_output: Option<u64>,
    thinking: Option<Levels>,
    images: Option<bool>,
    price: Option<Spanned<PriceEntry>>,
}

/// What a million tokens cost.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceEntry {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Levels {
    Any(bool),
    These(Vec<Thinking>),
}

/// Returns what the text of `models.toml` configures.
///
/// # Errors
/// The first fault, with its line and without the text of the line.
pub(crate) fn parse(text: &str) -> Result<Config, Fault> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let file: File = toml::from_str(text).map_err(|error| toml_fault(text, &error))?;
    let default = file
        .default
        .map(|name| default_model(text, &name))
        .transpose()?;
    let mut sections: Vec<_> = file.provider.into_iter().collect();
    sections.sort_by_key(|(_, section)| section.span().start);
    let providers: Result<Vec<_>, Fault> = sections
        .into_iter()
        .map(|(name, section)| provider(text, name, section))
        .collect();
    let config = Config {
        default: default.as_ref().map(|(model, _)| model.clone()),
        providers: providers?,
    };
    match default {
        Some((model, span)) if !config.knows(&model) => Err(unknown_default(text, &model, span)),
        _ => Ok(config),
    }
}

impl Config {
    /// Returns whether the model is configured; without any provider that cannot be told from the file.
    fn knows(&self, model: &ModelRef) -> bool {
        let of = |provider: &Provider| {
            provider.name == model.provider && provider.models.iter().any(|m| m.id == model.model)
        };
        self.providers.is_empty() || model.provider == "practice" || self.providers.iter().any(of)
    }
}

fn unknown_default(text: &str, model: &ModelRef, span: Range<usize>) -> Fault {
    let model = mask(&model.to_string(), None);
    let message = format!("`default` is `{model}`, and no provider here has that model");
    fault(
        text,
        &span,
        message,
        "add it to the `models` of its provider, or name another",
    )
}

fn default_model(text: &str, name: &Spanned<String>) -> Result<(ModelRef, Range<usize>), Fault> {
    let model = ModelRef::parse(name.get_ref()).ok_or_else(|| {
        let message = "`default` is not of the form `PROVIDER/MODEL`";
        fault(
            text,
            &name.span(),
            message,
            "for example `default = \"local/qwen\"`",
        )
    })?;
    Ok((model, name.span()))
}

fn provider(text: &str, name: String, section: Spanned<Section>) -> Result<Provider, Fault> {
    let span = section.span();
    let section = section.into_inner();
    let plain_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name == "practice" || !name.chars().all(plain_name) {
        let message = "a provider cannot have this name";
        return Err(fault(
            text,
            &span,
            message,
            "use letters, digits, `-`, `_`, `.`; `practice` is taken",
        ));
    }
    let url = call_url(section.api, section.base_url.get_ref()).map_err(|why| {
        fault(
            text,
            &section.base_url.span(),
            why,
            "for example `http://127.0.0.1:11434/v1`",
        )
    })?;
    let key = match (section.key_env, section.key_file) {
        (Some(_), Some(file)) => {
            let message = "`key_env` and `key_file` are both set";
            return Err(fault(text, &file.span(), message, "keep one of them"));
        }
        (Some(variable), None) => KeySource::Variable(variable_name(text, variable)?),
        (None, Some(file)) => KeySource::File(file.into_inner()),
        (None, None) => KeySource::None,
    };
    let models = models(text, section.api, section.models)?;
    Ok(Provider {
        name,
        api: section.api,
        url,
        key,
        models,
    })
}

/// Returns the name of a variable; a key that was put in its place is not repeated.
fn variable_name(text: &str, name: Spanned<String>) -> Result<String, Fault> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.get_ref().is_empty() || !name.get_ref().chars().all(fits) {
        let message = "`key_env` is no name of a variable";
        return Err(fault(text, &name.span(), message, KEY_HINT));
    }
    Ok(name.into_inner())
}

fn models(text: &str, api: Api, entries: Spanned<Vec<Entry>>) -> Result<Vec<ModelEntry>, Fault> {
    let span = entries.span();
    let mut models: Vec<ModelEntry> = Vec::new();
    for entry in entries.into_inner() {
        let id = entry.id.get_ref().clone();
        if id.is_empty() || models.iter().any(|model| model.id == id) {
            let message = "the `id` of a model is empty or there twice";
            return Err(fault(text, &entry.id.span(), message, ""));
        }
        models.push(ModelEntry {
            thinking: levels(api, &id, entry.thinking),
            id,
            name: entry.name,
            context: entry.context,
            max_output: entry.max_output,
            images: entry.images,
            price: entry.price.map(|price| prices(text, price)).transpose()?,
        });
    }
    if models.is_empty() {
        let hint = "for example `models = [ { id = \"qwen\", context = 32768 } ]`";
        return Err(fault(text, &span, "`models` is empty", hint));
    }
    Ok(models)
}

fn prices(text: &str, entry: Spanned<PriceEntry>) -> Result<Price, Fault> {
    let span = entry.span();
    let entry = entry.into_inner();
    let whole = |price: f64| {
        let fits = price.is_finite() && (0.0..=MOST_PRICE).contains(&price);
        let hint = "for example `price = { input = 3, output = 15, cache_read = 0.3 }`, for a million tokens";
        let message = format!("a price is 0 to {MOST_PRICE}");
        // At most a hundred thousand millions, which a float holds exactly enough.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        fits.then(|| (price * 1e6).round() as u64)
            .ok_or_else(|| fault(text, &span, message, hint))
    };
    Ok(Price {
        input: whole(entry.input)?,
        output: whole(entry.output)?,
        cache_read: entry.cache_read.map(whole).transpose()?,
        cache_write: entry.cache_write.map(whole).transpose()?,
    })
}

/// The highest price of a million tokens that is believed.
const MOST_PRICE: f64 = 100_000.0;

const ALL_LEVELS: [Thinking; 3] = [Thinking::Low, Thinking::Medium, Thinking::High];

/// Returns the thinking levels: as configured, else as is usual for the API.
fn levels(api: Api, id: &str, configured: Option<Levels>) -> Vec<Thinking> {
    match configured {
        Some(Levels::Any(true)) => ALL_LEVELS.to_vec(),
        Some(Levels::Any(false)) => Vec::new(),
        Some(Levels::These(mut levels)) => {
            levels.retain(|level| *level != Thinking::Off);
            levels
        }
        None => usual_levels(api, id),
    }
}

/// Returns the thinking levels of a model of which nothing is said.
pub(crate) fn usual_levels(api: Api, id: &str) -> Vec<Thinking> {
    let thinks = match api {
        Api::Chat => false,
        Api::Responses => !id.starts_with("gpt-4") && !id.starts_with("gpt-3"),
        Api::Messages => {
            id.contains("claude") && !id.contains("claude-3-5") && !id.contains("claude-3-haiku")
        }
    };
    if thinks {
        ALL_LEVELS.to_vec()
    } else {
        Vec::new()
    }
}

/// Returns the address of the API's one call under a base address.
///
/// # Errors
/// Why the address cannot be used, without the address: it may be a key in the wrong place.
pub(crate) fn call_url(api: Api, base: &str) -> Result<Url, String> {
    let mut url = Url::parse(base).map_err(|_| "`base_url` is no address".to_owned())?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err("`base_url` is not an `http` or `https` address".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("`base_url` holds a user name or password".to_owned());
    }
    let mut path = url.path().trim_end_matches('/').to_owned();
    if path.is_empty() || (api == Api::Messages && !path.ends_with("/v1")) {
        path += "/v1";
    }
    path += match api {
        Api::Chat => "/chat/completions",
        Api::Responses => "/responses",
        Api::Messages => "/messages",
    };
    url.set_path(&path);
    url.set_fragment(None);
    Ok(url)
}

fn fault(text: &str, span: &Range<usize>, message: impl Into<String>, hint: &str) -> Fault {
    Fault {
        line: line_of(text, span.start),
        message: message.into(),
        hint: hint.to_owned(),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    before.iter().filter(|&&b| b == b'\n').count() + 1
}

/// Returns the fault that the TOML reader found. Its own picture of the line is not shown: the line may hold a key.
fn toml_fault(text: &str, error: &toml::de::Error) -> Fault {
    let span = error.span().unwrap_or(0..0);
    let message = mask(error.message(), None);
    let about_key = ["`key`", "`api_key`", "`apikey`", "`token`"]
        .iter()
        .any(|name| message.contains(&format!("unknown field {name}")));
    let hint = match about_key {
        true => KEY_HINT,
        false if message.contains("field") || message.contains("variant") => FORM,
        false => "the file is read as TOML; it was not changed",
    };
    fault(text, &span, message, hint)
}

#[cfg(test)]
mod tests;
