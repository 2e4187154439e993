//! Runs a UI behind two walls: wasm, and a process of its own that can do nothing. The launcher's side of both children.
//! Nothing here knows what the messages mean, and nothing of a bundle is ever executed or mapped in this process.

pub mod attempts;
mod cache;
pub mod child;
pub mod compile;
mod compiler;
mod engine;
mod fault;
mod handle;
mod pipe;
mod probe;
mod ticker;
mod ui;
mod walls;

pub use cache::{Artifact, artifact, is_thorough};
pub use compiler::{compile, compile_by, compile_with};
pub use engine::Effort;
pub use fault::UiFault;
pub use handle::{Sandbox, SandboxEvent};
pub use probe::{Standing, check, check_with};
pub use walls::Walls;

/// Returns the program that the children are: this one, even where its file was replaced meanwhile.
fn program() -> std::path::PathBuf {
    if cfg!(target_os = "linux") {
        return "/proc/self/exe".into();
    }
    std::env::current_exe().unwrap_or_else(|_| "porthole".into())
}
