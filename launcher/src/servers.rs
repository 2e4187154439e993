//! `porthole servers`: the known servers, who one is there, when they were last used. Never a cookie.

use std::io::Write;

use porthole_door::Redeemer;
use serde::Serialize;

use crate::{
    credential::{Record, Store},
    driver::wall_ms,
    escape,
    failure::Failure,
    folders::Folders,
};

/// One known server, as it is printed.
#[derive(Serialize)]
pub(crate) struct Server {
    origin: String,
    you: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssh: Option<String>,
    fingerprint: String,
    ui: Option<String>,
    last_used: u64,
}

impl Server {
    fn of(record: &Record) -> Self {
        Self {
            origin: record.origin.clone(),
            you: record.who_word(),
            session: record.session().map(str::to_owned),
            mode: match &record.who {
                Redeemer::Owner => None,
                Redeemer::Guest { mode, .. } => Some(mode.clone()),
            },
            ssh: record.ssh.clone(),
            fingerprint: record.fingerprint.clone(),
            ui: record.bundle.clone(),
            last_used: record.last_used,
        }
    }
}

impl Server {
    fn line(&self, now: u64) -> String {
        let origin = escape::visible(&self.origin);
        let ssh = self.ssh.as_deref().map(|host| {
            let host = escape::visible_cut(host, 60);
            format!(" through ssh {host}")
        });
        let you = match (&self.mode, &self.session) {
            (Some(mode), Some(session)) => {
                let (mode, session) = (
                    escape::visible_cut(mode, 8),
                    escape::visible_cut(session, 40),
                );
                format!("guest ({mode}) of {session}")
            }
            _ => self.you.to_owned(),
        };
        let ago = ago(now.saturating_sub(self.last_used));
        format!(
            "{origin}{}  {you}  last used {ago}",
            ssh.unwrap_or_default()
        )
    }
}

/// Returns the known servers, the last used first.
///
/// # Errors
/// Where the credentials cannot be read.
pub(crate) fn known() -> Result<Vec<Server>, Failure> {
    let known = Store::open(&Folders::of_visitor()?.state)?.known()?;
    known.warn();
    Ok(known.records.iter().map(Server::of).collect())
}

/// Prints the known servers.
///
/// # Errors
/// Where the credentials cannot be read.
pub fn run(json: bool) -> Result<u8, Failure> {
    let servers = known()?;
    let mut out = std::io::stdout().lock();
    if json {
        let text = serde_json::to_string_pretty(&servers).map_err(std::io::Error::from)?;
        writeln!(out, "{}", escape::json(&text))?;
        return Ok(0);
    }
    if servers.is_empty() {
        writeln!(out, "No server is known. Run `porthole LINK`.")?;
    }
    let now = wall_ms() / 1000;
    for server in servers {
        writeln!(out, "{}", server.line(now))?;
    }
    Ok(0)
}

fn ago(seconds: u64) -> String {
    match seconds {
        0..=59 => "just now".to_owned(),
        60..=3_599 => format!("{} min ago", seconds / 60),
        3_600..=86_399 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_of_a_record_holds_no_cookie() {
        let record = Record {
            origin: "http://127.0.0.1:1".into(),
            fingerprint: "f".into(),
            cookie_name: "porthole-device-1".into(),
            cookie_value: "phd_canary".into(),
            who: porthole_door::Redeemer::Owner,
            last_used: 5,
            bundle: None,
            ssh: Some("box".into()),
        };
        let line = Server::of(&record).line(70);
        assert_eq!(
            line,
            "http://127.0.0.1:1 through ssh box  owner  last used 1 min ago"
        );
        let text = serde_json::to_string(&Server::of(&record)).expect("prints");
        assert!(
            !text.contains("canary") && !text.contains("porthole-device"),
            "{text}"
        );
    }
}
