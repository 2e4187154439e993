//! Markdown as styled lines. A text that grows is laid out again only from its last block on.
//! It resolves links to words, never to control sequences, and fetches nothing.

mod block;
mod code;
mod table;

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser};
use ratatui_core::text::Line;

use crate::highlight::Highlighter;
use crate::theme::Theme;

pub(crate) use code::{chop, code_line};

/// What lines are made with.
pub(crate) struct Pens<'a> {
    pub(crate) theme: &'a Theme,
    pub(crate) highlighter: &'a mut Highlighter,
}

/// A Markdown text laid out at one width with one theme.
#[derive(Debug, Default)]
pub(crate) struct Document {
    text: String,
    cols: usize,
    chunks: Vec<Chunk>,
    /// Where the text begins that may still change its meaning when more text comes.
    stable: usize,
    /// Chunks before that place.
    stable_chunks: usize,
    /// Source of the link definitions before that place.
    definitions: String,
    /// The link definitions after that place, as last seen; they reach back into the chunks before.
    open_definitions: Vec<(String, String)>,
}

/// A top-level block.
#[derive(Debug)]
struct Chunk {
    source: Range<usize>,
    lines: Vec<Line<'static>>,
    /// Whether its code lacks colours that a later frame could give it.
    behind: bool,
    /// Its code up to its last whole line and the lines that made, where the block is nothing but code.
    code: Option<block::CodeStart>,
}

impl Chunk {
    /// Takes out what a longer block of code at the same place can begin with.
    fn take_code(&mut self) -> Option<(block::CodeStart, Vec<Line<'static>>)> {
        let code = self.code.take()?;
        let mut lines = std::mem::take(&mut self.lines);
        if lines.first().is_some_and(|line| line.spans.is_empty()) {
            lines.remove(0);
        }
        Some((code, lines))
    }
}

impl Document {
    /// Lays out `text` in `cols` columns. Cheap where the text only grew, and nothing where it is the same.
    pub(crate) fn lay_out(&mut self, text: &str, cols: usize, pens: &mut Pens<'_>) {
        if self.cols != cols || !text.starts_with(&self.text) {
            *self = Self {
                cols,
                ..Self::default()
            };
        }
        if self.text.len() != text.len() {
            self.text.push_str(&text[self.text.len()..]);
            if !self.lay_out_tail(pens) {
                self.restart();
                self.lay_out_tail(pens);
            }
        }
        self.color_more(pens);
    }

    /// Returns the lines, top first.
    #[cfg(test)]
    pub(crate) fn lines(&self) -> impl Iterator<Item = &Line<'static>> {
        self.lines_from(0)
    }

    /// Returns the lines from one on.
    pub(crate) fn lines_from(&self, from: usize) -> impl Iterator<Item = &Line<'static>> {
        let mut skip = from;
        self.chunks.iter().flat_map(move |chunk| {
            let here = skip.min(chunk.lines.len());
            skip -= here;
            &chunk.lines[here..]
        })
    }

    /// Returns how many lines there are.
    pub(crate) fn height(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.lines.len()).sum()
    }

    /// Whether a later frame could add colours.
    pub(crate) fn is_behind(&self) -> bool {
        self.chunks.iter().any(|chunk| chunk.behind)
    }

    fn restart(&mut self) {
        self.chunks.clear();
        self.stable = 0;
        self.stable_chunks = 0;
        self.definitions.clear();
    }

    /// Lays out everything after the stable part. Returns whether the stable part is still right.
    fn lay_out_tail(&mut self, pens: &mut Pens<'_>) -> bool {
        let source = format!("{}{}", self.definitions, &self.text[self.stable..]);
        let known = self.definitions.len();
        let stable = self.stable;
        let place = |at: usize| at.saturating_sub(known) + stable;
        let parser = Parser::new_ext(&source, options()).into_offset_iter();
        let mut definitions: Vec<(Range<usize>, String, String)> = parser
            .reference_definitions()
            .iter()
            .filter(|(_, definition)| definition.span.start >= known)
            .map(|(label, d)| (d.span.clone(), label.to_owned(), d.dest.to_string()))
            .collect();
        definitions.sort_by_key(|(span, ..)| span.start);
        let open = definitions
            .iter()
            .map(|(_, label, dest)| (label.clone(), dest.clone()))
            .collect();
        let changed = self.open_definitions != open;
        self.open_definitions = open;
        if changed && stable > 0 {
            return false;
        }
        let mut old = self.chunks.split_off(self.stable_chunks);
        for (events, range) in blocks(parser) {
            let range = place(range.start)..place(range.end);
            let before = old
                .iter_mut()
                .find(|chunk| chunk.source.start == range.start);
            let reuse = before.and_then(Chunk::take_code);
            let chunk = self.chunk(&events, range, reuse, pens);
            self.chunks.push(chunk);
        }
        self.advance(&definitions, &source, place);
        true
    }

    fn chunk(
        &self,
        events: &[Event<'_>],
        source: Range<usize>,
        reuse: Option<(block::CodeStart, Vec<Line<'static>>)>,
        pens: &mut Pens<'_>,
    ) -> Chunk {
        let mut laid = block::lay_out(events, self.cols, reuse, pens);
        if !laid.lines.is_empty() && self.chunks.iter().any(|chunk| !chunk.lines.is_empty()) {
            laid.lines.insert(0, Line::default());
        }
        Chunk {
            source,
            lines: laid.lines,
            behind: laid.behind,
            code: laid.code,
        }
    }

    /// Moves the stable place to the last block whose first line is whole: nothing that comes later can reach before it.
    fn advance(
        &mut self,
        definitions: &[(Range<usize>, String, String)],
        source: &str,
        place: impl Fn(usize) -> usize,
    ) {
        let whole = self.text.rfind('\n').map_or(0, |at| at + 1);
        let last = self
            .chunks
            .iter()
            .rposition(|chunk| self.line_start(chunk.source.start) < whole);
        let Some(at) = last.filter(|at| *at > self.stable_chunks) else {
            return;
        };
        let stable = self.line_start(self.chunks[at].source.start);
        if stable <= self.stable || !self.means_the_same_alone(stable) {
            return;
        }
        for (span, ..) in definitions
            .iter()
            .filter(|(span, ..)| place(span.start) < stable)
        {
            self.definitions.push_str(source[span.clone()].trim_end());
            self.definitions.push_str("\n\n");
        }
        self.open_definitions = definitions
            .iter()
            .filter(|(span, ..)| place(span.start) >= stable)
            .map(|(_, label, dest)| (label.clone(), dest.clone()))
            .collect();
        self.stable = stable;
        self.stable_chunks = at;
    }

    /// Returns where the line of a place begins: what a block is indented by stands before it, and is a part of what it means.
    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |at| at + 1)
    }

    /// Whether a block that starts there is the same block without what stands before it: an indented line right after
    /// another is a part of its paragraph, and code by itself.
    fn means_the_same_alone(&self, start: usize) -> bool {
        let blanks = [' ', '\t'];
        let after_blank = self.text[..start]
            .trim_end_matches(blanks)
            .ends_with("\n\n");
        after_blank || !self.text[start..].starts_with(blanks)
    }

    /// Colours code that an earlier frame had no time for.
    fn color_more(&mut self, pens: &mut Pens<'_>) {
        for at in 0..self.chunks.len() {
            if !self.chunks[at].behind {
                continue;
            }
            let source = self.chunks[at].source.clone();
            let source = self.line_start(source.start)..source.end;
            let text = format!("{}{}", self.definitions, &self.text[source]);
            let mut blocks = blocks(Parser::new_ext(&text, options()).into_offset_iter());
            if blocks.len() != 1 {
                // The block means something else by itself; it stays as it is.
                self.chunks[at].behind = false;
                continue;
            }
            let Some((events, _)) = blocks.pop() else {
                continue;
            };
            let laid = block::lay_out(&events, self.cols, None, pens);
            let chunk = &mut self.chunks[at];
            let gap = usize::from(
                chunk
                    .lines
                    .first()
                    .is_some_and(|line| line.spans.is_empty()),
            );
            if laid.lines.len() + gap == chunk.lines.len() {
                chunk.lines.truncate(gap);
                chunk.lines.extend(laid.lines);
            }
            chunk.behind = laid.behind;
            chunk.code = laid.code;
        }
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Returns the top-level blocks with their events and where they stand.
fn blocks<'a>(
    events: impl Iterator<Item = (Event<'a>, Range<usize>)>,
) -> Vec<(Vec<Event<'a>>, Range<usize>)> {
    let mut blocks: Vec<(Vec<Event<'a>>, Range<usize>)> = Vec::new();
    let mut depth = 0usize;
    for (event, range) in events {
        let opens = matches!(event, Event::Start(_));
        if matches!(event, Event::End(_)) {
            depth = depth.saturating_sub(1);
        }
        match blocks.last_mut() {
            Some((events, _)) if depth > 0 || matches!(event, Event::End(_)) => events.push(event),
            _ => blocks.push((vec![event], range)),
        }
        if opens {
            depth += 1;
        }
    }
    blocks
}

#[cfg(test)]
mod tests;
