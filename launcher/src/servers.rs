//! `porthole servers`: the known servers, who one is there, when they were last used. Never a cookie.

use std::io::Write;

use serde::Serialize;

use crate::{
    credential::{Record, Store},
    driver::wall_ms,
    escape,
    failure::Failure,
    folders::Folders,
    surroundings::var,
};

/// One known server, as it is printed.
#[derive(Serialize)]
pub(crate) struct Server {
    origin: String,
    you: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    fingerprint: String,
    ui: Option<String>,
    last_used: u64,
}

impl Server {
    fn of(record: &Record) -> Self {
        Self {
            origin: record.origin.clone(),
            you: record.who_word(),
            session: match &record.who {
                porthole_door::Redeemer::Owner => None,
                porthole_door::Redeemer::Guest { session, .. } => Some(session.clone()),
            },
            fingerprint: record.fingerprint.clone(),
            ui: record.bundle.clone(),
            last_used: record.last_used,
        }
    }
}

/// Returns the known servers, the last used first.
///
/// # Errors
/// Where the credentials cannot be read.
pub(crate) fn known() -> Result<Vec<Server>, Failure> {
    let failed = |error: crate::folders::FolderError| Failure::new(error.to_string(), "");
    let folders = Folders::from_env(var).map_err(failed)?;
    let store = Store::open(&folders.state).map_err(failed)?;
    Ok(store
        .all()
        .map_err(failed)?
        .iter()
        .map(Server::of)
        .collect())
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
        writeln!(out, "{text}")?;
        return Ok(0);
    }
    if servers.is_empty() {
        writeln!(out, "No server is known. Run `porthole LINK`.")?;
    }
    let now = wall_ms() / 1000;
    for server in servers {
        let origin = escape::visible(&server.origin);
        let ago = ago(now.saturating_sub(server.last_used));
        writeln!(out, "{origin}  {}  last used {ago}", server.you)?;
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
        };
        let text = serde_json::to_string(&Server::of(&record)).expect("prints");
        assert!(
            !text.contains("canary") && !text.contains("porthole-device"),
            "{text}"
        );
    }
}
