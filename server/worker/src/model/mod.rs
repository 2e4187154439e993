//! Models: what can be chosen, and one request to one of them. It keeps no conversation and decides no retry by itself.

mod types;

mod inventory;

mod builtin;
mod config;
mod key;
mod local;

mod http;
mod request;

mod answer;
mod api;
mod chat;
mod classify;
mod decoder;
mod failure;
mod messages;
mod responses;
mod retry;
mod sse;
mod think;

mod practice;
mod price;
mod scope;

mod debug;

#[cfg(test)]
pub(crate) mod scripted;

pub(crate) use api::Api;
pub use debug::debug_stream;
pub(crate) use http::Clients;
pub use inventory::{Inventory, InventoryError, Model};
pub(crate) use key::{Key, mask};
pub use price::cost_nanos;
pub use retry::retry_delay;
pub use types::{
    AnswerBlock, FileContent, ModelError, ModelErrorKind, Piece, Prompt, PromptFile, PromptItem,
    Response, ToolDefinition,
};
