//! The server's own calls about sessions: what each makes of what is kept. Pure: the catalog is written by the caller.

use porthole_protocol::{Call, CallError, ErrorCode, ModelRef, SessionId, limits::TITLE_CHARS};

use crate::catalog::Session;

/// What a session is called until it has a message.
const UNTITLED: &str = "New session";
/// What is put to the title of a copy.
const COPY_OF: &str = " (copy)";

/// What follows from a call, besides what is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// Nothing.
    Nothing,
    /// Its worker stops and its guests leave; this is why.
    Halt(CallError),
    /// Its failure is forgotten and its worker starts.
    Retry,
}

/// Returns a new session.
///
/// # Errors
/// Where the title cannot be one.
pub fn create(
    id: SessionId,
    dir: String,
    title: Option<&str>,
    model: Option<ModelRef>,
    now_ms: u64,
) -> Result<Session, CallError> {
    Ok(Session {
        id,
        title: title.map_or_else(|| Ok(UNTITLED.to_owned()), checked_title)?,
        title_given: title.is_some(),
        dir,
        model,
        created_ms: now_ms,
        updated_ms: now_ms,
        pinned: false,
        archived: false,
        unread: false,
        busy: false,
        opened: false,
        deleted_ms: None,
    })
}

/// Returns a session that begins as `from` is now.
///
/// # Errors
/// Where the title cannot be one.
pub fn copy(
    id: SessionId,
    from: Session,
    title: Option<&str>,
    now_ms: u64,
) -> Result<Session, CallError> {
    let title = match title {
        Some(title) => checked_title(title)?,
        None => {
            let fits = from.title.chars().take(TITLE_CHARS - COPY_OF.len());
            fits.collect::<String>() + COPY_OF
        }
    };
    Ok(Session {
        id,
        title,
        title_given: true,
        created_ms: now_ms,
        updated_ms: now_ms,
        pinned: false,
        archived: false,
        unread: false,
        busy: false,
        deleted_ms: None,
        ..from
    })
}

/// Returns the session after the call, and what follows.
///
/// # Errors
/// Where the call makes no sense.
pub fn change(
    call: &Call,
    mut session: Session,
    now_ms: u64,
) -> Result<(Session, Then), CallError> {
    let then = match call {
        Call::SessionRename { title, .. } => {
            session.title = checked_title(title)?;
            session.title_given = true;
            Then::Nothing
        }
        Call::SessionPin { pinned, .. } => {
            session.pinned = *pinned;
            Then::Nothing
        }
        Call::SessionArchive { .. } => {
            session.archived = true;
            session.busy = false;
            let error = CallError::new(ErrorCode::Conflict, "this session was archived");
            Then::Halt(error.hint("restore it first"))
        }
        Call::SessionDelete { .. } => {
            session.deleted_ms = Some(now_ms);
            session.busy = false;
            let error = CallError::new(ErrorCode::NotFound, "this session was deleted");
            Then::Halt(error.hint("`portholed restore ID` brings it back for ten minutes"))
        }
        // What was archived and then deleted comes back as it was: archived.
        Call::SessionRestore { .. } if session.deleted_ms.take().is_some() => Then::Nothing,
        Call::SessionRestore { .. } => {
            session.archived = false;
            Then::Nothing
        }
        Call::SessionRead { .. } => {
            session.unread = false;
            Then::Nothing
        }
        Call::SessionRetry { .. } if session.archived => {
            return Err(
                CallError::new(ErrorCode::Conflict, "this session is archived")
                    .hint("restore it first"),
            );
        }
        Call::SessionRetry { .. } => Then::Retry,
        Call::SessionCreate { .. }
        | Call::Submit { .. }
        | Call::Withdraw { .. }
        | Call::Stop { .. }
        | Call::AnswerQuestion { .. }
        | Call::Configure { .. }
        | Call::Shell { .. }
        | Call::History { .. }
        | Call::OutputRead { .. }
        | Call::Reset { .. }
        | Call::Compact { .. }
        | Call::Retry { .. }
        | Call::Exclude { .. }
        | Call::OpenChild { .. }
        | Call::Fork { .. }
        | Call::ArchiveChild { .. }
        | Call::Move { .. }
        | Call::FilesFind { .. }
        | Call::Search { .. }
        | Call::SessionExport { .. }
        | Call::Models {}
        | Call::ShareCreate { .. }
        | Call::ShareList { .. }
        | Call::ShareRevoke { .. }
        | Call::DeviceList {}
        | Call::DeviceSignOut { .. }
        | Call::SettingsGet {}
        | Call::SettingsSave { .. }
        | Call::ModelsFind { .. }
        | Call::ModelsScope {}
        | Call::PromptsList { .. }
        | Call::Responses { .. }
        | Call::SessionClone { .. } => {
            return Err(CallError::new(
                ErrorCode::Internal,
                "this call changes no session",
            ));
        }
    };
    Ok((session, then))
}

/// Controls act on terminals, so a title shows them as their pictures; line ends and tabs are spaces.
fn checked_title(title: &str) -> Result<String, CallError> {
    let title = visible_title(title);
    let title = title.trim();
    if title.is_empty() {
        return Err(CallError::new(ErrorCode::Invalid, "the title is empty")
            .hint("give it at least one letter"));
    }
    if title.chars().count() > TITLE_CHARS {
        return Err(CallError::new(
            ErrorCode::TooLarge,
            format!("the title is longer than {TITLE_CHARS} characters"),
        ));
    }
    Ok(title.to_owned())
}

/// Returns a title with pictures in the place of controls.
pub(crate) fn visible_title(title: &str) -> String {
    title.chars().map(shown).collect()
}

fn shown(c: char) -> char {
    match c {
        '\n' | '\r' | '\t' => ' ',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        let id = SessionId::parse("s1").expect("an id");
        create(id, "/".to_owned(), None, None, 5).expect("made")
    }

    #[test]
    fn a_title_is_trimmed_and_bounded() {
        let rename = |title: &str| {
            let call = Call::SessionRename {
                session: session().id,
                title: title.to_owned(),
            };
            change(&call, session(), 9).map(|(session, _)| session.title)
        };
        assert_eq!(rename(" a\u{1b}b\n").as_deref(), Ok("a␛b"));
        assert!(rename(" \n").is_err());
        assert!(rename(&"ä".repeat(TITLE_CHARS)).is_ok());
        assert!(rename(&"ä".repeat(TITLE_CHARS + 1)).is_err());
    }

    #[test]
    fn an_archived_session_has_nothing_to_resume() {
        let busy = Session {
            busy: true,
            ..session()
        };
        let call = Call::SessionArchive {
            session: busy.id.clone(),
        };
        let (archived, then) = change(&call, busy, 9).expect("changes");
        assert!(archived.archived && !archived.busy);
        assert!(matches!(then, Then::Halt(_)));
    }

    #[test]
    fn what_was_archived_and_deleted_comes_back_archived() {
        let id = session().id;
        let deleted = Session {
            archived: true,
            deleted_ms: Some(9),
            ..session()
        };
        let call = Call::SessionRestore { session: id };
        let (back, _) = change(&call, deleted, 10).expect("changes");
        assert!(back.archived && back.deleted_ms.is_none());
        let (back, _) = change(&call, back, 11).expect("changes");
        assert!(!back.archived);
    }

    #[test]
    fn a_copy_is_named_after_the_other_and_shares_none_of_its_marks() {
        let from = Session {
            title: "ä".repeat(TITLE_CHARS),
            pinned: true,
            archived: true,
            unread: true,
            opened: true,
            ..session()
        };
        let id = SessionId::parse("s2").expect("an id");
        let copied = copy(id, from, None, 9).expect("made");
        assert_eq!(copied.title.chars().count(), TITLE_CHARS);
        assert!(copied.title.ends_with("ä (copy)") && copied.opened);
        assert!(!copied.pinned && !copied.archived && !copied.unread);
    }
}
