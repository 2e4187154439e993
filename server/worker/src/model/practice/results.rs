//! What the stand-in says of the results of its calls: a sentence, and the start of the result.

use serde_json::Value;

use crate::model::{AnswerBlock, PromptItem};

/// Most lines of a result that are quoted.
const QUOTED_LINES: usize = 12;
/// Most characters of a line that are quoted.
const QUOTED_WIDTH: usize = 160;

/// Returns what to say of the newest results, whose calls are in `asked`.
pub(super) fn tell(asked: Option<&PromptItem>, newest: &[PromptItem]) -> String {
    let told = newest.iter().filter_map(|item| match item {
        PromptItem::ToolResult {
            provider_id,
            tool,
            text,
            failed,
            ..
        } => {
            let subject = subject(asked, provider_id);
            Some(if *failed {
                failure(tool, &subject, text)
            } else {
                success(tool, &subject, text)
            })
        }
        _ => None,
    });
    let told: Vec<String> = told.collect();
    match told.is_empty() {
        true => "There is nothing to answer. Say `help` for what I can do.".to_owned(),
        false => told.join("\n\n"),
    }
}

/// Returns what a call was about: its path, command or pattern.
fn subject(asked: Option<&PromptItem>, id: &str) -> String {
    let Some(PromptItem::Assistant { blocks, .. }) = asked else {
        return String::new();
    };
    let arguments = blocks.iter().find_map(|block| match block {
        AnswerBlock::ToolCall {
            provider_id,
            arguments,
            ..
        } if provider_id == id => arguments.as_ref(),
        _ => None,
    });
    let named = |name: &str| arguments?.get(name).and_then(Value::as_str).map(first_line);
    ["command", "pattern", "path"]
        .into_iter()
        .find_map(named)
        .unwrap_or_default()
}

fn failure(tool: &str, subject: &str, text: &str) -> String {
    let what = match subject {
        "" => format!("`{tool}`"),
        subject => format!("`{tool}` of `{subject}`"),
    };
    match first_line(text).as_str() {
        "" => format!("{what} did not work."),
        why => format!("{what} did not work: {why}"),
    }
}

fn success(tool: &str, subject: &str, text: &str) -> String {
    let empty = text.trim().is_empty();
    let sentence = match (tool, empty) {
        ("ls", true) => "The folder is empty.".to_owned(),
        ("ls", false) => "This is in the folder:".to_owned(),
        ("read", true) => format!("`{subject}` is empty."),
        ("read", false) => format!("`{subject}` says:"),
        ("write", _) => format!("`{subject}` is written."),
        ("edit", _) => format!("`{subject}` is changed."),
        ("shell", true) => format!("`{subject}` ran and printed nothing."),
        ("shell", false) => format!("`{subject}` ran and printed:"),
        ("grep" | "find", true) => format!("Nothing matches `{subject}`."),
        ("grep" | "find", false) => format!("For `{subject}` there is:"),
        (_, true) => format!("`{tool}` is done."),
        (_, false) => format!("`{tool}` is done:"),
    };
    match empty {
        true => sentence,
        false => format!("{sentence}\n\n{}", quote(text)),
    }
}

/// Returns the start of a text as a code block that nothing in it can close.
fn quote(text: &str) -> String {
    let text = text.trim_end();
    let lines: Vec<String> = text.lines().take(QUOTED_LINES).map(clip).collect();
    let left = text.lines().count().saturating_sub(lines.len());
    let quoted = lines.join("\n");
    let mut fence = "```".to_owned();
    while quoted.contains(&fence) {
        fence.push('`');
    }
    let more = match left {
        0 => String::new(),
        1 => "\n\nand 1 more line.".to_owned(),
        left => format!("\n\nand {left} more lines."),
    };
    format!("{fence}\n{quoted}\n{fence}{more}")
}

fn clip(line: &str) -> String {
    match line.char_indices().nth(QUOTED_WIDTH) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// Returns the first line that says something, clipped.
pub(super) fn first_line(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    clip(line.unwrap_or("").trim())
}
