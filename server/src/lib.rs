//! The server of Porthole as a library, so that it can be tested whole. The program is `main.rs`.
//!
//! In reading order: where a request may come from, who it is from, what they may do; then what is kept; then how
//! everything is connected.

pub mod access;
pub mod caller;
pub mod gate;
pub mod pass;
pub mod permit;

pub mod bundle;
pub mod catalog;
pub mod data;
pub mod key;
pub mod name;
pub mod sessions;
pub mod settings;
pub mod token;

mod entries;
pub mod export;
pub mod import;
pub mod search;

pub mod diagnostics;
pub mod redact;

pub mod limiter;
mod looks;
pub mod outbox;
pub mod outlet;
mod own_calls;
pub mod server;
mod session_folder;
pub mod switchboard;
pub mod worker_process;

pub mod answer;
pub mod door;
pub mod http;
pub mod link;
pub mod lobby;
pub mod local;
pub mod log;
pub mod serve;
pub mod steady;
pub mod tls;
pub mod transfer;

pub mod cli;
