//! Where a path of a call leads, and how it is shown. It decides nothing.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use porthole_env::{EnvError, ErrorKind};

use super::failure::{Failure, failed};
use crate::location::Place;

/// Links followed before a path counts as leading nowhere.
const MOST_LINKS: usize = 40;

/// Returns the path that a call names, absolute. An empty one is the working directory.
pub(super) fn resolve(cwd: &Path, path: &str) -> PathBuf {
    let joined = cwd.join(path);
    // `a/./b` and a slash at the end say the same without them; `..` stays: behind a link it is not lexical.
    joined.components().collect()
}

/// Returns where a path of a call leads, without links, also where nothing is there yet.
pub(super) fn target(cwd: &Path, path: &str) -> Option<PathBuf> {
    real(&resolve(cwd, path), MOST_LINKS)
}

/// Where a path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Into the working directory.
    Inside,
    /// To what belongs to the session.
    Own,
    /// Anywhere else.
    Outside,
    /// To what belongs to the server alone.
    Closed,
}

/// Returns where a path of a call leads, with all links on the way.
pub(super) fn reach(place: &Place, path: &str) -> Reach {
    let path = resolve(&place.cwd, path);
    if place.open.iter().any(|open| is_inside(open, &path)) {
        return Reach::Own;
    }
    match &place.closed {
        // Someone may work in a folder below it; then that folder alone is not closed.
        Some(closed)
            if is_inside(closed, &path)
                && !(is_inside(closed, &place.cwd) && is_inside(&place.cwd, &path)) =>
        {
            Reach::Closed
        }
        _ if is_inside(&place.cwd, &path) => Reach::Inside,
        _ => Reach::Outside,
    }
}

/// Returns the glob that leaves a closed folder out of a walk from `root`, where it lies below.
pub(super) fn leaving_out(closed: Option<&Path>, root: &Path) -> Option<String> {
    let (closed, root) = (
        fs::canonicalize(closed?).ok()?,
        fs::canonicalize(root).ok()?,
    );
    let below = closed.strip_prefix(root).ok()?;
    let special = |letter: char| "\\*?[]{}!".contains(letter);
    let mut glob = "!".to_owned();
    for part in below.components() {
        glob.push('/');
        for letter in part.as_os_str().to_string_lossy().chars() {
            if special(letter) {
                glob.push('\\');
            }
            glob.push(letter);
        }
    }
    (glob.len() > 1).then_some(glob)
}

/// Returns whether a path, with all links on the way, lies inside a folder. What cannot be told is outside.
pub(super) fn is_inside(folder: &Path, path: &Path) -> bool {
    match (fs::canonicalize(folder), real(path, MOST_LINKS)) {
        (Ok(folder), Some(path)) => path.starts_with(folder),
        _ => false,
    }
}

/// Returns the path without links, also where its last parts are not there yet.
fn real(path: &Path, links: usize) -> Option<PathBuf> {
    if let Ok(real) = fs::canonicalize(path) {
        return Some(real);
    }
    let (folder, name) = (path.parent()?, path.components().next_back()?);
    let Component::Normal(name) = name else {
        return None;
    };
    let here = real(folder, links)?.join(name);
    match fs::read_link(&here) {
        Ok(target) => real(&here.parent()?.join(target), links.checked_sub(1)?),
        Err(_) => Some(here),
    }
}

/// Returns a path for people and models: from the working directory where it is inside, no control characters.
pub(super) fn shown(cwd: &Path, path: &Path) -> String {
    let short = match path.strip_prefix(cwd) {
        Ok(below) if below.as_os_str().is_empty() => Path::new("."),
        Ok(below) => below,
        Err(_) => path,
    };
    printable(&short.to_string_lossy())
}

/// Returns a name with its control characters written out.
pub(super) fn printable(name: &str) -> String {
    if !name.chars().any(char::is_control) {
        return name.to_owned();
    }
    let write_out = |letter: char| -> String {
        if letter.is_control() {
            letter.escape_default().collect()
        } else {
            letter.to_string()
        }
    };
    name.chars().map(write_out).collect()
}

/// Returns the failure that an error at a path is.
pub(super) fn not_done(shown: &str, error: &EnvError) -> Failure {
    let summary = match error.kind {
        ErrorKind::NotFound => "not found",
        ErrorKind::Denied => "permission denied",
        ErrorKind::Folder => "is a folder",
        ErrorKind::NotFolder => "is no folder",
        ErrorKind::Changed => "changed meanwhile",
        ErrorKind::TooLarge => "too large",
        ErrorKind::Special | ErrorKind::Invalid | ErrorKind::Gone | ErrorKind::Other => "failed",
    };
    failed(summary, format!("`{shown}`: {}.", error.message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_folder_is_closed_but_for_what_belongs_to_the_session() {
        let home = tempfile::tempdir().expect("folder");
        let at = |path: &str| home.path().join(path);
        for path in [
            "work",
            "data/s1/blobs",
            "data/s1/runs",
            "data/s2/runs",
            "other",
        ] {
            fs::create_dir_all(at(path)).expect("folder");
        }
        std::os::unix::fs::symlink(at("data/s2"), at("work/link")).expect("link");
        let place = Place::in_session(&at("work"), &at("data"), &at("data/s1"));
        for (path, expected) in [
            ("a.rs", Reach::Inside),
            ("new/deep.rs", Reach::Inside),
            ("../other/x", Reach::Outside),
            ("/etc/passwd", Reach::Outside),
            ("../data/models.toml", Reach::Closed),
            ("../data/s2/runs/c1-1", Reach::Closed),
            ("link/runs/c1-1", Reach::Closed),
            ("../data/s1/session.db", Reach::Closed),
            ("../data/s1/blobs/a1", Reach::Own),
            ("../data/s1/runs/c1-1", Reach::Own),
        ] {
            assert_eq!(reach(&place, path), expected, "{path}");
        }
        let left_out = leaving_out(Some(&at("data")), home.path());
        assert_eq!(left_out.as_deref(), Some("!/data"));
        assert_eq!(leaving_out(Some(&at("data")), &at("work")), None);
    }
}
