//! What each command does on the screen that is open. Which key means it stands in `keymap`.

use porthole_bridge::{Action, Preference, UploadFrom};
use porthole_protocol::{
    Call, ConversationId, ModelRef, Policy, SendMode, SessionState, Thinking, Topic,
};

use crate::{
    App,
    composer::{Reply, Written},
    conversation::{Conversation, Focus},
    effects::Purpose,
    help::Help,
    home,
    keymap::{Command, Context},
    notice::Tone,
    palette,
    picker::{Choice, Picker, Sure},
    transcript::{self, Kind, Seek, Way},
};

/// How soon a second Ctrl-C leaves, in milliseconds.
const TWICE_MS: u64 = 2_000;

/// How long the list takes no letters after it came by itself, in milliseconds: they were meant for the session.
const DEAF_MS: u64 = 500;

impl App {
    /// Does what a command says; `words` were typed after it.
    pub(crate) fn run(&mut self, command: Command, words: &str) {
        use Command as C;
        if matches!(command, C::Palette | C::Sessions | C::Help | C::Models) {
            self.fx.notice.clear_error();
        }
        match command {
            C::Palette => {
                let list = palette::commands(self.open.is_some(), &self.look, |c| self.fits(c));
                self.picker = Some(list);
            }
            C::Sessions => self.pick_session(),
            C::Help => self.help = Some(Help::of(self.place_of_keys())),
            C::Redraw => {}
            C::Suspend => self.fx.act(Action::Suspend, Purpose::Other),
            C::Interrupt => self.interrupt(),
            C::Quit => self.fx.act(Action::Quit, Purpose::Other),
            C::Theme => self.pick(command, words, |app| Some(palette::themes(&app.look))),
            C::Keep => self.keep_looks(),
            C::Home => self.go_home(),
            C::New => self.new_session(),
            C::Rename | C::Archive | C::Restore | C::Pin | C::Retry | C::Delete => {
                self.change_session(command, words)
            }
            C::Models => self.pick_model(words),
            C::Thinking => self.pick(command, words, |app| {
                let next = app.home.next.thinking.unwrap_or_default();
                let level = app.thinking().unwrap_or(next);
                Some(palette::thinking(level, app.levels()))
            }),
            C::Policy => self.pick(command, words, |app| Some(palette::policies(app.policy()?))),
            C::SearchHistory => self.search_history(),
            C::EditOutside => self.edit_outside(),
            C::Share => self.share(),
            C::Attach => self.upload(UploadFrom::Picker),
            C::AttachClipboard => self.upload(UploadFrom::Clipboard),
            C::Usage => self.show_usage(),
            C::Settings => self.show_settings(),
            C::MakeDefault => self.make_default(),
            C::NextModel => self.step_model(),
            C::Notices => {
                let list = palette::notices(&self.fx.notice, &self.look, self.fx.now_ms);
                self.picker = Some(list);
            }
            C::Reply => self.pick_reply(),
            C::Save => self.pick_save(),
            C::Export => self.pick_export(),
            C::Children => self.pick_conversation(),
            C::Reset => self.ask_reset(),
            C::Fork | C::Compact => self.turn_over(command, words),
            C::Copy => self.copy(transcript::last_answer, "answer"),
            C::CopyCode => self.copy(|state| transcript::code_blocks(state).pop(), "code"),
            C::Undelete => self.home.bring_back_deleted(&mut self.fx),
            other if self.open.is_none() => self.run_home(other),
            other => self.run_conversation(other),
        }
    }

    /// Returns whose keys act now.
    fn place_of_keys(&self) -> Context {
        let screen = self.open.as_ref().and_then(|key| self.screens.get(key));
        match screen.map(|s| s.focus) {
            None => Context::Home,
            Some(Focus::Composer | Focus::Finding) => Context::Composer,
            Some(Focus::Reading) => Context::Reading,
            Some(Focus::Question) => Context::Question,
        }
    }

    /// Returns whether a command has something to act on now.
    fn fits(&self, command: Command) -> bool {
        use Command as C;
        let screen = self.open.as_ref().and_then(|key| self.screens.get(key));
        let row = match &self.open {
            Some((session, _)) => self.home.row(session),
            None => self.home.current(),
        };
        let state = screen.and_then(|s| s.state.as_ref());
        let working = screen.is_some_and(Conversation::is_working);
        match command {
            C::Stop => working || (screen.is_none() && !self.home.filter.is_empty()),
            C::ToggleMode => working,
            C::Complete => false,
            C::ToQuestion => state
                .is_some_and(|s| screen.is_some_and(|c| c.question.shown(&s.questions).is_some())),
            C::Withdraw => state.is_some_and(|s| !s.submissions.is_empty()),
            C::Copy => state.and_then(transcript::last_answer).is_some(),
            C::CopyCode => state.is_some_and(|s| !transcript::code_blocks(s).is_empty()),
            C::Retry => {
                row.is_some_and(|r| matches!(r.state, SessionState::Failed { .. }))
                    || state.is_some_and(|s| s.info.failed.is_some())
            }
            C::Detach => screen.is_some_and(|s| !s.composer.chips().is_empty()),
            C::Children => state.is_some_and(|s| !s.children.is_empty() || s.info.parent.is_some()),
            C::Reply | C::Fork | C::Reset | C::Compact => {
                self.fx.may_send() && state.is_some_and(|s| !s.entries.is_empty())
            }
            C::Save => state.is_some_and(|s| !transcript::savable(s).is_empty()),
            C::Export => self.fx.is_owner() && state.is_some_and(|s| !s.entries.is_empty()),
            C::Attach | C::AttachClipboard => self.fx.may_send(),
            C::Share
            | C::New
            | C::Models
            | C::NextModel
            | C::MakeDefault
            | C::Settings
            | C::Thinking
            | C::Policy => self.fx.is_owner(),
            C::Delete => self.fx.is_owner() && row.is_some(),
            C::Undelete => self.fx.is_owner() && self.home.has_deleted(),
            C::Restore => row.is_some_and(|r| r.archived),
            C::Archive => self.fx.is_owner() && row.is_some_and(|r| !r.archived),
            C::Pin | C::Rename => self.fx.is_owner() && row.is_some(),
            C::Open => row.is_some(),
            _ => true,
        }
    }

    fn run_home(&mut self, command: Command) {
        match command {
            Command::Unfold => self.unfold(),
            Command::Fold => {
                if let Some(session) = self.home.fold() {
                    self.unwatch(&session, ConversationId::ROOT);
                }
            }
            other => {
                if let Some(spot) = self.home.apply(other, &mut self.fx) {
                    let words = self.home.found_words(&spot);
                    self.open_at(spot, words);
                }
            }
        }
    }

    /// Shows the conversations within the selected session; the session is watched for them.
    fn unfold(&mut self) {
        if self.home.current().is_some_and(|row| row.archived) {
            let words = "bring the session back to see what is within it: e";
            self.fx.say(Tone::Info, words);
            return;
        }
        let (unfolded, folded) = self.home.unfold();
        if let Some(session) = folded {
            self.unwatch(&session, ConversationId::ROOT);
        }
        if let Some(session) = unfolded {
            self.fx.server.watch(Topic::Conversation {
                session,
                conversation: ConversationId::ROOT,
            });
        }
    }

    fn run_conversation(&mut self, command: Command) {
        use Command as C;
        let Some(key) = &self.open else { return };
        let Some(screen) = self.screens.get_mut(key) else {
            return;
        };
        let fx = &mut self.fx;
        match command {
            C::Send => self.send(),
            C::NewLine => screen.composer.new_line(),
            C::Stop => stop(screen, fx),
            C::ToggleMode | C::Complete => toggle_mode(screen),
            C::Withdraw => screen.withdraw(fx),
            C::Previous => {
                let sent = screen.sent(fx.server.who().map_or("", |w| &w.id));
                screen.composer.up(&sent);
            }
            C::Next => {
                let sent = screen.sent(fx.server.who().map_or("", |w| &w.id));
                screen.composer.down(&sent);
            }
            C::ToQuestion => to_question(screen, fx.now_ms),
            C::Read => toggle_reading(screen),
            C::PageUp => screen.transcript.page(-1),
            C::PageDown => screen.transcript.page(1),
            C::Up => screen.transcript.scroll(-1),
            C::Down => screen.transcript.scroll(1),
            C::Top => screen.transcript.to_top(),
            C::Bottom => screen.transcript.to_bottom(),
            C::OlderItem => screen.transcript.select_previous(),
            C::NewerItem => screen.transcript.select_next(),
            C::OpenItem => screen.transcript.toggle_selected(),
            C::ShowThinking => screen.transcript.toggle_thinking(),
            C::Find => screen.focus = Focus::Finding,
            C::OlderMessage => screen.transcript.seek(Seek::Next(Kind::Person, Way::Back)),
            C::NewerMessage => screen.transcript.seek(Seek::Next(Kind::Person, Way::On)),
            C::OlderQuestion => screen
                .transcript
                .seek(Seek::Next(Kind::Question, Way::Back)),
            C::NewerQuestion => screen.transcript.seek(Seek::Next(Kind::Question, Way::On)),
            C::OlderChange => screen.transcript.seek(Seek::Next(Kind::Change, Way::Back)),
            C::NewerChange => screen.transcript.seek(Seek::Next(Kind::Change, Way::On)),
            C::Back => {
                screen.focus = Focus::Composer;
                screen.transcript.clear_selection();
                screen.transcript.mark("");
            }
            C::Detach => detach(screen, fx),
            C::EraseBack if screen.composer.at_reply() => {
                screen.composer.forget_reply();
            }
            C::EraseBack if screen.composer.at_chips() => detach(screen, fx),
            other if fx.may_send() => {
                screen.composer.edit(other);
            }
            _ => {}
        }
    }

    /// Does what was chosen in a list.
    pub(crate) fn choose(&mut self, choice: Choice) {
        match choice {
            Choice::Command(command) => self.run(command, ""),
            Choice::Session(session) => self.open(session, ConversationId::ROOT),
            Choice::Hit(spot, words) => self.open_at(spot, words),
            Choice::Home => self.go_home(),
            Choice::Model(model) => self.configure(Some(model), None, None),
            Choice::Thinking(level) => self.configure(None, Some(level), None),
            Choice::Policy(policy) => self.configure(None, None, Some(policy)),
            Choice::Message(text) => {
                if let Some(screen) = self.screen() {
                    screen.composer.set(&text);
                }
            }
            Choice::Conversation(id) => {
                if let Some((session, _)) = self.open.clone() {
                    self.open(session, id);
                }
            }
            Choice::Share(choice) => self.choose_share(choice),
            Choice::Save(what, name) => {
                self.fx.act(Action::Download { what, name }, Purpose::Told);
            }
            Choice::Export(format) => self.export(format),
            Choice::Theme(name) => self.look.choose_theme(&name),
            Choice::Told(text) => {
                self.fx.notice.forget(text.as_deref());
                if text.is_some() {
                    self.run(Command::Notices, "");
                }
            }
            Choice::Reply(name, text) => {
                if let Some(screen) = self.screen() {
                    screen.composer.answer_to(Some(Reply { name, text }));
                    screen.focus = Focus::Composer;
                }
            }
            Choice::Setting(choice) => self.choose_setting(choice),
            Choice::Sure(Sure::Reset) => self.turn_over(Command::Reset, ""),
            Choice::Sure(Sure::Revoke(id)) => self.revoke(id),
            Choice::No | Choice::Nothing => {}
        }
    }

    /// Asks the launcher to keep what was chosen here; it shows the visitor what changes.
    fn keep_looks(&mut self) {
        let Some(theme) = self.look.chosen_theme() else {
            return self.fx.say(
                Tone::Info,
                "nothing was chosen that is not kept already; /theme chooses colours",
            );
        };
        let theme = Preference {
            key: "theme".to_owned(),
            value: Some(theme.to_owned()),
        };
        self.fx
            .act(Action::SavePreferences(vec![theme]), Purpose::Told);
    }

    fn send(&mut self) {
        let Some(screen) = self.screen() else { return };
        if screen.composer.complete_file() || screen.composer.complete_prompt() {
            return;
        }
        let written = screen.composer.written();
        match written {
            Written::Nothing => {}
            Written::Message(text) => self.send_with(|screen, fx| screen.submit(text, fx)),
            Written::Shell(command, included) => {
                self.send_with(|screen, fx| screen.shell(command, included, fx))
            }
            Written::Command(command, words) => {
                screen.composer.clear();
                self.run(command, &words);
            }
            Written::Unknown(word) => {
                let words = format!(
                    "there is no command /{word}; / alone lists them, a space before it sends it as text"
                );
                self.fx.say(Tone::Error, words);
            }
            Written::TooLong => self.fx.say(
                Tone::Error,
                "a message holds at most 512 KiB; put the rest into a file",
            ),
        }
    }

    fn send_with(&mut self, send: impl FnOnce(&mut Conversation, &mut crate::effects::Effects)) {
        if !self.fx.may_send() {
            self.fx
                .say(Tone::Info, "you are viewing; only others can write here");
        } else if let Some(screen) = self.open.as_ref().and_then(|k| self.screens.get_mut(k)) {
            self.fx.notice.clear();
            send(screen, &mut self.fx);
        }
    }

    fn interrupt(&mut self) {
        let now_ms = self.fx.now_ms;
        if self
            .interrupted_ms
            .is_some_and(|at| now_ms.saturating_sub(at) <= TWICE_MS)
        {
            self.interrupted_ms = None;
            self.fx.act(Action::Quit, Purpose::Other);
            return;
        }
        let draft = self.screen().filter(|s| !s.composer.is_empty());
        if let Some(screen) = draft {
            screen.composer.clear();
            return;
        }
        self.interrupted_ms = Some(now_ms);
        let works = self.screen().is_some_and(|s| s.is_working());
        let words = if works {
            "Ctrl-C again leaves; the work goes on · Esc stops it"
        } else {
            "Ctrl-C again leaves; everything goes on running"
        };
        self.fx.say(Tone::Info, words);
    }

    fn new_session(&mut self) {
        if !self.fx.is_owner() {
            self.fx.say(Tone::Info, "only the owner can make sessions");
            return;
        }
        self.go_home();
        self.home.ask_directory();
    }

    fn change_session(&mut self, command: Command, words: &str) {
        let Some((session, _)) = self.open.clone() else {
            self.run_home(command);
            return;
        };
        let failed = self.info().and_then(|info| info.failed);
        if command == Command::Retry && failed.is_some() {
            self.turn_over(command, words);
            return;
        }
        match command {
            Command::Rename if !words.is_empty() => home::rename(session, words, &mut self.fx),
            Command::Rename => {
                let title = self
                    .home
                    .row(&session)
                    .map(|r| r.title.clone())
                    .unwrap_or_default();
                if let Some(screen) = self.screen() {
                    screen.composer.set(&format!("/rename {title}"));
                }
            }
            _ => {
                let archived = self.home.row(&session).is_some_and(|r| r.archived);
                self.home.change(command, &session, &mut self.fx);
                let goes = command == Command::Delete || (command == Command::Archive && !archived);
                if goes && self.fx.is_owner() {
                    self.leave_for_list();
                }
            }
        }
    }

    /// Goes to the list and keeps the notice that says why.
    fn leave_for_list(&mut self) {
        let notice = self.fx.notice.clone();
        self.go_home();
        self.fx.notice = notice;
        self.deaf_until_ms = self.fx.now_ms + DEAF_MS;
    }

    fn pick_session(&mut self) {
        let current = self.open.as_ref().map(|(session, _)| session.as_str());
        let home = self.fx.server.home_dir();
        self.picker = Some(palette::sessions(self.home.rows(), current, home));
    }

    fn pick(&mut self, command: Command, words: &str, list: impl Fn(&Self) -> Option<Picker>) {
        match palette::typed_choice(command, words, &self.look.themes) {
            Some(choice) => self.choose(choice),
            None => self.picker = list(self),
        }
    }

    fn pick_model(&mut self, words: &str) {
        if let Some(choice) = palette::typed_choice(Command::Models, words, &self.look.themes) {
            self.choose(choice);
            return;
        }
        let next = self.home.next.model.as_ref().map(ToString::to_string);
        let current = self.current_model().or(next);
        self.picker = Some(palette::models(self.models.as_ref(), current.as_deref()));
        self.fx.call(Call::Models {});
    }

    fn pick_reply(&mut self) {
        let may_send = self.fx.may_send();
        let list = self
            .screen()
            .and_then(|screen| screen.state.as_ref())
            .map(palette::replies_to);
        if may_send {
            self.picker = list;
        }
    }

    fn ask_reset(&mut self) {
        if self.open.is_none() {
            return;
        }
        if !self.fx.may_send() {
            self.turn_over(Command::Reset, "");
            return;
        }
        let words = "people go on reading all of it; only the model begins anew";
        self.picker = Some(palette::sure(
            "let the model forget this conversation?",
            Sure::Reset,
            "yes, begin anew",
            words,
        ));
    }

    fn search_history(&mut self) {
        let me = self
            .fx
            .server
            .who()
            .map(|w| w.id.clone())
            .unwrap_or_default();
        let Some(screen) = self.screen() else { return };
        let sent = screen.sent(&me);
        if sent.is_empty() {
            self.fx.say(Tone::Info, "no messages yet");
        } else {
            self.picker = Some(palette::history(&sent));
        }
    }

    fn edit_outside(&mut self) {
        let Some(screen) = self.screen() else { return };
        let text = screen.composer.draft().text;
        self.fx.act(Action::Edit(text), Purpose::Edit);
    }

    fn copy(
        &mut self,
        what: impl Fn(&porthole_protocol::ConversationState) -> Option<String>,
        name: &str,
    ) {
        let Some(screen) = self.screen() else { return };
        match screen.state.as_ref().and_then(what) {
            None => self.fx.say(Tone::Info, format!("there is no {name} yet")),
            Some(text) if text.len() > porthole_bridge::limits::COPY_BYTES => {
                self.fx
                    .say(Tone::Error, format!("the {name} is too large to copy"));
            }
            Some(text) => self.fx.act(Action::Copy(text), Purpose::Told),
        }
    }

    pub(crate) fn configure(
        &mut self,
        model: Option<ModelRef>,
        thinking: Option<Thinking>,
        policy: Option<Policy>,
    ) {
        let Some((session, conversation)) = self.open.clone() else {
            self.home.next.model = model.or(self.home.next.model.take());
            self.home.next.thinking = thinking.or(self.home.next.thinking);
            return;
        };
        if !self.fx.is_owner() {
            self.fx
                .say(Tone::Info, "only the owner can change settings");
            return;
        }
        self.fx.call(Call::Configure {
            session,
            conversation,
            model,
            thinking,
            policy,
        });
    }

    /// Returns settings and counts of the open conversation.
    pub(crate) fn info(&self) -> Option<&porthole_protocol::ConversationInfo> {
        let key = self.open.as_ref()?;
        self.screens.get(key)?.state.as_ref().map(|s| &s.info)
    }

    fn thinking(&self) -> Option<Thinking> {
        self.info().map(|i| i.thinking)
    }

    fn policy(&self) -> Option<Policy> {
        self.info().map(|i| i.policy)
    }

    /// Returns the levels that the model takes, where they are known.
    fn levels(&self) -> Option<&[Thinking]> {
        let name = self.current_model()?;
        let models = &self.models.as_ref()?.models;
        let info = models.iter().find(|m| m.model.to_string() == name)?;
        Some(&info.thinking)
    }

    /// Returns the model of the open conversation.
    pub(crate) fn current_model(&self) -> Option<String> {
        self.info().map(|i| i.model.to_string())
    }
}

fn detach(screen: &mut Conversation, fx: &mut crate::effects::Effects) {
    match screen.composer.detach() {
        Some(chip) => fx.say(Tone::Done, format!("took {} off", chip.name)),
        None => fx.say(Tone::Info, "nothing is attached"),
    }
}

/// Esc: closes the list of commands, else stops the turn, else clears the message, else goes back to the bottom.
fn stop(screen: &mut Conversation, fx: &mut crate::effects::Effects) {
    if screen.composer.close_list() {
        return;
    }
    let at_rest = !screen.is_working() && screen.composer.is_empty();
    if at_rest && fx.notice.dismiss() {
        return;
    }
    if screen.is_working() && fx.may_send() {
        screen.stop(fx);
    } else if !screen.composer.is_empty() {
        screen.composer.clear();
    } else if !screen.composer.forget_reply() {
        screen.transcript.to_bottom();
    }
}

fn toggle_mode(screen: &mut Conversation) {
    if screen.composer.is_listing() {
        screen.composer.complete();
    } else if screen.is_working() {
        screen.mode = match screen.mode {
            SendMode::FollowUp => SendMode::Steer,
            SendMode::Steer => SendMode::FollowUp,
        };
    }
}

fn to_question(screen: &mut Conversation, now_ms: u64) {
    let asks = screen
        .state
        .as_ref()
        .is_some_and(|s| screen.question.shown(&s.questions).is_some());
    if screen.focus == Focus::Question || !asks {
        screen.focus = Focus::Composer;
    } else {
        screen.focus = Focus::Question;
        screen.question.focus(now_ms);
    }
}

fn toggle_reading(screen: &mut Conversation) {
    if screen.focus == Focus::Reading {
        screen.focus = Focus::Composer;
        screen.transcript.clear_selection();
    } else {
        screen.focus = Focus::Reading;
        screen.transcript.select_previous();
    }
}
