//! Submissions: a person's input on its way in, from the queue into a turn. What a turn makes of it is not here.
//!
//! A turn takes one follow-up, and every steer before each of its model requests. After a stop or a failure the queue
//! waits; the next submission ends the wait, and its turn takes all that waited, oldest first, and itself last.

use porthole_protocol::{
    Attachment, Author, AuthorKind, CallError, EntryBody, ErrorCode, QueueMode, RequestId,
    SendMode, SubmissionId, TurnId, limits, replies,
};

use crate::{
    conversation::{Conversation, Out},
    fit::encoded_len,
    record::{Record, SubmissionRow, SubmissionStage},
    turn::LiveTurn,
};

/// Bytes of the texts that wait, so that all of them fit into what watchers are shown.
const QUEUED_BYTES: usize = 2 * limits::SUBMISSION_BYTES;
/// Longest suggested title, in characters.
const TITLE_CHARS: usize = 60;

impl Conversation {
    pub(crate) fn submit(
        &mut self,
        author: &Author,
        request: RequestId,
        mode: SendMode,
        (text, attachments): (String, Vec<Attachment>),
        out: &mut Out,
    ) -> Result<replies::Submitted, CallError> {
        if self.queue.len() >= limits::QUEUED_SUBMISSIONS {
            let message = format!("{} messages wait here already", self.queue.len());
            return Err(CallError::new(ErrorCode::Busy, message)
                .hint("take one back, or wait until the turn has ended"));
        }
        let bytes: usize = self.queue.iter().map(|s| encoded_len(&s.text)).sum();
        if !self.queue.is_empty() && bytes + encoded_len(&text) > QUEUED_BYTES {
            let message = "the messages that wait here are too large together";
            return Err(CallError::new(ErrorCode::Busy, message)
                .hint("take one back, or wait until the turn has ended"));
        }
        let id = self.counters.submission();
        match (text.trim(), attachments.first()) {
            ("", Some(first)) => self.suggest_title(&first.name, out),
            _ => self.suggest_title(&text, out),
        }
        self.queue.push(SubmissionRow {
            id,
            conversation: self.row.id,
            request,
            author: author.clone(),
            mode,
            text,
            attachments,
            at_ms: out.now_ms,
            stage: SubmissionStage::Queued,
            turn: None,
        });
        let waited = self.row.paused;
        let stopping = self.turn.as_ref().is_some_and(LiveTurn::is_stopping);
        if waited && (stopping || self.turn.is_none()) {
            self.row.paused = false;
            self.record_row(out);
        }
        match (&self.turn, waited) {
            (Some(_), _) => self.record_queued(id, out),
            (None, true) => self.take_all(out),
            (None, false) => self.next_turn(out),
        }
        Ok(replies::Submitted { submission: id })
    }

    pub(crate) fn withdraw(
        &mut self,
        author: &Author,
        id: SubmissionId,
        out: &mut Out,
    ) -> Result<replies::Withdrawn, CallError> {
        let Some(at) = self.queue.iter().position(|s| s.id == id) else {
            return Err(CallError::new(
                ErrorCode::Conflict,
                "that message does not wait any more",
            ));
        };
        if author.kind != AuthorKind::Owner && self.queue[at].author.id != author.id {
            let message = "only its author or the owner takes a message back";
            return Err(CallError::new(ErrorCode::NotAllowed, message));
        }
        let mut row = self.queue.remove(at);
        let text = row.text.clone();
        row.stage = SubmissionStage::Withdrawn;
        out.record(Record::Submission(row));
        Ok(replies::Withdrawn { text })
    }

    /// Begins a turn for the oldest submission that waits, if one does and may go on.
    pub(crate) fn next_turn(&mut self, out: &mut Out) {
        if self.turn.is_some() || self.row.paused || self.queue.is_empty() {
            return;
        }
        let taken = match self.settings.follow_up {
            QueueMode::All => std::mem::take(&mut self.queue),
            QueueMode::One => {
                let mut taken = vec![self.queue.remove(0)];
                taken.extend(self.steers(self.settings.steering));
                taken
            }
        };
        self.begin_turn(taken, out);
    }

    /// Begins a turn for everything that waits, if something does and may go on.
    pub(crate) fn take_all(&mut self, out: &mut Out) {
        if self.turn.is_none() && !self.row.paused && !self.queue.is_empty() {
            let all = std::mem::take(&mut self.queue);
            self.begin_turn(all, out);
        }
    }

    /// Takes the steers that enter the turn now out of the queue.
    pub(crate) fn steers(&mut self, mode: QueueMode) -> Vec<SubmissionRow> {
        let steers = self.queue.extract_if(.., |s| s.is_steer());
        match mode {
            QueueMode::All => steers.collect(),
            QueueMode::One => steers.take(1).collect(),
        }
    }

    /// Makes a submission an entry of a turn.
    pub(crate) fn take(&mut self, mut row: SubmissionRow, turn: TurnId, out: &mut Out) {
        let body = EntryBody::Message {
            text: row.text.clone(),
            mode: row.mode,
            attachments: row.attachments.clone(),
        };
        self.add(row.author.clone(), Some(turn), body, None, out);
        row.stage = SubmissionStage::Taken;
        row.turn = Some(turn);
        out.record(Record::Submission(row));
    }

    fn record_queued(&self, id: SubmissionId, out: &mut Out) {
        let row = self.queue.iter().find(|s| s.id == id);
        out.record_all(row.cloned().map(Record::Submission));
    }

    fn suggest_title(&mut self, text: &str, out: &mut Out) {
        if self.row.title.is_none() {
            self.row.title = Some(title(text));
            self.record_row(out);
        }
    }
}

/// Returns a title made from a message: its first line that is not blank. The server shows controls in it as pictures.
fn title(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    if line.chars().count() <= TITLE_CHARS {
        return line.to_owned();
    }
    let cut: String = line.chars().take(TITLE_CHARS - 1).collect();
    format!("{}…", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_cut_at_sixty_characters() {
        assert_eq!(title("\n  fix it  \nplease"), "fix it");
        assert_eq!(title(&"ä".repeat(60)), "ä".repeat(60));
        assert_eq!(title(&"ä".repeat(61)), format!("{}…", "ä".repeat(59)));
        assert_eq!(title("a\u{1b}[31mb"), "a\u{1b}[31mb");
    }
}
