//! Where a reader is: at the bottom, or at a row of an item. Moves over items whose heights are asked for one by one,
//! so that a long conversation costs no more than what is seen.

use porthole_protocol::EntryId;
use serde::{Deserialize, Serialize};

use super::laid::{ItemKey, Spot};

/// The row at the top of the view of someone who reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Anchor {
    pub(crate) key: ItemKey,
    pub(crate) spot: Spot,
    /// The width at which the spot was taken.
    pub(crate) cols: usize,
    /// The newest entry then: an answer that is committed later has a greater id.
    pub(crate) newest: Option<EntryId>,
}

/// A wish to move, carried out by the next drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wish {
    #[default]
    Stay,
    /// By so many rows; down is positive.
    Rows(i64),
    Top,
}

impl Wish {
    /// Returns the wish that both together are.
    pub(crate) fn and_rows(self, rows: i64) -> Self {
        match self {
            Self::Stay => Self::Rows(rows),
            Self::Rows(before) => Self::Rows(before.saturating_add(rows)),
            Self::Top => Self::Top,
        }
    }
}

/// A row of an item, by place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowAt {
    pub(crate) item: usize,
    pub(crate) row: usize,
}

/// Items with heights in rows.
pub(crate) trait Heights {
    fn count(&self) -> usize;
    fn height(&mut self, item: usize) -> usize;
}

/// Returns the row so many rows further up, at most the first.
pub(crate) fn up(items: &mut impl Heights, at: RowAt, rows: usize) -> RowAt {
    let mut left = rows;
    let mut at = at;
    while left > at.row {
        let Some(item) = at.item.checked_sub(1) else {
            return RowAt::default();
        };
        left -= at.row;
        at = RowAt {
            item,
            row: items.height(item),
        };
    }
    RowAt {
        row: at.row - left,
        ..at
    }
}

/// Returns the row so many rows further down, at most one past the last.
pub(crate) fn down(items: &mut impl Heights, at: RowAt, rows: usize) -> RowAt {
    let mut left = rows;
    let mut at = at;
    while at.item < items.count() {
        let below = items.height(at.item).saturating_sub(at.row);
        if left < below {
            return RowAt {
                row: at.row + left,
                ..at
            };
        }
        left -= below;
        at = RowAt {
            item: at.item + 1,
            row: 0,
        };
    }
    at
}

/// Returns the top row of a view of so many rows that shows the end.
pub(crate) fn bottom(items: &mut impl Heights, rows: usize) -> RowAt {
    let end = RowAt {
        item: items.count(),
        row: 0,
    };
    up(items, end, rows)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Heights for Vec<usize> {
        fn count(&self) -> usize {
            self.len()
        }
        fn height(&mut self, item: usize) -> usize {
            self[item]
        }
    }

    fn absolute(items: &[usize], at: RowAt) -> usize {
        items[..at.item].iter().sum::<usize>() + at.row
    }

    proptest! {
        #[test]
        fn moves_over_items_are_moves_over_rows(mut items in prop::collection::vec(0usize..5, 1..12), start in 0usize..40, rows in 0usize..40) {
            let total: usize = items.iter().sum();
            let from = down(&mut items, RowAt::default(), start);
            prop_assert_eq!(absolute(&items, from), start.min(total));
            let lower = down(&mut items, from, rows);
            prop_assert_eq!(absolute(&items, lower), (start.min(total) + rows).min(total));
            let upper = up(&mut items, from, rows);
            prop_assert_eq!(absolute(&items, upper), start.min(total).saturating_sub(rows));
            let end = bottom(&mut items, rows);
            prop_assert_eq!(absolute(&items, end), total.saturating_sub(rows));
        }
    }
}
