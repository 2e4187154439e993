//! Finding names and lines. Patterns and globs are only ever data: no program is started.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};

use super::{
    files,
    walk::{BAD_TOLD, Globs, walk},
};
use crate::{
    BadFile, EXCERPT_CHARS, EnvError, ErrorKind, FindQuery, Found, FoundName, GrepQuery, Hit,
    HitFile, Hits, Kind,
};

/// Bytes that one line may have before its file is given up.
const LINE_BYTES: usize = 64 << 20;
/// Most files told that have hits.
const FILES_TOLD: usize = 1_000;

pub(super) fn find(query: &FindQuery, dropped: &AtomicBool) -> Result<Found, EnvError> {
    if !fs::metadata(&query.root)?.is_dir() {
        return Err(EnvError::new(ErrorKind::NotFolder, "is not a folder"));
    }
    let globs = Globs::of_names(&query.root, &query.globs)?;
    let mut found = Found::default();
    let walked = walk(&query.root, dropped, |below, entry| {
        let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        if !globs.take(below, folder) {
            return;
        }
        found.total += 1;
        if found.names.len() < query.limit {
            let path = below.to_owned();
            found.names.push(FoundName { path, folder });
        }
    });
    found.looked_at = walked.looked_at;
    found.cut = walked.cut;
    found.bad = walked.bad;
    Ok(found)
}

pub(super) fn grep(query: &GrepQuery, dropped: &AtomicBool) -> Result<Hits, EnvError> {
    let matcher = matcher(query)?;
    let globs = Globs::of_files(&query.root, &query.globs)?;
    let mut search = Search::new(&matcher, query.limit, dropped);
    match files::kind(&fs::metadata(&query.root)?) {
        Kind::File => search.file(&query.root, PathBuf::new()),
        Kind::Folder => search.folder(&query.root, &globs),
        Kind::Link | Kind::Other => {
            return Err(EnvError::new(ErrorKind::Special, "is no regular file"));
        }
    }
    Ok(search.hits)
}

fn matcher(query: &GrepQuery) -> Result<RegexMatcher, EnvError> {
    if query.pattern.is_empty() {
        return Err(EnvError::new(ErrorKind::Invalid, "the pattern is empty"));
    }
    if !query.literal {
        // By itself first: the builder wraps it, and would name places in what nobody wrote.
        regex_syntax::ParserBuilder::new()
            .utf8(false)
            .build()
            .parse(&query.pattern)
            .map_err(|error| EnvError::new(ErrorKind::Invalid, error.to_string()))?;
    }
    RegexMatcherBuilder::new()
        .fixed_strings(query.literal)
        .case_insensitive(query.ignore_case)
        // `$` also matches before a CRLF; lines still end at LF, or empty ones would not be found.
        .crlf(true)
        .line_terminator(Some(b'\n'))
        .build(&query.pattern)
        .map_err(|error| EnvError::new(ErrorKind::Invalid, error.to_string()))
}

struct Search<'a> {
    matcher: &'a RegexMatcher,
    searcher: Searcher,
    room: usize,
    dropped: &'a AtomicBool,
    hits: Hits,
}

impl<'a> Search<'a> {
    fn new(matcher: &'a RegexMatcher, limit: usize, dropped: &'a AtomicBool) -> Self {
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .binary_detection(BinaryDetection::convert(0))
            .heap_limit(Some(LINE_BYTES))
            .build();
        Self {
            matcher,
            searcher,
            room: limit,
            dropped,
            hits: Hits::default(),
        }
    }

    fn folder(&mut self, root: &Path, globs: &Globs) {
        let walked = walk(root, self.dropped, |below, entry| {
            let regular = entry.file_type().is_some_and(|kind| kind.is_file());
            if regular && globs.take(below, false) {
                self.file(entry.path(), below.to_owned());
            }
        });
        self.hits.cut = walked.cut;
        let room = BAD_TOLD.saturating_sub(self.hits.bad.len());
        self.hits.bad.extend(walked.bad.into_iter().take(room));
    }

    fn file(&mut self, path: &Path, below: PathBuf) {
        self.hits.searched += 1;
        let mut lines = Lines::new(self.matcher, self.room, self.dropped);
        let searched = File::open(path)
            .and_then(|file| self.searcher.search_file(self.matcher, &file, &mut lines));
        if let Err(error) = searched
            && self.hits.bad.len() < BAD_TOLD
        {
            self.hits.bad.push(BadFile {
                path: path.display().to_string(),
                why: EnvError::from(error).message,
            });
        }
        self.take(lines, below);
    }

    fn take(&mut self, lines: Lines<'_>, path: PathBuf) {
        if lines.count == 0 {
            return;
        }
        self.hits.matching_files += 1;
        let told = if lines.binary { Vec::new() } else { lines.hits };
        if !lines.binary {
            self.hits.total += lines.count;
        }
        self.room -= told.len();
        if (lines.binary || !told.is_empty()) && self.hits.files.len() < FILES_TOLD {
            self.hits.files.push(HitFile {
                path,
                binary: lines.binary,
                lines: told,
            });
        }
    }
}

/// The matching lines of one file.
struct Lines<'a> {
    matcher: &'a RegexMatcher,
    room: usize,
    dropped: &'a AtomicBool,
    count: u64,
    binary: bool,
    hits: Vec<Hit>,
}

impl<'a> Lines<'a> {
    fn new(matcher: &'a RegexMatcher, room: usize, dropped: &'a AtomicBool) -> Self {
        Self {
            matcher,
            room,
            dropped,
            count: 0,
            binary: false,
            hits: Vec::new(),
        }
    }

    fn hit(&self, number: u64, line: &[u8]) -> Result<Hit, io::Error> {
        let (mut first, mut matches) = (None, 0_u64);
        self.matcher
            .find_iter(line, |found| {
                first.get_or_insert((found.start(), found.end()));
                matches += 1;
                true
            })
            .map_err(io::Error::other)?;
        let (start, _) = first.unwrap_or((0, 0));
        Ok(Hit {
            line: number,
            column: count_chars(&line[..start]) + 1,
            text: excerpt(line, start),
            more: matches.saturating_sub(1),
        })
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.count += 1;
        if !self.binary && self.hits.len() < self.room {
            let number = found.line_number().unwrap_or_default();
            self.hits
                .push(self.hit(number, without_end(found.bytes()))?);
        }
        Ok(!self.binary && !self.dropped.load(Ordering::Relaxed))
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.binary = true;
        Ok(self.count == 0)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        self.binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn is_inside_letter(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

fn count_chars(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .filter(|byte| !is_inside_letter(**byte))
        .count() as u64
}

/// Returns the line, or the part of it around `at`, cut between letters.
fn excerpt(line: &[u8], at: usize) -> String {
    let after = forward(line, at, EXCERPT_CHARS);
    if after == line.len() && backward(line, at, EXCERPT_CHARS) == 0 {
        let whole = String::from_utf8_lossy(line);
        if whole.chars().count() <= EXCERPT_CHARS {
            return whole.into_owned();
        }
    }
    let start = backward(line, at, EXCERPT_CHARS / 2);
    let end = forward(line, at, EXCERPT_CHARS / 2);
    let before = if start > 0 { "…" } else { "" };
    let after = if end < line.len() { "…" } else { "" };
    format!(
        "{before}{}{after}",
        String::from_utf8_lossy(&line[start..end])
    )
}

/// Returns where the letter starts that is `chars` letters before `at`; what is not UTF-8 counts by the byte.
fn backward(line: &[u8], mut at: usize, chars: usize) -> usize {
    for _ in 0..chars {
        if at == 0 {
            break;
        }
        let lowest = at.saturating_sub(4);
        at -= 1;
        while at > lowest && is_inside_letter(line[at]) {
            at -= 1;
        }
    }
    at
}

/// Returns where the letter ends that is `chars` letters after `at`; what is not UTF-8 counts by the byte.
fn forward(line: &[u8], mut at: usize, chars: usize) -> usize {
    for _ in 0..chars {
        if at >= line.len() {
            break;
        }
        let highest = (at + 4).min(line.len());
        at += 1;
        while at < highest && is_inside_letter(line[at]) {
            at += 1;
        }
    }
    at
}
