//! The list above the message: commands after `/`, files after `@`. What is chosen in it takes the place of what was typed.

use std::borrow::Cow;

use porthole_protocol::{
    PromptKind, PromptRow,
    replies::{Files, Prompts},
};
use ratatui_core::{buffer::Buffer, layout::Rect};

use super::Composer;
use crate::{
    keymap::{Command, TABLE},
    look::{self, Glyph, Look},
    mention::{self, Mention},
    picker, text,
};

/// Rows listed at once.
const LISTED: usize = 6;

impl Composer {
    /// Returns whether the list of commands or files is open.
    pub(crate) fn is_listing(&self) -> bool {
        !self.completion_off && !self.listed().is_empty()
    }

    /// Puts the selected row of the list in place of what was typed of it.
    pub(crate) fn complete(&mut self) {
        let listed = self.listed();
        let chosen = listed.get(self.completion.min(listed.len().saturating_sub(1)));
        match (chosen, self.mention()) {
            (Some(Offer::Command { id, .. }), _) => {
                self.editor.set(&format!("/{id} "));
                self.completion_off = true;
            }
            (Some(Offer::Prompt(prompt)), _) => {
                self.editor.set(&format!("/{} ", prompt.name));
                self.completion_off = true;
            }
            (Some(Offer::File(path)), Some(mention)) => {
                let word = mention::written(path);
                self.editor.replace(mention.start, &word);
                self.changed();
                self.completion_off = !path.ends_with('/');
            }
            _ => {}
        }
    }

    /// Takes Enter for an open list whose selected row is a template or skill that is not written out; returns whether it did.
    pub(crate) fn complete_prompt(&mut self) -> bool {
        let listed = self.listed();
        let at = self.completion.min(listed.len().saturating_sub(1));
        let open = match listed.get(at).filter(|_| self.is_listing()) {
            Some(Offer::Prompt(prompt)) => {
                self.editor.text().strip_prefix('/') != Some(prompt.name.as_str())
            }
            _ => false,
        };
        if open {
            self.complete();
        }
        open
    }

    /// Returns whether templates and skills are to be asked for, and takes it that they are: once for each version, and each time
    /// that someone begins to name one, since files come and go between turns.
    pub(crate) fn asks_for_prompts(&mut self, version: u64) -> bool {
        let wanted = self.editor.text().starts_with('/').then_some(version);
        let asks = wanted.is_some() && self.prompts_asked != wanted;
        self.prompts_asked = wanted;
        asks
    }

    /// Takes the templates and skills.
    pub(crate) fn prompts_arrived(&mut self, prompts: Prompts) {
        self.prompts = Some(prompts);
    }

    /// Takes Enter for an open list of files: it completes, unless the path is written out already; returns whether it did.
    pub(crate) fn complete_file(&mut self) -> bool {
        let wanted = self.mention().filter(|_| self.is_listing());
        let whole = |mention: &Mention| {
            self.listed()
                .iter()
                .any(|o| matches!(o, Offer::File(path) if path.trim_end_matches('/') == mention.query.trim_end_matches('/')))
        };
        let completes = wanted.is_some_and(|mention| !mention.query.is_empty() && !whole(&mention));
        if completes {
            self.complete();
        }
        completes
    }

    /// Returns the `@` word that is being written.
    fn mention(&self) -> Option<Mention> {
        let shell = self.editor.text().starts_with('!');
        mention::at(self.editor.text(), self.editor.cursor()).filter(|_| !shell)
    }

    /// Returns what to look for among the files, where it was not looked for yet.
    pub(crate) fn wanted_files(&self) -> Option<String> {
        let query = self.mention().filter(|_| !self.completion_off)?.query;
        let known = self
            .files
            .as_ref()
            .is_some_and(|(known, _)| *known == query);
        (!known).then_some(query)
    }

    /// Takes the names that were found for a query.
    pub(crate) fn files_arrived(&mut self, query: &str, files: Files) {
        self.files = Some((query.to_owned(), files));
        self.completion = 0;
    }

    /// Closes the list of commands or files; returns whether it was open.
    pub(crate) fn close_list(&mut self) -> bool {
        let open = self.is_listing();
        self.completion_off |= open;
        open
    }

    pub(super) fn listed(&self) -> Vec<Offer> {
        match self.editor.text().strip_prefix('/') {
            Some(word) if !word.contains(char::is_whitespace) => {
                let prompts = self.prompts.iter().flat_map(|p| &p.prompts);
                let fitting = prompts.filter(|p| p.name.starts_with(word));
                let mut listed = listed_commands(word);
                listed.extend(fitting.cloned().map(Offer::Prompt));
                listed
            }
            _ => self.listed_files(),
        }
    }

    /// Of names that came for an older query only those are offered that fit what is written now.
    fn listed_files(&self) -> Vec<Offer> {
        let (Some(mention), Some((query, files))) = (self.mention(), &self.files) else {
            return Vec::new();
        };
        let offer = |at: usize| Offer::File(files.files[at].clone());
        if *query == mention.query {
            return (0..files.files.len()).map(offer).collect();
        }
        let fitting = picker::ranked(&mention.query, &files.files);
        fitting.into_iter().map(offer).collect()
    }

    /// Draws the list of commands above the draft, where one is typed.
    pub(crate) fn view_list(&self, buf: &mut Buffer, look: &Look) {
        let listed = self.listed();
        if !self.is_listing() || self.area.y < 4 {
            return;
        }
        let rows = listed.len().min(LISTED).min(usize::from(self.area.y) - 3);
        let height = rows as u16 + 2;
        let area = Rect {
            y: self.area.y - height,
            height,
            width: self.area.width.min(64),
            ..self.area
        };
        let inside = look::float(buf, area, "", look);
        let first = (self.completion + 1).saturating_sub(rows);
        for (y, offer) in listed.iter().enumerate().skip(first).take(rows) {
            let row = Rect {
                y: inside.y + (y - first) as u16,
                height: 1,
                ..inside
            };
            let chosen = y == self.completion;
            let style = if chosen {
                look.theme.accent
            } else {
                look.theme.text
            };
            let mark = if chosen {
                look.glyph(Glyph::Pointer)
            } else {
                " "
            };
            let (name, title) = match offer {
                Offer::Command { id, title, .. } => (format!(" /{id:<11}"), Cow::Borrowed(*title)),
                Offer::Prompt(prompt) => {
                    let kind = match prompt.kind {
                        PromptKind::Template => "template",
                        PromptKind::Skill => "skill",
                    };
                    let name = format!("{} {}", prompt.name, prompt.arguments);
                    let name = text::visible(name.trim_end()).into_owned();
                    let about = text::visible(&prompt.description).into_owned();
                    (
                        format!(" /{name:<11}"),
                        Cow::Owned(format!(" {kind}: {about}")),
                    )
                }
                Offer::File(path) => {
                    let room = usize::from(row.width).saturating_sub(2);
                    (
                        format!(" {}", text::cut_middle(path, room)),
                        Cow::Borrowed(""),
                    )
                }
            };
            let pieces = [
                (mark, style),
                (name.as_str(), style),
                (title.as_ref(), look.theme.dim),
            ];
            look::pieces(buf, row, &pieces);
        }
        look::more_below(buf, area, listed.len().saturating_sub(first + rows), look);
    }
}

/// A row of the list above the message.
pub(super) enum Offer {
    Command {
        command: Command,
        id: &'static str,
        title: &'static str,
    },
    /// A template or skill.
    Prompt(PromptRow),
    /// A path below the working directory.
    File(String),
}

fn listed_commands(word: &str) -> Vec<Offer> {
    let mut listed: Vec<_> = TABLE
        .iter()
        .filter(|b| b.slash && b.id.starts_with(word))
        .collect();
    listed.sort_by_key(|b| b.id);
    let offer = |b: &crate::keymap::Binding| Offer::Command {
        command: b.command,
        id: b.id,
        title: b.title,
    };
    listed.into_iter().map(offer).collect()
}
