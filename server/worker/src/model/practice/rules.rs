//! What people's words mean to the stand-in: prefixes and a few key words, nothing cleverer.

use serde_json::{Value, json};

/// What is wanted.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wish {
    /// A tool is to be called.
    Call {
        words: String,
        tool: &'static str,
        arguments: Value,
    },
    /// Thoughts are to be shown.
    Think { about: String },
    /// The list of rules.
    Help,
    /// A rule fits, and something is missing.
    Incomplete { form: &'static str },
    /// No rule fits.
    Unknown,
}

const FORM_MAKE: &str = "make a file called NAME with TEXT";
const FORM_EDIT: &str = "edit FILE: replace A with B";

/// Returns what a text means.
pub(super) fn understand(text: &str) -> Wish {
    let text = polite(without_speaker(text).trim());
    let rules: [fn(&str) -> Option<Wish>; 9] =
        [help, list, run, make, edit, read, search, find, think];
    rules
        .iter()
        .find_map(|rule| rule(text))
        .unwrap_or(Wish::Unknown)
}

/// Returns the text after a first line that only says who speaks.
fn without_speaker(text: &str) -> &str {
    let text = text.trim_start();
    match text.split_once('\n') {
        Some((first, rest)) => {
            let first = first.trim();
            let is_mark = (first.starts_with('<') && first.ends_with('>'))
                || (first.starts_with('[') && first.ends_with(']'));
            if is_mark { rest } else { text }
        }
        None => text,
    }
}

/// Returns the text without a "please" before it.
fn polite(text: &str) -> &str {
    let starts = ["please ", "can you ", "could you ", "now ", "then "];
    match starts.iter().find_map(|start| after(text, start)) {
        Some(rest) => polite(rest),
        None => text,
    }
}

/// Returns what follows a prefix in any case of letters.
fn after<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let start = text.get(..prefix.len())?;
    start
        .eq_ignore_ascii_case(prefix)
        .then(|| text[prefix.len()..].trim_start())
}

fn after_any<'a>(text: &'a str, prefixes: &[&str]) -> Option<&'a str> {
    prefixes.iter().find_map(|prefix| after(text, prefix))
}

/// Returns what is before and after the first `word`, in any case of letters.
fn split<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let at = text.to_ascii_lowercase().find(word)?;
    Some((text[..at].trim(), text[at + word.len()..].trim()))
}

fn split_last<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let at = text.to_ascii_lowercase().rfind(word)?;
    Some((text[..at].trim(), text[at + word.len()..].trim()))
}

/// Returns the text without the quotation marks around it.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inner = ['"', '\'', '`']
        .into_iter()
        .find_map(|mark| text.strip_prefix(mark)?.strip_suffix(mark));
    inner.unwrap_or(text)
}

/// Returns a path as it was meant: without the words around it and the full stop behind it.
fn path(text: &str) -> &str {
    let text = text.trim().trim_end_matches(['?', '!', ',']);
    let text = after_any(text, &["the file ", "file ", "the folder ", "folder "]).unwrap_or(text);
    let text = text
        .strip_suffix('.')
        .filter(|t| !t.is_empty() && !t.ends_with('.'))
        .unwrap_or(text);
    unquoted(text)
}

fn call(words: String, tool: &'static str, arguments: Value) -> Option<Wish> {
    Some(Wish::Call {
        words,
        tool,
        arguments,
    })
}

fn help(text: &str) -> Option<Wish> {
    let bare = text.trim_end_matches(['?', '!', '.', ' ']).to_lowercase();
    let known = [
        "",
        "help",
        "hi",
        "hello",
        "hey",
        "/help",
        "what can you do",
        "who are you",
        "what are you",
    ];
    known.contains(&bare.as_str()).then_some(Wish::Help)
}

fn list(text: &str) -> Option<Wish> {
    let bare = text.trim_end_matches(['?', '!', '.', ' ']).to_lowercase();
    let whole = [
        "ls",
        "list",
        "dir",
        "what is here",
        "what's here",
        "what files are here",
        "what files are there",
    ];
    let starts = [
        "list the files",
        "list all files",
        "list files",
        "list the folder",
        "list this folder",
        "show the files",
        "show me the files",
        "list ",
        "ls ",
    ];
    if whole.contains(&bare.as_str()) {
        return call("I list the folder.".to_owned(), "ls", json!({}));
    }
    let rest = after_any(text, &starts)?.trim_end_matches(['?', '!']);
    let rest = after_any(rest, &["here", "in ", "of ", "there"]).unwrap_or(rest);
    match path(rest) {
        "" | "." | "this folder" | "the folder" | "folder" => {
            call("I list the folder.".to_owned(), "ls", json!({}))
        }
        folder => call(
            format!("I list `{folder}`."),
            "ls",
            json!({ "path": folder }),
        ),
    }
}

fn run(text: &str) -> Option<Wish> {
    let rest = after_any(text, &["run ", "execute ", "$ "])?;
    let rest = after_any(rest, &["the command ", "command "])
        .unwrap_or(rest)
        .trim();
    let inner = rest
        .strip_prefix('`')
        .and_then(|rest| rest.strip_suffix('`'));
    match inner.unwrap_or(rest) {
        "" => Some(Wish::Incomplete {
            form: "run COMMAND",
        }),
        command => call(
            format!("I run `{}`.", command.lines().next().unwrap_or("")),
            "shell",
            json!({ "command": command }),
        ),
    }
}

fn make(text: &str) -> Option<Wish> {
    let starts = ["make ", "create ", "write ", "add "];
    let rest = after_any(text, &starts)?;
    let fillers = [
        "a ", "an ", "the ", "new ", "empty ", "file ", "called ", "named ",
    ];
    let mut rest = rest;
    while let Some(more) = after_any(rest, &fillers) {
        rest = more;
    }
    let with = [
        " with the text ",
        " with the content ",
        " with content ",
        " with text ",
        " containing ",
        " with ",
    ];
    let named = with.iter().find_map(|word| split(rest, word));
    let (name, content) = named.unwrap_or((rest, ""));
    let name = path(name);
    if ["", "a", "new", "file"].contains(&name) || name.contains(char::is_whitespace) {
        return Some(Wish::Incomplete { form: FORM_MAKE });
    }
    let content = match unquoted(content) {
        "" => String::new(),
        content if content.ends_with('\n') => content.to_owned(),
        content => format!("{content}\n"),
    };
    call(
        format!("I write `{name}`."),
        "write",
        json!({"path": name, "content": content}),
    )
}

fn edit(text: &str) -> Option<Wish> {
    let (file, change) = match after_any(text, &["edit ", "in "]) {
        Some(rest) => {
            let parts = rest.split_once(": ").or_else(|| split_at_verb(rest));
            match parts {
                Some((file, change)) => (
                    Some(file.trim().trim_end_matches([',', ':'])),
                    change.trim(),
                ),
                None => return Some(Wish::Incomplete { form: FORM_EDIT }),
            }
        }
        None => (None, text),
    };
    let (body, word) = match (after(change, "replace "), after(change, "change ")) {
        (Some(body), _) => (body, " with "),
        (None, Some(body)) => (body, " to "),
        (None, None) => return file.map(|_| Wish::Incomplete { form: FORM_EDIT }),
    };
    let parts = split(body, word).and_then(|(old, rest)| match file {
        Some(file) => Some((file, old, rest)),
        None => split_last(rest, " in ").map(|(new, file)| (file, old, new)),
    });
    match parts.map(|(file, old, new)| (path(file), unquoted(old), unquoted(new))) {
        Some((file, old, new)) if !file.is_empty() && !old.is_empty() => call(
            format!("I change `{file}`."),
            "edit",
            json!({"path": file, "old": old, "new": new}),
        ),
        _ => Some(Wish::Incomplete { form: FORM_EDIT }),
    }
}

/// Returns the file and the change of `FILE replace A with B`.
fn split_at_verb(text: &str) -> Option<(&str, &str)> {
    let lower = text.to_ascii_lowercase();
    let at = [" replace ", " change "]
        .iter()
        .filter_map(|verb| lower.find(verb))
        .min()?;
    Some(text.split_at(at))
}

fn read(text: &str) -> Option<Wish> {
    let rest = after_any(
        text,
        &[
            "read ", "show me ", "show ", "open ", "cat ", "view ", "print ",
        ],
    )?;
    match path(rest) {
        "" => Some(Wish::Incomplete { form: "read FILE" }),
        file => call(format!("I read `{file}`."), "read", json!({ "path": file })),
    }
}

fn search(text: &str) -> Option<Wish> {
    let rest = after_any(text, &["grep for ", "grep ", "search for ", "search "])?;
    let (pattern, folder) = match split_last(rest, " in ") {
        Some((pattern, folder)) => (unquoted(pattern), Some(path(folder))),
        None => (unquoted(rest), None),
    };
    if pattern.is_empty() {
        return Some(Wish::Incomplete {
            form: "search PATTERN",
        });
    }
    let arguments = match folder {
        Some(folder) if !folder.is_empty() => json!({"pattern": pattern, "path": folder}),
        _ => json!({ "pattern": pattern }),
    };
    call(format!("I search for `{pattern}`."), "grep", arguments)
}

fn find(text: &str) -> Option<Wish> {
    let rest = after_any(text, &["find "])?;
    let fillers = [
        "files ",
        "file ",
        "the ",
        "all ",
        "called ",
        "named ",
        "matching ",
    ];
    let mut rest = rest;
    while let Some(more) = after_any(rest, &fillers) {
        rest = more;
    }
    let name = path(rest);
    if name.is_empty() {
        return Some(Wish::Incomplete { form: "find NAME" });
    }
    let pattern = match name.contains(['*', '?', '[', '/']) {
        true => name.to_owned(),
        false => format!("*{name}*"),
    };
    call(
        format!("I look for files named like `{name}`."),
        "find",
        json!({ "pattern": pattern }),
    )
}

fn think(text: &str) -> Option<Wish> {
    let rest = after(text, "think")?;
    let about = after(rest, "about ")
        .unwrap_or(rest)
        .trim_end_matches(['.', '!', '?']);
    Some(Wish::Think {
        about: about.trim().to_owned(),
    })
}
