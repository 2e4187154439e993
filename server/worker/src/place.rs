//! Where a session works, as people and the model are told: paths with `~`, the git branch, the date.
//! It runs no program; the branch is read from git's own files.

use std::path::{Path, PathBuf};

/// Most that is read of one of git's small files.
const GIT_FILE_BYTES: u64 = 4096;
/// Folders above the working directory that are looked at for a repository.
const LEVELS: usize = 64;

/// Returns a path as shown: the home directory is `~`.
pub(crate) fn shown(path: &Path, home: Option<&Path>) -> String {
    let below = home
        .filter(|home| home.parent().is_some())
        .and_then(|home| path.strip_prefix(home).ok());
    match below {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

/// Returns the git branch of a directory, or the start of the commit where none is checked out.
pub(crate) fn branch(dir: &Path) -> Option<String> {
    let git = dir
        .ancestors()
        .take(LEVELS)
        .find_map(|above| git_folder(&above.join(".git")))?;
    let head = small_file(&git.join("HEAD"))?;
    let head = head.trim();
    let name = match head.strip_prefix("ref: ") {
        Some(name) => name.strip_prefix("refs/heads/").unwrap_or(name),
        None => head.get(..8)?,
    };
    let plain = name.chars().all(|c| !c.is_control());
    (plain && !name.is_empty()).then(|| name.chars().take(200).collect())
}

/// Returns the folder that `.git` is or names: in a worktree it is a file.
fn git_folder(git: &Path) -> Option<PathBuf> {
    let kind = std::fs::metadata(git).ok()?;
    if kind.is_dir() {
        return Some(git.to_owned());
    }
    let text = small_file(git)?;
    let named = text.trim().strip_prefix("gitdir: ")?;
    Some(git.parent()?.join(named))
}

fn small_file(path: &Path) -> Option<String> {
    use std::io::Read;
    let kind = std::fs::metadata(path).ok()?;
    if !kind.is_file() {
        return None;
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(GIT_FILE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns the day, `YYYY-MM-DD` in UTC, of a time in milliseconds since the Unix epoch.
pub(crate) fn date(ms: u64) -> String {
    // Days are counted from 1 March of year 0, so that a leap day is the last of its year.
    let days = ms / 86_400_000 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + carry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_at_leap_days_and_turns_of_the_year() {
        for (ms, day) in [
            (0, "1970-01-01"),
            (951_782_400_000, "2000-02-29"),
            (951_868_800_000, "2000-03-01"),
            (1_735_689_599_999, "2024-12-31"),
            (1_735_689_600_000, "2025-01-01"),
            (4_107_542_400_000, "2100-03-01"),
        ] {
            assert_eq!(date(ms), day, "{ms}");
        }
    }

    #[test]
    fn a_path_below_home_is_shown_with_a_tilde() {
        let home = Some(Path::new("/home/mira"));
        for (path, text) in [
            ("/home/mira", "~"),
            ("/home/mira/src", "~/src"),
            ("/home/miranda", "/home/miranda"),
            ("/", "/"),
        ] {
            assert_eq!(shown(Path::new(path), home), text);
        }
        assert_eq!(shown(Path::new("/x"), Some(Path::new("/"))), "/x");
    }

    #[test]
    fn the_branch_is_found_from_below_and_in_a_worktree() {
        let dir = tempfile::tempdir().expect("folder");
        let at = |path: &str| dir.path().join(path);
        std::fs::create_dir_all(at("repo/.git/worktrees/w")).expect("folder");
        std::fs::create_dir_all(at("repo/src")).expect("folder");
        std::fs::create_dir_all(at("w")).expect("folder");
        std::fs::write(at("repo/.git/HEAD"), "ref: refs/heads/fix/it\n").expect("file");
        std::fs::write(at("repo/.git/worktrees/w/HEAD"), "0123456789abcdef\n").expect("file");
        std::fs::write(at("w/.git"), "gitdir: ../repo/.git/worktrees/w\n").expect("file");
        assert_eq!(branch(&at("repo/src")).as_deref(), Some("fix/it"));
        assert_eq!(branch(&at("w")).as_deref(), Some("01234567"));
        std::fs::write(at("repo/.git/HEAD"), "ref: refs/heads/a\u{1b}[2J\n").expect("file");
        assert_eq!(branch(&at("repo")), None, "control characters");
    }
}
