//! The harness: a hermetic world with the real programs in it, and a terminal whose screen can be read and waited for.

pub mod bench;
pub mod client;
pub mod picture;
pub mod process;
pub mod proxy;
pub mod terminal;
pub mod world;

pub use proxy::Proxy;
pub use terminal::Terminal;
pub use world::{Server, World};
