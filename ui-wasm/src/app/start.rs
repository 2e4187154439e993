//! How the UI begins and what it leaves: the start message, and the snapshot for a successor.

use porthole_bridge::{Request, Start};
use porthole_protocol::{Call, ConversationId, SessionId, Topic};

use super::App;
use crate::{
    conversation::{Conversation, Outgoing},
    ids::Ids,
    look::Look,
    notice::Tone,
    snapshot::{SavedCall, SavedScreen, Snapshot},
    transcript::Transcript,
};

impl App {
    pub(super) fn start(&mut self, start: Start) {
        let (look, told) = Look::new(&start);
        self.look = look;
        self.fx.ids = Ids::new(start.seed);
        self.size = Some(start.size);
        self.dirty = true;
        self.fx.server.watch(Topic::Sessions);
        self.fx.server.watch(Topic::Looks);
        if let Some(snapshot) = start.snapshot.as_deref().and_then(Snapshot::decode) {
            self.restore(snapshot);
        }
        let place = start.place.and_then(|p| {
            Some((
                SessionId::parse(&p.session).ok()?,
                ConversationId(p.conversation),
            ))
        });
        if let Some((session, conversation)) = place {
            self.open(session, conversation);
        }
        self.tell_complaints(told);
    }

    /// The visitor's own looks changed, or came after the start.
    pub(super) fn visitor_looks(&mut self, looks: &porthole_bridge::Looks) {
        let told = self.look.visitor_looks(looks);
        self.tell_complaints(told);
        self.dirty = true;
    }

    /// The server offers other looks. What is wrong with them is its owner's to hear.
    pub(super) fn server_looks(&mut self, looks: &porthole_protocol::Looks) {
        let told = self.look.server_looks(looks);
        if self.fx.is_owner() {
            self.tell_complaints(told);
        }
    }

    /// Says what of the wishes could not be taken, and what lost its key.
    fn tell_complaints(&mut self, mut told: Vec<String>) {
        told.extend_from_slice(self.look.keys.complaints());
        if let Some((first, others)) = told.split_first() {
            let words = match others.len() {
                0 => first.clone(),
                more => format!("{first} (and {more} more about looks and keys)"),
            };
            self.fx.say(Tone::Info, words);
        }
    }

    fn restore(&mut self, snapshot: Snapshot) {
        for saved in snapshot.screens {
            let key = (saved.session.clone(), saved.conversation);
            let mut screen = Conversation::new(saved.session, saved.conversation);
            screen.composer.restore(saved.draft);
            for chip in saved.chips {
                screen.composer.attach(chip);
            }
            screen.transcript = Transcript::restore(saved.place);
            self.visited.push(key.clone());
            self.screens.insert(key, screen);
        }
        self.home.selected = snapshot.selected;
        self.home.last_dir = snapshot.last_dir;
        self.home.archived_shown = snapshot.archived_shown;
        if !snapshot.theme.is_empty() {
            self.look.choose_theme(&snapshot.theme);
        }
        for SavedCall(call) in snapshot.calls {
            self.show_outgoing(&call);
            self.fx.call(call);
        }
    }

    /// A message that the UI before this one sent, and of which nobody knows yet whether it arrived.
    fn show_outgoing(&mut self, call: &Call) {
        let (session, conversation, request, mode, text) = match call {
            Call::Submit {
                session,
                conversation,
                request,
                mode,
                text,
                ..
            } => (session, *conversation, request, *mode, text.clone()),
            Call::Shell {
                session,
                conversation,
                request,
                command,
                included,
            } => {
                let mark = if *included { "!" } else { "!!" };
                (
                    session,
                    *conversation,
                    request,
                    Default::default(),
                    format!("{mark}{command}"),
                )
            }
            _ => return,
        };
        let screen = self
            .screens
            .entry((session.clone(), conversation))
            .or_insert_with(|| Conversation::new(session.clone(), conversation));
        screen.outgoing.push(Outgoing {
            request: request.clone(),
            text,
            mode,
            chips: Vec::new(),
        });
    }

    pub(super) fn save(&mut self) {
        let saved = |key: &super::Key| {
            let screen = self.screens.get(key)?;
            Some(SavedScreen {
                session: key.0.clone(),
                conversation: key.1,
                draft: screen.composer.draft(),
                chips: screen.composer.chips().to_vec(),
                place: screen.transcript.snapshot(),
            })
        };
        let snapshot = Snapshot {
            screens: self.visited.iter().filter_map(saved).collect(),
            calls: self
                .fx
                .server
                .unanswered()
                .into_iter()
                .map(SavedCall)
                .collect(),
            selected: self.home.selected.clone(),
            last_dir: self.home.last_dir.clone(),
            archived_shown: self.home.archived_shown,
            theme: self.look.chosen_theme().unwrap_or_default().to_owned(),
            ..Snapshot::default()
        };
        self.out.push(Request::Snapshot(snapshot.encode()));
    }
}
