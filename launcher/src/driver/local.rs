//! Local actions as the shell does them: the clipboard, the browser, the editor, and stopping as job control does.
//! Whether they may be done was decided before.

use std::ops::ControlFlow;

use super::{Done, Driver, Flow};
use crate::{
    app::{Asked, Input, LocalDone},
    clipboard::{self, Copied},
    editor, errand, opener, signals,
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
        self.come_back();
        self.handle(Input::Back(terminal::size())).await
    }

    /// Stops with everything in the foreground, as the terminal's own key would have it.
    pub(super) fn suspend_all(&mut self) -> Flow {
        self.reader.stand_aside();
        terminal::leave();
        signals::stop_group();
        self.stopped = true;
        self.come_back();
        ControlFlow::Continue(())
    }
}
