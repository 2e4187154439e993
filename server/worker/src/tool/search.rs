//! Searching lines and names for a model. Which files count is the environment's to say.

use std::path::{Path, PathBuf};

use porthole_env::{BadFile, EnvError, ErrorKind, FindQuery, Found, GrepQuery, Hit, HitFile, Hits};
use porthole_protocol::{FileHits, ToolDetail, ToolOutcome, limits::TAIL_BYTES};

use super::{
    ToolContext, ToolResult, action,
    failure::{Failure, failed},
    location::{leaving_out, not_done, printable, resolve, shown},
    quantity::{count, grouped},
};

/// Lines returned where a model does not say.
pub(super) const HITS: usize = 100;
/// Most lines returned.
pub(super) const MOST_HITS: usize = 1_000;
/// Names returned where a model does not say.
pub(super) const NAMES: usize = 200;
/// Most names returned.
pub(super) const MOST_NAMES: usize = 2_000;

const LEFT_OUT: &str =
    "What git ignores was left out; name an ignored folder as `path` to search it";

pub(super) async fn grep(
    grep: &action::Grep,
    context: &ToolContext,
) -> Result<ToolResult, Failure> {
    let root = resolve(&context.cwd, grep.path.as_deref().unwrap_or_default());
    let query = GrepQuery {
        root: root.clone(),
        pattern: grep.pattern.clone(),
        literal: grep.literal,
        ignore_case: grep.ignore_case,
        globs: grep
            .include
            .as_ref()
            .map(action::OneOrMore::to_vec)
            .unwrap_or_default()
            .into_iter()
            .chain(leaving_out(context.closed.as_deref(), &root))
            .collect(),
        limit: limit(grep.limit, HITS, MOST_HITS),
    };
    let hits = context.environment.grep(query).await;
    let hits = hits.map_err(|error| refused(&shown(&context.cwd, &root), &error))?;
    Ok(Listed::new(hits, &root, &context.cwd).result(grep.pattern.clone()))
}

pub(super) async fn find(
    find: &action::Find,
    context: &ToolContext,
) -> Result<ToolResult, Failure> {
    let root = resolve(&context.cwd, find.path.as_deref().unwrap_or_default());
    let query = FindQuery {
        root: root.clone(),
        globs: find
            .pattern
            .to_vec()
            .into_iter()
            .chain(leaving_out(context.closed.as_deref(), &root))
            .collect(),
        limit: limit(find.limit, NAMES, MOST_NAMES),
    };
    let found = context.environment.find(query).await;
    let found = found.map_err(|error| refused(&shown(&context.cwd, &root), &error))?;
    Ok(names_found(&found, &root, &context.cwd))
}

fn limit(asked: Option<u64>, default: usize, most: usize) -> usize {
    asked.map_or(default, |asked| {
        usize::try_from(asked).unwrap_or(most).min(most)
    })
}

fn refused(path: &str, error: &EnvError) -> Failure {
    match error.kind {
        ErrorKind::Invalid if error.message.starts_with("the glob") => {
            failed("bad glob", format!("{}.", error.message))
        }
        ErrorKind::Invalid => failed(
            "bad pattern",
            format!(
                "The pattern does not parse: {}\nSet `literal` to search for it as plain text.",
                error.message
            ),
        ),
        _ => not_done(path, error),
    }
}

/// Hits as they are told, within the bytes of one answer.
struct Listed {
    files: Vec<FileHits>,
    text: String,
    told: u64,
    hits: Hits,
}

impl Listed {
    fn new(hits: Hits, root: &Path, cwd: &Path) -> Self {
        let mut listed = Self {
            files: Vec::new(),
            text: String::new(),
            told: 0,
            hits: Hits::default(),
        };
        for file in &hits.files {
            listed.file(file, shown(cwd, &below(root, &file.path)));
        }
        listed.hits = hits;
        listed
    }

    fn file(&mut self, file: &HitFile, path: String) {
        if file.binary {
            self.line(&format!("{path}: binary file matches"));
            return;
        }
        let mut lines = Vec::new();
        for hit in &file.lines {
            if self.line(&hit_line(&path, hit)) {
                self.told += 1;
                lines.push((hit.line, hit.text.clone()));
            }
        }
        if !lines.is_empty() {
            self.files.push(FileHits { path, lines });
        }
    }

    fn line(&mut self, line: &str) -> bool {
        let fits = self.text.len() + line.len() < TAIL_BYTES;
        if fits {
            self.text.push_str(line);
            self.text.push('\n');
        }
        fits
    }

    fn result(mut self, pattern: String) -> ToolResult {
        let summary = hits_in_files(&self.hits);
        let notes = self.notes(&summary);
        self.text.push_str(&format!("[{}]", notes.join(". ")));
        ToolResult {
            attachments: Vec::new(),
            outcome: ToolOutcome::Ok,
            summary,
            text: self.text,
            detail: ToolDetail::Hits {
                pattern,
                files: self.files,
                total: self.hits.total,
            },
        }
    }

    fn notes(&self, summary: &str) -> Vec<String> {
        let mut notes = vec![summary.to_owned()];
        let more = self.hits.total.saturating_sub(self.told);
        if more > 0 {
            notes.push(format!(
                "{} more not shown: narrow `path`, `include` or the pattern",
                grouped(more)
            ));
        }
        if self.hits.matching_files == 0 {
            let searched = count(self.hits.searched, "file was", "files were");
            notes.push(format!("{searched} searched. {LEFT_OUT}"));
        }
        notes.extend(walk_notes(self.hits.cut, &self.hits.bad));
        notes
    }
}

fn below(root: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() {
        root.to_owned()
    } else {
        root.join(path)
    }
}

fn hit_line(path: &str, hit: &Hit) -> String {
    let more = match hit.more {
        0 => String::new(),
        more => format!("  [+{} on this line]", grouped(more)),
    };
    let is_cut = hit.text.starts_with('…') || hit.text.ends_with('…');
    let column = if is_cut {
        format!(":{}", hit.column)
    } else {
        String::new()
    };
    format!("{path}:{}{column}: {}{more}", hit.line, hit.text)
}

fn hits_in_files(hits: &Hits) -> String {
    match (hits.total, hits.matching_files) {
        (0, 0) => "no hits".to_owned(),
        (0, files) => count(files, "binary file matches", "binary files match"),
        (total, files) => format!(
            "{} in {}",
            count(total, "hit", "hits"),
            count(files, "file", "files")
        ),
    }
}

fn walk_notes(cut: bool, bad: &[BadFile]) -> Vec<String> {
    let mut notes = Vec::new();
    if cut {
        let most = grouped(porthole_env::WALK_FILES);
        notes.push(format!("Only the first {most} files were looked at"));
    }
    notes.extend(bad.iter().map(|bad| match bad.path.as_str() {
        "" => bad.why.clone(),
        path => format!("`{}`: {}", printable(path), bad.why),
    }));
    notes
}

fn names_found(found: &Found, root: &Path, cwd: &Path) -> ToolResult {
    let mut names = Vec::new();
    let mut text = String::new();
    for name in &found.names {
        let slash = if name.folder { "/" } else { "" };
        let shown = format!("{}{slash}", shown(cwd, &root.join(&name.path)));
        if text.len() + shown.len() >= TAIL_BYTES {
            break;
        }
        text.push_str(&shown);
        text.push('\n');
        names.push(shown);
    }
    let summary = match found.total {
        0 => "nothing found".to_owned(),
        total => format!("{} found", grouped(total)),
    };
    let mut notes = vec![summary.clone()];
    let more = found.total.saturating_sub(names.len() as u64);
    if more > 0 {
        notes.push(format!(
            "{} more not shown: narrow `path` or `pattern`",
            grouped(more)
        ));
    }
    if found.total == 0 {
        let looked_at = count(found.looked_at, "name was", "names were");
        notes.push(format!("{looked_at} looked at. {LEFT_OUT}"));
    }
    notes.extend(walk_notes(found.cut, &found.bad));
    text.push_str(&format!("[{}]", notes.join(". ")));
    ToolResult {
        attachments: Vec::new(),
        outcome: ToolOutcome::Ok,
        summary,
        text,
        detail: ToolDetail::Names {
            names,
            total: found.total,
        },
    }
}
