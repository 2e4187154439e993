//! What is kept of what a process printed.

use std::os::unix::fs::PermissionsExt as _;

use proptest::prelude::*;

use super::*;

fn redaction() -> Redaction {
    let redaction = Redaction::default();
    redaction.learn([("KEY".to_owned(), "Canary+Value/17".to_owned())]);
    redaction
}

#[tokio::test]
async fn what_a_process_printed_is_there_when_it_is_gone_and_private() {
    let data = tempfile::tempdir().expect("a folder");
    for life in ["one", "two"] {
        let capture = Capture::new(data.path(), "worker-a".to_owned(), redaction());
        let text = format!("{life} Canary+Value/17\nno end");
        let mut capture = capture.run(text.as_bytes()).await;
        assert_eq!(
            capture.tail(4_000),
            format!("{life} [redacted: KEY]\nno end\n")
        );
        assert_eq!(capture.tail(3), "nd\n");
        capture.note("it ended");
    }
    let kept = read(data.path(), "worker-a");
    let lines: Vec<_> = kept.since(0).map(|line| line.text.as_str()).collect();
    let both = [
        "one [redacted: KEY]",
        "no end",
        "it ended",
        "two [redacted: KEY]",
        "no end",
        "it ended",
    ];
    assert_eq!(lines, both);
    assert_eq!(sources(data.path()), ["worker-a"]);
    let mode = |path: PathBuf| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(file(data.path(), "worker-a")), 0o600);
    assert_eq!(mode(folder(data.path())), 0o700);
}

#[tokio::test]
async fn the_source_that_was_silent_for_longest_makes_room() {
    let data = tempfile::tempdir().expect("a folder");
    for number in 0..SOURCES + 3 {
        let mut capture = Capture::new(data.path(), format!("worker-{number}"), redaction());
        capture.note("hello");
    }
    let kept = sources(data.path());
    assert_eq!(kept.len(), SOURCES);
    assert!(!kept.contains(&"worker-0".to_owned()) && kept.contains(&"worker-130".to_owned()));
}

#[test]
fn what_is_kept_is_bounded_in_lines_and_bytes() {
    let mut history = History::default();
    for number in 0..3_000 {
        history.push(number, "x".repeat(1_000));
    }
    assert_eq!(history.since(0).count(), KEEP_BYTES / 1_000);
    assert_eq!(history.since(2_999).count(), 1);
    assert_eq!(history.since(3_000).count(), 0);
    for number in 0..3_000 {
        history.push(number, "x".to_owned());
    }
    assert_eq!(history.since(0).count(), KEEP_LINES);
}

proptest! {
    #[test]
    fn a_damaged_file_is_as_good_as_none(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let data = tempfile::tempdir().expect("a folder");
        make_private(&folder(data.path())).expect("made");
        fs::write(file(data.path(), "s"), &bytes).expect("written");
        let mut capture = Capture::new(data.path(), "s".to_owned(), redaction());
        capture.note("still");
        prop_assert_eq!(read(data.path(), "s").since(0).next_back().map(|l| l.text.clone()), Some("still".to_owned()));
    }
}
