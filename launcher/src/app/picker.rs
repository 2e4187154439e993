//! The launcher's own file picker: one folder at a time, narrowed by what is typed. A UI cannot draw over it, sees nothing
//! of it, and names no file. It reads no folder itself.

use std::path::{Path, PathBuf};

use nucleo_matcher::{
    Config, Matcher,
    pattern::{AtomKind, CaseMatching, Normalization, Pattern},
};
use porthole_bridge::{ColorDepth, Key, KeyCode, Outcome};
use ratatui::{buffer::Buffer, layout::Rect, style::Modifier};

use super::{
    App, Asked, Effect,
    view::{centred, draw_frame, own_style, put},
};
use crate::{
    escape,
    transfer::{Entry, EntryKind, size},
};

/// Widest picker.
const WIDEST: u16 = 76;
/// Columns of a size.
const SIZE_COLUMNS: usize = 12;

/// An open picker.
pub(super) struct Picker {
    pub(super) asked: Asked,
    folder: PathBuf,
    entries: Vec<Entry>,
    /// Why the folder shows nothing; empty: it is read, or being read.
    note: String,
    filter: String,
    /// Entries that fit the filter, best first.
    fits: Vec<usize>,
    selected: usize,
}

impl Picker {
    pub(super) fn new(asked: Asked, folder: PathBuf) -> Self {
        Self {
            asked,
            folder,
            entries: Vec::new(),
            note: String::new(),
            filter: String::new(),
            fits: Vec::new(),
            selected: 0,
        }
    }

    fn listed(&mut self, folder: &Path, entries: Result<Vec<Entry>, String>) {
        if folder != self.folder {
            return;
        }
        (self.entries, self.note) = match entries {
            Ok(entries) => (entries, String::new()),
            Err(why) => (Vec::new(), why),
        };
        self.narrow();
    }

    /// Hidden files are shown once a dot is typed.
    fn narrow(&mut self) {
        let hidden = self.filter.starts_with('.');
        let shown = self.entries.iter().enumerate();
        let shown = shown.filter(|(_, entry)| hidden || !entry.name.starts_with('.'));
        let named: Vec<Named> = shown.map(|(at, entry)| Named(at, &entry.name)).collect();
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let pattern = Pattern::new(
            &self.filter,
            CaseMatching::Smart,
            Normalization::Smart,
            AtomKind::Fuzzy,
        );
        self.fits = match self.filter.is_empty() {
            true => named.iter().map(|named| named.0).collect(),
            false => pattern
                .match_list(named, &mut matcher)
                .iter()
                .map(|(named, _)| named.0)
                .collect(),
        };
        self.selected = 0;
    }

    fn chosen(&self) -> Option<&Entry> {
        self.entries.get(*self.fits.get(self.selected)?)
    }

    fn go_to(&mut self, folder: PathBuf) -> Effect {
        self.folder = folder.clone();
        self.entries.clear();
        self.filter.clear();
        self.note.clear();
        self.narrow();
        Effect::List(folder)
    }

    fn up(&mut self) -> Option<Effect> {
        let above = self.folder.parent()?.to_owned();
        Some(self.go_to(above))
    }

    fn step(&mut self, by: isize) {
        let last = self.fits.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }
}

struct Named<'a>(usize, &'a str);

impl AsRef<str> for Named<'_> {
    fn as_ref(&self) -> &str {
        self.1
    }
}

impl App {
    /// Opens the picker in the folder that the launcher was started in.
    pub(super) fn open_picker(&mut self, asked: Asked) {
        let folder = self.fixed.folder.clone();
        self.picker = Some(Picker::new(asked, folder.clone()));
        self.out.push(Effect::List(folder));
        self.dirty = true;
    }

    pub(super) fn listed(&mut self, folder: &Path, entries: Result<Vec<Entry>, String>) {
        if let Some(picker) = &mut self.picker {
            picker.listed(folder, entries);
            self.dirty = true;
        }
    }

    pub(super) fn picker_key(&mut self, key: Key) {
        let Some(picker) = &mut self.picker else {
            return;
        };
        self.dirty = true;
        let plain = !key.modifiers.control && !key.modifiers.alt;
        let effect = match key.code {
            KeyCode::Escape => return self.close_picker("no"),
            KeyCode::Char('c') if key.modifiers.control => return self.close_picker("no"),
            KeyCode::Enter | KeyCode::Right => return self.pick(),
            KeyCode::Left => picker.up(),
            KeyCode::Backspace if picker.filter.is_empty() => picker.up(),
            KeyCode::Backspace => {
                picker.filter.pop();
                picker.narrow();
                None
            }
            KeyCode::Up => {
                picker.step(-1);
                None
            }
            KeyCode::Down | KeyCode::Tab => {
                picker.step(1);
                None
            }
            KeyCode::PageUp => {
                picker.step(-10);
                None
            }
            KeyCode::PageDown => {
                picker.step(10);
                None
            }
            KeyCode::Char(char) if plain => {
                picker.filter.push(char);
                picker.narrow();
                None
            }
            _ => None,
        };
        self.out.extend(effect);
    }

    fn pick(&mut self) {
        let Some(picker) = &mut self.picker else {
            return;
        };
        let Some((path, kind)) = picker.chosen().map(|e| (e.path.clone(), e.kind)) else {
            return;
        };
        let effect = match kind {
            EntryKind::Folder => picker.go_to(path),
            EntryKind::File | EntryKind::Other => Effect::OpenFiles {
                asked: picker.asked,
                paths: vec![path],
                otherwise: None,
            },
        };
        self.out.push(effect);
    }

    pub(super) fn close_picker(&mut self, why: &str) {
        if let Some(picker) = self.picker.take() {
            self.answer(picker.asked, Outcome::Refused(why.to_owned()));
            self.dirty = true;
        }
    }
}

pub(super) fn draw(picker: &Picker, colors: ColorDepth, area: Rect, buffer: &mut Buffer) {
    let style = own_style(colors);
    let width = area.width.saturating_sub(4).min(WIDEST);
    let frame = centred(area, width, area.height.saturating_sub(2));
    let inner = draw_frame(" porthole · choose a file to upload ", frame, style, buffer);
    let cols = usize::from(inner.width);
    let folder = escape::visible(&picker.folder.to_string_lossy());
    let mut y = put(
        inner.x,
        inner.y,
        &escape::cut_middle(&folder, cols),
        inner,
        style,
        buffer,
    );
    let filter = format!(
        "> {}",
        escape::visible_cut(&picker.filter, cols.saturating_sub(2))
    );
    y = put(inner.x, y, &filter, inner, style, buffer);
    let room = usize::from(inner.bottom().saturating_sub(y + 1)).max(1);
    let first = picker.selected.saturating_sub(room - 1);
    if !picker.note.is_empty() {
        put(
            inner.x,
            y,
            &escape::visible_cut(&picker.note, cols),
            inner,
            style,
            buffer,
        );
    }
    for (at, index) in picker.fits.iter().enumerate().skip(first).take(room) {
        let Some(entry) = picker.entries.get(*index) else {
            continue;
        };
        let (mark, look) = match at == picker.selected {
            true => (
                '▸',
                style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            ),
            false => (' ', style),
        };
        y = put(inner.x, y, &line(entry, mark, cols), inner, look, buffer);
    }
    let keys = "Enter chooses · ← up · type to find · Esc cancels";
    let last = inner.bottom().saturating_sub(1);
    put(inner.x, last, keys, inner, style, buffer);
}

fn line(entry: &Entry, mark: char, cols: usize) -> String {
    let end = match entry.kind {
        EntryKind::Folder => String::new(),
        EntryKind::File => size(entry.bytes),
        EntryKind::Other => "no file".to_owned(),
    };
    let slash = if entry.kind == EntryKind::Folder {
        "/"
    } else {
        ""
    };
    let name = escape::name(&entry.name);
    let name = escape::visible_cut(
        &format!("{name}{slash}"),
        cols.saturating_sub(SIZE_COLUMNS + 3),
    );
    let gap = cols.saturating_sub(crate::screen::width(name.as_str()) + end.len() + 2);
    format!("{mark} {name}{}{end}", " ".repeat(gap))
}
