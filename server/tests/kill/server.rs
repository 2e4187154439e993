//! A session whose server, or its worker, is killed again and again.

use std::{
    io::Write,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use porthole_protocol::{Call, RequestId, SessionId, replies};

use crate::{
    chance::Chance,
    model::Model,
    peer::{Kind, Peer},
    person::Person,
};

/// One session through all lives of its server.
pub(crate) struct Story<'a> {
    model: &'a Model,
    chance: Chance,
    home: tempfile::TempDir,
    person: Person,
}

impl<'a> Story<'a> {
    pub(crate) fn new(model: &'a Model, chance: Chance) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        for name in ["data", "work"] {
            std::fs::create_dir(home.path().join(name)).expect("a folder");
        }
        std::fs::write(home.path().join("data/models.toml"), model.config()).expect("writes");
        let nobody = SessionId::parse("none").expect("an id");
        let person = Person::new(nobody, home.path().join("work"));
        Self {
            model,
            chance,
            home,
            person,
        }
    }

    /// Kills so many servers, then lets the last one come to rest.
    pub(crate) fn run(mut self, kills: u64) {
        for _ in 0..kills {
            let mut child = self.start();
            let after = Duration::from_millis(self.chance.below(500));
            if let Some(mut peer) = self.connect(Some(Instant::now() + after)) {
                // Whether it got to the end of what was to be done, or was killed before, is the same.
                let _ = self.person.uses(&mut peer, &mut self.chance);
                while peer.next().is_some() {}
            }
            if self.chance.below(3) == 0 {
                kill_worker(child.id());
            }
            child.kill().expect("is ours");
            child.wait().expect("ends");
            self.model.check();
        }
        let mut child = self.start();
        let mut peer = self.connect(None).expect("lives");
        self.person.finishes(&mut peer);
        self.model.check();
        drop(peer);
        child.kill().expect("is ours");
        child.wait().expect("ends");
    }

    fn start(&self) -> Child {
        Command::new(env!("CARGO_BIN_EXE_portholed"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(self.data())
            .env("HOME", self.home.path())
            .env("PORTHOLE_NO_LOCAL_MODELS", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts")
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// Connects as the commands do, and makes the session where it is not there yet.
    fn connect(&mut self, end: Option<Instant>) -> Option<Peer> {
        let mut stream = socket(&self.data().join("run/socket"));
        stream.write_all(b"{\"ask\":\"link\"}\n").ok()?;
        let nobody = SessionId::parse("none").expect("an id");
        let mut peer = Peer::new(Kind::Server, stream, nobody, end);
        let made = peer.call(Call::SessionCreate {
            request: RequestId::parse("make").expect("an id"),
            dir: Some(self.home.path().join("work").display().to_string()),
            title: None,
            model: None,
        })?;
        let made: replies::Created = serde_json::from_value(made.expect("made")).expect("a reply");
        peer.set_session(made.session.clone());
        self.person.set_session(made.session);
        Some(peer)
    }
}

/// Waits until someone listens. A killed server leaves its socket behind: only the next one answers.
fn socket(path: &Path) -> UnixStream {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        match UnixStream::connect(path) {
            Ok(stream) => return stream,
            Err(error) => assert!(Instant::now() < end, "the server does not listen: {error}"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// Kills the worker of a server, where it has one now.
fn kill_worker(server: u32) {
    let children = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children"));
    let pids = children.unwrap_or_default();
    let pid = pids
        .split_whitespace()
        .next()
        .and_then(|pid| pid.parse().ok());
    if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
        // One that is gone already is as good as killed.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}
