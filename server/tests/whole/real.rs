//! The real program with its real workers, as a process of its own, and what can be seen of it from outside.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use porthole_protocol::{Call, replies};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

use crate::{
    commands::ok,
    world::{self, Client, SOON},
};

/// A running `portholed serve`. It is killed when this is dropped.
pub(crate) struct Real {
    pub(crate) home: tempfile::TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) child: Child,
}

impl Real {
    pub(crate) async fn serve() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        world::bundle(&home.path().join("bundle"), b"one");
        Self::within(home, &[]).await
    }

    pub(crate) async fn within(home: tempfile::TempDir, more: &[&str]) -> Self {
        let mut child = command(home.path(), more).spawn().expect("starts");
        let mut lines = BufReader::new(child.stdout.take().expect("an output")).lines();
        let line = lines.next_line().await.expect("reads");
        let line = line.expect("it says where it listens");
        let (_, address) = line.rsplit_once('/').expect("an address");
        let port = address.rsplit_once(':').expect("a port").1;
        let port = port.parse().expect("a number");
        Self {
            home,
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            child,
        }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    pub(crate) async fn token(&self) -> String {
        let link = ok(&self.data(), &["link", "owner"]).await;
        porthole_door::Link::parse(&link).expect("a link").token
    }

    pub(crate) async fn owner(&self) -> Client {
        let cookie = world::redeem(self.address, &self.token().await).await;
        world::link(self.address, &cookie).await
    }

    /// Returns the processes of its workers.
    pub(crate) fn workers(&self) -> Vec<u32> {
        let is_worker = |pid: &u32| command_line(*pid).ends_with("\0worker\0");
        children(self.pid()).into_iter().filter(is_worker).collect()
    }

    /// Asks it to end; returns its exit status.
    pub(crate) async fn end(&mut self, by: Signal) -> Option<i32> {
        signal(self.pid(), by);
        let ended = tokio::time::timeout(SOON, self.child.wait()).await;
        ended.expect("in time").expect("waited for").code()
    }
}

/// Returns the command that serves in a home, not yet started.
pub(crate) fn command(home: &Path, more: &[&str]) -> Command {
    let listen: &[&str] = match more.contains(&"--listen") {
        true => &[],
        false => &["--listen", "127.0.0.1:0"],
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_portholed"));
    command
        .args(["serve", "--data"])
        .arg(home.join("data"))
        .arg("--bundle")
        .arg(home.join("bundle"))
        .args(more)
        .args(listen)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", home)
        .env("PORTHOLE_NO_LOCAL_MODELS", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Calls so often; returns how long the longest took.
pub(crate) async fn slowest_of(client: &mut Client, calls: u32) -> Duration {
    let mut slowest = Duration::ZERO;
    for _ in 0..calls {
        let begun = Instant::now();
        let models = client.call::<replies::Models>(Call::Models {}).await;
        models.expect("answered");
        slowest = slowest.max(begun.elapsed());
    }
    slowest
}

pub(crate) fn signal(pid: u32, by: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a process");
    kill_process(pid, by).expect("it is there");
}

/// Returns what a process holds in memory, in bytes.
pub(crate) fn resident(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.expect("a number") * 1024
}

pub(crate) fn command_line(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// Returns every process whose command line has the text and that is no zombie.
pub(crate) fn with_command(text: &str) -> Vec<u32> {
    all()
        .filter(|pid| command_line(*pid).contains(text))
        .collect()
}

fn children(parent: u32) -> Vec<u32> {
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        rest.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    all().filter(is_child).collect()
}

fn all() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").expect("there").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
