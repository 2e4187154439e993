//! The three APIs that providers speak.

use serde::Deserialize;

/// An API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Api {
    /// OpenAI-compatible chat completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
}

impl Api {
    /// Returns the API of this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "chat" => Some(Self::Chat),
            "responses" => Some(Self::Responses),
            "messages" => Some(Self::Messages),
            _ => None,
        }
    }
}
