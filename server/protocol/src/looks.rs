//! How a server wishes its UI to look: defaults and themes as their owner wrote them. What is in the texts is the UI's to
//! read; no key of them is a privilege.

use serde::{Deserialize, Serialize};

/// The looks that a server offers. A visitor's own preferences and themes go before them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looks {
    /// The defaults as TOML: the keys of a visitor's table `[ui]`, and `theme` and `reduced_motion`. May be empty.
    #[serde(default)]
    pub defaults: String,
    /// The themes, by name.
    #[serde(default)]
    pub themes: Vec<ThemeText>,
    /// What could not be taken and why, for the owner.
    #[serde(default)]
    pub complaints: Vec<String>,
}

/// A theme as its file has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThemeText {
    /// Its name.
    pub name: String,
    /// The file, as TOML.
    pub text: String,
}
