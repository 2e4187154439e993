//! Transfers as the core sees them: what may be sent or saved, the question before it, how far it is, and how it ended.
//! It opens no file and sends nothing.

use std::{path::PathBuf, sync::Arc, time::Instant};

use porthole_bridge::{Action, Attached, Event, Outcome, Place, Source, UploadFrom};

use super::{App, Asked, Effect, question::Question, trust};
use crate::{
    escape,
    transfer::{Entry, FILES, LocalFile, is_hidden, large, paths_in, safe_name, size},
};

/// What is moved, once a person has said yes.
#[derive(Clone, Debug, PartialEq)]
pub enum Transfer {
    /// Files of this computer become attachments.
    Send {
        /// Where they belong.
        place: Place,
        /// The files, opened before the question was asked.
        files: Vec<Arc<LocalFile>>,
    },
    /// A pasted text becomes an attachment.
    SendText {
        /// Where it belongs.
        place: Place,
        /// The text.
        text: String,
    },
    /// Something of a session is saved here.
    Save {
        /// The session.
        session: String,
        /// What of it.
        what: Source,
        /// Its safe name.
        name: String,
        /// The folder.
        folder: PathBuf,
    },
}

/// What the shell brings back for transfers.
#[derive(Debug)]
pub enum TransferInput {
    /// A folder was read for the picker.
    Listed(PathBuf, Result<Vec<Entry>, String>),
    /// Files were opened, or one of them was refused and why.
    Opened {
        /// Who asked.
        asked: Asked,
        /// The files.
        files: Result<Vec<Arc<LocalFile>>, String>,
        /// The text that was pasted, where it was one.
        otherwise: Option<String>,
    },
    /// Nothing of what was pasted is a file.
    NoFiles(String),
    /// The clipboard holds text.
    ClipboardText(Asked, String),
    /// Where a download would land.
    Landing {
        /// Who asked.
        asked: Asked,
        /// What is saved.
        save: Transfer,
        /// The path it would get now.
        path: PathBuf,
        /// Whether the plain name is taken.
        taken: bool,
    },
    /// How far it is, in words.
    Progress(String),
    /// A file has become an attachment.
    Attached(Attached),
    /// It has ended.
    Ended(Asked, Outcome),
}

/// What a yes in a dialog does.
pub(super) enum Deed {
    /// A UI's action, as it was asked for.
    Action(Action),
    /// A transfer; with the text that is pasted where the answer is no.
    Transfer(Transfer, Option<String>),
    /// The text of the clipboard is pasted.
    Paste(String),
}

impl App {
    /// Begins what a UI asked for, as far as that needs no question yet.
    pub(super) fn begin_upload(&mut self, asked: Asked, from: UploadFrom) {
        if let Some(why) = self.cannot_move() {
            return self.answer(asked, Outcome::Refused(why.to_owned()));
        }
        match from {
            UploadFrom::Picker => self.open_picker(asked),
            UploadFrom::Clipboard => self.out.push(Effect::Clipboard(asked)),
        }
    }

    /// Has the shell look where a download would land; the question follows.
    pub(super) fn begin_download(&mut self, asked: Asked, what: Source, name: &str) {
        if let Some(why) = self.cannot_move() {
            return self.answer(asked, Outcome::Refused(why.to_owned()));
        }
        let (Some(place), Ok(name)) = (&self.place, safe_name(name.as_bytes())) else {
            return;
        };
        let session = place.session.clone();
        self.out.push(Effect::Landing {
            asked,
            session,
            what,
            name,
        });
    }

    fn cannot_move(&self) -> Option<&'static str> {
        if self.moving.is_some() {
            return Some("another transfer is under way");
        }
        if self.dialog.is_some() || self.menu.is_some() || self.page.is_some() {
            return Some("the launcher is asking something else");
        }
        self.place.is_none().then_some("open a session first")
    }

    /// Looks at a paste: dropped files and large texts are offered as attachments, all else is the UI's.
    pub(super) fn paste_to_ui(&mut self, text: String, now: Instant) {
        if self.cannot_move().is_some() || !self.ui.runs() {
            return self.input_to_ui(Event::Paste(text));
        }
        if let Some(paths) = paths_in(&text) {
            let otherwise = Some(text);
            let asked = None;
            return self.out.push(Effect::OpenFiles {
                asked,
                paths,
                otherwise,
            });
        }
        match large(&text) {
            true => self.ask_about_text(text, now),
            false => self.input_to_ui(Event::Paste(text)),
        }
    }

    fn ask_about_text(&mut self, text: String, now: Instant) {
        let Some(place) = self.place.clone() else {
            return;
        };
        let question = Question {
            text: format!(
                "This paste has {} characters in {} lines. Upload it to {} as a file? No pastes it as text.",
                text.chars().count(),
                text.lines().count(),
                trust::host(&self.fixed.origin)
            ),
            head: String::new(),
            value: "pasted.txt".to_owned(),
            yes: "Upload",
        };
        let send = Transfer::SendText {
            place,
            text: text.clone(),
        };
        let deed = Deed::Transfer(send, Some(text.clone()));
        if !self.open_question(None, deed, question, now) {
            self.input_to_ui(Event::Paste(text));
        }
    }

    pub(super) fn transfer_input(&mut self, input: TransferInput, now: Instant) {
        self.dirty = true;
        match input {
            TransferInput::Listed(folder, entries) => self.listed(&folder, entries),
            TransferInput::Opened {
                asked,
                files,
                otherwise,
            } => self.opened(asked, files, otherwise, now),
            TransferInput::NoFiles(text) => match large(&text) {
                true => self.ask_about_text(text, now),
                false => self.input_to_ui(Event::Paste(text)),
            },
            TransferInput::ClipboardText(asked, text) => self.ask_about_clipboard(asked, text, now),
            TransferInput::Landing {
                asked,
                save,
                path,
                taken,
            } => self.ask_to_save(asked, save, &path, taken, now),
            TransferInput::Progress(words) => {
                if self.moving.is_some() {
                    self.moving = Some(words);
                }
            }
            TransferInput::Attached(attached) => self.tell_ui(Event::Attached(attached)),
            TransferInput::Ended(asked, outcome) => {
                self.moving = None;
                if let Outcome::Done(words) | Outcome::Failed(words) | Outcome::Refused(words) =
                    &outcome
                {
                    self.say(escape::visible_cut(words, 120), now);
                }
                self.answer(asked, outcome);
            }
        }
    }

    /// Any key was enough to look into the clipboard: what is there may be a password that is meant for somebody else.
    fn ask_about_clipboard(&mut self, asked: Asked, text: String, now: Instant) {
        if let Some(why) = self.cannot_move() {
            return self.answer(asked, Outcome::Refused(why.to_owned()));
        }
        let question = Question::about_clipboard(&text, &trust::host(&self.fixed.origin));
        if !self.open_question(asked, Deed::Paste(text), question, now) {
            let why = "the window is too small to ask".to_owned();
            self.answer(asked, Outcome::Refused(why));
        }
    }

    fn opened(
        &mut self,
        asked: Asked,
        files: Result<Vec<Arc<LocalFile>>, String>,
        otherwise: Option<String>,
        now: Instant,
    ) {
        let files = match files {
            Ok(files) if files.len() <= FILES => files,
            Ok(_) => return self.not_sent(asked, format!("at most {FILES} files at once"), now),
            Err(why) => return self.not_sent(asked, why, now),
        };
        self.picker = None;
        if let Some(why) = self.cannot_move() {
            return self.not_sent(asked, why.to_owned(), now);
        }
        let Some(place) = self.place.clone() else {
            return;
        };
        let question = self.about_files(&files, &place);
        let deed = Deed::Transfer(Transfer::Send { place, files }, otherwise);
        if !self.open_question(asked, deed, question, now) {
            self.not_sent(asked, "the window is too small to ask".to_owned(), now);
        }
    }

    /// A picker stays open, so that another file can be chosen.
    fn not_sent(&mut self, asked: Asked, why: String, now: Instant) {
        self.say(escape::visible_cut(&why, 120), now);
        if self.picker.is_none() {
            self.answer(asked, Outcome::Refused(why));
        }
    }

    fn about_files(&self, files: &[Arc<LocalFile>], place: &Place) -> Question {
        let what = match files {
            [_] => "this file".to_owned(),
            several => format!("these {} files", several.len()),
        };
        let lines = files.iter().map(|file| {
            let path = escape::name(&file.path().to_string_lossy());
            let hidden = if is_hidden(file.path()) {
                ", hidden"
            } else {
                ""
            };
            format!("{path}  {}{hidden}", size(file.bytes()))
        });
        Question {
            text: format!(
                "Upload {what} from this computer to {}, session {}? Whoever reads the session can read it.",
                trust::host(&self.fixed.origin),
                trust::session(&place.session)
            ),
            head: String::new(),
            value: lines.collect::<Vec<_>>().join("\n"),
            yes: "Upload",
        }
    }

    fn ask_to_save(
        &mut self,
        asked: Asked,
        save: Transfer,
        path: &std::path::Path,
        taken: bool,
        now: Instant,
    ) {
        let mut value = format!("to {}", escape::name(&path.to_string_lossy()));
        if taken {
            value.push_str("\na file of that name is there and is kept");
        }
        let question = Question {
            text: format!(
                "Save a file from {} on this computer?",
                trust::host(&self.fixed.origin)
            ),
            head: String::new(),
            value,
            yes: "Save",
        };
        let busy = self.cannot_move();
        if let Some(why) = busy {
            return self.answer(asked, Outcome::Refused(why.to_owned()));
        }
        if !self.open_question(asked, Deed::Transfer(save, None), question, now) {
            let why = "the window is too small to ask".to_owned();
            self.answer(asked, Outcome::Refused(why));
        }
    }

    /// Does what a yes was said to.
    pub(super) fn do_deed(&mut self, asked: Asked, deed: Deed, now: Instant) {
        match deed {
            Deed::Action(action) => self.perform(asked, action, now),
            Deed::Paste(text) => {
                self.answer(asked, Outcome::Done(String::new()));
                self.input_to_ui(Event::Paste(text));
            }
            Deed::Transfer(transfer, _) => {
                self.moving = Some(
                    match transfer {
                        Transfer::Save { .. } => "downloading",
                        Transfer::Send { .. } | Transfer::SendText { .. } => "uploading",
                    }
                    .to_owned(),
                );
                self.out.push(Effect::Transfer(asked, transfer));
            }
        }
    }

    /// Cancels what is moving.
    pub(super) fn cancel_transfer(&mut self, now: Instant) {
        match self.moving.is_some() {
            true => self.out.push(Effect::CancelTransfer),
            false => self.say("nothing is being transferred", now),
        }
    }
}
