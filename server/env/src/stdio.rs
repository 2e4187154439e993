//! The same environment over the stdin and stdout of a program, wherever that runs: frames, the program's side, the
//! other side. It brings no network of its own.

mod frame;
mod remote;
mod serve;

pub use remote::Remote;
pub use serve::{serve, serve_on};
