//! What an empty conversation shows: where it works, who answers, and what to try first.

use porthole_protocol::ConversationState;
use ratatui_core::{buffer::Buffer, layout::Rect, style::Style};

use crate::{
    conversation_view::policy_words,
    effects::Effects,
    look::{self, Look},
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
    let (about, tries) = if state.info.practice {
        (
            "No model is configured, so you are talking to `practice`: a built-in stand-in that follows fixed rules and runs real tools.\n\
             Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or write models.toml (/models shows where), to talk to a model.".to_owned(),
            "Try:  list the files · read README.md · run ls -la · make a file called hello.txt",
        )
    } else {
        (
            format!(
                "{} answers here. It reads files freely; edits and commands follow the policy ({}).",
                state.info.model,
                policy_words(Some(state.info.policy)).trim()
            ),
            "Say what should be done. ! runs a command of yours, / shows commands, F1 every key.",
        )
    };
    let theme = &look.theme;
    let cols = usize::from(area.width.saturating_sub(3)).max(8);
    let mut lines: Vec<(String, Style)> = Vec::new();
    let mut add = |text: &str, style, cols| {
        lines.extend(
            crate::text::wrap(text, cols)
                .into_iter()
                .map(|l| (l, style)),
        )
    };
    add(&first, theme.strong, cols);
    add("", theme.text, cols);
    add(&about, theme.dim, cols.saturating_sub(2));
    add("", theme.text, cols);
    add(tries, theme.text, cols.saturating_sub(2));
    for (y, (line, style)) in lines.iter().enumerate().take(usize::from(area.height)) {
        let row = Rect {
            y: area.y + y as u16,
            height: 1,
            x: area.x + 2,
            width: area.width.saturating_sub(2),
        };
        look::pieces(buf, row, &[(line, *style)]);
    }
}
