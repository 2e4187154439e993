//! Local actions as the shell does them: the clipboard, the browser, the editor, and stopping as job control does.
//! Whether they may be done was decided before.

use std::ops::ControlFlow;

use porthole_bridge::Outcome;
use porthole_themes::Watch;

use super::{Done, Driver, Flow};
use crate::{
    app::{Asked, Input, LocalDone},
    clipboard::{self, Copied},
    editor, errand, opener,
    patch::Patch,
    preferences, signals,
    surroundings::var,
    terminal,
};

impl Driver {
    pub(super) fn copy(&mut self, asked: Asked, text: String) {
        let (ways, done) = (clipboard::ways(self.here), self.to_loop.done.clone());
        tokio::task::spawn_blocking(move || {
            let local = |outcome| Input::Local(LocalDone { asked, outcome });
            let brought = match clipboard::copy(&text, &ways) {
                Copied::Ended(outcome) => Done::Input(local(outcome)),
                Copied::Write(bytes, outcome) => Done::Write(bytes, local(outcome)),
            };
            // The loop is gone only when the launcher leaves.
            let _ = done.blocking_send(brought);
        });
    }

    pub(super) fn open(&mut self, asked: Asked, url: String) {
        let done = self.to_loop.done.clone();
        tokio::task::spawn_blocking(move || {
            let outcome = opener::open(&url);
            let ended = Input::Local(LocalDone { asked, outcome });
            let _ = done.blocking_send(Done::Input(ended));
        });
    }

    pub(super) fn edit(&mut self, asked: Asked, text: String) {
        self.away = true;
        self.reader.stand_aside();
        terminal::leave();
        let done = self.to_loop.done.clone();
        errand::spawn(async move {
            let command = editor::command(var("VISUAL"), var("EDITOR"));
            let outcome = editor::edit(&text, &command).await;
            let _ = done.send(Done::Edited(asked, outcome)).await;
        });
    }

    /// Watches the files of the visitor's looks while what it returns lives.
    pub(super) fn watch_preferences(&self) -> Option<Watch> {
        let config = &self.means.folders.config;
        let done = self.to_loop.done.clone();
        Watch::start(&[config.clone(), config.join("themes")], move || {
            // The loop is gone only when the launcher leaves.
            let _ = done.blocking_send(Done::PreferencesChanged);
        })
    }

    pub(super) fn read_preferences(&self) {
        let (last, config) = (
            self.app.preferences().clone(),
            self.means.folders.config.clone(),
        );
        let done = self.to_loop.done.clone();
        tokio::task::spawn_blocking(move || {
            let fresh = Box::new(last.read_again(&config));
            let _ = done.blocking_send(Done::Input(Input::Preferences(fresh)));
        });
    }

    pub(super) fn save_preferences(&self, asked: Asked, patch: Patch) {
        let path = preferences::path(&self.means.folders.config);
        let done = self.to_loop.done.clone();
        tokio::task::spawn_blocking(move || {
            let outcome = match preferences::write(&path, &patch) {
                Ok(()) => Outcome::Done("saved in your preferences".to_owned()),
                Err(why) => Outcome::Failed(format!("not saved: {why}")),
            };
            let ended = Input::Local(LocalDone { asked, outcome });
            let _ = done.blocking_send(Done::Input(ended));
            let _ = done.blocking_send(Done::PreferencesChanged);
        });
    }

    pub(super) fn come_back(&mut self) {
        // A terminal that cannot be had back shows in the next write.
        let _ = terminal::enter(self.keys);
        self.reader.resume();
        self.away = false;
    }

    /// Stops because somebody outside asked for it.
    pub(super) async fn suspend(&mut self) -> Flow {
        if self.away {
            signals::stop_self();
            return ControlFlow::Continue(());
        }
        self.reader.stand_aside();
        terminal::leave();
        signals::stop_self();
        self.stopped = true;
        self.take_back().await
    }

    /// Stops with everything in the foreground, as the terminal's own key would have it.
    pub(super) fn suspend_all(&mut self) -> Option<Input> {
        if !signals::has_shell() {
            let why = "there is no shell to come back from: not suspended";
            let outcome = Outcome::Failed(why.to_owned());
            return Some(Input::Local(LocalDone {
                asked: None,
                outcome,
            }));
        }
        self.reader.stand_aside();
        terminal::leave();
        signals::stop_group();
        self.stopped = true;
        self.regain()
    }

    /// Goes on in the foreground, or waits in the background until that is where we are.
    pub(super) async fn take_back(&mut self) -> Flow {
        match self.regain() {
            Some(input) => self.handle(input).await,
            None => ControlFlow::Continue(()),
        }
    }

    /// Takes the terminal where it is ours. In the background it is the shell's: touching it would stop us again, and
    /// deaf to everything but the shell.
    fn regain(&mut self) -> Option<Input> {
        self.behind = !terminal::is_ours();
        self.away = self.behind;
        if self.behind {
            return None;
        }
        self.come_back();
        Some(Input::Back(terminal::size()))
    }
}
