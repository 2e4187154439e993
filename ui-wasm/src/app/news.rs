//! What news of the server does to the screens.

use porthole_protocol::{
    Call, CallError, ConversationDelta, ConversationId, ErrorCode, QuestionId, RequestId, Topic,
    TopicDelta, TopicState, replies,
};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::App;
use crate::{
    around::Around, effects::Effects, notice::Tone, palette, picker::Choice, server::News,
    share::ShareChoice,
};

type Reply = Result<Box<RawValue>, CallError>;

impl App {
    pub(super) fn read_news(&mut self) {
        while let Some(news) = self.fx.server.next_news() {
            self.take_news(news);
        }
    }

    fn take_news(&mut self, news: News) {
        match news {
            News::Hello => self.dirty = true,
            News::Reply { call, result } => self.reply(call, result),
            News::Lost(call) => self.lost(&call),
            News::Snapshot(topic, state) => self.snapshot(topic, state),
            News::Delta(topic, delta) => self.delta(&topic, &delta),
            News::Ended(topic, error) => self.ended(topic, error),
            News::Fault(words) => {
                self.fx.say(Tone::Error, words);
                self.dirty = true;
            }
        }
    }

    fn snapshot(&mut self, topic: Topic, state: TopicState) {
        let now_ms = self.fx.now_ms;
        match (topic, state) {
            (Topic::Sessions, TopicState::Sessions(rows)) => {
                self.home.take(rows);
                self.mark_read();
            }
            (Topic::Looks, TopicState::Looks(looks)) => self.server_looks(&looks),
            (
                Topic::Conversation {
                    session,
                    conversation,
                },
                TopicState::Conversation(state),
            ) => {
                if conversation == ConversationId::ROOT {
                    self.home.take_children(&session, &state.children);
                }
                if let Some(screen) = self.screens.get_mut(&(session, conversation)) {
                    let practice = state.info.practice;
                    screen.take(*state, now_ms);
                    self.ask_for_models(practice);
                }
            }
            (Topic::Settings, TopicState::Settings(state)) => self.took_settings(*state),
            _ => return,
        }
        self.dirty = true;
    }

    /// Asks which models there are where the welcome has to say what else could answer.
    fn ask_for_models(&mut self, practice: bool) {
        let asked = self.fx.server.is_pending(|c| matches!(c, Call::Models {}));
        if practice && self.models.is_none() && !asked {
            self.fx.call(Call::Models {});
        }
    }

    fn delta(&mut self, topic: &Topic, delta: &TopicDelta) {
        let now_ms = self.fx.now_ms;
        match (topic, delta) {
            (Topic::Sessions, TopicDelta::Sessions(delta)) => {
                let before = self.around();
                self.home.apply_delta(delta);
                self.mark_read();
                // Of other sessions the screen of a conversation shows only how many need someone.
                self.dirty |= self.open.is_none() || self.around() != before;
            }
            (
                Topic::Conversation {
                    session,
                    conversation,
                },
                TopicDelta::Conversation(delta),
            ) => {
                if let (ConversationId::ROOT, ConversationDelta::Children { children }) =
                    (*conversation, delta)
                {
                    self.home.take_children(session, children);
                    self.dirty |= self.open.is_none();
                }
                let key = (session.clone(), *conversation);
                if let Some(screen) = self.screens.get_mut(&key) {
                    screen.apply(delta, now_ms);
                    self.dirty |= self.open.as_ref() == Some(&key);
                }
            }
            (Topic::Settings, TopicDelta::Settings(state)) => {
                self.took_settings((**state).clone());
                self.dirty = true;
            }
            _ => {}
        }
    }

    /// Returns what the screen of the open conversation shows of the list.
    fn around(&self) -> Option<Around> {
        let (session, _) = self.open.as_ref()?;
        Some(Around::of(&self.home, session))
    }

    fn ended(&mut self, topic: Topic, error: CallError) {
        if let Topic::Conversation {
            session,
            conversation,
        } = topic
            && let Some(screen) = self.screens.get_mut(&(session, conversation))
        {
            screen.ended = Some(error.clone());
        }
        // Of what is not there the screen itself says so.
        if error.code != ErrorCode::NotFound {
            self.fx.say(Tone::Error, words(&error));
        }
        self.dirty = true;
    }

    fn lost(&mut self, call: &Call) {
        // What is still wanted is asked for again: history and output with the next drawing, the models here.
        if matches!(call, Call::Models {}) && self.picker.is_some() {
            self.fx.call(Call::Models {});
        }
        if matches!(call, Call::Search { .. }) {
            self.ask_search();
        }
        self.dirty = true;
    }

    fn reply(&mut self, call: Call, result: Reply) {
        self.dirty = true;
        let by_itself = matches!(
            call,
            Call::SessionRead { .. }
                | Call::History { .. }
                | Call::OutputRead { .. }
                | Call::FilesFind { .. }
                | Call::Models {}
                | Call::ModelsFind { .. }
                | Call::PromptsList { .. }
                | Call::Responses { .. }
                | Call::SettingsGet {}
                | Call::Search { .. }
                | Call::ShareList { .. }
                | Call::DeviceList {}
                | Call::ModelsScope {}
        );
        if result.is_ok() && !by_itself {
            self.fx.notice.clear_error();
        }
        match call {
            Call::SessionCreate { request, dir, .. } => self.created(&request, dir, result),
            Call::Submit {
                session,
                conversation,
                request,
                text,
                ..
            } => {
                self.submitted((session, conversation), &request, &text, result);
            }
            Call::Shell {
                session,
                conversation,
                request,
                command,
                included,
            } => {
                let text = format!("{}{command}", if included { "!" } else { "!!" });
                self.submitted((session, conversation), &request, &text, result);
            }
            Call::Withdraw {
                session,
                conversation,
                ..
            } => self.withdrawn((session, conversation), result),
            Call::AnswerQuestion {
                session,
                conversation,
                question,
                ..
            } => {
                self.answered((session, conversation), question, result);
            }
            Call::History {
                session,
                conversation,
                ..
            } => self.history((session, conversation), result),
            Call::OutputRead { session, run, .. } => self.output(&session, &run, result),
            Call::FilesFind {
                session,
                conversation,
                query,
                ..
            } => self.files((session, conversation), &query, result),
            Call::Models {} => self.took_models(result),
            Call::ShareCreate { .. } => {
                if let Some(shared) = read::<replies::Shared>(result, &mut self.fx) {
                    self.picker = Some(self.sharing.made(shared));
                }
            }
            Call::ShareList { .. } => {
                if let Some(shares) = read::<replies::Shares>(result, &mut self.fx) {
                    self.took_shares(shares);
                }
            }
            Call::DeviceList {} => {
                let _: Option<replies::Devices> = read(result, &mut self.fx);
            }
            Call::SessionExport { .. } => {
                if let Some(exported) = read::<replies::Exported>(result, &mut self.fx) {
                    self.exported(exported);
                }
            }
            Call::SessionRename { .. }
            | Call::SessionPin { .. }
            | Call::SessionArchive { .. }
            | Call::SessionRetry { .. }
            | Call::SessionRead { .. }
            | Call::Stop { .. }
            | Call::Configure { .. }
            | Call::Reset { .. }
            | Call::Compact { .. }
            | Call::Retry { .. }
            | Call::Exclude { .. }
            | Call::ArchiveChild { .. }
            | Call::Move { .. }
            | Call::ShareRevoke { .. }
            | Call::DeviceSignOut { .. } => {
                let _: Option<replies::Done> = read(result, &mut self.fx);
            }
            Call::SessionRestore { session } => self.brought_back(&session, result),
            Call::Search { text, .. } => {
                let found = read::<replies::Found>(result, &mut self.fx).unwrap_or_default();
                self.took_found(text, found);
            }
            Call::SessionDelete { session } => {
                if read::<replies::Done>(result, &mut self.fx).is_none() {
                    self.home.not_deleted(&session);
                }
            }
            Call::SettingsGet {} | Call::SettingsSave { .. } => {
                if let Some(state) = read(result, &mut self.fx) {
                    self.took_settings(state);
                }
            }
            Call::ModelsFind { .. } => {
                if let Some(found) = read::<replies::ModelsFound>(result, &mut self.fx) {
                    self.took_found_models(&found);
                }
            }
            Call::ModelsScope {} => {
                if let Some(scope) = read(result, &mut self.fx) {
                    self.took_scope(scope);
                }
            }
            Call::PromptsList {
                session,
                conversation,
            } => {
                let prompts = read::<replies::Prompts>(result, &mut self.fx);
                if let Some(screen) = self.screens.get_mut(&(session, conversation)) {
                    screen.composer.prompts_arrived(prompts.unwrap_or_default());
                }
            }
            Call::Responses {
                session,
                conversation,
                ..
            } => {
                let responses = read::<replies::Responses>(result, &mut self.fx);
                let is_open = self.open == Some((session, conversation));
                if let Some(responses) = responses.filter(|_| is_open) {
                    self.took_responses(&responses);
                }
            }
            Call::SessionClone { .. } => {
                if let Some(made) = read::<replies::Created>(result, &mut self.fx) {
                    self.open(made.session, ConversationId::ROOT);
                }
            }
            Call::OpenChild { session, .. } | Call::Fork { session, .. } => {
                if let Some(opened) = read::<replies::Opened>(result, &mut self.fx) {
                    self.open(session, opened.conversation);
                }
            }
        }
    }

    /// What could not be watched while the session was put away is watched now.
    fn brought_back(&mut self, session: &porthole_protocol::SessionId, result: Reply) {
        let done = read::<replies::Done>(result, &mut self.fx).is_some();
        let key = self
            .open
            .clone()
            .filter(|(open, _)| open == session && done);
        if let Some(screen) = key.and_then(|key| self.screens.get_mut(&key)) {
            screen.ended = None;
            self.fx.server.watch(screen.topic());
        }
    }

    fn withdrawn(&mut self, key: super::Key, result: Reply) {
        let withdrawn = read::<replies::Withdrawn>(result, &mut self.fx);
        if let (Some(withdrawn), Some(screen)) = (withdrawn, self.screens.get_mut(&key)) {
            screen.composer.give_back(&withdrawn.text);
        }
    }

    fn answered(&mut self, key: super::Key, question: QuestionId, result: Reply) {
        let refused = result.is_err();
        let answered = read::<replies::Answered>(result, &mut self.fx);
        if let Some(answered) = answered.filter(|a| !a.counted) {
            self.fx.say(Tone::Info, answered.message);
        }
        if let Some(screen) = self.screens.get_mut(&key).filter(|_| refused) {
            screen.question.reopen(question);
            if let Some(state) = &screen.state {
                screen.question.update(&state.questions, self.fx.now_ms);
            }
        }
    }

    fn history(&mut self, key: super::Key, result: Reply) {
        let history = read::<replies::History>(result, &mut self.fx);
        if let (Some(history), Some(screen)) = (history, self.screens.get_mut(&key)) {
            screen.older(history.entries, history.has_older);
        }
    }

    fn created(&mut self, request: &RequestId, dir: Option<String>, result: Reply) {
        let thinking = self.home.thinking_of(request);
        if result.is_err() && self.open.is_none() && self.home.prompt.is_none() {
            self.home.ask_directory_again(&dir.unwrap_or_default());
        }
        if let Some(created) = read::<replies::Created>(result, &mut self.fx) {
            if thinking.is_some() {
                self.fx.call(Call::Configure {
                    session: created.session.clone(),
                    conversation: ConversationId::ROOT,
                    model: None,
                    thinking,
                    policy: None,
                });
            }
            // Whoever went on to another session meanwhile is left where they are.
            if self.open.is_none() {
                self.open(created.session, ConversationId::ROOT);
            } else {
                self.fx
                    .say(Tone::Done, "the new session is made; Ctrl-P goes there");
            }
        }
    }

    fn submitted(
        &mut self,
        key: super::Key,
        request: &porthole_protocol::RequestId,
        text: &str,
        result: Reply,
    ) {
        let done = read::<replies::Submitted>(result, &mut self.fx).is_some();
        if let Some(screen) = self.screens.get_mut(&key) {
            if done {
                screen.submitted(request);
            } else {
                screen.refused(request, text);
            }
        }
    }

    fn output(
        &mut self,
        session: &porthole_protocol::SessionId,
        run: &porthole_protocol::RunId,
        result: Reply,
    ) {
        // A run that is gone is told by its row; an error here would only repeat it.
        let Some(output) = result
            .ok()
            .and_then(|r| serde_json::from_str::<replies::Output>(r.get()).ok())
        else {
            return;
        };
        use base64::Engine as _;
        let Ok(bytes) = base64::engine::general_purpose::STANDARD.decode(&output.base64) else {
            return;
        };
        for (_, screen) in self.screens.iter_mut().filter(|((s, _), _)| s == session) {
            screen.transcript.output_arrived(
                run,
                output.from,
                &bytes,
                output.total,
                output.generation,
                output.complete,
            );
        }
    }

    fn took_shares(&mut self, shares: replies::Shares) {
        self.sharing.take(shares.shares);
        let Some((session, _)) = &self.open else {
            return;
        };
        let (items, footer) = self
            .sharing
            .all(session, &self.look, self.fx.now_ms)
            .into_rows();
        let is_list = |c: &Choice| matches!(c, Choice::Share(ShareChoice::New(w)) if w.is_plain());
        let asks =
            |c: &Choice| matches!(c, Choice::Share(ShareChoice::Make(_) | ShareChoice::Copy));
        if let Some(picker) = self
            .picker
            .as_mut()
            .filter(|p| p.offers(is_list) && !p.offers(asks))
        {
            picker.fill(items, footer);
        }
    }

    fn files(&mut self, key: super::Key, query: &str, result: Reply) {
        let files = read::<replies::Files>(result, &mut self.fx).unwrap_or_default();
        if let Some(screen) = self.screens.get_mut(&key) {
            screen.composer.files_arrived(query, files);
        }
    }

    fn took_models(&mut self, result: Reply) {
        let Some(models) = read::<replies::Models>(result, &mut self.fx) else {
            return;
        };
        let other = |m: &porthole_protocol::ModelInfo| m.ready && m.model.provider != "practice";
        self.fx.other_models = models.models.iter().any(other);
        let current = self.current_model();
        if let Some(picker) = self
            .picker
            .as_mut()
            .filter(|p| p.offers(|c| matches!(c, Choice::Model(_) | Choice::Nothing)))
        {
            let (items, footer) = palette::model_items(Some(&models), current.as_deref());
            picker.fill(items, footer);
        }
        self.models = Some(models);
    }

    fn took_found_models(&mut self, found: &replies::ModelsFound) {
        let more = palette::found_models(found, self.models.as_ref());
        if let Some(picker) = self
            .picker
            .as_mut()
            .filter(|p| p.offers(|c| matches!(c, Choice::Model(_))))
        {
            picker.put_more(more);
        }
        self.look_further();
    }
}

/// Returns the reply as what the method says it is; a failure is told.
fn read<T: DeserializeOwned>(result: Reply, fx: &mut Effects) -> Option<T> {
    match result.map(|r| serde_json::from_str(r.get())) {
        Ok(Ok(reply)) => return Some(reply),
        Ok(Err(_)) => fx.say(Tone::Error, "the server's reply cannot be read by this UI"),
        Err(error) => fx.say(Tone::Error, words(&error)),
    }
    None
}

fn words(error: &CallError) -> String {
    if error.hint.is_empty() {
        error.message.clone()
    } else {
        format!("{} · hint: {}", error.message, error.hint)
    }
}
