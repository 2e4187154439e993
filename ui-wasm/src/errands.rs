//! Commands that reach beyond the screen: files up and down, links for others, and conversations within a session.

use porthole_bridge::{Action, Source, UploadFrom};
use porthole_protocol::{AccessId, Call, ConversationId, ExportFormat, SessionState, replies};

use crate::{
    App,
    effects::Purpose,
    keymap::Command,
    notice::Tone,
    palette,
    picker::{Choice, Item, Picker, Sure},
    share::{ShareChoice, Sharing},
    transcript,
};

impl App {
    /// Asks the launcher for files to go with the message.
    pub(crate) fn upload(&mut self, from: UploadFrom) {
        if self.open.is_none() {
            return;
        }
        if self.fx.may_send() {
            self.fx.act(Action::Upload(from), Purpose::Told);
        } else {
            let words = "you are viewing; only others can send files here";
            self.fx.say(Tone::Info, words);
        }
    }

    /// Lists what can be saved on the visitor's computer.
    pub(crate) fn pick_save(&mut self) {
        let Some(screen) = self.screen() else { return };
        let savable = screen.state.as_ref().map(transcript::savable);
        let items: Vec<Item> = savable
            .unwrap_or_default()
            .into_iter()
            .map(|(what, name, note)| Item::new(Choice::Save(what, name.clone()), name, note))
            .collect();
        if items.is_empty() {
            let words = "nothing here can be saved: no attachment, no command with output";
            self.fx.say(Tone::Info, words);
        } else {
            let footer = "the launcher asks before it writes a file";
            self.picker = Some(Picker::new("save on this computer", items, footer));
        }
    }

    /// Lists what the session can be saved as.
    pub(crate) fn pick_export(&mut self) {
        if !self.fx.is_owner() {
            let words = "only the owner can export a session";
            self.fx.say(Tone::Info, words);
            return;
        }
        const WAYS: [(ExportFormat, &str, &str); 3] = [
            (
                ExportFormat::Html,
                "a page",
                "everything in one file, for a browser",
            ),
            (ExportFormat::Markdown, "Markdown", "to be read and changed"),
            (ExportFormat::Json, "JSON", "`portholed import` takes it"),
        ];
        let items =
            WAYS.map(|(format, label, note)| Item::new(Choice::Export(format), label, note));
        let footer = "the launcher asks before it writes a file";
        self.picker = Some(Picker::new("save this session as", items.into(), footer));
    }

    /// Has the open session written into a file on the server.
    pub(crate) fn export(&mut self, format: ExportFormat) {
        if let Some((session, _)) = self.open.clone() {
            self.fx.say(Tone::Info, "writing the session …");
            self.fx.call(Call::SessionExport { session, format });
        }
    }

    /// Offers what was written to the visitor's computer.
    pub(crate) fn exported(&mut self, exported: replies::Exported) {
        let what = Source::Export(exported.export);
        let name = exported.name;
        self.fx.act(Action::Download { what, name }, Purpose::Told);
    }

    /// Lists the conversations of the open session that can be reached from here.
    pub(crate) fn pick_conversation(&mut self) {
        let Some(screen) = self.screen() else { return };
        let Some(state) = &screen.state else { return };
        let mut items = Vec::new();
        if state.info.parent.is_some() {
            items.push(Item::new(
                Choice::Conversation(ConversationId::ROOT),
                "the session itself",
                "",
            ));
        }
        if let Some(parent) = state.info.parent.filter(|id| *id != ConversationId::ROOT) {
            let choice = Choice::Conversation(parent);
            items.push(Item::new(choice, "the conversation this came from", ""));
        }
        let note = |state: &SessionState, archived: bool| match (state, archived) {
            (_, true) => "archived",
            (SessionState::Idle, _) => "",
            (SessionState::Working { .. }, _) => "working",
            (SessionState::Waiting { .. }, _) => "needs you",
            (SessionState::Failed { .. }, _) => "failed",
        };
        items.extend(state.children.iter().map(|child| {
            let choice = Choice::Conversation(child.id);
            Item::new(choice, &child.title, note(&child.state, child.archived))
        }));
        if items.is_empty() {
            let words = "this session has one conversation; /fork makes another from here";
            self.fx.say(Tone::Info, words);
        } else {
            self.picker = Some(Picker::new("conversations of this session", items, ""));
        }
    }

    /// Begins anew, sums up, tries again or goes on elsewhere; `words` were typed after the command.
    pub(crate) fn turn_over(&mut self, command: Command, words: &str) {
        let Some((session, conversation)) = self.open.clone() else {
            return;
        };
        if !self.fx.may_send() {
            self.fx
                .say(Tone::Info, "you are viewing; only others can do that");
            return;
        }
        let state = self.screen().and_then(|screen| screen.state.as_ref());
        let last = state
            .and_then(|state| state.entries.last())
            .map(|entry| entry.id);
        let request = self.fx.ids.request();
        let call = match (command, last) {
            (Command::Reset, _) => Call::Reset {
                session,
                conversation,
                request,
            },
            (Command::Compact, _) => Call::Compact {
                session,
                conversation,
                request,
                instructions: words.to_owned(),
            },
            (Command::Retry, _) => Call::Retry {
                session,
                conversation,
                request,
            },
            (Command::Fork, Some(entry)) => Call::Fork {
                session,
                conversation,
                request,
                entry,
                title: (!words.is_empty()).then(|| words.to_owned()),
            },
            _ => return,
        };
        self.fx.call(call);
    }

    /// Shows who may come in by which link.
    pub(crate) fn share(&mut self) {
        let Some((session, _)) = self.open.clone() else {
            return;
        };
        if !self.fx.is_owner() {
            self.fx
                .say(Tone::Info, "only the owner can share a session");
            return;
        }
        self.picker = Some(self.sharing.all(&session, &self.look, self.fx.now_ms));
        self.fx.call(Call::ShareList {
            session: Some(session),
        });
    }

    /// Ends a link or a guest's access, after it was asked back about.
    pub(crate) fn revoke(&mut self, id: AccessId) {
        self.fx
            .say(Tone::Done, "revoked: whoever came by it is out");
        self.fx.call(Call::ShareRevoke { id });
    }

    /// Does what was chosen about links.
    pub(crate) fn choose_share(&mut self, choice: ShareChoice) {
        let Some((session, _)) = self.open.clone() else {
            return;
        };
        match choice {
            ShareChoice::All => self.share(),
            ShareChoice::New(wish) => self.picker = Some(Sharing::new_link(wish)),
            ShareChoice::Make(wish) => {
                self.fx.say(Tone::Info, "making the link …");
                let call = wish.call(session, &mut self.fx);
                self.fx.call(call);
            }
            ShareChoice::Look(id) => {
                self.picker = self.sharing.one(&id, &self.look, self.fx.now_ms);
            }
            ShareChoice::Revoke(id) => {
                let (title, yes) = self.sharing.revoking(&id);
                let words = "whoever is out can only come back by another link";
                self.picker = Some(palette::sure(&title, Sure::Revoke(id), &yes, words));
            }
            ShareChoice::Copy => {
                if let Some(link) = self.sharing.link() {
                    self.fx.act(Action::Copy(link.to_owned()), Purpose::Told);
                }
            }
        }
    }
}
