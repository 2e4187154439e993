//! The file as people and editors treat it: saved by rename, in place, through links, half, empty, with a fault.

use std::{fs, os::unix::fs::symlink, path::Path, time::Duration};

use porthole_protocol::Policy;
use tokio::sync::mpsc;

use super::*;

/// The longest wait for a change.
const PATIENCE: Duration = Duration::from_secs(10);

/// A way to save a text, and its name.
type Way<'a> = (&'a str, Box<dyn Fn(&str) + 'a>);

fn change(key: &str, value: &str) -> [SettingChange; 1] {
    [SettingChange {
        key: key.to_owned(),
        value: Some(value.to_owned()),
    }]
}

fn replace(path: &Path, text: &str) {
    let fresh = path.with_extension("new");
    fs::write(&fresh, text).expect("written");
    fs::rename(fresh, path).expect("renamed");
}

#[test]
fn a_file_with_a_fault_is_not_saved_over_and_the_last_good_one_holds() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("settings.toml");
    fs::write(&path, "# mine\npolicy = \"auto\"\n").expect("written");
    let kept = Kept::open(home.path());
    assert_eq!(kept.state().settings.policy, Policy::Auto);
    let broken = "# mine\npolicy = \"auto\"\ncycle = [\"a\"\n";
    fs::write(&path, broken).expect("written");
    assert_eq!(kept.look(true), Found::Faulty);
    let refused = kept.save(&change("thinking", "high")).expect_err("refused");
    assert!(refused.message.contains("line "), "{refused:?}");
    assert_eq!(fs::read_to_string(&path).expect("read"), broken);
    let state = kept.state();
    assert_eq!(state.settings.policy, Policy::Auto, "the last good one");
    assert!(state.fault.is_some());
    for gone in ["", "  \n"] {
        fs::write(&path, gone).expect("written");
        assert_eq!(kept.look(true), Found::Faulty, "as in the middle of a save");
        assert_eq!(kept.state().settings.policy, Policy::Auto);
    }
    fs::remove_file(&path).expect("removed");
    assert_eq!(kept.look(true), Found::Good);
    assert_eq!(kept.state().settings, Settings::default());
}

#[test]
fn a_save_heeds_what_another_wrote_in_between() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("settings.toml");
    let kept = Kept::open(home.path());
    fs::write(&path, "thinking = \"low\" # by hand\n").expect("written");
    let state = kept.save(&change("policy", "read-only")).expect("saved");
    assert_eq!(state.settings.policy, Policy::ReadOnly);
    let text = fs::read_to_string(&path).expect("read");
    assert_eq!(
        text,
        "thinking = \"low\" # by hand\npolicy = \"read-only\"\n"
    );
    let before = fs::metadata(&path).expect("there");
    kept.save(&change("policy", "read-only")).expect("saved");
    let after = fs::metadata(&path).expect("there");
    assert_eq!(
        before.modified().expect("a time"),
        after.modified().expect("a time"),
        "nothing to write"
    );
}

#[tokio::test]
async fn every_way_to_save_is_seen_again_and_again_and_a_touch_is_none() {
    let home = tempfile::tempdir().expect("a folder");
    let data = home.path().join("data");
    for folder in ["data", "v1", "v2"] {
        fs::create_dir(home.path().join(folder)).expect("made");
    }
    let path = data.join("settings.toml");
    let kept = Kept::open(&data);
    let (send, mut told) = mpsc::unbounded_channel();
    let watching = tokio::spawn(watch(kept.clone(), move || send.send(()).is_ok()));
    let mut number = 0;
    let mut next = || {
        number = number % 15 + 2;
        format!("tools_at_once = {number}\n")
    };
    let mut save: Vec<Way<'_>> = vec![
        (
            "in place",
            Box::new(|text| fs::write(&path, text).expect("written")),
        ),
        ("by rename", Box::new(|text| replace(&path, text))),
        (
            "deleted and made",
            Box::new(|text| {
                fs::remove_file(&path).expect("removed");
                fs::write(&path, text).expect("written");
            }),
        ),
    ];
    save.push((
        "through a link to a folder",
        Box::new(|text| {
            let (v1, v2) = (home.path().join("v1"), home.path().join("v2"));
            let current = home.path().join("current");
            let other = match fs::read_link(&current) {
                Ok(now) if now == v1 => v2,
                _ => v1,
            };
            fs::write(other.join("s.toml"), text).expect("written");
            let fresh = home.path().join("fresh");
            symlink(&other, &fresh).expect("linked");
            fs::rename(&fresh, &current).expect("renamed");
            if !path.is_symlink() {
                let fresh = data.join("fresh");
                symlink(current.join("s.toml"), &fresh).expect("linked");
                fs::rename(&fresh, &path).expect("renamed");
            }
        }),
    ));
    // The watch may begin only now, and misses nothing: it is told what is there then.
    for (how, save) in &save {
        for time in 0..3 {
            let text = next();
            let wanted = form::parse(&text).expect("parses").settings;
            save(&text);
            let seen = async {
                while kept.state().settings != wanted {
                    told.recv().await.expect("watching");
                }
            };
            let in_time = tokio::time::timeout(PATIENCE, seen).await;
            assert!(in_time.is_ok(), "{how}, time {time}");
        }
    }
    let version = kept.state().version;
    let text = fs::read_to_string(&path).expect("read");
    fs::write(path.canonicalize().expect("there"), &text).expect("touched");
    assert_eq!(kept.look(true), Found::Good);
    assert_eq!(kept.state().version, version, "the same text is no change");
    watching.abort();
}

#[tokio::test]
async fn a_fault_is_told_and_taken_back() {
    let home = tempfile::tempdir().expect("a folder");
    let kept = Kept::open(home.path());
    let (send, mut told) = mpsc::unbounded_channel();
    let watching = tokio::spawn(watch(kept.clone(), move || send.send(()).is_ok()));
    for (text, faulty) in [
        ("policy = \"auto\"\n", false),
        ("policy = 3\n", true),
        ("policy = \"ask\"\n", false),
    ] {
        let seen = async {
            while kept.state().fault.is_some() != faulty || (!faulty && kept.state().version < 2) {
                told.recv().await.expect("watching");
            }
        };
        replace(kept.path(), text);
        assert!(tokio::time::timeout(PATIENCE, seen).await.is_ok(), "{text}");
    }
    watching.abort();
}
