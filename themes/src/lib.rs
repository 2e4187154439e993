//! Files of looks on either side: a folder of themes and a file of preferences, read within bounds and watched for
//! changes. Here they need only be TOML; what they mean is the UI's to understand.

mod watch;

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

pub use watch::{DEBOUNCE, Watch};

/// Largest file of preferences, in bytes.
pub const FILE_BYTES: usize = 256 << 10;
/// Themes that a folder may hold.
pub const THEMES: usize = 64;
/// Bytes of all themes of a folder together.
pub const THEMES_BYTES: usize = 1 << 20;
/// Longest name of a theme.
const NAME_BYTES: usize = 40;

/// A theme as its file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeFile {
    /// Its name: that of the file, without `.toml`.
    pub name: String,
    /// What is in the file.
    pub text: String,
}

/// What a folder of themes holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The themes, by name.
    pub themes: Vec<ThemeFile>,
    /// What was left out and why, for a person.
    pub complaints: Vec<String>,
}

/// Returns the themes in a folder, in the order of their names; none where there is no such folder. One that is no TOML
/// stays as it was `before`.
pub fn read_folder(folder: &Path, before: &[ThemeFile]) -> Found {
    let mut found = Found::default();
    let mut left = THEMES_BYTES;
    for (name, path) in theme_paths(folder) {
        let complaint = match (found.themes.len() < THEMES, is_name(&name)) {
            (false, _) => format!("`{name}.toml` is left out: {THEMES} themes are the most"),
            (_, false) => {
                format!("`{name}.toml` is left out: a theme's name has letters, digits, - and _")
            }
            _ => match read(&path, FILE_BYTES.min(left)) {
                Ok(text) => {
                    let (theme, complaint) = good(ThemeFile { name, text }, before);
                    left = left.saturating_sub(theme.as_ref().map_or(0, |t| t.text.len()));
                    found.themes.extend(theme);
                    found.complaints.extend(complaint);
                    continue;
                }
                Err(why) => format!("`{name}.toml` is left out: {why}"),
            },
        };
        found.complaints.push(complaint);
    }
    found
}

/// Returns the theme, or the last good one of its name, and what is wrong with it.
fn good(theme: ThemeFile, before: &[ThemeFile]) -> (Option<ThemeFile>, Option<String>) {
    let Some(wrong) = wrong(&theme.text) else {
        return (Some(theme), None);
    };
    let last = before.iter().find(|last| last.name == theme.name).cloned();
    let then = match last {
        Some(_) => "; the last good one stays",
        None => "; it is left out",
    };
    (last, Some(format!("`{}.toml`, {wrong}{then}", theme.name)))
}

/// Returns where and why a text is no TOML: "line 3: …"; nothing where it is.
pub fn wrong(text: &str) -> Option<String> {
    let error = text.parse::<toml::Table>().err()?;
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..at]
        .iter()
        .filter(|b| **b == b'\n')
        .count()
        + 1;
    Some(format!("line {line}: {}", error.message().trim()))
}

/// Returns the text of a file of preferences; none where there is no such file.
///
/// # Errors
/// Why it cannot be read or is no TOML, in words, with the line.
pub fn read_file(path: &Path) -> Result<Option<String>, String> {
    match path.try_exists() {
        Ok(false) => Ok(None),
        Ok(true) => {
            let text = read(path, FILE_BYTES)?;
            wrong(&text).map_or(Ok(Some(text)), Err)
        }
        Err(error) => Err(error.to_string()),
    }
}

fn theme_paths(folder: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let named = |path: PathBuf| {
        let is_toml = path.extension().is_some_and(|end| end == "toml");
        let name = path.file_stem()?.to_string_lossy().into_owned();
        is_toml.then_some((name, path))
    };
    // A folder that somebody filled with rubbish costs no more than this.
    let entries = entries.flatten().take(THEMES * 16);
    let mut paths: Vec<_> = entries.filter_map(|entry| named(entry.path())).collect();
    paths.sort();
    paths
}

fn is_name(name: &str) -> bool {
    let fine = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
    (1..=NAME_BYTES).contains(&name.len()) && name.bytes().all(fine)
}

/// Reads a plain file of at most so many bytes. Anything else could keep its reader waiting.
fn read(path: &Path, most: usize) -> Result<String, String> {
    let words = |error: std::io::Error| error.to_string();
    if !std::fs::metadata(path).map_err(words)?.is_file() {
        return Err("it is no plain file".to_owned());
    }
    let file = File::open(path).map_err(words)?;
    let mut bytes = Vec::new();
    let bound = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    file.take(bound).read_to_end(&mut bytes).map_err(words)?;
    if bytes.len() > most {
        return Err(format!("it is over {most} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "it is no UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_gives_its_themes_by_name_and_says_what_it_leaves_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let put =
            |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("put");
        put("dusk.toml", b"b = 1");
        put("dawn.toml", b"a = 1");
        put("no theme.toml", b"");
        put("large.toml", &vec![b' '; FILE_BYTES + 1]);
        put("latin.toml", b"\xe9");
        put("notes.txt", b"");
        fs::create_dir(folder.path().join("folder.toml")).expect("made");
        let found = read_folder(folder.path(), &[]);
        let names: Vec<_> = found
            .themes
            .iter()
            .map(|theme| theme.name.as_str())
            .collect();
        assert_eq!(names, ["dawn", "dusk"]);
        assert_eq!(found.complaints.len(), 4, "{:?}", found.complaints);
        assert_eq!(
            read_folder(&folder.path().join("none"), &[]),
            Found::default()
        );
    }

    #[test]
    fn a_theme_that_is_no_toml_stays_as_it_was_and_its_line_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("dusk.toml");
        fs::write(&path, "a = 1\n").expect("put");
        let good = read_folder(folder.path(), &[]);
        fs::write(&path, "a = 1\nb =\n").expect("put");
        let kept = read_folder(folder.path(), &good.themes);
        assert_eq!(kept.themes, good.themes);
        assert!(
            kept.complaints[0].starts_with("`dusk.toml`, line 2: "),
            "{:?}",
            kept.complaints
        );
        assert!(read_folder(folder.path(), &[]).themes.is_empty());
        assert!(read_file(&path).is_err_and(|why| why.starts_with("line 2: ")));
    }

    #[test]
    fn themes_are_bounded_in_number_and_in_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        for at in 0..THEMES + 3 {
            fs::write(folder.path().join(format!("t{at:03}.toml")), "").expect("put");
        }
        let many = read_folder(folder.path(), &[]);
        assert_eq!((many.themes.len(), many.complaints.len()), (THEMES, 3));

        let folder = tempfile::tempdir().expect("a folder");
        for at in 0..5 {
            let path = folder.path().join(format!("t{at}.toml"));
            fs::write(path, vec![b' '; FILE_BYTES]).expect("put");
        }
        let large = read_folder(folder.path(), &[]);
        assert_eq!((large.themes.len(), large.complaints.len()), (4, 1));
    }

    #[test]
    fn no_file_is_no_preferences_and_one_too_large_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ui.toml");
        assert_eq!(read_file(&path), Ok(None));
        fs::write(&path, "a = 1").expect("put");
        assert_eq!(read_file(&path), Ok(Some("a = 1".to_owned())));
        fs::write(&path, vec![b' '; FILE_BYTES + 1]).expect("put");
        assert!(read_file(&path).is_err());
    }
}
