//! Names below the working directory that fit what a person typed of a path. Which files count is the environment's to
//! say; which fit best is decided here, without looking at the disk.

use std::{path::PathBuf, time::Duration};

use porthole_env::{Environment, FindQuery};
use porthole_protocol::{CallError, ErrorCode, replies::Files};

/// Names that are looked at.
const LOOKED_AT: usize = 20_000;
/// How long a person waits for a completion.
const PATIENCE: Duration = Duration::from_secs(3);

/// Returns the names that fit, the best first.
///
/// # Errors
/// `Unavailable`, where the directory cannot be read or takes too long.
pub(crate) async fn find(
    environment: &dyn Environment,
    cwd: PathBuf,
    query: &str,
    limit: usize,
) -> Result<Files, CallError> {
    let all = FindQuery {
        root: cwd,
        globs: vec!["*".to_owned()],
        limit: LOOKED_AT,
    };
    let unavailable = |message: String| CallError::new(ErrorCode::Unavailable, message);
    let found = tokio::time::timeout(PATIENCE, environment.find(all))
        .await
        .map_err(|_| unavailable("looking for files takes too long here".to_owned()))?
        .map_err(|error| unavailable(format!("files cannot be listed: {error}")))?;
    let listed = found.names.len() as u64;
    let names = found.names.into_iter().filter_map(|name| {
        let path = name.path.to_str()?;
        let plain = !path.chars().any(char::is_control);
        plain.then(|| format!("{path}{}", if name.folder { "/" } else { "" }))
    });
    let (files, more) = best(query, names.collect(), limit);
    Ok(Files {
        files,
        truncated: more || found.cut || found.total > listed,
    })
}

/// Returns the names that fit, the best first, and whether there were more than `limit`.
fn best(query: &str, names: Vec<String>, limit: usize) -> (Vec<String>, bool) {
    let query = query.to_lowercase();
    let mut fitting: Vec<(u32, String)> = names
        .into_iter()
        .filter_map(|name| Some((distance(&query, &name)?, name)))
        .collect();
    fitting.sort_by(|(a, x), (b, y)| (a, x.len(), x).cmp(&(b, y.len(), y)));
    let more = fitting.len() > limit;
    fitting.truncate(limit);
    (fitting.into_iter().map(|(_, name)| name).collect(), more)
}

/// Returns how far a path is from what was typed; `None`: it does not fit. Small letters are expected in `query`.
fn distance(query: &str, path: &str) -> Option<u32> {
    let path = path.to_lowercase();
    let name = path.trim_end_matches('/');
    if query.is_empty() {
        return u32::try_from(name.matches('/').count()).ok();
    }
    let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
    let hidden = u32::from(name.starts_with('.') && !query.contains('.'));
    let kind = if name == query {
        0
    } else if path.starts_with(query) || name.starts_with(query) {
        2
    } else if name.contains(query) {
        4
    } else if path.contains(query) {
        6
    } else if in_order(query, name) {
        8
    } else if in_order(query, &path) {
        10
    } else {
        return None;
    };
    Some(kind + hidden)
}

/// Whether the letters of `query` stand in `text` in their order.
fn in_order(query: &str, text: &str) -> bool {
    let mut letters = text.chars();
    query.chars().all(|wanted| letters.any(|c| c == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_name_itself_comes_before_starts_middles_and_scattered_letters() {
        let order = [
            "src/retry",
            "src/retry.rs",
            "retry_test/other.rs",
            "src/old_retry.rs",
            "src/rexterny.rs",
        ];
        let mut all = names(&order);
        all.reverse();
        all.push("docs/x.md".to_owned());
        assert_eq!(best("Retry", all, 10), (names(&order), false));
    }

    #[test]
    fn nothing_typed_lists_what_is_near_first_and_says_when_there_is_more() {
        let all = names(&["a/b/c", "a/", "b.rs", "a/b/"]);
        assert_eq!(best("", all, 2), (names(&["a/", "b.rs"]), true));
    }

    #[tokio::test]
    async fn ignored_files_and_names_that_no_message_can_carry_are_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["kept.rs", "left_out.log", ".ignore", "two\nlines.rs"] {
            let text = if name == ".ignore" { "*.log" } else { "" };
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        std::fs::create_dir(folder.path().join("src")).expect("made");
        let environment = porthole_env::local();
        let found = find(&*environment, folder.path().to_owned(), "", 9).await;
        let found = found.expect("found");
        assert_eq!(found.files, names(&["src/", ".ignore", "kept.rs"]));
        assert!(!found.truncated);
    }
}
