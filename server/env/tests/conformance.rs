//! The same questions to the environment in process and to one at the other end of two streams.

use std::{
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use porthole_env::{
    Command, Ended, Environment, ErrorKind, Exit, Expect, FindQuery, GrepQuery, Kind, local,
    stdio::{Remote, serve_on},
};
use tokio::sync::{mpsc, watch};

/// The longest that a test waits for what has to come.
const DEADLINE: Duration = Duration::from_secs(20);

struct World {
    _folder: tempfile::TempDir,
    root: PathBuf,
    environment: Arc<dyn Environment>,
    stop: watch::Sender<bool>,
}

/// Returns both kinds of environment, each with its own folder. The served one ends with the test's runtime.
fn worlds() -> [World; 2] {
    let (ours, theirs) = tokio::io::duplex(4096);
    let (input, output) = tokio::io::split(theirs);
    tokio::spawn(serve_on(local(), input, output));
    let (output, input) = tokio::io::split(ours);
    [local(), Arc::new(Remote::new(output, input))].map(|environment| {
        let folder = tempfile::tempdir().expect("a folder");
        World {
            root: folder.path().canonicalize().expect("its real path"),
            _folder: folder,
            environment,
            stop: watch::channel(false).0,
        }
    })
}

impl World {
    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    fn command(&self, line: &str) -> Command {
        Command {
            line: line.to_owned(),
            cwd: self.root.clone(),
            variables: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
            timeout: DEADLINE,
        }
    }

    async fn exec(&self, command: Command) -> (Exit, Vec<u8>) {
        let (output, mut pieces) = mpsc::channel(2);
        let collect = async {
            let mut all = Vec::new();
            while let Some(piece) = pieces.recv().await {
                all.extend(piece);
            }
            all
        };
        let running = self
            .environment
            .exec(command, output, self.stop.subscribe());
        let (exit, all) = tokio::join!(running, collect);
        (exit.expect("it ran"), all)
    }
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn is_alive(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn what_is_written_is_read_and_versions_tell_changes() {
    for world in worlds() {
        let path = world.path("a/f");
        let env = &world.environment;
        let first = env
            .write(&path, b"one\0two".to_vec(), Expect::Nothing)
            .await
            .expect("written");
        assert_eq!(
            (first.kind, first.size, &first.real),
            (Kind::File, 7, &path)
        );
        let content = env.read(&path, 4, 100).await.expect("read");
        assert_eq!(
            (content.bytes.as_slice(), &content.stat),
            (b"two".as_slice(), &first)
        );
        assert_eq!(env.stat(&path).await.as_ref(), Ok(&first));
        let again = env
            .write(&path, Vec::new(), Expect::Nothing)
            .await
            .expect_err("it is there");
        assert_eq!(again.kind, ErrorKind::Changed);
        let second = env
            .write(&path, b"x".to_vec(), Expect::Version(first.version))
            .await
            .expect("written");
        assert_ne!(first.version, second.version);
        let stale = env
            .write(&path, b"y".to_vec(), Expect::Version(first.version))
            .await
            .expect_err("stale");
        assert_eq!(stale.kind, ErrorKind::Changed);
        assert_eq!(fs::read(&path).expect("file"), b"x");
        assert_eq!(fs::read_dir(world.path("a")).expect("folder").count(), 1);
    }
}

#[tokio::test]
async fn errors_say_what_is_the_matter() {
    for world in worlds() {
        let env = &world.environment;
        fs::create_dir(world.path("d")).expect("folder");
        symlink("loop", world.path("loop")).expect("link");
        let fifo = world.path("fifo");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&fifo)
                .status()
                .is_ok_and(|status| status.success())
        );
        for (name, kind) in [
            ("no", ErrorKind::NotFound),
            ("d", ErrorKind::Folder),
            ("fifo", ErrorKind::Special),
            ("loop", ErrorKind::Other),
        ] {
            let error = env
                .read(&world.path(name), 0, 9)
                .await
                .expect_err("no file");
            assert_eq!(error.kind, kind, "{name}: {error}");
        }
        for name in ["d", "fifo", "loop"] {
            let error = env
                .write(&world.path(name), Vec::new(), Expect::Anything)
                .await;
            assert!(error.is_err(), "{name}");
        }
        let error = env
            .list(&world.path("fifo"), 9)
            .await
            .expect_err("no folder");
        assert_eq!(error.kind, ErrorKind::NotFolder);
    }
}

#[tokio::test]
async fn a_name_need_not_be_utf8() {
    for world in worlds() {
        let name = Path::new(std::ffi::OsStr::from_bytes(b"caf\xe9"));
        let path = world.path(name);
        world
            .environment
            .write(&path, b"w".to_vec(), Expect::Nothing)
            .await
            .expect("written");
        let listing = world
            .environment
            .list(&world.root, 9)
            .await
            .expect("listed");
        assert_eq!(listing.names[0].name, name.as_os_str());
        let query = FindQuery {
            root: world.root.clone(),
            globs: Vec::new(),
            limit: 9,
        };
        let found = world.environment.find(query).await.expect("found");
        assert_eq!(found.names[0].path, name);
    }
}

#[tokio::test]
async fn a_search_returns_lines_and_bounds() {
    for world in worlds() {
        fs::write(world.path("f"), "a\nb a\n\na a\n").expect("file");
        let query = GrepQuery {
            root: world.root.clone(),
            pattern: "a".to_owned(),
            literal: false,
            ignore_case: false,
            globs: vec!["f".to_owned()],
            limit: 2,
        };
        let hits = world.environment.grep(query.clone()).await.expect("hits");
        let lines: Vec<_> = hits.files[0]
            .lines
            .iter()
            .map(|hit| (hit.line, hit.column, hit.more))
            .collect();
        assert_eq!(
            (lines.as_slice(), hits.total),
            ([(1, 1, 0), (2, 3, 0)].as_slice(), 3)
        );
        let bad = GrepQuery {
            pattern: "(".to_owned(),
            ..query
        };
        let error = world.environment.grep(bad).await.expect_err("bad");
        assert_eq!(error.kind, ErrorKind::Invalid);
    }
}

#[tokio::test]
async fn all_output_comes_in_order_before_the_end() {
    for world in worlds() {
        let (exit, output) = world.exec(world.command("seq 1 50000; exit 4")).await;
        assert_eq!((exit.status, exit.ended), (Some(4), Ended::Itself));
        let expected: String = (1..=50_000).map(|number| format!("{number}\n")).collect();
        assert!(output == expected.as_bytes(), "{} bytes", output.len());
        let (exit, _) = world.exec(world.command("kill -KILL $$")).await;
        assert_eq!((exit.status, exit.signal), (None, Some(9)));
    }
}

#[tokio::test]
async fn a_command_has_the_variables_it_was_given_and_no_others() {
    for world in worlds() {
        let (_, output) = world.exec(world.command("env | cut -d= -f1 | sort")).await;
        let names = String::from_utf8_lossy(&output).into_owned();
        let allowed = ["PATH", "PORTHOLE_COMMAND", "PWD", "OLDPWD", "SHLVL", "_"];
        assert!(names.lines().all(|name| allowed.contains(&name)), "{names}");
    }
}

#[tokio::test]
async fn a_stop_ends_it_and_a_gone_folder_is_told() {
    for world in worlds() {
        let stop = async {
            until("it runs", || world.path("pid").exists()).await;
            world.stop.send_replace(true);
        };
        let command = world.command("echo part; echo $$ > pid; sleep 1000");
        let ((exit, output), ()) = tokio::join!(world.exec(command), stop);
        assert_eq!(
            (exit.ended, exit.signal, output.as_slice()),
            (Ended::Stopped, Some(15), b"part\n".as_slice())
        );
        let (output, _pieces) = mpsc::channel(1);
        let mut command = world.command("true");
        command.cwd = world.path("gone");
        let stop = watch::channel(false).1;
        let error = world
            .environment
            .exec(command, output, stop)
            .await
            .expect_err("no folder");
        assert_eq!(error.kind, ErrorKind::NotFolder);
    }
}

#[tokio::test]
async fn who_waits_no_more_leaves_nothing_running() {
    for world in worlds() {
        let pid = world.path("pid");
        let running = world.exec(world.command("echo $$ > pid; sleep 1000"));
        let started = until("it runs", || {
            fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))
        });
        tokio::select! {
            _ = running => panic!("it ended"),
            () = started => {}
        }
        let pid = fs::read_to_string(&pid).expect("pid");
        until("it is gone", || !is_alive(&pid)).await;
    }
}

#[tokio::test]
async fn what_is_left_is_named_and_ended_when_told() {
    for world in worlds() {
        let (exit, _) = world
            .exec(world.command("sleep 1000 & setsid sleep 1000 & echo"))
            .await;
        assert_eq!(exit.left.len(), 2, "{exit:?}");
        assert_eq!(world.environment.end_left().await, Ok(2));
        assert!(exit.left.iter().all(|pid| !is_alive(&pid.to_string())));
        assert_eq!(world.environment.end_left().await, Ok(0));
    }
}

#[tokio::test]
async fn what_is_left_and_ignores_the_request_to_end_is_killed() {
    let stubborn = "trap '' TERM; sleep 1000 & setsid sleep 1000 & echo";
    for world in worlds() {
        let (exit, _) = world.exec(world.command(stubborn)).await;
        assert!(!exit.left.is_empty(), "{exit:?}");
        assert!(world.environment.end_left().await.is_ok());
        assert!(exit.left.iter().all(|pid| !is_alive(&pid.to_string())));
        let (exit, _) = world.exec(world.command(stubborn)).await;
        let hurried =
            tokio::time::timeout(Duration::from_millis(100), world.environment.end_left());
        // In time or not: nobody survives.
        let _ = hurried.await;
        for pid in exit.left {
            let pid = pid.to_string();
            until("it is gone", || !is_alive(&pid)).await;
        }
    }
}

#[tokio::test]
async fn a_broken_connection_is_told_to_everyone_who_waits_and_ends_their_commands() {
    let (ours, theirs) = tokio::io::duplex(4096);
    let (input, output) = tokio::io::split(theirs);
    let served = tokio::spawn(serve_on(local(), input, output));
    let folder = tempfile::tempdir().expect("a folder");
    let pid_file = folder.path().join("pid");
    let (output, input) = tokio::io::split(ours);
    let remote = Remote::new(output, input);
    let command = Command {
        line: "echo $$ > pid; sleep 1000".to_owned(),
        cwd: folder.path().to_owned(),
        variables: vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default())],
        timeout: DEADLINE * 10,
    };
    let (pieces, _kept) = mpsc::channel(1);
    let (_keep, stop) = watch::channel(false);
    let running = remote.exec(command, pieces, stop);
    let breaks = async {
        until("it runs", || {
            fs::read_to_string(&pid_file).is_ok_and(|text| text.ends_with('\n'))
        })
        .await;
        served.abort();
    };
    let (exit, ()) = tokio::join!(running, breaks);
    assert_eq!(exit.map_err(|error| error.kind), Err(ErrorKind::Gone));
    let pid = fs::read_to_string(&pid_file).expect("pid");
    until("it is gone", || !is_alive(&pid)).await;
    let error = remote.stat(folder.path()).await.expect_err("gone");
    assert_eq!(error.kind, ErrorKind::Gone);
}

#[tokio::test(flavor = "current_thread")]
async fn a_file_inside_a_folder_is_read_and_what_leads_out_is_not_found() {
    for world in worlds() {
        let outside = tempfile::tempdir().expect("a folder");
        fs::write(outside.path().join("secret"), "no").expect("written");
        fs::create_dir(world.path("sub")).expect("made");
        fs::write(world.path("sub/a"), "0123456789").expect("written");
        symlink("sub/a", world.path("in")).expect("linked");
        symlink(outside.path().join("secret"), world.path("out")).expect("linked");
        symlink(outside.path(), world.path("folder")).expect("linked");
        let read = |path: PathBuf| {
            let world = &world;
            async move {
                let read = world
                    .environment
                    .read_inside(&world.root, &path, 2, 4)
                    .await;
                read.map(|content| content.bytes)
                    .map_err(|error| error.kind)
            }
        };
        for inside in ["sub/a", "in", "sub/../sub/a"] {
            assert_eq!(read(inside.into()).await, Ok(b"2345".to_vec()), "{inside}");
        }
        assert_eq!(read(world.path("sub/a")).await, Ok(b"2345".to_vec()));
        for out in [
            "out",
            "folder/secret",
            "../x",
            "/etc/passwd",
            "sub/../../x",
            "none",
        ] {
            assert_eq!(read(out.into()).await, Err(ErrorKind::NotFound), "{out}");
        }
        assert_eq!(read("sub".into()).await, Err(ErrorKind::Folder));
        let pipe = world.path("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).expect("a pipe");
        assert_eq!(read("pipe".into()).await, Err(ErrorKind::Special));
    }
}
