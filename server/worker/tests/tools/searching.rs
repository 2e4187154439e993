//! Searching lines and names, and listing.

use std::{fs, os::unix::fs::symlink};

use porthole_protocol::{ToolDetail, ToolOutcome};
use serde_json::{Value, json};

use crate::world::World;

async fn lines(world: &World, arguments: Value) -> Vec<String> {
    let text = world.ok("grep", arguments).await.text;
    text.lines()
        .filter(|line| !line.starts_with('[') || line.starts_with("[id]"))
        .map(str::to_owned)
        .collect()
}

async fn names(world: &World, arguments: Value) -> Vec<String> {
    match world.ok("find", arguments).await.detail {
        ToolDetail::Names { names, .. } => names,
        other => panic!("no names: {other:?}"),
    }
}

fn tree() -> World {
    let world = World::new();
    fs::create_dir(world.path(".git")).expect("a repository");
    world.put(".gitignore", "vendor/**\n");
    for name in [
        "src/a.ts",
        "src/b.tsx",
        "src/c.d.ts",
        "vendor/v.ts",
        "[id]/page.tsx",
        "sp ace/q.ts",
    ] {
        world.put(name, "needle\n");
    }
    world.put(".github/x.yml", "needle\n");
    world
}

#[tokio::test]
async fn globs_mean_what_they_mean_to_git() {
    let world = tree();
    let all = [
        "[id]/page.tsx",
        "sp ace/q.ts",
        "src/a.ts",
        "src/b.tsx",
        "src/c.d.ts",
    ];
    let src = ["src/a.ts", "src/b.tsx", "src/c.d.ts"];
    let cases: [(Value, &[&str]); 12] = [
        (json!("*.{ts,tsx}"), &all),
        (
            json!(["*.{ts,tsx}", "!*.d.ts"]),
            &["[id]/page.tsx", "sp ace/q.ts", "src/a.ts", "src/b.tsx"],
        ),
        (json!("**/*.ts"), &["sp ace/q.ts", "src/a.ts", "src/c.d.ts"]),
        (json!("/src"), &src),
        (json!("src/"), &src),
        (json!("./src/**"), &src),
        (json!("src/*.ts"), &["src/a.ts", "src/c.d.ts"]),
        (
            json!("!*.ts"),
            &[".github/x.yml", "[id]/page.tsx", "src/b.tsx"],
        ),
        (json!(".github/**"), &[".github/x.yml"]),
        (json!("\\[id\\]/**"), &["[id]/page.tsx"]),
        (json!("sp ace/*"), &["sp ace/q.ts"]),
        (json!("*.TS"), &[]),
    ];
    for (include, expected) in cases {
        let found = lines(&world, json!({"pattern": "needle", "include": include})).await;
        let expected: Vec<_> = expected
            .iter()
            .map(|path| format!("{path}:1: needle"))
            .collect();
        assert_eq!(found, expected, "{include}");
    }
    let text = world
        .failed("grep", json!({"pattern": "needle", "include": "a{b"}))
        .await;
    assert!(text.contains("the glob `a{b` does not parse"), "{text}");
    let text = world.failed("find", json!({"pattern": "[z-a]"})).await;
    assert!(text.contains("the glob `[z-a]` does not parse"), "{text}");
}

#[tokio::test]
async fn a_named_folder_is_searched_though_it_is_ignored() {
    let world = tree();
    world.put("venv/.gitignore", "*\n");
    world.put("venv/lib.py", "needle\n");
    let found = lines(&world, json!({"pattern": "needle", "path": "venv"})).await;
    assert_eq!(found, ["venv/lib.py:1: needle"]);
    let found = lines(&world, json!({"pattern": "needle", "path": "vendor/"})).await;
    assert_eq!(found, ["vendor/v.ts:1: needle"]);
    assert_eq!(
        names(&world, json!({"pattern": "*.ts", "path": "vendor"})).await,
        ["vendor/v.ts"]
    );
    let found = lines(&world, json!({"pattern": "needle", "path": "vendor/v.ts"})).await;
    assert_eq!(found, ["vendor/v.ts:1: needle"]);
    let result = world
        .ok("grep", json!({"pattern": "needle", "include": "vendor/**"}))
        .await;
    assert_eq!(result.summary, "no hits");
    assert!(
        result
            .text
            .contains("0 files were searched. What git ignores was left out"),
        "{}",
        result.text
    );
}

#[tokio::test]
async fn ignore_rules_are_those_of_the_repository() {
    let world = World::new();
    let repository = world.path("repo");
    fs::create_dir_all(repository.join(".git/info")).expect("a repository");
    world.put(".gitignore", "*\n");
    world.put(
        "repo/.gitignore",
        "**/bar/*\nbuild/\n!build/keep.txt\n*.log\n",
    );
    world.put("repo/.git/info/exclude", "secret.txt\n");
    world.put("repo/a/.gitignore", "*\n!*.c\n");
    for name in [
        "foo/bar/baz",
        "build/keep.txt",
        "x.log",
        "secret.txt",
        "a/t.c",
        "a/x/t.c",
        "foo/seen",
    ] {
        world.put(&format!("repo/{name}"), "w\n");
    }
    let found = lines(
        &world,
        json!({"pattern": "w", "path": "repo", "include": "!.gitignore"}),
    )
    .await;
    assert_eq!(found, ["repo/a/t.c:1: w", "repo/foo/seen:1: w"]);
    let found = lines(&world, json!({"pattern": "w", "path": "repo/foo"})).await;
    assert_eq!(found, ["repo/foo/seen:1: w"]);
}

#[tokio::test]
async fn a_hit_in_a_huge_line_is_shown_with_what_is_around_it() {
    let world = World::new();
    let mut line = "x".repeat(5 << 20);
    for at in [10, 2_500_000, (5 << 20) - 6] {
        line.replace_range(at..at + 6, "needle");
    }
    world.put("app.min.js", &line);
    world.put(
        "letters",
        format!("{}needle{}", "é".repeat(300), "é".repeat(300)),
    );
    let found = lines(&world, json!({"pattern": "needle"})).await;
    assert_eq!(found.len(), 2);
    assert!(
        found[0].starts_with("app.min.js:1:11: xxxxxxxxxxneedlexxx")
            && found[0].ends_with("x…  [+2 on this line]"),
        "{}",
        found[0]
    );
    assert!(
        found[1].starts_with("letters:1:301: …éé") && found[1].ends_with("éé…"),
        "{}",
        found[1]
    );
    assert!(found[1].contains("éneedleé") && !found[1].contains('\u{fffd}'));
    assert!(
        found
            .iter()
            .all(|line| (150..550).contains(&line.chars().count()))
    );
}

#[tokio::test]
async fn many_hits_are_counted_and_few_are_shown() {
    let world = World::new();
    world.put("a", "e\n".repeat(30_000));
    world.put("b", "e\n".repeat(20_000));
    let result = world.ok("grep", json!({"pattern": "e"})).await;
    assert_eq!(result.summary, "50,000 hits in 2 files");
    assert!(
        result.text.contains("49,900 more not shown"),
        "{}",
        result.text
    );
    assert!(result.text.len() < 50 << 10);
    let ToolDetail::Hits { total, files, .. } = result.detail else {
        panic!("no hits")
    };
    assert_eq!((total, files[0].lines.len()), (50_000, 100));
}

#[tokio::test]
async fn binary_files_and_bad_bytes_hide_nothing_else() {
    let world = World::new();
    let mut log = vec![b"line\n".to_vec(); 1_000];
    log[3] = b"needle\n".to_vec();
    log[499] = b"a\0b\n".to_vec();
    log[899] = b"needle\n".to_vec();
    world.put("log.txt", log.concat());
    world.put("lib.a", b"\x7f\0\0needle\0");
    world.put("latin", b"caf\xe9 needle\n");
    world.put("z", "needle\n");
    symlink("nowhere", world.path("dangling")).expect("link");
    let found = lines(&world, json!({"pattern": "needle"})).await;
    assert_eq!(
        found,
        [
            "latin:1: caf\u{fffd} needle",
            "lib.a: binary file matches",
            "log.txt: binary file matches",
            "z:1: needle"
        ]
    );
}

#[tokio::test]
async fn a_pattern_is_only_ever_data() {
    let world = World::new();
    world.put("f", "a --flag b\n-e\n--pre=sh\n-f/etc/passwd\na.b(c\n\n");
    for (pattern, line) in [
        ("--flag", 1),
        ("-e", 2),
        ("--pre=sh", 3),
        ("-f/etc/passwd", 4),
        ("^$", 6),
        ("\\p{L}\\.b", 5),
    ] {
        let found = lines(&world, json!({"pattern": pattern})).await;
        assert!(
            found.len() == 1 && found[0].starts_with(&format!("f:{line}: ")),
            "{pattern}: {found:?}"
        );
    }
    let found = lines(&world, json!({"pattern": "a.b(c", "literal": true})).await;
    assert_eq!(found, ["f:5: a.b(c"]);
    for (pattern, word) in [
        ("a.b(c", "unclosed group"),
        ("(", "unclosed group"),
        ("\\", "incomplete escape"),
        ("x)|(y", "unopened group"),
        ("a\\nb", "\\n"),
    ] {
        let text = world.failed("grep", json!({"pattern": pattern})).await;
        assert!(
            text.contains(word) && text.contains("`literal`"),
            "{pattern}: {text}"
        );
    }
    let text = world
        .failed("grep", json!({"pattern": "x", "path": "-rf"}))
        .await;
    assert!(text.contains("`-rf`: no such file or folder"), "{text}");
    world.put("slow", "a".repeat(5_000));
    let found = lines(&world, json!({"pattern": "(a+)+$", "path": "slow"})).await;
    assert_eq!(found.len(), 1);
    let found = lines(&world, json!({"pattern": "A --FLAG", "ignore_case": true})).await;
    assert_eq!(found.len(), 1);
}

#[tokio::test]
async fn links_are_listed_and_never_entered() {
    let world = World::new();
    world.put("d/f", "w\n");
    symlink("..", world.path("d/up")).expect("link");
    symlink("/", world.path("root")).expect("link");
    symlink("self", world.path("self")).expect("link");
    assert_eq!(
        names(&world, json!({"pattern": "*"})).await,
        ["d/", "d/f", "d/up", "root", "self"]
    );
    assert_eq!(lines(&world, json!({"pattern": "w"})).await, ["d/f:1: w"]);
    let listed = world.ok("ls", json!({})).await;
    assert_eq!(listed.text, "d/\nroot@\nself@");
    assert_eq!(listed.summary, "3 names");
}

#[tokio::test]
async fn finding_names_folders_and_says_what_is_more() {
    let world = World::new();
    for at in 0..30 {
        world.put(&format!("many/{at:02}.txt"), "");
    }
    world.put("tests/a.rs", "");
    assert_eq!(
        names(&world, json!({"pattern": "tests/"})).await,
        ["tests/"]
    );
    let result = world
        .ok("find", json!({"pattern": "*.txt", "limit": 2}))
        .await;
    assert_eq!(
        result.text,
        "many/00.txt\nmany/01.txt\n[30 found. 28 more not shown: narrow `path` or `pattern`]"
    );
    world.put("odd\nname", "");
    assert_eq!(
        names(&world, json!({"pattern": "odd*"})).await,
        ["odd\\nname"]
    );
}

#[tokio::test]
async fn a_stopped_search_says_so() {
    let world = World::new();
    world.stop.send_replace(true);
    let result = world.run("grep", json!({"pattern": "x"})).await;
    assert_eq!(result.outcome, ToolOutcome::Stopped);
}
