//! What the house must look like: who may depend on whom, what a bundle may import, what files begin with,
//! which paths the documents name.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use porthole_tests::World;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace has a root")
        .to_owned()
}

/// Each crate and the crates of ours that it may depend on, outside of tests.
const ARROWS: &[(&str, &[&str])] = &[
    ("porthole-bridge", &[]),
    ("porthole-protocol", &[]),
    ("porthole-door", &[]),
    (
        "porthole",
        &["porthole-bridge", "porthole-door", "porthole-themes"],
    ),
    ("porthole-themes", &[]),
    ("porthole-ui", &["porthole-bridge", "porthole-protocol"]),
    (
        "portholed",
        &[
            "porthole-door",
            "porthole-env",
            "porthole-protocol",
            "porthole-themes",
            "porthole-worker",
        ],
    ),
    ("porthole-worker", &["porthole-env", "porthole-protocol"]),
    ("porthole-env", &[]),
    (
        "porthole-examples",
        &["porthole-bridge", "porthole-protocol"],
    ),
    ("xtask", &["porthole-bridge"]),
    (
        "porthole-tests",
        &[
            "porthole",
            "porthole-bridge",
            "porthole-door",
            "porthole-examples",
            "porthole-protocol",
        ],
    ),
];

#[test]
fn crates_depend_only_on_what_they_may() {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo describes the workspace");
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let ours: Vec<&str> = metadata.packages.iter().map(|p| p.name.as_str()).collect();
    for package in &metadata.packages {
        let may = allowed
            .get(package.name.as_str())
            .unwrap_or_else(|| panic!("no arrows named for {}", package.name));
        for dependency in &package.dependencies {
            let is_ours = ours.contains(&dependency.name.as_str());
            let for_tests = dependency.kind == cargo_metadata::DependencyKind::Development;
            assert!(
                !is_ours || for_tests || may.contains(&dependency.name.as_str()),
                "{} must not depend on {}",
                package.name,
                dependency.name
            );
        }
    }
    assert_eq!(
        ours.len(),
        ARROWS.len(),
        "every crate has its arrows named, and no other is named"
    );
}

/// Licences that a dependency may come under; one of the alternatives suffices.
const LICENCES: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "MPL-2.0",
    "MPL-2.0+",
    "CC0-1.0",
    "Unlicense",
    "0BSD",
    "BSL-1.0",
    "Unicode-3.0",
    "CDLA-Permissive-2.0",
    "WTFPL",
];

#[test]
fn dependencies_come_under_licences_that_were_agreed_on() {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .exec()
        .expect("cargo describes the dependencies");
    for package in &metadata.packages {
        let licence = package.license.as_deref().unwrap_or("none named");
        let allowed = licence
            .split(" OR ")
            .flat_map(|part| part.split('/'))
            .any(|alternative| {
                let all = alternative.trim_matches(['(', ')', ' ']).split(" AND ");
                all.map(|part| part.trim_matches(['(', ')', ' ']))
                    .all(|part| LICENCES.contains(&part))
            });
        assert!(allowed, "{} comes under {licence}", package.name);
        assert!(package.name != "aws-lc-rs", "TLS uses ring alone");
    }
}

#[test]
fn the_bundle_imports_exactly_one_function() {
    let world = World::new().expect("a world");
    let module = fs::read(world.bundle().join("porthole-ui.wasm")).expect("the bundle is built");
    assert_eq!(imports(&module), ["porthole.post"]);
}

#[test]
fn the_bundle_with_highlighting_stays_small() {
    let world = World::new().expect("a world");
    let bytes = fs::metadata(world.bundle().join("porthole-ui.wasm"))
        .expect("the bundle is built")
        .len();
    let most = 3_584 << 10;
    assert!(
        bytes <= most,
        "the bundle has {bytes} bytes, more than {most}"
    );
}

fn imports(module: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for payload in wasmparser::Parser::new(0).parse_all(module) {
        if let wasmparser::Payload::ImportSection(section) = payload.expect("the bundle parses") {
            for import in section.into_imports() {
                let import = import.expect("an import parses");
                found.push(format!("{}.{}", import.module, import.name));
            }
        }
    }
    found
}

#[test]
fn every_source_file_says_first_what_it_is() {
    for file in sources(&root()) {
        let text = fs::read_to_string(&file).expect("a source file reads");
        assert!(
            text.starts_with("//! "),
            "{} does not open with `//! `",
            file.display()
        );
    }
}

#[test]
fn sources_leave_nothing_undone() {
    let words = ["todo!(", "unimplemented!(", "FIXME"];
    for file in sources(&root())
        .into_iter()
        .filter(|f| !f.ends_with("tests/tests/structure.rs"))
    {
        let text = fs::read_to_string(&file).expect("a source file reads");
        for word in words {
            assert!(!text.contains(word), "{} has `{word}`", file.display());
        }
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder lists").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let skipped = name.to_string_lossy().starts_with('.')
            || ["target", "dist"].iter().any(|s| name == *s);
        match path.extension() {
            _ if skipped => {}
            _ if path.is_dir() => found.extend(sources(&path)),
            Some(extension) if extension == "rs" => found.push(path),
            _ => {}
        }
    }
    found
}

#[test]
fn documents_name_only_paths_that_exist() {
    let root = root();
    let mut named = 0;
    for document in documents(&root) {
        let text = fs::read_to_string(&document).expect("a document reads");
        for path in code_spans(&text).filter_map(as_repository_path) {
            let from_root = root.join(&path);
            assert!(
                from_root.exists(),
                "{} names `{path}`, which is not there",
                document.display()
            );
            named += 1;
        }
        for target in link_targets(&text) {
            let beside = document
                .parent()
                .expect("a document lies in a folder")
                .join(&target);
            assert!(
                beside.exists(),
                "{} links to `{target}`, which is not there",
                document.display()
            );
            named += 1;
        }
    }
    assert!(named > 20, "the documents name paths");
}

fn documents(root: &Path) -> Vec<PathBuf> {
    let docs = fs::read_dir(root.join("docs"))
        .expect("docs lists")
        .flatten()
        .map(|entry| entry.path());
    let mut found: Vec<_> = docs
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect();
    found.extend(["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|name| root.join(name)));
    found
}

/// Returns what stands between single backticks on one line.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| !line.starts_with("```"))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// Returns a span that names a path of this repository: it begins with one of its folders.
fn as_repository_path(span: &str) -> Option<String> {
    let folders = [
        "launcher/",
        "ui-wasm/",
        "server/",
        "themes/",
        "tests/",
        "examples/",
        "xtask/",
        "docs/",
        ".ci/",
        ".cargo/",
    ];
    let is_path =
        folders.iter().any(|folder| span.starts_with(folder)) && !span.contains([' ', '*', '<']);
    is_path.then(|| span.split(':').next().unwrap_or(span).to_owned())
}

fn link_targets(text: &str) -> impl Iterator<Item = String> {
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#']).next());
    targets
        .filter(|t| !t.is_empty() && !t.contains("://"))
        .map(str::to_owned)
}

/// A merge that was half done shows in files that no compiler reads.
#[test]
fn no_file_holds_what_a_conflict_leaves() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let listed = std::process::Command::new("git")
        .args(["grep", "-lE", "^(<{7}|>{7}) "])
        .current_dir(root)
        .output()
        .expect("git runs");
    assert_eq!(String::from_utf8_lossy(&listed.stdout), "");
}
