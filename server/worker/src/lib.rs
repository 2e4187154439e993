//! The engine of one session: its store, conversations, turns, models and tools. It knows no HTTP server and no gate.

mod access;
mod attachment;
mod branch;
mod call;
mod calls;
mod compaction;
mod conversation;
mod failure;
mod files;
mod fit;
mod hands;
mod link;
mod location;
mod mcp;
pub mod model;
mod nested;
mod place;
mod policy;
mod prompt;
mod question;
mod record;
mod resources;
mod resume;
mod session;
mod shell;
mod stop;
mod store;
mod submission;
pub mod tool;
mod turn;
mod view;
pub mod wire;

pub use mcp::{McpServer, mcp_servers};
pub use session::{RunError, run};
pub use store::{Kept, Shelf, ShelfError, import, settle_copy, with_store_held};
