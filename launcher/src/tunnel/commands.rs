//! The owner's commands at the other end of an ssh connection: find or start the server, make a link, find or make a session.
//! Words that come back are escaped before they are shown; a link goes to whoever asked and nowhere else.

use porthole_door::Link;
use serde_json::Value;
use tokio::sync::MutexGuard;

use super::{
    State,
    ssh::{Ssh, SshError},
};
use crate::{escape, failure::Failure};

const SAID_COLUMNS: usize = 200;
/// Where `portholed` may lie without being in the PATH of a shell that nobody logged in to.
const PATHS: &str = r#"PATH="$PATH:$HOME/.local/bin:$HOME/.cargo/bin"; export PATH"#;

/// Sees that a server runs at the other end, and returns its port.
pub(super) async fn find_server(ssh: &mut Ssh) -> Result<u16, SshError> {
    ssh.run(PATHS).await?;
    let (status, _) = ssh.run("command -v portholed").await?;
    if status != 0 {
        return Err(SshError::NoServer);
    }
    if let Some(port) = port(ssh).await? {
        return Ok(port);
    }
    // Another account's server may have the usual port.
    let start = "portholed start || portholed start --listen 127.0.0.1:0";
    let (status, said) = ssh.run(start).await?;
    match port(ssh).await? {
        Some(port) => Ok(port),
        None => Err(failed("`portholed start`", status, &said)),
    }
}

async fn port(ssh: &mut Ssh) -> Result<Option<u16>, SshError> {
    let (status, said) = ssh.run("portholed status --json").await?;
    Ok(port_of(&said).filter(|_| status == 0))
}

fn port_of(status: &str) -> Option<u16> {
    let status: Value = serde_json::from_str(status).ok()?;
    let address = status.get("address")?.as_str()?;
    address
        .rsplit_once(':')?
        .1
        .trim_end_matches('/')
        .parse()
        .ok()
}

fn failed(what: &str, status: u8, said: &str) -> SshError {
    let line = said.lines().map(str::trim).find(|line| !line.is_empty());
    let line = escape::visible_cut(line.unwrap_or("it said nothing"), SAID_COLUMNS);
    SshError::Command(format!("{what} failed there (status {status}): {line}"))
}

/// The other end, while nobody else speaks to it.
pub struct Remote<'a> {
    host: &'a str,
    state: MutexGuard<'a, State>,
}

impl<'a> Remote<'a> {
    pub(super) fn new(host: &'a str, state: MutexGuard<'a, State>) -> Self {
        Self { host, state }
    }

    /// Makes an owner link there.
    ///
    /// # Errors
    /// Where the server makes none.
    pub async fn owner_link(&mut self) -> Result<Link, Failure> {
        let (status, said) = self.run("portholed link owner").await?;
        let link = said
            .split_whitespace()
            .find(|word| word.contains("#owner="));
        let parsed = link.and_then(|link| Link::parse(link).ok());
        // What was said may hold the link, so none of it is repeated.
        parsed.ok_or_else(|| {
            failed("`portholed link owner`", status, "no link came").to_failure(self.host)
        })
    }

    /// Returns the newest session that works in `dir`, or a new one. A relative folder is below the home there.
    ///
    /// # Errors
    /// Where the folder is not there, or the server makes no session.
    pub async fn session(&mut self, dir: &str) -> Result<String, Failure> {
        let word = dir_word(dir);
        let (status, folder) = self.run(&format!("cd -- {word} && pwd -P")).await?;
        if status != 0 {
            return Err(failed("opening the folder", status, &folder).to_failure(self.host));
        }
        let (_, listing) = self.run("portholed sessions --json").await?;
        if let Some(id) = newest_in(&listing, &folder) {
            return Ok(id);
        }
        let (status, said) = self.run(&format!("portholed new -- {word}")).await?;
        let id = said.lines().last().unwrap_or_default().trim();
        match status == 0 && is_id(id) {
            true => Ok(id.to_owned()),
            false => Err(failed("`portholed new`", status, &said).to_failure(self.host)),
        }
    }

    async fn run(&mut self, command: &str) -> Result<(u8, String), Failure> {
        let host = self.host;
        let ended = || SshError::Ended("it ended".to_owned());
        let ssh = self
            .state
            .ssh
            .as_mut()
            .ok_or_else(|| ended().to_failure(host))?;
        // In a shell of its own, so that a changed folder stays there.
        let run = ssh.run(&format!("( {command} )")).await;
        run.map_err(|error| error.to_failure(host))
    }
}

fn newest_in(listing: &str, folder: &str) -> Option<String> {
    let rows: Value = serde_json::from_str(listing).ok()?;
    let here = rows
        .as_array()?
        .iter()
        .filter(|row| row["dir"].as_str() == Some(folder));
    let newest = here.max_by_key(|row| row["updated_ms"].as_u64())?;
    newest["id"]
        .as_str()
        .filter(|id| is_id(id))
        .map(str::to_owned)
}

fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=64).contains(&text.len()) && text.chars().all(plain)
}

/// Returns a folder as one word of the shell; a leading `~` is the home there.
fn dir_word(dir: &str) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    match dir.strip_prefix('~') {
        Some("") => "\"$HOME\"".to_owned(),
        Some(rest) if rest.starts_with('/') => format!("\"$HOME\"{}", quoted(rest)),
        _ => quoted(dir),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_word_whatever_it_holds() {
        for (dir, expected) in [
            ("src/shop", "'src/shop'"),
            ("~", "\"$HOME\""),
            ("~/a b", "\"$HOME\"'/a b'"),
            ("~root", "'~root'"),
            ("it's; rm -rf $HOME `x`", r"'it'\''s; rm -rf $HOME `x`'"),
        ] {
            assert_eq!(dir_word(dir), expected);
        }
    }

    #[test]
    fn the_port_is_read_from_every_form_of_address() {
        for (address, expected) in [
            ("127.0.0.1:7420", Some(7420)),
            ("http://127.0.0.1:81/", Some(81)),
            ("[::1]:9", Some(9)),
            ("nowhere", None),
        ] {
            let status = serde_json::json!({ "address": address }).to_string();
            assert_eq!(port_of(&status), expected, "{address}");
        }
        assert_eq!(port_of("no JSON"), None);
    }

    #[test]
    fn the_newest_session_of_the_folder_is_found_and_odd_ids_are_not() {
        let listing = r#"[
            {"id":"s1","dir":"/a","updated_ms":1},
            {"id":"s2","dir":"/a","updated_ms":3},
            {"id":"s3","dir":"/b","updated_ms":9},
            {"id":"$(x)","dir":"/c","updated_ms":9}
        ]"#;
        assert_eq!(newest_in(listing, "/a").as_deref(), Some("s2"));
        assert_eq!(newest_in(listing, "/c"), None);
        assert_eq!(newest_in("", "/a"), None);
    }
}
