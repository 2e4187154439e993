//! The walk over a tree that searches share: which files count. The rules are those of the queries.

use std::{
    ffi::OsStr,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use ignore::{
    DirEntry, WalkBuilder,
    overrides::{Override, OverrideBuilder},
};

use crate::{BadFile, EnvError, ErrorKind, WALK_FILES};

/// Most unreadable places told.
pub(super) const BAD_TOLD: usize = 20;

/// What a walk met, beside what it gave to its visitor.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) looked_at: u64,
    pub(super) cut: bool,
    pub(super) bad: Vec<BadFile>,
}

/// Gives every file and folder below `root` to `visit`, sorted by name. Ends early when `dropped` is raised.
pub(super) fn walk(
    root: &Path,
    dropped: &AtomicBool,
    mut visit: impl FnMut(&Path, &DirEntry),
) -> Walked {
    let rules = if is_in_repository(root) {
        Rules::Repository
    } else {
        Rules::Below
    };
    let walked = walk_with(root, rules, dropped, &mut visit);
    // A folder that was named is meant, also where everything in it is ignored.
    if walked.looked_at == 0 && walked.bad.is_empty() {
        return walk_with(root, Rules::None, dropped, &mut visit);
    }
    walked
}

/// Which ignore rules count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rules {
    /// Those of a git repository.
    Repository,
    /// Those of files from the root on down.
    Below,
    /// None.
    None,
}

fn walk_with(
    root: &Path,
    rules: Rules,
    dropped: &AtomicBool,
    visit: &mut impl FnMut(&Path, &DirEntry),
) -> Walked {
    let mut walked = Walked::default();
    let tree = WalkBuilder::new(root)
        .standard_filters(false)
        .ignore(rules != Rules::None)
        .git_ignore(rules != Rules::None)
        .parents(rules == Rules::Repository)
        .git_global(rules == Rules::Repository)
        .git_exclude(rules == Rules::Repository)
        // With it, the rules of a folder above the repository do not count.
        .require_git(rules == Rules::Repository)
        .follow_links(false)
        .filter_entry(|entry| entry.file_name() != OsStr::new(".git"))
        .sort_by_file_name(OsStr::cmp)
        .build();
    for entry in tree {
        if walked.looked_at >= WALK_FILES || dropped.load(Ordering::Relaxed) {
            walked.cut = true;
            break;
        }
        match entry {
            Ok(entry) => {
                let below = entry.path().strip_prefix(root).unwrap_or(entry.path());
                if !below.as_os_str().is_empty() {
                    walked.looked_at += 1;
                    visit(below, &entry);
                }
            }
            Err(error) => note(&mut walked.bad, &error),
        }
    }
    walked
}

fn is_in_repository(root: &Path) -> bool {
    root.ancestors().any(|folder| folder.join(".git").exists())
}

fn note(bad: &mut Vec<BadFile>, error: &ignore::Error) {
    if bad.len() < BAD_TOLD {
        let (path, why) = match error {
            ignore::Error::WithPath { path, err } => (path.display().to_string(), why(err)),
            ignore::Error::WithDepth { err, .. } => return note(bad, err),
            other => (String::new(), why(other)),
        };
        bad.push(BadFile { path, why });
    }
}

fn why(error: &ignore::Error) -> String {
    match error.io_error() {
        Some(error) => EnvError::from(std::io::Error::from(error.kind())).message,
        None => error.to_string(),
    }
}

/// Globs over paths below a root.
pub(super) struct Globs(Option<Override>);

impl Globs {
    /// Returns globs that take a folder's name for all that is in it.
    pub(super) fn of_files(root: &Path, globs: &[String]) -> Result<Self, EnvError> {
        Self::build(root, globs, |glob| {
            vec![
                glob.to_owned(),
                format!("{}/**", glob.trim_end_matches('/')),
            ]
        })
    }

    /// Returns globs that match files and folders by themselves.
    pub(super) fn of_names(root: &Path, globs: &[String]) -> Result<Self, EnvError> {
        Self::build(root, globs, |glob| vec![glob.to_owned()])
    }

    fn build(
        root: &Path,
        globs: &[String],
        forms: impl Fn(&str) -> Vec<String>,
    ) -> Result<Self, EnvError> {
        if globs.is_empty() {
            return Ok(Self(None));
        }
        let mut builder = OverrideBuilder::new(root);
        for glob in globs {
            let (not, plain) = match glob.strip_prefix('!') {
                Some(plain) => ("!", plain),
                None => ("", glob.as_str()),
            };
            let plain = anchored(plain);
            if plain.trim_matches('/').is_empty() {
                return Err(bad_glob(glob, "it is empty"));
            }
            for form in forms(&plain) {
                builder
                    .add(&format!("{not}{form}"))
                    .map_err(|error| bad_glob(glob, &glob_error(&error)))?;
            }
        }
        let built = builder
            .build()
            .map_err(|error| bad_glob(&globs.join(" "), &glob_error(&error)))?;
        Ok(Self(Some(built)))
    }

    pub(super) fn take(&self, below: &Path, folder: bool) -> bool {
        let Some(globs) = &self.0 else {
            return true;
        };
        let found = globs.matched(below, folder);
        found.is_whitelist() || (found.is_none() && globs.num_whitelists() == 0)
    }
}

/// `./src` means the same as `/src`; a leading `#` is a name and no remark.
fn anchored(glob: &str) -> String {
    match glob.strip_prefix("./") {
        Some(rest) => format!("/{rest}"),
        None if glob.starts_with('#') => format!("\\{glob}"),
        None => glob.to_owned(),
    }
}

fn bad_glob(glob: &str, why: &str) -> EnvError {
    EnvError::new(
        ErrorKind::Invalid,
        format!("the glob `{glob}` does not parse: {why}"),
    )
}

fn glob_error(error: &ignore::Error) -> String {
    match error {
        ignore::Error::Glob { err, .. } => err.clone(),
        other => other.to_string(),
    }
}
