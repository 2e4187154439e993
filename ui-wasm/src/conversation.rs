//! The screen of one conversation: what is known of it, what was sent and not seen yet, what has the focus.
//! It draws nothing; `conversation_view` does.

use porthole_bridge::Place;
use porthole_protocol::{
    Answer, Call, CallError, ConversationDelta, ConversationId, ConversationState, Entry,
    EntryBody, EntryId, ErrorCode, QuestionId, RequestId, SendMode, SessionId, Topic, limits,
};

use ratatui_core::layout::Rect;

use crate::{
    composer::{Chip, Composer},
    effects::Effects,
    finder::Finder,
    notice::Tone,
    question::QuestionBox,
    transcript::{Seek, Sending, Transcript},
};

/// Entries kept while the bottom is followed; older ones are read again when someone scrolls there.
const KEPT_ENTRIES: usize = 600;
/// The shortest time between two reads of command output, in milliseconds.
const OUTPUT_EVERY_MS: u64 = 100;

/// What has the focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Focus {
    /// The message being written.
    #[default]
    Composer,
    /// The transcript.
    Reading,
    /// The question.
    Question,
    /// The words that are looked for.
    Finding,
}

/// A message that was sent and that the conversation does not show yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// The id of its call.
    pub(crate) request: RequestId,
    /// Its text, as written.
    pub(crate) text: String,
    /// How it was sent.
    pub(crate) mode: SendMode,
    /// The files that go with it.
    pub(crate) chips: Vec<Chip>,
}

impl Outgoing {
    fn shown(&self) -> String {
        let files = self.chips.iter().map(|chip| format!("+ {}", chip.words()));
        let text = Some(self.text.clone()).filter(|text| !text.is_empty());
        text.into_iter().chain(files).collect::<Vec<_>>().join("\n")
    }
}

/// The screen of one conversation.
#[derive(Debug)]
pub(crate) struct Conversation {
    /// Which session.
    pub(crate) session: SessionId,
    /// Which conversation in it.
    pub(crate) id: ConversationId,
    /// What is known of it; `None`: nothing yet.
    pub(crate) state: Option<ConversationState>,
    /// The transcript.
    pub(crate) transcript: Transcript,
    /// The message being written.
    pub(crate) composer: Composer,
    /// The question box.
    pub(crate) question: QuestionBox,
    /// What was sent and is not seen yet, oldest first.
    pub(crate) outgoing: Vec<Outgoing>,
    /// What has the focus.
    pub(crate) focus: Focus,
    /// What is looked for in it.
    pub(crate) finder: Finder,
    /// How the next message meets a running turn.
    pub(crate) mode: SendMode,
    /// Why it cannot be watched.
    pub(crate) ended: Option<CallError>,
    /// Where the way back to the bottom is shown.
    pub(crate) below: Rect,
    output_ms: u64,
    /// An entry to go to once it is loaded, and the words to mark in it.
    sought: Option<(EntryId, String)>,
}

impl Conversation {
    /// Returns the screen of a conversation of which nothing is known yet.
    pub(crate) fn new(session: SessionId, id: ConversationId) -> Self {
        Self {
            session,
            id,
            state: None,
            transcript: Transcript::new(),
            composer: Composer::default(),
            question: QuestionBox::default(),
            outgoing: Vec::new(),
            focus: Focus::Composer,
            finder: Finder::default(),
            mode: SendMode::FollowUp,
            ended: None,
            below: Rect::default(),
            output_ms: 0,
            sought: None,
        }
    }

    /// Returns the topic to watch.
    pub(crate) fn topic(&self) -> Topic {
        Topic::Conversation {
            session: self.session.clone(),
            conversation: self.id,
        }
    }

    /// Returns where this is, for the launcher.
    pub(crate) fn place(&self) -> Place {
        Place {
            session: self.session.as_str().to_owned(),
            conversation: self.id.0,
        }
    }

    /// Returns whether there is no such conversation, so that nothing can be written to it.
    pub(crate) fn is_missing(&self) -> bool {
        let missing = |e: &CallError| e.code == ErrorCode::NotFound;
        self.state.is_none() && self.ended.as_ref().is_some_and(missing)
    }

    /// Returns whether a turn is going on.
    pub(crate) fn is_working(&self) -> bool {
        self.state.as_ref().is_some_and(|s| s.turn.is_some())
    }

    /// Takes a snapshot. Older entries that were loaded stay, where the new ones follow on them.
    pub(crate) fn take(&mut self, mut state: ConversationState, now_ms: u64) {
        if let Some(old) = self.state.take() {
            keep_older(&mut state, old);
        }
        self.ended = None;
        self.state = Some(state);
        self.settle(now_ms);
    }

    /// Takes a change.
    pub(crate) fn apply(&mut self, delta: &ConversationDelta, now_ms: u64) {
        if let Some(state) = &mut self.state {
            state.apply(delta);
            let reads = !self.transcript.is_following() || self.sought.is_some();
            if !reads && state.entries.len() > KEPT_ENTRIES {
                state.entries.drain(..KEPT_ENTRIES / 3);
                state.has_older = true;
            }
            self.settle(now_ms);
        }
    }

    /// Goes to words in an entry, now or once what is older has come, to read there.
    pub(crate) fn go_to(&mut self, entry: EntryId, words: &str) {
        self.reveal(entry, words);
        self.focus = Focus::Reading;
    }

    /// Returns whether what is older is on its way, because someone goes there.
    pub(crate) fn is_going(&self) -> bool {
        self.sought.is_some()
    }

    fn settle(&mut self, now_ms: u64) {
        let Some(state) = &self.state else { return };
        self.outgoing
            .retain(|o| !state.submissions.iter().any(|s| s.request == o.request));
        let asked = self.question.current();
        self.question.update(&state.questions, now_ms);
        // A key meant for one question must never answer the next.
        if self.question.current() != asked && self.focus == Focus::Question {
            self.focus = Focus::Composer;
        }
        if state.turn.is_none() {
            self.mode = SendMode::FollowUp;
        }
    }

    /// Returns what the transcript shows as being sent.
    pub(crate) fn sending(&self, uncertain: bool) -> Vec<Sending> {
        let sending = |o: &Outgoing| Sending {
            text: o.shown(),
            mode: o.mode,
            uncertain,
            failed: None,
        };
        self.outgoing.iter().map(sending).collect()
    }

    /// Returns the messages sent before by the visitor, oldest first.
    pub(crate) fn sent(&self, me: &str) -> Vec<String> {
        let entries = self.state.iter().flat_map(|s| &s.entries);
        let mine = entries.filter(|e| e.author.id == me).filter_map(sent_text);
        let waiting = self
            .state
            .iter()
            .flat_map(|s| &s.submissions)
            .filter(|s| s.author.id == me);
        let mut sent: Vec<String> = mine.chain(waiting.map(|s| s.text.clone())).collect();
        sent.extend(self.outgoing.iter().map(|o| o.text.clone()));
        sent.dedup();
        sent
    }

    /// Sends a message.
    pub(crate) fn submit(&mut self, text: String, fx: &mut Effects) {
        let text = self.composer.quoting(text);
        let request = fx.ids.request();
        let mode = if self.is_working() {
            self.mode
        } else {
            SendMode::FollowUp
        };
        let chips = self.composer.take_chips();
        let attachments = chips.iter().map(|chip| chip.id.clone()).collect();
        self.outgoing.push(Outgoing {
            request: request.clone(),
            text: text.clone(),
            mode,
            chips,
        });
        self.composer.clear();
        self.transcript.to_bottom();
        fx.call(Call::Submit {
            session: self.session.clone(),
            conversation: self.id,
            request,
            mode,
            text,
            attachments,
        });
    }

    /// Runs a person's command.
    pub(crate) fn shell(&mut self, command: String, included: bool, fx: &mut Effects) {
        let request = fx.ids.request();
        let mark = if included { "!" } else { "!!" };
        let text = format!("{mark}{command}");
        self.outgoing.push(Outgoing {
            request: request.clone(),
            text,
            mode: SendMode::FollowUp,
            chips: Vec::new(),
        });
        self.composer.clear();
        self.transcript.to_bottom();
        fx.call(Call::Shell {
            session: self.session.clone(),
            conversation: self.id,
            request,
            command,
            included,
        });
    }

    /// Asks the turn to stop; once while it was not answered.
    pub(crate) fn stop(&self, fx: &mut Effects) {
        if fx
            .server
            .is_pending(|c| matches!(c, Call::Stop { session, .. } if *session == self.session))
        {
            return;
        }
        let request = fx.ids.request();
        fx.call(Call::Stop {
            session: self.session.clone(),
            conversation: self.id,
            request,
        });
    }

    /// Takes the last queued message of the visitor back.
    pub(crate) fn withdraw(&self, fx: &mut Effects) {
        let me = fx.server.who().map(|w| w.id.as_str()).unwrap_or_default();
        let mut queued = self.state.iter().flat_map(|s| &s.submissions);
        match queued.rfind(|s| s.author.id == me) {
            Some(last) => {
                let (submission, request) = (last.id, Some(fx.ids.request()));
                fx.call(Call::Withdraw {
                    session: self.session.clone(),
                    conversation: self.id,
                    submission,
                    request,
                });
            }
            None => fx.say(Tone::Info, "no message of yours is queued"),
        }
    }

    /// Sends the answer to a question.
    pub(crate) fn answer(&mut self, question: QuestionId, answer: Answer, fx: &mut Effects) {
        self.focus = Focus::Composer;
        if let Some(state) = &self.state {
            self.question.update(&state.questions, fx.now_ms);
        }
        let request = fx.ids.request();
        fx.call(Call::AnswerQuestion {
            session: self.session.clone(),
            conversation: self.id,
            request,
            question,
            answer,
        });
    }

    /// Takes note that the server has what was sent.
    pub(crate) fn submitted(&mut self, request: &RequestId) {
        self.outgoing.retain(|o| o.request != *request);
    }

    /// Takes back what the server refused: it is the draft again.
    pub(crate) fn refused(&mut self, request: &RequestId, written: &str) {
        let sent = self.outgoing.iter().position(|o| o.request == *request);
        for chip in sent
            .map(|at| self.outgoing.remove(at).chips)
            .unwrap_or_default()
        {
            self.composer.attach(chip);
        }
        self.composer.give_back(written);
    }

    /// Puts a page of older entries before the others.
    pub(crate) fn older(&mut self, mut entries: Vec<Entry>, has_older: bool) {
        let Some(state) = &mut self.state else { return };
        if let Some(first) = state.entries.first().map(|e| e.id) {
            entries.retain(|e| e.id < first);
        }
        entries.sort_by_key(|e| e.id);
        entries.append(&mut state.entries);
        state.entries = entries;
        state.has_older = has_older;
    }

    /// Asks for what the last drawing lacked. Returns in how many milliseconds to come back, where it must wait.
    pub(crate) fn fetch(&mut self, fx: &mut Effects) -> Option<u64> {
        self.fetch_older(fx);
        self.fetch_files(fx);
        self.fetch_prompts(fx);
        let wanted = self.transcript.wanted_output();
        if wanted.is_empty() {
            return None;
        }
        let since = fx.now_ms.saturating_sub(self.output_ms);
        if since < OUTPUT_EVERY_MS {
            return Some(OUTPUT_EVERY_MS - since);
        }
        for want in wanted {
            let same = |c: &Call| matches!(c, Call::OutputRead { session, run, .. } if *session == self.session && *run == want.run);
            if fx.server.is_pending(same) {
                continue;
            }
            self.output_ms = fx.now_ms;
            fx.call(Call::OutputRead {
                session: self.session.clone(),
                run: want.run,
                generation: want.generation,
                from: want.from,
                bytes: want
                    .bytes
                    .clamp(limits::OUTPUT_READ_MIN, limits::OUTPUT_READ_MAX),
            });
        }
        None
    }

    fn fetch_files(&self, fx: &mut Effects) {
        let pending =
            |c: &Call| matches!(c, Call::FilesFind { session, .. } if *session == self.session);
        if let Some(query) = self.composer.wanted_files()
            && !fx.server.is_pending(pending)
        {
            fx.call(Call::FilesFind {
                session: self.session.clone(),
                conversation: self.id,
                query,
                limit: 50,
            });
        }
    }

    fn fetch_prompts(&mut self, fx: &mut Effects) {
        let pending =
            |c: &Call| matches!(c, Call::PromptsList { session, .. } if *session == self.session);
        let version = self.state.as_ref().map(|state| state.info.prompts);
        if fx.may_send()
            && !fx.server.is_pending(pending)
            && version.is_some_and(|version| self.composer.asks_for_prompts(version))
        {
            fx.call(Call::PromptsList {
                session: self.session.clone(),
                conversation: self.id,
            });
        }
    }

    /// Goes to an entry with the next drawing and marks words in it; older pages are loaded until it is there.
    pub(crate) fn reveal(&mut self, entry: EntryId, words: &str) {
        self.sought = Some((entry, words.to_lowercase()));
    }

    /// Goes to what is sought where it is loaded, and gives it up where it cannot come.
    pub(crate) fn go_to_sought(&mut self) {
        let (Some(state), Some((entry, words))) = (&self.state, &self.sought) else {
            return;
        };
        let loaded = state
            .entries
            .first()
            .is_some_and(|first| first.id <= *entry);
        if loaded {
            self.transcript.mark(words);
            self.transcript.seek(Seek::Words(*entry, words.clone()));
        }
        if loaded || !state.has_older {
            self.sought = None;
        }
    }

    fn fetch_older(&self, fx: &mut Effects) {
        let has_older = self.state.as_ref().is_some_and(|s| s.has_older);
        let pending = fx
            .server
            .is_pending(|c| matches!(c, Call::History { session, .. } if *session == self.session));
        if has_older && !pending && (self.sought.is_some() || self.transcript.wants_older()) {
            let before = self
                .state
                .as_ref()
                .and_then(|s| s.entries.first())
                .map(|e| e.id);
            fx.call(Call::History {
                session: self.session.clone(),
                conversation: self.id,
                before,
                limit: limits::PAGE_ENTRIES as u32,
            });
        }
    }
}

fn sent_text(entry: &Entry) -> Option<String> {
    match &entry.body {
        EntryBody::Message { text, .. } => Some(text.clone()),
        EntryBody::Shell {
            command, included, ..
        } => Some(format!("{}{command}", if *included { "!" } else { "!!" })),
        _ => None,
    }
}

/// Entries never change, so those from before the snapshot stay true where the two lists meet.
fn keep_older(state: &mut ConversationState, old: ConversationState) {
    let Some(first) = state.entries.first().map(|e| e.id) else {
        return;
    };
    let Some(at) = old.position(first) else {
        return;
    };
    if at > 0 {
        let mut entries = old.entries;
        entries.truncate(at);
        entries.append(&mut state.entries);
        state.entries = entries;
        state.has_older = old.has_older;
    }
}
