//! `settings.toml`: text in, settings out, every fault with its line; and the same text with one setting changed, the
//! rest of it as it was. It reads no file.

use std::ops::Range;

use porthole_protocol::{
    ModelRef, Policy, PromptCache, QueueMode, SettingChange, Settings, SettingsFault, Thinking,
    ToolRule, limits,
};
use toml_edit::{Document, DocumentMut, Item, TableLike, Value};

/// Longest name of a tool or a guest.
const NAME_BYTES: usize = 128;
/// The tables; every other setting stands at the top.
const TABLES: [&str; 4] = ["retry", "compaction", "tools", "guests"];

/// What a text says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// The settings, with the default of each that is not there.
    pub(super) settings: Settings,
    /// Names that no setting has.
    pub(super) warnings: Vec<SettingsFault>,
}

/// Returns what the text of `settings.toml` says.
///
/// # Errors
/// The first fault, with its line.
pub(super) fn parse(text: &str) -> Result<Form, SettingsFault> {
    let bare = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let document = Document::parse(bare).map_err(|error| SettingsFault {
        line: line_of(bare, error.span()),
        message: error
            .message()
            .lines()
            .next()
            .unwrap_or("this is no TOML")
            .to_owned(),
        hint: "the file is read as TOML; it was not changed".to_owned(),
    })?;
    let mut form = Form {
        settings: Settings::default(),
        warnings: Vec::new(),
    };
    for (key, item) in document.iter() {
        match item.as_table_like() {
            Some(table) if TABLES.contains(&key) => form.table(bare, key, table)?,
            _ => form.take(bare, key, item)?,
        }
    }
    Ok(form)
}

impl Form {
    fn table(
        &mut self,
        text: &str,
        name: &str,
        table: &dyn TableLike,
    ) -> Result<(), SettingsFault> {
        table
            .iter()
            .try_for_each(|(key, item)| self.take(text, &format!("{name}.{key}"), item))
    }

    fn take(&mut self, text: &str, key: &str, item: &Item) -> Result<(), SettingsFault> {
        let fault = |refused: Refused| SettingsFault {
            line: line_of(text, item.span()),
            message: format!("`{key}` {}", refused.0),
            hint: refused.1,
        };
        let value = item.as_value();
        match value.map_or(Ok(false), |value| set(&mut self.settings, key, value)) {
            Ok(true) => Ok(()),
            Err(refused) => Err(fault(refused)),
            Ok(false) if TABLES.contains(&key) => Err(fault(Refused::new(
                "is a table",
                format!("write `[{key}]`"),
            ))),
            Ok(false) => {
                let unknown = Refused::new("is no setting; it was passed over", String::new());
                self.warnings.push(fault(unknown));
                Ok(())
            }
        }
    }
}

/// Returns the text with these settings changed and the rest of it as it was, byte for byte.
///
/// # Errors
/// Where the text has a fault, or a change makes no sense: then nothing is changed.
pub(super) fn change(text: &str, changes: &[SettingChange]) -> Result<String, SettingsFault> {
    parse(text)?;
    let whole = |message: String, hint: &str| SettingsFault {
        line: 0,
        message,
        hint: hint.to_owned(),
    };
    let mut document: DocumentMut = text
        .strip_prefix('\u{FEFF}')
        .unwrap_or(text)
        .parse()
        .map_err(|_| whole("the file is no TOML".to_owned(), ""))?;
    for change in changes {
        let key = change.key.as_str();
        let value = change.value.as_deref().map(|text| value(key, text));
        if let Some(value) = &value {
            let known = set(&mut Settings::default(), key, value)
                .map_err(|refused| whole(format!("`{key}` {}", refused.0), &refused.1))?;
            if !known {
                let hint = "`portholed settings` lists them";
                return Err(whole(format!("there is no setting `{key}`"), hint));
            }
        }
        put(&mut document, key, value);
    }
    let text = document.to_string();
    parse(&text)?;
    Ok(text)
}

/// Returns what a person wrote as a value: TOML, or a bare word.
fn value(key: &str, text: &str) -> Value {
    let words = matches!(key, "model" | "owner_name");
    match text.trim().parse::<Value>() {
        Ok(value) if !words || value.is_str() => value,
        _ => Value::from(text.trim()),
    }
}

fn put(document: &mut DocumentMut, key: &str, value: Option<Value>) {
    let (table, name) = match key.split_once('.') {
        Some((table, name)) => (Some(table), name),
        None => (None, key),
    };
    let root = document.as_table_mut();
    let at: &mut dyn TableLike = match table {
        None => root,
        Some(table) => {
            if value.is_none() && !root.contains_key(table) {
                return;
            }
            let item = root.entry(table).or_insert_with(toml_edit::table);
            match item.as_table_like_mut() {
                Some(table) => table,
                None => return,
            }
        }
    };
    match (value, at.get_mut(name).and_then(Item::as_value_mut)) {
        (Some(mut value), Some(there)) => {
            // What stands around it, a comment behind it for one, stays.
            *value.decor_mut() = there.decor().clone();
            *there = value;
        }
        (Some(value), None) => {
            at.insert(name, Item::Value(value));
        }
        (None, _) => {
            at.remove(name);
        }
    }
}

/// Why a value is refused, and what to write.
struct Refused(String, String);

impl Refused {
    fn new(why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self(why.into(), hint.into())
    }
}

/// Sets one setting; returns whether there is such a one.
fn set(settings: &mut Settings, key: &str, value: &Value) -> Result<bool, Refused> {
    match key.split_once('.') {
        Some(("tools", tool)) => {
            let rule = word(value, &RULES)?;
            settings.tools.insert(name(tool)?, rule);
        }
        Some(("guests", guest)) => {
            let policy = word(value, &POLICIES)?;
            settings.guests.insert(name(guest)?, policy);
        }
        Some(("retry", field)) => return retry(settings, field, value),
        Some(("compaction", "automatic")) => settings.compaction.automatic = flag(value)?,
        Some(("compaction", "at_percent")) => {
            settings.compaction.at_percent = number(value, 10, 95)?;
        }
        Some(_) => return Ok(false),
        None => return set_plain(settings, key, value),
    }
    Ok(true)
}

fn retry(settings: &mut Settings, field: &str, value: &Value) -> Result<bool, Refused> {
    /// A day.
    const LONGEST_MS: u64 = 24 * 60 * 60 * 1_000;
    let retry = &mut settings.retry;
    match field {
        "tries" => retry.tries = number(value, 1, 20)?,
        "first_ms" => retry.first_ms = number(value, 1, LONGEST_MS)?,
        "longest_ms" => retry.longest_ms = number(value, 1, LONGEST_MS)?,
        "longest_asked_s" => retry.longest_asked_s = Some(number(value, 0, LONGEST_MS)?),
        _ => return Ok(false),
    }
    Ok(true)
}

fn set_plain(settings: &mut Settings, key: &str, value: &Value) -> Result<bool, Refused> {
    match key {
        "model" => settings.model = Some(model(value)?),
        "thinking" => settings.thinking = word(value, &LEVELS)?,
        "streaming" => settings.streaming = flag(value)?,
        "prompt_cache" => settings.prompt_cache = word(value, &CACHES)?,
        "tools_at_once" => settings.tools_at_once = number(value, 1, 16)?,
        "steering" => settings.steering = word(value, &QUEUES)?,
        "follow_up" => settings.follow_up = word(value, &QUEUES)?,
        "script" => settings.script = flag(value)?,
        "owner_name" => settings.owner_name = Some(owner_name(value)?),
        "policy" => settings.policy = word(value, &POLICIES)?,
        "cycle" => settings.cycle = cycle(value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

const POLICIES: [(&str, Policy); 3] = [
    ("ask", Policy::Ask),
    ("auto", Policy::Auto),
    ("read-only", Policy::ReadOnly),
];
const RULES: [(&str, ToolRule); 3] = [
    ("auto", ToolRule::Auto),
    ("ask", ToolRule::Ask),
    ("off", ToolRule::Off),
];
const QUEUES: [(&str, QueueMode); 2] = [("all", QueueMode::All), ("one", QueueMode::One)];
const CACHES: [(&str, PromptCache); 3] = [
    ("off", PromptCache::Off),
    ("short", PromptCache::Short),
    ("long", PromptCache::Long),
];
const LEVELS: [(&str, Thinking); 4] = [
    ("off", Thinking::Off),
    ("low", Thinking::Low),
    ("medium", Thinking::Medium),
    ("high", Thinking::High),
];

fn word<T: Copy>(value: &Value, words: &[(&str, T)]) -> Result<T, Refused> {
    let text = value.as_str().map(|text| text.replace('_', "-"));
    let found = words
        .iter()
        .find(|(word, _)| text.as_deref() == Some(*word));
    found.map(|(_, meant)| *meant).ok_or_else(|| {
        let words: Vec<_> = words
            .iter()
            .map(|(word, _)| format!("`\"{word}\"`"))
            .collect();
        Refused::new("has no such value", format!("write {}", words.join(", ")))
    })
}

fn flag(value: &Value) -> Result<bool, Refused> {
    let refused = || Refused::new("is no `true` or `false`", "write it without quotes");
    value.as_bool().ok_or_else(refused)
}

fn number<T: TryFrom<i64> + Copy + Into<u64>>(
    value: &Value,
    least: u64,
    most: u64,
) -> Result<T, Refused> {
    let number = value
        .as_integer()
        .and_then(|number| T::try_from(number).ok());
    let within = |number: &T| (least..=most).contains(&(*number).into());
    number
        .filter(within)
        .ok_or_else(|| Refused::new("is no number that fits", format!("write {least} to {most}")))
}

fn model(value: &Value) -> Result<ModelRef, Refused> {
    value.as_str().and_then(ModelRef::parse).ok_or_else(|| {
        let hint = "for example `\"local/qwen\"`; `portholed models` lists what there is";
        Refused::new("is not of the form `PROVIDER/MODEL`", hint)
    })
}

fn owner_name(value: &Value) -> Result<String, Refused> {
    let most = limits::NAME_CHARS;
    let fits = |name: &&str| {
        !name.trim().is_empty()
            && name.chars().count() <= most
            && !name.chars().any(char::is_control)
    };
    let name = value
        .as_str()
        .filter(fits)
        .map(|name| name.trim().to_owned());
    name.ok_or_else(|| Refused::new("is no name", format!("write 1 to {most} characters")))
}

fn name(name: &str) -> Result<String, Refused> {
    let fits = !name.is_empty() && name.len() <= NAME_BYTES && !name.chars().any(char::is_control);
    match fits {
        true => Ok(name.to_owned()),
        false => Err(Refused::new("has a name that nothing has", "")),
    }
}

fn cycle(value: &Value) -> Result<Vec<String>, Refused> {
    let (most, chars) = (limits::CYCLE_PATTERNS, limits::CYCLE_PATTERN_CHARS);
    let hint = "for example `[\"anthropic/*:high\", \"qwen\"]`";
    let list = value
        .as_array()
        .ok_or_else(|| Refused::new("is no list", hint))?;
    if list.len() > most {
        return Err(Refused::new(format!("has over {most} patterns"), ""));
    }
    let pattern = |value: &Value| {
        let text = value.as_str().map(str::trim);
        let fits = |text: &&str| !text.is_empty() && text.chars().count() <= chars;
        text.filter(fits).map(str::to_owned)
    };
    let patterns: Option<Vec<_>> = list.iter().map(pattern).collect();
    patterns.ok_or_else(|| {
        Refused::new(
            format!("has a pattern that is no text of 1 to {chars} characters"),
            hint,
        )
    })
}

/// Returns the line, from 1.
fn line_of(text: &str, span: Option<Range<usize>>) -> u32 {
    let at = span.map_or(0, |span| span.start);
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    let breaks = before.iter().filter(|byte| **byte == b'\n').count();
    u32::try_from(breaks + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str, key: &str, value: Option<&str>) -> Result<String, SettingsFault> {
        let change = SettingChange {
            key: key.to_owned(),
            value: value.map(str::to_owned),
        };
        super::change(text, &[change])
    }

    const FILE: &str = "\
# mine
policy = \"auto\" # careful
tools_at_once = 2

[retry]
tries = 3
# a newer version knows this
later = [1, 2]

[tools]
shell = \"ask\"

[guests]
\"*\" = \"read-only\"
";

    #[test]
    fn a_file_says_what_it_says_and_a_strange_name_is_told_with_its_line() {
        let form = parse(FILE).expect("parses");
        assert_eq!(form.settings.policy, Policy::Auto);
        assert_eq!(form.settings.tools_at_once, 2);
        assert_eq!(form.settings.retry.tries, 3);
        assert_eq!(form.settings.tools["shell"], ToolRule::Ask);
        assert_eq!(form.settings.guests["*"], Policy::ReadOnly);
        let lines: Vec<_> = form
            .warnings
            .iter()
            .map(|w| (w.line, w.message.as_str()))
            .collect();
        assert_eq!(
            lines,
            [(8, "`retry.later` is no setting; it was passed over")]
        );
        assert_eq!(parse("").expect("parses").settings, Settings::default());
    }

    #[test]
    fn each_fault_has_its_line() {
        for (text, line, words) in [
            ("policy = \"auto\"\nthinking = 3\n", 2, "`thinking`"),
            ("\n\npolicy = \"sometimes\"", 3, "`policy`"),
            ("policy = \"auto\"\npolicy = \"ask\"", 2, "duplicate"),
            ("a = \nb = 1", 1, ""),
            ("tools_at_once = 17", 1, "`tools_at_once`"),
            ("[retry]\ntries = 0", 2, "`retry.tries`"),
            (
                "[compaction]\nat_percent = 96",
                2,
                "`compaction.at_percent`",
            ),
            ("retry = 3", 1, "is a table"),
            ("model = \"qwen\"", 1, "PROVIDER/MODEL"),
            ("owner_name = \" \"", 1, "is no name"),
            ("streaming = \"yes\"", 1, "`streaming`"),
            ("cycle = [\"\"]", 1, "`cycle`"),
            ("[tools]\n\n\nshell = \"never\"", 4, "`tools.shell`"),
        ] {
            let fault = parse(text).expect_err(text);
            assert_eq!(fault.line, line, "{text}: {fault:?}");
            assert!(fault.message.contains(words), "{text}: {fault:?}");
        }
        let many = format!("cycle = [{}]", "\"a\",".repeat(501));
        assert!(parse(&many).is_err() && parse(&many.replacen("\"a\",", "", 1)).is_ok());
        let long = format!("cycle = [\"{}\"]", "ä".repeat(301));
        assert!(parse(&long).is_err() && parse(&long.replacen('ä', "", 1)).is_ok());
    }

    #[test]
    fn a_change_leaves_everything_else_as_it_was() {
        let text = changed(FILE, "policy", Some("read-only")).expect("changes");
        assert_eq!(text, FILE.replace("\"auto\" #", "\"read-only\" #"));
        let text = changed(FILE, "retry.tries", Some("5")).expect("changes");
        assert_eq!(text, FILE.replace("tries = 3", "tries = 5"));
        let text = changed(FILE, "retry.tries", None).expect("changes");
        assert_eq!(parse(&text).expect("parses").settings.retry.tries, 6);
        assert!(text.contains("later = [1, 2]") && text.contains("# a newer version"));
        let text = changed("", "compaction.automatic", Some("false")).expect("changes");
        assert_eq!(text, "[compaction]\nautomatic = false\n");
        let text = changed("", "owner_name", Some("7")).expect("changes");
        assert_eq!(text, "owner_name = \"7\"\n");
    }

    #[test]
    fn what_cannot_be_is_refused_and_so_is_a_text_with_a_fault() {
        for (text, key, value) in [
            (FILE, "policy", "perhaps"),
            (FILE, "retyr.tries", "3"),
            (FILE, "nothing", "3"),
            (FILE, "tools_at_once", "0"),
            ("policy = ", "policy", "auto"),
        ] {
            assert!(changed(text, key, Some(value)).is_err(), "{key} {value}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}", value in ".{0,40}") {
            let _ = parse(&text).is_ok();
            let _ = changed(&text, "owner_name", Some(&value)).is_ok();
        }
    }
}
