//! An execution environment: files, processes and search on one machine, behind one trait. It decides nothing about who may.

/// The one way to files and processes of a machine.
pub trait Environment: Send + Sync {}
