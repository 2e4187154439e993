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
    sandbox::{self, attempts::Wall},
    servers,
    surroundings::{Surroundings, var},
    terminal::colors,
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
    /// Which walls stand around a UI, and every way out that was tried.
    sandbox: Option<sandbox::Standing>,
    servers: Vec<servers::Server>,
}

/// Looks at everything and prints it; the status is 1 where something does not work.
///
/// # Errors
/// Where the folders cannot be found or nothing can be printed.
pub fn run(json: bool) -> Result<u8, Failure> {
    let folders = Folders::of_visitor()?;
    let mut findings = vec![terminal(), color(), clipboard_way()];
    let sandbox = standing(&folders)?;
    findings.extend(walls(&sandbox));
    findings.push(preferences(&folders));
    findings.push(folder("state folder", &folders.state));
    findings.push(folder("cache folder", &folders.cache));
    let known = servers::known();
    findings.push(credentials(&known));
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        findings,
        sandbox: sandbox.ok(),
        servers: known.unwrap_or_default(),
    };
    print(&report, json)?;
    Ok(u8::from(report.findings.iter().any(|finding| !finding.ok)))
}

fn print(report: &Report, json: bool) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    if json {
        let text = serde_json::to_string_pretty(report).map_err(std::io::Error::from)?;
        writeln!(out, "{}", escape::json(&text))?;
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

/// Runs the smallest UI in a real sandbox, and tries to break out of it.
fn standing(folders: &Folders) -> Result<Result<sandbox::Standing, sandbox::UiFault>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(sandbox::check(&folders.cache)))
}

fn walls(standing: &Result<sandbox::Standing, sandbox::UiFault>) -> Vec<Finding> {
    let standing = match standing {
        Ok(standing) => standing,
        Err(fault) => {
            return vec![Finding {
                what: "walls",
                ok: false,
                found: fault.to_string(),
                hint: "is the program on a disk that may run programs, and `/proc` there?"
                    .to_owned(),
            }];
        }
    };
    let walls = standing.walls;
    [
        (
            Wall::Limits,
            "wall: limits",
            walls.limits,
            "memory, CPU and descriptors of a UI's process",
        ),
        (
            Wall::Privileges,
            "wall: privileges",
            walls.privileges,
            "a UI's process can gain none",
        ),
        (
            Wall::Files,
            "wall: files",
            walls.files,
            "a UI's process reaches no file",
        ),
        (
            Wall::Calls,
            "wall: calls",
            walls.calls,
            "a UI's process reaches no network and no program",
        ),
    ]
    .into_iter()
    .map(|(wall, what, stands, means)| found(standing, wall, what, stands, means))
    .collect()
}

fn found(
    standing: &sandbox::Standing,
    wall: Wall,
    what: &'static str,
    stands: bool,
    means: &str,
) -> Finding {
    let tried = standing.tried.iter().filter(|tried| tried.wall == wall);
    let through: Vec<&str> = tried
        .clone()
        .filter(|tried| !tried.held)
        .map(|tried| tried.what.as_str())
        .collect();
    // What an older kernel's part of a wall lets through, the last wall refuses.
    let last_holds = standing.walls.calls
        && (standing.tried.iter()).all(|tried| tried.wall != Wall::Calls || tried.held);
    let names = escape::visible_cut(&through.join(", "), 200);
    let (found, hint) = match (stands, through.as_slice()) {
        (true, []) => (format!("{means} ({} ways tried)", tried.count()), ""),
        (true, _) if wall != Wall::Calls && last_holds => (
            format!("{means}; only the wall of calls refuses: {names}"),
            "",
        ),
        (true, _) => (
            format!("it did not hold against: {names}"),
            "the wasm sandbox stands without it",
        ),
        (false, _) => (
            "there is no such wall on this system".to_owned(),
            "the wasm sandbox stands without it",
        ),
    };
    Finding {
        what,
        ok: hint.is_empty(),
        found,
        hint: hint.to_owned(),
    }
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
