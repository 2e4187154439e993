//! `mcp.toml`: text in, servers out, a fault with what is wrong. It reads no file and no variable, and no secret stands in it.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;
use url::Url;

/// Most servers.
const MOST_SERVERS: usize = 32;
/// Longest name of a server.
const NAME_BYTES: usize = 20;

/// A server that the owner configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerConfig {
    /// Lower-case letters, digits and hyphens.
    pub(crate) name: String,
    pub(crate) reach: Reach,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A program of this machine, over its pipes.
    Program {
        command: String,
        args: Vec<String>,
        /// Variables that it gets; no secrets.
        env: BTreeMap<String, String>,
        /// The server's own variables that it gets as well.
        pass: Vec<String>,
    },
    /// An address.
    Http {
        url: Url,
        /// The variable with the key that goes as a bearer token.
        key_env: Option<String>,
        /// Headers, and the variables with their values.
        headers: BTreeMap<String, String>,
    },
}

impl ServerConfig {
    /// Returns the variables that hold its secrets.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &String> {
        let (pass, key, headers) = match &self.reach {
            Reach::Program { pass, .. } => (Some(pass), None, None),
            Reach::Http {
                key_env, headers, ..
            } => (None, key_env.as_ref(), Some(headers)),
        };
        pass.into_iter()
            .flatten()
            .chain(key)
            .chain(headers.into_iter().flat_map(BTreeMap::values))
    }

    /// Returns in a few words how it is reached; never with a value of a variable.
    pub(crate) fn shown(&self) -> String {
        match &self.reach {
            Reach::Program { command, args, .. } => match args.is_empty() {
                true => command.clone(),
                false => format!("{command} {}", args.join(" ")),
            },
            Reach::Http { url, .. } => url.to_string(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    server: BTreeMap<String, Spanned<Section>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    pass: Vec<String>,
    url: Option<String>,
    key_env: Option<String>,
    #[serde(default)]
    header_env: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
}

/// Returns the servers that the text configures and that are not switched off, in the order of their names.
///
/// # Errors
/// The first fault, with its line and without the text of the line.
pub(crate) fn parse(text: &str) -> Result<Vec<ServerConfig>, String> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        fault(text, at, error.message())
    })?;
    if file.server.len() > MOST_SERVERS {
        return Err(format!("there are more than {MOST_SERVERS} servers"));
    }
    let mut servers = Vec::new();
    for (name, section) in file.server {
        let at = section.span().start;
        let section = section.into_inner();
        if !section.disabled {
            servers.push(server(name, section).map_err(|why| fault(text, at, &why))?);
        }
    }
    Ok(servers)
}

fn fault(text: &str, at: usize, why: &str) -> String {
    let line = text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
    format!("line {line}: {why}")
}

fn server(name: String, section: Section) -> Result<ServerConfig, String> {
    let fits = !name.is_empty()
        && name.len() <= NAME_BYTES
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if !fits {
        return Err(format!(
            "a server's name has lower-case letters, digits and hyphens, at most {NAME_BYTES}"
        ));
    }
    let variables = section
        .pass
        .iter()
        .chain(&section.key_env)
        .chain(section.header_env.values())
        .chain(section.env.keys());
    if let Some(bad) = variables.into_iter().find(|name| !is_variable(name)) {
        return Err(format!(
            "`{}` names no variable",
            crate::fit::start(bad, 40)
        ));
    }
    let reach = match (section.command, section.url) {
        (Some(command), None) if !command.trim().is_empty() => {
            if section.key_env.is_some() || !section.header_env.is_empty() {
                return Err("`key_env` and `header_env` are for a `url`; name variables that a command is to get in `pass`".to_owned());
            }
            Reach::Program {
                command,
                args: section.args,
                env: section.env,
                pass: section.pass,
            }
        }
        (None, Some(url)) => {
            if !section.args.is_empty() || !section.env.is_empty() || !section.pass.is_empty() {
                return Err("`args`, `env` and `pass` are for a `command`".to_owned());
            }
            Reach::Http {
                url: address(&url)?,
                key_env: section.key_env,
                headers: section.header_env,
            }
        }
        _ => return Err(format!("server `{name}` has either a `command` or a `url`")),
    };
    Ok(ServerConfig { name, reach })
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn address(url: &str) -> Result<Url, String> {
    let url = Url::parse(url).map_err(|_| "`url` is no address".to_owned())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("keys are not written here: name a variable with `key_env`".to_owned());
    }
    let local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    match url.scheme() {
        "https" => Ok(url),
        "http" if local => Ok(url),
        _ => Err("a `url` is https, or http on this machine".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_addresses_are_read_and_what_is_off_is_left_out() {
        let text = r#"
[server.files]
command = "files-mcp"
args = ["--root", "."]
env = { MODE = "x" }
pass = ["FILES_TOKEN"]
[server.off]
command = "no"
disabled = true
[server.tracker]
url = "https://tracker.example/mcp"
key_env = "TRACKER_KEY"
header_env = { X-Team = "TEAM" }
"#;
        let servers = parse(text).expect("makes sense");
        let names: Vec<_> = servers.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["files", "tracker"]);
        let secrets: Vec<_> = servers.iter().flat_map(ServerConfig::secrets).collect();
        assert_eq!(secrets, ["FILES_TOKEN", "TRACKER_KEY", "TEAM"]);
        assert_eq!(servers[0].shown(), "files-mcp --root .");
    }

    #[test]
    fn what_makes_no_sense_is_told_with_its_line_and_never_with_a_key() {
        for (text, why) in [
            ("\n[server.a]\n", "line 2: server `a` has either"),
            (
                "[server.a]\ncommand='x'\nurl='https://x/'",
                "either a `command` or a `url`",
            ),
            ("[server.A]\ncommand='x'", "lower-case"),
            (
                "[server.a]\nurl='http://far.example/'",
                "https, or http on this machine",
            ),
            (
                "[server.a]\nurl='https://u:secret@x/'",
                "keys are not written here",
            ),
            ("[server.a]\ncommand='x'\nkey_env='K'", "`pass`"),
            (
                "[server.a]\nurl='https://x/'\nkey_env='sk-1 2'",
                "names no variable",
            ),
            ("[server.a]\ncommnd='x'", "line 2"),
            ("[server", "line 1"),
        ] {
            let fault = parse(text).expect_err(text);
            assert!(fault.contains(why), "{text}: {fault}");
            assert!(!fault.contains("secret"), "{fault}");
        }
    }
}
