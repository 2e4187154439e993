//! The question box: something a turn waits for a person to answer. Its letters act only while it has the focus, and
//! not in its first moments, so that typing never answers one.

mod view;

use porthole_protocol::{Answer, Question, QuestionId, QuestionState};
use ratatui_core::layout::{Position, Rect};

use crate::{editor::Editor, keymap::Command};

/// How long a box that came up or got the focus takes no answer, in milliseconds.
const GUARD_MS: u64 = 500;

/// How long a letter has to stand alone before it answers, in milliseconds: letters closer together are typing. The
/// clock comes in steps of a tenth of a second, rounded down, so this is at least three tenths.
const ALONE_MS: u64 = 400;

const CHOICES: [Command; 5] = [
    Command::Yes,
    Command::Always,
    Command::No,
    Command::EditAnswer,
    Command::Why,
];

/// The question box of one conversation.
#[derive(Debug, Default)]
pub(crate) struct QuestionBox {
    current: Option<QuestionId>,
    since_ms: u64,
    answered: Vec<QuestionId>,
    field: Option<(Field, Editor)>,
    pending: Option<Pending>,
    area: Rect,
    spots: Vec<(Rect, Command)>,
}

/// A letter that answers once it has stood alone for long enough.
#[derive(Clone, Copy, Debug)]
struct Pending {
    command: Command,
    letter: char,
    pressed_ms: u64,
    due_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Edit,
    Why,
}

/// How the visitor stands to the box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stance {
    /// They may not answer.
    Forbidden,
    /// They may, and the box has the focus.
    Focused,
    /// They may, once they give it the focus.
    Elsewhere,
}

/// What a key or a click in the box did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Nothing, or the box changed.
    Stay,
    /// It was typing: the letters belong to the message.
    Typing(String),
    /// The focus goes back to the message.
    Leave,
    /// The box was clicked and wants the focus.
    Focus,
    /// An answer was given.
    Answer(QuestionId, Answer),
}

impl QuestionBox {
    /// Returns the question that is shown: the oldest open one that was not answered here.
    pub(crate) fn shown<'q>(&self, questions: &'q [Question]) -> Option<&'q Question> {
        questions
            .iter()
            .find(|q| q.state == QuestionState::Open && !self.answered.contains(&q.id))
    }

    /// Takes note of the questions there are; a box that shows another one than before starts anew.
    pub(crate) fn update(&mut self, questions: &[Question], now_ms: u64) {
        self.answered.retain(|id| {
            questions
                .iter()
                .any(|q| q.id == *id && q.state == QuestionState::Open)
        });
        let shown = self.shown(questions).map(|q| q.id);
        if shown != self.current {
            self.current = shown;
            self.since_ms = now_ms;
            self.field = None;
            self.pending = None;
        }
    }

    /// Returns which question the box is about.
    pub(crate) fn current(&self) -> Option<QuestionId> {
        self.current
    }

    /// Takes a letter typed while the box has the focus; `command` is what it would answer.
    pub(crate) fn letter(
        &mut self,
        letter: char,
        command: Option<Command>,
        questions: &[Question],
        now_ms: u64,
    ) -> Asked {
        let before = self.pending.take();
        if let Some(before) = before
            && now_ms < before.pressed_ms + ALONE_MS
        {
            return Asked::Typing([before.letter, letter].iter().collect());
        }
        let question = self.shown(questions);
        match command.filter(|c| question.is_some_and(|q| offered(q).contains(c))) {
            Some(command) => {
                self.pending = Some(Pending {
                    command,
                    letter,
                    pressed_ms: now_ms,
                    due_ms: (now_ms + ALONE_MS).max(self.since_ms + GUARD_MS),
                });
                Asked::Stay
            }
            None => Asked::Typing(letter.to_string()),
        }
    }

    /// Answers with the letter that waits, where it has waited long enough or is confirmed.
    pub(crate) fn due(&mut self, questions: &[Question], now_ms: u64, confirmed: bool) -> Asked {
        let pending = self.pending.filter(|p| confirmed || now_ms >= p.due_ms);
        match (pending, self.shown(questions)) {
            (Some(pending), Some(question)) => {
                self.pending = None;
                let (id, subject) = (question.id, question.subject.clone());
                self.act(pending.command, id, &subject)
            }
            _ => Asked::Stay,
        }
    }

    /// Forgets the letter that waits; returns whether there was one.
    pub(crate) fn forget_letter(&mut self) -> bool {
        self.pending.take().is_some()
    }

    /// Returns when the letter that waits answers, in milliseconds since the Unix epoch.
    pub(crate) fn due_ms(&self) -> Option<u64> {
        self.pending.map(|p| p.due_ms)
    }

    /// Takes note of getting the focus.
    pub(crate) fn focus(&mut self, now_ms: u64) {
        self.since_ms = now_ms;
    }

    /// Returns whether a field of text is open in the box.
    pub(crate) fn is_writing(&self) -> bool {
        self.field.is_some()
    }

    /// Makes an answered question answerable again, since its answer did not get through.
    pub(crate) fn reopen(&mut self, id: QuestionId) {
        self.answered.retain(|a| *a != id);
    }

    /// Does what a command says.
    pub(crate) fn apply(&mut self, command: Command, questions: &[Question], now_ms: u64) -> Asked {
        if command == Command::Back {
            return if self.field.take().is_some() {
                Asked::Stay
            } else {
                Asked::Leave
            };
        }
        let Some(question) = self.shown(questions) else {
            return Asked::Leave;
        };
        // The clock comes in steps, rounded down: only a difference above the guard is surely that long.
        if now_ms.saturating_sub(self.since_ms) <= GUARD_MS {
            return Asked::Stay;
        }
        let (id, subject) = (question.id, question.subject.clone());
        if !offered(question).contains(&command) {
            return Asked::Stay;
        }
        self.act(command, id, &subject)
    }

    fn act(&mut self, command: Command, id: QuestionId, subject: &str) -> Asked {
        match command {
            Command::Yes => self.answer(id, Answer::Yes),
            Command::Always => self.answer(id, Answer::Always),
            Command::No => self.answer(id, Answer::No { why: String::new() }),
            Command::EditAnswer => self.open(Field::Edit, subject),
            Command::Why => self.open(Field::Why, ""),
            _ => Asked::Stay,
        }
    }

    /// Takes Enter in the open field.
    pub(crate) fn enter(&mut self) -> Asked {
        let (Some((field, editor)), Some(id)) = (&self.field, self.current) else {
            return Asked::Stay;
        };
        let written = editor.text().trim().to_owned();
        match field {
            Field::Edit if written.is_empty() => Asked::Stay,
            Field::Edit => self.answer(id, Answer::Edit { command: written }),
            Field::Why => self.answer(id, Answer::No { why: written }),
        }
    }

    /// Returns the field of text that is open.
    pub(crate) fn field(&mut self) -> Option<&mut Editor> {
        self.field.as_mut().map(|(_, editor)| editor)
    }

    /// Takes a click; `None`: it was elsewhere.
    pub(crate) fn click(
        &mut self,
        col: u16,
        row: u16,
        questions: &[Question],
        now_ms: u64,
    ) -> Option<Asked> {
        let at = Position::new(col, row);
        if self.current.is_none() || !self.area.contains(at) {
            return None;
        }
        self.pending = None;
        let spot = self
            .spots
            .iter()
            .find(|(area, _)| area.contains(at))
            .map(|(_, c)| *c);
        Some(match spot {
            Some(command) => match self.apply(command, questions, now_ms) {
                Asked::Stay => Asked::Focus,
                asked => asked,
            },
            None => Asked::Focus,
        })
    }

    fn answer(&mut self, id: QuestionId, answer: Answer) -> Asked {
        self.answered.push(id);
        self.field = None;
        self.pending = None;
        Asked::Answer(id, answer)
    }

    fn open(&mut self, field: Field, text: &str) -> Asked {
        self.field = Some((field, Editor::with(text)));
        Asked::Stay
    }
}

/// The answers that make sense for a question: only a command can be edited.
fn offered(question: &Question) -> Vec<Command> {
    let command = question.tool == "shell";
    CHOICES
        .into_iter()
        .filter(|c| command || *c != Command::EditAnswer)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use porthole_protocol::{CallId, ToolDetail};

    fn question(id: u64, tool: &str) -> Question {
        Question {
            id: QuestionId(id),
            call: CallId::parse("c1").expect("an id"),
            tool: tool.into(),
            subject: "git push".into(),
            detail: ToolDetail::Text,
            at_ms: 0,
            state: QuestionState::Open,
        }
    }

    fn asked() -> (QuestionBox, Vec<Question>) {
        let questions = vec![question(1, "shell"), question(2, "edit")];
        let mut asked = QuestionBox::default();
        asked.update(&questions, 1_000);
        (asked, questions)
    }

    #[test]
    fn the_first_half_second_answers_nothing() {
        let (mut asked, questions) = asked();
        for (now, answers) in [(1_000, false), (1_500, false), (1_600, true)] {
            let answer = asked.apply(Command::Yes, &questions, now);
            assert_eq!(answer != Asked::Stay, answers, "at {now}");
        }
    }

    #[test]
    fn the_next_question_starts_its_own_half_second() {
        let (mut asked, questions) = asked();
        assert!(matches!(
            asked.apply(Command::Yes, &questions, 2_000),
            Asked::Answer(QuestionId(1), Answer::Yes)
        ));
        asked.update(&questions, 2_000);
        assert_eq!(asked.apply(Command::Yes, &questions, 2_300), Asked::Stay);
        assert_eq!(asked.shown(&questions).map(|q| q.id), Some(QuestionId(2)));
        asked.reopen(QuestionId(1));
        assert_eq!(asked.shown(&questions).map(|q| q.id), Some(QuestionId(1)));
    }

    #[test]
    fn a_command_can_be_edited_and_a_no_can_have_a_reason() {
        let (mut asked, questions) = asked();
        asked.apply(Command::EditAnswer, &questions, 2_000);
        asked.field().expect("a field").put(" --dry-run");
        let expected = Answer::Edit {
            command: "git push --dry-run".into(),
        };
        assert_eq!(asked.enter(), Asked::Answer(QuestionId(1), expected));
        asked.update(&questions, 2_000);
        assert_eq!(
            asked.apply(Command::EditAnswer, &questions, 3_000),
            Asked::Stay
        );
        assert!(!asked.is_writing(), "an edit of a file is no command");
        asked.apply(Command::Why, &questions, 3_000);
        asked.field().expect("a field").put("not now");
        assert_eq!(
            asked.enter(),
            Asked::Answer(
                QuestionId(2),
                Answer::No {
                    why: "not now".into()
                }
            )
        );
    }
}
