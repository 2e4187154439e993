//! Tells that something in a few folders changed, once it has been quiet for a moment. It sleeps in between and reads nothing.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

/// How long it must be quiet before a change is told.
pub const DEBOUNCE: Duration = Duration::from_millis(100);

/// Watches until it is dropped.
#[derive(Debug)]
pub struct Watch {
    watched: Arc<Watched>,
}

#[derive(Debug)]
struct Watched {
    folders: Vec<PathBuf>,
    watcher: Mutex<RecommendedWatcher>,
}

impl Watch {
    /// Watches folders for changes of the TOML files in them. One that is not there is looked for again after a change.
    /// `changed` is called on a thread of its own. `None` where this system watches nothing.
    pub fn start(folders: &[PathBuf], changed: impl Fn() + Send + 'static) -> Option<Self> {
        let (events, happened) = mpsc::channel();
        let own = folders.to_vec();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.map_or(true, |event| counts(&event, &own)) {
                // The other end is gone only when nobody listens any more.
                let _ = events.send(());
            }
        });
        let watched = Arc::new(Watched {
            folders: folders.to_vec(),
            watcher: Mutex::new(watcher.ok()?),
        });
        watched.look();
        let weak = Arc::downgrade(&watched);
        let named = thread::Builder::new().name("looks".to_owned());
        named
            .spawn(move || settle(&happened, &weak, changed))
            .ok()?;
        Some(Self { watched })
    }

    /// Looks for the folders again, e.g. after one was made by the caller.
    pub fn look(&self) {
        self.watched.look();
    }
}

impl Watched {
    fn look(&self) {
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        for folder in &self.folders {
            // One that is not there yet has nothing to be told of.
            let _ = watcher.watch(folder, RecursiveMode::NonRecursive);
        }
    }
}

/// Whether an event is a change of what is read. Reading is none: it must not lead to the next reading.
fn counts(event: &notify::Event, folders: &[PathBuf]) -> bool {
    let is_ours = |path: &Path| {
        path.extension().is_some_and(|end| end == "toml") || folders.iter().any(|f| f == path)
    };
    !event.kind.is_access() && event.paths.iter().any(|path| is_ours(path))
}

fn settle(happened: &Receiver<()>, watched: &Weak<Watched>, changed: impl Fn()) {
    while happened.recv().is_ok() {
        loop {
            match happened.recv_timeout(DEBOUNCE) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        if let Some(watched) = watched.upgrade() {
            watched.look();
        }
        changed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_changes_is_told_and_reading_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let (told, heard) = mpsc::channel();
        let path = folder.path().to_owned();
        let watch = Watch::start(&[path.clone(), path.join("none")], move || {
            let _ = told.send(());
        })
        .expect("this system watches");
        for at in 0..20 {
            std::fs::write(path.join("a.toml"), format!("a = {at}")).expect("written");
        }
        heard.recv_timeout(Duration::from_secs(10)).expect("told");
        std::fs::read(path.join("a.toml")).expect("read");
        assert!(
            heard.recv_timeout(4 * DEBOUNCE).is_err(),
            "reading is no change"
        );
        std::fs::write(path.join("a.db"), "").expect("written");
        assert!(
            heard.recv_timeout(4 * DEBOUNCE).is_err(),
            "no file of looks"
        );
        std::fs::create_dir(path.join("none")).expect("made");
        heard.recv_timeout(Duration::from_secs(10)).expect("told");
        std::fs::write(path.join("none/b.toml"), "").expect("written");
        heard
            .recv_timeout(Duration::from_secs(10))
            .expect("a folder made later is watched");
        drop(watch);
        let ended = heard.recv_timeout(Duration::from_secs(10));
        assert_eq!(ended, Err(RecvTimeoutError::Disconnected));
    }
}
