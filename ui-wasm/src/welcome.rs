//! What an empty conversation shows: where it works, who answers, and what to try first.

use porthole_protocol::ConversationState;
use ratatui_core::{buffer::Buffer, layout::Rect, style::Style};

use crate::{
    conversation_view::policy_words,
    effects::Effects,
    look::{self, Look},
    text,
};

/// Draws the welcome.
pub(crate) fn view(
    state: &ConversationState,
    area: Rect,
    buf: &mut Buffer,
    look: &Look,
    fx: &Effects,
) {
    let machine = match fx.server.machine() {
        "" => "this machine".to_owned(),
        name => name.to_owned(),
    };
    let first = format!(
        "Welcome. This session works in {} on {machine}.",
        state.info.cwd
    );
    let (about, ways) = if state.info.practice {
        (
            if fx.other_models {
                "You are talking to `practice`: a built-in stand-in that follows fixed rules and runs real tools.\n\
                 /models chooses another."
            } else {
            "No model is configured, so you are talking to `practice`: a built-in stand-in that follows fixed rules and runs real tools.\n\
             Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or write models.toml (/models shows where), to talk to a model."
            }.to_owned(),
            Ways::Try(&[
                "list the files",
                "read README.md",
                "run ls -la",
                "make a file called hello.txt",
            ]),
        )
    } else {
        (
            format!(
                "{} answers here. It reads files freely; edits and commands follow the policy ({}).",
                state.info.model,
                policy_words(Some(state.info.policy)).trim()
            ),
            Ways::Say(
                "Say what should be done. ! runs a command of yours, / shows commands, F1 every key.",
            ),
        )
    };
    let theme = &look.theme;
    let cols = usize::from(area.width.saturating_sub(2)).max(8);
    let mut lines: Vec<(String, Style)> = Vec::new();
    let mut add = |words: &str, style, cols| {
        lines.extend(text::wrap(words, cols).into_iter().map(|l| (l, style)))
    };
    add(&first, theme.strong, cols);
    add("", theme.text, cols);
    add(&about, theme.dim, cols.saturating_sub(2));
    add("", theme.text, cols);
    match ways {
        Ways::Say(words) => add(words, theme.text, cols.saturating_sub(2)),
        Ways::Try(examples) => {
            for line in tries(examples, cols.saturating_sub(2)) {
                add(&line, theme.text, cols.saturating_sub(2));
            }
        }
    }
    for (y, (line, style)) in lines.iter().enumerate().take(usize::from(area.height)) {
        let row = Rect {
            y: area.y + y as u16,
            height: 1,
            x: area.x + 1,
            width: area.width.saturating_sub(1),
        };
        look::pieces(buf, row, &[(line, *style)]);
    }
}

/// What there is to do.
enum Ways {
    /// In words.
    Say(&'static str),
    /// By examples.
    Try(&'static [&'static str]),
}

/// Returns the examples in lines; one is broken only where it is wider than a line.
fn tries(examples: &[&str], cols: usize) -> Vec<String> {
    const LEAD: &str = "Try:  ";
    const GAP: &str = " · ";
    let mut lines = vec![LEAD.to_owned()];
    for example in examples {
        let begun = lines.last_mut().filter(|line| {
            *line == LEAD || text::width(line) + text::width(GAP) + text::width(example) <= cols
        });
        match begun {
            Some(line) if line == LEAD => line.push_str(example),
            Some(line) => {
                line.push_str(GAP);
                line.push_str(example);
            }
            None => lines.push(format!("{}{example}", " ".repeat(LEAD.len()))),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_stays_whole_at_any_width_that_holds_it() {
        let examples = ["list the files", "run ls -la", "read README.md"];
        assert_eq!(
            tries(&examples, 40),
            ["Try:  list the files · run ls -la", "      read README.md"]
        );
        for cols in 20..70 {
            let lines = tries(&examples, cols);
            assert!(lines.iter().all(|line| text::width(line) <= cols), "{cols}");
            for example in examples {
                let whole = lines.iter().filter(|line| line.contains(example)).count();
                assert_eq!(whole, 1, "{example} at {cols}");
            }
        }
    }
}
