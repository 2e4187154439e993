//! What can be asked of a tree of files, and the answers. It walks nothing.
//!
//! Which files are looked at: everything below `root`, also names that start with a dot, but never `.git`. Inside a
//! git repository, the rules of git: `.gitignore` of this folder, those below and those above up to the repository's
//! root, `.git/info/exclude` and the person's global excludes. Outside of one: `.gitignore` of this folder and those
//! below, nothing from above. `.ignore` files count in both. Where these rules leave nothing of a root, none of them
//! count: who names an ignored folder means it. A file that git tracks although a rule ignores it is left out, too.
//! Links are listed, never entered, and not searched unless named.
//!
//! Globs are git's: `*.ts` matches at any depth, `/src` and `src/*.ts` from the root, `src/` a folder with all that is
//! in it, `{a,b}` either, `[ab]` one letter, `\[` a bracket itself, a leading `!` leaves out.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Most files that one walk looks at.
pub const WALK_FILES: u64 = 200_000;

/// Characters shown of a long line with a hit, about half of them on either side.
pub const EXCERPT_CHARS: usize = 300;

/// Which names to find.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindQuery {
    /// The folder to begin in.
    #[serde(with = "crate::path_bytes")]
    pub root: PathBuf,
    /// Globs that the path below `root` has to match.
    pub globs: Vec<String>,
    /// Most names to return.
    pub limit: usize,
}

/// Names that were found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Paths below the root, sorted; folders are told apart by the second.
    pub names: Vec<FoundName>,
    /// Names in all, also those not listed.
    pub total: u64,
    /// Files and folders looked at.
    pub looked_at: u64,
    /// Whether the walk ended at its limit.
    pub cut: bool,
    /// What could not be read; at most 20.
    pub bad: Vec<BadFile>,
}

/// A name that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundName {
    /// The path below the root.
    #[serde(with = "crate::path_bytes")]
    pub path: PathBuf,
    /// Whether it is a folder.
    pub folder: bool,
}

/// What to search for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrepQuery {
    /// The folder or file to search.
    #[serde(with = "crate::path_bytes")]
    pub root: PathBuf,
    /// A regular expression, or text where `literal`; never an option, whatever it starts with.
    pub pattern: String,
    /// Whether the pattern is plain text.
    pub literal: bool,
    /// Whether upper and lower case are the same.
    pub ignore_case: bool,
    /// Globs that a file's path below `root` has to match; none: all.
    pub globs: Vec<String>,
    /// Most lines to return.
    pub limit: usize,
}

/// Lines that match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hits {
    /// By file, sorted; only files with lines to show or binary ones.
    pub files: Vec<HitFile>,
    /// Lines in all that match, also those not returned.
    pub total: u64,
    /// Files with such lines, also those not returned.
    pub matching_files: u64,
    /// Files searched.
    pub searched: u64,
    /// Whether the walk ended at its limit.
    pub cut: bool,
    /// What could not be searched; at most 20.
    pub bad: Vec<BadFile>,
}

/// Hits of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HitFile {
    /// The path below the root; empty where the root is the file.
    #[serde(with = "crate::path_bytes")]
    pub path: PathBuf,
    /// Whether it holds a NUL byte: then it matches, and no line of it is told.
    pub binary: bool,
    /// The lines.
    pub lines: Vec<Hit>,
}

/// A line that matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// Line number from 1.
    pub line: u64,
    /// Where the first match starts, in characters from 1.
    pub column: u64,
    /// The line without its end, or the part around the first match with `…` where more is.
    pub text: String,
    /// Further matches on the same line.
    pub more: u64,
}

/// What could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadFile {
    /// The path, as shown.
    pub path: String,
    /// Why.
    pub why: String,
}
