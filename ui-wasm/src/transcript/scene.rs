//! One drawing: the items there are, built as far as they are looked at, and put into the rows of the screen.

use std::collections::HashMap;

use porthole_protocol::{EntryBody, EntryId};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Span;

use super::build::Builder;
use super::laid::{Fold, ItemKey, Laid, RowRef, Target};
use super::scroll::{Anchor, Heights, RowAt};
use super::tail::TailItem;
use crate::text;

/// Columns before the gutter, of the gutter, and after the words.
const MARGIN: u16 = 1;
const GUTTER: u16 = 2;
/// Columns before the words.
pub(crate) const BEFORE: u16 = MARGIN + GUTTER;
/// Widest a text gets, with its margin and gutter.
const WIDEST: u16 = 100;

/// Returns the columns for words in an area.
pub(crate) fn columns(area: Rect) -> usize {
    usize::from(
        area.width
            .min(WIDEST)
            .saturating_sub(MARGIN + GUTTER + 1)
            .max(4),
    )
}

/// An entry as it was built last.
#[derive(Debug)]
pub(crate) struct Slot {
    stamp: u64,
    laid: Laid,
    /// The drawing that used it last.
    used: u64,
}

/// The items of one drawing.
pub(crate) struct Scene<'a> {
    pub(crate) builder: Builder<'a>,
    pub(crate) slots: &'a mut HashMap<EntryId, Slot>,
    pub(crate) drawing: u64,
    pub(crate) tail: Vec<TailItem>,
}

impl Heights for Scene<'_> {
    fn count(&self) -> usize {
        self.entries() + self.tail.len()
    }

    fn height(&mut self, item: usize) -> usize {
        self.laid(item).map_or(0, Laid::height)
    }
}

impl Scene<'_> {
    fn entries(&self) -> usize {
        self.builder.state.entries.len()
    }

    /// Whether the item before this one ends in a closed card.
    pub(crate) fn follows_card(&self, item: usize) -> bool {
        let entries = &self.builder.state.entries;
        let before = entries[..item.min(entries.len())].iter().rev();
        let mut shown = before.filter(|entry| self.builder.index.is_shown(entry));
        shown
            .next()
            .is_some_and(|entry| self.builder.ends_in_card(entry))
    }

    /// Returns an item as rows, built where it is not yet.
    fn laid(&mut self, item: usize) -> Option<&Laid> {
        let entries = &self.builder.state.entries;
        let Some(entry) = entries.get(item) else {
            return self.tail.get(item - entries.len()).map(|item| &item.laid);
        };
        if !self.builder.index.is_shown(entry) {
            return None;
        }
        let used = self.drawing;
        let fresh = self
            .slots
            .get(&entry.id)
            .is_some_and(|slot| slot.used == used);
        if !fresh {
            let after_card = self.follows_card(item);
            let stamp = self.builder.stamp(entry, after_card);
            let old = self.slots.remove(&entry.id);
            let slot = match old {
                Some(slot) if slot.stamp == stamp && !slot.laid.behind => Slot { used, ..slot },
                old => {
                    let laid = self
                        .builder
                        .entry(entry, old.map(|slot| slot.laid), after_card);
                    Slot { stamp, laid, used }
                }
            };
            self.slots.insert(entry.id, slot);
        }
        self.slots.get(&entry.id).map(|slot| &slot.laid)
    }

    fn key(&self, item: usize) -> Option<ItemKey> {
        let entries = &self.builder.state.entries;
        match entries.get(item) {
            Some(entry) => Some(ItemKey::Entry(entry.id)),
            None => self
                .tail
                .get(item - entries.len())
                .map(|item| item.key.clone()),
        }
    }

    /// Returns the anchor that keeps a row where it is.
    pub(crate) fn anchor(&mut self, at: RowAt) -> Option<Anchor> {
        let cols = self.builder.cols;
        let newest = self.builder.state.entries.last().map(|entry| entry.id);
        let key = self.key(at.item)?;
        let spot = self
            .laid(at.item)
            .map_or_else(|| Laid::default().spot(0), |laid| laid.spot(at.row));
        Some(Anchor {
            key,
            spot,
            cols,
            newest,
        })
    }

    /// Returns where the row of an anchor is now. At the width of the anchor its characters are counted,
    /// so that it is found at other widths too.
    pub(crate) fn find(&mut self, anchor: &mut Anchor) -> RowAt {
        let (item, exact) = self.find_item(anchor);
        let same_width = anchor.cols == self.builder.cols;
        let row = match self.laid(item) {
            Some(laid) if exact => {
                if same_width && anchor.spot.before.is_none() {
                    anchor.spot.before = laid.count_before(anchor.spot);
                }
                laid.row(anchor.spot, same_width)
            }
            _ => 0,
        };
        RowAt { item, row }
    }

    /// Returns the item of an anchor, and whether it is the very one.
    fn find_item(&self, anchor: &Anchor) -> (usize, bool) {
        let entries = &self.builder.state.entries;
        let in_tail = self.tail.iter().position(|item| item.key == anchor.key);
        if let Some(at) = in_tail {
            return (entries.len() + at, true);
        }
        match &anchor.key {
            ItemKey::Entry(id) => match entries.binary_search_by_key(id, |entry| entry.id) {
                Ok(at) => (at, true),
                Err(at) => (at.min(self.count().saturating_sub(1)), false),
            },
            ItemKey::Open(turn) => {
                let from = entries.partition_point(|entry| Some(entry.id) <= anchor.newest);
                let answer = entries[from..].iter().position(|entry| {
                    entry.turn == Some(*turn) && matches!(entry.body, EntryBody::Answer { .. })
                });
                match answer {
                    Some(at) => (from + at, true),
                    None => (self.count().saturating_sub(1), false),
                }
            }
            _ => (self.count().saturating_sub(1), false),
        }
    }

    /// Returns the item that shows an entry: a result is shown with its call.
    pub(crate) fn item_of(&self, id: EntryId) -> Option<usize> {
        let state = self.builder.state;
        let entry = state.entries.get(state.position(id)?)?;
        let shown = match &entry.body {
            EntryBody::ToolResult { call, .. } => self.builder.index.call(call).unwrap_or(id),
            _ => id,
        };
        state.position(shown)
    }

    /// Returns the first row of an item that holds the words, which are in small letters.
    pub(crate) fn row_with(&mut self, item: usize, words: &str) -> Option<usize> {
        let laid = self.laid(item)?;
        laid.rows(0)
            .position(|row| row.words().to_lowercase().contains(words))
    }

    /// Draws from a row on. Returns what can be opened in each row, the words of each, and the first row that was not drawn.
    pub(crate) fn draw(
        &mut self,
        top: RowAt,
        area: Rect,
        buf: &mut Buffer,
        selected: Option<&Target>,
    ) -> (Vec<Option<Fold>>, Vec<String>, RowAt) {
        let theme = self.builder.cx.theme;
        let cols = self.builder.cols;
        let height = usize::from(area.height);
        let mut folds: Vec<Option<Fold>> = Vec::with_capacity(height);
        let mut words: Vec<String> = Vec::with_capacity(height);
        let mut at = top;
        while folds.len() < height && at.item < self.count() {
            let room = height - folds.len();
            let mut taken = 0;
            if let Some(laid) = self.laid(at.item) {
                for row in laid.rows(at.row).take(room) {
                    let y = area
                        .y
                        .saturating_add(u16::try_from(folds.len()).unwrap_or(u16::MAX));
                    let is_selected =
                        selected.is_some() && row.fold.map(|fold| &fold.target) == selected;
                    draw_row(row, area.x, y, cols, buf);
                    if is_selected {
                        let width = area.width.min(WIDEST);
                        buf.set_style(
                            Rect {
                                y,
                                width,
                                height: 1,
                                ..area
                            }
                            .intersection(buf.area),
                            theme.selected,
                        );
                    }
                    folds.push(row.fold.cloned());
                    words.push(row.words());
                    taken += 1;
                }
                at.row += taken;
            }
            if folds.len() < height || self.height(at.item) <= at.row {
                at = RowAt {
                    item: at.item + 1,
                    row: 0,
                };
            }
        }
        folds.resize(height, None);
        (folds, words, at)
    }

    /// Forgets what has not been looked at for a while.
    pub(crate) fn forget(&mut self) {
        const KEPT: usize = 400;
        if self.slots.len() > KEPT {
            let drawing = self.drawing;
            self.slots.retain(|_, slot| slot.used == drawing);
        }
    }

    /// Whether a later drawing could add colours to what was drawn.
    pub(crate) fn is_behind(&self) -> bool {
        let drawing = self.drawing;
        self.slots
            .values()
            .any(|slot| slot.used == drawing && slot.laid.behind)
            || self.tail.iter().any(|item| item.laid.behind)
    }
}

fn draw_row(row: RowRef<'_>, x: u16, y: u16, cols: usize, buf: &mut Buffer) {
    let gutter: &Span<'_> = row.gutter;
    text::put(
        buf,
        x.saturating_add(MARGIN),
        y,
        usize::from(GUTTER),
        &gutter.content,
        gutter.style,
    );
    text::put_line(buf, x.saturating_add(MARGIN + GUTTER), y, cols, row.line);
}
