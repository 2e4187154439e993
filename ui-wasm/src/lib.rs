//! The UI of Porthole: a pure function from what happened to what to ask of the launcher, in `App::handle`.
//! It opens nothing, has no clock and no randomness, and draws only into a buffer of its own.

pub mod app;
mod around;
mod bindings;
mod clock;
mod commands;
mod composer;
mod conversation;
mod conversation_view;
mod editor;
mod effects;
mod errands;
#[cfg(target_arch = "wasm32")]
pub mod exports;
mod finder;
pub mod frame;
mod help;
mod highlight;
mod hints;
mod home;
mod home_view;
mod ids;
mod keymap;
mod look;
mod markdown;
mod mention;
mod notice;
mod palette;
mod picker;
mod question;
mod search;
mod server;
mod settings;
mod share;
mod snapshot;
pub mod text;
pub mod theme;
pub mod transcript;
mod usage;
mod welcome;
mod wishes;

pub use app::App;
