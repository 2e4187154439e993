//! A client's call as the engine takes it: checked for sense, before it is known whether it can be done. Pure.

use porthole_protocol::{
    Call, CallError, ConversationId, ErrorCode, Method, ModelRef, Policy, RequestId, RunId,
    SessionId, Thinking, limits,
};

use crate::{conversation::Request, fit};

/// What a call asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// A change; with a request id it happens once.
    Change(Request, Option<RequestId>),
    /// Other settings; the model is still to be found.
    Configure {
        model: Option<ModelRef>,
        thinking: Option<Thinking>,
        policy: Option<Policy>,
    },
    /// A page of entries.
    History { before: Option<u64>, limit: usize },
    /// A range of a command's output.
    Output(OutputRange),
    /// Names below the working directory.
    Files { query: String, limit: usize },
}

/// A range of a command's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutputRange {
    pub(crate) run: RunId,
    pub(crate) generation: u32,
    pub(crate) from: u64,
    pub(crate) bytes: u32,
}

/// Returns what a call of this session asks for.
///
/// # Errors
/// Where it is no call of this session, or makes no sense.
pub(crate) fn ask(call: Call, own: &SessionId) -> Result<Ask, CallError> {
    let method = call.method();
    match call {
        Call::Submit {
            session,
            conversation,
            request,
            mode,
            text,
            attachments,
        } => {
            at(own, &session, conversation)?;
            if !attachments.is_empty() {
                let message = "this server's engine takes no attachments yet";
                return Err(CallError::new(ErrorCode::Invalid, message));
            }
            check_text("message", &text, limits::SUBMISSION_BYTES)?;
            let change = Request::Submit {
                request: request.clone(),
                mode,
                text,
            };
            Ok(Ask::Change(change, Some(request)))
        }
        Call::Withdraw {
            session,
            conversation,
            submission,
            request,
        } => {
            at(own, &session, conversation)?;
            Ok(Ask::Change(Request::Withdraw { submission }, request))
        }
        Call::Stop {
            session,
            conversation,
            request,
        } => {
            at(own, &session, conversation)?;
            Ok(Ask::Change(Request::Stop, Some(request)))
        }
        Call::AnswerQuestion {
            session,
            conversation,
            request,
            question,
            answer,
        } => {
            at(own, &session, conversation)?;
            let change = Request::Answer { question, answer };
            Ok(Ask::Change(change, Some(request)))
        }
        Call::Configure {
            session,
            conversation,
            model,
            thinking,
            policy,
        } => {
            at(own, &session, conversation)?;
            Ok(Ask::Configure {
                model,
                thinking,
                policy,
            })
        }
        Call::Shell {
            session,
            conversation,
            request,
            command,
            included,
        } => {
            at(own, &session, conversation)?;
            check_text("command", &command, fit::COMMAND_BYTES)?;
            Ok(Ask::Change(
                Request::Shell { command, included },
                Some(request),
            ))
        }
        Call::History {
            session,
            conversation,
            before,
            limit,
        } => {
            at(own, &session, conversation)?;
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            Ok(Ask::History {
                before: before.map(|id| id.0),
                limit: limit.clamp(1, limits::PAGE_ENTRIES),
            })
        }
        Call::OutputRead {
            session,
            run,
            generation,
            from,
            bytes,
        } => {
            at(own, &session, ConversationId::ROOT)?;
            check_range(bytes)?;
            Ok(Ask::Output(OutputRange {
                run,
                generation,
                from,
                bytes,
            }))
        }
        Call::FilesFind {
            session,
            conversation,
            query,
            limit,
        } => {
            at(own, &session, conversation)?;
            check_query(&query)?;
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            Ok(Ask::Files {
                query,
                limit: limit.clamp(1, limits::FILES_FOUND),
            })
        }
        Call::SessionCreate { .. }
        | Call::SessionRename { .. }
        | Call::SessionPin { .. }
        | Call::SessionArchive { .. }
        | Call::SessionRestore { .. }
        | Call::SessionRetry { .. }
        | Call::SessionRead { .. }
        | Call::Reset { .. }
        | Call::Compact { .. }
        | Call::Retry { .. }
        | Call::Exclude { .. }
        | Call::OpenChild { .. }
        | Call::Fork { .. }
        | Call::ArchiveChild { .. }
        | Call::Move { .. }
        | Call::Models {}
        | Call::ShareCreate { .. }
        | Call::ShareList { .. }
        | Call::ShareRevoke { .. }
        | Call::DeviceList {}
        | Call::DeviceSignOut { .. } => Err(not_here(method)),
    }
}

fn at(own: &SessionId, session: &SessionId, conversation: ConversationId) -> Result<(), CallError> {
    let missing = |what: &str| {
        Err(
            CallError::new(ErrorCode::NotFound, format!("there is no such {what}"))
                .hint("choose one in the list of sessions; `portholed sessions` shows it too"),
        )
    };
    if session != own {
        return missing("session");
    }
    if conversation != ConversationId::ROOT {
        return missing("conversation");
    }
    Ok(())
}

fn check_text(what: &str, text: &str, most: usize) -> Result<(), CallError> {
    if text.trim().is_empty() {
        return Err(
            CallError::new(ErrorCode::Invalid, format!("the {what} is empty"))
                .hint(format!("write a {what} with at least one letter")),
        );
    }
    if text.len() > most {
        let kib = most >> 10;
        let message = format!("the {what} is longer than {kib} KiB");
        return Err(CallError::new(ErrorCode::TooLarge, message)
            .hint("put the text into a file and name the file"));
    }
    Ok(())
}

fn check_range(bytes: u32) -> Result<(), CallError> {
    if (limits::OUTPUT_READ_MIN..=limits::OUTPUT_READ_MAX).contains(&bytes) {
        return Ok(());
    }
    let kib = limits::OUTPUT_READ_MAX >> 10;
    let message = format!("a read of output is 1 byte to {kib} KiB");
    Err(CallError::new(ErrorCode::Invalid, message))
}

fn check_query(query: &str) -> Result<(), CallError> {
    let most = limits::FILES_QUERY_CHARS;
    if query.chars().count() <= most {
        return Ok(());
    }
    let message = format!("a path to look for has at most {most} characters");
    Err(CallError::new(ErrorCode::TooLarge, message))
}

fn not_here(method: Method) -> CallError {
    let message = format!("`{}` is no call of a session", method.name());
    CallError::new(ErrorCode::Invalid, message)
}
