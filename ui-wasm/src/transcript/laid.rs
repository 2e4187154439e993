//! What an item of the transcript looks like at one width: rows, in segments that keep their order while they grow.

use porthole_protocol::{CallId, EntryId, SubmissionId, TurnId};
use ratatui_core::text::{Line, Span};
use serde::{Deserialize, Serialize};

use crate::markdown::Document;

/// Something that takes rows of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum ItemKey {
    Entry(EntryId),
    /// The answer of a turn that is coming in.
    Open(TurnId),
    Tool(CallId),
    Phase,
    Submission(SubmissionId),
    Sending(u32),
}

/// Something that can be opened and closed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Target {
    Call(CallId),
    /// A person's long message, a command of theirs, or a summary.
    Entry(EntryId),
    /// A thought: which block of which answer.
    Thinking(EntryId, u32),
    OpenThinking(TurnId),
}

/// A thing that can be opened or closed, and what it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fold {
    pub(crate) target: Target,
    pub(crate) open: bool,
}

/// One row: what stands in the gutter, and the words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) gutter: Span<'static>,
    pub(crate) line: Line<'static>,
    pub(crate) fold: Option<Fold>,
}

impl Row {
    pub(crate) fn of(line: Line<'static>) -> Self {
        Self {
            line,
            ..Self::default()
        }
    }

    pub(crate) fn behind(gutter: Span<'static>, line: Line<'static>) -> Self {
        Self {
            gutter,
            line,
            fold: None,
        }
    }
}

/// A part of an item whose rows are counted by themselves, so that a part that grows moves no place in another.
#[derive(Debug)]
pub(crate) enum Segment {
    Rows(Vec<Row>),
    Words(Document),
}

/// An item as rows.
#[derive(Debug, Default)]
pub(crate) struct Laid {
    pub(crate) segments: Vec<Segment>,
    /// Whether a later frame could add colours.
    pub(crate) behind: bool,
}

static BARE: Span<'static> = Span {
    style: ratatui_core::style::Style::new(),
    content: std::borrow::Cow::Borrowed(""),
};

/// A row as it is drawn.
#[derive(Clone, Copy)]
pub(crate) struct RowRef<'a> {
    pub(crate) gutter: &'a Span<'static>,
    pub(crate) line: &'a Line<'static>,
    pub(crate) fold: Option<&'a Fold>,
}

impl RowRef<'_> {
    /// Returns the words of the row, without its gutter.
    pub(crate) fn words(&self) -> String {
        self.line
            .spans
            .iter()
            .map(|span| span.content.as_ref())
            .collect()
    }
}

impl Segment {
    fn height(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.len(),
            Self::Words(document) => document.height(),
        }
    }

    fn rows(&self, from: usize) -> Box<dyn Iterator<Item = RowRef<'_>> + '_> {
        match self {
            Self::Rows(rows) => Box::new(rows.iter().skip(from).map(|row| RowRef {
                gutter: &row.gutter,
                line: &row.line,
                fold: row.fold.as_ref(),
            })),
            Self::Words(document) => Box::new(document.lines_from(from).map(|line| RowRef {
                gutter: &BARE,
                line,
                fold: None,
            })),
        }
    }
}

/// A row within an item, counted in its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spot {
    pub(crate) segment: usize,
    pub(crate) line: usize,
    /// Characters of the segment before this row, the same at every width; `None`: not counted yet.
    pub(crate) before: Option<usize>,
}

impl Laid {
    pub(crate) fn height(&self) -> usize {
        self.segments.iter().map(Segment::height).sum()
    }

    /// Returns the rows from one on.
    pub(crate) fn rows(&self, from: usize) -> impl Iterator<Item = RowRef<'_>> {
        let mut skip = from;
        self.segments.iter().flat_map(move |segment| {
            let here = skip.min(segment.height());
            skip -= here;
            segment.rows(here)
        })
    }

    /// Returns where a row is. Its characters are not counted, since every drawing asks.
    pub(crate) fn spot(&self, row: usize) -> Spot {
        let mut line = row;
        for (segment, rows) in self.segments.iter().map(Segment::height).enumerate() {
            if line < rows {
                return Spot {
                    segment,
                    line,
                    before: None,
                };
            }
            line -= rows;
        }
        Spot {
            segment: self.segments.len(),
            line: 0,
            before: None,
        }
    }

    /// Returns the characters of a spot's segment before its row.
    pub(crate) fn count_before(&self, spot: Spot) -> Option<usize> {
        let segment = self.segments.get(spot.segment)?;
        Some(
            segment
                .rows(0)
                .take(spot.line)
                .map(|row| solid(row.line))
                .sum(),
        )
    }

    /// Returns the row of a spot. Where the width is another than then, the row is found by the characters before it.
    pub(crate) fn row(&self, spot: Spot, same_width: bool) -> usize {
        let above: usize = self
            .segments
            .iter()
            .take(spot.segment)
            .map(Segment::height)
            .sum();
        let Some(segment) = self.segments.get(spot.segment) else {
            return above.saturating_sub(1);
        };
        let line = match spot.before.filter(|_| !same_width) {
            Some(before) => line_after(segment, before),
            None => spot.line,
        };
        above + line.min(segment.height().saturating_sub(1))
    }
}

fn line_after(segment: &Segment, before: usize) -> usize {
    let mut seen = 0;
    for (at, row) in segment.rows(0).enumerate() {
        seen += solid(row.line);
        if seen > before {
            return at;
        }
    }
    segment.height()
}

/// Returns the characters of a line that are no blanks.
fn solid(line: &Line<'_>) -> usize {
    line.spans
        .iter()
        .flat_map(|span| span.content.chars())
        .filter(|c| !c.is_whitespace())
        .count()
}
