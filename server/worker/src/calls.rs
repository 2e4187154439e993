//! A client's call as the engine takes it: checked for sense, before it is known whether it can be done. Pure.

use porthole_protocol::{
    AttachmentId, Call, CallError, ConversationId, ErrorCode, Method, ModelRef, Policy, RequestId,
    RunId, SendMode, SessionId, Thinking, limits,
};

use crate::{conversation::Request, fit};

/// What a call asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// A change; with a request id it happens once.
    Change(Request, Option<RequestId>),
    /// Input with files that came before it; they are still to be found.
    Submit {
        request: RequestId,
        mode: SendMode,
        text: String,
        attachments: Vec<AttachmentId>,
    },
    /// Another directory, still to be found.
    Move {
        request: RequestId,
        dir: Option<String>,
    },
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
    /// What answers used.
    Responses { before: Option<u64>, limit: usize },
    /// What can be typed as `/name`.
    Prompts,
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
pub(crate) fn ask(call: Call, own: &SessionId) -> Result<(ConversationId, Ask), CallError> {
    let method = call.method();
    let conversation = conversation(&call);
    let ask = asked(call, own, method)?;
    Ok((conversation, ask))
}

/// Returns the conversation that a call is about; the root for those that name none.
fn conversation(call: &Call) -> ConversationId {
    match call {
        Call::Submit { conversation, .. }
        | Call::Withdraw { conversation, .. }
        | Call::Stop { conversation, .. }
        | Call::AnswerQuestion { conversation, .. }
        | Call::Configure { conversation, .. }
        | Call::Shell { conversation, .. }
        | Call::History { conversation, .. }
        | Call::Reset { conversation, .. }
        | Call::Compact { conversation, .. }
        | Call::Retry { conversation, .. }
        | Call::Exclude { conversation, .. }
        | Call::OpenChild { conversation, .. }
        | Call::Fork { conversation, .. }
        | Call::ArchiveChild { conversation, .. }
        | Call::Move { conversation, .. }
        | Call::PromptsList { conversation, .. }
        | Call::Responses { conversation, .. }
        | Call::FilesFind { conversation, .. } => *conversation,
        _ => ConversationId::ROOT,
    }
}

fn asked(call: Call, own: &SessionId, method: Method) -> Result<Ask, CallError> {
    match call {
        Call::Submit {
            session,
            conversation: _,
            request,
            mode,
            text,
            attachments,
        } => {
            at(own, &session)?;
            if attachments.is_empty() || !text.trim().is_empty() {
                check_text("message", &text, limits::SUBMISSION_BYTES)?;
            }
            if attachments.len() > limits::SUBMISSION_ATTACHMENTS {
                let most = limits::SUBMISSION_ATTACHMENTS;
                let message = format!("a message takes at most {most} files");
                return Err(CallError::new(ErrorCode::TooLarge, message));
            }
            Ok(Ask::Submit {
                request,
                mode,
                text,
                attachments,
            })
        }
        Call::Reset {
            session, request, ..
        } => change(own, &session, request, Request::Reset),
        Call::Compact {
            session,
            request,
            instructions,
            ..
        } => {
            if instructions.len() > fit::COMMAND_BYTES {
                check_text("instruction", &instructions, fit::COMMAND_BYTES)?;
            }
            change(own, &session, request, Request::Compact { instructions })
        }
        Call::Retry {
            session, request, ..
        } => change(own, &session, request, Request::Retry),
        Call::Exclude {
            session,
            request,
            entry,
            excluded,
            ..
        } => change(own, &session, request, Request::Exclude { entry, excluded }),
        Call::OpenChild {
            session,
            request,
            title,
            ..
        } => {
            let (title, from) = (self::title(title)?, None);
            change(own, &session, request, Request::Open { title, from })
        }
        Call::Fork {
            session,
            request,
            entry,
            title,
            ..
        } => {
            let (title, from) = (self::title(title)?, Some(entry));
            change(own, &session, request, Request::Open { title, from })
        }
        Call::ArchiveChild {
            session,
            request,
            archived,
            ..
        } => change(own, &session, request, Request::Archive { archived }),
        Call::Move {
            session,
            request,
            dir,
            ..
        } => {
            at(own, &session)?;
            Ok(Ask::Move { request, dir })
        }
        Call::Withdraw {
            session,
            conversation: _,
            submission,
            request,
        } => {
            at(own, &session)?;
            Ok(Ask::Change(Request::Withdraw { submission }, request))
        }
        Call::Stop {
            session,
            conversation: _,
            request,
        } => {
            at(own, &session)?;
            Ok(Ask::Change(Request::Stop, Some(request)))
        }
        Call::AnswerQuestion {
            session,
            conversation: _,
            request,
            question,
            answer,
        } => {
            at(own, &session)?;
            let change = Request::Answer { question, answer };
            Ok(Ask::Change(change, Some(request)))
        }
        Call::Configure {
            session,
            conversation: _,
            model,
            thinking,
            policy,
        } => {
            at(own, &session)?;
            Ok(Ask::Configure {
                model,
                thinking,
                policy,
            })
        }
        Call::Shell {
            session,
            conversation: _,
            request,
            command,
            included,
        } => {
            at(own, &session)?;
            check_text("command", &command, fit::COMMAND_BYTES)?;
            Ok(Ask::Change(
                Request::Shell { command, included },
                Some(request),
            ))
        }
        Call::History {
            session,
            conversation: _,
            before,
            limit,
        } => {
            at(own, &session)?;
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
            at(own, &session)?;
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
            conversation: _,
            query,
            limit,
        } => {
            at(own, &session)?;
            check_query(&query)?;
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            Ok(Ask::Files {
                query,
                limit: limit.clamp(1, limits::FILES_FOUND),
            })
        }
        Call::PromptsList { session, .. } => {
            at(own, &session)?;
            Ok(Ask::Prompts)
        }
        Call::Responses {
            session,
            conversation: _,
            before,
            limit,
        } => {
            at(own, &session)?;
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            Ok(Ask::Responses {
                before: before.map(|id| id.0),
                limit: limit.clamp(1, limits::RESPONSE_ROWS),
            })
        }
        Call::SessionCreate { .. }
        | Call::SessionRename { .. }
        | Call::SessionPin { .. }
        | Call::SessionArchive { .. }
        | Call::SessionRestore { .. }
        | Call::SessionRetry { .. }
        | Call::SessionRead { .. }
        | Call::Models {}
        | Call::Search { .. }
        | Call::SessionExport { .. }
        | Call::ShareCreate { .. }
        | Call::ShareList { .. }
        | Call::ShareRevoke { .. }
        | Call::DeviceList {}
        | Call::DeviceSignOut { .. }
        | Call::SettingsGet {}
        | Call::SettingsSave { .. }
        | Call::ModelsFind { .. }
        | Call::ModelsScope {}
        | Call::SessionDelete { .. }
        | Call::SessionClone { .. } => Err(not_here(method)),
    }
}

fn at(own: &SessionId, session: &SessionId) -> Result<(), CallError> {
    if session == own {
        return Ok(());
    }
    Err(missing("session"))
}

/// Returns the error of what is not there.
pub(crate) fn missing(what: &str) -> CallError {
    CallError::new(ErrorCode::NotFound, format!("there is no such {what}"))
        .hint("choose one in the list of sessions; `portholed sessions` shows it too")
}

fn change(
    own: &SessionId,
    session: &SessionId,
    request: RequestId,
    change: Request,
) -> Result<Ask, CallError> {
    at(own, session)?;
    Ok(Ask::Change(change, Some(request)))
}

/// Returns a title as it is kept: without control characters, `None` where nothing is left.
fn title(title: Option<String>) -> Result<Option<String>, CallError> {
    let Some(title) = title else { return Ok(None) };
    if title.chars().count() > limits::TITLE_CHARS {
        let most = limits::TITLE_CHARS;
        let message = format!("the title is longer than {most} characters");
        return Err(CallError::new(ErrorCode::TooLarge, message));
    }
    let title: String = title.chars().filter(|c| !c.is_control()).collect();
    let title = title.trim().to_owned();
    Ok((!title.is_empty()).then_some(title))
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
