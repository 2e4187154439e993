//! The core as tables: inputs in, effects out, and what the screen then says.

mod consent;
mod dialogs;
mod drawing;
mod life;
mod link;
mod menu;
mod successor;
mod transfer;
mod world;
