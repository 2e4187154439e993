//! The transcript: a conversation as a person reads it. It draws and scrolls; it sends nothing and answers no keys.

mod answer;
mod build;
mod card;
mod clock;
mod copied;
mod detail;
mod diff;
mod extract;
mod index;
mod laid;
mod nested;
mod output;
mod remark;
mod scene;
mod scroll;
mod seek;
mod tail;

use std::collections::HashMap;

use porthole_protocol::{ConversationState, EntryId, RunId, SendMode, TurnPhase};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use serde::{Deserialize, Serialize};

use crate::highlight::Highlighter;
use crate::text;
use crate::theme::Theme;
use build::Builder;
use copied::{Selection, mark, show_selection};
use index::Index;
use laid::{Fold, ItemKey, Laid, Target};
use output::LiveOutput;
use scene::{Scene, Slot};
use scroll::{Anchor, Heights, RowAt, Wish};
pub(crate) use seek::{Kind, Seek, Way, holds};

pub use detail::detail_lines;
pub(crate) use detail::size;
pub(crate) use extract::answer_text;
pub(crate) use extract::savable;
pub use extract::{code_blocks, last_answer};

/// What a drawing of the transcript depends on beside the conversation.
#[derive(Clone, Copy, Debug)]
pub struct ViewContext<'a> {
    /// The styles.
    pub theme: &'a Theme,
    /// Milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// Minutes that local time is ahead of UTC.
    pub utc_offset_minutes: i16,
    /// Whether the terminal can show the common glyphs.
    pub unicode: bool,
    /// Whether things may move by themselves.
    pub animate: bool,
    /// The id of the visitor, as authors of entries carry it; empty: unknown.
    pub me: &'a str,
}

/// A submission of this client that the conversation does not show yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    /// The text.
    pub text: String,
    /// How it was sent.
    pub mode: SendMode,
    /// Whether the link broke before the server said that it has it.
    pub uncertain: bool,
    /// Why it was refused, for a person.
    pub failed: Option<String>,
}

/// A range of a command's output that the view could show. The same want comes back until its bytes arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputWant {
    /// The run.
    pub run: RunId,
    /// The generation that the row named.
    pub generation: u32,
    /// First byte.
    pub from: u64,
    /// How many bytes.
    pub bytes: u32,
}

/// What a click did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Click {
    /// Nothing; there is nothing to click.
    Nothing,
    /// Something was opened or closed.
    Toggled,
}

/// Where a reader is in a conversation, to come back to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptPlace {
    anchor: Option<Anchor>,
    folds: Vec<(Target, bool)>,
    show_thinking: bool,
}

/// Folds that a snapshot carries.
const SNAPSHOT_FOLDS: usize = 500;
/// Outputs of commands that are kept before those that ended are forgotten.
const KEPT_OUTPUTS: usize = 16;
/// Newest entries among which commands of people are looked for that still run.
const SHELLS_WATCHED: usize = 20;
/// Between two steps of colouring code.
const COLOR_STEP_MS: u64 = 30;
/// Between two looks of the turning glyph.
const TURN_MS: u64 = 250;
const SECOND_MS: u64 = 1_000;

/// The view state of one conversation.
#[derive(Debug, Default)]
pub struct Transcript {
    /// The row at the top for someone who reads; `None`: the bottom is followed.
    anchor: Option<Anchor>,
    wish: Wish,
    seek: Option<Seek>,
    /// Words that are marked wherever they stand, in small letters.
    marked: String,
    /// What the mouse selects.
    selection: Option<Selection>,
    /// Whether to follow again if the end turns out to be in view.
    settle: bool,
    folds: HashMap<Target, bool>,
    show_thinking: bool,
    selected: Option<Target>,
    outputs: HashMap<RunId, LiveOutput>,
    highlighter: Highlighter,
    index: Index,
    slots: HashMap<EntryId, Slot>,
    open: Option<Laid>,
    drawing: u64,
    theme: Option<Theme>,
    last: Drawn,
}

/// What the last drawing showed.
#[derive(Debug, Default)]
struct Drawn {
    area: Rect,
    /// What can be opened, by row.
    folds: Vec<Option<Fold>>,
    /// The words of each row.
    rows: Vec<String>,
    cols: usize,
    /// What stands at the top.
    top: Option<Anchor>,
    /// The newest entry that was seen, and how much of the open answer.
    seen: Option<EntryId>,
    seen_open: usize,
    new_below: usize,
    wants_older: bool,
    wants: Vec<OutputWant>,
    wake_in: Option<u64>,
}

impl Transcript {
    /// Returns a transcript that follows the bottom.
    pub fn new() -> Self {
        Self::default()
    }

    /// Draws the conversation into `area`, as of now and with what was wished since the last drawing.
    pub fn view(
        &mut self,
        state: &ConversationState,
        sending: &[Sending],
        area: Rect,
        buf: &mut Buffer,
        cx: &ViewContext<'_>,
    ) {
        let area = area.intersection(buf.area);
        if self.theme.as_ref() != Some(cx.theme) {
            self.slots.clear();
            self.open = None;
            self.theme = Some(cx.theme.clone());
        }
        self.index.sync(&state.entries);
        self.highlighter.begin_frame();
        self.drawing += 1;
        self.settle |= self.last.area.height != area.height;
        let Self {
            anchor,
            wish,
            settle,
            folds,
            highlighter,
            index,
            slots,
            outputs,
            last,
            ..
        } = self;
        let builder = Builder {
            state,
            cx,
            index,
            folds,
            show_thinking: self.show_thinking,
            outputs,
            highlighter,
            cols: scene::columns(area),
        };
        let mut scene = Scene {
            builder,
            slots,
            drawing: self.drawing,
            tail: Vec::new(),
        };
        let after_card = scene.follows_card(state.entries.len());
        scene.tail = scene.builder.tail(sending, self.open.take(), after_card);

        let rows = usize::from(area.height);
        if let Some(seek) = self.seek.take() {
            let from = match anchor.as_mut() {
                Some(held) => scene.find(held),
                None => scroll::bottom(&mut scene, rows),
            };
            if let Some(found) = seek::find(&mut scene, from, &seek) {
                let above = match seek {
                    Seek::Words(..) => rows / 3,
                    Seek::Next(..) => 0,
                };
                let top = scroll::up(&mut scene, found, above);
                *anchor = scene.anchor(top);
            }
        }
        let top = find_top(
            &mut scene,
            rows,
            anchor,
            std::mem::take(wish),
            std::mem::take(settle),
        );
        let (folds, words, end) = scene.draw(top, area, buf, self.selected.as_ref());
        mark(buf, area, &self.marked, cx.theme.selected);
        if let Some(selection) = &self.selection {
            show_selection(buf, area, selection, cx.theme.selected);
        }
        last.rows = words;
        last.cols = scene.builder.cols;
        last.note_seen(state, &scene, anchor.is_none(), end);
        last.top = scene.anchor(top);
        let above = scroll::up(&mut scene, top, 2 * rows);
        last.wants_older = state.has_older && above == RowAt::default();
        last.wants = wanted(&scene.builder);
        last.area = area;
        last.folds = folds;
        last.wake_in = wake_in(state, cx, scene.is_behind());
        scene.forget();
        let open = scene
            .tail
            .into_iter()
            .find(|item| matches!(item.key, ItemKey::Open(_)));
        self.open = open.map(|item| item.laid);
        if !cx.unicode {
            text::put_stand_ins(buf, area);
        }
    }

    /// Goes somewhere with the next drawing.
    pub(crate) fn seek(&mut self, seek: Seek) {
        self.selection = None;
        self.seek = Some(seek);
    }

    /// Marks words wherever they stand; none for an empty text.
    pub(crate) fn mark(&mut self, words: &str) {
        self.marked = words.to_lowercase();
    }

    /// Scrolls by rows; down is positive.
    pub fn scroll(&mut self, rows: i32) {
        self.selection = None;
        if rows < 0 && self.anchor.is_none() {
            self.anchor.clone_from(&self.last.top);
        }
        self.wish = self.wish.and_rows(i64::from(rows));
    }

    /// Scrolls by pages; down is positive.
    pub fn page(&mut self, pages: i32) {
        let rows = i32::from(self.last.area.height.saturating_sub(2).max(1));
        self.scroll(pages.saturating_mul(rows));
    }

    /// Scrolls to the oldest entry that is loaded.
    pub fn to_top(&mut self) {
        if self.anchor.is_none() {
            self.anchor.clone_from(&self.last.top);
        }
        self.wish = Wish::Top;
    }

    /// Scrolls to the bottom and follows it.
    pub fn to_bottom(&mut self) {
        self.anchor = None;
        self.wish = Wish::Stay;
    }

    /// Whether the view follows the bottom.
    pub fn is_following(&self) -> bool {
        self.anchor.is_none()
    }

    /// Returns how many items came in below the view since it stopped following.
    pub fn new_below(&self) -> usize {
        self.last.new_below
    }

    /// Whether the view is near the oldest loaded entry while there are older ones.
    pub fn wants_older(&self) -> bool {
        self.last.wants_older
    }

    /// Returns in how many milliseconds a drawing would show something new though nothing happened; `None`: never.
    pub fn wake_in(&self) -> Option<u64> {
        self.last.wake_in
    }

    /// Selects the next thing in the view that can be opened.
    pub fn select_next(&mut self) {
        let targets = self.visible_targets();
        let at = self
            .selected
            .as_ref()
            .and_then(|selected| targets.iter().position(|t| t == selected));
        match at {
            Some(at) if at + 1 < targets.len() => self.selected = Some(targets[at + 1].clone()),
            Some(_) => self.page(1),
            None => self.selected = targets.first().cloned(),
        }
    }

    /// Selects the previous thing in the view that can be opened.
    pub fn select_previous(&mut self) {
        let targets = self.visible_targets();
        let at = self
            .selected
            .as_ref()
            .and_then(|selected| targets.iter().position(|t| t == selected));
        match at {
            Some(0) => self.page(-1),
            Some(at) => self.selected = Some(targets[at - 1].clone()),
            None => self.selected = targets.last().cloned(),
        }
    }

    fn visible_targets(&self) -> Vec<Target> {
        self.last
            .folds
            .iter()
            .flatten()
            .map(|fold| fold.target.clone())
            .collect()
    }

    /// Selects nothing.
    pub fn clear_selection(&mut self) {
        self.selected = None;
    }

    /// Opens or closes what is selected; the last thing in the view where nothing is.
    pub fn toggle_selected(&mut self) {
        let mut folds = self.last.folds.iter().flatten();
        let fold = match &self.selected {
            Some(selected) => folds.find(|fold| fold.target == *selected),
            None => folds.next_back(),
        };
        if let Some(fold) = fold.cloned() {
            self.toggle(fold);
        }
    }

    /// Acts on a click at a cell of the screen, as of the last drawing.
    pub fn click(&mut self, col: u16, row: u16) -> Click {
        let area = self.last.area;
        let inside = area.contains((col, row).into());
        let fold = inside
            .then(|| usize::from(row - area.y))
            .and_then(|row| self.last.folds.get(row).cloned().flatten());
        match fold {
            Some(fold) => {
                self.toggle(fold);
                Click::Toggled
            }
            None => Click::Nothing,
        }
    }

    /// Opens or closes one thing; what stands above it stays where it is.
    fn toggle(&mut self, fold: Fold) {
        let Fold { target, open } = fold;
        self.folds.insert(target, !open);
        if self.anchor.is_none() {
            self.anchor.clone_from(&self.last.top);
        }
        self.settle = true;
    }

    /// Opens or closes all thinking.
    pub fn toggle_thinking(&mut self) {
        self.show_thinking = !self.show_thinking;
        self.folds
            .retain(|target, _| !matches!(target, Target::Thinking(..) | Target::OpenThinking(_)));
    }

    /// Returns the ranges of output that open cards lack, as of the last drawing.
    pub fn wanted_output(&self) -> Vec<OutputWant> {
        self.last.wants.clone()
    }

    /// Takes a range of a command's output as it was read.
    pub fn output_arrived(
        &mut self,
        run: &RunId,
        from: u64,
        bytes: &[u8],
        _total: u64,
        generation: u32,
        complete: bool,
    ) {
        self.outputs
            .entry(run.clone())
            .or_default()
            .take(generation, from, bytes);
        self.last.wants.retain(|want| want.run != *run);
        if complete && self.outputs.len() > KEPT_OUTPUTS {
            self.outputs.remove(run);
        }
    }

    /// Returns where the reader is.
    pub fn snapshot(&self) -> TranscriptPlace {
        let folds = self.folds.iter().take(SNAPSHOT_FOLDS);
        TranscriptPlace {
            anchor: self.anchor.clone(),
            folds: folds
                .map(|(target, open)| (target.clone(), *open))
                .collect(),
            show_thinking: self.show_thinking,
        }
    }

    /// Returns a transcript at that place.
    pub fn restore(place: TranscriptPlace) -> Self {
        Self {
            anchor: place.anchor,
            folds: place.folds.into_iter().collect(),
            show_thinking: place.show_thinking,
            ..Self::default()
        }
    }
}

impl Drawn {
    /// Notes what the reader has seen and how much came in below.
    fn note_seen(
        &mut self,
        state: &ConversationState,
        scene: &Scene<'_>,
        follows: bool,
        end: RowAt,
    ) {
        let newest = state.entries.last().map(|entry| entry.id);
        let answer = state.turn.as_ref().and_then(|turn| turn.answer.as_ref());
        let open = answer.map_or(0, |answer| answer.text.len() + answer.thinking.len());
        let whole = end
            .item
            .min(state.entries.len())
            .checked_sub(1)
            .and_then(|at| state.entries.get(at));
        let all = follows || end.item >= scene.count();
        self.seen = if all {
            newest
        } else {
            self.seen.max(whole.map(|entry| entry.id))
        };
        if all || open < self.seen_open {
            self.seen_open = open;
        }
        let from = state
            .entries
            .partition_point(|entry| Some(entry.id) <= self.seen);
        let entries = state.entries[from..]
            .iter()
            .filter(|entry| scene.builder.index.is_shown(entry))
            .count();
        self.new_below = entries + usize::from(open > self.seen_open);
    }
}

/// Returns the row at the top of the view, and moves the anchor as was wished.
fn find_top(
    scene: &mut Scene<'_>,
    rows: usize,
    anchor: &mut Option<Anchor>,
    wish: Wish,
    settle: bool,
) -> RowAt {
    let bottom = scroll::bottom(scene, rows);
    let Some(held) = anchor.as_mut() else {
        return bottom;
    };
    let at = scene.find(held);
    let far = |rows: i64| usize::try_from(rows.unsigned_abs()).unwrap_or(usize::MAX);
    let to = match wish {
        Wish::Stay => at,
        Wish::Top => RowAt::default(),
        Wish::Rows(rows @ ..0) => scroll::up(scene, at, far(rows)),
        Wish::Rows(rows) => scroll::down(scene, at, far(rows)),
    };
    let moved = wish != Wish::Stay;
    if (moved || settle) && to >= bottom {
        *anchor = None;
        return bottom;
    }
    if moved {
        *anchor = scene.anchor(to);
        // Found once now, while its width is the one it was taken at, it is found at any later.
        if let Some(held) = anchor {
            scene.find(held);
        }
    }
    to
}

/// Returns what open cards lack of the output of commands that still run.
fn wanted(builder: &Builder<'_>) -> Vec<OutputWant> {
    let runs = builder.state.turn.iter().flat_map(|turn| &turn.tools);
    let tools = runs.filter_map(|run| Some((Target::Call(run.call.clone()), run.output.as_ref()?)));
    let newest = builder.state.entries.iter().rev().take(SHELLS_WATCHED);
    let shells =
        newest.filter_map(|entry| Some((Target::Entry(entry.id), remark::running_shell(entry)?)));
    tools
        .chain(shells)
        .filter(|(target, _)| builder.is_open(target))
        .filter_map(|(_, output)| output::want(output, builder.outputs.get(&output.run)))
        .collect()
}

/// Returns when what is drawn would look different by time alone, in milliseconds.
fn wake_in(state: &ConversationState, cx: &ViewContext<'_>, behind: bool) -> Option<u64> {
    if behind {
        return Some(COLOR_STEP_MS);
    }
    let turns = if cx.animate { TURN_MS } else { SECOND_MS };
    match state.turn.as_ref()?.phase {
        TurnPhase::Model | TurnPhase::Tools | TurnPhase::Stopping | TurnPhase::Compacting => {
            Some(turns)
        }
        TurnPhase::Retry { .. } => Some(SECOND_MS),
        TurnPhase::Question => None,
    }
}

#[cfg(test)]
mod tests;
