//! Transfers as the shell does them: folders and files are read on threads of their own, and one transfer moves beside the
//! loop. Whether it may was decided before.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use porthole_bridge::{Attached, Outcome, Place, Source};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};

use super::{Done, Driver};
use crate::{
    app::{Asked, Input, Transfer, TransferInput},
    clipboard, escape,
    transfer::{self, Content, LocalFile, Saved, TransferError, Upload, Wish},
};

/// How often progress is told.
const TELL: Duration = Duration::from_millis(150);
/// How long the end of the launcher waits for a transfer to take back what is half.
const TAKE_BACK: Duration = Duration::from_millis(2_500);

/// The one transfer under way.
pub(super) struct Moving {
    cancel: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Driver {
    pub(super) fn list(&self, folder: PathBuf) {
        self.beside(move || {
            let entries = transfer::list(&folder);
            TransferInput::Listed(folder, entries)
        });
    }

    pub(super) fn open_files(&self, asked: Asked, paths: Vec<PathBuf>, otherwise: Option<String>) {
        let limit = self.means.transfer_bytes;
        self.beside(move || match otherwise {
            Some(text) if !paths.iter().all(|path| path.symlink_metadata().is_ok()) => {
                TransferInput::NoFiles(text)
            }
            otherwise => TransferInput::Opened {
                asked,
                files: paths.iter().map(|path| open(path, limit)).collect(),
                otherwise,
            },
        });
    }

    pub(super) fn clipboard(&self, asked: Asked) {
        let (here, limit) = (self.here, self.means.transfer_bytes);
        self.beside(move || match clipboard::read(here) {
            clipboard::Held::Files(paths) => TransferInput::Opened {
                asked,
                files: paths.iter().map(|path| open(path, limit)).collect(),
                otherwise: None,
            },
            clipboard::Held::Text(text) => TransferInput::ClipboardText(asked, text),
            clipboard::Held::Nothing(why) => {
                TransferInput::Ended(asked, Outcome::Failed(why.to_owned()))
            }
        });
    }

    pub(super) fn landing(&self, asked: Asked, session: String, what: Source, name: String) {
        self.beside(move || {
            let Some(folder) = transfer::download_folder() else {
                let why = "there is no folder to save it in".to_owned();
                return TransferInput::Ended(asked, Outcome::Failed(why));
            };
            let (path, taken) = transfer::Place::new(folder.clone()).free_path(&name);
            let save = Transfer::Save {
                session,
                what,
                name,
                folder,
            };
            TransferInput::Landing {
                asked,
                save,
                path,
                taken,
            }
        });
    }

    fn beside(&self, work: impl FnOnce() -> TransferInput + Send + 'static) {
        let done = self.to_loop.done.clone();
        tokio::task::spawn_blocking(move || {
            // The loop is gone only when the launcher leaves.
            let _ = done.blocking_send(Done::Input(Input::Transfer(work())));
        });
    }

    pub(super) fn transfer(&mut self, asked: Asked, transfer: Transfer) {
        let (cancel, cancelled) = watch::channel(false);
        let job = Job {
            means: self.means.transfers(),
            tell: self.to_loop.done.clone(),
            cancelled,
        };
        let task = tokio::spawn(async move {
            let outcome = match job.done(transfer).await {
                Ok(words) => Outcome::Done(words),
                Err(TransferError::Cancelled) => Outcome::Refused("cancelled".to_owned()),
                Err(error) => Outcome::Failed(sentence(&error)),
            };
            job.tell(TransferInput::Ended(asked, outcome)).await;
        });
        self.moving = Some(Moving { cancel, task });
    }

    pub(super) fn cancel_transfer(&self) {
        if let Some(moving) = &self.moving {
            moving.cancel.send_replace(true);
        }
    }

    /// Ends what moves, so that nothing half stays here or there.
    pub(super) async fn end_transfer(&mut self) {
        if let Some(moving) = self.moving.take() {
            moving.cancel.send_replace(true);
            let _ = tokio::time::timeout(TAKE_BACK, moving.task).await;
        }
    }
}

fn open(path: &Path, limit: u64) -> Result<Arc<LocalFile>, String> {
    let opened = LocalFile::open(path, limit);
    opened.map(Arc::new).map_err(|refused| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        format!("{} {refused}", escape::visible_cut(&name, 40))
    })
}

fn sentence(error: &TransferError) -> String {
    match error.hint() {
        "" => error.to_string(),
        hint => format!("{error}; {hint}"),
    }
}

/// What a transfer works with.
#[derive(Clone)]
pub(super) struct Means {
    pub(super) door: crate::door::Door,
    pub(super) record: crate::credential::Record,
    pub(super) limit: u64,
}

struct Job {
    means: Means,
    tell: mpsc::Sender<Done>,
    cancelled: watch::Receiver<bool>,
}

impl Job {
    async fn done(&self, transfer: Transfer) -> Result<String, TransferError> {
        match transfer {
            Transfer::Send { place, files } => {
                let count = files.len();
                for file in files {
                    let name = file.name();
                    self.send(&place, name, Content::File(file)).await?;
                }
                Ok(match count {
                    1 => "attached; it goes with the next message".to_owned(),
                    several => format!("{several} files attached; they go with the next message"),
                })
            }
            Transfer::SendText { place, text } => {
                let content = Content::Bytes(text.into_bytes().into());
                self.send(&place, "pasted.txt".to_owned(), content).await?;
                Ok("attached; it goes with the next message".to_owned())
            }
            Transfer::Save {
                session,
                what,
                name,
                folder,
            } => {
                let saved = self.save(session, what, name, folder).await?;
                let shown = escape::name(&saved.path.to_string_lossy());
                Ok(format!("saved as {shown}"))
            }
        }
    }

    async fn send(
        &self,
        place: &Place,
        name: String,
        content: Content,
    ) -> Result<(), TransferError> {
        let all = content.bytes();
        let upload = Upload {
            door: self.means.door.clone(),
            record: self.means.record.clone(),
            session: place.session.clone(),
            name: name.clone(),
            content,
        };
        let told = self.teller("uploading", &name);
        let sent = transfer::upload(&upload, |so_far| told(so_far, all), self.cancelled.clone());
        let sent = sent.await?;
        self.tell(TransferInput::Attached(Attached {
            place: place.clone(),
            id: escape::visible_cut(&sent.id, 64),
            name: escape::visible_cut(&sent.name, 255),
            bytes: sent.bytes,
            media_type: escape::visible_cut(&sent.media_type, 100),
        }))
        .await;
        Ok(())
    }

    async fn save(
        &self,
        session: String,
        what: Source,
        name: String,
        folder: PathBuf,
    ) -> Result<Saved, TransferError> {
        let told = self.teller("downloading", &name);
        let wish = Wish {
            door: self.means.door.clone(),
            record: self.means.record.clone(),
            session,
            source: match what {
                Source::Attachment(id) => porthole_door::Source::Attachment(id),
                Source::File(path) => porthole_door::Source::File(path),
                Source::Output(run) => porthole_door::Source::Output(run),
                Source::Export(id) => porthole_door::Source::Export(id),
            },
            name: Some(name),
            place: transfer::Place::new(folder),
            limit: self.means.limit,
        };
        transfer::download(&wish, told, self.cancelled.clone()).await
    }

    /// Returns what tells the loop how far it is: now and then, and never waiting for it.
    fn teller(&self, what: &'static str, name: &str) -> impl Fn(u64, u64) + use<> {
        let (tell, name) = (self.tell.clone(), escape::visible_cut(name, 24));
        let last = std::sync::Mutex::new(Instant::now());
        move |so_far, all| {
            let Ok(mut last) = last.lock() else { return };
            if last.elapsed() < TELL {
                return;
            }
            *last = Instant::now();
            let percent = so_far.saturating_mul(100) / all.max(1);
            let words = format!("{what} {name} {percent} %");
            let input = Input::Transfer(TransferInput::Progress(words));
            let _ = tell.try_send(Done::Input(input));
        }
    }

    async fn tell(&self, input: TransferInput) {
        // The loop is gone only when the launcher leaves.
        let _ = self.tell.send(Done::Input(Input::Transfer(input))).await;
    }
}
