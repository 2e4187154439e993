//! A provider's key, and the one place that blots keys out of texts. A key can neither be printed nor compared.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// What stands where a key stood.
const MASK: &str = "[key]";
/// Shorter keys are not searched for in texts: they would blot out words.
const SHORTEST_MASKED: usize = 6;
/// What keys of known providers start with.
const KNOWN_STARTS: [&str; 7] = ["sk-", "AIza", "ghp_", "github_pat_", "gsk_", "xai-", "hf_"];

/// A key. It has no `Debug` and no `Display` on purpose.
#[derive(Clone)]
pub(crate) struct Key(String);

impl Key {
    /// Returns the key in `text`, which came from `source`.
    ///
    /// # Errors
    /// Where it cannot be one, in a sentence that does not hold it.
    pub(crate) fn parse(text: &str, source: &str) -> Result<Self, String> {
        match fault(text) {
            None => Ok(Self(text.to_owned())),
            Some(fault) => {
                let count = text.chars().count();
                Err(format!(
                    "the key in `{source}` has {count} characters, {fault}"
                ))
            }
        }
    }

    /// Returns the key, to be put into a header that is marked as sensitive.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Returns the forms in which the key could stand in a text.
    fn forms(&self) -> Vec<String> {
        let json = serde_json::Value::from(self.0.as_str()).to_string();
        let form = url::form_urlencoded::byte_serialize(self.0.as_bytes()).collect::<String>();
        let percent = form.replace('+', "%20");
        let encoded = STANDARD.encode(&self.0);
        let mut forms = vec![
            self.0.clone(),
            json.trim_matches('"').to_owned(),
            form,
            percent,
        ];
        forms.push(encoded.trim_end_matches('=').to_owned());
        forms.retain(|form| form.len() >= SHORTEST_MASKED);
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        forms
    }
}

/// Returns what is wrong with a key.
fn fault(text: &str) -> Option<&'static str> {
    let quoted = |c: char| matches!(c, '"' | '\'' | '`' | '“' | '”');
    if text.is_empty() {
        Some("so it is none")
    } else if text.contains('\u{FEFF}') {
        Some("one of them a byte order mark")
    } else if text.contains(['\n', '\r']) {
        Some("one of them a line break")
    } else if text.starts_with(quoted) || text.ends_with(quoted) {
        Some("one of them a quotation mark around it")
    } else if text.contains(char::is_whitespace) {
        Some("one of them a blank")
    } else if !text.chars().all(|c| c.is_ascii_graphic()) {
        Some("one of them not of ASCII")
    } else {
        None
    }
}

/// Returns the text with every form of the key, and everything that looks like a provider's key, blotted out.
pub(crate) fn mask(text: &str, key: Option<&Key>) -> String {
    let mut text = text.to_owned();
    for form in key.map(Key::forms).unwrap_or_default() {
        text = text.replace(&form, MASK);
    }
    for start in KNOWN_STARTS {
        text = mask_runs(&text, start);
    }
    match key {
        Some(key) => mask_shortened(&text, &key.0),
        None => text,
    }
}

/// Blots out what starts like a key at the start of a word and goes on for a while.
fn mask_runs(text: &str, start: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(start) {
        let (before, run) = rest.split_at(at);
        let end = run.find(|c| !is_of_key(c)).unwrap_or(run.len());
        let inside_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
        let looks = !inside_word && run[..end].chars().count() >= start.len() + 8;
        out.push_str(before);
        out.push_str(if looks { MASK } else { &run[..end] });
        rest = &run[end..];
    }
    out + rest
}

fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_*….".contains(c)
}

/// Blots out words with a gap (`MyPla***ret!`) that start and end as the key does.
fn mask_shortened(text: &str, key: &str) -> String {
    let shortened = |word: &str| {
        let Some(gap) = word
            .find("**")
            .or_else(|| word.find('…'))
            .or_else(|| word.find("..."))
        else {
            return false;
        };
        let (head, tail) = word.split_at(gap);
        let tail = tail.trim_start_matches(['*', '…', '.']);
        let known = |part: &str| part.len() >= 3 && key.contains(part);
        known(head.trim_start_matches(|c: char| !c.is_alphanumeric()))
            || known(tail.trim_end_matches(|c: char| !c.is_alphanumeric()))
    };
    let words = text.split_inclusive(char::is_whitespace);
    let masked = words.map(|word| {
        let bare = word.trim_end();
        if shortened(bare) {
            format!("{MASK}{}", &word[bare.len()..])
        } else {
            word.to_owned()
        }
    });
    masked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Key {
        Key::parse(text, "K").unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn no_form_of_the_key_stays_in_a_text() {
        let secret = "My+/=&%\"\\Secret";
        let table = [
            format!("key {secret} refused"),
            format!("json {}", serde_json::json!({ "key": secret })),
            "url ?key=My%2B%2F%3D%26%25%22%5CSecret".to_owned(),
            format!("base64 {}", STANDARD.encode(secret)),
        ];
        for text in table {
            let masked = mask(&text, Some(&key(secret)));
            assert!(masked.contains(MASK), "{masked}");
            assert!(
                !masked.contains("Secret") && !masked.contains("TXkr"),
                "{masked}"
            );
        }
    }

    #[test]
    fn echoes_of_keys_are_masked_and_other_words_are_not() {
        let secret = key("MyPlainSecret!");
        let table = [
            (
                "Incorrect API key provided: sk-CANARY…9xQ2.",
                "Incorrect API key provided: [key]",
            ),
            ("key sk-ant-api03-CANARY1234 is bad", "key [key] is bad"),
            ("key sk-abc*****wxyz, sorry", "key [key], sorry"),
            ("(AIzaSyCANARY123456)", "([key])"),
            ("provided: MyPla***ret! now", "provided: [key] now"),
            ("task-oriented risk-averse", "task-oriented risk-averse"),
            ("model sk-1 is short", "model sk-1 is short"),
            ("wait... then try", "wait... then try"),
            (
                "prompt is too long: 210001 tokens",
                "prompt is too long: 210001 tokens",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(mask(text, Some(&secret)), expected);
        }
    }

    #[test]
    fn a_short_key_does_not_blot_out_words() {
        assert_eq!(mask("a test of 1234", Some(&key("test"))), "a test of 1234");
    }

    #[test]
    fn a_malformed_key_is_told_by_its_length_and_never_by_its_value() {
        for text in [
            "",
            "sk-CANARY\n",
            "\"sk-CANARY\"",
            "\u{FEFF}sk-CANARY",
            "sk CANARY",
            "sk-CANARYé",
        ] {
            let Err(told) = Key::parse(text, "MOCK_KEY") else {
                panic!("{text:?} is no key");
            };
            let length = format!("`MOCK_KEY` has {} characters", text.chars().count());
            assert!(told.contains(&length) && !told.contains("CANARY"), "{told}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_key_is_masked_wherever_it_stands(before in "\\PC{0,20}", after in "\\PC{0,20}") {
            let secret = "qZ9+/Secret=%";
            let masked = mask(&format!("{before}{secret}{after}"), Some(&key(secret)));
            proptest::prop_assert!(!masked.contains("Secret"));
        }
    }
}
