//! The launcher in a real terminal, with a small server and bundles that follow a script.
//! The whole product end to end is tried elsewhere.

mod alphabet;
mod bytes;
mod leaving;
mod local;
mod output;
mod script;
mod server;
mod shell;
mod stage;
mod tmux;
