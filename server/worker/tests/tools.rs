//! The tools on a real folder with real processes, as the engine calls them. No engine, no model.

#[path = "tools/editing.rs"]
mod editing;
#[path = "tools/running.rs"]
mod running;
#[path = "tools/searching.rs"]
mod searching;
#[path = "tools/world.rs"]
mod world;
