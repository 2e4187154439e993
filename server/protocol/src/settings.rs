//! The owner's settings as everyone reads them: plain data with its defaults. How a file says them, and what follows
//! from them, is not here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ModelRef, Policy, Thinking};

/// What the owner set. Each field has the default that holds where nothing is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The model of new sessions; `None`: that of `models.toml`, else the first that is ready.
    pub model: Option<ModelRef>,
    /// How much it thinks in new sessions.
    pub thinking: Thinking,
    /// Whether an answer is shown while it comes in; otherwise once it is whole.
    pub streaming: bool,
    /// How long a provider is asked to keep what it read.
    pub prompt_cache: PromptCache,
    /// Tool calls that only read, at most so many at a time: 1 to 16.
    pub tools_at_once: u32,
    /// Which steers enter the turn before its next model request.
    pub steering: QueueMode,
    /// Which follow-ups the next turn answers.
    pub follow_up: QueueMode,
    /// Whether the model may write scripts that call tools.
    pub script: bool,
    /// The owner's name, to show; `None`: the account's.
    pub owner_name: Option<String>,
    /// What new sessions let tools do without asking.
    pub policy: Policy,
    /// What single tools may do, by name; it goes before the session's policy, but never past read-only.
    pub tools: BTreeMap<String, ToolRule>,
    /// What tools may do at most in a turn that answers a guest, by the guest's id; `*` is every other guest.
    pub guests: BTreeMap<String, Policy>,
    /// The models to step through, in order: `provider/model`, a part of a name, `*` and `?`, each with an optional `:thinking`.
    pub cycle: Vec<String>,
    /// When a failed model request is tried again.
    pub retry: RetrySettings,
    /// When a conversation is summed up by itself.
    pub compaction: CompactionSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: None,
            thinking: Thinking::Off,
            streaming: true,
            prompt_cache: PromptCache::Short,
            tools_at_once: 4,
            steering: QueueMode::All,
            follow_up: QueueMode::One,
            script: true,
            owner_name: None,
            policy: Policy::Ask,
            tools: BTreeMap::new(),
            guests: BTreeMap::new(),
            cycle: Vec::new(),
            retry: RetrySettings::default(),
            compaction: CompactionSettings::default(),
        }
    }
}

impl Settings {
    /// Returns the policy of a turn that answers these guests: the session's, or a stricter one.
    pub fn policy_for<'a>(&self, session: Policy, guests: impl Iterator<Item = &'a str>) -> Policy {
        let of = |guest: &str| self.guests.get(guest).or_else(|| self.guests.get("*"));
        guests
            .filter_map(of)
            .fold(session, |policy, more| policy.stricter(*more))
    }

    /// Returns whether a tool is offered to models at all.
    pub fn offers(&self, tool: &str) -> bool {
        self.tools.get(tool) != Some(&ToolRule::Off) && (self.script || tool != "script")
    }
}

/// How long a provider is asked to keep what it read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptCache {
    /// Not at all, where that can be said.
    Off,
    /// Minutes.
    #[default]
    Short,
    /// An hour, where the provider has that.
    Long,
}

/// How many of those that wait are taken at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueMode {
    /// All of them.
    All,
    /// The oldest.
    One,
}

/// What a single tool may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolRule {
    /// It runs without asking.
    Auto,
    /// It asks, whatever the session's policy lets it do.
    Ask,
    /// It is not offered, and refused where it is called all the same.
    Off,
}

/// When a failed model request is tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RetrySettings {
    /// How often a request is made at most: 1 to 20. One: never again.
    pub tries: u32,
    /// The first wait in milliseconds; it doubles with each try.
    pub first_ms: u64,
    /// The longest of these waits in milliseconds.
    pub longest_ms: u64,
    /// The longest wait that a provider may ask for, in seconds; with a longer one the request fails at once. `None`: any.
    pub longest_asked_s: Option<u64>,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            tries: 6,
            first_ms: 500,
            longest_ms: 30_000,
            longest_asked_s: None,
        }
    }
}

/// When a conversation is summed up by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactionSettings {
    /// Whether it is at all.
    pub automatic: bool,
    /// With more than so many hundredths of the model's window in use: 10 to 95.
    pub at_percent: u32,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            automatic: true,
            at_percent: 85,
        }
    }
}

/// The settings in force, and what is wrong with their file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsState {
    /// Which version: it grows with each change.
    pub version: u64,
    /// What holds now.
    pub settings: Settings,
    /// The file, as shown.
    pub path: String,
    /// Why the file as it is now is not in force, where that is so: the settings are those of the last good one.
    #[serde(default)]
    pub fault: Option<SettingsFault>,
    /// Lines that were passed over: names that no setting has.
    #[serde(default)]
    pub warnings: Vec<SettingsFault>,
    /// Whether variables of the server name the default model, so that [`Settings::model`] does not count.
    #[serde(default)]
    pub model_from_environment: bool,
}

/// What is wrong with the file of the settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsFault {
    /// From 1; 0 where it is of the whole file.
    pub line: u32,
    /// What is wrong, for a person.
    pub message: String,
    /// What to do; may be empty.
    #[serde(default)]
    pub hint: String,
}

/// One setting to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingChange {
    /// Its name with dots: `policy`, `retry.tries`, `tools.shell`.
    pub key: String,
    /// Its value as TOML, or as a bare word; `None`: the default again.
    pub value: Option<String>,
}

impl Policy {
    /// Returns the stricter of two.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        match (self, other) {
            (Self::ReadOnly, _) | (_, Self::ReadOnly) => Self::ReadOnly,
            (Self::Ask, _) | (_, Self::Ask) => Self::Ask,
            (Self::Auto, Self::Auto) => Self::Auto,
        }
    }
}
