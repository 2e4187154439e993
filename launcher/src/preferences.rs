//! The visitor's preferences: `preferences.toml` in the launcher's config folder.
//! A UI is told its own table of them and nothing that is a privilege.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use porthole_bridge::{Looks, ThemeText, limits};
use porthole_themes::ThemeFile;

use crate::{chord::Chord, escape, failure::Failure, patch::Patch};

/// Columns of a complaint.
const COMPLAINT_COLUMNS: usize = 120;

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
    /// The visitor's own themes, handed to UIs.
    pub themes: Vec<ThemeFile>,
    /// What could not be taken and why, for the visitor.
    pub complaints: Vec<String>,
    /// The file.
    pub path: PathBuf,
    /// The file as it was read; empty where there is none.
    pub source: String,
}

impl Preferences {
    /// Reads the file in `config` and the folder `themes` beside it; none is there means none are set.
    ///
    /// # Errors
    /// Where the file cannot be read or is no TOML.
    pub fn read(config: &Path) -> Result<Self, Failure> {
        let path = path(config);
        let shown = escape::visible(&path.to_string_lossy());
        let read = Self::read_file(&path).map_err(|why| {
            Failure::new(format!("`{shown}`, {why}"), "correct or remove the file")
        })?;
        Ok(read.with_themes(config, &[]))
    }

    /// Reads them anew. A file that cannot be taken stays as it was, and what is wrong with it is told.
    #[must_use]
    pub fn read_again(&self, config: &Path) -> Self {
        let read = Self::read_file(&path(config)).unwrap_or_else(|why| Self {
            complaints: vec![format!(
                "`preferences.toml`, {why}; the last good one stays"
            )],
            ..self.clone()
        });
        read.with_themes(config, &self.themes)
    }

    fn read_file(path: &Path) -> Result<Self, String> {
        let text = porthole_themes::read_file(path)
            .map_err(|why| escape::visible_cut(&why, COMPLAINT_COLUMNS))?;
        let source = text.unwrap_or_default();
        Ok(Self {
            path: path.to_owned(),
            ..Self::parse(&source)?
        })
    }

    fn with_themes(mut self, config: &Path, before: &[ThemeFile]) -> Self {
        let found = porthole_themes::read_folder(&config.join("themes"), before);
        self.themes = found.themes;
        let told = found.complaints.iter();
        self.complaints
            .extend(told.map(|why| escape::visible_cut(why, COMPLAINT_COLUMNS)));
        self.complaints.truncate(limits::COMPLAINTS);
        self
    }

    /// Returns what a UI is told of them.
    pub fn looks(&self) -> Looks {
        let theme = |file: &ThemeFile| ThemeText {
            name: file.name.clone(),
            text: file.text.clone(),
        };
        Looks {
            theme: self.theme.clone(),
            reduced_motion: self.reduced_motion,
            preferences: self.for_ui.clone(),
            themes: self.themes.iter().map(theme).collect(),
            complaints: self.complaints.clone(),
        }
    }

    /// Returns the largest file that is sent or saved, in bytes.
    pub fn transfer_bytes(&self) -> u64 {
        self.transfer_mib
            .map_or(porthole_door::DOWNLOAD_BYTES, |mib| u64::from(mib) << 20)
    }

    fn parse(text: &str) -> Result<Self, String> {
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
            source: text.to_owned(),
            ..Self::default()
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

/// Returns where the preferences are kept in the launcher's config folder.
pub fn path(config: &Path) -> PathBuf {
    config.join("preferences.toml")
}

/// Writes a change into the file, where that is still what the visitor was asked about. It is replaced whole.
///
/// # Errors
/// Why it was not written, in words.
pub fn write(path: &Path, patch: &Patch) -> Result<(), String> {
    let words = |error: std::io::Error| error.to_string();
    if porthole_themes::read_file(path)?.unwrap_or_default() != patch.before {
        return Err("the file was changed meanwhile".to_owned());
    }
    // Where it is a link to a file kept elsewhere, that file is the one to replace.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().ok_or("it has no folder")?;
    std::fs::create_dir_all(folder).map_err(words)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(words)?;
    file.write_all(patch.after.as_bytes()).map_err(words)?;
    file.as_file().sync_all().map_err(words)?;
    file.persist(&path).map_err(|error| words(error.error))?;
    Ok(())
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
    fn a_broken_file_keeps_the_last_good_one_and_names_its_line() {
        let config = tempfile::tempdir().expect("a folder");
        std::fs::write(path(config.path()), "theme = \"dusk\"\n").expect("written");
        let good = Preferences::read(config.path()).expect("read");
        std::fs::write(path(config.path()), "\ntheme = dusk\n").expect("written");
        let kept = good.read_again(config.path());
        assert_eq!((kept.theme.as_str(), &kept.source), ("dusk", &good.source));
        assert!(kept.complaints[0].starts_with("`preferences.toml`, line 2: "));
        let failure = Preferences::read(config.path()).expect_err("nothing to keep");
        assert!(failure.message.contains("line 2"), "{}", failure.message);
    }

    #[test]
    fn a_change_is_written_only_over_what_the_visitor_was_asked_about() {
        let config = tempfile::tempdir().expect("a folder");
        let path = path(&config.path().join("porthole"));
        let wish = porthole_bridge::Preference {
            key: "theme".to_owned(),
            value: Some("light".to_owned()),
        };
        let patch = Patch::new("", &[wish]).expect("a change");
        assert_eq!(write(&path, &patch), Ok(()));
        assert_eq!(std::fs::read_to_string(&path).expect("read"), patch.after);
        assert!(write(&path, &patch).is_err(), "it is another file now");
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
