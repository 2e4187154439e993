//! The known ways for a bundle to be hostile, one row each, through the real checks, the real compile child and the real
//! sandbox child; and the life of the sandbox's process. What a UI may do with a launcher's actions is tested with the core.

mod bounds;
mod compiling;
mod end;
mod features;
mod life;
mod linking;
mod posting;
#[path = "../guest/sandboxed.rs"]
mod sandboxed;
#[path = "../guest/text.rs"]
mod text;
