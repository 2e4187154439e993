//! Help: every key and command, read from the one table. It scrolls and nothing else.

use ratatui_core::{buffer::Buffer, layout::Rect, style::Style};

use crate::{
    keymap::{Binding, Command, Context, Preset, TABLE},
    look::{self, Look},
};

/// The help that is open, and how far it is scrolled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Help {
    first: usize,
    page: usize,
    lines: usize,
}

impl Help {
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
        let lines = lines(look.preset);
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
    }
}

enum HelpLine {
    Blank,
    Heading(&'static str),
    Row(&'static Binding, String),
    Words(&'static str),
}

fn lines(preset: Preset) -> Vec<HelpLine> {
    let mut lines = Vec::new();
    for (context, title) in Context::ALL {
        if !lines.is_empty() {
            lines.push(HelpLine::Blank);
        }
        lines.push(HelpLine::Heading(title));
        let rows = TABLE.iter().filter(|b| b.context == context);
        lines.extend(rows.map(|b| HelpLine::Row(b, b.all_keys(preset))));
        if context == Context::Composer {
            lines.push(HelpLine::Words(
                "! before a command runs it and the model sees it; !! keeps it from the model",
            ));
        }
    }
    lines
}

fn line_view(line: &HelpLine, row: Rect, buf: &mut Buffer, look: &Look) {
    let theme = &look.theme;
    match line {
        HelpLine::Blank => {}
        HelpLine::Heading(title) => look::pieces(buf, row, &[(title, theme.heading)]),
        HelpLine::Words(words) => look::pieces(buf, row, &[("  ", theme.dim), (words, theme.dim)]),
        HelpLine::Row(binding, keys) => {
            let wide = if row.width < 60 { 14 } else { 26 };
            let keys = crate::text::cut(keys, wide);
            let pad = " ".repeat(wide + 2 - crate::text::width(&keys));
            let slash = if binding.slash {
                format!("  /{}", binding.id)
            } else {
                String::new()
            };
            let pieces: [(&str, Style); 5] = [
                ("  ", theme.dim),
                (&keys, theme.key),
                (&pad, theme.dim),
                (binding.title, theme.text),
                (&slash, theme.dim),
            ];
            look::pieces(buf, row, &pieces);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_table_stands_in_help() {
        for preset in [Preset::Standard, Preset::Emacs] {
            let listed = lines(preset);
            let shown = |id: &str| {
                listed
                    .iter()
                    .any(|l| matches!(l, HelpLine::Row(b, _) if b.id == id))
            };
            for binding in TABLE {
                assert!(shown(binding.id), "{} is not in help", binding.id);
            }
        }
    }
}
