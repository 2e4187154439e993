//! What looks like a secret, whoever's it is: tokens with a known start, credentials in headers, addresses and settings,
//! private keys. It errs towards leaving hashes, code and prose as they are.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What stands where a secret stood.
pub(super) const MASK: &str = "[redacted]";

/// Tokens that are told by their start. The first group, where there is one, stays.
const TOKENS: &[&str] = &[
    // Porthole's own.
    r"\bph[dogs]_[A-Za-z0-9_-]{8,}",
    // Model providers; also where a provider itself shortened the middle.
    r"\bsk-[A-Za-z0-9_*….-]*[0-9*…][A-Za-z0-9_*….-]{3,}",
    r"\bsk-[A-Za-z0-9_-]{20,}",
    r"\b(?:gsk_|xai-|pplx-|hf_|r8_|fw_|nvapi-|csk-|tgp_v1_)[A-Za-z0-9_-]{16,}",
    r"\bAIza[A-Za-z0-9_-]{16,}",
    // Code hosts and package registries.
    r"\bgh[pousr]_[A-Za-z0-9]{16,}",
    r"\bgithub_pat_[A-Za-z0-9_]{16,}",
    r"\bgl(?:pat|dt|rt|cbt|ptt|soat)-[A-Za-z0-9_-]{16,}",
    r"\b(?:npm_|pypi-|dckr_pat_|crates_|cio)[A-Za-z0-9_-]{24,}",
    // Clouds, payments, chats.
    r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b",
    r"\bya29\.[A-Za-z0-9_-]{16,}",
    r"\b[rsp]k_(?:live|test)_[A-Za-z0-9]{12,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"\bAGE-SECRET-KEY-1[0-9A-Z]{20,}",
    r"\bhttps://hooks\.slack\.com/services/[A-Za-z0-9/]{16,}",
    // Signed tokens: two parts of JSON in base64 and a signature.
    r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    // A private key on one line, also with its line ends escaped.
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)",
];

static TOKEN: LazyLock<Regex> = LazyLock::new(|| regex(&TOKENS.join("|")));
/// User and password in an address. A name alone stays where it is a login and not a token.
static USERINFO: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b([a-z][a-z0-9+.-]*://)([^\s/@:\x22'`]*)(:[^\s/@\x22'`]*)?@"));
/// Names in a query that hold credentials.
static QUERY: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)([?&#](?:[a-z0-9_-]*(?:key|token|secret|password|passwd|signature|credential)|sig|auth|code)=)[^&\s\x22'`#\[]{4,}",
    )
});
static HEADER: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b((?:proxy-)?authorization[\x22']?\s*[:=]\s*[\x22']?)((?:[a-z]+\s+)?[^\s\x22',<\[{$]{6,})",
    )
});
static COOKIE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)\b((?:set-)?cookie[\x22']?\s*[:=]\s*[\x22']?)([^\s=;\x22']+=[^\r\n\x22']*)")
});
static SCHEME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b((?:bearer|basic)\s+)([A-Za-z0-9._~+/=-]{16,})"));
/// A setting: a name that speaks of a secret, and its value.
static SETTING: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)([a-z0-9_.-]*(?:api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key|secret|token|passwd|password|passphrase|credential)[a-z0-9_-]*[\x22']?\s*(?:=|:)\s*[\x22']?)([^\s\x22'`,;&<>()\[\]{}$]{6,})",
    )
});

/// Returns the line without what looks like a secret.
pub(super) fn blot(line: &str) -> String {
    let line = TOKEN.replace_all(line, MASK);
    let line = USERINFO.replace_all(&line, userinfo);
    let line = QUERY.replace_all(&line, kept_name);
    let line = HEADER.replace_all(&line, |found: &Captures<'_>| match is_scheme(&found[2]) {
        true => found[0].to_owned(),
        false => kept_name(found),
    });
    let line = COOKIE.replace_all(&line, kept_name);
    let line = SCHEME.replace_all(&line, |found: &Captures<'_>| match has_digit(&found[2]) {
        true => kept_name(found),
        false => found[0].to_owned(),
    });
    let text = line.clone();
    SETTING
        .replace_all(&line, |found: &Captures<'_>| setting(&text, found))
        .into_owned()
}

/// Returns whether a line opens a private key that ends on a later one.
pub(super) fn opens_key(line: &str) -> bool {
    let Some(begin) = line.rfind("-----BEGIN ") else {
        return false;
    };
    line[begin..].contains("PRIVATE KEY") && !line[begin..].contains("-----END ")
}

/// Returns whether a line closes a private key.
pub(super) fn closes_key(line: &str) -> bool {
    line.contains("-----END ")
}

fn kept_name(found: &Captures<'_>) -> String {
    format!("{}{MASK}", &found[1])
}

fn userinfo(found: &Captures<'_>) -> String {
    let web = found[1].to_ascii_lowercase().starts_with("http");
    match (found.get(3), web) {
        (None, false) => found[0].to_owned(),
        _ => format!("{}{MASK}@", &found[1]),
    }
}

/// Code that only names a secret stays: what is called, indexed or plain words with a colon.
fn setting(text: &str, found: &Captures<'_>) -> String {
    let (name, value) = (&found[1], &found[2]);
    let end = found.get(2).map_or(text.len(), |m| m.end());
    let called = text[end..].starts_with(['(', '[', '{', '<', '$']);
    let mixed = has_digit(value) && value.chars().any(|c| c.is_alphabetic());
    let lower = name.to_ascii_lowercase();
    let pass = lower.contains("passw") || lower.contains("passphrase") || lower.contains("secret");
    let given = pass && name.contains('=') && !value.contains(['.', '/'])
        || name.ends_with(['"', '\'']) && pass;
    let symbol = pass && value.chars().any(|c| "!@#%^*?".contains(c));
    match !called && (mixed && value.chars().count() >= 8 || given || symbol) {
        true => format!("{name}{MASK}"),
        false => found[0].to_owned(),
    }
}

fn is_scheme(text: &str) -> bool {
    ["basic", "bearer", "digest", "negotiate"].contains(&text.to_ascii_lowercase().as_str())
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of this file, which a test compiles")
}
