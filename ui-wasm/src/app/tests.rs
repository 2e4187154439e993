//! The UI as a whole: what happened, keys, and what follows. A fixed world, so that every screen is the same each time.

mod finding;
mod laws;
mod link;
mod looking;
mod others;
mod questions;
mod rooms;
mod screens;
mod shown;
mod sizes;
mod states;
mod words;
mod world;
