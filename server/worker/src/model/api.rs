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

    /// Returns whether a model of this name is known to take images. Of compatible servers only names tell.
    pub(crate) fn sees(self, model: &str) -> bool {
        let name = model.to_ascii_lowercase();
        match self {
            Self::Messages | Self::Responses => true,
            Self::Chat => SEEING.iter().any(|part| name.contains(part)),
        }
    }
}

/// Parts of names of models that take images.
const SEEING: [&str; 12] = [
    "gpt-4o", "gpt-4.1", "gpt-5", "gemini", "claude", "llava", "vision", "pixtral", "-vl", "vl:",
    "gemma3", "llama4",
];
