//! The stand-in for a model: fixed rules that drive the real tools. It is no language model, says so, and uses no network.

mod results;
mod rules;

use porthole_protocol::{ModelInfo, ModelRef, Thinking};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{AnswerBlock, Piece, Prompt, PromptItem, Response};
use rules::Wish;

/// Returns what it is chosen by.
pub(crate) fn name() -> ModelRef {
    ModelRef {
        provider: "practice".to_owned(),
        model: "practice".to_owned(),
    }
}

/// Returns what can be shown of it.
pub(crate) fn info() -> ModelInfo {
    ModelInfo {
        model: name(),
        name: "practice (no language model)".to_owned(),
        context: None,
        thinking: vec![Thinking::Low, Thinking::Medium, Thinking::High],
        ready: true,
        source: "built in".to_owned(),
        practice: true,
        price: None,
    }
}

/// Returns the answer to a prompt, its words sent in pieces on the way. The same prompt gets the same answer.
pub(crate) fn answer(prompt: &Prompt, pieces: &mpsc::UnboundedSender<Piece>) -> Response {
    let blocks = blocks(prompt);
    for block in &blocks {
        for piece in in_pieces(block) {
            // One who is gone does not want the rest.
            let _gone = pieces.send(piece);
        }
    }
    let calls = blocks
        .iter()
        .any(|b| matches!(b, AnswerBlock::ToolCall { .. }));
    Response {
        stop: Some(if calls { "tool_calls" } else { "stop" }.to_owned()),
        blocks,
        usage: None,
    }
}

fn blocks(prompt: &Prompt) -> Vec<AnswerBlock> {
    let last = prompt
        .items
        .iter()
        .rposition(|item| matches!(item, PromptItem::Assistant { .. }));
    let newest = &prompt.items[last.map_or(0, |at| at + 1)..];
    let said = newest.iter().rev().find_map(|item| match item {
        PromptItem::User { text, .. } => Some(text.as_str()),
        _ => None,
    });
    if prompt.tools.is_empty() {
        return vec![text(summary(&prompt.items))];
    }
    match said {
        Some(said) => {
            let wish = rules::understand(said);
            let thought = shown_thought(&wish, prompt.thinking);
            thought.into_iter().chain(wished(wish, prompt)).collect()
        }
        None => vec![text(results::tell(
            last.and_then(|at| prompt.items.get(at)),
            newest,
        ))],
    }
}

fn text(text: String) -> AnswerBlock {
    AnswerBlock::Text { text }
}

/// Returns what is said and called for a wish.
fn wished(wish: Wish, prompt: &Prompt) -> Vec<AnswerBlock> {
    match wish {
        Wish::Call {
            words,
            tool,
            arguments,
        } => {
            if !prompt.tools.iter().any(|known| known.name == tool) {
                return vec![text(format!(
                    "That takes the tool `{tool}`, which is not there now."
                ))];
            }
            vec![text(words), call(tool, arguments, prompt.items.len())]
        }
        Wish::Think { about } => vec![
            AnswerBlock::Thinking {
                text: thought(&about),
                opaque: None,
            },
            text(format!(
                "I am `practice` and cannot really think, but that is where thoughts of a model would be shown. {HELP_HINT}"
            )),
        ],
        Wish::Help => vec![text(help())],
        Wish::Incomplete { form } => vec![text(format!("I need it in this form: `{form}`"))],
        Wish::Unknown => vec![text(format!(
            "{WHAT_I_AM} I did not understand that one.\n\n{EXAMPLES}"
        ))],
    }
}

/// Returns what is thought of a wish, where thoughts are asked for.
fn shown_thought(wish: &Wish, level: Thinking) -> Option<AnswerBlock> {
    let text = match wish {
        Wish::Call { tool, .. } => format!("A rule fits these words: it calls `{tool}`."),
        Wish::Incomplete { form } => format!("A rule fits, but something is missing: `{form}`."),
        Wish::Unknown => "No rule fits these words.".to_owned(),
        Wish::Think { .. } | Wish::Help => return None,
    };
    (level != Thinking::Off).then_some(AnswerBlock::Thinking { text, opaque: None })
}

fn call(tool: &str, arguments: Value, turn: usize) -> AnswerBlock {
    AnswerBlock::ToolCall {
        provider_id: format!("practice_{turn}"),
        tool: tool.to_owned(),
        arguments: Some(arguments),
    }
}

const WHAT_I_AM: &str = "I am `practice`, a built-in stand-in and no language model: I follow a few fixed rules and run real tools.";
const HELP_HINT: &str = "Say `help` for what I can do.";
const EXAMPLES: &str = "Try one of these:\n\n\
    - `list the files`\n\
    - `read README.md`\n\
    - `make a file called notes.txt with hello`\n\
    - `edit notes.txt: replace hello with goodbye`\n\
    - `run date`\n\
    - `find notes`\n\
    - `search hello`\n\
    - `think about it`";

fn help() -> String {
    format!(
        "{WHAT_I_AM}\n\n{EXAMPLES}\n\nTo talk to a model, set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY` where the server is started, or write `models.toml`; `portholed models` shows what there is."
    )
}

fn thought(about: &str) -> String {
    let about = if about.is_empty() {
        "nothing in particular"
    } else {
        about
    };
    format!(
        "The rule for `think` fired. The subject is {about}. No other rule applies, so I say what I am."
    )
}

/// Returns what people asked for, oldest first: all that a summary by rules can be.
fn summary(items: &[PromptItem]) -> String {
    let asked = items.iter().filter_map(|item| match item {
        PromptItem::User { speaker, text, .. } if !speaker.is_empty() => {
            Some(format!("- {}", results::first_line(text)))
        }
        _ => None,
    });
    let asked: Vec<String> = asked.take(200).collect();
    format!(
        "`practice` is no language model and writes no real summary. People said, in order:\n\n{}",
        asked.join("\n")
    )
}

/// Returns the words of a block in pieces of a few words, as a stream would bring them.
fn in_pieces(block: &AnswerBlock) -> Vec<Piece> {
    let (text, piece): (_, fn(String) -> Piece) = match block {
        AnswerBlock::Text { text } => (text, Piece::Text),
        AnswerBlock::Thinking { text, .. } => (text, Piece::Thinking),
        AnswerBlock::ToolCall { .. } => return Vec::new(),
    };
    let words: Vec<&str> = text.split_inclusive(' ').collect();
    words.chunks(6).map(|words| piece(words.concat())).collect()
}

#[cfg(test)]
mod tests;
