//! Models as people choose them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A model of a provider, written `provider/model`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModelRef {
    /// The provider as configured.
    pub provider: String,
    /// The model as the provider names it; may contain `/`.
    pub model: String,
}

impl ModelRef {
    /// Returns the reference in `provider/model`, or `None` where a part is missing.
    pub fn parse(text: &str) -> Option<Self> {
        let (provider, model) = text.split_once('/')?;
        (!provider.is_empty() && !model.is_empty()).then(|| Self {
            provider: provider.to_owned(),
            model: model.to_owned(),
        })
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// A model that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// What to choose it by.
    pub model: ModelRef,
    /// Name to show.
    pub name: String,
    /// Context window in tokens, where known.
    pub context: Option<u64>,
    /// Thinking levels it takes; empty: none but off.
    pub thinking: Vec<Thinking>,
    /// Whether its key is there, or it needs none.
    pub ready: bool,
    /// Where it is configured, for a person: "models.toml", "ANTHROPIC_API_KEY", "built in".
    pub source: String,
    /// Whether it is the stand-in that is no language model.
    #[serde(default)]
    pub practice: bool,
    /// What it costs; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

impl ModelInfo {
    /// Returns the level, or off where the model does not have it.
    pub fn fitting(&self, level: Thinking) -> Thinking {
        match self.thinking.contains(&level) {
            true => level,
            false => Thinking::Off,
        }
    }
}

/// What a million tokens cost, in millionths of the price table's currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Of input that is in no cache.
    pub input: u64,
    /// Of output.
    pub output: u64,
    /// Of input that comes from the cache; `None`: not known.
    pub cache_read: Option<u64>,
    /// Of input that goes into the cache; `None`: not known.
    pub cache_write: Option<u64>,
}

/// How much a model thinks before it answers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the levels")]
pub enum Thinking {
    #[default]
    Off,
    Low,
    Medium,
    High,
}

/// What tools may do without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Reading runs; edits and commands ask.
    #[default]
    Ask,
    /// Everything runs.
    Auto,
    /// Reading runs; the rest is refused.
    ReadOnly,
}
