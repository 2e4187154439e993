//! Models: what can be chosen, and one request to one of them. It keeps no conversation and decides no retry by itself.

mod answer;
mod api;
mod chat;
mod debug;
mod decoder;
mod failure;
mod messages;
mod responses;
mod sse;
mod think;
mod types;

use std::path::Path;

use porthole_protocol::{ModelInfo, ModelRef};
use tokio::sync::mpsc;

pub(crate) use api::Api;
pub use debug::debug_stream;
pub use types::{
    AnswerBlock, ModelError, ModelErrorKind, Piece, Prompt, PromptItem, Response, ToolDefinition,
};

/// Every model that can be chosen, from the server's config, the environment and this machine.
#[derive(Clone, Debug)]
pub struct Inventory {}

/// Why the inventory cannot be had: names file and line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InventoryError(pub String);

impl Inventory {
    /// Returns what `<data>/models.toml` and the variables configure.
    ///
    /// # Errors
    /// Where the file is there and cannot be read or understood; a missing file is none.
    pub async fn load(
        _data: &Path,
        _variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, InventoryError> {
        unreachable!("placeholder")
    }

    /// Returns the models in the order to show.
    pub fn list(&self) -> Vec<ModelInfo> {
        unreachable!("placeholder")
    }

    /// Returns the model that new sessions get.
    pub fn default_model(&self) -> ModelRef {
        unreachable!("placeholder")
    }

    /// Returns the model to talk to; `None`: it is not configured.
    pub fn resolve(&self, _model: &ModelRef) -> Option<Model> {
        unreachable!("placeholder")
    }
}

/// A model that requests can be made to.
#[derive(Clone, Debug)]
pub struct Model {}

impl Model {
    /// Returns what can be shown of it.
    pub fn info(&self) -> &ModelInfo {
        unreachable!("placeholder")
    }

    /// Makes one request. Pieces are sent as they come; dropping the future ends the request at once.
    ///
    /// # Errors
    /// [`ModelError`], with what had arrived.
    pub async fn request(
        &self,
        _prompt: &Prompt,
        _pieces: &mpsc::UnboundedSender<Piece>,
    ) -> Result<Response, ModelError> {
        unreachable!("placeholder")
    }
}

/// Returns how long to wait before try `attempt` (from 2), or `None` where there is to be no other try.
/// `jitter` is from 0 to 1.
pub fn retry_delay(
    _error: &ModelError,
    _attempt: u32,
    _jitter: f64,
) -> Option<std::time::Duration> {
    unreachable!("placeholder")
}
