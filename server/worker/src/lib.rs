//! The engine of one session: its store, conversations, turns, models and tools. It knows no HTTP server and no gate.

pub mod model;
pub mod tool;
pub mod wire;
