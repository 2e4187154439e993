//! A disk without room, or one that takes nothing: what was acknowledged stays, what cannot be kept is refused in words, and
//! it goes on once the disk does. The disk is a small one in memory, which only root can make.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use porthole_examples::model_server::Step;
use porthole_tests::World;

/// A small disk. It is taken away when this is dropped.
struct Disk(PathBuf);

impl Disk {
    /// Returns `None` where one cannot be made, but on machines that check everything.
    fn at(path: &Path) -> Option<Self> {
        let made = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs"])
            .arg(path)
            .output()
            .expect("`mount` is needed here");
        let why = String::from_utf8_lossy(&made.stderr);
        if made.status.success() {
            return Some(Self(path.to_owned()));
        }
        assert!(
            std::env::var_os("CI").is_none(),
            "the check has to run as root: {why}"
        );
        eprintln!("skipped: a small disk cannot be mounted: {why}");
        None
    }

    /// Takes writing from it, or gives it back.
    fn writable(&self, writable: bool) {
        let how = if writable { "remount,rw" } else { "remount,ro" };
        let done = Command::new("mount")
            .args(["-o", how])
            .arg(&self.0)
            .output();
        let done = done.expect("`mount` is needed here");
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
    }

    /// Fills it to the last byte; returns the file that does.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = File::create(&path).expect("made");
        let mut piece = vec![0; 1 << 20];
        while !piece.is_empty() {
            match file.write(&piece) {
                Ok(written) if written > 0 => {}
                _ => piece.truncate(piece.len() / 2),
            }
        }
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_told_loses_nothing_and_is_no_end() {
    let world = World::new().expect("a world");
    let Some(disk) = Disk::at(&world.data()) else {
        return;
    };
    let answers = ["first answer", "second answer", "third answer"].map(Step::text);
    let _model = world.model(answers.to_vec()).expect("a model");
    let server = world.serve().expect("a server");
    let session = world.session().expect("a session");
    let send = |text: &str| {
        world
            .portholed(&["send", &session, text, "--wait"])
            .expect("it runs")
    };
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    assert_eq!(said(&send("one").stdout), "first answer");

    let filler = disk.fill();
    let refused = send("two");
    let told = said(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(
        told.contains("disk") && told.contains("full") && told.contains("hint: "),
        "{told}"
    );
    let status = world.ask(&["status"]).expect("the server is there");
    assert!(status.contains("running"), "{status}");
    let new = world
        .portholed(&["new", &world.project().display().to_string()])
        .expect("it runs");
    assert!(
        !new.status.success() || !new.stdout.is_empty(),
        "said one way or the other"
    );

    fs::remove_file(&filler).expect("room again");
    assert_eq!(said(&send("three").stdout), "second answer");
    server.crash();
    let _server = world.serve().expect("a server");
    let transcript = world.ask(&["transcript", &session]).expect("a transcript");
    for text in ["one", "first answer", "three", "second answer"] {
        assert!(
            transcript.contains(text),
            "`{text}` is not in: {transcript}"
        );
    }
}

#[test]
fn a_server_that_cannot_start_for_want_of_room_says_so() {
    let world = World::new().expect("a world");
    let Some(disk) = Disk::at(&world.data()) else {
        return;
    };
    disk.fill();
    let bundle = world.bundle().display().to_string();
    let output = world
        .portholed(&["serve", "--listen", "127.0.0.1:0", "--bundle", &bundle])
        .expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.starts_with("error: ") && told.contains("hint: "),
        "{told}"
    );
    assert!(told.contains("space") || told.contains("full"), "{told}");
}

#[test]
fn a_server_on_a_disk_that_takes_nothing_says_so_and_has_everything_afterwards() {
    let world = World::new().expect("a world");
    let Some(disk) = Disk::at(&world.data()) else {
        return;
    };
    let _model = world
        .model(vec![Step::text("the answer")])
        .expect("a model");
    let server = world.serve().expect("a server");
    let session = world.session().expect("a session");
    world
        .ask(&["send", &session, "the question", "--wait"])
        .expect("answered");
    assert_eq!(server.stop(), Some(0));

    disk.writable(false);
    let bundle = world.bundle().display().to_string();
    let output = world
        .portholed(&["serve", "--listen", "127.0.0.1:0", "--bundle", &bundle])
        .expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.starts_with("error: ") && told.contains("ead-only") && told.contains("hint: "),
        "{told}"
    );

    disk.writable(true);
    let _server = world.serve().expect("a server");
    let transcript = world.ask(&["transcript", &session]).expect("a transcript");
    assert!(
        transcript.contains("the question") && transcript.contains("the answer"),
        "{transcript}"
    );
}
