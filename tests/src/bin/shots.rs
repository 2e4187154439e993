//! Renders real screens to pictures: a real server, a scripted model, the launcher in a pty, SVG files in the folder given.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;
use porthole_examples::model_server::Step;
use porthole_tests::{
    Terminal, World,
    picture::{self, Ground},
};
use serde_json::json;

/// `Shift-Tab`: the transcript has the keys.
const READ: &str = "\x1b[Z";

/// Each size and ground that every scene is taken in.
const VIEWS: &[(u16, u16, Ground)] = &[
    (80, 24, Ground::Dark),
    (80, 24, Ground::Light),
    (100, 30, Ground::Dark),
    (200, 60, Ground::Dark),
    (200, 60, Ground::Light),
    (40, 12, Ground::Dark),
];

fn main() -> anyhow::Result<()> {
    let folder: PathBuf = std::env::args_os()
        .nth(1)
        .context("usage: shots FOLDER")?
        .into();
    fs::create_dir_all(&folder)?;
    let world = World::new()?;
    fs::create_dir_all(world.project().join("src"))?;
    fs::write(world.project().join("src/retry.rs"), RETRY)?;
    practice(&world, &folder)?;
    conversation(&world, &folder)
}

/// The first minute: nothing is configured.
fn practice(world: &World, folder: &Path) -> anyhow::Result<()> {
    let server = world.serve()?;
    let session = world.session()?;
    for view in VIEWS {
        let terminal = open(world, &session, *view)?;
        terminal.wait_for("practice");
        save(&terminal, folder, "first-minute", *view)?;
    }
    server.stop();
    Ok(())
}

/// A conversation with tools, a question, and the home list behind it.
fn conversation(world: &World, folder: &Path) -> anyhow::Result<()> {
    let model = world.model(script())?;
    let server = world.serve()?;
    let session = world.ask(&[
        "new",
        &world.project().display().to_string(),
        "--title",
        "fix the flaky retry test",
    ])?;
    world.ask(&[
        "new",
        &world.project().display().to_string(),
        "--title",
        "why is checkout slow?",
    ])?;
    let mut terminal = open(world, &session, (100, 30, Ground::Dark))?;
    terminal.wait_for("Enter send");
    terminal.send("The retry test fails about once in ten runs. Find out why and fix it.\r");
    terminal.wait_for("needs you");
    for view in VIEWS {
        let mut watcher = open(world, &session, *view)?;
        watcher.wait_for("needs you");
        save(&watcher, folder, "question", *view)?;
        watcher.send("/home\r");
        watcher.wait_for("why is");
        save(&watcher, folder, "home", *view)?;
    }
    drop(terminal);
    world
        .ask(&["send", &session, "go on", "--wait", "--answer", "yes"])
        .ok();
    for view in VIEWS {
        let mut watcher = open(world, &session, *view)?;
        watcher.wait_for("200 runs pass");
        save(&watcher, folder, "conversation", *view)?;
        watcher.send("\x0b");
        watcher.wait_for("commands ─");
        save(&watcher, folder, "palette", *view)?;
        watcher.send("\x1b");
        watcher.wait_gone("commands ─");
        watcher.send(READ);
        watcher.settle(Duration::from_millis(300));
        watcher.send("{");
        watcher.wait_for("+2 −1");
        save(&watcher, folder, "diff", *view)?;
    }
    server.stop();
    drop(model);
    Ok(())
}

fn open(world: &World, session: &str, view: (u16, u16, Ground)) -> anyhow::Result<Terminal> {
    let link = world.owner_link()?;
    let background = match view.2 {
        Ground::Dark => "15;0",
        Ground::Light => "0;15",
    };
    world.launch_with(
        &["--session", session],
        Some(&link),
        view.0,
        view.1,
        &[("COLORFGBG", background)],
    )
}

fn save(
    terminal: &Terminal,
    folder: &Path,
    scene: &str,
    view: (u16, u16, Ground),
) -> anyhow::Result<()> {
    let (cols, rows, ground) = view;
    let name = match ground {
        Ground::Dark => format!("{scene}-{cols}x{rows}-dark.svg"),
        Ground::Light => format!("{scene}-{cols}x{rows}-light.svg"),
    };
    terminal.settle(Duration::from_millis(400));
    let svg = terminal.look(|state| picture::svg(state.parser.screen(), ground));
    fs::write(folder.join(&name), svg).with_context(|| format!("cannot write `{name}`"))?;
    println!("{name}");
    Ok(())
}

const RETRY: &str = "//! Waiting between attempts.\n\n/// Returns how long to wait before `attempt`.\npub fn wait(base: u64, attempt: u32) -> u64 {\n    let wait = base * 2u64.pow(attempt);\n    wait + jitter()\n}\n\nfn jitter() -> u64 {\n    4\n}\n";

fn script() -> Vec<Step> {
    vec![
        Step::Tools {
            text: "I'll read what the test depends on, then run it until it fails.".to_owned(),
            calls: vec![
                ("read".to_owned(), json!({ "path": "src/retry.rs" })),
                ("grep".to_owned(), json!({ "pattern": "jitter" })),
            ],
        },
        Step::tool(
            "edit",
            json!({ "path": "src/retry.rs", "old": "    wait + jitter()\n",
                "new": "    // Jitter is bounded, so that two attempts never meet in one tick.\n    wait + jitter().min(base / 2)\n" }),
        ),
        Step::tool(
            "shell",
            json!({ "command": "printf 'running 200 tests\\ntest result: ok. 200 passed\\n'" }),
        ),
        Step::text(
            "The jitter could be longer than the back-off itself, so two attempts met in one tick. \
             It is bounded by **half the base** now:\n\n\
             ```rust\nlet wait = base * 2u64.pow(attempt);\nwait + jitter().min(base / 2)\n```\n\n\
             | attempt | before | after |\n|---|---|---|\n| 1 | 2–6 | 2–3 |\n| 2 | 4–8 | 4–5 |\n\n\
             - the bound is in `wait`, not in `jitter`\n- nothing else calls it\n\n200 runs pass.",
        ),
    ]
}
