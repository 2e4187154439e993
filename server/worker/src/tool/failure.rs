//! A call that failed: told to people in few words and to the model in enough to act on. It carries nothing to look at.

use porthole_protocol::{ToolDetail, ToolOutcome};

use super::ToolResult;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// One short line for people.
    pub(super) summary: String,
    /// What the model is told.
    pub(super) text: String,
}

impl From<Failure> for ToolResult {
    fn from(failure: Failure) -> Self {
        Self {
            attachments: Vec::new(),
            outcome: ToolOutcome::Failed,
            summary: failure.summary,
            text: failure.text,
            detail: ToolDetail::Text,
        }
    }
}

/// Returns a failure.
pub(super) fn failed(summary: impl Into<String>, text: impl Into<String>) -> Failure {
    Failure {
        summary: summary.into(),
        text: text.into(),
    }
}
