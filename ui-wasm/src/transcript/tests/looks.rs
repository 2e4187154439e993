//! What the transcript looks like.

use porthole_protocol::{
    AuthorKind, EntryBody, FileHits, RequestId, SendMode, Submission, SubmissionId,
    SubmissionState, ToolDetail, ToolOutcome, ToolRunState, TurnPhase,
};

use super::super::{Click, Sending, detail_lines};
use super::talk::*;
use crate::transcript::ViewContext;

#[test]
fn a_conversation_at_100_columns() {
    insta::assert_snapshot!(Screen::new(100, 28).picture(&retry_talk()), @r#"
      you · 14:02
    ▌ The retry test fails about once in ten runs. Find out why and fix it.

    ▸ thought: A flaky test around retries: time, or order. Look at the jitter first.

      I'll run it until it fails, then read what it depends on.

    ▸ ✗ shell   cargo test retry -- --nocapture          12 runs, 1 failed                       8.4 s
    ▸ ✓ read    src/very/deep…that/nobody/reads/retry.rs lines 1–88
    ▾ ✓ edit    src/retry.rs                             +2 −1
        41   │ let wait = base * 2u32.pow(attempt);
        42 − │ let wait = wait + jitter();
        42 + │ // Jitter is bounded so that two attempts never meet.
        43 + │ let wait = wait + jitter().min(base / 2);
         …

      The jitter could be longer than the back-off itself, so two attempts met in one tick.

      It is bounded by half the base now: 200 runs pass.

    ▸ ◐ shell   cargo test --workspace                   running 0:07                        Esc stops
    "#);
}

#[test]
fn a_conversation_at_80_columns() {
    insta::assert_snapshot!(Screen::new(80, 30).picture(&retry_talk()), @r#"
      you · 14:02
    ▌ The retry test fails about once in ten runs. Find out why and fix it.

    ▸ thought: A flaky test around retries: time, or order. Look at the jitter fi…

      I'll run it until it fails, then read what it depends on.

    ▸ ✗ shell   cargo test retry -- --nocapt… 12 runs, 1 failed              8.4 s
    ▸ ✓ read    src/very/…body/reads/retry.rs lines 1–88
    ▾ ✓ edit    src/retry.rs                  +2 −1
        41   │ let wait = base * 2u32.pow(attempt);
        42 − │ let wait = wait + jitter();
        42 + │ // Jitter is bounded so that two attempts never meet.
        43 + │ let wait = wait + jitter().min(base / 2);
         …

      The jitter could be longer than the back-off itself, so two attempts met in
      one tick.

      It is bounded by half the base now: 200 runs pass.

    ▸ ◐ shell   cargo test --workspace        running 0:07               Esc stops
    "#);
}

#[test]
fn a_conversation_at_40_columns() {
    insta::assert_snapshot!(Screen::new(40, 36).picture(&retry_talk()), @r#"
      you · 14:02
    ▌ The retry test fails about once in
    ▌ ten runs. Find out why and fix it.

    ▸ thought: A flaky test around retrie…

      I'll run it until it fails, then
      read what it depends on.

    ▸ ✗ shell cargo test r… 12 runs, 1 fa…
    ▸ ✓ read  src/v…ds/retry.rs lines 1–88
    ▾ ✓ edit  src/retry.rs           +2 −1
        41   │ let wait = base * 2u32.pow(
             │ attempt);
        42 − │ let wait = wait + jitter();
        42 + │ // Jitter is bounded so tha
             │ t two attempts never meet.
        43 + │ let wait = wait + jitter().
             │ min(base / 2);
         …

      The jitter could be longer than the
      back-off itself, so two attempts met
      in one tick.

      It is bounded by half the base now:
      200 runs pass.

    ▸ ◐ shell cargo test --w… running 0:07
    "#);
}

#[test]
fn a_conversation_without_glyphs() {
    let mut screen = Screen::new(80, 12);
    screen.unicode = false;
    let picture = screen.picture(&retry_talk());
    assert!(picture.is_ascii(), "{picture}");
}

#[test]
fn every_way_a_call_can_end_is_said_in_words() {
    let mut talk = empty();
    let ends = [
        ("a1", ToolOutcome::Ok, "3 files"),
        ("a2", ToolOutcome::Failed, "exit 1"),
        ("a3", ToolOutcome::Denied, ""),
        ("a4", ToolOutcome::Stopped, ""),
        ("a5", ToolOutcome::Interrupted, "not run again"),
    ];
    talk.answer(
        ends.iter()
            .map(|(id, ..)| uses(id, "shell", "make check"))
            .collect(),
    );
    for (id, outcome, summary) in ends {
        talk.result(
            id,
            "shell",
            "make check",
            outcome,
            summary,
            ToolDetail::Text,
        );
    }
    talk.answer(vec![
        uses("b1", "shell", "make one"),
        uses("b2", "shell", "make two"),
        uses("b3", "shell", "make three"),
        uses("b4", "shell", "make four"),
    ]);
    let turn = talk.turn(TurnPhase::Question);
    turn.tools
        .push(runs("b1", "make one", ToolRunState::Running));
    turn.tools
        .push(runs("b2", "make two", ToolRunState::Asking));
    turn.tools
        .push(runs("b3", "make three", ToolRunState::Queued));
    insta::assert_snapshot!(Screen::new(80, 11).picture(&talk), @r#"
    ▸ ✓ shell   make check                    3 files                        8.4 s
    ▸ ✗ shell   make check                    failed: exit 1                 8.4 s
    ▸ ✗ shell   make check                    denied                         8.4 s
    ▸ ○ shell   make check                    stopped                        8.4 s
    ▸ ○ shell   make check                    interrupted: not run again     8.4 s
    ▸ ◐ shell   make one                      running 0:07               Esc stops
      ● shell   make two                      needs you
      ○ shell   make three                    waiting
      ○ shell   make four                     waiting
    "#);
}

#[test]
fn what_is_on_its_way_stands_at_the_bottom() {
    let mut talk = empty();
    talk.human("hello");
    let turn = talk.turn(TurnPhase::Retry {
        at_ms: NOW + 3_200,
        attempt: 2,
        reason: "The model is overloaded".into(),
    });
    turn.answer = None;
    talk.submissions.push(Submission {
        id: SubmissionId(5),
        request: RequestId::parse("q1").expect("an id"),
        author: author(AuthorKind::Guest, "g1", "Mira"),
        mode: SendMode::Steer,
        text: "and look at the importer".into(),
        attachments: Vec::new(),
        at_ms: NOW,
        state: SubmissionState::Queued,
    });
    let mut screen = Screen::new(80, 18);
    let sending = |text: &str, uncertain, failed: Option<&str>| Sending {
        text: text.into(),
        mode: SendMode::FollowUp,
        uncertain,
        failed: failed.map(Into::into),
    };
    screen.sending = vec![
        sending("on its way", false, None),
        sending("sent before the link broke", true, None),
        sending(
            "too much",
            false,
            Some("The text is too large: at most 512 KiB."),
        ),
    ];
    insta::assert_snapshot!(screen.picture(&talk), @r#"
      you · 14:02
    ▌ hello

    ○ try 2 in 4 s · Esc stops · The model is overloaded

      Mira · queued, steers this turn
    ▌ and look at the importer

      sending
    ▌ on its way

      not sure it arrived · asking again
    ▌ sent before the link broke

      not sent
    ▌ too much
    ✗ The text is too large: at most 512 KiB.
    "#);
}

#[test]
fn marks_notices_errors_and_commands_of_people() {
    let mut talk = empty();
    let system = || author(AuthorKind::System, "porthole", "Porthole");
    talk.add(
        system(),
        EntryBody::Notice {
            text: "No model is configured, so you are talking to `practice`.".into(),
        },
    );
    talk.add(system(), EntryBody::Reset);
    let shell = EntryBody::Shell {
        command: "git status --short".into(),
        included: false,
        detail: command(" M src/retry.rs\n", Some(0)),
    };
    talk.add(author(AuthorKind::Guest, "g1", "Mira"), shell);
    talk.add(
        system(),
        EntryBody::Error {
            text: "The provider refused the key.".into(),
            hint: "set `ANTHROPIC_API_KEY` and retry".into(),
        },
    );
    talk.add(
        system(),
        EntryBody::Compaction {
            summary: "They fixed the **jitter**.".into(),
            automatic: false,
            kept: Vec::new(),
        },
    );
    let id = talk.answer(vec![words("This was cut")]);
    if let Some(EntryBody::Answer {
        incomplete, stop, ..
    }) = talk.entries.last_mut().map(|entry| &mut entry.body)
    {
        (*incomplete, *stop) = (true, None);
    }
    assert_eq!(talk.entries.last().map(|entry| entry.id), Some(id));
    insta::assert_snapshot!(Screen::new(80, 20).picture(&talk), @r#"
      No model is configured, so you are talking to practice.

      ── new start: the model sees nothing from above ────────────────────────────

      Mira ran · 14:02
    ▾ ✓ !       git status --short            not shown to the model
         M src/retry.rs

    ✗ The provider refused the key.
      hint: set ANTHROPIC_API_KEY and retry

    ▸ ── the model sees a summary of what is above ───────────────────────────────

      This was cut

    ○ cut short
    "#);
}

#[test]
fn details_of_every_kind() {
    let theme = theme();
    let cx = ViewContext {
        theme: &theme,
        now_ms: NOW,
        utc_offset_minutes: 0,
        unicode: true,
        animate: false,
        me: "",
    };
    let names = [
        "src/",
        "tests/",
        "Cargo.toml",
        "日本語ファイル名テスト.rs",
        "a.rs",
    ]
    .map(String::from)
    .to_vec();
    let hits = vec![FileHits {
        path: "src/retry.rs".into(),
        lines: vec![(41, "let wait\t= base".into()), (1042, "wait()".into())],
    }];
    let output = "a 10 %\ra 100 %\n\u{1b}[32mok\u{1b}[0m\n   780\t#[test]\n";
    let details = [
        command(output, Some(2)),
        change(),
        ToolDetail::File {
            path: "a.rs".into(),
            first_line: 9,
            text: "\tfoo\n1\tbar\n12345678\tx\n".into(),
            total_lines: 200,
        },
        ToolDetail::Hits {
            pattern: "wait".into(),
            files: hits,
            total: 12,
        },
        ToolDetail::Names { names, total: 9 },
    ];
    let pictures = details.map(|detail| {
        let lines = detail_lines(&detail, 60, &cx);
        lines
            .iter()
            .map(|line| line.to_string().trim_end().to_owned())
            .collect::<Vec<_>>()
            .join("\n")
    });
    insta::assert_snapshot!(pictures.join("\n~~~\n"), @r#"
    a 100 %
    ok
       780  #[test]
    exit 2
    ~~~
    41   │ let wait = base * 2u32.pow(attempt);
    42 − │ let wait = wait + jitter();
    42 + │ // Jitter is bounded so that two attempts never meet.
    43 + │ let wait = wait + jitter().min(base / 2);
     …
    ~~~
     9 │         foo
    10 │ 1       bar
    11 │ 12345678        x
    … 200 lines in all
    ~~~
    src/retry.rs
        41 │ let wait        = base
      1042 │ wait()
    … 10 more
    ~~~
    src/                       日本語ファイル名テスト.rs
    tests/                     a.rs
    Cargo.toml
    … 4 more
    "#);
}

#[test]
fn a_click_opens_a_card_and_its_line_stays() {
    let talk = retry_talk();
    let mut screen = Screen::new(80, 40);
    let before = screen.draw(&talk);
    let row = before
        .iter()
        .position(|row| row.contains("cargo test retry"))
        .expect("a card");
    let y = u16::try_from(row).expect("small");
    assert_eq!(screen.transcript.click(5, y), Click::Toggled);
    let after = screen.draw(&talk);
    assert!(
        after[row].starts_with(" ▾ ✗ shell   cargo test retry"),
        "{}",
        after[row]
    );
    assert_eq!(after[row + 2].trim(), "FAILED retry");
    assert_eq!(screen.transcript.click(5, y), Click::Toggled);
    assert_eq!(screen.draw(&talk), before);
    assert_eq!(screen.transcript.click(5, 1), Click::Nothing);
}

#[test]
fn a_selection_moves_over_what_can_be_opened() {
    let talk = retry_talk();
    let mut screen = Screen::new(80, 40);
    screen.draw(&talk);
    screen.transcript.select_next();
    screen.transcript.toggle_selected();
    let rows = screen.draw(&talk);
    assert!(
        rows.iter()
            .any(|row| row.contains("Look at the jitter first.")),
        "{rows:#?}"
    );
    screen.transcript.select_next();
    screen.transcript.toggle_selected();
    let rows = screen.draw(&talk);
    assert!(
        rows.iter().any(|row| row.contains("FAILED retry")),
        "{rows:#?}"
    );
}

#[test]
fn an_open_card_asks_for_the_end_of_its_output_and_shows_it() {
    let talk = retry_talk();
    let mut screen = Screen::new(80, 40);
    let rows = screen.draw(&talk);
    assert!(
        screen.transcript.wanted_output().is_empty(),
        "closed cards ask for nothing"
    );
    let row = rows
        .iter()
        .position(|row| row.contains("--workspace"))
        .expect("a card");
    screen
        .transcript
        .click(5, u16::try_from(row).expect("small"));
    screen.draw(&talk);
    let wants = screen.transcript.wanted_output();
    assert_eq!((wants.len(), wants[0].from, wants[0].bytes), (1, 0, 40));
    screen.transcript.output_arrived(
        &run_id("r1"),
        0,
        b"Compiling shop\nrunning 200 tests\n.......",
        40,
        1,
        false,
    );
    let rows = screen.draw(&talk);
    assert!(
        rows.iter().any(|row| row.trim() == "running 200 tests"),
        "{rows:#?}"
    );
    assert!(screen.transcript.wanted_output().is_empty());
}
