//! What the examples share: a scripted model server. The rest of this crate is programs to read and to copy from.

#[cfg(not(target_arch = "wasm32"))]
pub mod model_server;
