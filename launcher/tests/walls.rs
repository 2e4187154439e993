//! The walls of the operating system around a UI, each tried from inside after it was raised, and looked at from outside.
//! What a bundle itself may try is in `hostile.rs`.

#![cfg(target_os = "linux")]

use std::path::Path;

use porthole_launcher::sandbox::{self, attempts::Wall};

const PROGRAM: &str = env!("CARGO_BIN_EXE_porthole");

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
