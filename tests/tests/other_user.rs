//! A server without root's rights, and files that it may not read or write: each is told in words, nothing is taken for
//! empty, and all of it is there once the rights are back. Only root can start a process as someone else.

use std::{
    fs::{self, Permissions},
    io::{BufRead as _, BufReader},
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

use porthole_tests::World;

/// `nobody` on every system that tests run on.
const OTHER: u32 = 65_534;

/// A server of another user, in a data folder of theirs.
struct Other {
    world: World,
    program: PathBuf,
    server: Option<Child>,
}

impl Other {
    /// Returns `None` where nobody else can be had, but on machines that check everything.
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            assert!(
                std::env::var_os("CI").is_none(),
                "the check has to run as root"
            );
            eprintln!("skipped: only root can start a process as someone else");
            return None;
        }
        let world = World::new().expect("a world");
        // The programs may lie where nobody else comes.
        let program = world.home().join("portholed");
        fs::copy(world.program("portholed"), &program).expect("copied");
        copy(&world.bundle(), &world.home().join("bundle"));
        let mut folder = world.home();
        while folder != Path::new("/tmp") && folder.parent().is_some_and(|p| p != Path::new("/")) {
            give(&folder);
            folder.pop();
        }
        give_all(&world.home());
        Some(Self {
            world,
            program,
            server: None,
        })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env_clear()
            .envs(self.world.variables())
            .arg("--data")
            .arg(self.world.data())
            .current_dir(self.world.project())
            .uid(OTHER)
            .gid(OTHER);
        command
    }

    fn serve(&mut self) {
        let bundle = self.world.home().join("bundle").display().to_string();
        let mut child = self
            .command(&["serve", "--listen", "127.0.0.1:0", "--bundle", &bundle])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let stdout = child.stdout.take().expect("it has an output");
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.starts_with("listening on ")));
        self.server = Some(child);
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("it runs")
    }

    fn ask(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {told}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Runs a command that has to fail in words, and returns them.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
        assert!(told.starts_with("error: "), "{told}");
        told
    }

    fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            self.ask(&["stop"]);
            server.wait().expect("it ends");
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            drop(server.kill());
            drop(server.wait());
        }
    }
}

fn give(path: &Path) {
    chown(path, Some(OTHER), Some(OTHER)).expect("given");
}

fn give_all(folder: &Path) {
    give(folder);
    for entry in fs::read_dir(folder).expect("listed").flatten() {
        match entry.file_type().expect("a type").is_dir() {
            true => give_all(&entry.path()),
            false => give(&entry.path()),
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("made");
    for entry in fs::read_dir(from).expect("listed").flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}

/// Leaves a file to root, with these rights.
fn keep_from(path: &Path, mode: u32) {
    chown(path, Some(0), Some(0)).expect("taken");
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("set");
}

fn give_back(path: &Path) {
    give(path);
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("set");
}

#[test]
fn a_store_that_may_not_be_read_or_written_is_told_and_whole_afterwards() {
    let Some(mut other) = Other::new() else {
        return;
    };
    other.serve();
    let dir = other.world.project().display().to_string();
    let (first, second) = (other.ask(&["new", &dir]), other.ask(&["new", &dir]));
    for session in [&first, &second] {
        other.ask(&["send", session, "hello there", "--wait"]);
    }
    other.stop();

    let store = other
        .world
        .data()
        .join("sessions")
        .join(&first)
        .join("session.db");
    for mode in [0o000, 0o444] {
        keep_from(&store, mode);
        let before = fs::read(&store).expect("root reads it");
        other.serve();
        let told = other.refused(&["send", &first, "are you there?", "--wait"]);
        assert!(
            told.contains("store") || told.contains("session.db") || told.contains("permission"),
            "{told}"
        );
        let kept = other.ask(&["send", &second, "and you?", "--wait"]);
        assert!(kept.contains("practice"), "others go on: {kept}");
        other.stop();
        assert!(
            before == fs::read(&store).expect("root reads it"),
            "it was changed"
        );
    }

    give_back(&store);
    other.serve();
    let transcript = other.ask(&["transcript", &first]);
    assert!(
        transcript.contains("hello there") && !transcript.contains("are you there?"),
        "{transcript}"
    );
    let answer = other.ask(&["send", &first, "at last", "--wait"]);
    assert!(answer.contains("practice"), "{answer}");
    let transcript = other.ask(&["transcript", &first]);
    assert!(
        transcript.contains("hello there") && transcript.contains("at last"),
        "{transcript}"
    );
}

#[test]
fn settings_and_models_that_may_not_be_read_are_told_and_never_taken_for_none() {
    let Some(mut other) = Other::new() else {
        return;
    };
    let (settings, models) = (
        other.world.data().join("settings.toml"),
        other.world.data().join("models.toml"),
    );
    fs::write(&settings, "policy = \"auto\"\n").expect("written");
    fs::write(
        &models,
        "default = \"local/m\"\n\n[provider.local]\napi = \"chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\nmodels = [ { id = \"m\" } ]\n",
    )
    .expect("written");
    keep_from(&settings, 0o000);
    keep_from(&models, 0o000);
    other.serve();
    for (command, file) in [("settings", "settings.toml"), ("models", "models.toml")] {
        let output = other.run(&[command]);
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told);
        assert!(
            told.contains(file) && told.to_lowercase().contains("permission"),
            "{command}: {told}"
        );
    }
    let told = other.refused(&["settings", "set", "policy", "ask"]);
    assert!(told.contains("settings.toml"), "{told}");
    assert_eq!(
        fs::read_to_string(&settings).expect("root reads it"),
        "policy = \"auto\"\n"
    );

    give_back(&settings);
    give_back(&models);
    let shown = other.ask(&["settings"]);
    assert!(shown.contains("auto"), "{shown}");
    let shown = other.ask(&["models"]);
    assert!(shown.contains("local/m"), "{shown}");
}
