//! From nothing to a conversation: builds, starts the server, redeems an owner link, opens the UI.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context;
use serde_json::Value;

use crate::{bundle, cargo};

/// Does it all; `dir` is where the session works.
pub(crate) fn run(dir: Option<PathBuf>, release: bool, open: bool) -> anyhow::Result<()> {
    let dir = working_dir(dir)?;
    cargo::say("step 1 of 3: building the UI");
    let bundle = bundle::build()?;
    let programs = build_programs(release)?;
    let server = programs.join("portholed");
    start(&server, &bundle)?;
    let session = session_for(&server, &dir)?;
    let link = owner_link(&server)?;
    cargo::say("opening the UI");
    let opened = if open {
        open_ui(&programs, &link, &session)
    } else {
        Ok(())
    };
    cargo::say(&format!(
        "the server goes on. Stop it with `{} stop`",
        server.display()
    ));
    cargo::say(&format!(
        "come back with `{}`",
        programs.join("porthole").display()
    ));
    opened
}

fn working_dir(dir: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let dir = dir
        .map_or_else(env::current_dir, Ok)
        .context("there is no current directory")?;
    dir.canonicalize()
        .with_context(|| format!("there is no directory `{}`", dir.display()))
}

fn build_programs(release: bool) -> anyhow::Result<PathBuf> {
    cargo::say("step 2 of 3: building the launcher and the server, the longest part");
    let mut arguments = vec![
        "build",
        "--package",
        "porthole",
        "--package",
        "portholed",
        "--bins",
    ];
    if release {
        arguments.push("--release");
    }
    cargo::cargo(&arguments)?;
    Ok(cargo::target().join(if release { "release" } else { "debug" }))
}

fn start(server: &Path, bundle: &Path) -> anyhow::Result<()> {
    cargo::say("step 3 of 3: starting the server and making a link");
    let said = cargo::output(
        Command::new(server)
            .arg("start")
            .arg("--bundle")
            .arg(bundle),
    )?;
    cargo::say(said.lines().next().unwrap_or("it runs"));
    Ok(())
}

/// Returns the newest session that works in `dir`, or a new one.
fn session_for(server: &Path, dir: &Path) -> anyhow::Result<String> {
    let listing = cargo::output(Command::new(server).args(["sessions", "--json"]))?;
    let sessions: Value =
        serde_json::from_str(&listing).context("`portholed sessions --json` printed no JSON")?;
    match newest_in(&sessions, dir) {
        Some(id) => Ok(id),
        None => cargo::output(Command::new(server).arg("new").arg(dir)),
    }
}

fn newest_in(sessions: &Value, dir: &Path) -> Option<String> {
    let rows = sessions.as_array()?;
    let here = rows.iter().filter(|row| {
        row["dir"].as_str().is_some_and(|d| expand_home(d) == dir)
            && row["archived"] == Value::Bool(false)
    });
    let newest = here.max_by_key(|row| row["updated_ms"].as_u64())?;
    newest["id"].as_str().map(str::to_owned)
}

fn expand_home(shown: &str) -> PathBuf {
    match (shown.strip_prefix('~'), env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest.trim_start_matches('/')),
        _ => PathBuf::from(shown),
    }
}

fn owner_link(server: &Path) -> anyhow::Result<String> {
    let printed = cargo::output(Command::new(server).args(["link", "owner"]))?;
    let link = printed
        .split_whitespace()
        .find(|word| word.contains("#owner="));
    link.map(str::to_owned)
        .context("`portholed link owner` printed no link")
}

/// The link goes through the environment, so that it is in no process list.
fn open_ui(programs: &Path, link: &str, session: &str) -> anyhow::Result<()> {
    cargo::run(
        Command::new(programs.join("porthole"))
            .args(["--session", session])
            .env("PORTHOLE_LINK", link),
    )
}
