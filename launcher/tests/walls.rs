//! The walls of the operating system around a UI, each tried from inside after it was raised, and looked at from outside.
//! What a bundle itself may try is in `hostile.rs`.

#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "the tests of hostile bundles use more of it")]
#[path = "guest/sandboxed.rs"]
mod sandboxed;
#[expect(dead_code, reason = "the tests of hostile bundles use more of it")]
#[path = "guest/text.rs"]
mod text;

use std::{os::unix::fs::PermissionsExt as _, path::Path};

use porthole_launcher::sandbox::{self, Sandbox, SandboxEvent, UiFault, attempts::Wall};

use sandboxed::{PROGRAM, compiled, key, started};
use text::Text;

#[tokio::test]
async fn no_way_out_that_is_tried_from_inside_gets_through() {
    let cache = tempfile::tempdir().expect("a folder");
    let standing = sandbox::check_with(Path::new(PROGRAM), cache.path())
        .await
        .expect("it runs");
    let walls = standing.walls;
    assert!(
        walls.limits && walls.privileges && walls.files && walls.calls,
        "{walls:?}: a kernel of 6.12 or newer with landlock and seccomp is needed for this test"
    );
    let through: Vec<_> = standing.tried.iter().filter(|tried| !tried.held).collect();
    assert!(through.is_empty(), "{through:#?}");
    // Both processes tried every wall.
    for (wall, least) in [
        (Wall::Limits, 6),
        (Wall::Privileges, 6),
        (Wall::Files, 18),
        (Wall::Calls, 88),
    ] {
        let count = standing.tried.iter().filter(|tried| tried.wall == wall);
        assert!(count.count() >= least, "{wall:?}");
    }
}

#[tokio::test]
async fn what_the_launcher_was_started_with_does_not_reach_a_ui() {
    let leaked = std::fs::File::open("/").expect("there is one");
    let leaked = rustix::io::dup(&leaked).expect("open for every child");
    let cache = tempfile::tempdir().expect("a folder");
    let mut ui = started(Text::sound().build(), cache.path()).await;
    ui.loaded().await.expect("it loads");
    let own = format!("/proc/{}", ui.process_id().expect("it runs"));
    let mut open: Vec<String> = std::fs::read_dir(format!("{own}/fd"))
        .expect("root may look")
        .map(|entry| {
            entry
                .expect("readable")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    open.sort();
    assert_eq!(open, ["0", "1", "2"]);
    drop(leaked);
    let environment = std::fs::read(format!("{own}/environ")).expect("root may look");
    assert!(environment.is_empty());
}

#[tokio::test]
async fn the_kernel_says_the_same_of_the_process_from_outside() {
    let cache = tempfile::tempdir().expect("a folder");
    let mut ui = started(Text::sound().build(), cache.path()).await;
    ui.loaded().await.expect("it loads");
    let own = format!("/proc/{}", ui.process_id().expect("it runs"));
    let status = std::fs::read_to_string(format!("{own}/status")).expect("readable");
    for line in [
        "Seccomp:\t2",
        "NoNewPrivs:\t1",
        "CapEff:\t0000000000000000",
        "CapPrm:\t0000000000000000",
    ] {
        assert!(
            status.lines().any(|found| found == line),
            "{line}\n{status}"
        );
    }
    let limits = std::fs::read_to_string(format!("{own}/limits")).expect("readable");
    for (name, most) in [
        ("Max core file size", "0"),
        ("Max file size", "0"),
        ("Max open files", "32"),
        ("Max data size", "419430400"),
    ] {
        let line = limits.lines().find_map(|line| line.strip_prefix(name));
        let numbers: Vec<&str> = line.expect("a limit").split_whitespace().take(2).collect();
        assert_eq!(numbers, [most, most], "{name}");
    }
}

#[tokio::test]
async fn a_process_of_more_than_its_memory_is_ended_by_the_launcher() {
    // The real process cannot get so far: its own limit is lower. This one answers each call, and is large.
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("large");
    let script = r#"#!/usr/bin/perl
$| = 1; binmode STDIN; binmode STDOUT;
sub frame { my ($kind, $body) = @_; print pack("VC", length $body, $kind), $body; }
my $large = "x" x (600 << 20);
frame(0, '{"limits":false,"privileges":false,"files":false,"calls":false}');
while (read(STDIN, my $head, 5) == 5) {
    read(STDIN, my $body, unpack("V", $head));
    frame(1, "\0\5hello"); frame(2, "");
}
"#;
    std::fs::write(&program, script).expect("written");
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(&program, mode).expect("may");
    assert!(
        Path::new("/usr/bin/perl").exists(),
        "this test needs the program perl"
    );
    let artifact = compiled(Text::sound().build(), folder.path()).await;
    let mut ui = Sandbox::spawn_with(&program, artifact.expect("compiles")).expect("starts");
    loop {
        let _ = ui.send(&key()).await;
        match ui.next().await {
            SandboxEvent::Posted(_) => {}
            SandboxEvent::Ended(fault) => break assert_eq!(fault, UiFault::OutOfMemory),
        }
    }
}
