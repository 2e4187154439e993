//! What a command says when it cannot go on: one sentence, a hint, an exit status.
//! It carries no secrets and no raw bytes of others; whoever builds one escapes foreign text first.

use std::fmt;

/// A refusal in words, for a person at a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What failed, without a full stop.
    pub message: String,
    /// What to do next; empty where nothing helps.
    pub hint: String,
    /// The exit status: 1 failed, 2 wrong usage.
    pub status: u8,
}

impl Failure {
    /// Returns a failure of status 1.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
            status: 1,
        }
    }

    /// Returns a failure of status 2: the command was not understood.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            status: 2,
            ..Self::new(message, hint)
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "error: {}", self.message)?;
        if self.hint.is_empty() {
            return Ok(());
        }
        write!(out, "\n\nhint: {}", self.hint)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string(), "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_reads_error_blank_line_hint() {
        let failure = Failure::new("no server is known", "run `porthole LINK`");
        assert_eq!(
            failure.to_string(),
            "error: no server is known\n\nhint: run `porthole LINK`"
        );
        assert_eq!(Failure::new("it broke", "").to_string(), "error: it broke");
    }
}
