//! A change of the visitor's preferences as a UI wishes it: the file after it, and what a person sees of the difference.
//! Comments and order stay; what is the launcher's own cannot be reached. It reads and writes nothing.

use porthole_bridge::{Preference, limits};
use similar::{ChangeTag, TextDiff};
use toml_edit::{DocumentMut, Item, Table, value};

use crate::escape;

/// Keys at the top that are for a UI as well; all others of a UI's stand in its own table.
const SHARED: [&str; 2] = ["theme", "reduced_motion"];
/// Keys of the launcher, which a UI shall not even seem to set.
const OWN: [&str; 5] = [
    "launcher_key",
    "max_transfer_mib",
    "editor",
    "clipboard",
    "ui",
];

/// A change of the file of preferences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The file as it was when the visitor was asked.
    pub before: String,
    /// The file as it is to be.
    pub after: String,
}

impl Patch {
    /// Returns what the wishes make of the file.
    ///
    /// # Errors
    /// Why they cannot be kept.
    pub fn new(before: &str, wishes: &[Preference]) -> Result<Self, &'static str> {
        let mut document: DocumentMut = before
            .parse()
            .map_err(|_| "the file of preferences is no TOML; correct it first")?;
        for wish in wishes {
            apply(&mut document, wish)?;
        }
        let after = document.to_string();
        if after.len() > limits::PREFERENCES_BYTES {
            return Err("the file of preferences would become too large");
        }
        match after == before {
            true => Err("it is in your preferences already"),
            false => Ok(Self {
                before: before.to_owned(),
                after,
            }),
        }
    }

    /// Returns the lines that go and those that come, with everything invisible spelled out.
    pub fn difference(&self) -> String {
        let diff = TextDiff::from_lines(self.before.as_str(), self.after.as_str());
        let mut lines = Vec::new();
        for change in diff.iter_all_changes() {
            let mark = match change.tag() {
                ChangeTag::Equal => continue,
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let line = change.value().trim_end_matches('\n');
            if !line.is_empty() {
                lines.push(format!("{mark} {}", escape::visible(line)));
            }
        }
        lines.join("\n")
    }
}

fn apply(document: &mut DocumentMut, wish: &Preference) -> Result<(), &'static str> {
    const NO_TABLE: &str = "your preferences have something else in that place";
    let mut path: Vec<&str> = wish.key.split('.').collect();
    if path.len() > 2 || !path.iter().all(|part| is_key(part)) {
        return Err("this is no name of a preference");
    }
    if OWN.contains(&path[0]) {
        return Err("this preference is the launcher's own");
    }
    let is_shared = path.len() == 1 && SHARED.contains(&path[0]);
    if !is_shared {
        path.insert(0, "ui");
    }
    let item = match wish.value.as_deref() {
        None => None,
        Some(text) if escape::visible(text) != text => return Err("this is no value to keep"),
        Some("true") => Some(value(true)),
        Some("false") => Some(value(false)),
        Some(text) => Some(value(text)),
    };
    let Some((name, tables)) = path.split_last() else {
        return Err(NO_TABLE);
    };
    let mut table = document.as_table_mut();
    for part in tables {
        let inner = table
            .entry(part)
            .or_insert_with(|| Item::Table(Table::new()));
        table = inner.as_table_mut().ok_or(NO_TABLE)?;
    }
    match item {
        None => drop(table.remove(name)),
        Some(item) => set(table, name, item),
    }
    Ok(())
}

/// Sets a value; what a person wrote above and beside the old one stays.
fn set(table: &mut Table, name: &str, mut item: Item) {
    let Some(old) = table.get_mut(name) else {
        table.insert(name, item);
        return;
    };
    if let (Some(new), Some(old)) = (item.as_value_mut(), old.as_value()) {
        *new.decor_mut() = old.decor().clone();
    }
    *old = item;
}

fn is_key(part: &str) -> bool {
    let fine = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'-' | b'_');
    !part.is_empty() && part.bytes().all(fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(key: &str, value: &str) -> Preference {
        Preference {
            key: key.to_owned(),
            value: (!value.is_empty()).then(|| value.to_owned()),
        }
    }

    #[test]
    fn a_wish_changes_its_line_and_nothing_else() {
        let before = "# mine\ntheme = \"dark\" # at night\nlauncher_key = \"ctrl-g\"\n\n[ui]\nkeys = \"vi\"\n";
        let wishes = [
            wish("theme", "light"),
            wish("bindings.find", "ctrl-g, f5"),
            wish("keys", ""),
        ];
        let patch = Patch::new(before, &wishes).expect("kept");
        insta::assert_snapshot!(patch.after, @r#"
        # mine
        theme = "light" # at night
        launcher_key = "ctrl-g"

        [ui]

        [ui.bindings]
        find = "ctrl-g, f5"
        "#);
        insta::assert_snapshot!(patch.difference(), @r#"
        - theme = "dark" # at night
        + theme = "light" # at night
        - keys = "vi"
        + [ui.bindings]
        + find = "ctrl-g, f5"
        "#);
    }

    #[test]
    fn nothing_of_the_launchers_can_be_reached() {
        for key in [
            "launcher_key",
            "max_transfer_mib",
            "ui",
            "ui.keys",
            "editor",
            "clipboard",
        ] {
            assert!(Patch::new("", &[wish(key, "x")]).is_err(), "{key}");
        }
        for key in ["", "a.b.c", "a b", "A", "a\n", "\"a\"", "a=1\nlauncher_key"] {
            assert!(Patch::new("", &[wish(key, "x")]).is_err(), "{key}");
        }
        let patch = Patch::new("", &[wish("x", "a\" \nlauncher_key = \"b")]);
        assert!(patch.is_err(), "a value is one line");
        let quoted = Patch::new("", &[wish("x", "a\" # b")]).expect("kept");
        let read: toml::Table = quoted.after.parse().expect("TOML");
        assert_eq!(read["ui"]["x"].as_str(), Some("a\" # b"));
    }

    #[test]
    fn what_is_kept_already_is_not_asked_about() {
        assert!(Patch::new("theme = \"dark\"\n", &[wish("theme", "dark")]).is_err());
        assert!(Patch::new("theme = \n", &[wish("theme", "dark")]).is_err());
        assert!(Patch::new("ui = 1\n", &[wish("keys", "vi")]).is_err());
    }
}
