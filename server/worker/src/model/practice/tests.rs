//! Tables of what people say and what the stand-in does, and of results and what it says of them.

use porthole_protocol::CallId;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::model::ToolDefinition;

fn tools() -> Vec<ToolDefinition> {
    let names = ["read", "write", "edit", "shell", "grep", "find", "ls"];
    let tool = |name: &str| ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        schema: json!({}),
    };
    names.into_iter().map(tool).collect()
}

fn prompt(items: Vec<PromptItem>) -> Prompt {
    Prompt {
        system: String::new(),
        items,
        tools: tools(),
        thinking: Thinking::Off,
        cache: Default::default(),
    }
}

fn user(text: &str) -> PromptItem {
    PromptItem::User {
        speaker: "<speaker/>".into(),
        files: Vec::new(),
        text: text.to_owned(),
    }
}

/// Returns what is said and what is called, as `tool {arguments}`.
fn said(items: Vec<PromptItem>) -> (String, String) {
    let (mut words, mut calls) = (String::new(), String::new());
    for block in blocks(&prompt(items)) {
        match block {
            AnswerBlock::Text { text } => words += &text,
            AnswerBlock::Thinking { text, .. } => calls += &format!("thinks: {text}"),
            AnswerBlock::ToolCall {
                tool, arguments, ..
            } => {
                calls += &format!("{tool} {}", arguments.unwrap_or_default());
            }
        }
    }
    (words, calls)
}

#[test]
fn words_lead_to_the_tools_they_name() {
    let table = [
        ("list the files", r#"ls {}"#),
        ("ls", r#"ls {}"#),
        ("Please list the files here.", r#"ls {}"#),
        ("list the files in src", r#"ls {"path":"src"}"#),
        ("ls src/", r#"ls {"path":"src/"}"#),
        ("what files are here?", r#"ls {}"#),
        ("read README.md", r#"read {"path":"README.md"}"#),
        ("show me `a b.txt`", r#"read {"path":"a b.txt"}"#),
        (
            "can you read the file notes.txt?",
            r#"read {"path":"notes.txt"}"#,
        ),
        ("read notes.txt.", r#"read {"path":"notes.txt"}"#),
        (
            "make a file called x.txt with hello there",
            r#"write {"content":"hello there\n","path":"x.txt"}"#,
        ),
        (
            "create a new file named x.txt",
            r#"write {"content":"","path":"x.txt"}"#,
        ),
        (
            "create x.txt with \"a\nb\"",
            r#"write {"content":"a\nb\n","path":"x.txt"}"#,
        ),
        (
            "edit x.txt: replace hello with good bye",
            r#"edit {"new":"good bye","old":"hello","path":"x.txt"}"#,
        ),
        (
            "Edit x.txt replace hello with bye",
            r#"edit {"new":"bye","old":"hello","path":"x.txt"}"#,
        ),
        (
            "change hello to bye in x.txt",
            r#"edit {"new":"bye","old":"hello","path":"x.txt"}"#,
        ),
        (
            "replace `a` with `b in c` in x.txt",
            r#"edit {"new":"b in c","old":"a","path":"x.txt"}"#,
        ),
        (
            "in x.txt, change a to b",
            r#"edit {"new":"b","old":"a","path":"x.txt"}"#,
        ),
        ("edit x.txt: replace hello with ", r#""#),
        (
            "run echo hi | wc -c",
            r#"shell {"command":"echo hi | wc -c"}"#,
        ),
        ("run `date`", r#"shell {"command":"date"}"#),
        ("$ ls -la", r#"shell {"command":"ls -la"}"#),
        ("find notes", r#"find {"pattern":"*notes*"}"#),
        ("find files named *.rs", r#"find {"pattern":"*.rs"}"#),
        (
            "search for fn main in src",
            r#"grep {"path":"src","pattern":"fn main"}"#,
        ),
        ("grep 'TODO'", r#"grep {"pattern":"TODO"}"#),
        ("<speaker name=\"Ada\" role=\"owner\">\nls", r#"ls {}"#),
        ("edit x.txt", ""),
        ("make a file", ""),
        ("run ", ""),
        ("sing a song", ""),
        ("größe İ with in to", ""),
    ];
    for (text, expected) in table {
        let (words, calls) = said(vec![user(text)]);
        assert_eq!(calls, expected, "{text}");
        assert!(!words.is_empty(), "{text}");
    }
}

#[test]
fn it_says_plainly_that_it_is_no_language_model() {
    for text in ["help", "hello!", "What can you do?", "sing a song", ""] {
        let (words, calls) = said(vec![user(text)]);
        assert!(words.contains("no language model"), "{text}: {words}");
        assert!(words.contains("`list the files`") && calls.is_empty());
    }
    let (words, thoughts) = said(vec![user("think about trees")]);
    assert!(thoughts.starts_with("thinks: ") && thoughts.contains("trees"));
    assert!(words.contains("cannot really think"));
}

#[test]
fn thoughts_are_shown_where_they_are_asked_for() {
    let mut prompt = prompt(vec![user("ls")]);
    prompt.thinking = Thinking::Low;
    let answer = blocks(&prompt);
    let AnswerBlock::Thinking { text, opaque: None } = &answer[0] else {
        panic!("a thought comes first");
    };
    assert!(text.contains("`ls`") && answer.len() == 3, "{text}");
}

#[test]
fn a_form_that_is_incomplete_is_explained() {
    let (words, _) = said(vec![user("edit x.txt")]);
    assert_eq!(
        words,
        "I need it in this form: `edit FILE: replace A with B`"
    );
}

/// Returns what is said of the result of the call that `text` leads to.
fn after_result(text: &str, result: &str, failed: bool) -> String {
    let asked = prompt(vec![user(text)]);
    let blocks = blocks(&asked);
    let Some(AnswerBlock::ToolCall {
        provider_id, tool, ..
    }) = blocks.last().cloned()
    else {
        panic!("{text} leads to a call");
    };
    let result = PromptItem::ToolResult {
        call: CallId::parse("c1").expect("a valid id"),
        provider_id,
        tool,
        text: result.to_owned(),
        failed,
    };
    let assistant = PromptItem::Assistant {
        model: name(),
        blocks,
    };
    let (words, calls) = said(vec![user(text), assistant, result]);
    assert_eq!(calls, "", "a result leads to words, not to another call");
    words
}

#[test]
fn results_are_quoted_and_failures_told() {
    let table = [
        (
            "ls",
            "a.txt\nsrc/",
            false,
            "This is in the folder:\n\n```\na.txt\nsrc/\n```",
        ),
        ("ls", "", false, "The folder is empty."),
        ("read x", "```\n", false, "`x` says:\n\n````\n```\n````"),
        (
            "make a file called x with y",
            "wrote 2 bytes",
            false,
            "`x` is written.\n\n```\nwrote 2 bytes\n```",
        ),
        ("edit x: replace a with b", "", false, "`x` is changed."),
        ("run true", "", false, "`true` ran and printed nothing."),
        (
            "run rm x",
            "the owner said no",
            true,
            "`shell` of `rm x` did not work: the owner said no",
        ),
        ("read x", "", true, "`read` of `x` did not work."),
        (
            "search q",
            "a:1: q",
            false,
            "For `q` there is:\n\n```\na:1: q\n```",
        ),
        ("find q", "", false, "Nothing matches `*q*`."),
    ];
    for (text, result, failed, expected) in table {
        assert_eq!(after_result(text, result, failed), expected, "{text}");
    }
}

#[test]
fn a_long_result_is_cut() {
    let words = after_result("read x", &"line\n".repeat(100), false);
    assert!(
        words.ends_with("and 88 more lines.") && words.len() < 200,
        "{words}"
    );
    let words = after_result("read x", &"é".repeat(1000), false);
    assert!(words.contains("é…"), "{words}");
}

#[test]
fn words_that_come_after_a_result_are_what_is_answered() {
    let items = vec![
        user("ls"),
        PromptItem::Assistant {
            model: name(),
            blocks: Vec::new(),
        },
        user("run date"),
    ];
    assert_eq!(said(items).1, r#"shell {"command":"date"}"#);
}

#[test]
fn without_tools_it_lists_what_people_said() {
    let mut prompt = prompt(vec![user("first"), user("second\nmore")]);
    prompt.tools.clear();
    let [AnswerBlock::Text { text }] = &blocks(&prompt)[..] else {
        panic!("only words");
    };
    assert!(text.ends_with("- first\n- second"), "{text}");
}

#[test]
fn the_pieces_are_the_words() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let response = answer(&prompt(vec![user("help")]), &sender);
    drop(sender);
    let (mut words, mut count) = (String::new(), 0);
    while let Ok(piece) = receiver.try_recv() {
        let Piece::Text(text) = piece else {
            panic!("only words");
        };
        words += &text;
        count += 1;
    }
    assert!(count > 3);
    assert_eq!(response.blocks, [text(words)]);
}

proptest! {
    #[test]
    fn any_words_are_answered(text in "(edit|run|make|change|find|search|list|in|replace)? ?\\PC{0,40}( with | to | in |: )?\\PC{0,20}") {
        prop_assert!(!blocks(&prompt(vec![user(&text)])).is_empty());
    }
}
