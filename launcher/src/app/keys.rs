//! The launcher's own keys: the one that opens its menu, the menu, and the keys of its pages.

use std::time::Instant;

use porthole_bridge::{Action, Key, KeyCode, Size};

use super::{App, Effect, Farewell, Page, Secret, connection::Standing, trust};

/// One line of the menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Resume,
    Reload,
    CopyTrust,
    CancelTransfer,
    SignOut,
    Suspend,
    Quit,
}

/// The menu, in order: its letter, its words.
pub(super) const MENU: [(Item, char, &str); 7] = [
    (Item::Resume, 'b', "back to the UI"),
    (Item::Reload, 'r', "reload the UI"),
    (Item::CopyTrust, 'c', "copy what is trusted here"),
    (Item::CancelTransfer, 'x', "cancel the transfer"),
    (Item::SignOut, 's', "sign out"),
    (Item::Suspend, 'z', "suspend"),
    (Item::Quit, 'q', "quit"),
];

/// Fewest columns in which a line of the menu says what it does.
const MENU_COLUMNS: u16 = 20;

/// Returns how many lines of the menu are seen in a window of this size.
fn menu_seen(size: Size) -> usize {
    // Its frame above and below, and the trust line.
    let rows = usize::from(size.rows.saturating_sub(3)).min(MENU.len());
    match size.cols < MENU_COLUMNS {
        true => 0,
        false => rows,
    }
}

impl App {
    /// The launcher's key opens and closes the menu. It says no to an open dialog: else a UI that asks again and again could
    /// keep the menu away.
    pub(super) fn launcher_key(&mut self) {
        self.say_no();
        self.menu = match self.menu {
            Some(_) => None,
            None => Some(0),
        };
        self.dirty = true;
    }

    pub(super) fn menu_key(&mut self, key: Key, now: Instant) {
        let Some(selected) = self.menu else {
            return;
        };
        self.dirty = true;
        // What cannot be seen cannot be chosen.
        let seen = &MENU[..menu_seen(self.size)];
        let count = seen.len().max(1);
        match key.code {
            KeyCode::Escape => self.menu = None,
            KeyCode::Up => self.menu = Some((selected + count - 1) % count),
            KeyCode::Down | KeyCode::Tab => self.menu = Some((selected + 1) % count),
            KeyCode::Enter => {
                if let Some((item, ..)) = seen.get(selected) {
                    self.choose(*item, now);
                }
            }
            KeyCode::Char(letter) => {
                if let Some((item, ..)) = seen.iter().find(|(_, key, _)| *key == letter) {
                    self.choose(*item, now);
                }
            }
            _ => {}
        }
    }

    fn choose(&mut self, item: Item, now: Instant) {
        self.menu = None;
        match item {
            Item::Resume => {}
            Item::Reload => self.reload(now),
            Item::CopyTrust => {
                let text = trust::info(&self.fixed.origin, &self.admission, self.ui.sha256());
                self.out.push(Effect::Copy(None, text));
            }
            Item::CancelTransfer => self.cancel_transfer(now),
            Item::SignOut => {
                if !self.open_dialog(None, Action::SignOut, now) {
                    self.say("the window is too small to ask", now);
                }
            }
            Item::Suspend => self.perform(None, Action::Suspend, now),
            Item::Quit => self.quit(0, None),
        }
    }

    pub(super) fn page_key(&mut self, key: Key, now: Instant) {
        self.dirty = true;
        if key.modifiers.control && matches!(key.code, KeyCode::Char('c')) {
            return self.decline();
        }
        match (&mut self.page, key.code) {
            (Some(Page::AskLink(_)), _) => self.ask_link_key(key),
            (Some(_), KeyCode::Char('q') | KeyCode::Escape) => self.decline(),
            (Some(Page::Fault(_)), KeyCode::Char('r')) => self.reload(now),
            (Some(Page::Trouble { .. }), KeyCode::Char('r')) => self.retry(),
            _ => {}
        }
    }

    fn ask_link_key(&mut self, key: Key) {
        let Some(Page::AskLink(ask)) = &mut self.page else {
            return;
        };
        match key.code {
            KeyCode::Escape => self.decline(),
            KeyCode::Enter if !ask.busy && !ask.field.is_empty() => {
                ask.busy = true;
                let text = std::mem::take(&mut ask.field);
                self.out.push(Effect::Redeem(Secret(text)));
            }
            KeyCode::Backspace => {
                ask.field.pop();
            }
            KeyCode::Char('u') if key.modifiers.control => ask.field.clear(),
            KeyCode::Char(char) if !key.modifiers.control && !key.modifiers.alt => ask.push(char),
            _ => {}
        }
    }

    /// Leaving where something had gone wrong is no success.
    fn decline(&mut self) {
        let said = match &self.page {
            Some(Page::AskLink(ask)) => Some((
                format!("{}; no fresh link was given", ask.reason),
                ask.from.hint(),
            )),
            Some(Page::Trouble { message, hint }) => Some((message.clone(), hint.as_str())),
            Some(Page::Fault(fault)) => Some((
                fault.why.clone(),
                "`porthole` opens it again; the session itself goes on at the server",
            )),
            Some(Page::Progress(_)) | None => None,
        };
        let farewell = said.map(|(message, hint)| Farewell {
            message: message.trim_end_matches('.').to_owned(),
            hint: hint.to_owned(),
        });
        let status = u8::from(farewell.is_some());
        self.quit(status, farewell);
    }

    /// Tries everything again that had stopped.
    fn retry(&mut self) {
        self.page = match self.ui.runs() {
            true => None,
            false => Some(Page::progress("asking the server for its UI")),
        };
        if self.link.standing == Standing::Ended {
            self.link.standing = Standing::Connecting;
            self.connect();
        }
        let running = self.ui.sha256().map(str::to_owned);
        self.out.push(Effect::Prepare(running));
    }
}
