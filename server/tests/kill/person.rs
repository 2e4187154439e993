//! A person who sends, sends again what they got no answer for, and looks at what became of it.

use std::path::PathBuf;

use porthole_protocol::{
    Call, ConversationId, ErrorCode, Policy, RequestId, SendMode, SessionId, replies,
};

use crate::{account::Account, chance::Chance, peer::Peer};

/// With so many waiting, nothing more is sent but what is needed to go on.
const ENOUGH: usize = 12;

/// A person in one session.
pub(crate) struct Person {
    session: SessionId,
    dir: PathBuf,
    account: Account,
}

impl Person {
    pub(crate) fn new(session: SessionId, dir: PathBuf) -> Self {
        Self {
            session,
            dir,
            account: Account::default(),
        }
    }

    pub(crate) fn set_session(&mut self, session: SessionId) {
        self.session = session;
    }

    /// Looks, and sends something; `None`: it was killed before.
    pub(crate) fn uses(&mut self, peer: &mut Peer, chance: &mut Chance) -> Option<()> {
        let waiting = self.looks(peer)?;
        self.sends_again(peer)?;
        let more = if waiting > ENOUGH { 1 } else { chance.below(3) };
        for _ in 0..more {
            let kind = ["work", "work", "fail", "say"][usize::try_from(chance.below(4)).ok()?];
            let mode = [SendMode::FollowUp, SendMode::Steer][usize::from(chance.below(4) == 0)];
            let text = format!("{kind} n{}", self.account.sent.len());
            self.account.sent.push((text, None));
            self.sends(peer, self.account.sent.len() - 1, mode)?;
        }
        Some(())
    }

    /// Waits until nothing goes on any more, and looks at all of it.
    pub(crate) fn finishes(&mut self, peer: &mut Peer) {
        self.looks(peer).expect("lives");
        self.sends_again(peer).expect("lives");
        loop {
            // A queue that waits after a failure goes on with the next message.
            let text = format!("say n{}", self.account.sent.len());
            self.account.sent.push((text, None));
            self.sends(peer, self.account.sent.len() - 1, SendMode::FollowUp)
                .expect("lives");
            peer.watch().expect("lives");
            while peer
                .state
                .as_ref()
                .is_some_and(|state| state.turn.is_some())
            {
                peer.next().expect("lives");
            }
            if peer
                .state
                .as_ref()
                .is_some_and(|state| state.submissions.is_empty())
            {
                break;
            }
        }
        self.looks(peer).expect("lives");
        let entries = peer.history().expect("lives");
        self.account.check_end(&entries);
        let last = entries.last().expect("there is one");
        assert!(
            matches!(
                &last.body,
                porthole_protocol::EntryBody::Answer {
                    incomplete: false,
                    ..
                }
            ),
            "the conversation goes on: {last:?}"
        );
    }

    fn looks(&mut self, peer: &mut Peer) -> Option<usize> {
        let configured = peer.call(Call::Configure {
            session: self.session.clone(),
            conversation: ConversationId::ROOT,
            model: None,
            thinking: None,
            policy: Some(Policy::Auto),
        })?;
        configured.expect("is the owner");
        // What comes in between is in both: the entries are read last.
        peer.watch()?;
        let mut entries = peer.history()?;
        let state = peer.state.clone()?;
        for entry in state.entries.iter().cloned() {
            if entries.last().is_none_or(|last| last.id < entry.id) {
                entries.push(entry);
            }
        }
        self.account.check(&entries, &state, &self.dir);
        Some(state.submissions.len())
    }

    fn sends_again(&mut self, peer: &mut Peer) -> Option<()> {
        for n in 0..self.account.sent.len() {
            if self.account.sent[n].1.is_none() {
                self.sends(peer, n, SendMode::FollowUp)?;
            }
        }
        Some(())
    }

    fn sends(&mut self, peer: &mut Peer, n: usize, mode: SendMode) -> Option<()> {
        let reply = peer.call(Call::Submit {
            session: self.session.clone(),
            conversation: ConversationId::ROOT,
            request: RequestId::parse(&format!("r{n}")).expect("an id"),
            mode,
            text: self.account.sent[n].0.clone(),
            attachments: Vec::new(),
        })?;
        match reply {
            Ok(reply) => {
                let reply: replies::Submitted = serde_json::from_value(reply).expect("a reply");
                self.account.sent[n].1 = Some(reply.submission.0);
            }
            // Whoever carries the call may have lost its worker in between.
            Err(error) => assert_eq!(error.code, ErrorCode::Unavailable, "{error:?}"),
        }
        Some(())
    }
}
