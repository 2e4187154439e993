//! Files between two sides, with the real programs: what arrives, what is refused, and what a cut leaves behind.

use std::{
    fs,
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Output,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use porthole_tests::{Server, World};

const MIB: usize = 1 << 20;

/// A server with a session, and a launcher that is admitted.
struct Scene {
    world: World,
    server: Server,
    session: String,
}

impl Scene {
    fn new() -> Self {
        Self::through(|address| address.to_owned())
    }

    /// `way` returns the address by which the launcher reaches the server.
    fn through(way: impl FnOnce(&str) -> String) -> Self {
        let world = World::new().expect("a world");
        let server = world.serve().expect("a server");
        let session = world.session().expect("a session");
        let link = world.owner_link().expect("a link");
        let link = link.replace(&server.address, &way(&server.address));
        let mut terminal = world
            .launch(&["--session", &session], Some(&link), 100, 30)
            .expect("the launcher");
        terminal.wait_for("Enter send");
        terminal.send("\x03");
        terminal.wait_for("again");
        terminal.send("\x03");
        assert_eq!(terminal.wait_exit(), 0);
        Self {
            world,
            server,
            session,
        }
    }

    fn porthole(&self, arguments: &[&str]) -> Output {
        let mut command = self.world.command("porthole");
        command.args(arguments).output().expect("runs")
    }

    fn upload(&self, file: &Path) -> Output {
        let file = file.display().to_string();
        self.porthole(&["upload", &file, "--session", &self.session])
    }

    fn blobs(&self) -> PathBuf {
        let sessions = self.world.data().join("sessions");
        sessions.join(&self.session).join("blobs")
    }

    fn file(&self, name: &str, bytes: usize) -> PathBuf {
        let path = self.world.home().join(name);
        fs::write(&path, pattern(bytes)).expect("written");
        path
    }
}

/// Bytes in which every place is another.
fn pattern(bytes: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

fn said(output: &Output) -> String {
    let all = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8_lossy(&all).into_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("read");
    let name = |entry: Result<fs::DirEntry, _>| {
        let entry: fs::DirEntry = entry.expect("an entry");
        entry.file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<_> = entries.map(name).collect();
    names.sort();
    names
}

#[test]
fn what_is_uploaded_comes_back_the_same_and_never_over_a_file() {
    let scene = Scene::new();
    let file = scene.file("report.bin", 5 * MIB + 3);
    let sent = scene.upload(&file);
    assert!(sent.status.success(), "{}", said(&sent));
    let printed = String::from_utf8(sent.stdout).expect("text");
    let id = printed.split_whitespace().next().expect("an id");
    assert_eq!(
        fs::read(scene.blobs().join(id)).expect("kept"),
        pattern(5 * MIB + 3)
    );
    let folder = scene.world.home().join("saved");
    fs::create_dir(&folder).expect("made");
    let to = folder.display().to_string();
    for _ in 0..2 {
        let saved = scene.porthole(&["download", id, "--to", &to]);
        assert!(saved.status.success(), "{}", said(&saved));
    }
    assert_eq!(names(&folder), ["report (2).bin", "report.bin"]);
    for name in names(&folder) {
        assert_eq!(
            fs::read(folder.join(name)).expect("read"),
            pattern(5 * MIB + 3)
        );
    }
    let none = scene.porthole(&["download", "nothing", "--to", &to]);
    assert_eq!(none.status.code(), Some(1));
    assert!(
        said(&none).contains("there is no such file"),
        "{}",
        said(&none)
    );
    assert_eq!(names(&folder).len(), 2);
}

#[test]
fn what_is_no_regular_file_is_refused_before_anything_is_sent() {
    let scene = Scene::new();
    let file = scene.file("a", 10);
    let at = |name: &str| scene.world.home().join(name);
    std::os::unix::fs::symlink(&file, at("link")).expect("linked");
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), 0o600.into()).expect("a pipe");
    let large = fs::File::create(at("large")).expect("made");
    large.set_len((25 << 20) + 1).expect("grown");
    for (path, why) in [
        (at("link"), "is a link"),
        (at("pipe"), "no regular file"),
        (PathBuf::from("/dev/zero"), "window into this computer"),
        (scene.world.home(), "is a folder"),
        (at("large"), "over the limit of 25.0 MiB"),
        (at("none"), "is not there"),
    ] {
        let refused = scene.upload(&path);
        assert_eq!(refused.status.code(), Some(1), "{}", path.display());
        assert!(said(&refused).contains(why), "{}", said(&refused));
    }
    assert!(!scene.blobs().exists(), "nothing was sent");
}

#[test]
fn a_connection_that_is_cut_in_the_middle_is_taken_up_again() {
    let mut cut = None;
    let scene = Scene::through(|address| {
        let between = Between::new(address);
        let way = between.address.clone();
        cut = Some(between);
        way
    });
    let between = cut.expect("it stands between");
    let file = scene.file("report.bin", 8 * MIB);
    between.at(between.moved() + 3 * MIB as u64, Trick::Cut);
    let sent = scene.upload(&file);
    assert!(sent.status.success(), "{}", said(&sent));
    assert!(between.was_done(), "the connection was cut");
    let printed = String::from_utf8(sent.stdout).expect("text");
    let id = printed.split_whitespace().next().expect("an id");
    assert_eq!(
        fs::read(scene.blobs().join(id)).expect("kept"),
        pattern(8 * MIB)
    );
    assert_eq!(names(&scene.blobs()).len(), 2, "nothing half beside it");
    let to = scene.world.home().join("saved");
    fs::create_dir(&to).expect("made");
    between.at(between.moved() + 5 * MIB as u64, Trick::Cut);
    let saved = scene.porthole(&["download", id, "--to", &to.display().to_string()]);
    assert!(saved.status.success(), "{}", said(&saved));
    assert!(between.was_done(), "the connection was cut");
    assert_eq!(
        fs::read(to.join("report.bin")).expect("read"),
        pattern(8 * MIB)
    );
}

#[test]
fn a_file_that_changes_while_it_is_read_is_given_up_and_nothing_stays() {
    let mut cut = None;
    let scene = Scene::through(|address| {
        let between = Between::new(address);
        let way = between.address.clone();
        cut = Some(between);
        way
    });
    let between = cut.expect("it stands between");
    let there = scene.world.project().join("log.bin");
    fs::write(&there, pattern(20 * MIB)).expect("written");
    let to = scene.world.home().join("saved");
    fs::create_dir(&to).expect("made");
    between.at(between.moved() + 2 * MIB as u64, Trick::Append(there));
    let path = to.display().to_string();
    let arguments = [
        "download",
        "log.bin",
        "--file",
        "--session",
        &scene.session,
        "--to",
        &path,
    ];
    let saved = scene.porthole(&arguments);
    assert_eq!(saved.status.code(), Some(1));
    let words = "the file changed while loading; open it again";
    assert!(said(&saved).contains(words), "{}", said(&saved));
    assert_eq!(names(&to), Vec::<String>::new());
}

#[test]
fn an_ended_upload_leaves_nothing_on_the_server() {
    let mut cut = None;
    let scene = Scene::through(|address| {
        let between = Between::new(address);
        let way = between.address.clone();
        cut = Some(between);
        way
    });
    let between = cut.expect("it stands between");
    let file = scene.file("report.bin", 20 * MIB);
    between.at(between.moved() + 4 * MIB as u64, Trick::Hold);
    let mut command = scene.world.command("porthole");
    command.args([
        "upload",
        &file.display().to_string(),
        "--session",
        &scene.session,
    ]);
    let child = command.spawn().expect("starts");
    between.wait_done();
    assert_eq!(names(&scene.blobs()).len(), 1, "half of it is there");
    porthole_tests::process::signal(child.id(), rustix::process::Signal::TERM);
    let ended = child.wait_with_output().expect("ends");
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(names(&scene.blobs()), Vec::<String>::new());
    drop(scene.server);
}

#[test]
fn a_path_dropped_into_the_terminal_is_uploaded_after_a_yes_and_not_after_a_no() {
    let scene = Scene::new();
    let file = scene.file("dropped.txt", 100);
    let mut terminal = scene
        .world
        .launch(&["--session", &scene.session], None, 100, 30)
        .expect("the launcher");
    terminal.wait_for("Enter send");
    let drop_it = format!("\x1b[200~'{}'\x1b[201~", file.display());
    terminal.send(&drop_it);
    terminal.wait_for("Upload this file from this computer");
    terminal.wait_for("dropped.txt");
    terminal.wait_listening();
    terminal.send("\x1b");
    terminal.wait_gone("porthole asks");
    assert!(!scene.blobs().exists());
    terminal.wait_for("dropped.txt'");
    terminal.send("\x15");
    terminal.send(&drop_it);
    terminal.wait_for("Upload this file from this computer");
    terminal.wait_listening();
    terminal.send("\x19");
    terminal.wait_for("attached; it goes with the next message");
    assert_eq!(names(&scene.blobs()).len(), 2);
}

/// Stands between launcher and server, and plays one trick once so many bytes have gone through.
#[derive(Clone)]
struct Between {
    address: String,
    shared: Arc<Shared>,
}

struct Shared {
    moved: AtomicU64,
    at: AtomicU64,
    done: AtomicBool,
    trick: std::sync::Mutex<Option<Trick>>,
}

enum Trick {
    /// The connection is cut.
    Cut,
    /// The file grows by a byte.
    Append(PathBuf),
    /// Nothing goes through any more on this connection.
    Hold,
}

impl Between {
    fn new(to: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
        let between = Self {
            address: listener.local_addr().expect("bound").to_string(),
            shared: Arc::new(Shared {
                moved: AtomicU64::new(0),
                at: AtomicU64::new(u64::MAX),
                done: AtomicBool::new(false),
                trick: std::sync::Mutex::new(None),
            }),
        };
        let (shared, to) = (between.shared.clone(), to.to_owned());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(&to) else {
                    continue;
                };
                let pair =
                    |a: &TcpStream, b: &TcpStream| Some((a.try_clone().ok()?, b.try_clone().ok()?));
                for (from, to) in [pair(&client, &server), pair(&server, &client)]
                    .into_iter()
                    .flatten()
                {
                    let shared = shared.clone();
                    std::thread::spawn(move || shared.carry(from, to));
                }
            }
        });
        between
    }

    fn moved(&self) -> u64 {
        self.shared.moved.load(Ordering::SeqCst)
    }

    fn at(&self, bytes: u64, trick: Trick) {
        self.shared.done.store(false, Ordering::SeqCst);
        *self.shared.trick.lock().expect("whole") = Some(trick);
        self.shared.at.store(bytes, Ordering::SeqCst);
    }

    fn was_done(&self) -> bool {
        self.shared.done.load(Ordering::SeqCst)
    }

    fn wait_done(&self) {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !self.was_done() {
            assert!(std::time::Instant::now() < end, "never so many bytes");
            std::thread::yield_now();
        }
    }
}

impl Shared {
    fn carry(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let moved = self.moved.fetch_add(count as u64, Ordering::SeqCst) + count as u64;
            let due = moved >= self.at.load(Ordering::SeqCst);
            let trick = if due {
                self.trick.lock().expect("whole").take()
            } else {
                None
            };
            let holds = matches!(trick, Some(Trick::Hold));
            match trick {
                Some(Trick::Cut) => {
                    let _ = from.shutdown(Shutdown::Both);
                    let _ = to.shutdown(Shutdown::Both);
                }
                Some(Trick::Append(path)) => {
                    let mut file = fs::File::options().append(true).open(path).expect("opens");
                    file.write_all(b"x").expect("grows");
                }
                Some(Trick::Hold) | None => {}
            }
            if due {
                self.done.store(true, Ordering::SeqCst);
            }
            if holds {
                // Until the launcher gives the connection up.
                std::io::copy(&mut from, &mut std::io::sink()).ok();
                return;
            }
            if to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    }
}
