//! The providers that are known without a file: each appears when its key's variable is set. It reads no variable.

use super::{
    Api,
    config::{KeySource, ModelEntry, Provider, call_url, usual_levels},
};

/// A provider that is known.
struct Known {
    name: &'static str,
    api: Api,
    key: &'static str,
    base: &'static str,
    /// The variable that names another base address.
    base_variable: &'static str,
    /// Ids with context windows in tokens; the first is the default.
    models: &'static [(&'static str, u64)],
}

const KNOWN: [Known; 3] = [
    Known {
        name: "anthropic",
        api: Api::Messages,
        key: "ANTHROPIC_API_KEY",
        base: "https://api.anthropic.com",
        base_variable: "ANTHROPIC_BASE_URL",
        models: &[
            ("claude-sonnet-4-6", 200_000),
            ("claude-opus-4-8", 200_000),
            ("claude-haiku-4-5", 200_000),
        ],
    },
    Known {
        name: "openai",
        api: Api::Responses,
        key: "OPENAI_API_KEY",
        base: "https://api.openai.com/v1",
        base_variable: "OPENAI_BASE_URL",
        models: &[
            ("gpt-5.2", 400_000),
            ("gpt-5-mini", 400_000),
            ("gpt-4.1", 1_047_576),
        ],
    },
    Known {
        name: "openrouter",
        api: Api::Chat,
        key: "OPENROUTER_API_KEY",
        base: "https://openrouter.ai/api/v1",
        base_variable: "OPENROUTER_BASE_URL",
        models: &[
            ("anthropic/claude-sonnet-4.6", 200_000),
            ("openai/gpt-5.2", 400_000),
            ("qwen/qwen3-coder", 262_144),
        ],
    },
];

/// Returns the known providers whose key is set.
///
/// # Errors
/// Where a variable with a base address holds none, in a sentence that names the variable.
pub(crate) fn providers(
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Vec<Provider>, String> {
    let is_set = |known: &&Known| variable(known.key).is_some_and(|key| !key.is_empty());
    KNOWN
        .iter()
        .filter(is_set)
        .map(|known| known.provider(variable))
        .collect()
}

impl Known {
    fn provider(&self, variable: &impl Fn(&str) -> Option<String>) -> Result<Provider, String> {
        let base = variable(self.base_variable).filter(|base| !base.is_empty());
        let url = call_url(self.api, base.as_deref().unwrap_or(self.base)).map_err(|why| {
            format!(
                "`{}`: {}",
                self.base_variable,
                why.replace("`base_url`", "its value")
            )
        })?;
        let models = self.models.iter().map(|&(id, context)| ModelEntry {
            id: id.to_owned(),
            name: None,
            context: Some(context),
            max_output: None,
            thinking: usual_levels(self.api, id),
            images: None,
            price: None,
        });
        Ok(Provider {
            name: self.name.to_owned(),
            api: self.api,
            url,
            key: KeySource::Variable(self.key.to_owned()),
            models: models.collect(),
        })
    }
}
