//! What can be typed as `/name`: prompt templates and skills of a conversation, as a completion shows them.

use serde::{Deserialize, Serialize};

/// A template or skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptRow {
    /// What is typed behind the `/`: `review`, `skill:pdf`.
    pub name: String,
    /// What it is for, one line; may be empty.
    pub description: String,
    /// What comes behind the name, as the template says: `<file> [style]`; may be empty.
    #[serde(default)]
    pub arguments: String,
    /// Which kind.
    pub kind: PromptKind,
    /// The file, as shown.
    pub path: String,
}

/// Which kind of prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptKind {
    /// Its text takes the place of what was typed.
    Template,
    /// Instructions with files of their own, which the model may also take up by itself.
    Skill,
}

/// A file of prompts that was passed over, or is in force in an older form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptFault {
    /// The file, as shown.
    pub path: String,
    /// From 1; 0 where it is of the whole file.
    #[serde(default)]
    pub line: u32,
    /// What is wrong, for a person.
    pub message: String,
}
