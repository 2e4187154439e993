//! Secrets that are known by their value: found in every form in which programs print them. A value can neither be
//! printed nor asked for.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use aho_corasick::{AhoCorasick, MatchKind};
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use ring::hmac;

use super::shape;
use crate::token::hex;

/// Shorter values are no secrets to look for: they would blot out words.
const SHORTEST: usize = 8;
/// Values of fewer different characters neither.
const DIFFERENT: usize = 4;
/// Secrets that are remembered at most; beyond them the shapes alone protect.
const MOST: usize = 1_000;

/// A value that is too short or too plain to be looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value is too short or too plain to be looked for")]
pub struct TooWeak;

/// Known secrets.
#[derive(Clone, Default)]
pub struct Known {
    /// From each form to the name of its secret.
    forms: BTreeMap<String, String>,
    secrets: usize,
    search: Option<AhoCorasick>,
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known")
            .field("secrets", &self.secrets)
            .finish_non_exhaustive()
    }
}

impl Known {
    /// Adds a secret, to be found after [`Self::settle`]. Of a value of several lines each line is one.
    ///
    /// # Errors
    /// [`TooWeak`] where no line of it can be looked for.
    pub fn add(&mut self, name: &str, value: &str) -> Result<(), TooWeak> {
        let parts: Vec<&str> = value
            .lines()
            .map(str::trim)
            .filter(|v| is_strong(v))
            .collect();
        if parts.is_empty() {
            return Err(TooWeak);
        }
        for part in parts {
            if self.forms.contains_key(part) || self.secrets >= MOST {
                continue;
            }
            self.secrets += 1;
            for form in forms(part) {
                self.forms.insert(form, name.to_owned());
            }
        }
        Ok(())
    }

    /// Returns a mark of each form by which it is told from others; nobody learns the form from it.
    pub fn marks(&self, salt: &str) -> BTreeSet<String> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, salt.as_bytes());
        let mark = |form: &String| hex(&hmac::sign(&key, form.as_bytes()).as_ref()[..8]);
        self.forms.keys().map(mark).collect()
    }

    /// Returns whether the same secrets are known.
    pub fn is_as(&self, other: &Self) -> bool {
        self.forms.len() == other.forms.len()
    }

    /// Returns one line as it may be kept.
    pub fn line(&self, line: &str) -> String {
        shape::blot(&self.blot_known(line))
    }

    fn blot_known(&self, line: &str) -> String {
        let Some(search) = &self.search else {
            return line.to_owned();
        };
        let names: Vec<&String> = self.forms.values().collect();
        let mut out = String::with_capacity(line.len());
        search.replace_all_with(line, &mut out, |found, _, out| {
            let name = names.get(found.pattern().as_usize());
            out.push_str(&match name {
                Some(name) => format!("[redacted: {name}]"),
                None => "[redacted]".to_owned(),
            });
            true
        });
        out
    }

    /// Makes what was added be found.
    pub fn settle(&mut self) {
        // Too many forms for a search are no case: there is a bound on secrets and their sizes are those of variables.
        self.search = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(self.forms.keys())
            .ok();
    }
}

fn is_strong(value: &str) -> bool {
    let different: BTreeSet<char> = value.chars().collect();
    value.chars().count() >= SHORTEST && different.len() >= DIFFERENT
}

/// Returns how a value could stand in a text: as it is, escaped for JSON, for an address, in base64 also as a part of
/// something longer, and in hexadecimal.
fn forms(value: &str) -> Vec<String> {
    let json = serde_json::Value::from(value).to_string();
    let form: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let percent = form.replace('+', "%20");
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut all = vec![
        value.to_owned(),
        json[1..json.len() - 1].to_owned(),
        lower_escapes(&percent),
        percent,
        lower_escapes(&form),
        form,
        hex.to_uppercase(),
        hex,
    ];
    for offset in 0..3 {
        all.push(encoded_within(&STANDARD, value, offset));
        all.push(encoded_within(&URL_SAFE, value, offset));
    }
    all.retain(|form| form.chars().count() >= SHORTEST);
    all
}

fn lower_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = 0;
    for c in text.chars() {
        match c {
            '%' => rest = 2,
            _ if rest > 0 => {
                rest -= 1;
                out.push(c.to_ascii_lowercase());
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

/// Returns the characters of base64 that depend on the value alone where `offset` bytes stand before it.
fn encoded_within(engine: &impl base64::Engine, value: &str, offset: usize) -> String {
    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(value.as_bytes());
    let text = engine.encode(&bytes);
    let from = (offset * 8).div_ceil(6);
    let to = bytes.len() * 8 / 6;
    text.get(from..to).unwrap_or("").to_owned()
}
