//! Files of every version are read, and what is no session is told with its line.

use std::collections::HashSet;

use porthole_protocol::{AuthorKind, Block, ToolOutcome};
use proptest::prelude::*;

use super::*;

const V1: &str = r#"{"type":"session","id":"x","timestamp":"2024-12-03T14:00:00.000Z","cwd":"/work","provider":"anthropic","modelId":"claude"}
{"type":"message","timestamp":"2024-12-03T14:00:01.500Z","message":{"role":"user","content":"<speaker kind=\"guest\" id=\"g7\" name=\"Mira\"/>\nlook\n<attachments>a.png b.txt</attachments>"}}
{"type":"message","timestamp":"2024-12-03T14:00:02.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I look."},{"type":"toolCall","id":"t1","name":"bash","arguments":{"command":"ls"}},{"type":"toolCall","id":"t2","name":"read","arguments":{"path":"a"}}],"provider":"anthropic","model":"claude","usage":{"input":5,"output":7,"cacheRead":1,"cacheWrite":0},"stopReason":"toolUse"}}
{"type":"message","timestamp":"2024-12-03T14:00:03.000Z","message":{"role":"toolResult","toolCallId":"t1","toolName":"bash","content":[{"type":"text","text":"a b"}],"isError":false}}
{"type":"message","timestamp":"2024-12-03T14:00:04.000Z","message":{"role":"bashExecution","command":"make","output":"ok","exitCode":0}}
{"type":"thinking_level_change","timestamp":"2024-12-03T14:00:05.000Z","thinkingLevel":"high"}
{"type":"compaction","timestamp":"2024-12-03T14:00:06.000Z","summary":"they looked","firstKeptEntryIndex":1,"tokensBefore":9}
{"type":"message","timestamp":"2024-12-03T14:00:07.000Z","message":{"role":"user","content":[{"type":"text","text":"go on"},{"type":"image","data":"AA==","mimeType":"image/png"}]}}
"#;

const V3: &str = r#"{"type":"session","version":3,"id":"x","timestamp":"2026-01-24T16:22:26.831Z","cwd":"/work"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-24T16:22:27.000Z","message":{"role":"user","content":"one"}}
{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-24T16:22:28.000Z","message":{"role":"user","content":"left out"}}
{"type":"session_info","id":"c","parentId":"a","timestamp":"2026-01-24T16:22:29.000Z","name":"A title"}
{"type":"custom_message","id":"d","parentId":"c","timestamp":"2026-01-24T16:22:30.000Z","customType":"x","content":"noted","display":true}
{"type":"message","id":"e","parentId":"d","timestamp":"2026-01-24T16:22:31.000Z","message":{"role":"assistant","content":[],"provider":"p","model":"m","stopReason":"error","errorMessage":"broken"}}
"#;

fn read(text: &str) -> Result<Imported, ImportError> {
    parse(text.as_bytes())
}

fn kinds(imported: &Imported) -> Vec<&'static str> {
    let kind = |kept: &KeptEntry| match &kept.entry.body {
        EntryBody::Message { .. } => "message",
        EntryBody::Answer { .. } => "answer",
        EntryBody::ToolResult { .. } => "result",
        EntryBody::Shell { .. } => "shell",
        EntryBody::Compaction { .. } => "compaction",
        EntryBody::Notice { .. } => "notice",
        EntryBody::Error { .. } => "error",
        _ => "other",
    };
    imported.entries.iter().map(kind).collect()
}

#[test]
fn a_list_of_messages_keeps_who_spoke_what_ran_and_what_was_summed_up() {
    let imported = read(V1).expect("reads");
    let expected = [
        "message",
        "answer",
        "result",
        "result",
        "shell",
        "compaction",
        "message",
    ];
    assert_eq!(kinds(&imported), expected);
    assert_eq!(imported.dir.as_deref(), Some("/work"));
    assert_eq!(imported.created_ms, Some(1_733_234_400_000));
    let first = &imported.entries[0].entry;
    assert_eq!(first.at_ms, 1_733_234_401_500);
    assert_eq!(
        (first.author.kind, first.author.name.as_str()),
        (AuthorKind::Guest, "Mira")
    );
    let EntryBody::Message { text, .. } = &first.body else {
        panic!("a message");
    };
    assert_eq!(text, "look\n\n(files: a.png b.txt)");
    let EntryBody::ToolResult { outcome, .. } = &imported.entries[3].entry.body else {
        panic!("a result");
    };
    assert_eq!(*outcome, ToolOutcome::Interrupted, "it had none");
    let EntryBody::Compaction { kept, .. } = &imported.entries[5].entry.body else {
        panic!("a compaction");
    };
    assert_eq!(kept.len(), 1);
    assert_eq!(imported.skipped, 1);
}

#[test]
fn of_a_tree_the_branch_of_the_last_line_is_read() {
    let imported = read(V3).expect("reads");
    assert_eq!(kinds(&imported), ["message", "notice", "error"]);
    assert_eq!(imported.title.as_deref(), Some("A title"));
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let told = |text: &str| read(text).expect_err("refused").to_string();
    assert!(told("").contains("no message"));
    assert!(told("garbage\n").contains("neither"));
    assert!(told("[1]\n").contains("neither"));
    let truncated = &V1[..V1.len() - 40];
    assert!(told(truncated).starts_with("line 8: it is no whole JSON"));
    assert!(told(&V3.replace("\"parentId\":\"d\"", "\"parentId\":\"z\"")).starts_with("line 6:"));
    assert!(told(&V3.replace("\"parentId\":null", "\"parentId\":\"e\"")).contains("before itself"));
    assert!(told(&V3.replace("\"version\":3", "\"version\":4")).contains("newer"));
    let newer = format!("{JSON_START}99,\"session\":{{}},\"entries\":[]}}");
    assert_eq!(read(&newer), Err(ImportError::Newer(99)));
    let long = format!(
        "{}{}",
        &V1[..V1.find('\n').expect("a line") + 1],
        "x".repeat(33 << 20)
    );
    assert!(told(&long).contains("line 2 is longer"));
}

#[test]
fn what_was_exported_is_read_back_as_it_was() {
    let imported = read(V1).expect("reads");
    let entries: Vec<String> = imported
        .entries
        .iter()
        .map(|kept| serde_json::to_string(kept).expect("encodes"))
        .collect();
    let file = format!(
        "{JSON_START}{JSON_VERSION},\"session\":{{\"title\":\"t\"}},\"entries\":[\n{}\n]}}\n",
        entries.join(",\n")
    );
    assert_eq!(read(&file).expect("reads").entries, imported.entries);
    let twice = format!(
        "{JSON_START}{JSON_VERSION},\"session\":{{}},\"entries\":[\n{0},\n{0}\n]}}\n",
        entries[0]
    );
    assert_eq!(
        read(&twice).expect_err("refused").to_string(),
        "line 3: the ids of the entries do not grow"
    );
}

/// What every session needs that a model goes on with.
fn assert_sound(imported: &Imported) {
    let (mut last, mut open) = (0, HashSet::new());
    for kept in &imported.entries {
        assert!(kept.entry.id.0 > last);
        last = kept.entry.id.0;
        match &kept.entry.body {
            EntryBody::Answer { blocks, .. } => {
                assert!(open.is_empty(), "calls without a result");
                open.extend(blocks.iter().filter_map(|block| match block {
                    Block::ToolCall { call, .. } => Some(call.clone()),
                    _ => None,
                }));
            }
            EntryBody::ToolResult { call, .. } => assert!(open.remove(call), "a result of no call"),
            _ => {}
        }
    }
    assert!(open.is_empty());
}

proptest! {
    #[test]
    fn no_file_breaks_it(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(bytes.as_slice());
    }

    #[test]
    fn a_damaged_session_is_refused_or_sound(which in any::<bool>(), cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..30, ".{0,6}"), 0..4)) {
        let mut text = if which { V1.to_owned() } else { V3.to_owned() };
        for (at, len, other) in cuts {
            let from = text.floor_char_boundary(at.index(text.len() + 1));
            let to = text.ceil_char_boundary((from + len).min(text.len()));
            text.replace_range(from..to, &other);
        }
        if let Ok(imported) = parse(text.as_bytes()) {
            assert_sound(&imported);
        }
    }

    #[test]
    fn lines_in_any_order_are_refused_or_sound(lines in prop::collection::vec(1usize..8, 0..12)) {
        let all: Vec<&str> = V1.lines().collect();
        let mut text = vec![all[0]];
        text.extend(lines.iter().map(|n| all[*n]));
        if let Ok(imported) = read(&text.join("\n")) {
            assert_sound(&imported);
        }
    }
}
