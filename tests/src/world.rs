//! A hermetic world: a home and data folder of its own, the built programs, a server in it.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use portable_pty::CommandBuilder;
use porthole_examples::model_server::{ModelServer, Step};
use rustix::process::Signal;

use crate::{Terminal, process};

/// A home of its own. Everything in it goes when this is dropped.
pub struct World {
    folder: tempfile::TempDir,
    programs: PathBuf,
}

impl World {
    /// Returns a new world for the programs that were built beside this one.
    ///
    /// # Errors
    /// Where the programs are not built.
    pub fn new() -> anyhow::Result<Self> {
        let programs = programs()?;
        let folder = tempfile::Builder::new()
            .prefix("porthole-world-")
            .tempdir()?;
        let world = Self { folder, programs };
        for folder in [world.home(), world.project(), world.data()] {
            fs::create_dir_all(folder)?;
        }
        Ok(world)
    }

    /// Returns the home folder.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Returns a folder for sessions to work in.
    pub fn project(&self) -> PathBuf {
        self.folder.path().join("home/project")
    }

    /// Returns the server's data folder.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("home/data")
    }

    /// Returns the launcher's cache folder, which all worlds share.
    pub fn cache(&self) -> PathBuf {
        self.caches().join("porthole")
    }

    /// The folder that holds the caches of all programs.
    fn caches(&self) -> PathBuf {
        self.programs.join("test-cache")
    }

    /// Returns a built program.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// Returns the folder of the built bundle.
    pub fn bundle(&self) -> PathBuf {
        self.programs
            .parent()
            .unwrap_or(&self.programs)
            .join("bundle")
    }

    /// Returns the whole environment that programs get in this world.
    pub fn variables(&self) -> Vec<(String, String)> {
        let home = self.home();
        let path = |name: &str| home.join(name).display().to_string();
        [
            ("HOME", home.display().to_string()),
            ("PATH", env::var("PATH").unwrap_or_default()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "xterm-256color".to_owned()),
            ("COLORTERM", "truecolor".to_owned()),
            ("SHELL", "/bin/sh".to_owned()),
            ("XDG_CONFIG_HOME", path(".config")),
            ("XDG_STATE_HOME", path(".state")),
            ("XDG_DATA_HOME", path(".data")),
            ("XDG_CACHE_HOME", self.caches().display().to_string()),
            ("PORTHOLE_NO_LOCAL_MODELS", "1".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    /// Returns a command in this world, not yet started.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.program(program));
        command
            .env_clear()
            .envs(self.variables())
            .current_dir(self.project());
        command
    }

    /// Configures the scripted model as the default and returns its server.
    pub fn model(&self, script: Vec<Step>) -> anyhow::Result<ModelServer> {
        let server = ModelServer::start(([127, 0, 0, 1], 0).into(), script)?;
        let config = format!(
            "default = \"mock/mock\"\n\n[provider.mock]\napi = \"chat\"\nbase_url = \"{}\"\n\
             models = [ {{ id = \"mock\", context = 128000 }} ]\n",
            server.base_url()
        );
        fs::write(self.data().join("models.toml"), config)?;
        Ok(server)
    }

    /// Starts a server.
    ///
    /// # Errors
    /// Where it does not say that it listens.
    pub fn serve(&self) -> anyhow::Result<Server> {
        self.serve_on("127.0.0.1:0")
    }

    /// Starts a server at an address.
    ///
    /// # Errors
    /// Where it does not say that it listens.
    pub fn serve_on(&self, listen: &str) -> anyhow::Result<Server> {
        self.serve_with(&["--listen", listen], &[])
    }

    /// Starts a server with more arguments, of which one is `--listen`, and more variables.
    ///
    /// # Errors
    /// Where it does not say that it listens.
    pub fn serve_with(
        &self,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> anyhow::Result<Server> {
        let mut command = self.command("portholed");
        command.envs(variables.iter().copied());
        self.serve_by(command, &self.bundle(), arguments)
    }

    /// Starts a server of another bundle, in a session of its own: whatever terminal the test has, SIGHUP means that the
    /// bundle is read again.
    ///
    /// # Errors
    /// Where it does not say that it listens.
    pub fn serve_bundle(&self, bundle: &Path) -> anyhow::Result<Server> {
        let mut command = Command::new("setsid");
        command
            .arg(self.program("portholed"))
            .env_clear()
            .envs(self.variables())
            .current_dir(self.project());
        self.serve_by(command, bundle, &["--listen", "127.0.0.1:0"])
    }

    fn serve_by(
        &self,
        mut command: Command,
        bundle: &Path,
        arguments: &[&str],
    ) -> anyhow::Result<Server> {
        let mut child = command
            .args(["serve", "--data"])
            .arg(self.data())
            .arg("--bundle")
            .arg(bundle)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(
                fs::File::options()
                    .create(true)
                    .append(true)
                    .open(self.data().join("serve.stderr"))?,
            )
            .spawn()?;
        let stdout = child.stdout.take().context("the server has an output")?;
        let mut lines = BufReader::new(stdout).lines();
        for line in lines.by_ref() {
            let line = line?;
            let origin = line.strip_prefix("listening on ");
            if let Some((_, address)) = origin.and_then(|origin| origin.split_once("://")) {
                let address = address.trim().to_owned();
                fs::write(self.folder.path().join("address"), &address)?;
                return Ok(Server { child, address });
            }
        }
        let said = fs::read_to_string(self.data().join("serve.stderr")).unwrap_or_default();
        bail!("the server ended without listening; it said: {said}")
    }

    /// Returns the address that the last server listened on.
    ///
    /// # Errors
    /// Where there was none.
    pub fn last_address(&self) -> anyhow::Result<String> {
        fs::read_to_string(self.folder.path().join("address")).context("no server was started")
    }

    /// Runs one of the server's commands to its end.
    pub fn portholed(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        Ok(self
            .command("portholed")
            .args(arguments)
            .arg("--data")
            .arg(self.data())
            .output()?)
    }

    /// Runs one of the server's commands and returns what it printed.
    ///
    /// # Errors
    /// Where it fails.
    pub fn ask(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.portholed(arguments)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "`portholed {}` failed: {said}",
            arguments.join(" ")
        );
        Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
    }

    /// Makes an owner link.
    ///
    /// # Errors
    /// Where the server makes none.
    pub fn owner_link(&self) -> anyhow::Result<String> {
        let printed = self.ask(&["link", "owner"])?;
        let link = printed
            .split_whitespace()
            .find(|word| word.contains("#owner="));
        link.map(str::to_owned)
            .context("`portholed link owner` printed no link")
    }

    /// Makes a session that works in the project folder.
    ///
    /// # Errors
    /// Where the server makes none.
    pub fn session(&self) -> anyhow::Result<String> {
        self.ask(&["new", &self.project().display().to_string()])
    }

    /// Starts the launcher in a terminal; `link` goes through the environment.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn launch(
        &self,
        arguments: &[&str],
        link: Option<&str>,
        cols: u16,
        rows: u16,
    ) -> anyhow::Result<Terminal> {
        self.launch_with(arguments, link, cols, rows, &[])
    }

    /// Starts the launcher with more variables.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn launch_with(
        &self,
        arguments: &[&str],
        link: Option<&str>,
        cols: u16,
        rows: u16,
        variables: &[(&str, &str)],
    ) -> anyhow::Result<Terminal> {
        let mut command = CommandBuilder::new(self.program("porthole"));
        command.env_clear();
        for (name, value) in self.variables() {
            command.env(name, value);
        }
        for (name, value) in variables {
            command.env(name, value);
        }
        if let Some(link) = link {
            command.env("PORTHOLE_LINK", link);
        }
        command.args(arguments);
        command.cwd(self.project());
        Terminal::start(command, cols, rows)
    }
}

/// A running server. It is killed when this is dropped.
pub struct Server {
    child: Child,
    /// Host and port.
    pub address: String,
}

impl Server {
    /// Returns its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the process ids of its workers.
    pub fn workers(&self) -> Vec<u32> {
        process::descendants_with(self.pid(), "worker")
    }

    /// Waits until it has a worker and returns the first.
    ///
    /// # Panics
    /// Where it gets none.
    pub fn worker(&self) -> u32 {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(worker) = self.workers().first() {
                return *worker;
            }
            assert!(Instant::now() < end, "the server starts no worker");
            std::thread::yield_now();
        }
    }

    /// Kills it as a crash would.
    pub fn crash(mut self) {
        process::signal(self.pid(), Signal::KILL);
        drop(self.child.wait());
    }

    /// Asks it to end and returns its exit code.
    ///
    /// # Panics
    /// Where it does not end in time.
    pub fn stop(mut self) -> Option<i32> {
        process::signal(self.pid(), Signal::TERM);
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.code();
            }
            assert!(Instant::now() < end, "the server does not end");
            std::thread::yield_now();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}

/// Returns the folder of the built programs: the one that this program lies in or below.
fn programs() -> anyhow::Result<PathBuf> {
    let here = env::current_exe()?;
    let has_programs = |folder: &&Path| {
        ["porthole", "portholed"]
            .iter()
            .all(|name| folder.join(name).is_file())
    };
    let folder = here.ancestors().skip(1).take(2).find(has_programs);
    let folder =
        folder.context("the programs are not built\n\nhint: `cargo build --workspace --bins`")?;
    let bundle = folder
        .parent()
        .unwrap_or(folder)
        .join("bundle/manifest.json");
    ensure!(
        bundle.is_file(),
        "the bundle is not built\n\nhint: `cargo xtask bundle`"
    );
    Ok(folder.to_owned())
}
