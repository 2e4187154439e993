//! Where this server's secrets are: variables by their names, and what `models.toml` names. It keeps no value.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use porthole_worker::tool::is_secret_name;

use super::Redaction;

/// Largest file of a key.
const KEY_FILE_BYTES: u64 = 64 << 10;

/// Learns every secret that can be found now; those that were found before stay known. Returns the names of values that
/// are too short or plain to be looked for.
pub fn learn(
    redaction: &Redaction,
    data: &Path,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<String> {
    let named = named_in_models(data);
    let is_named = |name: &str| named.variables.iter().any(|named| named == name);
    let variables = variables.into_iter().filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        (is_secret_name(name.as_ref()) || is_named(&name))
            .then(|| Some((name, value.into_string().ok()?)))?
    });
    let files = named.files.iter().filter_map(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some((name, read_bounded(path)?))
    });
    // An empty variable is no secret and nothing to warn of.
    let filled = |(_, value): &(String, String)| !value.trim().is_empty();
    redaction.learn(variables.chain(files).filter(filled))
}

#[derive(Default)]
struct Named {
    variables: Vec<String>,
    files: Vec<PathBuf>,
}

/// Reads loosely: a file that the worker would refuse may still name a key.
fn named_in_models(data: &Path) -> Named {
    let mut named = Named::default();
    let text = read_bounded(&data.join("models.toml")).unwrap_or_default();
    let Ok(table) = text.parse::<toml::Table>() else {
        return named;
    };
    let providers = table.get("provider").and_then(toml::Value::as_table);
    for provider in providers.into_iter().flat_map(|all| all.values()) {
        let text = |key| provider.get(key).and_then(toml::Value::as_str);
        named.variables.extend(text("key_env").map(str::to_owned));
        named
            .files
            .extend(text("key_file").map(|file| resolved(data, file)));
    }
    named
}

fn resolved(data: &Path, file: &str) -> PathBuf {
    match (file.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => data.join(file),
    }
}

fn read_bounded(path: &Path) -> Option<String> {
    let metadata = std::fs::metadata(path).ok()?;
    let small = metadata.is_file() && metadata.len() <= KEY_FILE_BYTES;
    small.then(|| std::fs::read_to_string(path).ok())?
}
