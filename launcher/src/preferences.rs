//! The visitor's preferences: `preferences.toml` in the launcher's config folder.
//! A UI is told its own table of them and nothing that is a privilege.

use std::path::Path;

use crate::{chord::Chord, escape, failure::Failure, folders};

/// Largest file that is read, in bytes.
const FILE_BYTES: usize = 64 << 10;

/// What the visitor prefers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// The theme's name; empty: the one that fits the background.
    pub theme: String,
    /// No animation.
    pub reduced_motion: bool,
    /// The key that reaches the launcher (`launcher_key = "ctrl-g"`).
    pub launcher_key: Chord,
    /// The largest file that is sent or saved, in MiB, where it is not the usual (`max_transfer_mib = 100`).
    pub transfer_mib: Option<u32>,
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
        let text = match folders::read_own(&path, FILE_BYTES) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(Self::default()),
            Err(error) => return Err(Failure::new(format!("`{shown}`: {error}"), "")),
        };
        Self::parse(&text)
            .map_err(|why| Failure::new(format!("`{shown}`: {why}"), "correct or remove the file"))
    }

    /// Returns the largest file that is sent or saved, in bytes.
    pub fn transfer_bytes(&self) -> u64 {
        self.transfer_mib
            .map_or(porthole_door::DOWNLOAD_BYTES, |mib| u64::from(mib) << 20)
    }

    fn parse(text: &str) -> Result<Self, String> {
        if text.len() > FILE_BYTES {
            return Err(format!("is over {FILE_BYTES} bytes"));
        }
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| escape::visible_cut(error.message(), 120))?;
        let launcher_key = match table.get("launcher_key") {
            None => Chord::default(),
            Some(value) => value
                .as_str()
                .unwrap_or_default()
                .parse()
                .map_err(|why| format!("`launcher_key` {why}"))?,
        };
        let ui = table.get("ui").and_then(toml::Value::as_table).cloned();
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
            launcher_key,
            transfer_mib: table
                .get("max_transfer_mib")
                .map(|value| {
                    let mib = value.as_integer().and_then(|mib| u32::try_from(mib).ok());
                    mib.ok_or("`max_transfer_mib` is not a number of MiB")
                })
                .transpose()?,
            for_ui: for_ui(ui, launcher_key),
        })
    }
}

/// Returns what UIs are told: their own table, and the launcher's key so that they can name it.
fn for_ui(table: Option<toml::Table>, launcher_key: Chord) -> String {
    let mut table = table.unwrap_or_default();
    let key = toml::Value::String(launcher_key.to_string());
    table.insert("launcher_key".to_owned(), key);
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ui_is_told_the_launchers_key_on_a_line_of_the_top_table_whatever_else_it_is_told() {
        for (text, line) in [
            ("", "launcher_key = \"Ctrl-]\""),
            ("launcher_key = \"ctrl-g\"", "launcher_key = \"Ctrl-G\""),
            ("launcher_key = \"ctrl-\\\\\"", "launcher_key = 'Ctrl-\\'"),
            (
                "[ui]\nlauncher_key = \"ctrl-g\"\nkeys = \"emacs\"\n[ui.bindings]\nfind = \"f5\"",
                "launcher_key = \"Ctrl-]\"",
            ),
        ] {
            let told = Preferences::parse(text).expect("parses").for_ui;
            let top = told.lines().take_while(|line| !line.starts_with('['));
            assert_eq!(top.filter(|found| *found == line).count(), 1, "{told}");
        }
    }

    #[test]
    fn only_the_ui_table_is_for_uis() {
        let read = Preferences::parse(
            "theme = \"dusk\"\nreduced_motion = true\nsecret = 1\n[ui]\nkeys = \"emacs\"\n",
        )
        .expect("parses");
        assert_eq!(read.theme, "dusk");
        assert!(read.reduced_motion);
        assert_eq!(
            read.for_ui.trim(),
            "keys = \"emacs\"\nlauncher_key = \"Ctrl-]\""
        );
        assert!(Preferences::parse("theme = ").is_err());
    }

    #[test]
    fn the_bound_of_transfers_is_the_usual_one_where_none_is_set() {
        let bytes = |text: &str| Preferences::parse(text).map(|read| read.transfer_bytes());
        assert_eq!(bytes(""), Ok(25 << 20));
        assert_eq!(bytes("max_transfer_mib = 100"), Ok(100 << 20));
        assert!(bytes("max_transfer_mib = -1").is_err());
    }

    #[test]
    fn the_launchers_key_is_the_visitors_to_choose_and_no_uis() {
        let key = |text: &str| Preferences::parse(text).map(|read| read.launcher_key.to_string());
        assert_eq!(key(""), Ok("Ctrl-]".to_owned()));
        assert_eq!(key("launcher_key = \"ctrl-g\""), Ok("Ctrl-G".to_owned()));
        assert_eq!(
            key("[ui]\nlauncher_key = \"ctrl-g\""),
            Ok("Ctrl-]".to_owned())
        );
        for bad in ["\"g\"", "\"ctrl-c\"", "7"] {
            let why = key(&format!("launcher_key = {bad}")).expect_err("refused");
            assert!(why.starts_with("`launcher_key` "), "{why}");
        }
    }
}
