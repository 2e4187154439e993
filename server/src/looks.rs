//! The looks that the owner offers to everybody: `ui.toml` and the folder `themes` beside the catalog, told to the
//! switchboard at the start and whenever they change.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use porthole_protocol::{Looks, ThemeText};
use porthole_themes::{ThemeFile, Watch, read_file, read_folder};

use crate::{server::Server, switchboard::Input};

/// Complaints that are told at once.
const COMPLAINTS: usize = 50;

/// Tells the looks now, and again after every change while the returned watch lives.
pub(crate) fn follow(server: &Arc<Server>) -> Option<Watch> {
    let data = server.data().to_owned();
    let folders = [data.clone(), data.join("themes")];
    let looks = Mutex::new(Looks::default());
    let tell = {
        let server = server.clone();
        move || {
            let mut last = looks.lock().unwrap_or_else(PoisonError::into_inner);
            let fresh = read(&data, &last);
            if fresh != *last {
                (fresh.complaints.iter()).for_each(|why| tracing::warn!("looks: {why}"));
                last.clone_from(&fresh);
                server.handle(Input::Looks(Box::new(fresh)));
            }
        }
    };
    tell();
    Watch::start(&folders, tell)
}

/// Returns the looks in the data folder; what is no TOML stays as it was in `last`.
fn read(data: &Path, last: &Looks) -> Looks {
    let before: Vec<ThemeFile> = last.themes.iter().map(to_file).collect();
    let found = read_folder(&data.join("themes"), &before);
    let mut looks = Looks {
        themes: found.themes.into_iter().map(from_file).collect(),
        complaints: found.complaints,
        ..Looks::default()
    };
    match read_file(&data.join("ui.toml")) {
        Ok(defaults) => looks.defaults = defaults.unwrap_or_default(),
        Err(why) => {
            looks.defaults.clone_from(&last.defaults);
            looks
                .complaints
                .push(format!("`ui.toml`, {why}; the last good one stays"));
        }
    }
    looks.complaints.truncate(COMPLAINTS);
    looks
}

fn to_file(theme: &ThemeText) -> ThemeFile {
    ThemeFile {
        name: theme.name.clone(),
        text: theme.text.clone(),
    }
}

fn from_file(theme: ThemeFile) -> ThemeText {
    ThemeText {
        name: theme.name,
        text: theme.text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_file_keeps_what_was_there_before() {
        let data = tempfile::tempdir().expect("a folder");
        let path = data.path().join("ui.toml");
        assert_eq!(read(data.path(), &Looks::default()), Looks::default());
        std::fs::write(&path, "theme = \"light\"\n").expect("written");
        let good = read(data.path(), &Looks::default());
        std::fs::write(&path, "theme = light\n").expect("written");
        let kept = read(data.path(), &good);
        assert_eq!(kept.defaults, good.defaults);
        assert!(kept.complaints[0].starts_with("`ui.toml`, line 1: "));
    }
}
