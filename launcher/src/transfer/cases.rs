//! The handed cases of hostile names, headers and paths, each with its answer.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::Value;

use super::{LocalFile, dropped_files, local_path, name_in, safe_name};

#[test]
fn every_case_of_names_has_its_answer() {
    let mut wrong = Vec::new();
    for line in include_str!("../../tests/cases/names.jsonl").lines() {
        let case: Value = serde_json::from_str(line).expect("JSON");
        let text = |key: &str| case[key].as_str().unwrap_or_default();
        let input = match case["input_hex"].as_str() {
            Some(hex) => bytes(hex),
            None => text("input").as_bytes().to_vec(),
        };
        let answer = match text("source") {
            "filename" => safe_name(&input).ok(),
            "content-disposition" => name_in(text("input"))
                .and_then(|name| safe_name(&name.unwrap_or_default()))
                .ok(),
            "upload-path" => upload(text("input")),
            other => panic!("a new source: {other}"),
        };
        let answer = answer.unwrap_or_else(|| "refuse".to_owned());
        if answer != text("safe") {
            wrong.push(format!(
                "{}: {answer:?}, not {:?}",
                text("id"),
                text("safe")
            ));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16).expect("hex"))
        .collect()
}

/// Plays a case of a path: makes what it needs, and returns the name of what would be sent; nothing where it is refused.
fn upload(input: &str) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let open = |path: &Path| LocalFile::open(path, 1 << 20).map(|file| file.name()).ok();
    let trick = input.split_once(':').map_or("", |(kind, _)| kind);
    match trick {
        "fifo" => {
            rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), 0o600.into()).expect("a pipe");
            open(&at("pipe"))
        }
        "dir" => open(folder.path()),
        "symlink" => {
            fs::write(at("key"), "secret").expect("written");
            symlink(at("key"), at("cat.png")).expect("linked");
            open(&at("cat.png"))
        }
        "swap" => {
            fs::write(at("a.txt"), "shown").expect("written");
            let file = LocalFile::open(&at("a.txt"), 1 << 20).expect("opens");
            fs::write(at("b"), "other").expect("written");
            fs::rename(at("b"), at("a.txt")).expect("swapped");
            file.check().ok().map(|()| file.name())
        }
        "clipboard uri-list" => {
            let list = input
                .split_once(": ")
                .expect("a list")
                .1
                .replace("\\r\\n", "\n");
            dropped_files(&list).map(|paths| format!("{paths:?}"))
        }
        _ => local_path(input, Some(folder.path()))
            .ok()
            .and_then(|path| open(&path)),
    }
}
