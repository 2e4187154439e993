//! Reading, writing and editing files.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
};

use porthole_protocol::{DiffMark, ToolDetail};
use porthole_worker::tool::{self, ToolEffect};
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn replacing_all_counts_matches_that_do_not_overlap() {
    let world = World::new();
    world.put("f", "aaaa");
    let result = world
        .ok(
            "edit",
            json!({"path": "f", "old": "aa", "new": "b", "all": true}),
        )
        .await;
    assert_eq!(world.bytes("f"), b"bb");
    assert!(result.text.contains("2 places"), "{}", result.text);
}

#[tokio::test]
async fn several_matches_are_named_and_the_file_is_not_touched() {
    let world = World::new();
    let path = world.put("f", "x=1\ny\nx=1\n");
    let before = fs::metadata(&path).expect("metadata");
    let text = world
        .failed("edit", json!({"path": "f", "old": "x=1", "new": "x=2"}))
        .await;
    assert!(
        text.contains("2 times") && text.contains("lines 1, 3"),
        "{text}"
    );
    let after = fs::metadata(&path).expect("metadata");
    assert_eq!(
        (before.ino(), before.mtime_nsec()),
        (after.ino(), after.mtime_nsec())
    );
    assert_eq!(world.bytes("f"), b"x=1\ny\nx=1\n");
}

#[tokio::test]
async fn the_new_text_is_taken_literally() {
    let world = World::new();
    world.put("f", "a MARK b\n");
    let new = r"$& $1 $$ \1 \n ${x} $` $'";
    world
        .ok("edit", json!({"path": "f", "old": "MARK", "new": new}))
        .await;
    assert_eq!(world.bytes("f"), format!("a {new} b\n").as_bytes());
}

#[test]
fn an_edit_that_says_nothing_is_no_plan() {
    let world = World::new();
    for (old, new, word) in [("", "b", "empty"), ("a", "a", "the same")] {
        let arguments = json!({"path": "f", "old": old, "new": new});
        let error =
            tool::plan("edit", &arguments, &tool::Place::of(world.cwd())).expect_err("no plan");
        assert!(error.0.contains(word), "{error}");
    }
}

#[tokio::test]
async fn a_text_that_is_not_there_or_nearly_there_changes_nothing() {
    let world = World::new();
    let content = "const a = \"x\";\n// “smart” — dash, nbsp:\u{a0}here   \n\tif (b) {\n";
    world.put("f.js", content);
    for (old, near) in [
        ("const a = “x”;", Some("const a = \"x\";")),
        ("    if (b) {", Some("\tif (b) {")),
        ("\"smart\" - dash", Some("“smart” — dash")),
        ("nowhere", None),
    ] {
        let text = world
            .failed("edit", json!({"path": "f.js", "old": old, "new": "z"}))
            .await;
        assert!(text.contains("Nothing was changed"), "{text}");
        assert_eq!(
            text.contains("differs from it only"),
            near.is_some(),
            "{text}"
        );
        assert!(near.is_none_or(|near| text.contains(near)), "{text}");
        assert_eq!(world.bytes("f.js"), content.as_bytes());
    }
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_told_and_kept() {
    let world = World::new();
    world.put("f", "one\n");
    world.ok("read", json!({"path": "f"})).await;
    world.put("f", "one\nand more\n");
    let edit = json!({"path": "f", "old": "one", "new": "two"});
    for (tool, arguments) in [
        ("edit", edit.clone()),
        ("write", json!({"path": "f", "content": "x"})),
    ] {
        let text = world.failed(tool, arguments).await;
        assert!(text.contains("changed on disk since you read it"), "{text}");
        assert_eq!(world.bytes("f"), b"one\nand more\n");
    }
    world.ok("read", json!({"path": "f"})).await;
    world.ok("edit", edit).await;
    world
        .ok("edit", json!({"path": "f", "old": "two", "new": "three"}))
        .await;
    assert_eq!(world.bytes("f"), b"three\nand more\n");
}

#[tokio::test]
async fn mode_and_link_stay_and_the_target_is_written() {
    let world = World::new();
    let target = world.put("real/f.sh", "echo a\n");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o751)).expect("mode");
    std::os::unix::fs::chown(&target, Some(1234), Some(4321)).expect("owner");
    symlink("real/f.sh", world.path("link")).expect("link");
    world
        .ok("edit", json!({"path": "link", "old": "a\n", "new": "b\n"}))
        .await;
    assert_eq!(world.bytes("real/f.sh"), b"echo b\n");
    let link = fs::symlink_metadata(world.path("link")).expect("link");
    assert!(link.file_type().is_symlink());
    let after = fs::metadata(&target).expect("metadata");
    assert_eq!(after.mode() & 0o7777, 0o751);
    assert_eq!((after.uid(), after.gid()), (1234, 4321));
    let names = fs::read_dir(world.path("real")).expect("folder").count();
    assert_eq!(names, 1, "a temporary file was left");
}

#[tokio::test]
async fn line_ends_mark_and_missing_last_newline_stay() {
    let world = World::new();
    world.put("f", "\u{feff}a\r\nb\r\nc\nd");
    world
        .ok(
            "edit",
            json!({"path": "f", "old": "a\nb\n", "new": "x\ny\nz\n"}),
        )
        .await;
    assert_eq!(world.bytes("f"), "\u{feff}x\r\ny\r\nz\r\nc\nd".as_bytes());
    world
        .ok(
            "edit",
            json!({"path": "f", "old": "c\nd", "new": "c\ne\nd"}),
        )
        .await;
    assert_eq!(
        world.bytes("f"),
        "\u{feff}x\r\ny\r\nz\r\nc\ne\nd".as_bytes()
    );
}

#[tokio::test]
async fn bytes_that_are_no_utf8_stay_as_they_are() {
    let world = World::new();
    world.put("f", b"caf\xe9 one\n\xff\xfe two\n");
    world
        .ok("edit", json!({"path": "f", "old": "one", "new": "1"}))
        .await;
    assert_eq!(world.bytes("f"), b"caf\xe9 1\n\xff\xfe two\n");
}

#[tokio::test]
async fn a_diff_shows_what_changed_before_and_after_it_is_done() {
    let world = World::new();
    let content: String = (1..=20).map(|line| format!("line {line}\n")).collect();
    world.put("f", &content);
    let new = json!({"path": "f", "old": "line 10\n", "new": "ten\nand a half\n"});
    let shown = tool::preview(&world.plan("edit", new.clone()), &world.context()).await;
    assert_eq!(
        world.bytes("f"),
        content.as_bytes(),
        "a preview writes nothing"
    );
    let result = world.ok("edit", new).await;
    assert_eq!(result.detail, shown);
    assert_eq!(result.summary, "+2 −1");
    let ToolDetail::Diff {
        lines,
        added: 2,
        removed: 1,
        truncated: false,
        path,
    } = shown
    else {
        panic!("no diff: {shown:?}");
    };
    assert_eq!(path, "f");
    let marks: Vec<_> = lines
        .iter()
        .map(|line| (line.mark, line.old, line.new, line.text.as_str()))
        .collect();
    assert_eq!(marks[0], (DiffMark::Same, Some(7), Some(7), "line 7"));
    assert_eq!(marks[3], (DiffMark::Removed, Some(10), None, "line 10"));
    assert_eq!(marks[4], (DiffMark::Added, None, Some(10), "ten"));
    assert_eq!(marks[8], (DiffMark::Same, Some(13), Some(14), "line 13"));
    assert_eq!(marks.len(), 9);
}

#[tokio::test]
async fn writing_makes_folders_and_says_what_became_of_the_old_lines() {
    let world = World::new();
    let result = world
        .ok("write", json!({"path": "a/b/c.txt", "content": "1\n2\n"}))
        .await;
    assert_eq!(result.summary, "+2 −0");
    let result = world
        .ok("write", json!({"path": "a/b/c.txt", "content": "1\n3\n"}))
        .await;
    assert_eq!(result.summary, "+1 −1");
    assert_eq!(world.bytes("a/b/c.txt"), b"1\n3\n");
    let text = world
        .failed("write", json!({"path": "a/b", "content": "x"}))
        .await;
    assert!(text.contains("is a folder"), "{text}");
}

#[test]
fn an_edit_outside_is_told_apart_however_it_is_spelt() {
    let world = World::new();
    fs::create_dir(world.outside().join("other")).expect("folder");
    symlink(world.outside().join("other"), world.path("out")).expect("link");
    symlink(world.outside().join("new"), world.path("dangling")).expect("link");
    symlink("sub", world.path("in")).expect("link");
    fs::create_dir(world.path("sub")).expect("folder");
    for (path, inside) in [
        ("f", true),
        ("sub/new/f", true),
        ("in/f", true),
        ("sub/../f", true),
        ("../f", false),
        ("sub/../../f", false),
        ("out/f", false),
        ("dangling", false),
        ("/etc/passwd", false),
        ("missing/../../f", false),
    ] {
        let plan = world.plan("write", json!({"path": path, "content": ""}));
        assert_eq!(plan.effect, ToolEffect::Edits { inside }, "{path}");
    }
}

#[tokio::test]
async fn a_long_file_is_read_in_parts_and_says_how_to_go_on() {
    let world = World::new();
    let content: String = (1..=2_500).map(|line| format!("l{line}\n")).collect();
    world.put("f", content);
    let result = world.ok("read", json!({"path": "f"})).await;
    assert_eq!(result.summary, "lines 1–2000");
    assert!(
        result
            .text
            .ends_with("[lines 1–2000 of 2,500; go on with offset 2001]"),
        "{}",
        &result.text[result.text.len() - 80..]
    );
    let result = world
        .ok("read", json!({"path": "f", "offset": 2001, "limit": 3}))
        .await;
    assert!(
        result.text.starts_with("l2001\nl2002\nl2003\n"),
        "{}",
        result.text
    );
    let text = world
        .failed("read", json!({"path": "f", "offset": 2501}))
        .await;
    assert!(text.contains("only 2,500 lines"), "{text}");
}

#[tokio::test]
async fn one_huge_line_is_cut_between_letters() {
    let world = World::new();
    world.put("f", "é".repeat(100_000));
    let result = world.ok("read", json!({"path": "f"})).await;
    assert!(result.text.starts_with("éé") && !result.text.contains('\u{fffd}'));
    assert!(
        result
            .text
            .contains("line 1 is cut: 148,800 bytes of it left out"),
        "{}",
        &result.text[51_000..]
    );
}

#[tokio::test]
async fn what_is_no_text_is_said_to_be_what_it_is() {
    let world = World::new();
    world.put("a.png", b"\x89PNG\r\n\x1a\n....");
    world.put("b.bin", b"ab\0cd");
    world.put("empty", b"");
    for (name, word) in [
        ("a.png", "a PNG image"),
        ("b.bin", "a binary file"),
        (".", "is a folder"),
        ("no", "no such file"),
    ] {
        let text = world.failed("read", json!({"path": name})).await;
        assert!(text.contains(word), "{text}");
    }
    let result = world.ok("read", json!({"path": "empty"})).await;
    assert_eq!(result.text, "(the file is empty)");
}
