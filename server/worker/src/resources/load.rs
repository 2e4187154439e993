//! Finding and reading the files, each bounded. A file that cannot be used is a fault of its own and holds up no other.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::{Resources, Skill, Template, matter};
use crate::place::shown;

/// Largest file.
const FILE_BYTES: u64 = 64 << 10;
/// Most of all rules together.
const RULES_BYTES: usize = 96 << 10;
/// Templates, and skills, at most.
const MOST_FILES: usize = 200;
/// Folders above the working directory that are looked at.
const LEVELS: usize = 64;
/// Longest name and description, in characters.
const NAME_CHARS: usize = 64;
const DESCRIPTION_CHARS: usize = 1_024;

/// Returns what is there for a directory. Blocks.
pub(crate) fn load(cwd: &Path, home: Option<&Path>) -> Resources {
    let mut loader = Loader {
        home,
        found: Resources::default(),
    };
    let folders = folders(cwd, home);
    // The most general rules come first, so that the nearest have the last word.
    for folder in folders.iter().rev() {
        loader.rules(&folder.join("AGENTS.md"));
    }
    // Of two with one name the nearest counts.
    for folder in &folders {
        let own = match folder.ends_with(".agents") {
            true => folder.clone(),
            false => folder.join(".agents"),
        };
        loader.templates(&own.join("prompts"));
        loader.skills(&own.join("skills"));
    }
    loader.found
}

/// Returns the directory, those above it up to the root of its repository, and the one of the person, nearest first.
fn folders(cwd: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let above: Vec<_> = cwd.ancestors().take(LEVELS).collect();
    let root = above.iter().position(|folder| folder.join(".git").exists());
    // Without a repository only the directory itself is known to belong to the work.
    let last = root.unwrap_or(0);
    let mut folders: Vec<_> = above[..=last]
        .iter()
        .map(|folder| folder.to_path_buf())
        .collect();
    folders.extend(home.map(|home| home.join(".agents")));
    folders
}

struct Loader<'a> {
    home: Option<&'a Path>,
    found: Resources,
}

impl Loader<'_> {
    fn rules(&mut self, path: &Path) {
        let Some(text) = self.read(path) else { return };
        let before: usize = self.found.rules.iter().map(|(_, text)| text.len()).sum();
        if before + text.len() > RULES_BYTES {
            let kib = RULES_BYTES >> 10;
            return self.fault(
                path,
                0,
                &format!("with it the rules would be over {kib} KiB"),
            );
        }
        if !text.trim().is_empty() {
            self.found.rules.push((shown(path, self.home), text));
        }
    }

    fn templates(&mut self, folder: &Path) {
        for path in names(folder) {
            let is_template = path.extension().is_some_and(|end| end == "md");
            let name = path.file_stem().and_then(|name| name.to_str());
            let Some(name) = name.filter(|_| is_template) else {
                continue;
            };
            let taken = self.found.templates.iter().any(|other| other.name == name);
            if taken || self.found.templates.len() >= MOST_FILES {
                continue;
            }
            if let Some(template) = self.template(&path, name) {
                self.found.templates.push(template);
            }
        }
    }

    fn template(&mut self, path: &Path, name: &str) -> Option<Template> {
        let text = self.read(path)?;
        let parts = self.split(path, &text)?;
        if !is_name(name) {
            self.fault(
                path,
                0,
                "its name is not made of letters, digits, `-`, `_` and `.`",
            );
            return None;
        }
        let field = |name: &str| parts.fields.get(name).cloned().unwrap_or_default();
        let first = || parts.body.lines().find(|line| !line.trim().is_empty());
        let description = match field("description") {
            empty if empty.is_empty() => first().unwrap_or_default().to_owned(),
            given => given,
        };
        Some(Template {
            name: name.to_owned(),
            description: line(&description),
            arguments: line(&field("argument-hint")),
            path: shown(path, self.home),
            text: parts.body.to_owned(),
        })
    }

    fn skills(&mut self, folder: &Path) {
        for folder in names(folder) {
            let path = folder.join("SKILL.md");
            if !path.is_file() || self.found.skills.len() >= MOST_FILES {
                continue;
            }
            if let Some(skill) = self.skill(&folder, &path) {
                let taken = self
                    .found
                    .skills
                    .iter()
                    .any(|other| other.name == skill.name);
                if !taken {
                    self.found.skills.push(skill);
                }
            }
        }
    }

    fn skill(&mut self, folder: &Path, path: &Path) -> Option<Skill> {
        let text = self.read(path)?;
        let parts = self.split(path, &text)?;
        let own = folder.file_name().and_then(|name| name.to_str());
        let name = parts.fields.get("name").map(String::as_str).or(own);
        let Some(name) = name.filter(|name| is_name(name)) else {
            self.fault(
                path,
                0,
                "its name is not made of letters, digits, `-`, `_` and `.`",
            );
            return None;
        };
        let description = parts
            .fields
            .get("description")
            .filter(|text| !text.is_empty());
        let Some(description) = description else {
            self.fault(
                path,
                0,
                "it has no `description`, so that nobody knows when to use it",
            );
            return None;
        };
        let hidden = parts.fields.get("disable-model-invocation");
        Some(Skill {
            name: name.to_owned(),
            description: line(description),
            path: path.display().to_string(),
            folder: folder.display().to_string(),
            text: parts.body.to_owned(),
            offered: hidden.is_none_or(|word| word != "true"),
        })
    }

    fn split<'a>(&mut self, path: &Path, text: &'a str) -> Option<matter::Parts<'a>> {
        match matter::split(text) {
            Ok(parts) => Some(parts),
            Err((line, why)) => {
                self.fault(path, line, why);
                None
            }
        }
    }

    /// Returns the text of a file; `None` where there is none, or where it cannot be used, which is told.
    fn read(&mut self, path: &Path) -> Option<String> {
        // A pipe would never end, and a link may lead to one.
        if !path.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        let read =
            File::open(path).and_then(|file| file.take(FILE_BYTES + 1).read_to_end(&mut bytes));
        match read {
            Err(error) => self.fault(path, 0, &format!("it cannot be read: {error}")),
            Ok(_) if bytes.len() as u64 > FILE_BYTES => {
                self.fault(
                    path,
                    0,
                    &format!("it is larger than {} KiB", FILE_BYTES >> 10),
                );
            }
            Ok(_) => match String::from_utf8(bytes) {
                Ok(text) => return Some(text),
                Err(_) => self.fault(path, 0, "it is not UTF-8"),
            },
        }
        None
    }

    fn fault(&mut self, path: &Path, line: u32, message: &str) {
        let path = shown(path, self.home);
        self.found.faults.push((path, line, message.to_owned()));
    }
}

/// Returns what is in a folder, sorted, a bounded number of it.
fn names(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let some = entries.flatten().take(4 * MOST_FILES);
    let mut names: Vec<_> = some.map(|entry| entry.path()).collect();
    names.sort();
    names
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.chars().count() <= NAME_CHARS && name.chars().all(fits)
}

/// Returns a text as one line without control characters.
fn line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    let plain = words.join(" ");
    plain
        .chars()
        .filter(|c| !c.is_control())
        .take(DESCRIPTION_CHARS)
        .collect()
}
