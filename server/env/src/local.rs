//! This machine, in this process. Blocking work runs on tokio's blocking threads and stops soon after it is dropped.

mod beside;
mod exactly;
mod files;
mod group;
mod inside;
mod process;
mod search;
mod walk;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

pub use beside::{Beside, Pipes};
pub use group::kill_commands_of;
use tokio::sync::{mpsc, watch};

use crate::{
    Command, EnvError, ErrorKind, Exit, Expect, FindQuery, Found, GrepQuery, Hits, Listing, Stat,
    environment::{Environment, Pending},
    file::Content,
};

/// This machine. Dropping it kills what its commands left running.
#[derive(Default)]
pub struct Local {
    left: group::Left,
}

impl Environment for Local {
    fn stat<'a>(&'a self, path: &'a Path) -> Pending<'a, Stat> {
        let path = path.to_owned();
        Box::pin(blocking(move |_| files::stat(&path)))
    }

    fn read<'a>(&'a self, path: &'a Path, from: u64, max: u64) -> Pending<'a, Content> {
        let path = path.to_owned();
        Box::pin(blocking(move |_| files::read(&path, from, max)))
    }

    fn read_inside<'a>(
        &'a self,
        root: &'a Path,
        path: &'a Path,
        from: u64,
        max: u64,
    ) -> Pending<'a, Content> {
        let (root, path) = (root.to_owned(), path.to_owned());
        Box::pin(blocking(move |_| inside::read(&root, &path, from, max)))
    }

    fn write<'a>(&'a self, path: &'a Path, bytes: Vec<u8>, expect: Expect) -> Pending<'a, Stat> {
        let path = path.to_owned();
        Box::pin(blocking(move |_| files::write(&path, &bytes, expect)))
    }

    fn write_exactly<'a>(
        &'a self,
        path: &'a Path,
        bytes: Vec<u8>,
        expect: Expect,
    ) -> Pending<'a, Stat> {
        let path = path.to_owned();
        Box::pin(blocking(move |_| exactly::write(&path, &bytes, expect)))
    }

    fn list<'a>(&'a self, path: &'a Path, limit: usize) -> Pending<'a, Listing> {
        let path = path.to_owned();
        Box::pin(blocking(move |_| files::list(&path, limit)))
    }

    fn find(&self, query: FindQuery) -> Pending<'_, Found> {
        Box::pin(blocking(move |dropped| search::find(&query, dropped)))
    }

    fn grep(&self, query: GrepQuery) -> Pending<'_, Hits> {
        Box::pin(blocking(move |dropped| search::grep(&query, dropped)))
    }

    fn exec(
        &self,
        command: Command,
        output: mpsc::Sender<Vec<u8>>,
        stop: watch::Receiver<bool>,
    ) -> Pending<'_, Exit> {
        Box::pin(process::exec(command, output, stop, &self.left))
    }

    fn end_left(&self) -> Pending<'_, usize> {
        Box::pin(async { Ok(self.left.end().await) })
    }
}

/// Raises a flag when the future that waits for blocking work is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> Result<T, EnvError> + Send + 'static,
) -> Result<T, EnvError> {
    let flag = Dropped(Arc::new(AtomicBool::new(false)));
    let seen = Arc::clone(&flag.0);
    tokio::task::spawn_blocking(move || work(&seen))
        .await
        .map_err(|_| EnvError::new(ErrorKind::Other, "the work ended before it was done"))?
}
