//! Who may make which call of a session. The gate decided before; the worker decides again, from one exhaustive table.

use porthole_protocol::{
    Author, AuthorKind, CallError, ErrorCode, GuestMode, Method, Role, SessionId, Who,
};

/// What a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    /// To see the session.
    Read,
    /// To work in it.
    Write,
    /// To answer for the owner.
    Approve,
    /// To be the owner.
    Own,
}

fn need(method: Method) -> Need {
    match method {
        Method::History | Method::OutputRead | Method::Responses => Need::Read,
        Method::Submit
        | Method::Withdraw
        | Method::Stop
        | Method::Shell
        | Method::Reset
        | Method::Compact
        | Method::Retry
        | Method::Exclude
        | Method::OpenChild
        | Method::Fork
        | Method::FilesFind
        | Method::PromptsList => Need::Write,
        Method::AnswerQuestion => Need::Approve,
        Method::Configure
        | Method::ArchiveChild
        | Method::Move
        | Method::SessionCreate
        | Method::SessionRename
        | Method::SessionPin
        | Method::SessionArchive
        | Method::SessionRestore
        | Method::SessionRetry
        | Method::SessionRead
        | Method::Search
        | Method::SessionExport
        | Method::Models
        | Method::ShareCreate
        | Method::ShareList
        | Method::ShareRevoke
        | Method::DeviceList
        | Method::DeviceSignOut
        | Method::SettingsGet
        | Method::SettingsSave
        | Method::ModelsFind
        | Method::ModelsScope
        | Method::SessionDelete
        | Method::SessionClone => Need::Own,
    }
}

/// Says whether `who` may make a call of `session`.
///
/// # Errors
/// `NotAllowed`, in words for a person; `NotFound` where they may not even know of the session.
pub(crate) fn permit(who: &Who, method: Method, session: &SessionId) -> Result<(), CallError> {
    let Role::Guest {
        session: theirs,
        mode,
        may_approve,
    } = &who.role
    else {
        return Ok(());
    };
    if theirs != session {
        return Err(
            CallError::new(ErrorCode::NotFound, "there is no such session")
                .hint("choose one in the list of sessions; `portholed sessions` shows it too"),
        );
    }
    let may = match need(method) {
        Need::Read => true,
        Need::Write => *mode == GuestMode::Full,
        Need::Approve => *may_approve,
        Need::Own => false,
    };
    if may { Ok(()) } else { Err(refusal(method)) }
}

fn refusal(method: Method) -> CallError {
    let message = match need(method) {
        Need::Write => "your link lets you watch this session, not work in it",
        Need::Approve => "only the owner answers questions here",
        Need::Read | Need::Own => "only the owner may do that",
    };
    CallError::new(ErrorCode::NotAllowed, message).hint("ask the owner")
}

/// Returns who an input is from: by their role, never by what they typed.
pub(crate) fn author(who: &Who) -> Author {
    let kind = match who.role {
        Role::Owner => AuthorKind::Owner,
        Role::Guest { .. } => AuthorKind::Guest,
    };
    Author {
        kind,
        id: who.id.clone(),
        name: who.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest(mode: GuestMode, may_approve: bool) -> Who {
        Who {
            role: Role::Guest {
                session: SessionId::parse("s1").expect("id"),
                mode,
                may_approve,
            },
            id: "g1".into(),
            name: "Mira".into(),
        }
    }

    fn allowed(who: &Who) -> Vec<&'static str> {
        let session = SessionId::parse("s1").expect("id");
        Method::ALL
            .iter()
            .filter(|m| permit(who, **m, &session).is_ok())
            .map(|m| m.name())
            .collect()
    }

    #[test]
    fn a_viewing_guest_only_reads() {
        assert_eq!(
            allowed(&guest(GuestMode::View, false)),
            ["conversation.history", "output.read", "usage.responses"]
        );
    }

    #[test]
    fn a_full_guest_works_but_answers_and_sets_nothing() {
        assert_eq!(
            allowed(&guest(GuestMode::Full, false)),
            [
                "conversation.submit",
                "conversation.withdraw",
                "conversation.stop",
                "conversation.shell",
                "conversation.history",
                "output.read",
                "conversation.reset",
                "conversation.compact",
                "conversation.retry",
                "conversation.exclude",
                "conversation.open",
                "conversation.fork",
                "files.find",
                "prompts.list",
                "usage.responses"
            ]
        );
        assert!(allowed(&guest(GuestMode::Full, true)).contains(&"conversation.answer"));
    }

    #[test]
    fn a_guest_of_another_session_finds_nothing() {
        let other = SessionId::parse("s2").expect("id");
        let error = permit(&guest(GuestMode::Full, true), Method::History, &other);
        assert_eq!(error.map_err(|e| e.code), Err(ErrorCode::NotFound));
    }
}
