//! The fuzz targets' own functions, bounded and on stable: each with raw bytes and with parts that its decoder knows.
//! What must hold is said in `fuzz/src/lib.rs`.

#[expect(
    unreachable_pub,
    reason = "the fuzz targets call the same functions from outside"
)]
#[path = "../../fuzz/src/lib.rs"]
mod fuzz;

use std::{fs, path::Path};

use porthole_bridge::{Action, Event, Request, Signal, encode_request, encode_signal};
use proptest::{collection::vec, prelude::*, sample::select};

/// Returns the entries of a dictionary in libFuzzer's form.
fn entries(dictionary: &str) -> Vec<Vec<u8>> {
    let quoted = |line: &str| Some(line.strip_prefix('"')?.strip_suffix('"')?.to_owned());
    dictionary
        .lines()
        .filter_map(quoted)
        .map(|text| unescaped(&text))
        .collect()
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next().expect("an escape") {
            b'x' => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                let digits = str::from_utf8(&digits).expect("digits");
                bytes.push(u8::from_str_radix(digits, 16).expect("hex digits"));
            }
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'n' => bytes.push(b'\n'),
            byte => bytes.push(byte),
        }
    }
    bytes
}

/// Raw bytes, or parts of the dictionary with text and raw bytes between them.
fn bytes(dictionary: &str) -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        6 => select(entries(dictionary)),
        3 => "[ -~é漢🙂]{0,6}".prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..4),
    ];
    let parts = (any::<[u8; 2]>(), vec(part, 0..24))
        .prop_map(|(head, parts)| [head.to_vec(), parts.concat()].concat());
    prop_oneof![1 => vec(any::<u8>(), 0..300), 3 => parts]
}

const FRAME: &str = include_str!("../../fuzz/dictionaries/frame.dict");

/// Messages that are sound, before a byte of them is changed.
fn messages() -> Vec<Vec<u8>> {
    let requests = [
        Request::Frame(b"text".to_vec()),
        Request::Link(b"{}".to_vec()),
        Request::WakeIn(Some(300)),
        Request::Title("title".into()),
        Request::Action {
            request: 300,
            action: Action::OpenUrl("https://example.com/".into()),
        },
    ];
    let events = [
        Event::Paste("text".into()),
        Event::Link(vec![1, 2]),
        Event::Wake,
    ];
    let signals = events.map(|event| Signal {
        now_ms: 1_700_000_000_000,
        event,
    });
    let requests = requests.iter().map(encode_request);
    let all = requests.chain(signals.iter().map(encode_signal));
    all.map(|bytes| bytes.expect("within the limits")).collect()
}

proptest! {
    #[test]
    fn a_frame_leaves_only_the_launchers_own_drawing(bytes in bytes(FRAME)) {
        fuzz::frame(&bytes);
    }

    #[test]
    fn a_keyboards_bytes_are_the_same_keys_wherever_they_are_cut(bytes in bytes(FRAME)) {
        fuzz::keys(&bytes);
    }

    #[test]
    fn a_message_of_the_bridge_is_refused_or_says_one_thing(
        raw in vec(any::<u8>(), 0..64),
        sound in select(messages()),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        fuzz::bridge(&raw);
        fuzz::bridge(&sound);
        let mut changed = sound;
        let at = at.index(changed.len());
        changed[at] = byte;
        fuzz::bridge(&changed);
        fuzz::bridge(&changed[..at]);
    }

    #[test]
    fn a_pasted_link_is_refused_or_leads_to_one_place(
        bytes in bytes(include_str!("../../fuzz/dictionaries/link.dict")),
        sound in "(https://[a-z]{1,9}\\.example|http://127\\.0\\.0\\.1:[1-9]{2,4})/#owner=pho_[A-Za-z0-9_-]{43}&key=[A-Za-z0-9_-]{43}",
        inserted in "[ -~]{0,3}",
        at in any::<prop::sample::Index>(),
    ) {
        fuzz::link(&bytes);
        fuzz::link(bytes.get(2..).unwrap_or_default());
        let mut changed = sound;
        changed.insert_str(at.index(changed.len()), &inserted);
        fuzz::link(changed.as_bytes());
    }

    #[test]
    fn a_frame_of_the_link_is_refused_or_says_one_thing(
        bytes in bytes(include_str!("../../fuzz/dictionaries/protocol.dict")),
    ) {
        fuzz::protocol(&bytes);
        fuzz::protocol(bytes.get(2..).unwrap_or_default());
    }

    #[test]
    fn a_servers_file_name_becomes_one_plain_component(
        bytes in bytes(include_str!("../../fuzz/dictionaries/name.dict")),
    ) {
        fuzz::name(&bytes);
        fuzz::name(bytes.get(2..).unwrap_or_default());
    }

    #[test]
    fn a_models_answer_is_the_same_wherever_it_is_cut(
        bytes in bytes(include_str!("../../fuzz/dictionaries/events.dict")),
    ) {
        fuzz::events(&bytes);
    }
}

#[test]
fn every_target_calls_one_of_these_functions_and_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    let read = |path: &str| fs::read_to_string(folder.join(path)).expect("readable");
    let (manifest, bodies, document) = (
        read("Cargo.toml"),
        read("src/lib.rs"),
        read("../docs/security.md"),
    );
    let mut targets = 0;
    for entry in fs::read_dir(folder.join("fuzz_targets")).expect("targets") {
        let path = entry.expect("readable").path();
        let name = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .expect("a name");
        let text = fs::read_to_string(&path).expect("readable");
        assert!(
            text.contains(&format!("porthole_fuzz::{name}(bytes)")),
            "{name}"
        );
        assert!(
            bodies.contains(&format!("pub fn {name}(bytes: &[u8])")),
            "{name}"
        );
        assert!(
            manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")),
            "{name}"
        );
        assert!(
            document.contains(&format!("`{name}`")),
            "docs/security.md lacks {name}"
        );
        targets += 1;
    }
    assert_eq!(targets, bodies.matches("\npub fn ").count());
}
