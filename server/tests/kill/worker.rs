//! A session whose worker is killed again and again. The test is its server.

use std::{
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use porthole_protocol::SessionId;
use porthole_worker::wire::{Open, ToWorker};

use crate::{
    chance::Chance,
    model::Model,
    peer::{Kind, News, Peer},
    person::Person,
};

/// One session through all lives of its worker.
pub(crate) struct Story<'a> {
    model: &'a Model,
    chance: Chance,
    home: tempfile::TempDir,
    person: Person,
    /// Whether a worker was ever ready: from then on there has to be a store.
    opened: bool,
    life: u64,
}

impl<'a> Story<'a> {
    pub(crate) fn new(model: &'a Model, chance: Chance) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        for name in ["data", "data/s1", "work"] {
            std::fs::create_dir(home.path().join(name)).expect("a folder");
        }
        std::fs::write(home.path().join("data/models.toml"), model.config()).expect("writes");
        let session = SessionId::parse("s1").expect("an id");
        let person = Person::new(session, home.path().join("work"));
        Self {
            model,
            chance,
            home,
            person,
            opened: false,
            life: 0,
        }
    }

    /// Kills so many workers, then lets the last one come to rest.
    pub(crate) fn run(mut self, kills: u64) {
        for _ in 0..kills {
            // Most while it starts and takes up its work, some much later.
            let most = if self.chance.below(4) == 0 { 600 } else { 120 };
            let after = Duration::from_micros(self.chance.below(most * 1_000));
            let (mut child, mut peer) = self.start(Some(Instant::now() + after));
            if self.is_ready(&mut peer) {
                // Whether it got to the end of what was to be done, or was killed before, is the same.
                let _ = self.person.uses(&mut peer, &mut self.chance);
                while peer.next().is_some() {}
            }
            child.kill().expect("is ours");
            child.wait().expect("ends");
            self.model.check();
        }
        let (mut child, mut peer) = self.start(None);
        assert!(self.is_ready(&mut peer), "it opens");
        self.person.finishes(&mut peer);
        self.model.check();
        drop(peer);
        child.wait().expect("ends");
    }

    fn start(&mut self, end: Option<Instant>) -> (Child, Peer) {
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        let child = Command::new(env!("CARGO_BIN_EXE_portholed"))
            .arg("worker")
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let session = SessionId::parse("s1").expect("an id");
        let mut peer = Peer::new(Kind::Worker, ours, session.clone(), end);
        self.life += 1;
        peer.tell(&ToWorker::Open(Box::new(Open {
            session,
            folder: self.home.path().join("data/s1"),
            is_new: !self.opened,
            data: self.home.path().join("data"),
            dir: self.home.path().join("work"),
            model: None,
            owner_name: "Ada".into(),
            idle_seconds: 600,
            generation: self.life,
            settings: Default::default(),
        })));
        (child, peer)
    }

    fn is_ready(&mut self, peer: &mut Peer) -> bool {
        while let Some(news) = peer.next() {
            if matches!(news, News::Ready) {
                self.opened = true;
                return true;
            }
        }
        false
    }
}
