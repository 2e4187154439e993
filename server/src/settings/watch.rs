//! Watching the file of the settings: folders, never the file itself, so that one that is put in its place is seen; and
//! by looking every two seconds where the system tells of no changes. What a change says is not looked at here.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use notify::{Config, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::{Found, Kept};
use crate::server::locked;

/// How long nothing more may happen before the file is read.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// After how long a file with a fault is looked at once more, before the fault is told.
const AGAIN: Duration = Duration::from_millis(200);
/// How often the file is looked at where the system tells of no changes.
const LOOK: Duration = Duration::from_secs(2);

/// Tells of each change of the settings, or of what is wrong with their file, until `told` says that nobody listens.
pub async fn watch(kept: Arc<Kept>, mut told: impl FnMut() -> bool) {
    let (send, mut changed) = mpsc::unbounded_channel();
    let mut folders = Folders::new(send);
    loop {
        // First the watch, then the look: a change in between is seen by one of them.
        folders.follow(kept.path());
        let before = kept.state();
        if kept.look(false) == Found::Faulty {
            tokio::time::sleep(AGAIN).await;
            kept.look(true);
        }
        if kept.state() != before && !told() {
            return;
        }
        if changed.recv().await.is_none() {
            return;
        }
        while let Ok(Some(())) = tokio::time::timeout(DEBOUNCE, changed.recv()).await {}
    }
}

/// The folders that are watched: that of the file, and of each link on the way to it.
struct Folders {
    watcher: Option<Box<dyn Watcher + Send>>,
    watched: BTreeSet<PathBuf>,
    names: Names,
}

/// The names that matter: in a data folder others change all the time.
type Names = Arc<Mutex<BTreeSet<OsString>>>;

impl Folders {
    fn new(send: mpsc::UnboundedSender<()>) -> Self {
        let names = Names::default();
        let (poll, polled_names, system_names) = (send.clone(), names.clone(), names.clone());
        let by_system = RecommendedWatcher::new(
            move |event| tell(&send, &system_names, event),
            Config::default(),
        );
        let watcher: Option<Box<dyn Watcher + Send>> = match by_system {
            Ok(watcher) => Some(Box::new(watcher)),
            Err(error) => {
                tracing::warn!(%error, "changes of settings are looked for every two seconds");
                let config = Config::default().with_poll_interval(LOOK);
                let polled =
                    PollWatcher::new(move |event| tell(&poll, &polled_names, event), config);
                polled.ok().map(|watcher| Box::new(watcher) as _)
            }
        };
        Self {
            watcher,
            watched: BTreeSet::new(),
            names,
        }
    }

    /// Watches where the file is now.
    fn follow(&mut self, path: &Path) {
        let steps = steps(path);
        let names = steps.iter().filter_map(|step| step.file_name());
        *locked(&self.names) = names.map(ToOwned::to_owned).collect();
        let parents = steps.iter().filter_map(|step| step.parent());
        let wanted: BTreeSet<_> = parents.map(ToOwned::to_owned).collect();
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        for gone in self.watched.difference(&wanted) {
            // A folder that is not there any more is watched by nobody.
            let _ = watcher.unwatch(gone);
        }
        for fresh in wanted.difference(&self.watched) {
            if let Err(error) = watcher.watch(fresh, RecursiveMode::NonRecursive) {
                tracing::warn!(%error, "a folder of settings cannot be watched");
            }
        }
        self.watched = wanted;
    }
}

fn tell(send: &mpsc::UnboundedSender<()>, names: &Names, event: notify::Result<notify::Event>) {
    // That someone read it is no change; a fault of the watch, or an event of no name, may hide one.
    let matters = match &event {
        Ok(event) if event.kind.is_access() => false,
        Ok(event) => {
            let names = locked(names);
            let named = |path: &PathBuf| path.file_name().is_none_or(|name| names.contains(name));
            event.paths.is_empty() || event.paths.iter().any(named)
        }
        Err(_) => true,
    };
    if matters {
        // Nobody listens only where the server ends.
        let _ = send.send(());
    }
}

/// Returns each name on the way to the file whose change changes what the file is: itself, and links, followed.
fn steps(path: &Path) -> BTreeSet<PathBuf> {
    let mut steps = BTreeSet::new();
    let mut at = path.to_owned();
    // A ring of links ends.
    for _ in 0..16 {
        let linked = |above: &&Path| above.symlink_metadata().is_ok_and(|m| m.is_symlink());
        steps.extend(at.ancestors().skip(1).filter(linked).map(ToOwned::to_owned));
        steps.insert(at.clone());
        match std::fs::read_link(&at) {
            Ok(target) => at = at.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) => break,
        }
    }
    // What the whole way comes to: a link to a folder may lead to another one.
    steps.extend(path.canonicalize());
    steps
}
