//! The index as a file: what is in it, what leaves it, and in which order it is found.

use std::collections::HashSet;

use super::*;

fn id(id: &str) -> SessionId {
    SessionId::parse(id).expect("an id")
}

fn doc(entry: u64, text: &str) -> Doc {
    Doc {
        conversation: 1,
        entry,
        at_ms: entry,
        words: Words {
            author: "owner".into(),
            weight: Weight::Person,
            text: text.into(),
        },
    }
}

fn asked(text: &str) -> Question {
    Question::parse(text).expect("words")
}

fn title(session: &SessionId) -> Option<Title> {
    Some(Title {
        session: session.clone(),
        title: "t".into(),
        archived: false,
        updated_ms: 1,
    })
}

/// Returns the entries found, page by page.
fn pages(reader: &Reader, question: &str, limit: usize) -> Vec<Vec<u64>> {
    let (question, mut mark, mut all) = (asked(question), None, Vec::new());
    loop {
        let at = Page::from_mark(mark);
        let found = reader.find(&question, None, at.below).expect("finds");
        let (hits, next) = page(&question, found, at, limit, title);
        all.push(
            hits.iter()
                .filter_map(|hit| hit.entry)
                .map(|e| e.0)
                .collect(),
        );
        match next {
            Some(next) => mark = Some(next),
            None => return all,
        }
    }
}

fn bytes(folder: &Path) -> Vec<u8> {
    let names = ["search.sqlite", "search.sqlite-wal"];
    let read = |name| std::fs::read(folder.join(name)).unwrap_or_default();
    names.into_iter().flat_map(read).collect()
}

fn holds(folder: &Path, word: &str) -> bool {
    let bytes = bytes(folder);
    bytes
        .windows(word.len())
        .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
}

#[test]
fn better_texts_come_first_and_every_text_comes_once_on_some_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut index = Index::open(folder.path()).expect("opens");
    let many: Vec<Doc> = (1..=2_500).map(|n| doc(n, "common word")).collect();
    index.add(&id("a"), &many, 2_500).expect("added");
    let best = [
        doc(1, "rare rare rare"),
        doc(2, "rare and much else that says nothing of it"),
        doc(3, "rarely"),
    ];
    index.add(&id("b"), &best, 3).expect("added");
    let reader = Reader::open(folder.path()).expect("opens");
    assert_eq!(pages(&reader, "rare", 10), [[1, 2, 3]]);
    assert_eq!(pages(&reader, "rare ", 1), [[1], [2]]);
    let all = pages(&reader, "com", 100);
    let flat: Vec<u64> = all.concat();
    assert_eq!(flat.len(), 2_500);
    assert_eq!(flat.iter().collect::<HashSet<_>>().len(), 2_500);
    assert_eq!(
        flat[..3],
        [2_500, 2_499, 2_498],
        "the newest of equal ones first"
    );
    assert_eq!(index.last(&id("b")), Ok(3));
    assert_eq!(index.last(&id("c")), Ok(0));
}

#[test]
fn what_is_forgotten_or_becomes_a_secret_is_not_found_and_not_in_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut index = Index::open(folder.path()).expect("opens");
    index
        .add(&id("a"), &[doc(1, "before Zq7canary9Value behind")], 1)
        .expect("added");
    index
        .add(&id("b"), &[doc(1, "Xw3another5Word behind")], 1)
        .expect("added");
    let reader = Reader::open(folder.path()).expect("opens");
    let find = |text: &str| {
        reader
            .find(&asked(text), None, i64::MAX)
            .expect("finds")
            .found
            .len()
    };
    assert_eq!((find("Zq7canary9Value"), find("behind")), (1, 2));
    let mut known = Known::default();
    known.add("KEY", "Zq7canary9Value").expect("strong");
    known.settle();
    assert_eq!(index.is_outdated(&known), Ok(true));
    let mut after = Some(0);
    while let Some(from) = after {
        after = index.redact(&known, from).expect("redacts");
    }
    assert_eq!(index.is_outdated(&known), Ok(false));
    assert_eq!((find("Zq7canary9Value"), find("behind")), (0, 2));
    assert!(!holds(folder.path(), "canary9"), "it is gone from the file");
    index.forget(&id("b")).expect("forgotten");
    assert_eq!((find("Xw3another5Word"), find("behind")), (0, 1));
    assert_eq!(index.sessions(), Ok(vec![id("a")]));
}
