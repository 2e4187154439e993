//! A folder to work in, and calls as the engine makes them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use porthole_env::Environment;
use porthole_protocol::{RunId, RunOutput, ToolDetail, ToolOutcome};
use porthole_worker::tool::{self, Plan, Seen, ToolContext, ToolResult, tool_environment};
use serde_json::Value;
use tokio::sync::{mpsc, watch};

/// The longest that a test waits for what has to come.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) progress: mpsc::UnboundedReceiver<RunOutput>,
    context: ToolContext,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("its real path");
        let cwd = root.join("work");
        fs::create_dir(&cwd).expect("a working directory");
        let environment = porthole_env::local();
        let (stop, stopped) = watch::channel(false);
        let (tell, progress) = mpsc::unbounded_channel();
        let context = ToolContext {
            environment: Arc::clone(&environment),
            cwd,
            closed: None,
            runs: root.join("runs"),
            run: RunId::parse("r1").expect("an id"),
            stop: stopped,
            progress: tell,
            nest: tokio::sync::mpsc::unbounded_channel().0,
            variables: Arc::new(tool_environment(std::env::vars_os(), &[])),
            seen: Arc::new(std::sync::Mutex::new(Seen::default())),
        };
        Self {
            folder,
            environment,
            stop,
            progress,
            context,
        }
    }

    pub(crate) fn cwd(&self) -> &Path {
        &self.context.cwd
    }

    pub(crate) fn outside(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.cwd().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(&path, content).expect("a file");
        path
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("the file")
    }

    pub(crate) fn context(&self) -> ToolContext {
        self.context.clone()
    }

    pub(crate) fn artifact(&self) -> PathBuf {
        self.context.runs.join("r1")
    }

    pub(crate) fn plan(&self, tool: &str, arguments: Value) -> Plan {
        tool::plan(tool, &arguments, &tool::Place::of(self.cwd())).expect("a plan")
    }

    pub(crate) async fn run(&self, tool: &str, arguments: Value) -> ToolResult {
        tool::run(&self.plan(tool, arguments), self.context()).await
    }

    pub(crate) async fn ok(&self, tool: &str, arguments: Value) -> ToolResult {
        let result = self.run(tool, arguments).await;
        assert_eq!(result.outcome, ToolOutcome::Ok, "{}", result.text);
        result
    }

    pub(crate) async fn failed(&self, tool: &str, arguments: Value) -> String {
        let result = self.run(tool, arguments).await;
        assert_eq!(result.outcome, ToolOutcome::Failed, "{}", result.text);
        result.text
    }
}

/// The parts of a command's detail that tests look at.
pub(crate) struct Ran {
    pub(crate) exit: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) timed_out: bool,
    pub(crate) tail: String,
    pub(crate) left_out: u64,
    pub(crate) output: Option<RunOutput>,
    pub(crate) still_running: Vec<u32>,
}

pub(crate) fn ran(result: &ToolResult) -> Ran {
    let ToolDetail::Command {
        exit,
        signal,
        timed_out,
        tail,
        left_out,
        output,
        still_running,
        ..
    } = result.detail.clone()
    else {
        panic!("no command: {result:?}");
    };
    Ran {
        exit,
        signal,
        timed_out,
        tail,
        left_out,
        output,
        still_running,
    }
}

/// Whether a process is alive: there, and not only waiting to be reaped.
pub(crate) fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
        !state.starts_with('Z') && !state.starts_with('X')
    })
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
