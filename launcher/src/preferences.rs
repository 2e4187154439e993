//! The visitor's preferences: `preferences.toml` in the launcher's config folder.
//! A UI is told its own table of them and nothing that is a privilege.

use std::path::Path;

use crate::{escape, failure::Failure};

/// Largest file that is read, in bytes.
const FILE_BYTES: usize = 64 << 10;

/// What the visitor prefers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// The theme's name; empty: the one that fits the background.
    pub theme: String,
    /// No animation.
    pub reduced_motion: bool,
    /// The table `[ui]` as TOML, handed to UIs.
    pub for_ui: String,
}

impl Preferences {
    /// Reads the file in `config`; none is there means none are set.
    ///
    /// # Errors
    /// Where the file cannot be read or is no TOML.
    pub fn read(config: &Path) -> Result<Self, Failure> {
        let path = config.join("preferences.toml");
        let shown = escape::visible(&path.to_string_lossy());
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(Failure::new(format!("`{shown}`: {error}"), "")),
        };
        Self::parse(&text)
            .map_err(|why| Failure::new(format!("`{shown}`: {why}"), "correct or remove the file"))
    }

    fn parse(text: &str) -> Result<Self, String> {
        if text.len() > FILE_BYTES {
            return Err(format!("is over {FILE_BYTES} bytes"));
        }
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| escape::visible_cut(error.message(), 120))?;
        let ui = table.get("ui").and_then(toml::Value::as_table);
        Ok(Self {
            theme: table
                .get("theme")
                .and_then(toml::Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            reduced_motion: table
                .get("reduced_motion")
                .and_then(toml::Value::as_bool)
                .unwrap_or(false),
            for_ui: ui.map(toml::Table::to_string).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ui_table_is_for_uis() {
        let read = Preferences::parse(
            "theme = \"dusk\"\nreduced_motion = true\nsecret = 1\n[ui]\nkeys = \"emacs\"\n",
        )
        .expect("parses");
        assert_eq!(read.theme, "dusk");
        assert!(read.reduced_motion);
        assert_eq!(read.for_ui.trim(), "keys = \"emacs\"");
        assert!(Preferences::parse("theme = ").is_err());
    }
}
