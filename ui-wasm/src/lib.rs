//! The UI of Porthole.

pub mod frame;
mod highlight;
mod markdown;
pub mod text;
pub mod theme;
pub mod transcript;
