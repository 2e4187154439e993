//! The launcher as a library, so that its binary, its tests and its benchmarks share one code.
//! Not an API for others.

pub mod bundle;
pub mod debug;
pub mod escape;
pub mod sandbox;
pub mod screen;
