//! What the floating lists offer: commands, sessions, models, levels, policies, messages, themes.

use porthole_protocol::{
    ConversationState, EntryBody, Policy, SessionRow, SessionState, Thinking, replies,
};

use crate::{
    clock,
    conversation_view::thinking_word,
    keymap::{Command, Context, TABLE},
    look::Look,
    notice::{Notice, Told, Tone},
    picker::{Choice, Item, Picker, Sure},
    theme::Themes,
    transcript,
};

/// What people look for most, in this order; what makes no sense now is left out anyway.
const FIRST: [Command; 13] = [
    Command::ToQuestion,
    Command::Stop,
    Command::Open,
    Command::New,
    Command::Sessions,
    Command::Models,
    Command::Thinking,
    Command::Policy,
    Command::Home,
    Command::Copy,
    Command::Theme,
    Command::Help,
    Command::Quit,
];

/// Returns a directory as it is short: from home, or its last two names.
fn short_dir(dir: &str, home: Option<&str>) -> String {
    let inside = home
        .and_then(|home| dir.strip_prefix(home))
        .filter(|rest| rest.is_empty() || rest.starts_with('/'));
    if let Some(rest) = inside {
        return format!("~{rest}");
    }
    let mut names = dir.rsplitn(3, '/');
    match (names.next(), names.next(), names.next()) {
        (Some(last), Some(before), Some(more)) if more.len() > 1 && dir.starts_with('/') => {
            format!("…/{before}/{last}")
        }
        _ => dir.to_owned(),
    }
}

/// Returns the list of commands for a screen.
pub(crate) fn commands(
    in_conversation: bool,
    look: &Look,
    useful: impl Fn(Command) -> bool,
) -> Picker {
    let fits = |context| match context {
        Context::Everywhere => true,
        Context::Home => !in_conversation,
        Context::Composer | Context::Conversation => in_conversation,
        Context::Reading | Context::Question | Context::List | Context::Editing => false,
    };
    let mut items: Vec<Item> = Vec::new();
    let mut listed: Vec<_> = TABLE
        .iter()
        .filter(|b| b.in_palette() && useful(b.command))
        .collect();
    let rank = |command| FIRST.iter().position(|c| *c == command);
    listed.sort_by_key(|b| rank(b.command).unwrap_or(FIRST.len()));
    // What can be typed after `/` works on every screen.
    for binding in listed
        .into_iter()
        .filter(|b| fits(b.context) || (in_conversation && b.slash))
    {
        let choice = Choice::Command(binding.command);
        if items.iter().all(|i| i.choice != choice) {
            let key = look.keys.key(binding);
            let note = match fits(binding.context) && !key.is_empty() {
                true => key,
                false if binding.slash && in_conversation => format!("/{}", binding.id),
                false => String::new(),
            };
            items.push(Item::new(choice, binding.title, note));
        }
    }
    Picker::new("commands", items, "")
}

/// Returns the list of sessions to switch to: pinned ones first, archived ones last.
pub(crate) fn sessions(rows: &[SessionRow], current: Option<&str>, home: Option<&str>) -> Picker {
    let mut rows: Vec<&SessionRow> = rows.iter().collect();
    rows.sort_by_key(|r| (r.archived, !r.pinned, std::cmp::Reverse(r.updated_ms)));
    let item = |row: &&SessionRow| {
        let state = match &row.state {
            _ if row.archived => "archived · ",
            SessionState::Idle if row.unread => "• answered · ",
            SessionState::Idle => "",
            SessionState::Working { .. } => "working · ",
            SessionState::Waiting { .. } => "needs you · ",
            SessionState::Failed { .. } => "failed · ",
        };
        let pin = if row.pinned { "* " } else { "" };
        Item::new(
            Choice::Session(row.id.clone()),
            format!("{pin}{}", row.title),
            format!("{state}{}", short_dir(&row.dir, home)),
        )
        .current(current == Some(row.id.as_str()))
    };
    let active = rows.iter().filter(|row| !row.archived).count();
    let mut items: Vec<Item> = rows.iter().map(item).collect();
    let others = [
        Item::new(
            Choice::Command(Command::New),
            "new session …",
            "in a directory",
        ),
        Item::new(Choice::Home, "all sessions …", "search, rename, archive"),
    ];
    items.splice(active..active, others);
    Picker::new("sessions", items, "")
}

/// Returns what was told lately, the newest first.
pub(crate) fn notices(notice: &Notice, look: &Look, now_ms: u64) -> Picker {
    let item = |told: &Told| {
        let at = clock::when(told.at_ms, now_ms, look.utc_offset_minutes);
        let what = match told.tone {
            Tone::Error => format!("failed · {at}"),
            Tone::Done | Tone::Info => at,
        };
        Item::new(Choice::Told(Some(told.text.clone())), told.words(), what)
    };
    let mut items: Vec<Item> = notice.kept().map(item).collect();
    if items.is_empty() {
        items.push(Item::words("nothing was told lately"));
    } else {
        items.push(Item::new(Choice::Told(None), "put all of it away", ""));
    }
    Picker::new("told lately", items, "Enter puts a line away")
}

/// Returns what was said in a conversation and can be answered, the newest first.
pub(crate) fn replies_to(state: &ConversationState) -> Picker {
    let said = |entry: &porthole_protocol::Entry| {
        let text = match &entry.body {
            EntryBody::Message { text, .. } => text.clone(),
            EntryBody::Answer { blocks, .. } => transcript::answer_text(blocks)?,
            _ => return None,
        };
        let first = text
            .lines()
            .find(|line| !line.trim().is_empty())?
            .to_owned();
        let name = entry.author.name.clone();
        Some(Item::new(Choice::Reply(name.clone(), text), first, name))
    };
    let mut items: Vec<Item> = state.entries.iter().rev().filter_map(said).collect();
    if items.is_empty() {
        items.push(Item::words("nothing was said yet"));
    }
    Picker::new("answer what?", items, "it is quoted above your message")
}

/// Asks back before something that cannot be taken back; Enter alone does nothing.
pub(crate) fn sure(title: &str, sure: Sure, yes: &str, words: &str) -> Picker {
    let items = vec![
        Item::new(Choice::No, "no", ""),
        Item::new(Choice::Sure(sure), yes, ""),
    ];
    Picker::new(title, items, words)
}

/// Returns the list of models; `None`: it is still on its way.
pub(crate) fn models(models: Option<&replies::Models>, current: Option<&str>) -> Picker {
    let (items, footer) = model_items(models, current);
    Picker::new("models", items, footer)
}

/// Returns the rows of the list of models, and what its last line says.
pub(crate) fn model_items(
    models: Option<&replies::Models>,
    current: Option<&str>,
) -> (Vec<Item>, String) {
    let Some(models) = models else {
        return (
            vec![Item::new(Choice::Nothing, "asking the server …", "")],
            String::new(),
        );
    };
    let item = |info: &porthole_protocol::ModelInfo| {
        let name = info.model.to_string();
        let note = if info.ready {
            info.source.clone()
        } else {
            format!("no key · {}", info.source)
        };
        let now = current == Some(name.as_str());
        Item::new(Choice::Model(info.model.clone()), name, note).current(now)
    };
    let mut items: Vec<Item> = models.models.iter().map(item).collect();
    if current.is_some() {
        let choice = Choice::Command(Command::MakeDefault);
        let words = "make the present one the default of new sessions";
        items.push(Item::new(choice, words, "/default"));
    }
    (items, format!("more models: write {}", models.config_path))
}

/// Returns models that were found and are in no list yet.
pub(crate) fn found_models(
    found: &replies::ModelsFound,
    listed: Option<&replies::Models>,
) -> Vec<Item> {
    let known = |info: &porthole_protocol::ModelInfo| {
        listed.is_some_and(|l| l.models.iter().any(|m| m.model == info.model))
    };
    let others = found.models.iter().filter(|info| !known(info));
    others
        .map(|info| {
            let choice = Choice::Model(info.model.clone());
            Item::new(choice, info.model.to_string(), info.source.clone())
        })
        .collect()
}

/// Returns the thinking levels; those that the model does not have are off with it, and say so.
pub(crate) fn thinking(current: Thinking, levels: Option<&[Thinking]>) -> Picker {
    let all = [
        (Thinking::Off, "answers at once"),
        (Thinking::Low, "a little"),
        (Thinking::Medium, "for harder things"),
        (Thinking::High, "as much as the model may"),
    ];
    let has = |level| level == Thinking::Off || levels.is_none_or(|all| all.contains(&level));
    let item = |(level, note)| {
        let note = if has(level) {
            note
        } else {
            "this model does not have it"
        };
        Item::new(Choice::Thinking(level), thinking_word(level), note).current(level == current)
    };
    Picker::new(
        "thinking",
        all.into_iter().map(item).collect(),
        "holds from the next request on",
    )
}

/// Returns the policies.
pub(crate) fn policies(current: Policy) -> Picker {
    let policies = [
        (Policy::Ask, "ask", "reading runs; edits and commands ask"),
        (Policy::Auto, "auto", "everything runs without asking"),
        (
            Policy::ReadOnly,
            "read-only",
            "reading runs; the rest is refused",
        ),
    ];
    let item = |(policy, name, note): (Policy, &str, &str)| {
        Item::new(Choice::Policy(policy), name, note).current(policy == current)
    };
    Picker::new(
        "what tools may do",
        policies.into_iter().map(item).collect(),
        "holds from the next tool call on",
    )
}

/// Returns the messages sent before, the newest first.
pub(crate) fn history(sent: &[String]) -> Picker {
    let mut items: Vec<Item> = Vec::new();
    for text in sent.iter().rev() {
        let choice = Choice::Message(text.clone());
        if items.iter().all(|i| i.choice != choice) {
            items.push(Item::new(
                choice,
                text.lines().collect::<Vec<_>>().join(" "),
                "",
            ));
        }
    }
    Picker::new("messages sent before", items, "")
}

/// Returns the themes.
pub(crate) fn themes(look: &Look) -> Picker {
    let item = |name: &str| {
        Item::new(Choice::Theme(name.to_owned()), name, "").current(name == look.theme_name)
    };
    Picker::new(
        "colours",
        look.themes.names().into_iter().map(item).collect(),
        "for now; /keep saves it in your preferences",
    )
}

/// Returns a level or policy typed after a command.
pub(crate) fn typed_choice(command: Command, word: &str, themes: &Themes) -> Option<Choice> {
    let choice = match (command, word) {
        (Command::Thinking, "off") => Choice::Thinking(Thinking::Off),
        (Command::Thinking, "low") => Choice::Thinking(Thinking::Low),
        (Command::Thinking, "medium") => Choice::Thinking(Thinking::Medium),
        (Command::Thinking, "high") => Choice::Thinking(Thinking::High),
        (Command::Policy, "ask") => Choice::Policy(Policy::Ask),
        (Command::Policy, "auto") => Choice::Policy(Policy::Auto),
        (Command::Policy, "read-only") => Choice::Policy(Policy::ReadOnly),
        (Command::Models, name) => Choice::Model(porthole_protocol::ModelRef::parse(name)?),
        (Command::Theme, name) if themes.names().contains(&name) => Choice::Theme(name.to_owned()),
        _ => return None,
    };
    Some(choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_short_but_never_another() {
        for (dir, home, short) in [
            ("/root/src/shop", Some("/root"), "~/src/shop"),
            ("/root", Some("/root"), "~"),
            ("/rooted/a", Some("/root"), "/rooted/a"),
            ("/srv/www/site/shop", None, "…/site/shop"),
            ("/srv/www", None, "/srv/www"),
            ("~/src/shop", None, "~/src/shop"),
        ] {
            assert_eq!(short_dir(dir, home), short);
        }
    }
}
