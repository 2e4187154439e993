//! Files in folders, as people keep them.

use std::{fs, path::Path};

use super::*;

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
}

fn world() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    for (path, text) in [
        ("AGENTS.md", "outside the repository"),
        ("home/.agents/AGENTS.md", "always"),
        ("home/.agents/prompts/review.md", "far"),
        (
            "home/.agents/skills/pdf/SKILL.md",
            "---\ndescription: Reads PDF files\n---\nRun ./read.\n",
        ),
        ("repo/.git/HEAD", "ref: refs/heads/main"),
        ("repo/AGENTS.md", "of the repository"),
        (
            "repo/.agents/prompts/review.md",
            "---\ndescription: Look at it\nargument-hint: <file>\n---\nReview ${1:-all} now.\n",
        ),
        ("repo/part/AGENTS.md", "of the part"),
        ("repo/part/.agents/prompts/go.md", "Go $@\n"),
        ("repo/part/.agents/prompts/no.txt", "no template"),
        ("repo/part/.agents/skills/bare/SKILL.md", "no description"),
    ] {
        put(root.path(), path, text);
    }
    root
}

fn look(root: &Path) -> Resources {
    let home = root.join("home");
    load(&root.join("repo/part"), Some(&home)).after(&Resources::default())
}

#[test]
fn rules_come_from_the_general_to_the_near_and_from_nowhere_else() {
    let root = world();
    let found = look(root.path());
    let texts: Vec<_> = found.rules.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["always", "of the repository", "of the part"]);
    assert_eq!(found.rules[0].0, "~/.agents/AGENTS.md");
}

#[test]
fn the_nearest_of_one_name_counts_and_what_is_typed_becomes_its_text() {
    let root = world();
    let found = look(root.path());
    let rows = found.prompts();
    let names: Vec<_> = rows
        .prompts
        .iter()
        .map(|row| {
            (
                row.name.as_str(),
                row.description.as_str(),
                row.arguments.as_str(),
            )
        })
        .collect();
    assert_eq!(
        names,
        [
            ("go", "Go $@", ""),
            ("review", "Look at it", "<file>"),
            ("skill:pdf", "Reads PDF files", "")
        ]
    );
    assert_eq!(
        found.expand("/review").as_deref(),
        Some("Review all now.\n")
    );
    assert_eq!(
        found.expand("/review 'a b'").as_deref(),
        Some("Review a b now.\n")
    );
    assert_eq!(found.expand("/go 1 2").as_deref(), Some("Go 1 2\n"));
    let skill = found.expand("/skill:pdf x.pdf").expect("a skill");
    assert!(
        skill.contains("Run ./read.") && skill.ends_with("\n\nx.pdf"),
        "{skill}"
    );
    assert!(found.skills().contains("pdf: Reads PDF files"));
    for plain in ["/nothing", "review", "/skill:none", "see /review"] {
        assert_eq!(found.expand(plain), None, "{plain}");
    }
    let faults: Vec<_> = rows
        .faults
        .iter()
        .map(|fault| fault.message.as_str())
        .collect();
    assert_eq!(
        faults,
        ["it has no `description`, so that nobody knows when to use it"]
    );
}

#[test]
fn a_file_that_is_not_good_any_more_stays_as_it_was_and_one_that_is_gone_is_gone() {
    let root = world();
    let before = look(root.path());
    put(
        root.path(),
        "repo/.agents/prompts/review.md",
        "---\nbroken\n---\n",
    );
    put(root.path(), "repo/AGENTS.md", &"x".repeat(65 << 10));
    fs::remove_file(root.path().join("repo/part/.agents/prompts/go.md")).expect("removed");
    let home = root.path().join("home");
    let now = load(&root.path().join("repo/part"), Some(&home)).after(&before);
    assert_eq!(now.expand("/review").as_deref(), Some("Review all now.\n"));
    assert_eq!(now.expand("/go"), None);
    assert!(
        now.rules
            .iter()
            .any(|(_, text)| text == "of the repository")
    );
    assert_ne!(now.version(), before.version());
    let faults = now.prompts().faults;
    let broken = faults.iter().find(|fault| fault.line == 2);
    let told = broken.map(|fault| fault.message.as_str());
    assert_eq!(told, Some("it is no `name: text`"));
    assert_eq!(look(root.path()).version(), look(root.path()).version());
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_passed_over() {
    let root = world();
    let path = root.path().join("repo/part/AGENTS.md");
    fs::remove_file(&path).expect("removed");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(
        made.is_ok_and(|status| status.success()),
        "`mkfifo` of coreutils is needed"
    );
    assert_eq!(look(root.path()).rules.len(), 2);
}
