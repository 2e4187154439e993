//! The owner's settings as a list to choose from: what holds, what else could, and the change to ask for. The server keeps
//! the file and checks every value; nothing here does.

use porthole_protocol::{
    Call, Policy, PromptCache, QueueMode, SettingChange, Settings, SettingsState, ToolRule, Topic,
};

use crate::{
    App,
    conversation_view::thinking_word,
    notice::Tone,
    picker::{Choice, Item, Picker},
};

/// What can be chosen about settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SettingChoice {
    /// Shows what one could be.
    Look(String),
    /// Sets it; `None`: the default again.
    Set(String, Option<String>),
}

/// How a setting is changed.
enum Form {
    /// By one of these values, each with its meaning.
    Words(&'static [(&'static str, &'static str)]),
    /// By a model.
    Model,
    /// By what is typed: an example.
    Number(&'static str),
    /// By what is typed, as a text.
    Text(&'static str),
    /// By what is typed, as a list with commas.
    List(&'static str),
}

const YES_NO: &[(&str, &str)] = &[("true", "yes"), ("false", "no")];
const QUEUES: &[(&str, &str)] = &[("all", "all that wait"), ("one", "the oldest")];

/// Returns what a setting is about and how it is changed; `None`: it is one of a table.
fn form(key: &str) -> Option<(&'static str, Form)> {
    Some(match key {
        "model" => ("model of new sessions", Form::Model),
        "thinking" => (
            "thinking of new sessions",
            Form::Words(&[
                ("off", "answers at once"),
                ("low", "a little"),
                ("medium", "for harder things"),
                ("high", "as much as the model may"),
            ]),
        ),
        "policy" => (
            "what tools may do in new sessions",
            Form::Words(&[
                ("ask", "reading runs; edits and commands ask"),
                ("auto", "everything runs without asking"),
                ("read-only", "reading runs; the rest is refused"),
            ]),
        ),
        "streaming" => ("show answers while they come in", Form::Words(YES_NO)),
        "prompt_cache" => (
            "how long providers keep what they read",
            Form::Words(&[
                ("off", "not at all"),
                ("short", "minutes"),
                ("long", "an hour"),
            ]),
        ),
        "steering" => ("steers taken at once", Form::Words(QUEUES)),
        "follow_up" => ("follow-ups taken at once", Form::Words(QUEUES)),
        "script" => (
            "the model may write scripts that call tools",
            Form::Words(YES_NO),
        ),
        "tools_at_once" => ("reading tools that run at a time", Form::Number("1 to 16")),
        "retry.tries" => ("tries of a failed request", Form::Number("1 to 20")),
        "compaction.automatic" => ("sum up long conversations", Form::Words(YES_NO)),
        "compaction.at_percent" => (
            "when so many percent of the window are used",
            Form::Number("10 to 95"),
        ),
        "cycle" => (
            "models to step through",
            Form::List("anthropic/*:high, qwen"),
        ),
        "owner_name" => ("your name, as others see it", Form::Text("Ada")),
        _ => return None,
    })
}

const RULES: &[(&str, &str)] = &[
    ("auto", "runs without asking"),
    ("ask", "asks, whatever the session says"),
    ("off", "is not offered"),
];
const GUESTS: &[(&str, &str)] = &[
    ("ask", "asks"),
    ("auto", "runs everything"),
    ("read-only", "reads only"),
];

/// Returns every setting with what it is now, in the order to show.
fn values(settings: &Settings) -> Vec<(String, String)> {
    let flag = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let model = settings.model.as_ref().map(ToString::to_string);
    let cycle = match settings.cycle.is_empty() {
        true => "all that are ready".to_owned(),
        false => settings.cycle.join(", "),
    };
    let plain = [
        ("model", model.unwrap_or_else(|| "the first ready".into())),
        ("thinking", thinking_word(settings.thinking).to_owned()),
        ("policy", policy_word(settings.policy).to_owned()),
        ("cycle", cycle),
        ("streaming", flag(settings.streaming)),
        ("steering", queue_word(settings.steering).to_owned()),
        ("follow_up", queue_word(settings.follow_up).to_owned()),
        ("script", flag(settings.script)),
        ("tools_at_once", settings.tools_at_once.to_string()),
        ("retry.tries", settings.retry.tries.to_string()),
        ("prompt_cache", cache_word(settings.prompt_cache).to_owned()),
        ("compaction.automatic", flag(settings.compaction.automatic)),
        (
            "compaction.at_percent",
            format!("{} %", settings.compaction.at_percent),
        ),
        (
            "owner_name",
            settings
                .owner_name
                .clone()
                .unwrap_or_else(|| "the account's".into()),
        ),
    ];
    let tools = settings.tools.iter();
    let tools = tools.map(|(name, rule)| (format!("tools.{name}"), rule_word(*rule).to_owned()));
    let guests = settings.guests.iter();
    let guests =
        guests.map(|(id, policy)| (format!("guests.{id}"), policy_word(*policy).to_owned()));
    let plain = plain
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value));
    plain.chain(tools).chain(guests).collect()
}

fn policy_word(policy: Policy) -> &'static str {
    match policy {
        Policy::Ask => "ask",
        Policy::Auto => "auto",
        Policy::ReadOnly => "read-only",
    }
}

fn queue_word(mode: QueueMode) -> &'static str {
    match mode {
        QueueMode::All => "all",
        QueueMode::One => "one",
    }
}

fn cache_word(cache: PromptCache) -> &'static str {
    match cache {
        PromptCache::Off => "off",
        PromptCache::Short => "short",
        PromptCache::Long => "long",
    }
}

fn rule_word(rule: ToolRule) -> &'static str {
    match rule {
        ToolRule::Auto => "auto",
        ToolRule::Ask => "ask",
        ToolRule::Off => "off",
    }
}

/// Returns the rows of the page, and its last line.
fn page(state: Option<&SettingsState>) -> (Vec<Item>, String) {
    let Some(state) = state else {
        let items = vec![Item::words("asking the server …")];
        return (items, String::new());
    };
    let mut items: Vec<Item> = Vec::new();
    if let Some(fault) = &state.fault {
        let words = format!(
            "line {}: {}; what held before still does",
            fault.line, fault.message
        );
        items.push(Item::words(words));
    }
    let warnings = state.warnings.iter();
    items.extend(warnings.map(|w| Item::words(format!("line {}: {}", w.line, w.message))));
    items.extend(values(&state.settings).into_iter().map(|(key, value)| {
        let label = form(&key).map_or_else(|| key.clone(), |(about, _)| about.to_owned());
        let choice = Choice::Setting(SettingChoice::Look(key));
        Item::new(choice, label, value)
    }));
    (items, format!("kept in {}", state.path))
}

/// Returns a typed value as the file holds it.
fn written(key: &str, text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    Some(match form(key) {
        Some((_, Form::List(_))) => {
            let parts = text.split(',').map(str::trim).filter(|p| !p.is_empty());
            format!("[{}]", parts.map(quoted).collect::<Vec<_>>().join(", "))
        }
        Some((_, Form::Text(_))) => quoted(text),
        _ => text.to_owned(),
    })
}

impl App {
    /// Shows the settings.
    pub(crate) fn show_settings(&mut self) {
        if !self.fx.is_owner() {
            self.fx.say(Tone::Info, "only the owner has settings");
            return;
        }
        self.fx.server.watch(Topic::Settings);
        let (items, footer) = page(self.settings.as_ref());
        self.picker = Some(Picker::new("settings of this server", items, footer));
    }

    /// Takes the settings as they are.
    pub(crate) fn took_settings(&mut self, state: SettingsState) {
        let is_page = |c: &Choice| matches!(c, Choice::Setting(SettingChoice::Look(_)));
        let waits = self.settings.is_none();
        let (items, footer) = page(Some(&state));
        if let Some(picker) = self
            .picker
            .as_mut()
            .filter(|p| p.offers(is_page) || (waits && p.is_titled("settings of this server")))
        {
            picker.fill(items, footer);
        }
        self.settings = Some(state);
    }

    /// Does what was chosen about settings.
    pub(crate) fn choose_setting(&mut self, choice: SettingChoice) {
        match choice {
            SettingChoice::Look(key) => self.picker = Some(self.setting_list(&key)),
            SettingChoice::Set(key, value) => {
                self.save_settings(vec![SettingChange { key, value }]);
                self.show_settings();
            }
        }
    }

    /// Takes what was typed for a setting.
    pub(crate) fn typed_setting(&mut self, key: &str, text: &str) {
        let value = written(key, text);
        self.choose_setting(SettingChoice::Set(key.to_owned(), value));
    }

    fn setting_list(&self, key: &str) -> Picker {
        let set = |value: &str| {
            Choice::Setting(SettingChoice::Set(key.to_owned(), Some(value.to_owned())))
        };
        let default = Choice::Setting(SettingChoice::Set(key.to_owned(), None));
        let settings = self.settings.as_ref().map(|state| &state.settings);
        let now = settings.and_then(|settings| {
            let found = values(settings).into_iter().find(|(k, _)| k == key);
            found.map(|(_, value)| value)
        });
        let now = now.unwrap_or_default();
        let rows = |words: &[(&str, &str)]| -> Vec<Item> {
            let is_now = |value: &str, meaning: &str| value == now || meaning == now;
            words
                .iter()
                .map(|(value, meaning)| {
                    Item::new(set(value), *value, *meaning).current(is_now(value, meaning))
                })
                .collect()
        };
        let (title, mut items) = match form(key) {
            Some((title, Form::Words(words))) => (title.to_owned(), rows(words)),
            Some((title, Form::Model)) => (title.to_owned(), self.model_rows(&set, &now)),
            Some((title, Form::Number(example) | Form::Text(example) | Form::List(example))) => {
                let footer = format!("like {example}; nothing typed: the default again");
                return Picker::field(title, key, footer);
            }
            None if key.starts_with("guests.") => (key.to_owned(), rows(GUESTS)),
            None => (key.to_owned(), rows(RULES)),
        };
        items.push(Item::new(default, "the default again", ""));
        Picker::new(title, items, "")
    }

    fn model_rows(&self, set: &dyn Fn(&str) -> Choice, now: &str) -> Vec<Item> {
        let models = self.models.iter().flat_map(|models| &models.models);
        models
            .filter(|info| info.ready)
            .map(|info| {
                let name = info.model.to_string();
                let quoted = serde_json::Value::from(name.as_str()).to_string();
                Item::new(set(&quoted), name.clone(), &info.source).current(name == now)
            })
            .collect()
    }

    /// Asks for changes of the settings.
    fn save_settings(&mut self, changes: Vec<SettingChange>) {
        let request = self.fx.ids.request();
        self.fx.call(Call::SettingsSave { request, changes });
    }

    /// Makes the model and the thinking of the open conversation those of new sessions.
    pub(crate) fn make_default(&mut self) {
        let info = self.info().map(|i| (i.model.to_string(), i.thinking));
        let Some((model, thinking)) = info.filter(|_| self.fx.is_owner()) else {
            self.fx
                .say(Tone::Info, "the owner does that in a conversation");
            return;
        };
        let level = thinking_word(thinking);
        let words = format!("new sessions get {model}, thinking {level}");
        let quoted = serde_json::Value::from(model).to_string();
        let change = |key: &str, value: String| SettingChange {
            key: key.to_owned(),
            value: Some(value),
        };
        self.save_settings(vec![
            change("model", quoted),
            change("thinking", level.to_owned()),
        ]);
        self.fx.say(Tone::Info, words);
    }

    /// Asks which models there are to step through, and steps when the answer comes.
    pub(crate) fn step_model(&mut self) {
        if self.open.is_some() && self.fx.is_owner() {
            self.fx.call(Call::ModelsScope {});
        }
    }

    /// Steps to the model after the present one.
    pub(crate) fn took_scope(&mut self, scope: porthole_protocol::replies::Scope) {
        let current = self.info().map(|info| info.model.clone());
        let at = scope
            .models
            .iter()
            .position(|m| Some(&m.model) == current.as_ref());
        let next = at.map_or(0, |at| at + 1);
        let next = scope.models.get(next).or(scope.models.first()).cloned();
        match next.filter(|next| Some(&next.model) != current.as_ref() || next.thinking.is_some()) {
            Some(next) => {
                self.fx
                    .say(Tone::Done, format!("{} answers now", next.model));
                self.configure(Some(next.model), next.thinking, None);
            }
            None => {
                let words = "there is no other model to step to; /settings names them";
                self.fx.say(Tone::Info, words);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_written_as_the_file_holds_it() {
        for (key, text, value) in [
            ("owner_name", "Ada \"L\"", Some("\"Ada \\\"L\\\"\"")),
            ("cycle", "a/b:high, , c", Some("[\"a/b:high\", \"c\"]")),
            ("retry.tries", " 3 ", Some("3")),
            ("retry.tries", "  ", None),
        ] {
            assert_eq!(written(key, text).as_deref(), value, "{key} {text}");
        }
    }

    #[test]
    fn every_plain_setting_can_be_looked_at() {
        for (key, _) in values(&Settings::default()) {
            assert!(form(&key).is_some(), "{key}");
        }
    }
}
