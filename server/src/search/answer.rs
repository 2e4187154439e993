//! The call that searches: checked, looked up beside the server's loop, and put together with the home list.

use std::sync::Arc;

use porthole_protocol::{
    CallError, ErrorCode, SessionId,
    limits::{SEARCH_CHARS, SEARCH_HITS},
    replies::Found,
};

use super::{Page, Question, Title, page, titles};
use crate::{catalog::Session, server::Server, switchboard::unknown_session};

impl Server {
    /// Finds words in what was said and in titles.
    ///
    /// # Errors
    /// Where there is nothing to look for, or nothing to look it up in.
    pub(crate) async fn found(
        self: Arc<Self>,
        session: Option<SessionId>,
        text: String,
        limit: u32,
        before: Option<u64>,
    ) -> Result<Found, CallError> {
        if text.chars().count() > SEARCH_CHARS {
            let message = format!("a search has at most {SEARCH_CHARS} characters");
            return Err(CallError::new(ErrorCode::TooLarge, message));
        }
        if session
            .as_ref()
            .is_some_and(|id| self.kept_session(id).is_none())
        {
            return Err(unknown_session());
        }
        let Some(question) = Question::parse(&text) else {
            // What is being typed begins with nothing.
            return Ok(Found::default());
        };
        let limit = usize::try_from(limit).map_or(SEARCH_HITS, |n| n.clamp(1, SEARCH_HITS));
        let look = move || self.look_up(&question, session.as_ref(), limit, before);
        let found = tokio::task::spawn_blocking(look).await;
        found.unwrap_or_else(|error| Err(failed(&error.to_string())))
    }

    fn look_up(
        &self,
        question: &Question,
        session: Option<&SessionId>,
        limit: usize,
        before: Option<u64>,
    ) -> Result<Found, CallError> {
        let behind = self.search().is_behind();
        let at = Page::from_mark(before);
        let mut hits = match before {
            None => titles(question, self.titles(session)),
            Some(_) => Vec::new(),
        };
        hits.truncate(limit);
        let room = limit - hits.len();
        let candidates = self.search().find(question, session, at.below);
        let candidates = candidates.map_err(|error| failed(&error))?;
        let title = |id: &SessionId| self.kept_session(id).map(title);
        let (more, next) = page(question, candidates, at, room, title);
        hits.extend(more);
        Ok(Found { hits, next, behind })
    }

    fn titles(&self, session: Option<&SessionId>) -> Vec<Title> {
        let all = match session {
            Some(id) => self.kept_session(id).into_iter().collect(),
            None => self.kept_sessions(),
        };
        all.into_iter().map(title).collect()
    }
}

fn title(session: Session) -> Title {
    Title {
        session: session.id,
        title: session.title,
        archived: session.archived,
        updated_ms: session.updated_ms,
    }
}

fn failed(error: &str) -> CallError {
    CallError::new(
        ErrorCode::Unavailable,
        format!("cannot search now: {error}"),
    )
    .hint("check the disk; where `search.sqlite` in the data folder is damaged, remove it and start the server again")
}
