//! The JSONL of a pi session: a header, then messages and marks, one a line. Version 1 is a list, 2 and 3 are a tree of which
//! the branch of the last line counts. Text that begins with a speaker's line or ends with a note of files is read as that.

use std::{
    collections::{HashMap, HashSet},
    io::BufRead,
};

use porthole_protocol::{
    Author, AuthorKind, Block, CallId, ConversationId, Entry, EntryBody, EntryId, ModelRef,
    SendMode, ToolDetail, ToolOutcome, Usage,
};
use porthole_worker::wire::KeptEntry;
use serde_json::Value;

use super::{ENTRIES, ImportError, Imported, line};

/// The newest version that is read.
const NEWEST: u64 = 3;
/// What stands for an image, whose bytes stay in the file.
const IMAGE: &str = "[image]";

/// A line that was read.
struct Raw {
    line: usize,
    value: Value,
}

pub(super) fn parse(first: &[u8], mut rest: impl BufRead) -> Result<Imported, ImportError> {
    let header = json(first, 1).map_err(|_| ImportError::Unknown)?;
    if text(&header, "type") != Some("session") {
        return Err(ImportError::Unknown);
    }
    let version = header.get("version").and_then(Value::as_u64).unwrap_or(1);
    if version > NEWEST {
        return Err(ImportError::Newer(version));
    }
    let mut raws = Vec::new();
    let mut n = 1;
    loop {
        n += 1;
        let Some(bytes) = line(&mut rest, n)? else {
            break;
        };
        if bytes.is_empty() {
            continue;
        }
        let value = json(&bytes, n)?;
        raws.push(Raw { line: n, value });
        if raws.len() > ENTRIES {
            return Err(ImportError::TooLarge(format!("more than {ENTRIES} lines")));
        }
    }
    let branch = match version {
        1 => raws,
        _ => branch(raws)?,
    };
    let mut story = Story::new(&header);
    for raw in &branch {
        story.take(raw)?;
    }
    Ok(story.finish(&header))
}

fn json(bytes: &[u8], line: usize) -> Result<Value, ImportError> {
    let wrong = |why: String| ImportError::Line { line, why };
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| wrong(format!("it is no whole JSON ({error})")))?;
    match value.is_object() {
        true => Ok(value),
        false => Err(wrong("it is no object".to_owned())),
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// Returns the lines from the beginning to the last one, by their parents.
fn branch(raws: Vec<Raw>) -> Result<Vec<Raw>, ImportError> {
    let mut places = HashMap::new();
    for (n, raw) in raws.iter().enumerate() {
        if let Some(id) = text(&raw.value, "id") {
            places.insert(id.to_owned(), n);
        }
    }
    let mut wanted = HashSet::new();
    let mut next = raws
        .iter()
        .rposition(|raw| text(&raw.value, "id").is_some());
    while let Some(at) = next {
        if !wanted.insert(at) {
            return Err(ImportError::Line {
                line: raws[at].line,
                why: "it comes before itself".to_owned(),
            });
        }
        next = match text(&raws[at].value, "parentId") {
            None => None,
            Some(parent) => Some(*places.get(parent).ok_or_else(|| ImportError::Line {
                line: raws[at].line,
                why: "what it follows is not in the file".to_owned(),
            })?),
        };
    }
    let kept = raws.into_iter().enumerate();
    Ok(kept
        .filter(|(n, _)| wanted.contains(n))
        .map(|(_, raw)| raw)
        .collect())
}

/// The session as it is put together.
struct Story {
    out: Imported,
    /// The model that answers.
    model: ModelRef,
    /// Calls that wait for a result: theirs by name, ours, the tool, the subject.
    open: Vec<(String, CallId, String, String)>,
    /// Where lines of the file went: by id, and in order.
    ids: HashMap<String, usize>,
    order: Vec<usize>,
    now_ms: u64,
}

impl Story {
    fn new(header: &Value) -> Self {
        let mut story = Self {
            out: Imported::default(),
            model: ModelRef {
                provider: "pi".to_owned(),
                model: "unknown".to_owned(),
            },
            open: Vec::new(),
            ids: HashMap::new(),
            order: Vec::new(),
            now_ms: 0,
        };
        story.set_model(header);
        story.now_ms = time(header).unwrap_or(0);
        story
    }

    fn set_model(&mut self, from: &Value) {
        let model = text(from, "modelId").or_else(|| text(from, "model"));
        if let (Some(provider), Some(model)) = (text(from, "provider"), model)
            && let Some(model) = ModelRef::parse(&format!("{provider}/{model}"))
        {
            self.model = model;
        }
    }

    fn take(&mut self, raw: &Raw) -> Result<(), ImportError> {
        self.now_ms = time(&raw.value).unwrap_or(self.now_ms).max(self.now_ms);
        let at = self.out.entries.len();
        if let Some(id) = text(&raw.value, "id") {
            self.ids.insert(id.to_owned(), at);
        }
        self.order.push(at);
        match text(&raw.value, "type") {
            Some("message") => {
                let message = raw.value.get("message").filter(|m| m.is_object());
                let message = message.ok_or_else(|| ImportError::Line {
                    line: raw.line,
                    why: "there is no message in it".to_owned(),
                })?;
                self.message(message);
            }
            Some("model_change") => self.set_model(&raw.value),
            Some("compaction") => self.compaction(&raw.value),
            Some("branch_summary") => self.notice(text(&raw.value, "summary").unwrap_or("")),
            Some("custom_message") => self.notice(&content(raw.value.get("content"))),
            Some("session_info") => {
                self.out.title = text(&raw.value, "name").map(str::to_owned);
            }
            Some(_) => self.out.skipped += 1,
            None => {
                return Err(ImportError::Line {
                    line: raw.line,
                    why: "it does not say what it is".to_owned(),
                });
            }
        }
        Ok(())
    }

    fn message(&mut self, message: &Value) {
        self.now_ms = number(message, "timestamp").unwrap_or(0).max(self.now_ms);
        match text(message, "role") {
            Some("user") => self.said(&content(message.get("content"))),
            Some("assistant") => self.answer(message),
            Some("toolResult") => self.result(message),
            Some("bashExecution") => self.shell(message),
            Some("custom" | "hookMessage") => self.notice(&content(message.get("content"))),
            _ => self.out.skipped += 1,
        }
    }

    fn said(&mut self, typed: &str) {
        let (author, typed) = speaker(typed);
        let typed = without_note(typed);
        if typed.trim().is_empty() {
            return;
        }
        self.end_calls();
        let body = EntryBody::Message {
            text: typed,
            mode: SendMode::FollowUp,
            attachments: Vec::new(),
        };
        self.put(author, body);
    }

    fn answer(&mut self, message: &Value) {
        self.end_calls();
        self.set_model(message);
        let parts = message.get("content").and_then(Value::as_array);
        let mut blocks = Vec::new();
        let mut open = Vec::new();
        for part in parts.into_iter().flatten() {
            match text(part, "type") {
                Some("text") => blocks.push(Block::Text {
                    text: text(part, "text").unwrap_or("").to_owned(),
                }),
                Some("thinking") => blocks.push(Block::Thinking {
                    text: text(part, "thinking").unwrap_or("").to_owned(),
                }),
                Some("toolCall") => {
                    if let Some((call, block)) = self.call(part, open.len()) {
                        open.push(call);
                        blocks.push(block);
                    }
                }
                _ => self.out.skipped += 1,
            }
        }
        let stop = text(message, "stopReason");
        let cut_short = matches!(stop, Some("error" | "aborted") | None);
        if !blocks.is_empty() {
            let model = self.model.clone();
            let author = author(AuthorKind::Model, &model.to_string(), &model.model);
            let body = EntryBody::Answer {
                model,
                blocks,
                stop: stop.filter(|_| !cut_short).map(str::to_owned),
                usage: message.get("usage").map(usage),
                incomplete: cut_short,
            };
            self.put(author, body);
            self.open = open;
        }
        if let Some(why) = text(message, "errorMessage").filter(|_| stop == Some("error")) {
            let body = EntryBody::Error {
                text: why.to_owned(),
                hint: String::new(),
            };
            self.put(porthole(), body);
        }
    }

    fn call(&self, part: &Value, n: usize) -> Option<((String, CallId, String, String), Block)> {
        let (theirs, tool) = (text(part, "id")?, text(part, "name")?);
        let ours = CallId::parse(&format!("c{}-{}", self.out.entries.len() + 1, n + 1)).ok()?;
        let arguments = part.get("arguments").cloned().unwrap_or(Value::Null);
        let subject = subject(&arguments);
        let block = Block::ToolCall {
            call: ours.clone(),
            tool: tool.to_owned(),
            subject: subject.clone(),
            arguments,
        };
        Some(((theirs.to_owned(), ours, tool.to_owned(), subject), block))
    }

    fn result(&mut self, message: &Value) {
        let id = text(message, "toolCallId").unwrap_or("");
        let Some(at) = self.open.iter().position(|(theirs, ..)| theirs == id) else {
            // No model takes a result of a call that it did not make.
            self.out.skipped += 1;
            return;
        };
        let (_, call, tool, subject) = self.open.remove(at);
        let failed = message.get("isError").and_then(Value::as_bool) == Some(true);
        let outcome = match failed {
            true => ToolOutcome::Failed,
            false => ToolOutcome::Ok,
        };
        let told = content(message.get("content"));
        self.told((call, tool, subject), outcome, told);
    }

    fn told(
        &mut self,
        (call, tool, subject): (CallId, String, String),
        outcome: ToolOutcome,
        text: String,
    ) {
        let author = author(AuthorKind::Tool, &tool, &tool);
        let body = EntryBody::ToolResult {
            call,
            tool,
            subject,
            outcome,
            summary: String::new(),
            text,
            detail: ToolDetail::Text,
            duration_ms: 0,
            nested: Vec::new(),
            attachments: Vec::new(),
        };
        self.put(author, body);
    }

    /// Calls without a result get one before anything else is said.
    fn end_calls(&mut self) {
        for (_, call, tool, subject) in std::mem::take(&mut self.open) {
            let text = "interrupted: the imported session has no result of this call".to_owned();
            self.told((call, tool, subject), ToolOutcome::Interrupted, text);
        }
    }

    fn shell(&mut self, message: &Value) {
        self.end_calls();
        let exit = message.get("exitCode").and_then(Value::as_i64);
        let hidden = message.get("excludeFromContext").and_then(Value::as_bool) == Some(true);
        let command = text(message, "command").unwrap_or("").to_owned();
        let body = EntryBody::Shell {
            command: command.clone(),
            included: !hidden,
            detail: ToolDetail::Command {
                command,
                exit: exit.and_then(|exit| i32::try_from(exit).ok()),
                signal: None,
                timed_out: false,
                tail: text(message, "output").unwrap_or("").to_owned(),
                left_out: 0,
                output: None,
                still_running: Vec::new(),
            },
        };
        self.put(owner(), body);
    }

    fn compaction(&mut self, mark: &Value) {
        self.end_calls();
        let first = match text(mark, "firstKeptEntryId") {
            Some(id) => self.ids.get(id).copied(),
            // Version 1 counts the lines, the header included.
            None => number(mark, "firstKeptEntryIndex")
                .and_then(|n| usize::try_from(n).ok()?.checked_sub(1))
                .and_then(|n| self.order.get(n).copied()),
        };
        let before = &self.out.entries[first.unwrap_or(self.out.entries.len())..];
        let kept = before
            .iter()
            .filter(|kept| matches!(kept.entry.body, EntryBody::Message { .. }))
            .map(|kept| kept.entry.id)
            .collect();
        let body = EntryBody::Compaction {
            summary: text(mark, "summary").unwrap_or("").to_owned(),
            automatic: false,
            kept,
        };
        self.put(porthole(), body);
    }

    fn notice(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        self.end_calls();
        let text = text.to_owned();
        self.put(porthole(), EntryBody::Notice { text });
    }

    fn put(&mut self, author: Author, body: EntryBody) {
        let id = EntryId(self.out.entries.len() as u64 + 1);
        self.out.entries.push(KeptEntry {
            conversation: ConversationId::ROOT,
            entry: Entry {
                id,
                at_ms: self.now_ms,
                author,
                turn: None,
                body,
            },
        });
    }

    fn finish(mut self, header: &Value) -> Imported {
        self.end_calls();
        self.out.dir = text(header, "cwd").map(str::to_owned);
        self.out.created_ms = time(header);
        self.out
    }
}

/// Returns the words of a message's content: a text, or parts of which some are texts.
fn content(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let parts = parts.iter().filter_map(|part| match text(part, "type") {
                Some("text") => text(part, "text"),
                Some("image") => Some(IMAGE),
                _ => None,
            });
            parts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Returns who spoke, and what is left of the text: a leading `<speaker …/>` or `<speaker …>…</speaker>` says it.
fn speaker(typed: &str) -> (Author, &str) {
    let read = || {
        let rest = typed.trim_start().strip_prefix("<speaker")?;
        let (attributes, rest) = rest.split_once('>')?;
        let (attributes, rest) = match attributes.strip_suffix('/') {
            Some(attributes) => (attributes, rest),
            None => (attributes, rest.split_once("</speaker>")?.1),
        };
        let name = attribute(attributes, "name")?;
        let guest = attribute(attributes, "kind") == Some("guest");
        let author = match guest {
            true => author(
                AuthorKind::Guest,
                attribute(attributes, "id").unwrap_or("guest"),
                name,
            ),
            false => author(AuthorKind::Owner, "owner", name),
        };
        Some((author, rest.trim_start_matches(['\r', '\n'])))
    };
    read().unwrap_or_else(|| (owner(), typed))
}

fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let start = format!("{name}=\"");
    let at = attributes.find(&start)? + start.len();
    let value = &attributes[at..];
    value.find('"').map(|end| &value[..end])
}

/// Returns a text with a trailing note of files as a line of its own: `<attachments>…</attachments>` or `[Attachments: …]`.
fn without_note(typed: &str) -> String {
    let end = typed.trim_end();
    let note = |start: &str, stop: &str| {
        let body = end.strip_suffix(stop)?;
        let (before, note) = body.rsplit_once(start)?;
        let names: Vec<&str> = note.split_whitespace().collect();
        Some(format!(
            "{}\n\n(files: {})",
            before.trim_end(),
            names.join(" ")
        ))
    };
    note("<attachments>", "</attachments>")
        .or_else(|| note("\n[Attachments:", "]"))
        .unwrap_or_else(|| typed.to_owned())
}

/// Returns what a call is about, in one line.
fn subject(arguments: &Value) -> String {
    let known = ["command", "path", "file_path", "pattern", "query", "url"];
    let found = known.iter().find_map(|key| text(arguments, key));
    let line = found.unwrap_or("").lines().next().unwrap_or("");
    line.chars().filter(|c| !c.is_control()).take(200).collect()
}

fn usage(from: &Value) -> Usage {
    Usage {
        input: number(from, "input"),
        output: number(from, "output"),
        cache_read: number(from, "cacheRead"),
        cache_write: number(from, "cacheWrite"),
        ..Usage::default()
    }
}

/// Returns a number, also where it was written with a fraction, as far as it is one of ours.
fn number(from: &Value, key: &str) -> Option<u64> {
    let value = from.get(key)?;
    value
        .as_u64()
        .or_else(|| value.as_f64().map(|n| n as u64))
        .filter(|n| *n < 1 << 53)
}

/// Returns the time of a line: milliseconds, or a date as in `2024-12-03T14:00:01.000Z`.
fn time(of: &Value) -> Option<u64> {
    match of.get("timestamp")? {
        Value::String(date) => date_ms(date),
        _ => number(of, "timestamp"),
    }
}

fn date_ms(date: &str) -> Option<u64> {
    let (day, clock) = date.split_once('T')?;
    let mut day = day.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (day.next()?.ok()?, day.next()?.ok()?, day.next()?.ok()?);
    let mut clock = clock.trim_end_matches('Z').splitn(3, ':');
    let (hour, minute): (i64, i64) = (clock.next()?.parse().ok()?, clock.next()?.parse().ok()?);
    let second: f64 = clock.next()?.parse().ok()?;
    let fits = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0.0..61.0).contains(&second);
    if !fits {
        return None;
    }
    // Days since 1970 in the calendar that begins its years in March.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days =
        year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 719_469;
    let whole = ((days * 24 + hour) * 60 + minute) * 60;
    u64::try_from(whole)
        .ok()
        .map(|s| s * 1_000 + (second * 1_000.0) as u64)
}

fn author(kind: AuthorKind, id: &str, name: &str) -> Author {
    let plain = |text: &str, most: usize| -> String {
        text.chars()
            .filter(|c| !c.is_control())
            .take(most)
            .collect()
    };
    Author {
        kind,
        id: plain(id, 100),
        name: plain(name, 60),
    }
}

fn owner() -> Author {
    author(AuthorKind::Owner, "owner", "owner")
}

fn porthole() -> Author {
    author(AuthorKind::System, "porthole", "Porthole")
}
