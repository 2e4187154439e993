//! Where a key, a paste or a click goes: to what floats, else to what has the focus, else to the screen.

use porthole_bridge::{Action, Key, KeyCode, Mouse, MouseKind};

use super::App;
use crate::{
    conversation::Focus,
    effects::Purpose,
    finder::Finder,
    home::Prompt,
    keymap::{Command, Context},
    picker::{Choice, Picked},
    question::Asked,
    share::ShareChoice,
    transcript::{Click, Way},
};

/// Rows that one step of the wheel scrolls.
const WHEEL_ROWS: i32 = 3;

impl App {
    pub(super) fn key(&mut self, key: Key) {
        self.dirty = true;
        if self.help.is_some() {
            self.key_help(key);
        } else if self.picker.is_some() {
            self.key_picker(key);
        } else if self.open.is_some() {
            self.key_conversation(key);
        } else {
            self.key_home(key);
        }
    }

    fn find(&self, key: Key, contexts: &[Context]) -> Option<Command> {
        contexts.iter().find_map(|c| self.look.keys.find(key, *c))
    }

    fn key_help(&mut self, key: Key) {
        let command = self.find(key, &[Context::Reading, Context::List]);
        let open = match (&mut self.help, command) {
            (Some(help), Some(command)) => help.apply(command),
            _ => false,
        };
        if !open {
            self.help = None;
        }
    }

    fn key_picker(&mut self, key: Key) {
        let command = self.find(key, &[Context::List, Context::Editing]);
        let Some(picker) = &mut self.picker else {
            return;
        };
        let picked = match (command, typed(key)) {
            (Some(command), _) => picker.apply(command),
            (None, Some(c)) => {
                picker.typed(c);
                Picked::Open
            }
            (None, None) => Picked::Open,
        };
        self.picked(picked);
        self.look_further();
    }

    pub(super) fn picked(&mut self, picked: Picked) {
        match picked {
            Picked::Open => {}
            Picked::Closed => self.picker = None,
            Picked::Typed(key, text) => {
                self.picker = None;
                self.typed_setting(&key, &text);
            }
            Picked::Chosen(choice) => {
                let at = self.picker.take().map_or(0, |p| p.place_of_choice());
                let changes_a_line =
                    matches!(&choice, Choice::Share(ShareChoice::New(w)) if !w.is_plain());
                self.choose(choice);
                if changes_a_line {
                    self.picker = self.picker.take().map(|p| p.at(at));
                }
            }
        }
    }

    fn key_home(&mut self, key: Key) {
        let letter = typed(key).is_some() || key.code == KeyCode::Enter;
        if letter && self.fx.now_ms <= self.deaf_until_ms {
            return;
        }
        if self.home.prompt.is_some() {
            self.key_prompt(key);
        } else if let Some(command) = self.find(key, &[Context::Home, Context::Everywhere]) {
            self.run(command, "");
        }
    }

    fn key_prompt(&mut self, key: Key) {
        match key.code {
            KeyCode::Enter => {
                if let Some(spot) = self.home.enter(&mut self.fx) {
                    let words = self.home.found_words(&spot);
                    self.open_at(spot, words);
                }
            }
            KeyCode::Escape => self.home.leave(),
            KeyCode::Up => self.home.step_in_field(-1),
            KeyCode::Down => self.home.step_in_field(1),
            _ => self.key_field(key),
        }
    }

    fn key_field(&mut self, key: Key) {
        // What the new session gets is chosen with the keys that change it later.
        let asks_where = matches!(self.home.prompt, Some(Prompt::New(_)));
        let wish = self
            .find(key, &[Context::Conversation])
            .filter(|command| asks_where && matches!(command, Command::Models | Command::Thinking));
        if let Some(command) = wish {
            self.run(command, "");
            return;
        }
        let command = self.find(key, &[Context::Everywhere, Context::Editing]);
        let Some(field) = self.home.field() else {
            return;
        };
        match (command, typed(key)) {
            (Some(Command::Interrupt), _) => self.home.leave(),
            (Some(command), _) if field.apply(command) => self.field_changed(),
            (Some(command), _) => self.run(command, ""),
            (None, Some(c)) => {
                field.typed(c);
                self.field_changed();
            }
            (None, None) => {}
        }
    }

    fn key_conversation(&mut self, key: Key) {
        let Some(screen) = self.screen() else { return };
        match screen.focus {
            Focus::Composer => self.key_composer(key),
            Focus::Reading => {
                let contexts = [Context::Reading, Context::Conversation, Context::Everywhere];
                if let Some(command) = self.find(key, &contexts) {
                    self.run(command, "");
                }
            }
            Focus::Question => self.key_question(key),
            Focus::Finding => self.key_finder(key),
        }
    }

    fn key_finder(&mut self, key: Key) {
        let command = self.find(
            key,
            &[Context::Conversation, Context::Everywhere, Context::Editing],
        );
        let Some(screen) = self.screen() else { return };
        let way = match (key.code, command) {
            (KeyCode::Enter | KeyCode::Up, _) | (_, Some(Command::Find)) => Some(Way::Back),
            (KeyCode::Down, _) => Some(Way::On),
            _ => None,
        };
        if let Some(way) = way {
            let has_older = screen.state.as_ref().is_some_and(|s| s.has_older);
            if !screen.finder.go(way, &mut screen.transcript) && way == Way::Back && has_older {
                // What is older comes when the top is reached, and is looked through then.
                screen.transcript.to_top();
            }
            return;
        }
        match (key.code, command, typed(key)) {
            (KeyCode::Escape, ..) | (_, Some(Command::Interrupt), _) => {
                screen.transcript.mark("");
                screen.finder = Finder::default();
                screen.focus = Focus::Composer;
            }
            (_, Some(command), _) if screen.finder.field.apply(command) => {}
            (_, Some(command), _) => self.run(command, ""),
            (_, None, Some(c)) => screen.finder.field.typed(c),
            (_, None, None) => {}
        }
    }

    fn key_composer(&mut self, key: Key) {
        let contexts = [
            Context::Composer,
            Context::Conversation,
            Context::Everywhere,
            Context::Editing,
        ];
        let command = self.find(key, &contexts);
        let missing = self.screen().is_some_and(|s| s.is_missing());
        match (command, typed(key)) {
            (Some(Command::Send), _) if missing => {}
            (Some(command), _) => self.run(command, ""),
            (None, Some(c)) if self.fx.may_send() && !missing => {
                if let Some(screen) = self.screen() {
                    screen.composer.typed(c);
                }
            }
            _ => {}
        }
    }

    fn key_question(&mut self, key: Key) {
        let writing = self.screen().is_some_and(|s| s.question.is_writing());
        if writing {
            self.key_question_field(key);
            return;
        }
        if let Some(letter) = typed(key) {
            self.key_question_letter(letter, self.find(key, &[Context::Question]));
            return;
        }
        if key.code == KeyCode::Enter {
            self.answer_now(true);
            return;
        }
        let waited = self.screen().is_some_and(|s| s.question.forget_letter());
        let contexts = [
            Context::Question,
            Context::Conversation,
            Context::Everywhere,
        ];
        match self.find(key, &contexts) {
            Some(Command::Back) if waited => {}
            Some(Command::Back) => self.ask(Command::Back),
            Some(command) => self.run(command, ""),
            None => {}
        }
    }

    fn key_question_letter(&mut self, letter: char, command: Option<Command>) {
        let (now_ms, may) = (self.fx.now_ms, self.fx.may_answer());
        let Some(screen) = self.screen() else { return };
        let Some(state) = &screen.state else { return };
        let command = command.filter(|_| may);
        let asked = screen
            .question
            .letter(letter, command, &state.questions, now_ms);
        self.asked(asked);
    }

    /// Gives the answer whose letter has stood alone for long enough.
    pub(super) fn answer_due(&mut self) {
        let floats = self.picker.is_some() || self.help.is_some();
        let Some(screen) = self.screen() else { return };
        if screen.question.due_ms().is_none() {
            return;
        }
        if floats || screen.focus != Focus::Question {
            screen.question.forget_letter();
            return;
        }
        self.answer_now(false);
    }

    fn answer_now(&mut self, confirmed: bool) {
        let (now_ms, may) = (self.fx.now_ms, self.fx.may_answer());
        let Some(screen) = self.screen() else { return };
        let Some(state) = &screen.state else { return };
        if !may
            || screen
                .question
                .due_ms()
                .is_none_or(|due| !confirmed && due > now_ms)
        {
            return;
        }
        let asked = screen.question.due(&state.questions, now_ms, confirmed);
        self.asked(asked);
        self.dirty = true;
    }

    fn key_question_field(&mut self, key: Key) {
        let command = self.find(key, &[Context::Everywhere, Context::Editing]);
        let Some(screen) = self.screen() else { return };
        match key.code {
            KeyCode::Enter => {
                let asked = screen.question.enter();
                self.asked(asked);
            }
            KeyCode::Escape => self.ask(Command::Back),
            _ => {
                let Some(field) = screen.question.field() else {
                    return;
                };
                match (command, typed(key)) {
                    (Some(Command::Interrupt), _) => self.ask(Command::Back),
                    (Some(command), _) if field.apply(command) => {}
                    (Some(command), _) => self.run(command, ""),
                    (None, Some(c)) => field.typed(c),
                    (None, None) => {}
                }
            }
        }
    }

    fn ask(&mut self, command: Command) {
        let (now_ms, may) = (self.fx.now_ms, self.fx.may_answer());
        let Some(screen) = self.screen() else { return };
        let Some(state) = &screen.state else { return };
        if !may && command != Command::Back {
            return;
        }
        let asked = screen.question.apply(command, &state.questions, now_ms);
        self.asked(asked);
    }

    fn asked(&mut self, asked: Asked) {
        let now_ms = self.fx.now_ms;
        let Some(key) = &self.open else { return };
        let Some(screen) = self.screens.get_mut(key) else {
            return;
        };
        match asked {
            Asked::Stay => {}
            Asked::Leave => screen.focus = Focus::Composer,
            Asked::Typing(letters) => {
                screen.focus = Focus::Composer;
                if self.fx.may_send() {
                    letters.chars().for_each(|c| screen.composer.typed(c));
                }
            }
            Asked::Focus => {
                if screen.focus != Focus::Question {
                    screen.focus = Focus::Question;
                    screen.question.focus(now_ms);
                }
            }
            Asked::Answer(question, answer) => screen.answer(question, answer, &mut self.fx),
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.dirty = true;
        let missing = self.screen().is_some_and(|s| s.is_missing());
        let may_send = self.fx.may_send() && !missing;
        if let Some(picker) = &mut self.picker {
            picker.paste(text);
            self.look_further();
        } else if self.open.is_none() {
            if let Some(field) = self.home.field() {
                field.put(&text.replace('\n', " "));
                self.field_changed();
            }
        } else if let Some(screen) = self.screen() {
            if screen.focus == Focus::Finding {
                screen.finder.field.put(&text.replace('\n', " "));
                return;
            }
            match screen
                .question
                .field()
                .filter(|_| screen.focus == Focus::Question)
            {
                Some(field) => field.put(text),
                None if may_send => {
                    screen.focus = Focus::Composer;
                    screen.composer.paste(text);
                }
                None => {}
            }
        }
    }

    pub(super) fn mouse(&mut self, mouse: Mouse) {
        match mouse.kind {
            MouseKind::WheelUp => self.wheel(-WHEEL_ROWS),
            MouseKind::WheelDown => self.wheel(WHEEL_ROWS),
            MouseKind::Press => self.press(mouse.col, mouse.row),
            MouseKind::Drag => self.drag(mouse.col, mouse.row),
            MouseKind::Release => self.release(mouse.col, mouse.row),
        }
    }

    fn drag(&mut self, col: u16, row: u16) {
        if let Some(screen) = self.screen() {
            screen.transcript.select_to(col, row);
            self.dirty = true;
        }
    }

    /// Copies what was selected, or takes the press for a click.
    fn release(&mut self, col: u16, row: u16) {
        let Some(screen) = self.screen() else { return };
        if screen.transcript.is_selecting() {
            screen.transcript.select_to(col, row);
            if let Some(words) = screen.transcript.take_selection() {
                self.fx.act(Action::Copy(words), Purpose::Told);
            }
            self.dirty = true;
        }
    }

    fn wheel(&mut self, rows: i32) {
        self.dirty = true;
        if let Some(help) = &mut self.help {
            help.scroll(rows as isize);
        } else if let Some(picker) = &mut self.picker {
            picker.apply(if rows < 0 { Command::Up } else { Command::Down });
        } else if let Some(screen) = self.screen() {
            screen.transcript.scroll(rows);
        } else {
            self.home.step(rows.signum() as isize);
        }
    }

    fn press(&mut self, col: u16, row: u16) {
        self.dirty = true;
        if self.help.is_some() {
            self.help = None;
        } else if let Some(picker) = &mut self.picker {
            let picked = picker.click(col, row);
            self.picked(picked);
        } else if self.open.is_some() {
            self.press_conversation(col, row);
        } else if let Some(spot) = self.home.click(row) {
            let words = self.home.found_words(&spot);
            self.open_at(spot, words);
        }
    }

    fn press_conversation(&mut self, col: u16, row: u16) {
        let (now_ms, may) = (self.fx.now_ms, self.fx.may_answer());
        let Some(screen) = self.screen() else { return };
        let asked = match &screen.state {
            Some(state) if may => screen.question.click(col, row, &state.questions, now_ms),
            _ => None,
        };
        if let Some(asked) = asked {
            self.asked(asked);
        } else if screen.composer.click(col, row) {
            screen.focus = Focus::Composer;
        } else if screen.below.contains((col, row).into()) {
            screen.transcript.to_bottom();
        } else if screen.transcript.click(col, row) == Click::Nothing {
            screen.transcript.select_from(col, row);
        }
    }
}

/// Returns the character that a key types.
fn typed(key: Key) -> Option<char> {
    match key.code {
        KeyCode::Char(c) if !key.modifiers.control && !key.modifiers.alt => Some(c),
        _ => None,
    }
}
