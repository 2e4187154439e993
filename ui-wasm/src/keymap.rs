//! The one table of commands: what each is called, what it does, which keys it has and where they act.
//! Dispatch, the hint line, the palette, `/` commands and help all read it; nothing else knows a key.

use porthole_bridge::{Key, KeyCode};

/// Something a person can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Command {
    Palette,
    Find,
    OlderMessage,
    NewerMessage,
    OlderQuestion,
    NewerQuestion,
    OlderChange,
    NewerChange,
    Sessions,
    Help,
    Redraw,
    Suspend,
    Interrupt,
    Quit,
    Theme,
    Keep,
    Open,
    New,
    Rename,
    Archive,
    Delete,
    Undelete,
    Restore,
    Pin,
    Retry,
    Filter,
    ShowArchived,
    Unfold,
    Fold,
    Up,
    Down,
    First,
    Last,
    Send,
    NewLine,
    Stop,
    ToggleMode,
    Withdraw,
    Previous,
    Next,
    SearchHistory,
    EditOutside,
    Copy,
    CopyCode,
    Models,
    NextModel,
    MakeDefault,
    Settings,
    Thinking,
    Policy,
    Share,
    Attach,
    AttachClipboard,
    Detach,
    Save,
    Usage,
    Export,
    Reset,
    Compact,
    Children,
    Fork,
    Home,
    Notices,
    Reply,
    ToQuestion,
    Read,
    PageUp,
    PageDown,
    Top,
    Bottom,
    OlderItem,
    NewerItem,
    OpenItem,
    ShowThinking,
    Back,
    Yes,
    Always,
    No,
    EditAnswer,
    Why,
    Choose,
    Close,
    Complete,
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    EraseBack,
    EraseAhead,
    EraseWord,
    EraseWordAhead,
    KillToStart,
    KillToEnd,
    Yank,
    YankOlder,
    Undo,
    Redo,
}

/// Where a key acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// On every screen.
    Everywhere,
    /// In the list of sessions.
    Home,
    /// In a conversation, whatever has the focus there.
    Conversation,
    /// While a message is written.
    Composer,
    /// While the transcript has the focus.
    Reading,
    /// While the question has the focus.
    Question,
    /// In a list that floats.
    List,
    /// In every field of text.
    Editing,
}

impl Context {
    /// Every context, in the order in which help shows them.
    pub(crate) const ALL: [(Self, &str); 8] = [
        (Self::Composer, "Writing"),
        (Self::Conversation, "In a conversation"),
        (
            Self::Question,
            "When something needs you (after Alt-Q or a click)",
        ),
        (Self::Reading, "Reading the transcript"),
        (Self::Home, "In the list of sessions"),
        (Self::Everywhere, "Everywhere"),
        (Self::Editing, "In every field of text"),
        (Self::List, "In a list that floats"),
    ];
}

/// Which set of keys a person prefers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Preset {
    /// The usual one.
    #[default]
    Standard,
    /// Esc leaves the message for the transcript, where motions are vi's; `i` comes back.
    Vi,
    /// Ctrl-K, Ctrl-F, Ctrl-T, Ctrl-P, Ctrl-N and Ctrl-Y edit text.
    Emacs,
}

impl Preset {
    /// Returns the preset of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "standard" => Some(Self::Standard),
            "emacs" => Some(Self::Emacs),
            "vi" => Some(Self::Vi),
            _ => None,
        }
    }
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Binding {
    /// What it does.
    pub(crate) command: Command,
    /// Its name, as typed after `/`.
    pub(crate) id: &'static str,
    /// What it does, in words.
    pub(crate) title: &'static str,
    /// Where its keys act.
    pub(crate) context: Context,
    keys: &'static [&'static str],
    emacs: Option<&'static [&'static str]>,
    vi: Option<&'static [&'static str]>,
    /// Whether it can be typed as a `/` command.
    pub(crate) slash: bool,
    /// Words for the hint line; empty: not there.
    pub(crate) hint: &'static str,
}

impl Binding {
    const fn slash(mut self) -> Self {
        self.slash = true;
        self
    }

    const fn hint(mut self, words: &'static str) -> Self {
        self.hint = words;
        self
    }

    const fn emacs(mut self, keys: &'static [&'static str]) -> Self {
        self.emacs = Some(keys);
        self
    }

    const fn vi(mut self, keys: &'static [&'static str]) -> Self {
        self.vi = Some(keys);
        self
    }

    /// Returns its keys under a preset, as the table writes them.
    pub(crate) fn keys(&self, preset: Preset) -> &'static [&'static str] {
        let other = match preset {
            Preset::Standard => None,
            Preset::Emacs => self.emacs,
            Preset::Vi => self.vi,
        };
        other.unwrap_or(self.keys)
    }

    /// Returns whether the palette offers it; keys of a field or list are no commands to look up.
    pub(crate) fn in_palette(&self) -> bool {
        !matches!(
            self.context,
            Context::Editing | Context::List | Context::Question
        ) && !matches!(
            self.command,
            Command::Up
                | Command::Down
                | Command::Palette
                | Command::Interrupt
                | Command::Previous
                | Command::Next
                | Command::Send
                | Command::NewLine
                | Command::Back
        )
    }
}

const fn row(
    command: Command,
    id: &'static str,
    context: Context,
    keys: &'static [&'static str],
    title: &'static str,
) -> Binding {
    Binding {
        command,
        id,
        title,
        context,
        keys,
        emacs: None,
        vi: None,
        slash: false,
        hint: "",
    }
}

/// Every command there is.
#[rustfmt::skip]
pub(crate) static TABLE: &[Binding] = {
    use Command as C;
    use Context as X;
    &[
        row(C::Send, "send", X::Composer, &["enter"], "send the message").hint("sends"),
        row(C::NewLine, "newline", X::Composer, &["shift-enter", "alt-enter", "ctrl-j"], "begin a new line"),
        row(C::ToggleMode, "mode", X::Composer, &["tab"], "send as follow-up, or steer the running turn now"),
        row(C::Complete, "complete", X::Composer, &["tab"], "complete the command, while the list of commands is open"),
        row(C::Previous, "previous", X::Composer, &["up"], "line above; in an empty message or at its top, the message sent before").emacs(&["up", "ctrl-p"]),
        row(C::Next, "next", X::Composer, &["down"], "line below; at the end, the message sent after").emacs(&["down", "ctrl-n"]),
        row(C::SearchHistory, "history", X::Composer, &["ctrl-r"], "search the messages sent before").slash(),
        row(C::EditOutside, "edit", X::Composer, &["ctrl-g"], "edit the message in your editor").slash(),
        row(C::Withdraw, "unqueue", X::Composer, &["alt-up"], "take the last queued message back into the composer").slash(),
        row(C::Attach, "attach", X::Composer, &["alt-a"], "attach a file from this computer").slash(),
        row(C::AttachClipboard, "paste", X::Composer, &["alt-v"], "attach what the clipboard holds").slash(),
        row(C::Detach, "detach", X::Composer, &[], "take the last attachment off; Backspace at the start does it too").slash(),
        row(C::Stop, "stop", X::Composer, &["esc"], "stop the turn; then clear the message").slash().vi(&[]),

        row(C::Models, "models", X::Conversation, &["alt-m"], "choose the model").slash(),
        row(C::NextModel, "next-model", X::Conversation, &["alt-g"], "step to the next model of those you step through").slash(),
        row(C::MakeDefault, "default", X::Conversation, &[], "make this model and thinking the default of new sessions").slash(),
        row(C::Thinking, "thinking", X::Conversation, &["alt-t"], "choose how much the model thinks").slash(),
        row(C::Policy, "policy", X::Conversation, &["alt-p"], "choose what tools may do without asking").slash(),
        row(C::Reply, "reply", X::Conversation, &[], "answer something said before: it is quoted above the message").slash(),
        row(C::Share, "share", X::Conversation, &["alt-s"], "let others in by a link; see who is in, take it back").slash().emacs(&["alt-l"]),
        row(C::Children, "children", X::Conversation, &["alt-j"], "go to a conversation within this session").slash(),
        row(C::Fork, "fork", X::Conversation, &[], "go on from here in a conversation of its own").slash(),
        row(C::Compact, "compact", X::Conversation, &[], "have the model sum up what came before, and go on with that").slash(),
        row(C::Reset, "reset", X::Conversation, &[], "begin anew: the model sees nothing from before").slash(),
        row(C::Usage, "usage", X::Conversation, &[], "show what was used: tokens, cache, cost, and each response").slash(),
        row(C::Export, "export", X::Conversation, &[], "save this session as a page, as Markdown or as JSON on this computer").slash(),
        row(C::Save, "save", X::Conversation, &[], "save an attachment or a command's output on this computer").slash(),
        row(C::Copy, "copy", X::Conversation, &["ctrl-y"], "copy the last answer").slash().emacs(&["alt-w"]),
        row(C::CopyCode, "code", X::Conversation, &["alt-c"], "copy the last block of code").slash(),
        row(C::ToQuestion, "question", X::Conversation, &["alt-q"], "go to the question, or back").slash(),
        row(C::PageUp, "pageup", X::Conversation, &["pgup"], "scroll up a page"),
        row(C::PageDown, "pagedown", X::Conversation, &["pgdn"], "scroll down a page"),
        row(C::Find, "find", X::Conversation, &["ctrl-f"], "find words in this conversation").slash().emacs(&["ctrl-s"]),
        row(C::OlderMessage, "older-message", X::Conversation, &["ctrl-up"], "go to the message before"),
        row(C::NewerMessage, "newer-message", X::Conversation, &["ctrl-down"], "go to the message after"),
        row(C::OpenItem, "open", X::Conversation, &["ctrl-o"], "open or fold the selected tool, or the last one"),
        row(C::ShowThinking, "thoughts", X::Conversation, &["ctrl-t"], "show or fold what the model thinks").emacs(&["alt-shift-t"]),
        row(C::Read, "read", X::Conversation, &["backtab", "alt-r"], "move the focus between message and transcript").slash().vi(&["esc", "backtab", "alt-r"]),
        row(C::Home, "home", X::Conversation, &["alt-h"], "go to the list of sessions").slash(),

        row(C::Yes, "yes", X::Question, &["y"], "yes, once").hint("yes, once"),
        row(C::Always, "always", X::Question, &["a"], "yes, and always exactly this in this session").hint("always exactly this"),
        row(C::No, "no", X::Question, &["n"], "no").hint("no"),
        row(C::EditAnswer, "change", X::Question, &["e"], "edit the command and run that instead").hint("edit"),
        row(C::Why, "why", X::Question, &["w"], "no, and tell the model why").hint("why"),
        row(C::Back, "back", X::Question, &["esc"], "back to the message"),

        row(C::Up, "row-up", X::Reading, &["up", "k"], "scroll up a row").hint("move"),
        row(C::Down, "row-down", X::Reading, &["down", "j"], "scroll down a row"),
        row(C::OlderItem, "older", X::Reading, &["p"], "select the tool or thought before").hint("item before"),
        row(C::NewerItem, "newer", X::Reading, &["n"], "select the tool or thought after").hint("after"),
        row(C::OpenItem, "toggle", X::Reading, &["enter", "space"], "open or fold the selected item").hint("opens"),
        row(C::OlderMessage, "message-before", X::Reading, &["["], "go to the message before"),
        row(C::NewerMessage, "message-after", X::Reading, &["]"], "go to the message after"),
        row(C::OlderQuestion, "asked-before", X::Reading, &["("], "go to the question before"),
        row(C::NewerQuestion, "asked-after", X::Reading, &[")"], "go to the question after"),
        row(C::OlderChange, "change-before", X::Reading, &["{"], "go to the change before"),
        row(C::NewerChange, "change-after", X::Reading, &["}"], "go to the change after"),
        row(C::Find, "find-reading", X::Reading, &["/"], "find words in this conversation").hint("find"),
        row(C::Reply, "reply-reading", X::Reading, &["r"], "answer something said before: it is quoted above the message").hint("reply"),
        row(C::Top, "top", X::Reading, &["home", "g"], "go to the top").hint("top"),
        row(C::Bottom, "bottom", X::Reading, &["end", "G"], "go to the bottom").hint("bottom"),
        row(C::Back, "write", X::Reading, &["esc", "i"], "back to the message").hint("back").vi(&["i", "a"]),
        row(C::PageUp, "reading-pageup", X::Reading, &[], "scroll up a page").vi(&["ctrl-b", "ctrl-u"]),
        row(C::PageDown, "reading-pagedown", X::Reading, &[], "scroll down a page").vi(&["ctrl-f", "ctrl-d"]),

        row(C::Up, "up", X::Home, &["up", "k"], "select the session above").hint("move"),
        row(C::Down, "down", X::Home, &["down", "j"], "select the session below"),
        row(C::First, "first", X::Home, &["home", "g", "pgup"], "select the first session"),
        row(C::Last, "last", X::Home, &["end", "G", "pgdn"], "select the last session"),
        row(C::Open, "open", X::Home, &["enter"], "open the session").hint("open"),
        row(C::Unfold, "unfold", X::Home, &["right", "l"], "show the conversations within the session"),
        row(C::Fold, "fold", X::Home, &["left", "h"], "hide them again"),
        row(C::New, "new", X::Home, &["n"], "make a session in a directory").hint("new").slash(),
        row(C::Filter, "filter", X::Home, &["/"], "search sessions by title or directory").hint("search"),
        row(C::Pin, "pin", X::Home, &["p"], "keep the session first, or not").hint("pin").slash(),
        row(C::Rename, "rename", X::Home, &["r"], "give the session another title").hint("rename").slash(),
        row(C::Archive, "archive", X::Home, &["e"], "put the session away, or bring it back").hint("archive").slash(),
        row(C::Delete, "delete-session", X::Home, &["d", "delete"], "delete the session; for ten minutes u brings it back").hint("delete").slash(),
        row(C::Undelete, "undelete", X::Home, &["u"], "bring back the session deleted last").slash(),
        row(C::Restore, "restore", X::Home, &[], "bring an archived session back").slash(),
        row(C::Retry, "retry", X::Home, &["t"], "try a failed session again").slash(),
        row(C::ShowArchived, "archived", X::Home, &["a"], "show or hide archived sessions"),
        row(C::Stop, "clear", X::Home, &["esc"], "clear the search"),

        row(C::Palette, "palette", X::Everywhere, &["ctrl-k"], "find any command").emacs(&["alt-x"]),
        row(C::Sessions, "sessions", X::Everywhere, &["ctrl-p"], "switch to another session").emacs(&["alt-s"]).slash(),
        row(C::Help, "help", X::Everywhere, &["f1"], "show every key").slash(),
        row(C::Help, "help-list", X::Home, &["?"], "show every key"),
        row(C::Help, "help-reading", X::Reading, &["?"], "show every key"),
        row(C::Notices, "notices", X::Everywhere, &["alt-n"], "show what was told lately, and put it away").slash(),
        row(C::Settings, "settings", X::Everywhere, &[], "see and change the settings of this server").slash(),
        row(C::Theme, "theme", X::Everywhere, &[], "choose the colours").slash(),
        row(C::Keep, "keep", X::Everywhere, &[], "keep the chosen colours in your preferences; the launcher shows what changes").slash(),
        row(C::Redraw, "redraw", X::Everywhere, &["ctrl-l"], "draw the screen again"),
        row(C::Suspend, "suspend", X::Everywhere, &["ctrl-z"], "suspend, as job control does"),
        row(C::Interrupt, "interrupt", X::Everywhere, &["ctrl-c"], "clear the message; in an empty one, twice: leave"),
        row(C::Quit, "quit", X::Everywhere, &["ctrl-q"], "leave; everything goes on running").slash(),

        row(C::Left, "left", X::Editing, &["left", "ctrl-b"], "left"),
        row(C::Right, "right", X::Editing, &["right"], "right").emacs(&["right", "ctrl-f"]),
        row(C::WordLeft, "word-left", X::Editing, &["ctrl-left", "alt-left", "alt-b"], "a word left"),
        row(C::WordRight, "word-right", X::Editing, &["ctrl-right", "alt-right", "alt-f"], "a word right"),
        row(C::LineStart, "line-start", X::Editing, &["home", "ctrl-a"], "start of the line"),
        row(C::LineEnd, "line-end", X::Editing, &["end", "ctrl-e"], "end of the line"),
        row(C::EraseBack, "erase", X::Editing, &["backspace", "shift-backspace", "ctrl-h"], "erase to the left"),
        row(C::EraseAhead, "delete", X::Editing, &["delete", "ctrl-d"], "erase to the right"),
        row(C::EraseWord, "erase-word", X::Editing, &["ctrl-w", "alt-backspace", "ctrl-backspace"], "erase the word to the left"),
        row(C::EraseWordAhead, "delete-word", X::Editing, &["alt-d", "ctrl-delete"], "erase the word to the right"),
        row(C::KillToStart, "kill-start", X::Editing, &["ctrl-u"], "erase to the start of the line"),
        row(C::KillToEnd, "kill-end", X::Editing, &["alt-k"], "erase to the end of the line").emacs(&["ctrl-k"]),
        row(C::Yank, "yank", X::Editing, &["alt-y"], "put back what was erased").emacs(&["ctrl-y"]),
        row(C::YankOlder, "yank-older", X::Editing, &["alt-Y"], "put back what was erased before that").emacs(&["alt-y"]),
        row(C::Undo, "undo", X::Editing, &["ctrl-_", "ctrl-/", "ctrl-7", "alt-z"], "undo"),
        row(C::Redo, "redo", X::Editing, &["alt-Z"], "do it again"),

        row(C::Up, "list-up", X::List, &["up", "ctrl-p", "backtab"], "the entry above"),
        row(C::Down, "list-down", X::List, &["down", "ctrl-n", "tab"], "the entry below"),
        row(C::PageUp, "list-pageup", X::List, &["pgup"], "a page up"),
        row(C::PageDown, "list-pagedown", X::List, &["pgdn"], "a page down"),
        row(C::Choose, "choose", X::List, &["enter"], "choose").hint("choose"),
        row(C::Close, "close", X::List, &["esc", "ctrl-c", "ctrl-k"], "close").hint("close"),
    ]
};

/// Returns the row of a command in a context.
pub(crate) fn binding(command: Command, context: Context) -> Option<&'static Binding> {
    TABLE
        .iter()
        .find(|b| b.command == command && b.context == context)
}

/// Returns a key as the table writes it: "ctrl-k", "alt-enter", "G".
pub(crate) fn name(key: Key) -> String {
    let held = key.modifiers;
    let mut name = String::new();
    if held.control {
        name.push_str("ctrl-");
    }
    if held.alt {
        name.push_str("alt-");
    }
    if held.shift && !matches!(key.code, KeyCode::Char(_) | KeyCode::BackTab) {
        name.push_str("shift-");
    }
    match key.code {
        KeyCode::Char(' ') => name.push_str("space"),
        KeyCode::Char(c) if held.control => name.extend(c.to_lowercase()),
        KeyCode::Char(c) => name.push(c),
        KeyCode::Function(n) => name.push_str(&format!("f{n}")),
        other => name.push_str(plain(other)),
    }
    name
}

/// Whether a text is the name of a key, as the table writes it.
pub(crate) fn is_name(text: &str) -> bool {
    let mut rest = text;
    for held in ["ctrl-", "alt-", "shift-"] {
        rest = rest
            .strip_prefix(held)
            .filter(|after| !after.is_empty())
            .unwrap_or(rest);
    }
    let function = rest.strip_prefix('f').and_then(|n| n.parse::<u8>().ok());
    let named = [
        KeyCode::Enter,
        KeyCode::Escape,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::Insert,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::PageUp,
        KeyCode::PageDown,
    ];
    rest.chars().count() == 1
        || rest == "space"
        || function.is_some_and(|n| (1..=24).contains(&n))
        || named.into_iter().any(|code| plain(code) == rest)
}

fn plain(code: KeyCode) -> &'static str {
    match code {
        KeyCode::Enter => "enter",
        KeyCode::Escape => "esc",
        KeyCode::Tab => "tab",
        KeyCode::BackTab => "backtab",
        KeyCode::Backspace => "backspace",
        KeyCode::Delete => "delete",
        KeyCode::Insert => "insert",
        KeyCode::Up => "up",
        KeyCode::Down => "down",
        KeyCode::Left => "left",
        KeyCode::Right => "right",
        KeyCode::Home => "home",
        KeyCode::End => "end",
        KeyCode::PageUp => "pgup",
        KeyCode::PageDown => "pgdn",
        KeyCode::Char(_) | KeyCode::Function(_) => "",
    }
}

/// Returns a key of the table as people write it: "Ctrl-K", "↑", "G".
pub(crate) fn written(key: &str) -> String {
    let (mut rest, mut text) = (key, String::new());
    for (prefix, shown) in [("ctrl-", "Ctrl-"), ("alt-", "Alt-"), ("shift-", "Shift-")] {
        if let Some(after) = rest.strip_prefix(prefix).filter(|after| !after.is_empty()) {
            text.push_str(shown);
            rest = after;
        }
    }
    let shown = match rest {
        "up" => "↑",
        "down" => "↓",
        "left" => "←",
        "right" => "→",
        "enter" => "Enter",
        "esc" => "Esc",
        "tab" => "Tab",
        "backtab" => "Shift-Tab",
        "backspace" => "Backspace",
        "delete" => "Delete",
        "home" => "Home",
        "end" => "End",
        "pgup" => "PgUp",
        "pgdn" => "PgDn",
        "space" => "Space",
        other => other,
    };
    let single = shown.chars().count() == 1 && !text.is_empty();
    let function =
        shown.len() > 1 && shown.starts_with('f') && shown[1..].bytes().all(|b| b.is_ascii_digit());
    if shown == "Z" && text == "Alt-" {
        text.push_str("Shift-");
    }
    if single || function {
        text.push_str(&shown.to_uppercase());
    } else {
        text.push_str(shown);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use porthole_bridge::Modifiers;
    use std::collections::BTreeMap;

    fn key(code: KeyCode, held: &str) -> Key {
        let modifiers = Modifiers {
            shift: held.contains('s'),
            control: held.contains('c'),
            alt: held.contains('a'),
        };
        Key { code, modifiers }
    }

    #[test]
    fn keys_are_named_as_the_table_writes_them() {
        let table = [
            (key(KeyCode::Char('k'), "c"), "ctrl-k"),
            (key(KeyCode::Char('K'), "cs"), "ctrl-k"),
            (key(KeyCode::Char('G'), "s"), "G"),
            (key(KeyCode::Enter, "a"), "alt-enter"),
            (key(KeyCode::Enter, "s"), "shift-enter"),
            (key(KeyCode::BackTab, "s"), "backtab"),
            (key(KeyCode::Function(1), ""), "f1"),
            (key(KeyCode::Char(' '), ""), "space"),
        ];
        for (key, text) in table {
            assert_eq!(name(key), text);
        }
    }

    #[test]
    fn no_key_means_two_things_in_one_place() {
        // Tab is the one key with two: it completes while the list of commands is open.
        let shared = [("tab", Context::Composer)];
        for preset in [Preset::Standard, Preset::Emacs, Preset::Vi] {
            for (context, _) in Context::ALL {
                let mut seen = BTreeMap::new();
                for binding in TABLE.iter().filter(|b| b.context == context) {
                    for key in binding.keys(preset) {
                        let before = seen.insert(*key, binding.id);
                        let fine = before.is_none() || shared.contains(&(*key, context));
                        assert!(fine, "{key} in {context:?}: {before:?} and {}", binding.id);
                    }
                }
            }
        }
    }

    #[test]
    fn commands_typed_after_a_slash_have_one_meaning() {
        let mut seen = BTreeMap::new();
        for binding in TABLE.iter().filter(|b| b.slash) {
            assert!(
                seen.insert(binding.id, binding.command).is_none(),
                "{}",
                binding.id
            );
        }
    }

    #[test]
    fn a_key_that_edits_text_means_nothing_else_where_text_is_typed() {
        for preset in [Preset::Standard, Preset::Emacs, Preset::Vi] {
            for edit in TABLE.iter().filter(|b| b.context == Context::Editing) {
                for key in edit.keys(preset) {
                    let other = TABLE.iter().find(|b| {
                        matches!(
                            b.context,
                            Context::Everywhere | Context::Conversation | Context::Composer
                        ) && b.keys(preset).contains(key)
                    });
                    assert!(
                        other.is_none(),
                        "{key}: {} and {:?}",
                        edit.id,
                        other.map(|b| b.id)
                    );
                }
            }
        }
    }
}
