//! A path that a person named for an upload: plain, or below their own home. Nothing in it is filled in or decoded.

use std::path::{Path, PathBuf};

use super::local_file::Refused;

/// Returns the path in `text`. `~` alone at its beginning is `home`; addresses, variables and paths of other systems are
/// not paths.
///
/// # Errors
/// Where it is no path of this computer.
pub fn local_path(text: &str, home: Option<&Path>) -> Result<PathBuf, Refused> {
    let drive = |text: &str| {
        let mut chars = text.chars();
        matches!((chars.next(), chars.next(), chars.next()), (Some(letter), Some(':'), Some('\\' | '/')) if letter.is_ascii_alphabetic())
    };
    if text.is_empty() || text.contains(char::is_control) {
        return Err(Refused::NotAPath("a path has no control characters"));
    }
    if text.starts_with("\\\\") || drive(text) {
        return Err(Refused::NotAPath("a path of Windows is not one here"));
    }
    if text.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
    }) {
        return Err(Refused::NotAPath("an address is not a path"));
    }
    if text.starts_with('$') {
        return Err(Refused::NotAPath("variables are not filled in"));
    }
    match text.strip_prefix('~') {
        None => Ok(PathBuf::from(text)),
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = home.ok_or(Refused::NotAPath("there is no home folder"))?;
            Ok(home.join(rest.trim_start_matches('/')))
        }
        Some(_) => Err(Refused::NotAPath("only your own `~` is a folder here")),
    }
}
