//! Commands about sessions: the same calls and topics that a UI uses, over the server's socket.

use porthole_protocol::{
    Answer, Block, Call, ClientFrame, ConversationId, ConversationState, Entry, EntryBody,
    ModelInfo, ModelRef, RequestId, SendMode, ServerFrame, SessionId, SessionRow, SessionState,
    Topic, TopicDelta, TopicState,
    limits::{PAGE_ENTRIES, UNDO_SECONDS},
    replies,
};

use super::out::{note, say};
use super::{
    DataArgs, Failure, ListArgs, NewArgs, SendArgs, YesNo,
    client::{Link, strange},
    follow::{End, follow},
    lifecycle::print_json,
    plain::{one_line, plain},
};
use crate::token::random_id;

pub(super) fn sessions(list: &ListArgs) -> Result<(), Failure> {
    let mut link = Link::open(&list.data)?;
    link.send(&ClientFrame::Watch {
        topic: Topic::Sessions,
    })?;
    let mut rows = loop {
        match link.next()? {
            ServerFrame::Snapshot {
                state: TopicState::Sessions(rows),
                ..
            } => break rows,
            ServerFrame::Ended { error, .. } => return Err(error.into()),
            _ => {}
        }
    };
    rows.sort_by_key(|row| (row.archived, !row.pinned, std::cmp::Reverse(row.updated_ms)));
    if list.json {
        return print_json(&rows);
    }
    if rows.is_empty() {
        say!("No sessions yet; `portholed new DIR` makes one.");
    }
    for row in &rows {
        say!(
            "{}  {:9}  {}  ({})",
            row.id,
            state(row),
            one_line(&row.title),
            one_line(&row.dir)
        );
    }
    Ok(())
}

pub(super) fn new(args: &NewArgs) -> Result<(), Failure> {
    let dir = args.dir.canonicalize().map_err(|error| {
        Failure::new(format!(
            "cannot use the directory `{}`: {error}",
            args.dir.display()
        ))
        .hint("name a directory that is there: `portholed new DIR`")
    })?;
    let model = args.model.as_deref().map(model).transpose()?;
    let mut link = Link::open(&args.data)?;
    if let Some(model) = &model {
        check_model(&mut link, model)?;
    }
    let created: replies::Created = link.call(Call::SessionCreate {
        request: request()?,
        dir: Some(dir.to_string_lossy().into_owned()),
        title: args.title.clone(),
        model,
    })?;
    say!("{}", created.session);
    Ok(())
}

pub(super) fn delete(id: &str, data: &DataArgs) -> Result<(), Failure> {
    let session = session(id)?;
    let _: replies::Done = Link::open(data)?.call(Call::SessionDelete { session })?;
    let minutes = UNDO_SECONDS / 60;
    say!("Deleted. For {minutes} minutes `portholed restore {id}` brings it back.");
    Ok(())
}

pub(super) fn restore(id: &str, data: &DataArgs) -> Result<(), Failure> {
    let session = session(id)?;
    let _: replies::Done = Link::open(data)?.call(Call::SessionRestore { session })?;
    Ok(())
}

pub(super) fn clone(id: &str, title: Option<&str>, data: &DataArgs) -> Result<(), Failure> {
    let call = Call::SessionClone {
        session: session(id)?,
        request: request()?,
        title: title.map(str::to_owned),
    };
    let created: replies::Created = Link::open(data)?.call(call)?;
    say!("{}", created.session);
    Ok(())
}

pub(super) fn models(list: &ListArgs) -> Result<(), Failure> {
    let models: replies::Models = Link::open(&list.data)?.call(Call::Models {})?;
    if list.json {
        return print_json(&models);
    }
    for info in &models.models {
        let mark = if info.model == models.default {
            "*"
        } else {
            " "
        };
        let ready = match info.ready {
            true => String::new(),
            false => no_key(info),
        };
        say!(
            "{mark} {}  {}  from {}{ready}",
            one_line(&info.model.to_string()),
            one_line(&info.name),
            one_line(&info.source)
        );
    }
    say!(
        "\n* new sessions get it. More are configured in {}",
        one_line(&models.config_path)
    );
    Ok(())
}

/// Reads the file itself: no server has to be up for it.
pub(super) fn mcp(list: &ListArgs) -> Result<(), Failure> {
    let data = list.data.folder()?;
    let variable = |name: &str| std::env::var(name).ok();
    let servers = porthole_worker::mcp_servers(&data, variable).map_err(|why| {
        Failure::new(why).hint("mend the file; a running server keeps to what it last read")
    })?;
    if list.json {
        return print_json(&servers);
    }
    if servers.is_empty() {
        say!(
            "No MCP servers; `[server.NAME]` with `command` or `url` in the file below makes one."
        );
    }
    for server in &servers {
        let unset = match &server.missing[..] {
            [] => String::new(),
            names => format!("  (not set in this shell: {})", one_line(&names.join(", "))),
        };
        say!("{}  {}{unset}", server.name, one_line(&server.reach));
    }
    let file = data.join("mcp.toml");
    say!(
        "\nThey are configured in {}",
        one_line(&file.display().to_string())
    );
    Ok(())
}

/// Says what to do about a key that is not there.
fn no_key(info: &ModelInfo) -> String {
    format!(
        "  (not ready: its key is missing; see `key_env` or `key_file` of `[provider.{}]`)",
        one_line(&info.model.provider)
    )
}

pub(super) fn send(args: &SendArgs) -> Result<(), Failure> {
    let session = session(&args.id)?;
    let mut link = Link::open(&args.data)?;
    // Whoever sends means it: a worker that failed gets another chance, one that sleeps is woken.
    let _: replies::Done = link.call(Call::SessionRetry {
        session: session.clone(),
    })?;
    let topic = Topic::Conversation {
        session: session.clone(),
        conversation: ConversationId::ROOT,
    };
    let mut state = match args.wait {
        true => Some(watch(&mut link, &topic)?),
        false => None,
    };
    let newest = state
        .as_ref()
        .and_then(|state| state.entries.last())
        .map(|entry| entry.id);
    let submitted: replies::Submitted = link.call(Call::Submit {
        session: session.clone(),
        conversation: ConversationId::ROOT,
        request: request()?,
        mode: SendMode::FollowUp,
        text: args.text.clone(),
        attachments: Vec::new(),
    })?;
    if state.is_none() {
        return Ok(());
    }
    let mut told = Vec::new();
    // What the reply says is in every snapshot from now on.
    link.send(&ClientFrame::Watch {
        topic: topic.clone(),
    })?;
    loop {
        let fresh = next_state(&mut link, &topic, &mut state)?;
        let Some(now) = state.as_ref() else { continue };
        answer_questions(&mut link, &session, now, args.answer, &mut told)?;
        match follow(now, submitted.submission, newest, &args.text) {
            End::NotYet => {}
            End::Withdrawn if fresh => return Err(Failure::new("the input was taken back")),
            End::Withdrawn => link.send(&ClientFrame::Watch {
                topic: topic.clone(),
            })?,
            End::Answer(text) => return print(&text),
            End::Stopped => return Err(Failure::new("the turn was stopped")),
            End::Failed { text, hint } => return Err(Failure::new(text).hint(hint)),
        }
    }
}

pub(super) fn transcript(id: &str, list: &ListArgs) -> Result<(), Failure> {
    let session = session(id)?;
    let mut link = Link::open(&list.data)?;
    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let page: replies::History = link.call(Call::History {
            session: session.clone(),
            conversation: ConversationId::ROOT,
            before: entries.first().map(|entry| entry.id),
            limit: PAGE_ENTRIES as u32,
        })?;
        let more = page.has_older && !page.entries.is_empty();
        entries.splice(0..0, page.entries);
        if !more {
            break;
        }
    }
    if list.json {
        return print_json(&entries);
    }
    for entry in &entries {
        print_entry(entry)?;
    }
    Ok(())
}

fn watch(link: &mut Link, topic: &Topic) -> Result<ConversationState, Failure> {
    link.send(&ClientFrame::Watch {
        topic: topic.clone(),
    })?;
    let mut state = None;
    loop {
        next_state(link, topic, &mut state)?;
        if let Some(state) = state {
            return Ok(state);
        }
    }
}

/// Takes the next frame into the state; returns whether it is fresh from a snapshot.
fn next_state(
    link: &mut Link,
    topic: &Topic,
    state: &mut Option<ConversationState>,
) -> Result<bool, Failure> {
    match link.next()? {
        ServerFrame::Snapshot {
            topic: of,
            state: TopicState::Conversation(fresh),
            ..
        } if of == *topic => {
            *state = Some(*fresh);
            return Ok(true);
        }
        ServerFrame::Delta {
            topic: of,
            delta: TopicDelta::Conversation(delta),
            ..
        } if of == *topic => {
            if let Some(state) = state {
                state.apply(&delta);
            }
        }
        ServerFrame::Ended { error, .. } => return Err(error.into()),
        _ => {}
    }
    Ok(false)
}

/// Answers what is asked, or says once that someone else has to.
fn answer_questions(
    link: &mut Link,
    session: &SessionId,
    state: &ConversationState,
    answer: Option<YesNo>,
    told: &mut Vec<porthole_protocol::QuestionId>,
) -> Result<(), Failure> {
    for question in &state.questions {
        if told.contains(&question.id) {
            continue;
        }
        told.push(question.id);
        let answer = match answer {
            Some(YesNo::Yes) => Answer::Yes,
            Some(YesNo::No) => Answer::No { why: String::new() },
            None => {
                note!(
                    "waiting for an answer to: {} {}",
                    one_line(&question.tool),
                    one_line(&question.subject)
                );
                note!(
                    "hint: answer it in the UI (`porthole`), or send with `--answer yes` or `--answer no`"
                );
                continue;
            }
        };
        link.post(Call::AnswerQuestion {
            session: session.clone(),
            conversation: ConversationId::ROOT,
            request: request()?,
            question: question.id,
            answer,
        })?;
    }
    Ok(())
}

fn check_model(link: &mut Link, model: &ModelRef) -> Result<(), Failure> {
    let models: replies::Models = link.call(Call::Models {})?;
    if models.models.iter().any(|info| info.model == *model) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "the model `{}` is not configured",
        one_line(&model.to_string())
    ))
    .hint(format!(
        "`portholed models` lists them; more go into `{}`",
        models.config_path
    )))
}

fn model(text: &str) -> Result<ModelRef, Failure> {
    ModelRef::parse(text).ok_or_else(|| {
        Failure::new("a model is written `PROVIDER/MODEL`").hint("`portholed models` lists them")
    })
}

pub(super) fn session(text: &str) -> Result<SessionId, Failure> {
    SessionId::parse(text)
        .map_err(|_| Failure::new("that is no session id").hint("`portholed sessions` lists them"))
}

pub(super) fn request() -> Result<RequestId, Failure> {
    RequestId::parse(&random_id::<20>()).map_err(|_| strange())
}

fn state(row: &SessionRow) -> &'static str {
    match &row.state {
        _ if row.archived => "archived",
        SessionState::Idle if row.unread => "unread",
        SessionState::Idle => "idle",
        SessionState::Working { .. } => "working",
        SessionState::Waiting { .. } => "waiting",
        SessionState::Failed { .. } => "failed",
    }
}

fn print(text: &str) -> Result<(), Failure> {
    say!("{}", plain(text));
    Ok(())
}

fn print_entry(entry: &Entry) -> Result<(), Failure> {
    let who = one_line(&entry.author.name);
    let text = match &entry.body {
        EntryBody::Message { text, .. } => format!("{who}: {text}"),
        EntryBody::Answer { blocks, .. } => format!(
            "{who}: {}",
            blocks.iter().map(block).collect::<Vec<_>>().join("\n")
        ),
        EntryBody::ToolResult {
            tool,
            subject,
            summary,
            ..
        } => format!("[{tool} {subject}: {summary}]"),
        EntryBody::Shell { command, .. } => format!("{who}: !{command}"),
        EntryBody::Notice { text } => format!("[{text}]"),
        EntryBody::Error { text, .. } => format!("[failed: {text}]"),
        EntryBody::Reset => "[the context was reset]".to_owned(),
        EntryBody::Compaction { summary, .. } => format!("[the context was summed up: {summary}]"),
        EntryBody::Excluded { excluded: true, .. } => {
            format!("[{who} took an entry out of the context]")
        }
        EntryBody::Excluded { .. } => format!("[{who} put an entry back into the context]"),
        EntryBody::Retried { .. } => format!("[{who} tried again]"),
        EntryBody::Forked { conversation, .. } => {
            format!("[continued from conversation {conversation}]")
        }
        EntryBody::Moved { dir } => format!("[{who} moved to {dir}]"),
    };
    print(&format!("{text}\n"))
}

fn block(block: &Block) -> String {
    match block {
        Block::Text { text } => text.clone(),
        Block::Thinking { .. } => "[thought]".to_owned(),
        Block::ToolCall { tool, subject, .. } => format!("[calls {tool}: {subject}]"),
    }
}
