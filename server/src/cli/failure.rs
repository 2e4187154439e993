//! Why a command failed, for a person: what failed, and what to do next.

use std::io::{IsTerminal as _, Write as _};

use super::plain::plain;

/// A failure of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    message: String,
    hint: String,
}

impl Failure {
    /// Returns a failure without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: String::new(),
        }
    }

    /// Returns the failure with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Prints it to standard error.
    pub(super) fn print(&self) {
        let mut stderr = std::io::stderr().lock();
        let colour =
            stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let label = |name: &str, code: &str| match colour {
            true => format!("\x1b[{code}m{name}:\x1b[0m"),
            false => format!("{name}:"),
        };
        // Nobody is left to tell where standard error is gone.
        let _ = writeln!(
            stderr,
            "{} {}",
            label("error", "1;31"),
            plain(&self.message)
        );
        if !self.hint.is_empty() {
            let _ = writeln!(stderr, "\n{} {}", label("hint", "1;36"), plain(&self.hint));
        }
    }
}

impl From<porthole_protocol::CallError> for Failure {
    fn from(error: porthole_protocol::CallError) -> Self {
        Self {
            message: error.message,
            hint: error.hint,
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}
