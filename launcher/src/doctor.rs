//! `porthole doctor`: what works here, what does not, and what to do about it. It changes nothing.

use std::{
    io::{IsTerminal, Write},
    path::Path,
};

use porthole_bridge::ColorDepth;
use serde::Serialize;

use crate::{
    clipboard, escape,
    failure::Failure,
    folders::{self, Folders},
    preferences::Preferences,
    servers,
    surroundings::{Surroundings, var},
    terminal::colors,
    walls,
};

/// One thing that was looked at.
#[derive(Serialize)]
struct Finding {
    what: &'static str,
    ok: bool,
    found: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    hint: String,
}

#[derive(Serialize)]
struct Report {
    version: &'static str,
    findings: Vec<Finding>,
    servers: Vec<servers::Server>,
}

/// Looks at everything and prints it; the status is 1 where something does not work.
///
/// # Errors
/// Where the folders cannot be found or nothing can be printed.
pub fn run(json: bool) -> Result<u8, Failure> {
    let folders =
        Folders::from_env(var).map_err(|error| Failure::new(error.to_string(), "set `HOME`"))?;
    let mut findings = vec![terminal(), color(), clipboard_way()];
    findings.extend(walls(&folders));
    findings.push(preferences(&folders));
    findings.push(folder("state folder", &folders.state));
    findings.push(folder("cache folder", &folders.cache));
    let known = servers::known();
    findings.push(credentials(&known));
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        findings,
        servers: known.unwrap_or_default(),
    };
    print(&report, json)?;
    Ok(u8::from(report.findings.iter().any(|finding| !finding.ok)))
}

fn print(report: &Report, json: bool) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    if json {
        let text = serde_json::to_string_pretty(report).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
        return Ok(());
    }
    writeln!(out, "porthole {}", report.version)?;
    for finding in &report.findings {
        let mark = if finding.ok { "ok " } else { "no " };
        writeln!(out, "  {mark} {:<16} {}", finding.what, finding.found)?;
        if !finding.hint.is_empty() {
            writeln!(out, "      {:<16} hint: {}", "", finding.hint)?;
        }
    }
    Ok(())
}

fn terminal() -> Finding {
    let name = escape::visible_cut(&var("TERM").unwrap_or_default(), 40);
    // The report itself may go into a pipe.
    let reached = std::io::stdin().is_terminal()
        || std::io::stdout().is_terminal()
        || std::io::stderr().is_terminal();
    let ok = reached && name != "dumb";
    Finding {
        what: "terminal",
        ok,
        found: match ok {
            true => name,
            false => "there is no terminal that can place text".to_owned(),
        },
        hint: match ok {
            true => String::new(),
            false => "run `porthole` in a terminal window".to_owned(),
        },
    }
}

fn color() -> Finding {
    let found = match colors::depth(var) {
        ColorDepth::None => "none",
        ColorDepth::Sixteen => "16",
        ColorDepth::Indexed => "256",
        ColorDepth::True => "24 bits",
    };
    Finding {
        what: "colours",
        ok: true,
        found: found.to_owned(),
        hint: String::new(),
    }
}

fn clipboard_way() -> Finding {
    let ways: Vec<&str> = clipboard::ways(Surroundings::from_env(var))
        .into_iter()
        .map(|way| match way {
            clipboard::Way::Desktop => "the desktop",
            clipboard::Way::Tmux => "tmux",
            clipboard::Way::Screen => "through GNU screen",
            clipboard::Way::Terminal => "the terminal (it never says whether it took the text)",
        })
        .collect();
    Finding {
        what: "clipboard",
        ok: true,
        found: ways.join(", then "),
        hint: String::new(),
    }
}

fn walls(folders: &Folders) -> Vec<Finding> {
    let wall = |what, ok, found: &str| Finding {
        what,
        ok,
        found: found.to_owned(),
        hint: match ok {
            true => String::new(),
            false => "this system has no such wall; the wasm sandbox stands without it".to_owned(),
        },
    };
    let Some(walls) = walls::probe(&folders.cache) else {
        return vec![Finding {
            what: "walls",
            ok: false,
            found: "a UI's process could not be started".to_owned(),
            hint: "is the program on a disk that may run programs, and `/proc` there?".to_owned(),
        }];
    };
    vec![
        wall(
            "wall: limits",
            walls.limits,
            "memory, CPU and descriptors of a UI's process",
        ),
        wall(
            "wall: privileges",
            walls.privileges,
            "a UI's process can gain none",
        ),
        wall("wall: files", walls.files, "a UI's process reaches no file"),
        wall(
            "wall: calls",
            walls.calls,
            "a UI's process reaches no network and no program",
        ),
    ]
}

fn preferences(folders: &Folders) -> Finding {
    let path = folders.config.join("preferences.toml");
    let shown = escape::visible(&path.to_string_lossy());
    match Preferences::read(&folders.config) {
        Ok(_) => Finding {
            what: "preferences",
            ok: true,
            found: shown,
            hint: String::new(),
        },
        Err(failure) => Finding {
            what: "preferences",
            ok: false,
            found: failure.message,
            hint: failure.hint,
        },
    }
}

fn folder(what: &'static str, path: &Path) -> Finding {
    let shown = escape::visible(&path.to_string_lossy());
    let mode = folders::mode_of(path);
    let ok = mode.is_none_or(|mode| mode == 0o700);
    Finding {
        what,
        ok,
        found: match mode {
            Some(mode) => format!("{shown} (mode {mode:04o})"),
            None => format!("{shown} (made when it is needed)"),
        },
        hint: match ok {
            true => String::new(),
            false => format!("`chmod 700 {shown}`"),
        },
    }
}

fn credentials(known: &Result<Vec<servers::Server>, Failure>) -> Finding {
    match known {
        Ok(servers) => Finding {
            what: "servers",
            ok: true,
            found: format!("{} known", servers.len()),
            hint: String::new(),
        },
        Err(failure) => Finding {
            what: "servers",
            ok: false,
            found: failure.message.clone(),
            hint: failure.hint.clone(),
        },
    }
}
