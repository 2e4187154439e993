//! One top-level block as styled lines: its words, lists, quotes and code.

use std::borrow::Cow;

use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::table::Table;
use super::{Pens, chop, code_line};
use crate::highlight::{BLOCK_BYTES, Progress};
use crate::text;

/// Columns that words keep, however deep lists and quotes nest.
const LEAST: usize = 16;

/// A block as lines.
pub(crate) struct LaidOut {
    pub(crate) lines: Vec<Line<'static>>,
    pub(crate) behind: bool,
    pub(crate) code: Option<CodeStart>,
}

/// The start of a block of code that grows: its whole lines need no second look.
#[derive(Debug)]
pub(crate) struct CodeStart {
    lang: String,
    /// The whole lines of code, and how many lines they made.
    text: String,
    made: usize,
    progress: Progress,
}

/// Lays out the events of one top-level block in `cols` columns.
pub(crate) fn lay_out(
    events: &[Event<'_>],
    cols: usize,
    reuse: Option<(CodeStart, Vec<Line<'static>>)>,
    pens: &mut Pens<'_>,
) -> LaidOut {
    let base = pens.theme.text;
    let mut writer = Writer {
        pens,
        cols: cols.max(4),
        lines: Vec::new(),
        around: Vec::new(),
        lists: Vec::new(),
        words: Vec::new(),
        styles: vec![base],
        links: Vec::new(),
        code: None,
        table: None,
        reuse,
        keep: None,
        behind: false,
        wants_gap: false,
    };
    for event in events {
        writer.event(event);
    }
    writer.end_words();
    LaidOut {
        lines: writer.lines,
        behind: writer.behind,
        code: writer.keep,
    }
}

enum Around {
    Quote,
    /// A list item: its marker until it is written, and how far its content stands in.
    Item {
        marker: Option<String>,
        cols: usize,
    },
}

struct Writer<'a, 'p> {
    pens: &'a mut Pens<'p>,
    cols: usize,
    lines: Vec<Line<'static>>,
    around: Vec<Around>,
    /// Open lists: the next number, where they are numbered.
    lists: Vec<Option<u64>>,
    words: Vec<Span<'static>>,
    styles: Vec<Style>,
    /// Open links: where they lead, and where their words begin.
    links: Vec<(String, usize)>,
    code: Option<(String, String)>,
    table: Option<Table>,
    reuse: Option<(CodeStart, Vec<Line<'static>>)>,
    keep: Option<CodeStart>,
    behind: bool,
    /// Whether a blank line stands between what was written and what comes.
    wants_gap: bool,
}

impl Writer<'_, '_> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(*tag),
            Event::Text(text) => self.text(text),
            Event::Code(code) => self.inline_code(code),
            Event::Html(html) => self.html(html),
            Event::InlineHtml(html) => self.push(html, self.style().patch(self.pens.theme.dim)),
            Event::SoftBreak => self.push(" ", self.style()),
            Event::HardBreak => self.hard_break(),
            Event::Rule => self.rule(),
            Event::TaskListMarker(done) => {
                self.push(if *done { "[x] " } else { "[ ] " }, self.style())
            }
            Event::InlineMath(t) | Event::DisplayMath(t) | Event::FootnoteReference(t) => {
                self.text(t)
            }
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap(),
            Tag::Heading { .. } => self.start_styled_block(self.pens.theme.heading),
            Tag::BlockQuote(_) => self.start_quote(),
            Tag::CodeBlock(kind) => self.start_code(kind),
            Tag::HtmlBlock => self.gap(),
            Tag::List(first) => self.start_list(*first),
            Tag::Item => self.start_item(),
            Tag::Table(alignments) => {
                self.gap();
                self.table = Some(Table {
                    alignments: alignments.clone(),
                    rows: Vec::new(),
                });
            }
            Tag::TableHead => {
                self.styles.push(self.style().patch(self.pens.theme.strong));
                self.start_row();
            }
            Tag::TableRow => self.start_row(),
            Tag::Emphasis => self
                .styles
                .push(self.style().add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.styles.push(self.style().patch(self.pens.theme.strong)),
            Tag::Strikethrough => self
                .styles
                .push(self.style().add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } => self.start_link(dest_url),
            Tag::Image { dest_url, .. } => {
                self.push("image: ", self.style().patch(self.pens.theme.dim));
                self.start_link(dest_url);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.end_block();
                self.pop_style();
            }
            TagEnd::BlockQuote(_) => self.end_quote(),
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.end_words();
                self.lists.pop();
                self.wants_gap = self.lists.is_empty();
            }
            TagEnd::Item => self.end_item(),
            TagEnd::Table => self.end_table(),
            TagEnd::TableHead => self.pop_style(),
            TagEnd::TableCell => self.end_cell(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.pop_style(),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn pop_style(&mut self) {
        if self.styles.len() > 1 {
            self.styles.pop();
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        self.words
            .push(Span::styled(text::clean(text).into_owned(), style));
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some((_, code)) => code.push_str(text),
            None => self.push(text, self.style()),
        }
    }

    fn inline_code(&mut self, code: &str) {
        let theme = self.pens.theme;
        let style = self.style().patch(theme.code);
        // Where code has no look of its own, its ticks tell it from words.
        if theme.code == Style::default() {
            self.push(&format!("`{code}`"), style);
        } else {
            self.push(code, style);
        }
    }

    fn html(&mut self, html: &str) {
        for line in html.lines() {
            self.push(line, self.style().patch(self.pens.theme.dim));
            self.end_words();
        }
    }

    fn hard_break(&mut self) {
        if self.table.is_some() {
            self.push(" ", self.style());
        } else {
            self.end_words();
        }
    }

    fn start_link(&mut self, dest: &str) {
        self.links.push((dest.to_owned(), self.words.len()));
        self.styles.push(self.style().patch(self.pens.theme.link));
    }

    fn end_link(&mut self) {
        self.pop_style();
        let Some((dest, from)) = self.links.pop() else {
            return;
        };
        let words: String = self
            .words
            .iter()
            .skip(from)
            .map(|span| span.content.as_ref())
            .collect();
        let bare = dest.strip_prefix("mailto:").unwrap_or(&dest);
        if words.is_empty() {
            self.push(&dest, self.style().patch(self.pens.theme.link));
        } else if words != text::clean(bare) && !dest.is_empty() {
            self.push(
                &format!(" ({dest})"),
                self.style().patch(self.pens.theme.dim),
            );
        }
    }

    fn start_styled_block(&mut self, style: Style) {
        self.gap();
        self.styles.push(self.style().patch(style));
    }

    fn end_block(&mut self) {
        self.end_words();
        self.wants_gap = true;
    }

    fn start_quote(&mut self) {
        self.gap();
        self.around.push(Around::Quote);
        self.styles.push(self.style().patch(self.pens.theme.quote));
    }

    fn end_quote(&mut self) {
        self.end_words();
        self.pop_style();
        self.around.pop();
        self.wants_gap = true;
    }

    fn start_list(&mut self, first: Option<u64>) {
        self.end_words();
        if !matches!(self.around.last(), Some(Around::Item { .. })) {
            self.gap();
        } else {
            self.wants_gap = false;
        }
        self.lists.push(first);
    }

    fn start_item(&mut self) {
        self.end_words();
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            _ => "• ".to_owned(),
        };
        let cols = text::width(&marker);
        self.around.push(Around::Item {
            marker: Some(marker),
            cols,
        });
    }

    fn end_item(&mut self) {
        self.end_words();
        if matches!(
            self.around.last(),
            Some(Around::Item {
                marker: Some(_),
                ..
            })
        ) {
            self.line(Line::default());
        }
        self.around.pop();
    }

    /// Leaves a blank line before what comes, unless it starts the block or an item.
    fn gap(&mut self) {
        self.end_words();
        let Self {
            wants_gap,
            around,
            lines,
            ..
        } = self;
        let marker = around.iter_mut().rev().find_map(|a| match a {
            Around::Item { marker, .. } => marker.take(),
            Around::Quote => None,
        });
        let first = lines.is_empty();
        let due = std::mem::take(wants_gap);
        if let Some(marker) = marker {
            // The marker is put back after the blank line before the item.
            if due && !first {
                self.line(Line::default());
            }
            self.restore_marker(marker);
        } else if !first {
            self.line(Line::default());
        }
    }

    fn restore_marker(&mut self, text: String) {
        let item = self
            .around
            .iter_mut()
            .rev()
            .find(|a| matches!(a, Around::Item { .. }));
        if let Some(Around::Item { marker, .. }) = item {
            *marker = Some(text);
        }
    }

    fn rule(&mut self) {
        self.gap();
        let cols = self.room().min(40);
        self.line(Line::from(Span::styled(
            "─".repeat(cols),
            self.pens.theme.border,
        )));
        self.wants_gap = true;
    }

    fn start_code(&mut self, kind: &CodeBlockKind<'_>) {
        self.gap();
        let lang = match kind {
            CodeBlockKind::Fenced(lang) => lang.to_string(),
            CodeBlockKind::Indented => String::new(),
        };
        self.code = Some((lang, String::new()));
    }

    fn end_code(&mut self) {
        let Some((lang, code)) = self.code.take() else {
            return;
        };
        let whole = code.rfind('\n').map_or(0, |at| at + 1);
        let (mut done, mut at, mut lines) = self.code_start(&lang, &code);
        while done < whole {
            let end = code[done..].find('\n').map_or(whole, |at| done + at);
            self.code_lines(&code[done..end], &mut at, &mut lines);
            done = end + 1;
        }
        let (made, progress) = (lines.len(), at.clone());
        if whole < code.len() {
            self.code_lines(&code[whole..], &mut at, &mut lines);
        }
        self.behind |= self.pens.highlighter.is_behind();
        self.wants_gap = true;
        if !self.around.is_empty() {
            lines.into_iter().for_each(|line| self.line(line));
            return;
        }
        if self.lines.is_empty() && !self.behind {
            self.keep = Some(CodeStart {
                lang,
                text: code[..whole].to_owned(),
                made,
                progress,
            });
        }
        self.lines.append(&mut lines);
    }

    /// Returns how much of the code is done already, how the work stands there, and its lines.
    fn code_start(&mut self, lang: &str, code: &str) -> (usize, Progress, Vec<Line<'static>>) {
        let fits = |start: &CodeStart| {
            start.lang == lang
                && code.starts_with(&start.text)
                && (code.len() <= BLOCK_BYTES || start.progress.is_plain())
        };
        match self
            .reuse
            .take()
            .filter(|(start, _)| self.around.is_empty() && fits(start))
        {
            Some((start, mut lines)) => {
                lines.truncate(start.made);
                (start.text.len(), start.progress, lines)
            }
            None => (0, self.pens.highlighter.start(lang, code.len()), Vec::new()),
        }
    }

    fn code_lines(&mut self, source: &str, at: &mut Progress, lines: &mut Vec<Line<'static>>) {
        let cols = self.room().saturating_sub(2);
        let line = code_line(source, at, self.pens);
        for mut part in chop(line, cols) {
            part.spans.insert(0, Span::raw("  "));
            lines.push(part);
        }
    }

    fn start_row(&mut self) {
        if let Some(table) = &mut self.table {
            table.rows.push(Vec::new());
        }
    }

    fn end_cell(&mut self) {
        let words = std::mem::take(&mut self.words);
        if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
            row.push(Line::from(words));
        }
    }

    fn end_table(&mut self) {
        if let Some(table) = self.table.take() {
            for line in table.lay_out(self.room(), self.pens) {
                self.line(line);
            }
        }
        self.wants_gap = true;
    }

    /// Writes the words that were collected as wrapped lines.
    fn end_words(&mut self) {
        if self.words.is_empty() {
            return;
        }
        if std::mem::take(&mut self.wants_gap) && !self.starts_item() && !self.lines.is_empty() {
            self.line(Line::default());
        }
        let words = Line::from(std::mem::take(&mut self.words));
        for line in text::wrap_line(&words, self.room()) {
            self.line(line);
        }
    }

    fn starts_item(&self) -> bool {
        matches!(
            self.around.last(),
            Some(Around::Item {
                marker: Some(_),
                ..
            })
        )
    }

    /// Columns that are left beside markers and bars.
    fn room(&self) -> usize {
        let taken: usize = self.around.iter().map(Around::cols).sum();
        self.cols
            .saturating_sub(taken.min(self.cols.saturating_sub(LEAST)))
            .max(2)
    }

    /// Writes one line behind its markers and bars.
    fn line(&mut self, line: Line<'static>) {
        let mut spans: Vec<Span<'static>> = Vec::new();
        let blank = line.spans.is_empty();
        for around in &mut self.around {
            spans.push(around.take(self.pens));
        }
        let most = self.cols.saturating_sub(LEAST);
        let mut before = text::cut_line(Line::from(spans), self.cols);
        if text::line_width(&before) > most {
            before = cut_start(before, most);
        }
        if blank
            && before
                .spans
                .iter()
                .all(|span| span.content.trim().is_empty())
        {
            before.spans.clear();
        }
        before.spans.extend(line.spans);
        self.lines.push(before);
    }
}

/// Keeps the end of what stands before a line: the innermost marker says most.
fn cut_start(line: Line<'static>, cols: usize) -> Line<'static> {
    let all: String = line
        .spans
        .iter()
        .map(|span| span.content.as_ref())
        .collect();
    let style = line.spans.last().map(|span| span.style).unwrap_or_default();
    let end = text::tail(&all, cols);
    let blanks = cols - text::width(end);
    Line::from(Span::styled(format!("{}{end}", " ".repeat(blanks)), style))
}

impl Around {
    fn cols(&self) -> usize {
        match self {
            Self::Quote => 2,
            Self::Item { cols, .. } => *cols,
        }
    }

    fn take(&mut self, pens: &Pens<'_>) -> Span<'static> {
        match self {
            Self::Quote => Span::styled("│ ", pens.theme.border),
            Self::Item { marker, cols } => match marker.take() {
                Some(marker) => Span::styled(Cow::Owned(marker), pens.theme.dim),
                None => Span::raw(" ".repeat(*cols)),
            },
        }
    }
}
