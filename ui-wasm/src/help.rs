//! Help: every key and command, read from the one table. It scrolls and nothing else.

use ratatui_core::{buffer::Buffer, layout::Rect, style::Style};

use crate::{
    bindings::Keys,
    keymap::{Binding, Command, Context, TABLE},
    look::{self, Look},
    text,
};

/// The help that is open, and how far it is scrolled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Help {
    from: Option<Context>,
    first: usize,
    page: usize,
    lines: usize,
}

impl Help {
    /// Returns help that begins with the keys of the place one comes from.
    pub(crate) fn of(context: Context) -> Self {
        Self {
            from: Some(context),
            ..Self::default()
        }
    }

    /// Scrolls; returns false where the command is none of help, which closes it.
    pub(crate) fn apply(&mut self, command: Command) -> bool {
        let page = self.page.max(1) as isize;
        let by = match command {
            Command::Up | Command::OlderItem => -1,
            Command::Down | Command::NewerItem => 1,
            Command::PageUp => -page,
            Command::PageDown => page,
            Command::Top | Command::First => isize::MIN,
            Command::Bottom | Command::Last => isize::MAX,
            _ => return false,
        };
        self.scroll(by);
        true
    }

    /// Scrolls by rows; down is positive.
    pub(crate) fn scroll(&mut self, by: isize) {
        let last = self.lines.saturating_sub(self.page);
        self.first = self.first.saturating_add_signed(by).min(last);
    }

    /// Draws help over the whole screen.
    pub(crate) fn view(&mut self, screen: Rect, buf: &mut Buffer, look: &Look) {
        let page = look::page(screen);
        let area = Rect {
            x: page.x + 1,
            width: page.width.saturating_sub(2),
            ..page
        };
        let inside = look::float(buf, area, "keys and commands · Esc closes", look);
        let lines = lines(
            &look.keys,
            self.from,
            &look.launcher_key,
            usize::from(inside.width),
        );
        self.page = usize::from(inside.height);
        self.lines = lines.len();
        self.scroll(0);
        for (y, line) in lines.iter().skip(self.first).take(self.page).enumerate() {
            let row = Rect {
                y: inside.y + y as u16,
                height: 1,
                ..inside
            };
            line_view(line, row, buf, look);
        }
        let below = self.lines.saturating_sub(self.first + self.page);
        look::more_below(buf, area, below, look);
    }
}

enum HelpLine {
    Blank,
    Heading(&'static str),
    /// A part of a row of the table: its keys and its words, as far as they fit side by side.
    Row(&'static Binding, String, String),
    Words(String),
}

/// Cells of the column of keys.
const fn key_cols(cols: usize) -> usize {
    if cols < 60 { 16 } else { 26 }
}

fn lines(keys: &Keys, from: Option<Context>, launcher: &str, cols: usize) -> Vec<HelpLine> {
    let mut sections = Context::ALL.to_vec();
    sections.sort_by_key(|(context, _)| Some(*context) != from);
    let mut lines = Vec::new();
    for (context, title) in sections {
        if !lines.is_empty() {
            lines.push(HelpLine::Blank);
        }
        lines.push(HelpLine::Heading(title));
        let rows = TABLE.iter().filter(|b| b.context == context);
        lines.extend(rows.flat_map(|b| row_lines(b, keys, cols)));
        if context == Context::Composer {
            let words =
                "! before a command runs it and the model sees it; !! keeps it from the model";
            let words = text::wrap(words, cols.saturating_sub(2).max(8));
            lines.extend(words.into_iter().map(HelpLine::Words));
        }
    }
    let words = format!("{launcher} opens the launcher's own menu, whatever this UI does");
    let words = text::wrap(&words, cols.saturating_sub(2).max(8));
    lines.push(HelpLine::Blank);
    lines.push(HelpLine::Heading("The launcher's own key"));
    lines.extend(words.into_iter().map(HelpLine::Words));
    lines
}

fn row_lines(binding: &'static Binding, keys: &Keys, cols: usize) -> Vec<HelpLine> {
    let wide = key_cols(cols);
    let keys = text::wrap(&keys.all_keys(binding), wide);
    let mut words = binding.title.to_owned();
    if binding.slash {
        words.push_str("  /");
        words.push_str(binding.id);
    }
    let words = text::wrap(&words, cols.saturating_sub(wide + 4).max(8));
    let part = |of: &[String], at: usize| of.get(at).cloned().unwrap_or_default();
    (0..keys.len().max(words.len()).max(1))
        .map(|at| HelpLine::Row(binding, part(&keys, at), part(&words, at)))
        .collect()
}

fn line_view(line: &HelpLine, row: Rect, buf: &mut Buffer, look: &Look) {
    let theme = &look.theme;
    match line {
        HelpLine::Blank => {}
        HelpLine::Heading(title) => look::pieces(buf, row, &[(title, theme.heading)]),
        HelpLine::Words(words) => look::pieces(buf, row, &[("  ", theme.dim), (words, theme.dim)]),
        HelpLine::Row(binding, keys, words) => {
            let keys = keys.trim_end();
            let wide = key_cols(usize::from(row.width)) + 2;
            let pad = " ".repeat(wide.saturating_sub(text::width(keys)));
            let slash = if binding.slash {
                words.rfind('/').unwrap_or(words.len())
            } else {
                words.len()
            };
            let pieces: [(&str, Style); 5] = [
                ("  ", theme.dim),
                (keys, theme.key),
                (&pad, theme.dim),
                (&words[..slash], theme.text),
                (&words[slash..], theme.dim),
            ];
            look::pieces(buf, row, &pieces);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keymap::Preset;

    #[test]
    fn no_key_and_no_word_is_cut_and_the_place_one_comes_from_is_first() {
        for cols in [36, 74] {
            let listed = lines(&Keys::default(), Some(Context::Home), "Ctrl-]", cols);
            assert!(matches!(
                listed.first(),
                Some(HelpLine::Heading("In the list of sessions"))
            ));
            let mut all = (String::new(), String::new());
            for line in &listed {
                if let HelpLine::Row(_, keys, words) = line {
                    assert!(text::width(words) + key_cols(cols) + 4 <= cols, "{words}");
                    all.0.push_str(&format!("{} ", keys.trim()));
                    all.1.push_str(&format!("{} ", words.trim()));
                }
            }
            for binding in TABLE {
                let keys = Keys::default().all_keys(binding);
                assert!(all.0.contains(&keys), "{keys}");
                assert!(all.1.contains(binding.title), "{}", binding.title);
            }
        }
    }

    #[test]
    fn every_command_of_the_table_stands_in_help() {
        for preset in [Preset::Standard, Preset::Emacs] {
            let listed = lines(&Keys::of(preset), None, "Ctrl-]", 74);
            let shown = |id: &str| {
                listed
                    .iter()
                    .any(|l| matches!(l, HelpLine::Row(b, ..) if b.id == id))
            };
            for binding in TABLE {
                assert!(shown(binding.id), "{} is not in help", binding.id);
            }
        }
    }

    #[test]
    fn the_launchers_key_is_named_as_it_is() {
        let listed = lines(&Keys::default(), None, "Ctrl-G", 74);
        let named = |line: &HelpLine| matches!(line, HelpLine::Words(words) if words.starts_with("Ctrl-G opens"));
        assert!(listed.iter().any(named));
    }
}
